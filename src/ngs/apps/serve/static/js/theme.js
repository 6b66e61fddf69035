// Light or dark: as the system has it, until the visitor chooses.
import { $ } from "./element.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

export function theme(changed) {
  const kept = stored((storage) => storage.getItem("theme"));
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  $("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    stored((storage) => storage.setItem("theme", root.dataset.theme));
    changed();
  });
  dark.addEventListener("change", changed);
}

// A browser may refuse to store anything; then the choice holds until the page is left.
function stored(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}
