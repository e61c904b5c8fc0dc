// Which view is shown, in which theme, and which models there are.

import { ask } from "./ask.js";
import { startLists } from "./lists.js";
import { $, count, el, readAddress, tell } from "./parts.js";
import { startSampler } from "./sampler.js";

const views = {};

function show() {
  const { view, fields } = readAddress();
  for (const name of Object.keys(views)) $(`#${name}`).hidden = name !== view;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  tell(null);
  views[view].show(fields);
}

function theme() {
  const root = document.documentElement;
  const dark = () => (root.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.style.colorScheme = localStorage.theme || "";
  $("#theme").addEventListener("click", () => {
    root.style.colorScheme = localStorage.theme = dark() ? "light" : "dark";
  });
}

async function start() {
  theme();
  const { models, version } = await ask("health");
  views.lists = startLists(models);
  views.sampler = startSampler(models);
  const first = models[0];
  $("#foot").replaceChildren(
    `${count(first.users, "person", "people")} and ${count(first.items, "item")} · sahcns ${version} · `,
    el("a", { href: "openapi.json" }, "the same over HTTP"),
  );
  addEventListener("popstate", show);
  addEventListener("hashchange", show);
  show();
}

start().catch(tell);
