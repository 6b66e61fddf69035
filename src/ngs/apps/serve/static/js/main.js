// The page: which view is open, and what the server has.
import { get } from "./api.js";
import { AskView } from "./ask-view.js";
import { DrawView } from "./draw-view.js";
import { $, show } from "./element.js";
import { notice } from "./notice.js";
import { RunsView } from "./runs-view.js";
import { tabs } from "./tabs.js";
import { theme } from "./theme.js";
import { untilTrained } from "./train-view.js";

const draw = new DrawView();
const ask = new AskView();
const runs = new RunsView();

theme(() => draw.canvas.paint());
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
