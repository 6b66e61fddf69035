// The drawing surface: strokes of a pen, a finger or a mouse, kept as points.

const WIDE = { width: 900, height: 300 };
const NARROW = { width: 600, height: 330 };
const NARROW_BELOW = 560; // pixels of the page: a phone gets a taller sheet, so that symbols are not tiny
const PEN = 7;
const GUIDE = 0.76; // the line to write on, as a share of the height

export class Canvas {
  // `changed()` is called at the end of each stroke and after undo and clear.
  constructor(node, changed) {
    this.node = node;
    this.changed = changed;
    this.strokes = [];
    this.current = null;
    this.pointer = null;
    this.writing = 0;
    this.size = WIDE;
    node.addEventListener("pointerdown", (event) => this.down(event));
    node.addEventListener("pointermove", (event) => this.move(event));
    node.addEventListener("pointerup", (event) => this.up(event));
    node.addEventListener("pointercancel", (event) => this.up(event));
    new ResizeObserver(() => this.fit()).observe(node);
    this.fit();
  }

  get empty() {
    return this.strokes.length === 0 && this.current === null;
  }

  fit() {
    if (this.empty) this.size = this.node.parentElement.clientWidth < NARROW_BELOW ? NARROW : WIDE;
    this.node.style.setProperty("--shape", `${this.size.width} / ${this.size.height}`);
    const width = this.node.clientWidth;
    if (width === 0) return;
    this.scale = width / this.size.width;
    const dots = window.devicePixelRatio || 1;
    this.node.width = Math.round(width * dots);
    this.node.height = Math.round(this.scale * this.size.height * dots);
    this.dots = dots;
    this.paint();
  }

  place(event) {
    const edge = this.node.getBoundingClientRect();
    const inside = (x, most) => Math.round(10 * Math.max(0, Math.min(most, x))) / 10;
    return [inside((event.clientX - edge.left) / this.scale, this.size.width),
      inside((event.clientY - edge.top) / this.scale, this.size.height)];
  }

  down(event) {
    if (event.button !== 0 || this.pointer !== null) return;
    event.preventDefault();
    this.writing++;
    this.pointer = event.pointerId;
    this.node.setPointerCapture(event.pointerId);
    this.current = [this.place(event)];
    this.paint();
  }

  move(event) {
    if (event.pointerId !== this.pointer) return;
    const events = event.getCoalescedEvents?.() ?? [];
    for (const each of events.length ? events : [event]) this.extend(this.place(each));
    this.paint();
  }

  extend(point) {
    const [x, y] = this.current.at(-1);
    if (Math.hypot(point[0] - x, point[1] - y) >= 1) this.current.push(point);
  }

  up(event) {
    if (event.pointerId !== this.pointer) return;
    this.pointer = null;
    this.strokes.push(this.current);
    this.current = null;
    this.paint();
    this.changed();
  }

  undo() {
    this.strokes.pop();
    this.stopped();
  }

  clear() {
    this.strokes = [];
    this.stopped();
    this.fit();
  }

  stopped() {
    this.writing++;
    this.current = null;
    this.paint();
    this.changed();
  }

  // Writes given strokes as a hand would; anything the visitor does meanwhile ends it.
  async write(strokes, at_once = false) {
    this.clear();
    const mine = ++this.writing;
    for (const stroke of strokes) {
      this.current = [];
      for (let i = 0; i < stroke.length && !at_once; i += 3) {
        this.current = stroke.slice(0, i + 1);
        this.paint();
        await new Promise(requestAnimationFrame);
        if (mine !== this.writing) return;
      }
      this.strokes.push(stroke);
      this.current = null;
    }
    this.paint();
    this.changed();
  }

  paint() {
    const pen = this.node.getContext("2d");
    pen.setTransform(this.dots * this.scale, 0, 0, this.dots * this.scale, 0, 0);
    pen.clearRect(0, 0, this.size.width, this.size.height);
    pen.strokeStyle = getComputedStyle(this.node).color;
    pen.globalAlpha = 0.25;
    pen.lineWidth = 1.5;
    pen.setLineDash([2, 8]);
    line(pen, [[24, GUIDE * this.size.height], [this.size.width - 24, GUIDE * this.size.height]]);
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    pen.lineWidth = PEN;
    pen.lineCap = pen.lineJoin = "round";
    for (const stroke of [...this.strokes, ...(this.current ? [this.current] : [])]) line(pen, stroke);
  }
}

// Through the middles of neighbouring points, with the points as handles: smooth, and close to what was drawn.
function line(pen, points) {
  if (points.length === 0) return;
  const [first, ...rest] = points;
  pen.beginPath();
  pen.moveTo(...first);
  if (rest.length === 0) pen.lineTo(first[0] + 0.1, first[1]);
  rest.slice(0, -1).forEach(([x, y], i) => {
    const [nx, ny] = rest[i + 1];
    pen.quadraticCurveTo(x, y, (x + nx) / 2, (y + ny) / 2);
  });
  if (rest.length) pen.lineTo(...rest.at(-1));
  pen.stroke();
}
