// A curve as SVG: points, light axes, and the last value written out.
import { drawn } from "./element.js";

const SIZE = { width: 460, height: 220 };
const SPACE = { left: 44, right: 14, top: 14, bottom: 28 };

// `points` are [step, y]; `range` is [lowest, highest] or null to follow the data; `shown` writes a y.
export function curve(svg, name, points, { range = null, steps = null, shown }) {
  svg.setAttribute("viewBox", `0 0 ${SIZE.width} ${SIZE.height}`);
  svg.setAttribute("role", "img");
  const last = points.at(-1);
  svg.setAttribute("aria-label", last ? `${name}: ${points.length} points, last ${shown(last[1])} at step ${last[0]}` : `${name}: no points yet`);
  svg.dataset.points = String(points.length);
  const right = Math.max(steps ?? 0, last?.[0] ?? 0, 1);
  const [low, high] = range ?? [0, Math.max(...points.map(([, y]) => y), 1e-6)];
  const x = (step) => SPACE.left + (step / right) * (SIZE.width - SPACE.left - SPACE.right);
  const y = (number) => SIZE.height - SPACE.bottom - ((number - low) / (high - low || 1)) * (SIZE.height - SPACE.top - SPACE.bottom);
  const levels = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low));
  const path = points.map(([step, number]) => `${x(step).toFixed(1)},${y(number).toFixed(1)}`).join(" ");
  svg.replaceChildren(
    ...levels.map((level) => drawn("line", { class: "grid", x1: SPACE.left, x2: SIZE.width - SPACE.right, y1: y(level), y2: y(level) })),
    ...levels.filter((_, i) => i % 2 === 0).map((level) => drawn("text", { class: "tick end", x: SPACE.left - 8, y: y(level) + 4 }, shown(level))),
    ...[0, 0.5, 1].map((share) => drawn("text", { class: share === 1 ? "tick end" : share ? "tick middle" : "tick", x: x(share * right), y: SIZE.height - 8 }, Math.round(share * right))),
    drawn("polyline", { class: "line", points: path }),
    ...(points.length < 12 ? points : points.slice(-1)).map(([step, number]) => drawn("circle", { cx: x(step), cy: y(number), r: 3.2 })),
    ...(last ? [drawn("text", { class: "last end", x: x(last[0]) - (last[0] > 0.9 * right ? 0 : -34), y: y(last[1]) + (y(last[1]) < 40 ? 20 : -10) }, shown(last[1]))] : []));
}
