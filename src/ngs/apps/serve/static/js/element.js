// Elements from a name, properties and children. Text only ever becomes text nodes.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

export const element = (name, properties = {}, ...children) => filled(document.createElement(name), properties, children);
export const drawn = (name, properties = {}, ...children) => filled(document.createElementNS(SVG, name), properties, children);

// Properties: `on*` are listeners, `--*` custom CSS properties, the others attributes; null leaves one out.
function filled(node, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) node.style.setProperty(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined).map(asNode));
  return node;
}

const asNode = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));

export const show = (node, visible = true) => (node.hidden = !visible);
