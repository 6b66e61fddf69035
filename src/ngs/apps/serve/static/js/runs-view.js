// Runs: their list, curves that grow while one is training, and the tables of reproduced results.
import { follow, get, latest } from "./api.js";
import { curve } from "./curve.js";
import { $, element, show } from "./element.js";
import { percent } from "./notation.js";
import { guarded } from "./notice.js";

export class RunsView {
  constructor() {
    this.chosen = null;
    this.stop = () => {};
    this.load = latest((id) => get(`/runs/${encodeURIComponent(id)}`));
  }

  async open() {
    const answer = await guarded(async () => [await get("/runs"), await get("/results")]);
    if (!answer) return;
    const [{ runs, skipped }, results] = answer;
    this.list(runs);
    showSkipped(skipped);
    showResults(results);
    const again = runs.find((run) => run.id === this.chosen) ?? runs.find((run) => run.state === "running") ?? runs[0];
    if (again) await this.choose(again);
    else show($("run"), false);
  }

  close() {
    this.stop();
    this.stop = () => {};
  }

  list(runs) {
    show($("runs-none"), runs.length === 0);
    const focused = document.activeElement?.dataset.run;
    $("runs").replaceChildren(...runs.map((run) => element("li", {}, element("button", {
      "data-run": run.id, "aria-pressed": String(run.id === this.chosen), onclick: () => this.choose(run) },
    element("span", { class: "dot" }), element("span", { class: "unseen" }),
    element("span", { class: "name" }, run.id),
    element("small", {}, `${run.task}, ${run.method}`), element("b", {}, run.accuracy === null ? "" : percent(run.accuracy))))));
    for (const run of runs) this.showState(run.id, run.state);
    buttonOf(focused)?.focus();
  }

  // In the list, and beside the curves if it is the chosen one.
  showState(id, state) {
    const [dot, text] = buttonOf(id)?.children ?? [];
    if (dot) [dot.className, text.textContent] = [`dot ${state}`, stateText(state)];
    if (id !== this.chosen) return;
    $("run-state").textContent = stateText(state);
    $("run-state").className = `state ${state}`;
  }

  async choose(run) {
    this.close();
    this.chosen = run.id;
    for (const button of $("runs").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.run === run.id));
    const detail = await guarded(() => this.load(run.id));
    if (!detail) return;
    show($("run"));
    $("run-title").textContent = run.id;
    this.showState(run.id, detail.state);
    show($("run-report"), run.report);
    $("run-report").href = `/api/runs/${encodeURIComponent(run.id)}/report`;
    showSettings(detail.config);
    const rows = detail.rows;
    const steps = detail.config.steps ?? null;
    $("accuracy-name").textContent = `Validation: ${detail.about_answers}`;
    const draw = () => showRows(rows, steps, detail.answers);
    draw();
    if (detail.state === "running") this.stop = this.followed(detail, draw);
  }

  followed({ id, rows, position }, draw) {
    let frame = 0;
    const redraw = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(draw);
    };
    const stop = follow(() => `/runs/${encodeURIComponent(id)}/events?after=${position}`, {
      row: (row, place) => {
        rows.push(row);
        position = place;
        redraw();
      },
      restart: () => {
        rows.splice(0);
        position = 0;
      },
      state: ({ data }) => this.showState(id, JSON.parse(data).state),
      open: redraw,
      lost: () => ($("run-facts").textContent = "The connection is lost; trying again."),
      done: () => this.open(),
    });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }
}

const buttonOf = (id) => [...$("runs").querySelectorAll("button")].find((button) => button.dataset.run === id);

const stateText = (state) => (state === "running" ? "training" : state);

function showSkipped(skipped) {
  show($("runs-skipped"), skipped.length > 0);
  $("skipped-count").textContent = skipped.length === 1 ? "1 folder could not be shown" : `${skipped.length} folders could not be shown`;
  $("skipped").replaceChildren(...skipped.map(({ name, why }) => element("li", {}, element("b", {}, name), ` ${why}`)));
}

function showRows(rows, steps, answers) {
  const losses = rows.filter((row) => typeof row.loss === "number").map((row) => [row.step, row.loss]);
  const validations = rows.map((row) => [row.step, row.validation?.[answers]]).filter(([, y]) => typeof y === "number");
  curve($("curve-loss"), "Loss", losses, { steps, shown: (y) => String(Number(y.toPrecision(2))) });
  curve($("curve-accuracy"), "Validation accuracy", validations, { steps, range: [0, 1], shown: (y) => `${Math.round(100 * y)}%` });
  const last = rows.at(-1);
  $("run-facts").textContent = last ? `Step ${last.step}${steps ? ` of ${steps}` : ""}${last.seconds ? `, ${duration(last.seconds)}` : ""}.` : "Nothing written yet.";
}

const duration = (seconds) => (seconds < 90 ? `${Math.round(seconds)} seconds` : `${Math.round(seconds / 60)} minutes`);

function showSettings(config) {
  $("run-settings").replaceChildren(...Object.entries(config).map(([name, setting]) => element("div", {},
    element("dt", {}, name.replaceAll("_", " ")), element("dd", {}, typeof setting === "object" ? JSON.stringify(setting) : setting))));
}

function showResults(results) {
  show($("results"), results.length > 0);
  const first = results.find(({ done }) => done > 0)?.name;
  $("results-list").replaceChildren(...results.map(({ title, done, wanted, name }) => element("details", { name: "results", open: name === first },
    element("summary", {}, element("span", {}, title), element("small", {}, `${done} of ${wanted} runs`)),
    element("iframe", { src: `/api/results/${name}`, title, loading: "lazy" }))));
}
