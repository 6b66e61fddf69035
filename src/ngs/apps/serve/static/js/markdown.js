// The little Markdown that results are written in: paragraphs, lists, tables, code. Everything becomes text nodes.
import { element } from "./element.js";

export function markdown(text) {
  return text.split(/\n\s*\n/).map((block) => block.trim()).filter(Boolean).map(asBlock).filter(Boolean);
}

function asBlock(block) {
  const lines = block.split("\n");
  if (lines.length > 1 && lines[0].startsWith("|") && /^\|[\s:|-]+\|?$/.test(lines[1])) return table(lines);
  if (block.startsWith("```")) return element("pre", {}, lines.slice(1).filter((line) => !line.startsWith("```")).join("\n"));
  if (/^#+ /.test(block)) return element("h4", {}, ...inline(block.replace(/^#+ /, "")));
  if (/^[-*] /.test(block)) return element("ul", {}, ...block.split(/\n(?=[-*] )/).map((item) => element("li", {}, ...inline(item.slice(2)))));
  if (/^!\[[^\]]*\]\([^)]*\)$/.test(block)) return null; // pictures lie beside the page of results, not here
  return element("p", {}, ...inline(block));
}

function table([head, , ...rows]) {
  const cells = (line) => line.replace(/^\||\|\s*$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  const row = (line, name) => element("tr", {}, ...cells(line).map((cell) => element(name, { class: /^[\s*<>≥±+−-]*\d/.test(cell) ? "numeric" : null }, ...inline(cell))));
  return element("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Table" },
    element("table", {}, element("thead", {}, row(head, "th")), element("tbody", {}, ...rows.map((line) => row(line, "td")))));
}

function inline(text) {
  const parts = text.replaceAll("\n", " ").split(/(\*\*[^*]+\*\*|`[^`]+`|\[[^\]]+\]\([^)]*\))/);
  return parts.filter(Boolean).map((part) => {
    if (part.startsWith("**") && part.length > 4) return element("strong", {}, ...inline(part.slice(2, -2)));
    if (part.startsWith("`") && part.length > 2) return element("code", {}, part.slice(1, -1));
    if (/^\[[^\]]+\]\(/.test(part)) return part.slice(1, part.indexOf("]"));
    return part;
  });
}
