// What was seen: boxes, the likeliest symbols, the sentence with and without the grammar, the tree, the result.
import { bars } from "./bars.js";
import { $, drawn, element, show } from "./element.js";
import { formula, probably, sign, value } from "./notation.js";
import { Tree } from "./tree.js";

export class ReadingView {
  constructor() {
    this.tree = new Tree($("tree"));
  }

  show(reading, size) {
    showBoxes(reading?.symbols ?? [], size);
    showSymbols(reading);
    showReadings(reading);
    this.tree.show(reading?.tree ?? null);
    const others = (reading?.alternatives ?? []).filter((other) => other.formula !== reading.formula);
    show($("alternatives"), others.length > 0 && others[0].probability > 5e-4);
    bars($("alternative-bars"), others.slice(0, 4).map((other) => (
      { text: formula(other.formula), detail: `= ${value(other.value)}`, probability: other.probability })));
  }
}

function showBoxes(symbols, { width, height }) {
  $("boxes").setAttribute("viewBox", `0 0 ${width} ${height}`);
  $("boxes").replaceChildren(...symbols.map(({ box }) => drawn("rect", {
    x: box.left - 8, y: box.top - 8, width: box.width + 16, height: box.height + 16, rx: 8 })));
}

function showSymbols(reading) {
  const list = $("symbols");
  const symbols = reading?.symbols ?? [];
  const chosen = reading?.formula ? [...reading.formula] : [];
  list.style.setProperty("--count", String(symbols.length));
  while (list.children.length > symbols.length) list.lastElementChild.remove();
  symbols.forEach((symbol, i) => {
    const item = list.children[i] ?? list.appendChild(element("li", {}, element("img", { alt: "", width: 45, height: 45 }),
      element("div", { class: "bars small" })));
    const [picture, rows] = item.children;
    picture.src = symbol.picture;
    picture.alt = `Mark ${i + 1} as the network sees it`;
    bars(rows, symbol.likeliest.map((guess) => (
      { text: sign(guess.symbol), probability: guess.probability, marked: guess.symbol === chosen[i] })));
  });
}

function showReadings(reading) {
  const output = $("result");
  const read = reading?.formula ?? null;
  output.replaceChildren(...(read === null ? [reading ? "?" : "…"] : [
    element("span", { class: "formula" }, formula(read)), element("span", { class: "equals" }, " = "),
    element("strong", {}, value(reading.value))]));
  output.classList.toggle("long", (read?.length ?? 0) > 5);
  show($("message"), Boolean(reading?.message));
  $("message").textContent = reading?.message ?? "";
  show($("readings"), Boolean(reading));
  if (!reading) return;
  $("by-symbol").replaceChildren(formula(reading.by_symbol),
    ...(reading.by_symbol_is_formula ? [] : [element("small", {}, " not a formula")]));
  $("by-grammar").replaceChildren(read === null ? "none" : formula(read),
    ...(read === null ? [] : [element("small", {}, ` ${probably(reading.probability)}`)]));
  $("by-grammar").classList.toggle("differs", read !== null && read !== reading.by_symbol);
}
