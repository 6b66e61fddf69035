// The views as tabs: chosen by click, arrow keys or the address's hash.
import { $, show } from "./element.js";

// Returns a function that leaves only the tabs of some names.
export function tabs(opened) {
  let names = [...document.querySelectorAll('[role="tab"]')].map((tab) => tab.id.slice("tab-".length));
  let current = null;
  const open = (name) => {
    for (const other of names) {
      const chosen = other === name;
      show($(`view-${other}`), chosen);
      $(`tab-${other}`).setAttribute("aria-selected", String(chosen));
      $(`tab-${other}`).tabIndex = chosen ? 0 : -1;
    }
    current = name;
    opened(name);
  };
  const named = () => (names.includes(location.hash.slice(1)) ? location.hash.slice(1) : names[0]);
  const choose = (name) => {
    if (named() === name) return;
    location.hash = name;
  };
  for (const name of names) {
    const tab = $(`tab-${name}`);
    tab.addEventListener("click", () => choose(name));
    tab.addEventListener("keydown", (event) => {
      const i = names.indexOf(name);
      const steps = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: names.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = names[(steps[event.key] + names.length) % names.length];
      choose(next);
      $(`tab-${next}`).focus();
    });
  }
  addEventListener("hashchange", () => location.hash !== "#main" && open(named()));
  open(named());
  return (there) => {
    for (const name of names.filter((each) => !there.includes(each))) for (const part of ["tab", "view"]) show($(`${part}-${name}`), false);
    names = names.filter((each) => there.includes(each));
    if (!names.includes(current)) open(named());
  };
}
