// The views as tabs: chosen by click, arrow keys or the address's hash.
import { $, show } from "./element.js";

const NAMES = ["draw", "ask", "runs"];

export function tabs(opened) {
  const open = (name) => {
    for (const other of NAMES) {
      const chosen = other === name;
      show($(`view-${other}`), chosen);
      $(`tab-${other}`).setAttribute("aria-selected", String(chosen));
      $(`tab-${other}`).tabIndex = chosen ? 0 : -1;
    }
    opened(name);
  };
  const named = () => (NAMES.includes(location.hash.slice(1)) ? location.hash.slice(1) : "draw");
  const choose = (name) => {
    if (named() === name) return;
    location.hash = name;
  };
  NAMES.forEach((name, i) => {
    const tab = $(`tab-${name}`);
    tab.addEventListener("click", () => choose(name));
    tab.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: NAMES.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = NAMES[(steps[event.key] + NAMES.length) % NAMES.length];
      choose(next);
      $(`tab-${next}`).focus();
    });
  });
  addEventListener("hashchange", () => location.hash !== "#main" && open(named()));
  open(named());
}
