// What it learned: the answer's probability before, after and on the way, the score of this visitor.
import { bars } from "./bars.js";
import { curve } from "./curve.js";
import { $, element, show } from "./element.js";
import { formula, percent, share, value } from "./notation.js";

export function showLearned(learned) {
  show($("learned"), learned !== null);
  if (learned === null) return;
  const [before, after] = [learned.probabilities.at(0)?.[0] ?? 0, learned.probabilities.at(-1)?.[1] ?? 0];
  bars($("learned-bars"), [{ text: "before", probability: before }, { text: "after", probability: after, marked: true }]);
  $("learned-text").textContent = sentence(learned, before, after);
  const course = [before, ...learned.probabilities.map(([, later]) => later)];
  curve($("course"), "Probability by gradient step", course.map((probability, step) => [step, probability]), { range: [0, 1], shown: percent });
}

function sentence(learned, before, after) {
  if (!learned.found) return `No formula of this length gives ${value(learned.answer)}, so there was nothing to learn from.`;
  const { formula: was } = learned.before;
  const { formula: now, value: gives } = learned.after;
  const read = now === null ? "It reads no formula." : was === now
    ? `It still reads ${formula(now)} = ${value(gives)}.` : `It now reads ${formula(now)} = ${value(gives)}.`;
  return `p(${value(learned.answer)}) went from ${share(before)} to ${share(after)}. ${read}`;
}

export function showScore({ drawn: count, right_before: before, right_now: now }) {
  const part = (name, number) => element("div", {}, element("dd", {}, number), element("dt", {}, name));
  $("score").replaceChildren(part("drawn", count), part("right before", before), part("right now", now));
}
