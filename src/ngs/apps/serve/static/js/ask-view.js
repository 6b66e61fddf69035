// Ask about a scene: the program of a question, what each step finds, and a correction.
import { get, latest, post } from "./api.js";
import { bars } from "./bars.js";
import { $, element, show } from "./element.js";
import { probably, value } from "./notation.js";
import { guarded } from "./notice.js";
import { Player } from "./player.js";
import { executed, moduleText, Program, programText } from "./program.js";
import { Scene } from "./scene.js";

export class AskView {
  constructor() {
    this.scenes = null;
    this.place = 0;
    this.id = null;
    this.asked = this.shown = null;
    this.version = 0; // of the scene and the question: an answer about an older one is dropped
    this.scene = new Scene();
    this.program = new Program($("program"), (step) => this.point(step));
    this.corrected = new Program($("corrected-program"), (step) => this.point(step));
    this.load = latest((id) => get(`/scenes/${id}`));
    this.player = new Player({ previous: $("program-previous"), next: $("program-next"), play: $("program-play") },
      (index) => this.step(index), 0.9);
    $("scene-previous").addEventListener("click", () => this.choose(this.place - 1));
    $("scene-next").addEventListener("click", () => this.choose(this.place + 1));
    $("ask-form").addEventListener("submit", (event) => this.submit(event));
    $("ask-correct-form").addEventListener("submit", (event) => this.correct(event));
  }

  async open() {
    if (this.scenes) return;
    const answer = await guarded(async () => [await get("/status"), await get("/scenes")]);
    if (!answer) return;
    const [status, scenes] = answer;
    this.ready = status.views.ask;
    show($("ask-missing"), !this.ready);
    $("ask").disabled = !this.ready;
    this.scenes = scenes;
    await this.choose(0);
  }

  async choose(place) {
    this.place = (place + this.scenes.length) % this.scenes.length;
    const scene = await guarded(() => this.load(this.scenes[this.place].id));
    if (!scene) return;
    this.id = scene.id;
    this.forget();
    this.scene.show(scene);
    this.point(null);
    $("scene-name").textContent = `Scene ${this.place + 1} of ${this.scenes.length}, ${scene.objects.length} objects`;
    const chip = (question, name = null) => element("button", {
      type: "button", class: name, disabled: !this.ready, onclick: () => this.ask(question) },
    question, name && element("span", { class: "unseen" }, ` (${name})`));
    const others = scene.examples.filter((question) => question !== scene.misread?.question);
    $("question-examples").replaceChildren(...others.map((question) => chip(question)),
      ...(scene.misread ? [chip(scene.misread.question, "misread")] : []));
    this.truths = new Map(scene.examples.map((question, i) => [question, scene.answers?.[i]]));
    if (scene.misread) this.truths.set(scene.misread.question, scene.misread.answer);
  }

  forget() {
    this.player.stop();
    this.version++;
    this.asked = this.shown = null;
    show($("asked"), false);
    $("question").value = "";
  }

  submit(event) {
    event.preventDefault();
    const question = $("question").value.trim();
    if (question && this.id !== null) this.ask(question);
  }

  async ask(question) {
    const version = ++this.version;
    $("question").value = question;
    const asked = await guarded(() => post("/ask", { scene: this.id, question }), $("ask"));
    $("ask").disabled = !this.ready;
    if (!asked || version !== this.version) return;
    this.asked = { ...asked, question };
    show($("asked"));
    show($("ask-corrected"), false);
    $("asked-answer").replaceChildren(element("strong", {}, asked.answer === null ? "no answer" : value(asked.answer)));
    const truth = this.truths.get(question);
    const wrong = truth !== undefined && truth !== asked.answer;
    $("ask-answer").value = wrong ? truth : "";
    $("asked-note").textContent = [`${probably(asked.probability, "p(program)")}.`, asked.fault ? `${asked.fault}.` : "",
      asked.unseen?.length ? `Words it has never seen: ${asked.unseen.join(", ")}.` : "",
      wrong ? `The true answer is ${truth}: press correct.` : ""].filter(Boolean).join(" ");
    $("understood").replaceChildren(...asked.understood.map(({ phrase, module }) => element("span", {}, phrase, element("small", {}, moduleText(module)))));
    this.program.show(asked.program);
    this.shown = null;
    this.player.load(executed(asked.program).length, Infinity);
    show($("ask-alternatives"), asked.alternatives.length > 0);
    bars($("ask-alternative-bars"), asked.alternatives.slice(0, 4).map(row));
  }

  step(index) {
    const step = executed(this.asked?.program)[index];
    this.program.mark(step);
    this.shown = step ?? null;
    this.point(null);
  }

  // The step under the pointer, else the one that was gone to.
  point(step) {
    const current = step ?? this.shown ?? null;
    this.scene.highlight(current?.objects ?? null);
    $("scene-caption").textContent = current ? `${moduleText(current.module)}: ${current.objects ? `${current.objects.length} of them` : value(current.value)}` : "";
  }

  async correct(event) {
    event.preventDefault();
    const answer = $("ask-answer").value.trim();
    if (!answer || !this.asked) return;
    const version = this.version;
    const fixed = await guarded(() => post("/ask/correct", { scene: this.id, question: this.asked.question, answer }), $("ask-correct"));
    if (!fixed || version !== this.version) return;
    show($("ask-corrected"));
    $("ask-verdict").textContent = fixed.right ? `${answer} is what the program gives: right as it stands.`
      : fixed.corrected === null ? `No program one change away gives ${answer}.`
        : `Corrected${fixed.change ? `: ${fixed.change.split(" ").map(moduleText).join(" ")}` : ""}.`;
    this.corrected.show(fixed.right ? null : fixed.corrected, fixed.program);
    show($("neighbours-part"), fixed.neighbours.length > 0);
    bars($("neighbours"), fixed.neighbours.map((each) => ({
      text: each.change.split(" ").map(moduleText).join(" "), detail: `→ ${each.answer ?? "no answer"}`, probability: each.probability,
      marked: Boolean(each.chosen ?? each.right), doubtful: !each.right, tag: each.chosen ? "chosen" : each.right ? "right answer" : "" })));
    show($("ask-posterior-part"), fixed.posterior.length > 0);
    bars($("ask-posterior"), fixed.posterior.map((each, i) => ({
      text: programText(each.program), probability: each.probability, marked: each.corrected, doubtful: each.probability < 0.5,
      tag: each.corrected ? "chosen" : i === 0 ? "likeliest" : "spurious?" })));
  }
}

const row = ({ program, probability, answer }) => ({ text: programText(program), detail: `→ ${answer ?? "no answer"}`, probability });
