// A CLEVR scene drawn from its objects: shapes, colours, sizes, and the shine of metal.
import { drawn } from "./element.js";

// The colours of the objects themselves, the same in light and dark: light side, body, shade.
const COLOURS = {
  gray: ["#b9bcc0", "#8a8e93", "#5c6066"],
  red: ["#e2665f", "#c23a34", "#86211d"],
  blue: ["#6f97e0", "#3f6ac4", "#264582"],
  green: ["#66b37a", "#35894c", "#1e5a30"],
  brown: ["#b0805c", "#85593a", "#573722"],
  purple: ["#ad74d1", "#8347ab", "#572b75"],
  cyan: ["#79cdd1", "#3da3a8", "#23696d"],
  yellow: ["#f0d469", "#d3ad2d", "#8f7215"],
};

export class Scene {
  constructor(svg) {
    this.svg = svg;
    this.things = new Map();
  }

  show({ objects, width, height }) {
    const size = { width: 640, height: 640 * (width && height ? height / width : 0.72) };
    this.svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    this.svg.setAttribute("aria-label", `Scene with ${objects.map((object) => object.text ?? words(object)).join(", ")}`);
    const kinds = new Set(objects.map((object) => `${object.color} ${object.material}`));
    this.svg.replaceChildren(drawn("defs", {}, ...[...kinds].flatMap((kind) => paints(...kind.split(" ")))));
    this.things = new Map();
    for (const object of [...objects].sort((a, b) => a.y - b.y)) {
      const radius = object.radius * size.width;
      const thing = drawn("g", { class: "thing", transform: `translate(${object.x * size.width} ${object.y * size.height})` },
        drawn("ellipse", { class: "shadow", cx: 0.12 * radius, cy: 0.78 * radius, rx: 1.12 * radius, ry: 0.42 * radius }),
        drawn("ellipse", { class: "halo", cx: 0, cy: 0, rx: 1.5 * radius, ry: 1.5 * radius }),
        ...body(object, radius), drawn("title", {}, object.text ?? words(object)));
      this.things.set(object.number, thing);
      this.svg.append(thing);
    }
  }

  // Numbers of the objects to stand out; null for all alike.
  highlight(numbers) {
    this.svg.classList.toggle("choosing", numbers !== null);
    for (const [number, thing] of this.things) thing.classList.toggle("chosen", numbers?.includes(number) ?? false);
  }
}

const words = ({ size, color, material, shape }) => `${size} ${color} ${material} ${shape}`;
const name = (part, color, material) => `${part}-${color}-${material}`;
const paint = (part, { color, material }) => `url(#${name(part, color, material)})`;

function paints(color, material) {
  const [light, middle, shade] = COLOURS[color] ?? COLOURS.gray;
  const metal = material === "metal";
  const stops = (...pairs) => pairs.map(([offset, colour]) => drawn("stop", { offset, "stop-color": colour }));
  return [
    drawn("radialGradient", { id: name("ball", color, material), cx: 0.36, cy: 0.3, r: 0.75 },
      ...(metal ? stops([0, "#ffffff"], [0.16, light], [0.5, middle], [0.82, shade], [1, middle])
        : stops([0, light], [0.55, middle], [1, shade]))),
    drawn("linearGradient", { id: name("side", color, material), x1: 0, x2: 1, y1: 0, y2: 0 },
      ...(metal ? stops([0, middle], [0.2, "#ffffff"], [0.34, light], [0.65, middle], [0.9, shade], [1, middle])
        : stops([0, light], [0.4, middle], [1, shade]))),
    drawn("linearGradient", { id: name("top", color, material), x1: 0, x2: 1, y1: 0, y2: 1 },
      ...(metal ? stops([0, "#ffffff"], [0.45, light], [1, middle]) : stops([0, light], [1, middle]))),
    drawn("linearGradient", { id: name("face", color, material), x1: 0, x2: 0.6, y1: 0, y2: 1 },
      ...(metal ? stops([0, light], [0.28, "#ffffff"], [0.4, middle], [1, shade]) : stops([0, middle], [1, shade]))),
  ];
}

function body(object, r) {
  if (object.shape === "sphere") return [drawn("circle", { r, fill: paint("ball", object) })];
  if (object.shape === "cylinder") {
    const [w, h, e] = [0.86 * r, 0.72 * r, 0.3 * r];
    return [drawn("path", { d: `M${-w} ${-h}V${h}A${w} ${e} 0 0 0 ${w} ${h}V${-h}Z`, fill: paint("side", object) }),
      drawn("ellipse", { cy: -h, rx: w, ry: e, fill: paint("top", object) })];
  }
  const [w, d] = [0.8 * r, 0.42 * r]; // a cube: its front, its top, its right side
  return [drawn("path", { d: `M${-w} ${-0.5 * r}H${0.55 * r}V${0.9 * r}H${-w}Z`, fill: paint("face", object) }),
    drawn("path", { d: `M${-w} ${-0.5 * r}l${d} ${-d}H${0.55 * r + d}l${-d} ${d}Z`, fill: paint("top", object) }),
    drawn("path", { d: `M${0.55 * r} ${-0.5 * r}l${d} ${-d}V${0.9 * r - d}l${-d} ${d}Z`, fill: shadeOf(object) })];
}

const shadeOf = ({ color }) => (COLOURS[color] ?? COLOURS.gray)[2];
