// The lists of a person or a basket, of one model or of several beside each other, with why each item stands there.

import { ask, latest } from "./ask.js";
import { makeFinder } from "./finder.js";
import { $, categories, count, el, fill, nameOf, percent, signed, tell, whoIs, writeAddress } from "./parts.js";

const STEPS = ["direct", "through the people who have it", "through what those people have too"];
const SOURCES = {
  model: "from what the model learnt of them",
  "fold-in": "folded in from what they have",
  popular: "nothing is known of them: what most people have",
};

export function startLists(models) {
  const state = { user: null, basket: [], models: [models[0].name], k: 10, category: "", without: [] };
  const titles = new Map(); // of what was met, so that a basket in the address has titles again

  const asked = () => ({ k: state.k, category: state.category, without: state.without.map(String) });
  const remember = (row) => titles.set(String(row.item), row.title);

  function go(change, push = true) {
    Object.assign(state, change);
    writeAddress("lists", {
      user: state.user ?? undefined, item: state.basket, model: state.models.length === 1 && state.models[0] === models[0].name ? [] : state.models,
      k: state.k === 10 ? undefined : state.k, category: state.category, without: state.without,
    }, push);
    draw();
  }

  function show(fields) {
    const named = fields.getAll("model").filter((name) => models.some((one) => one.name === name));
    Object.assign(state, {
      user: fields.get("user"), basket: fields.getAll("item"), models: named.length ? named : [models[0].name],
      k: Number(fields.get("k")) || 10, category: fields.get("category") || "", without: fields.getAll("without"),
    });
    draw();
  }

  makeFinder($("#who-finder"), {
    label: "Find a person, or add items to a basket",
    hint: "A person, or titles for a basket",
    model: () => state.models[0],
    choose(kind, row) {
      if (kind === "user") return go({ user: String(row.user), basket: [], without: [] });
      remember(row);
      return go({ user: null, basket: [...state.basket.filter((one) => one !== String(row.item)), String(row.item)] });
    },
  });
  $("#category").addEventListener("change", (event) => go({ category: event.target.value }));
  $("#k").addEventListener("change", (event) => go({ k: Number(event.target.value) }));

  function draw() {
    drawModels();
    drawHidden();
    $("#k").value = String(state.k);
    Promise.all([drawPerson(), drawCategories(), drawColumns()]).then(() => tell(null), tell);
  }

  function drawModels() {
    $("#models").hidden = models.length < 2;
    $("#models").replaceChildren(el("span", {}, "By"), ...models.map(({ name }) => {
      const pressed = state.models.includes(name);
      return el("button", {
        type: "button", "aria-pressed": String(pressed),
        onclick: () => {
          const next = pressed ? state.models.filter((one) => one !== name) : models.map((one) => one.name).filter((one) => one === name || state.models.includes(one));
          if (next.length) go({ models: next });
        },
      }, name);
    }));
  }

  function drawHidden() {
    const rows = state.without.map((item) => chip(item, "Show again", () => go({ without: state.without.filter((one) => one !== item) })));
    $("#hidden-items").replaceChildren(...(rows.length ? [el("h2", {}, "Not shown"), el("div", { class: "chips" }, rows)] : []));
  }

  function chip(item, what, act) {
    const name = titles.get(String(item)) || String(item);
    return el("span", { class: "chip" }, name, el("button", { type: "button", "aria-label": `${what}: ${name}`, title: what, onclick: act }, "×"));
  }

  const drawCategories = latest(async (signal) => {
    const { categories: known } = await ask("categories", { model: state.models[0] }, signal);
    const select = $("#category");
    select.closest("label").hidden = !known.length;
    select.replaceChildren(el("option", { value: "" }, "everything"), ...known.map((one) => el("option", { value: one.category }, `${one.category} (${one.items.toLocaleString("en")})`)));
    select.value = state.category;
  });

  const drawPerson = latest(async (signal) => {
    const place = $("#person");
    const again = el("button", { type: "button", class: "plain", onclick: () => go({ user: null, basket: [], without: [] }) }, "Start again");
    if (state.basket.length) {
      if (state.basket.some((item) => !titles.has(item))) { // it came with the address
        const { explanations } = await ask("explain/new", { having: state.basket, item: state.basket[0], k: 1000, model: state.models[0] }, signal);
        explanations[0].reasons.forEach(remember);
      }
      place.replaceChildren(el("h2", {}, "A basket of ", count(state.basket.length, "item"), again),
        el("div", { class: "chips" }, state.basket.map((item) => chip(item, "Take out", () => go({ basket: state.basket.filter((one) => one !== item) })))));
      return;
    }
    if (state.user === null) {
      const { users } = await ask("search", { k: 5, model: state.models[0] }, signal);
      place.replaceChildren(el("h2", {}, "For example"), el("div", { class: "chips" }, users.map(({ user }) => el("button", { type: "button", onclick: () => go({ user: String(user) }) }, whoIs(user)))));
      return;
    }
    const person = await ask("person", { user: state.user, k: 60, model: state.models[0] }, signal);
    person.items.forEach(remember);
    const rest = person.count - person.items.length;
    place.replaceChildren(
      el("h2", {}, `${whoIs(person.user)} has ${count(person.count, "item")}`, again),
      el("ul", { class: "history", tabindex: 0, "aria-label": "What they have" },
        person.items.map((row) => el("li", { "data-item": row.item }, nameOf(row), el("small", {}, categories(row.category)))),
        rest > 0 && el("li", { class: "rest" }, `and ${rest.toLocaleString("en")} more`)),
      el("a", { class: "inside", href: `#sampler?user=${encodeURIComponent(person.user)}&model=${encodeURIComponent(state.models[0])}` }, "See the sampler at work for them →"),
    );
  });

  const drawColumns = latest(async (signal) => {
    const found = await Promise.all(state.models.map((model) => listOf(model, signal)));
    const firstRanks = new Map(found[0].items.map((row) => [row.item, row.rank]));
    found.forEach((one) => one.items.forEach(remember));
    $("#columns").replaceChildren(...found.map((one, at) => column(models.find(({ name }) => name === state.models[at]), one, at ? firstRanks : null)));
    if (state.user === null && !state.basket.length) return;
    await Promise.all(found.map((one, at) => explainColumn($("#columns").children[at], state.models[at], one, signal)));
  });

  async function listOf(model, signal) {
    if (state.user !== null) {
      const { users } = await ask("recommend", { user: state.user, model, ...asked() }, signal);
      return users[0];
    }
    if (state.basket.length) return ask("new", { item: state.basket, model, ...asked() }, signal);
    return { ...(await ask("popular", { model, ...asked() }, signal)), source: null };
  }

  function column(model, list, firstRanks) {
    const made = [model.backbone?.name, model.sampler?.name].filter(Boolean).join(" · ");
    return el("article", { class: "card column" },
      el("h2", {}, list.source === null ? "What most people have" : "Recommended", models.length > 1 && [list.source === null ? ", in " : " by ", el("b", {}, model.name)]),
      el("p", { class: "made" }, [made, SOURCES[list.source]].filter(Boolean).join(", ")),
      list.items.length
        ? el("ol", {}, list.items.map((row) => entry(row, list, firstRanks)))
        : el("p", {}, "No item is left to show."));
  }

  function entry(row, list, firstRanks) {
    const people = list.source === null || list.source === "popular"; // then the score counts them, and there is nothing to explain
    const before = firstRanks?.get(row.item);
    const moved = firstRanks && (before === undefined ? el("em", { class: "moved new", title: "Not in the first list" }, "new")
      : before !== row.rank && el("em", { class: "moved", title: `Number ${before} in the first list` }, before > row.rank ? `↑${before - row.rank}` : `↓${row.rank - before}`));
    const widest = list.items[0].score;
    const line = [
      el("span", { class: "rank" }, String(row.rank)),
      el("span", { class: "name" }, el("b", {}, nameOf(row)), moved, !people && el("span", { class: "because" })),
      el("span", { class: "score", title: people ? "people who have it" : "score" }, people ? count(row.score, "person", "people") : row.score.toFixed(2),
        el("i", { style: `width: ${Math.max(4, 100 * row.score / widest)}%` })),
    ];
    return el("li", { "data-item": row.item },
      el("details", {}, el("summary", {}, line), el("div", { class: "why" },
        el("div", { class: "reasons" }),
        el("div", { class: "buttons" },
          el("button", { type: "button", onclick: () => go({ user: null, basket: [...state.basket, String(row.item)] }) }, state.basket.length ? "Add to the basket" : "Start a basket with it"),
          el("button", { type: "button", onclick: () => go({ without: [...state.without, String(row.item)] }) }, "Not this one")))));
  }

  async function explainColumn(node, model, list, signal) {
    if (!list.items.length || list.source === "popular") return;
    const [path, whom] = state.user !== null ? ["explain", { user: state.user }] : ["explain/new", { having: state.basket }];
    for (let at = 0; at < list.items.length; at += 20) {
      const part = list.items.slice(at, at + 20);
      const { explanations } = await ask(path, { ...whom, item: part.map((row) => row.item), k: 6, model }, signal);
      explanations.forEach((why, place) => fillReasons(node.querySelectorAll("ol > li")[at + place], why));
    }
  }

  function fillReasons(entryNode, why) {
    if (!entryNode) return;
    const best = why.reasons.filter((one) => one.part > 0).slice(0, 2);
    if (best.length) $(".because", entryNode).replaceChildren("because of ", ...best.flatMap((one, at) => [at ? " and " : "", el("q", {}, nameOf(one))]));
    const widest = Math.max(...why.reasons.map((one) => Math.abs(one.part)), 1e-9);
    const share = (part) => el("td", { class: "number" }, why.score ? percent(part / why.score) : signed(part));
    const rest = [["all else that they have", why.others], ["what was learnt of the person alone", why.own]].filter(([, part]) => Math.abs(part) > 1e-6);
    const steps = why.reasons[0]?.paths.length || 0;
    fill($(".reasons", entryNode),
      el("table", {},
        why.reasons.map((one) => el("tr", {}, el("th", { scope: "row" }, nameOf(one)), el("td", { class: "bar" }, bars(one, widest)), share(one.part))),
        rest.map(([name, part]) => el("tr", { class: "rest" }, el("th", { scope: "row", colspan: 2 }, name), share(part)))),
      steps > 1 && el("p", { class: "legend" }, STEPS.slice(0, steps).map((step, at) => el("span", {}, el("i", { class: `step-${at}` }), step))),
      !why.exact && el("p", { class: "legend" }, "An estimate: this model is no sum over paths, so a fold-in stands in for it."));
  }

  function bars(one, widest) {
    return one.paths.map((part, at) => el("i", { class: `step-${Math.min(at, 2)}${part < 0 ? " below" : ""}`, style: `width: ${Math.min(100, 100 * Math.abs(part) / widest)}%` }));
  }

  // The same item is lit in every list where the pointer or the keyboard is on it.
  const light = (event) => {
    const item = event.target.closest?.("[data-item]")?.dataset.item;
    for (const node of document.querySelectorAll("#lists [data-item]")) node.classList.toggle("lit", item !== undefined && node.dataset.item === item);
  };
  $("#columns").addEventListener("pointerover", light);
  $("#columns").addEventListener("focusin", light);
  $("#columns").addEventListener("pointerleave", light);
  return { show };
}
