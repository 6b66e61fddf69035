// Probabilities as rows of bars.
import { element } from "./element.js";
import { percent } from "./notation.js";

// Each row: {text, detail, probability, marked, doubtful, tag}. Rows are reused so that widths move smoothly.
export function bars(parent, rows) {
  while (parent.children.length > rows.length) parent.lastElementChild.remove();
  rows.forEach((row, i) => fill(parent.children[i] ?? added(parent), row));
}

function added(parent) {
  const row = element("div", { class: "bar" },
    element("span", { class: "bar-text" }), element("span", { class: "bar-track" }, element("i")),
    element("span", { class: "bar-number" }), element("span", { class: "bar-tag" }));
  parent.append(row);
  return row;
}

function fill(node, { text, detail = "", probability, marked = false, doubtful = false, tag = "" }) {
  const [label, track, number, note] = node.children;
  label.replaceChildren(text, ...(detail ? [element("small", {}, ` ${detail}`)] : []));
  track.firstElementChild.style.setProperty("--share", String(probability ?? 0));
  number.textContent = percent(probability);
  note.textContent = tag;
  node.classList.toggle("marked", marked);
  node.classList.toggle("doubtful", doubtful);
  node.classList.toggle("tagged", tag !== "");
}
