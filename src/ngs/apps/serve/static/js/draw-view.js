// Draw, correct and learn: one drawing, and what is known of it so far.
import { get, latest, post } from "./api.js";
import { bars } from "./bars.js";
import { Canvas } from "./canvas.js";
import { CorrectionView } from "./correction-view.js";
import { curve } from "./curve.js";
import { $, element, show } from "./element.js";
import { formula, percent, share, value } from "./notation.js";
import { clearNotice, guarded, notice } from "./notice.js";
import { ReadingView } from "./reading-view.js";
import { tour } from "./tour.js";

const EXAMPLES = ["3*4", "2+5*3", "9-6/4+7"];

export class DrawView {
  constructor() {
    this.readingView = new ReadingView();
    this.correctionView = new CorrectionView();
    this.canvas = new Canvas($("canvas"), () => this.drawn());
    this.strokes = latest((typed) => get(`/written?${typed}`));
    this.network = "mine"; // the visitor's own once there is one, else the trained
    this.weak = false; // whether a reset goes back to the weak network
    this.busy = false;
    this.reading = this.correction = this.learned = null;
    this.version = 0; // of the drawing: an answer about an older one is dropped
    $("undo").addEventListener("click", () => this.canvas.undo());
    $("clear").addEventListener("click", () => this.canvas.clear());
    $("correct-form").addEventListener("submit", (event) => this.correct(event));
    $("answer").addEventListener("input", () => this.buttons());
    $("learn").addEventListener("click", () => this.learn());
    $("reset").addEventListener("click", () => this.reset());
    $("weak").addEventListener("change", () => this.reset());
    document.addEventListener("keydown", (event) => this.shortcut(event));
    $("type-form").addEventListener("submit", (event) => this.type(event));
    $("formula-examples").append(...EXAMPLES.map((text) => element("button", { onclick: () => this.write(text) }, formula(text))));
    this.showAll();
  }

  async begin({ networks: { weak } }) {
    show($("weak-label"), Boolean(weak?.ready));
    $("weak-text").textContent = weak?.ready ? ` (noise on its weights: it knows ${percent(weak.symbols)} of the symbols)` : "";
    const score = await guarded(() => get("/score"));
    if (score) showScore(score.score);
    if (!this.canvas.empty) this.drawn();
  }

  shortcut(event) {
    const typing = event.target instanceof HTMLInputElement;
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !typing && !$("view-draw").hidden) {
      event.preventDefault();
      this.canvas.undo();
    }
  }

  // The page writes, for those who cannot or do not want to draw.
  async write(text) {
    const written = await guarded(() => this.strokes(new URLSearchParams({ formula: text, ...this.canvas.size })));
    if (written) this.canvas.write(written.strokes, matchMedia("(prefers-reduced-motion: reduce)").matches);
  }

  type(event) {
    event.preventDefault();
    const text = $("typed").value.trim();
    if (text) this.write(text);
  }

  body() {
    return { strokes: this.canvas.strokes, ...this.canvas.size, network: this.network };
  }

  drawn() {
    clearTimeout(this.soon);
    this.version++;
    this.correction = this.learned = null;
    $("result").setAttribute("aria-busy", "true");
    this.soon = setTimeout(() => this.readNow()); // when all is done that belongs together: clear, then write
    this.buttons();
  }

  async readNow() {
    if (this.canvas.strokes.length === 0) {
      this.reading = null;
      this.showAll();
      return;
    }
    const version = this.version;
    const { reading = null, error = null } = await post("/read", this.body()).then((reading) => ({ reading }), (error) => ({ error }));
    if (version !== this.version) return;
    this.reading = reading;
    if (error) notice(error.message);
    else clearNotice();
    this.showAll();
  }

  showAll() {
    $("result").setAttribute("aria-busy", "false");
    this.readingView.show(this.reading, this.canvas.size);
    this.correctionView.show(this.correction);
    showLearned(this.learned);
    tour(this);
    const strokes = this.canvas.strokes.length;
    this.canvas.node.setAttribute("aria-label", strokes === 0 ? "Drawing area, empty"
      : `Drawing area with ${strokes} strokes, read as ${this.reading?.formula ?? "no formula"}`);
    this.buttons();
  }

  buttons() {
    const empty = this.canvas.strokes.length === 0;
    $("undo").disabled = $("clear").disabled = empty;
    show($("hint"), empty);
    const answerable = this.reading?.formula && $("answer").value.trim() !== "";
    $("correct").disabled = $("learn").disabled = this.busy || !answerable;
  }

  // One of correct, learn and reset at a time: each depends on the network that another may change.
  async alone(work) {
    this.busy = true;
    const answer = await guarded(work, $("correct"), $("learn"), $("reset"), $("weak"));
    this.busy = false;
    this.buttons();
    return answer;
  }

  async correct(event) {
    event.preventDefault();
    if ($("correct").disabled) return;
    const version = this.version;
    const correction = await this.alone(() => post("/correct", { ...this.body(), answer: $("answer").value.trim() }));
    if (!correction || version !== this.version) return;
    this.correction = correction;
    this.learned = null;
    this.showAll();
  }

  async learn() {
    const steps = Math.max(1, Math.min(Number($("learn-steps").max), Math.round(Number($("learn-steps").value)) || 1));
    const version = this.version;
    const answer = $("answer").value.trim();
    const learned = await this.alone(() => post("/learn", { ...this.body(), answer, steps }));
    if (!learned) return;
    if (learned.found) this.network = "mine"; // else nothing was learned, and there may be no network of one's own
    showScore(learned.score);
    if (version !== this.version) { // what was drawn meanwhile is for the new network
      this.drawn();
      return;
    }
    this.learned = { ...learned, answer };
    this.reading = learned.after;
    this.showAll();
  }

  async reset() {
    const answer = await this.alone(() => post("/reset"));
    if (!answer) {
      $("weak").checked = this.weak;
      return;
    }
    this.weak = $("weak").checked;
    this.network = this.weak ? "weak" : "mine";
    showScore(answer.score);
    if (this.canvas.strokes.length) this.drawn();
  }
}

// What it learned: the probability of the answer before, after and on the way.
function showLearned(learned) {
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

function showScore({ drawn: count, right_before: before, right_now: now }) {
  const part = (name, number) => element("div", {}, element("dd", {}, number), element("dt", {}, name));
  $("score").replaceChildren(part("drawn", count), part("right before", before), part("right now", now));
}
