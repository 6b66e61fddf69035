// A program as a tree of steps: the scene at the top, the answer at the bottom.
import { element } from "./element.js";
import { value } from "./notation.js";

export const moduleText = (module) => module.replaceAll("_", " ").replace("[", ": ").replace("]", "");
export const programText = (program) => program.split(" ").map(moduleText).join(" ← ");

// In the order in which they are executed: arguments first.
export const executed = (step) => (step ? [...step.arguments.flatMap(executed), step] : []);

export class Program {
  // `pointed(step)` is called with the step under the pointer or the focus, and with null when there is none.
  constructor(node, pointed) {
    this.node = node;
    this.pointed = pointed;
    this.buttons = new Map();
  }

  show(program, before = null) {
    this.buttons = new Map();
    const was = new Set(executed(before).map((step) => step.module));
    const added = (step) => before !== null && !was.has(step.module);
    this.node.replaceChildren(...(program ? [this.branch(program, added)] : []));
  }

  branch(step, added) {
    const button = element("button", {
      type: "button", class: added(step) ? "step added" : "step",
      onmouseenter: () => this.pointed(step), onmouseleave: () => this.pointed(null),
      onfocus: () => this.pointed(step), onblur: () => this.pointed(null),
    }, element("span", {}, moduleText(step.module)), element("small", {}, stepValue(step)));
    this.buttons.set(step, button);
    return element("div", { class: "branch" },
      ...(step.arguments.length ? [element("div", { class: "arguments" }, ...step.arguments.map((each) => this.branch(each, added)))] : []),
      button);
  }

  mark(step) {
    for (const [other, button] of this.buttons) button.classList.toggle("current", other === step);
  }
}

function stepValue({ objects, value: text }) {
  if (objects === null) return value(text);
  return objects.length === 1 ? "1 object" : `${objects.length} objects`;
}
