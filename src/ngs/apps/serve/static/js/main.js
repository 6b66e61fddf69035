// The page: its colours, which view is open, and what the server has.
import { get } from "./api.js";
import { AskView } from "./ask-view.js";
import { DrawView } from "./draw-view.js";
import { $, show } from "./element.js";
import { notice } from "./notice.js";
import { RunsView } from "./runs-view.js";
import { tabs } from "./tabs.js";
import { untilTrained } from "./train-view.js";

const draw = new DrawView();
const ask = new AskView();
const runs = new RunsView();

// Light or dark: as the system has it, until the visitor chooses.
const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;
const kept = stored((storage) => storage.getItem("theme"));
if (kept === "light" || kept === "dark") root.dataset.theme = kept;
dark.addEventListener("change", () => draw.canvas.paint());
$("theme").addEventListener("click", () => {
  const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  stored((storage) => storage.setItem("theme", root.dataset.theme));
  draw.canvas.paint();
});

// A browser may refuse to store anything: then the choice is for this visit.
function stored(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

const offer = tabs((name) => {
  if (name === "ask") ask.open();
  if (name === "runs") runs.open();
  else runs.close();
});

// The page is there before the endpoints are: the first answer may take some seconds.
async function firstStatus() {
  const late = setTimeout(() => show($("loading")), 300);
  try {
    return await get("/status");
  } finally {
    clearTimeout(late);
    show($("loading"), false);
  }
}

try {
  const { views } = await firstStatus();
  offer([...Object.keys(views), "runs"]);
  if ("draw" in views) await draw.begin(await untilTrained());
} catch (error) {
  notice(error.message);
}
