// What it learned: the answer's probability before, after and on the way, the score of this visitor.
import { bars } from "./bars.js";
import { $, drawn, element, show } from "./element.js";
import { formula, percent, share, value } from "./notation.js";

export function showLearned(learned, answer) {
  show($("learned"), learned !== null);
  if (learned === null) return;
  const [before, after] = [learned.probabilities.at(0)?.[0] ?? 0, learned.probabilities.at(-1)?.[1] ?? 0];
  bars($("learned-bars"), [{ text: "before", probability: before }, { text: "after", probability: after, marked: true }]);
  $("learned-text").textContent = sentence(learned, answer, before, after);
  showCourse([before, ...learned.probabilities.map(([, later]) => later)]);
}

function sentence(learned, answer, before, after) {
  if (!learned.found) return `No formula of this length gives ${value(answer)}, so there was nothing to learn from.`;
  const { formula: was } = learned.before;
  const { formula: now, value: gives } = learned.after;
  const read = now === null ? "It reads no formula." : was === now
    ? `It still reads ${formula(now)} = ${value(gives)}.` : `It now reads ${formula(now)} = ${value(gives)}.`;
  return `p(${value(answer)}) went from ${share(before)} to ${share(after)}. ${read}`;
}

// The answer's probability after each gradient step.
function showCourse(probabilities) {
  const [width, height] = [240, 44];
  const last = probabilities.length - 1;
  const x = (i) => 3 + (i / Math.max(1, last)) * (width - 6);
  const y = (probability) => height - 4 - probability * (height - 10);
  $("course").setAttribute("viewBox", `0 0 ${width} ${height}`);
  $("course").setAttribute("aria-label", `Probability by gradient step: ${probabilities.map(percent).join(", ")}`);
  $("course").replaceChildren(
    drawn("line", { x1: 0, x2: width, y1: height - 2, y2: height - 2 }),
    drawn("polyline", { points: probabilities.map((probability, i) => `${x(i)},${y(probability)}`).join(" ") }),
    drawn("circle", { cx: x(last), cy: y(probabilities[last]), r: 3 }));
}

export function showScore({ drawn: count, right_before: before, right_now: now }) {
  const part = (name, number) => element("div", {}, element("dd", {}, number), element("dt", {}, name));
  $("score").replaceChildren(part("drawn", count), part("right before", before), part("right now", now));
}
