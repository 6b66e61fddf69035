// A reasoning tree as SVG: every symbol in the column where it was written, every node with its value.
import { drawn } from "./element.js";
import { sign, value as shownValue } from "./notation.js";

const ROW = 92;
const EDGE = 34; // room above the root and below the leaves
const key = (path) => path.join(".");

export function nodes(tree) {
  return tree ? [tree, ...tree.children.flatMap(nodes)] : [];
}

// The node that an event of the search is about.
export function spoken(tree, { path }) {
  return nodes(tree).find((node) => key(node.path) === key(path)) ?? null;
}

export class Tree {
  constructor(svg) {
    this.svg = svg;
    this.edges = drawn("g", { class: "edges" });
    this.nodes = drawn("g");
    this.badges = drawn("g");
    svg.append(this.edges, this.nodes, this.badges);
    this.drawnNodes = new Map();
    this.drawnBadges = new Map();
    this.show(null);
  }

  // `marks`: {expected: Map node -> text, current: node, seen: Set of nodes, changed: node, was: symbol}
  show(tree, marks = {}) {
    const places = layout(tree);
    const { width, height } = places.size;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("aria-label", tree ? `Reasoning tree: ${described(tree)}` : "Reasoning tree, empty");
    this.svg.classList.toggle("empty", tree === null);
    this.showEdges(tree, places, marks);
    this.showNodes(tree, places, marks);
    this.showBadges(places, marks);
  }

  showEdges(tree, places, marks) {
    const lines = nodes(tree).flatMap((node) => node.children.map((child) => {
      const [a, b] = [places.get(node), places.get(child)];
      const middle = (a.y + b.y) / 2;
      return drawn("path", {
        d: `M${a.x} ${a.y + a.h / 2}C${a.x} ${middle + 8} ${b.x} ${middle - 8} ${b.x} ${b.y - b.h / 2}`,
        class: marks.expected?.has(child) ? "flows" : null,
      });
    }));
    this.edges.replaceChildren(...lines);
  }

  showNodes(tree, places, marks) {
    const all = nodes(tree);
    const keys = new Set(all.map((node) => key(node.path)));
    for (const [name, group] of this.drawnNodes) {
      if (!keys.has(name)) {
        group.remove();
        this.drawnNodes.delete(name);
      }
    }
    for (const node of all) {
      const place = places.get(node);
      const group = this.group(this.drawnNodes, this.nodes, key(node.path), "node");
      group.style.setProperty("transform", `translate(${place.x}px, ${place.y}px)`);
      const content = `${node.label}|${node.value}|${place.w}|${marks.changed === node}`;
      if (group.dataset.content !== content) {
        group.dataset.content = content;
        group.replaceChildren(...this.face(node, place, marks));
        restart(group, "fresh");
      }
      group.classList.toggle("leaf", node.children.length === 0);
      group.classList.toggle("current", marks.current === node);
      group.classList.toggle("seen", marks.seen?.has(node) ?? false);
      group.classList.toggle("changed", marks.changed === node);
    }
  }

  face(node, { w, h }, marks) {
    const inner = node.children.length > 0;
    const was = marks.changed === node && marks.was ? [drawn("text", { class: "was", x: w / 2 + 6, y: 4 }, sign(marks.was))] : [];
    return [
      drawn("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: inner ? 12 : h / 2 }),
      drawn("text", { class: "sign", y: inner ? -5 : 7 }, sign(node.label)),
      ...(inner ? [drawn("text", { class: "value", y: 17 }, shownValue(node.value))] : []),
      ...was,
    ];
  }

  // What a node should have been: each badge starts at its parent and moves down the edge.
  showBadges(places, marks) {
    const expected = marks.expected ?? new Map();
    const wanted = new Map([...expected].map(([node, text]) => [key(node.path), { node, text }]));
    for (const [name, group] of this.drawnBadges) {
      if (!wanted.has(name)) {
        group.remove();
        this.drawnBadges.delete(name);
      }
    }
    for (const [name, { node, text }] of wanted) {
      const place = places.get(node);
      const start = places.get(places.parents.get(node) ?? node);
      const isNew = !this.drawnBadges.has(name);
      const group = this.group(this.drawnBadges, this.badges, name, "badge");
      if (group.dataset.content !== text) {
        group.dataset.content = text;
        const width = 8.2 * text.length + 16;
        group.replaceChildren(drawn("rect", { x: -width / 2, y: -11, width, height: 22, rx: 11 }), drawn("text", { y: 5 }, text));
      }
      const move = (at) => group.style.setProperty("transform", `translate(${at.x}px, ${at.y - at.h / 2 - 4}px)`);
      if (isNew) {
        move(start);
        group.getBoundingClientRect(); // so that the way down is a transition
      }
      move(place);
    }
  }

  group(drawnGroups, parent, name, kind) {
    if (!drawnGroups.has(name)) {
      drawnGroups.set(name, drawn("g", { class: kind }));
      parent.append(drawnGroups.get(name));
    }
    return drawnGroups.get(name);
  }
}

function restart(node, name) {
  node.classList.remove(name);
  node.getBoundingClientRect();
  node.classList.add(name);
}

// Columns are positions in the formula, rows are depths; `get(node)` is {x, y, w, h}.
function layout(tree) {
  const all = nodes(tree);
  const longest = Math.max(1, ...all.filter((node) => node.children.length).map((node) => shownValue(node.value).length));
  const column = Math.max(60, 9.5 * longest + 20);
  const at = new Map();
  const parents = new Map();
  let columns = 0;
  let rows = 0;
  const walk = (node, depth) => {
    rows = Math.max(rows, depth);
    const inner = node.children.length > 0;
    const half = Math.ceil(node.children.length / 2);
    node.children.forEach((child) => parents.set(child, node));
    node.children.slice(0, half).forEach((child) => walk(child, depth + 1));
    const w = inner ? Math.max(54, 9.5 * shownValue(node.value).length + 22) : 42;
    at.set(node, { column: columns++, depth, w, h: inner ? 56 : 42 });
    node.children.slice(half).forEach((child) => walk(child, depth + 1));
  };
  if (tree) walk(tree, 0);
  for (const place of at.values()) {
    place.x = column * (place.column + 0.5);
    place.y = EDGE + 8 + ROW * place.depth;
  }
  const size = { width: Math.max(1, column * Math.max(1, columns)), height: tree ? 2 * EDGE + ROW * rows : 1 };
  return { get: (node) => at.get(node), parents, size };
}

const described = (node) => (node.children.length
  ? `(${described(node.children[0])} ${node.label} ${node.children.slice(1).map(described).join(" ")} = ${node.value})` : node.label);
