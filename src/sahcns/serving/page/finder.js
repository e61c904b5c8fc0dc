// A field in which a few letters find people and items: a combobox with a list below it.

import { ask, latest } from "./ask.js";
import { categories, count, el, nameOf, tell, whoIs } from "./parts.js";

let finders = 0;

/** Fills `place`. `choose(kind, row)` is called with "user" or "item"; `model()` says whose ids are searched. */
export function makeFinder(place, { label, hint, kinds = ["user", "item"], choose, model }) {
  const id = `finder-${++finders}`;
  const list = el("ul", { role: "listbox", id: `${id}-list`, "aria-label": label, hidden: true });
  const input = el("input", {
    type: "search", role: "combobox", "aria-label": label, placeholder: hint, "aria-expanded": "false",
    "aria-controls": `${id}-list`, "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", enterkeyhint: "search",
  });
  place.replaceChildren(input, list);
  let options = [];
  let active = -1;
  let timer;
  let queued = null; // keys pressed before the list is that of what was typed; null when it is

  function open(shown) {
    list.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
    if (!shown) move(-1);
  }

  function move(to) {
    options[active]?.node.removeAttribute("aria-selected");
    active = to;
    const node = options[active]?.node;
    if (node) {
      node.setAttribute("aria-selected", "true");
      node.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", node.id);
    } else input.removeAttribute("aria-activedescendant");
  }

  function take(option) {
    clearTimeout(timer);
    input.value = "";
    open(false);
    choose(option.kind, option.row);
  }

  function option(kind, row) {
    const shown = kind === "user"
      ? [el("b", {}, whoIs(row.user)), el("small", {}, count(row.items, "item"))]
      : [el("b", {}, nameOf(row)), el("small", {}, [categories(row.category), row.title && String(row.item)].filter(Boolean).join("  ·  "))];
    const node = el("li", { role: "option", id: `${id}-${options.length}` }, shown);
    const made = { kind, row, node };
    node.addEventListener("pointerdown", (event) => event.preventDefault()); // or the field would lose its focus first
    node.addEventListener("click", () => take(made));
    options.push(made);
    return node;
  }

  const search = latest(async (signal) => {
    const typed = input.value;
    const found = await ask("search", { q: typed, k: kinds.length > 1 ? 6 : 10, model: model() }, signal);
    if (input.value !== typed) return; // more was typed, and its own search is about to begin
    options = [];
    active = -1;
    const groups = [["user", "People", found.users], ["item", "Items", found.items]].filter(([kind, , rows]) => kinds.includes(kind) && rows.length);
    list.replaceChildren(...groups.flatMap(([kind, name, rows]) => [
      el("li", { role: "presentation", class: "group" }, name),
      ...rows.map((row) => option(kind, row)),
    ]));
    if (!options.length) list.append(el("li", { role: "presentation", class: "group" }, "Nothing is called like that"));
    open(document.activeElement === input);
    tell(null);
    const keys = queued || [];
    queued = null;
    keys.forEach(press);
  });

  const soon = (wait) => {
    clearTimeout(timer);
    queued = [];
    timer = setTimeout(() => search().catch(tell), wait);
  };
  input.addEventListener("input", () => soon(90));
  input.addEventListener("focus", () => soon(0));
  input.addEventListener("blur", () => { clearTimeout(timer); open(false); });
  function press(key) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step && options.length) move(active < 0 && step < 0 ? options.length - 1 : (active + step + options.length) % options.length);
    else if (key === "Enter" && options.length) take(options[Math.max(active, 0)]);
  }

  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) open(false);
    else if (!["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) return;
    else if (queued) queued.push(event.key);
    else if (!list.hidden) press(event.key);
    else if (event.key !== "Enter") soon(0);
    event.preventDefault();
  });
  return input;
}
