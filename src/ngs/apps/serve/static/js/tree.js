// A reasoning tree as SVG: every symbol in the column where it was written, every node with its value.
import { drawn } from "./element.js";
import { sign, value as shownValue } from "./notation.js";

const ROW = 92;
const EDGE = 34; // above the root and below the leaves
const key = (path) => path.join(".");

export const nodes = (tree) => (tree ? [tree, ...tree.children.flatMap(nodes)] : []);

// The node that an event of the search is about.
export const spoken = (tree, { path }) => nodes(tree).find((node) => key(node.path) === key(path)) ?? null;

export class Tree {
  constructor(svg) {
    this.svg = svg;
    this.edges = drawn("g", { class: "edges" });
    this.nodes = drawn("g");
    this.badges = drawn("g");
    svg.append(this.edges, this.nodes, this.badges);
    this.show(null);
  }

  // `marks`: {expected: Map node -> text, current: node, seen: Set of nodes, changed: node, was: symbol}
  show(tree, { expected = new Map(), ...marks } = {}) {
    const places = layout(tree);
    this.resize([...places.values()]);
    this.svg.setAttribute("aria-label", tree ? `Reasoning tree: ${described(tree)}` : "Reasoning tree, empty");
    this.svg.classList.toggle("empty", tree === null);
    this.edges.replaceChildren(...nodes(tree).flatMap((node) => node.children.map((child) => drawn("path", {
      d: edge(places.get(node), places.get(child)), class: expected.has(child) ? "flows" : null }))));
    this.showNodes(nodes(tree), places, marks);
    this.showBadges(expected, places);
  }

  showNodes(all, places, { current, seen, changed, was }) {
    for (const [node, group] of groups(this.nodes, "node", all)) {
      const place = places.get(node);
      move(group, place.x, place.y);
      const content = `${node.label}|${node.value}|${place.w}|${changed === node}`;
      if (fill(group, content, () => face(node, place, changed === node ? was : ""))) restart(group, "fresh");
      group.classList.toggle("leaf", node.children.length === 0);
      group.classList.toggle("current", current === node);
      group.classList.toggle("seen", seen?.has(node) ?? false);
      group.classList.toggle("changed", changed === node);
    }
  }

  // What a node should have been: each badge starts at its parent and moves down the edge.
  showBadges(expected, places) {
    for (const [node, group] of groups(this.badges, "badge", [...expected.keys()])) {
      const text = expected.get(node);
      const above = ({ x, y, h }) => move(group, x, y - h / 2 - 4);
      if (group.childElementCount === 0) {
        above(places.get(places.get(node).parent ?? node));
        group.getBoundingClientRect(); // so that the way down is a transition
      }
      const width = 8.2 * text.length + 16;
      fill(group, text, () => [drawn("rect", { x: -width / 2, y: -11, width, height: 22, rx: 11 }), drawn("text", { y: 5 }, text)]);
      above(places.get(node));
    }
  }

  resize(places) {
    const xs = places.map(({ x }) => x);
    const width = places.length ? Math.max(...xs) + Math.min(...xs) : 1; // as much room on the right as on the left
    const height = places.length ? Math.max(...places.map(({ y }) => y)) + EDGE - 8 : 1;
    for (const [name, size] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) this.svg.setAttribute(name, size);
  }
}

// The group of each node. A node at the same place in the tree as one before keeps its group, which then moves.
function groups(parent, kind, shown) {
  const old = new Map([...parent.children].map((group) => [group.dataset.path, group]));
  for (const node of shown) {
    const path = key(node.path);
    if (!old.has(path)) parent.append(drawn("g", { class: kind, "data-path": path }));
    old.delete(path);
  }
  for (const group of old.values()) group.remove();
  return shown.map((node) => [node, [...parent.children].find((group) => group.dataset.path === key(node.path))]);
}

const move = (group, x, y) => group.style.setProperty("transform", `translate(${x}px, ${y}px)`);

// Whether there is something new in a group.
function fill(group, content, children) {
  if (group.dataset.content === content) return false;
  group.dataset.content = content;
  group.replaceChildren(...children());
  return true;
}

function restart(node, name) {
  node.classList.remove(name);
  node.getBoundingClientRect();
  node.classList.add(name);
}

function edge(a, b) {
  const middle = (a.y + b.y) / 2;
  return `M${a.x} ${a.y + a.h / 2}C${a.x} ${middle + 8} ${b.x} ${middle - 8} ${b.x} ${b.y - b.h / 2}`;
}

function face(node, { w, h }, was) {
  const inner = node.children.length > 0;
  return [
    drawn("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: inner ? 12 : h / 2 }),
    drawn("text", { class: "sign", y: inner ? -5 : 7 }, sign(node.label)),
    ...(inner ? [drawn("text", { class: "value", y: 17 }, shownValue(node.value))] : []),
    ...(was ? [drawn("text", { class: "was", x: w / 2 + 6, y: 4 }, sign(was))] : []),
  ];
}

// The place of each node: a column for each position in the formula, a row for each depth.
function layout(tree) {
  const places = new Map();
  const room = (node) => (node.children.length ? 9.5 * shownValue(node.value).length : 0);
  const column = Math.max(60, ...nodes(tree).map((node) => room(node) + 20));
  const walk = (node, depth, parent) => {
    const inner = node.children.length > 0;
    const w = inner ? Math.max(54, room(node) + 22) : 42;
    places.set(node, { x: column * (node.position + 0.5), y: EDGE + 8 + ROW * depth, w, h: inner ? 56 : 42, parent });
    for (const child of node.children) walk(child, depth + 1, node);
  };
  if (tree) walk(tree, 0, null);
  return places;
}

const described = (node) => (node.children.length
  ? `(${described(node.children[0])} ${node.label} ${node.children.slice(1).map(described).join(" ")} = ${node.value})` : node.label);
