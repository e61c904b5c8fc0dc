// Elements and numbers. What comes from the data becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const fill = (node, ...children) => { node.replaceChildren(); return filled(node, {}, children); };
export const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);
export const $ = (selector, within = document) => within.querySelector(selector);

export const number = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
export const signed = (value, digits = 2) => (value > 0 ? "+" : "") + number(value, digits);
export const percent = (value) => `${(100 * value).toFixed(Math.abs(value) < 0.0995 ? 1 : 0)} %`.replace("-", "−");
export const count = (value, one, many = `${one}s`) => `${value.toLocaleString("en")} ${value === 1 ? one : many}`;
export const nameOf = (row) => row.title || String(row.item);
export const whoIs = (user) => (/^\d+$/.test(user) ? `Person ${user}` : String(user));
export const categories = (text) => (text || "").replaceAll("|", " · ");

/** Says what went wrong at the top of the page, until something goes right. */
export function tell(problem) {
  const place = $("#problem");
  place.hidden = !problem;
  place.textContent = problem ? `${problem.message[0].toUpperCase()}${problem.message.slice(1)}.` : "";
}

/** What the address says after #: the view, and its fields. */
export function readAddress() {
  const [view, query = ""] = location.hash.slice(1).split("?");
  return { view: view === "sampler" ? "sampler" : "lists", fields: new URLSearchParams(query) };
}

/** Writes it; `push` so that the back button comes back here. */
export function writeAddress(view, fields, push = false) {
  const query = new URLSearchParams(Object.entries(fields).flatMap(([name, value]) => [value].flat().filter((one) => one !== undefined && one !== null && one !== "").map((one) => [name, one]))).toString();
  const address = `#${view}${query ? `?${query}` : ""}`;
  if (address !== location.hash) history[push ? "pushState" : "replaceState"](null, "", address);
}
