// Formulas written by the page itself, for those who cannot or do not want to draw.

// Points in hundredths of a symbol's box, from its upper left corner; `!` marks a sharp turn.
const SHAPES = {
  "+": ["50,4 50,96", "4,50 96,50"],
  "-": ["0,50 100,50"],
  "*": ["8,6 92,94", "92,5 8,96"],
  "/": ["0,50 100,50", "52,8 50,20", "50,80 49,92"],
  0: ["52,2 24,13 11,50 25,88 52,98 78,86 89,48 76,11 50,3"],
  1: ["34,24 46,13 56,0! 55,50 54,100"],
  2: ["16,24 27,7 51,1 74,11 77,33 58,60 14,96! 52,94 90,97"],
  3: ["18,11 42,1 72,10 72,32 42,46! 74,56 82,77 60,96 31,98 12,86"],
  4: ["36,2 26,30 14,56! 50,57 88,54", "66,26 64,60 62,98"],
  5: ["31,6 26,44! 55,39 78,54 76,83 48,98 14,88", "31,6 56,5 84,2"],
  6: ["68,2 38,26 19,62 28,91 56,97 75,79 65,60 41,59 22,75"],
  7: ["13,7 50,6 84,4! 60,46 44,98"],
  8: ["75,14 50,1 27,15 35,37 64,57 76,79 52,98 24,81 36,58 62,40 74,15"],
  9: ["77,15 48,2 20,22 33,45 62,41 79,15! 79,56 67,91 38,98 17,88"],
};

const GAP = 0.38; // between symbols, as a share of their height
const POINTS = 9; // between two points of a shape

// The strokes of a formula, written in the middle of a sheet of this size.
export function written(text, { width, height }) {
  const widths = [...text].map((symbol) => ("+-*/".includes(symbol) ? 0.62 : 0.66));
  const units = widths.reduce((a, b) => a + b, 0) + GAP * (widths.length - 1);
  const tall = Math.min(0.44 * height, (0.9 * width) / units);
  let left = (width - tall * units) / 2;
  const top = 0.76 * height - tall;
  return [...text].flatMap((symbol, i) => {
    const operator = "+-*/".includes(symbol);
    const box = { left, top: top + (operator ? 0.2 * tall : 0), width: widths[i] * tall, height: (operator ? 0.62 : 1) * tall };
    left += tall * (widths[i] + GAP);
    return SHAPES[symbol].map((stroke) => points(stroke).map(([x, y]) => [
      round(box.left + (x / 100) * box.width), round(box.top + (y / 100) * box.height)]));
  });
}

const round = (x) => Math.round(10 * x) / 10;

function points(stroke) {
  const marks = stroke.split(" ").map((word) => ({ at: word.replace("!", "").split(",").map(Number), corner: word.endsWith("!") }));
  const path = [marks[0].at];
  for (let i = 0; i + 1 < marks.length; i++) {
    const [from, to] = [marks[i], marks[i + 1]];
    const before = from.corner || i === 0 ? from : marks[i - 1];
    const after = to.corner || i + 2 === marks.length ? to : marks[i + 2];
    for (let k = 1; k <= POINTS; k++) path.push(between(before.at, from.at, to.at, after.at, k / POINTS));
  }
  return path;
}

// Catmull-Rom: a curve from b to c whose directions come from a and d.
const between = (a, b, c, d, t) => [0, 1].map((k) => 0.5 * (2 * b[k] + (c[k] - a[k]) * t
  + (2 * a[k] - 5 * b[k] + 4 * c[k] - d[k]) * t ** 2 + (3 * b[k] - a[k] - 3 * c[k] + d[k]) * t ** 3));
