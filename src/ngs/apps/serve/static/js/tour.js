// Three sentences for newcomers; they change with what was done.
import { $, element } from "./element.js";
import { formula, value } from "./notation.js";

const STEPS = 4;

export function tour({ reading = null, correction = null, learned = null }) {
  const [step, text] = current(reading, correction, learned);
  // A shorter sentence leaves the room of the longer one: on a phone the canvas lies below, and must not move under the pen.
  const box = $("tour").parentElement, { height } = box.getBoundingClientRect();
  if (height) box.style.minHeight = `${height}px`;
  if ($("tour").textContent !== text) $("tour").textContent = text;
  $("tour-steps").replaceChildren(...Array.from({ length: STEPS }, (_, i) => element("li", { class: i < step ? "done" : i === step ? "now" : null })));
}

function current(reading, correction, learned) {
  if (learned) return [3, afterLearning(learned)];
  if (correction) {
    return [2, correction.right
      ? "It was right, and even that teaches it something. Press learn, or try an answer that it did not give."
      : "Follow the search with the arrows: the answer flows down the tree until one symbol explains it. Then let it learn."];
  }
  if (reading?.formula) {
    return [1, `It read ${formula(reading.formula)} = ${value(reading.value)}. Misread? Give the true answer below. If not, suppose the answer were another.`];
  }
  if (reading) return [0, "That is not a formula yet: numbers of one digit, with + − × ÷ between them."];
  return [0, "Draw a formula such as 3 × 4. A network that was never told what a 3 looks like will read it, and the grammar will make sense of it."];
}

function afterLearning({ found, before, after }) {
  if (!found) return "There was nothing to learn: give an answer that a formula of this length can have.";
  return before.formula === after.formula
    ? "It reads as before, whatever it believes now. Learn again, with more steps, or draw something else."
    : "It learned that from the answer alone: nobody told it which symbol was wrong. Draw it again, or something else.";
}
