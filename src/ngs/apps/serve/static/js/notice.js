// The one place where failures are shown.
import { $, show } from "./element.js";

export function notice(message) {
  $("notice-text").textContent = message;
  show($("notice"));
}

export const clearNotice = () => show($("notice"), false);

$("notice-close").addEventListener("click", clearNotice);

// Does `work` with `buttons` disabled; a failure becomes a notice and undefined. A disabled button loses the focus, and
// gets it back unless it has gone elsewhere.
export async function guarded(work, ...buttons) {
  const before = buttons.map((button) => button.disabled);
  const focused = buttons.find((button) => button === document.activeElement);
  for (const button of buttons) button.disabled = true;
  try {
    const answer = await work();
    clearNotice();
    return answer;
  } catch (error) {
    notice(error.message);
    return undefined;
  } finally {
    buttons.forEach((button, i) => (button.disabled = before[i]));
    if (document.activeElement === document.body) focused?.focus({ preventScroll: true });
  }
}
