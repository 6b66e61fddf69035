// No network yet: offer to train one, and show how far it is.
import { get, post } from "./api.js";
import { $, show } from "./element.js";
import { guarded, notice } from "./notice.js";
import { percent } from "./notation.js";

const LOOK = 0.5; // seconds between looks at a training

// Resolves with what networks there are once there is one that can read.
export async function untilTrained() {
  let status = await get("/networks");
  while (!status.networks.trained?.ready) {
    waiting(true);
    if (!status.training) await pressed();
    status = await finished();
    if (!status.networks.trained?.ready && !status.training) notice(status.failure ?? "The training ended without a network; try again.");
  }
  waiting(false);
  return status;
}

// Nothing can be drawn before there is somebody to read it.
function waiting(yes) {
  show($("train"), yes);
  for (const panel of document.querySelectorAll("#view-draw > .see, #view-draw > .two")) panel.inert = yes;
}

async function pressed() {
  show($("train-start"));
  show($("train-progress"), false);
  for (;;) {
    await new Promise((resolve) => $("train-start").addEventListener("click", resolve, { once: true }));
    const started = await guarded(() => post("/train").catch((error) => {
      if (error.status !== 409) throw error; // 409: somebody else has started one
      return { started: true };
    }), $("train-start"));
    if (started) return;
  }
}

async function finished() {
  show($("train-start"), false);
  show($("train-progress"));
  $("train-text").textContent = "Starting …";
  for (;;) {
    const status = await get("/networks").catch(() => null);
    if (status && !status.training) return status;
    if (status) showProgress(status.training);
    else $("train-text").textContent = "The connection is lost; trying again …";
    await new Promise((resolve) => setTimeout(resolve, 1000 * LOOK));
  }
}

function showProgress({ step, steps, accuracy }) {
  const share = steps ? step / steps : 0;
  $("train-progress").firstElementChild.style.setProperty("--share", String(share));
  $("train-progress").setAttribute("aria-valuenow", String(Math.round(100 * share)));
  const right = accuracy === null || accuracy === undefined ? "" : `, ${percent(accuracy)} of new formulas right`;
  $("train-text").textContent = `step ${step} of ${steps}${right}`;
}
