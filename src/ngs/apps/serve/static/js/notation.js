// How formulas, values and probabilities are written on the page.

const SIGNS = { "*": "×", "/": "÷", "-": "−" };
const LARGEST = 1e290; // stands for infinity, which JSON does not have
const OPERATORS = new Set(["+", "-", "*", "/"]);

export const sign = (symbol) => SIGNS[symbol] ?? symbol;

export const formula = (text) => [...text].map((c) => (OPERATORS.has(c) ? ` ${sign(c)} ` : c)).join("").trim();

// A value: its minus sign as one, the bar of a fraction as it is.
export const value = (text) => (text === null || text === undefined ? "?" : String(text).replaceAll("-", "−"));

export function percent(probability) {
  if (probability === null || probability === undefined) return "";
  const hundredths = 100 * probability;
  if (hundredths > 0 && hundredths < 0.1) return "<0.1%";
  if (hundredths < 100 && hundredths > 99.9) return ">99.9%";
  const precise = (hundredths > 0 && hundredths < 10) || (hundredths > 99 && hundredths < 100);
  return `${hundredths.toFixed(precise ? 1 : 0)}%`;
}

export function probably(probability, name = "p") {
  const text = percent(probability);
  return /^[<>]/.test(text) ? `${name} ${text[0]} ${text.slice(1)}` : `${name} = ${text}`;
}

export const share = (probability) => percent(probability).replace("<", "less than ").replace(">", "more than ");

// A ratio of probabilities, as priorities are.
export function ratio(number) {
  if (number > LARGEST) return "∞";
  if (number === 0) return "0";
  if (number >= 0.001 && number < 10000) return String(Number(number.toPrecision(3)));
  const [digits, exponent] = number.toExponential(1).split("e");
  return `${digits}·10${superscript(Number(exponent))}`;
}

const superscript = (number) => [...String(number)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");
