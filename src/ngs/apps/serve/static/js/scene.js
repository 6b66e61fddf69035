// A scene twice: rendered as a camera would see it, and drawn from above. What a step finds stands out in both.
import { get, latest } from "./api.js";
import { $, drawn } from "./element.js";
import { guarded } from "./notice.js";

const [WIDTH, HEIGHT] = [480, 320];

export class Scene {
  constructor() {
    this.things = this.frames = [];
    this.numbers = null;
    this.boxes = latest((id) => get(`/scenes/${id}/boxes`));
  }

  // The server draws it from above: nothing that anybody typed is in it. The scene can be asked about before its picture is there.
  async show({ id, objects, above }) {
    this.drawing = new DOMParser().parseFromString(above, "text/html").querySelector("svg");
    this.things = [...this.drawing.querySelectorAll("g")];
    this.frames = [];
    $("scene").replaceChildren(this.drawing);
    $("picture-boxes").replaceChildren();
    $("picture").src = `/api/scenes/${id}/picture`;
    $("picture").alt = `Picture of ${objects.map((object) => object.text).join(", ")}`;
    const boxes = await guarded(() => this.boxes(id));
    if (!boxes) return;
    this.frames = boxes.map((box) => box && drawn("rect", {
      x: box.left * WIDTH - 3, y: box.top * HEIGHT - 3, width: box.width * WIDTH + 6, height: box.height * HEIGHT + 6, rx: 6 }));
    $("picture-boxes").replaceChildren(...this.frames.filter(Boolean));
    const hidden = boxes.filter((box) => box === null).length;
    $("picture-note").textContent = `Rendered from its annotation${hidden ? `; ${hidden} of its objects ${hidden === 1 ? "is" : "are"} hidden behind others` : ""}`;
    this.highlight(this.numbers);
  }

  // Numbers of the objects to stand out; null for all alike.
  highlight(numbers) {
    this.numbers = numbers;
    this.drawing?.classList.toggle("choosing", numbers !== null);
    for (const shown of [this.things, this.frames]) shown.forEach((each, number) => each?.classList.toggle("chosen", numbers?.includes(number) ?? false));
  }
}
