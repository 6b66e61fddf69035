// What it should have seen: the back-search step by step on the tree, and the exact posterior.
import { bars } from "./bars.js";
import { $, element, show } from "./element.js";
import { formula, ratio, share, sign, value } from "./notation.js";
import { Player } from "./player.js";
import { nodes, spoken, Tree } from "./tree.js";

const QUEUE = 7; // entries shown; the rest is counted

export class CorrectionView {
  constructor() {
    this.tree = new Tree($("search-tree"));
    this.player = new Player({
      previous: $("step-previous"), next: $("step-next"), play: $("step-play"), range: $("step-range"),
    }, (index) => this.step(index));
  }

  // null hides the panel: the drawing has changed. One that is there already stays at its step.
  show(correction) {
    if (correction !== null && correction === this.correction) return;
    this.player.stop();
    this.correction = correction;
    show($("correction"), correction !== null);
    if (correction === null) return;
    $("verdict").textContent = verdict(correction);
    const searched = correction.steps.length > 0;
    show($("search"), searched);
    this.player.load(searched ? correction.steps.length + 1 : 0);
    showPosterior(correction);
  }

  // Step 0 is the tree as it was read; step i the state after the i-th event.
  step(index) {
    const { reading, steps, target } = this.correction;
    const event = index > 0 ? steps[index - 1] : null;
    const accepted = event?.kind === "accept" && this.correction.corrected_tree;
    $("step-count").textContent = `${index} of ${steps.length}`;
    $("step-text").textContent = event ? event.text
      : `It read ${formula(reading.formula)} = ${value(reading.value)}. The answer ${value(target)} enters at the root.`;
    if (accepted) this.showCorrected();
    else this.tree.show(reading.tree, marksAfter(reading.tree, steps.slice(0, index), target));
    showQueue(event?.queue ?? [], event?.waiting ?? 0, reading.tree);
  }

  showCorrected() {
    const { reading, corrected_tree: tree, position } = this.correction;
    const changed = nodes(tree).find((node) => node.position === position);
    this.tree.show(tree, { changed, was: [...reading.formula][position] });
  }
}

function marksAfter(tree, events, target) {
  const expected = new Map([[tree, value(target)]]);
  const seen = new Set();
  for (const event of events) {
    const node = spoken(tree, event);
    if (!node) continue;
    if (event.kind === "push" && event.expected !== null) expected.set(node, value(event.expected));
    if (event.kind !== "push") seen.add(node);
  }
  const last = events.at(-1);
  return { expected, seen, current: last ? spoken(tree, last) : tree };
}

function showQueue(queue, waiting, tree) {
  const text = (entry) => {
    const node = spoken(tree, entry);
    if (entry.symbol === null) return `look inside ${node ? formula(node.text) : "a part"}, which should be ${value(entry.expected)}`;
    return `put ${sign(entry.symbol)} in place of ${node ? sign(node.label) : "a symbol"}`;
  };
  const rest = waiting - Math.min(QUEUE, queue.length);
  $("queue").replaceChildren(
    ...queue.slice(0, QUEUE).map((entry, i) => element("li", { class: i === 0 ? "first" : null },
      element("span", {}, text(entry)), element("b", {}, ratio(entry.priority)))),
    ...(rest > 0 ? [element("li", { class: "rest" }, `and ${rest} more`)] : []),
    ...(queue.length === 0 ? [element("li", { class: "rest" }, "empty")] : []));
}

function verdict({ reading, target, right, corrected, posterior, evidence }) {
  if (right) return `${formula(reading.formula)} is ${value(target)}: right as it stands.`;
  if (corrected === null) {
    if (evidence === null) return `No change of one symbol gives ${value(target)}; the formula is too long to look at all others.`;
    return posterior.length
      ? `No change of one symbol gives ${value(target)}; formulas further away do.`
      : `No formula of this length gives ${value(target)}.`;
  }
  return `${formula(reading.formula)} becomes ${formula(corrected)} = ${value(target)}.`;
}

// Every formula here has the right answer; at most one of them is what was drawn. The others are spurious.
function showPosterior({ target, corrected, posterior, evidence, right, reading, message }) {
  const chosen = posterior.find((row) => row.corrected);
  $("posterior-label").textContent = posterior.length ? `Formulas that give ${value(target)}` : "";
  const tag = (row, i) => (row.corrected ? (right ? "what was read" : "chosen") : i === 0 ? "likeliest" : "spurious?");
  bars($("posterior"), posterior.map((row, i) => ({
    text: formula(row.formula), detail: `= ${value(row.value)}`, probability: row.probability, marked: row.corrected,
    doubtful: row.probability < 0.5, tag: tag(row, i),
  })));
  const note = $("posterior-note");
  note.textContent = "";
  if (posterior.length === 0) {
    note.textContent = message ? `${message[0].toUpperCase()}${message.slice(1)}.` : "";
    return;
  }
  const prior = evidence === null ? "" : ` Before the answer was known, ${share(evidence)} of the probability was on them.`;
  if (chosen && corrected && corrected !== reading.formula) {
    note.textContent = chosen.probability >= 0.5
      ? `The change has ${share(chosen.probability)} of the probability of all formulas with this answer.${prior}`
      : `The change gives the right answer, but has only ${share(chosen.probability)} of the probability: it may well be spurious, right for the wrong reason.${prior}`;
  } else note.textContent = `All of these give the answer; at most one is what you wrote.${prior}`;
}
