// The rendered picture of a scene, with frames around the objects that a step finds.
import { get, latest } from "./api.js";
import { drawn } from "./element.js";
import { guarded } from "./notice.js";

const [WIDTH, HEIGHT] = [480, 320];

export class Picture {
  constructor(image, svg, note) {
    this.image = image;
    this.svg = svg;
    this.note = note;
    this.frames = [];
    this.numbers = null;
    this.load = latest((id) => get(`/scenes/${id}/boxes`));
  }

  // The scene can be asked about before its picture is there.
  async show({ id, objects }) {
    this.image.src = `/api/scenes/${id}/picture`;
    this.image.alt = `Picture of ${objects.map((object) => object.text).join(", ")}`;
    this.frames = [];
    this.svg.replaceChildren();
    const boxes = await guarded(() => this.load(id));
    if (!boxes) return;
    this.frames = boxes.map((box) => box && drawn("rect", {
      x: box.left * WIDTH - 3, y: box.top * HEIGHT - 3, width: box.width * WIDTH + 6, height: box.height * HEIGHT + 6, rx: 6 }));
    this.svg.replaceChildren(...this.frames.filter(Boolean));
    const hidden = boxes.filter((box) => box === null).length;
    this.note.textContent = `Rendered from its annotation${hidden ? `; ${hidden} of its objects ${hidden === 1 ? "is" : "are"} hidden behind others` : ""}`;
    this.highlight(this.numbers);
  }

  // Numbers of the objects to stand out; null for all alike.
  highlight(numbers) {
    this.numbers = numbers;
    this.frames.forEach((frame, number) => frame?.classList.toggle("chosen", numbers?.includes(number) ?? false));
  }
}
