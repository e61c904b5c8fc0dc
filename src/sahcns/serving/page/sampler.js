// The sampler at work on one training pair, computed by the service with the library's own functions.

import { ask, latest } from "./ask.js";
import { choiceMap, profiles, sparkline } from "./drawing.js";
import { makeFinder } from "./finder.js";
import { $, count, el, fill, nameOf, number, signed, tell, whoIs, writeAddress } from "./parts.js";

const DIALS = { alpha: 0.3, lambda_max: 0.5, pool: 10 };

export function startSampler(models) {
  const state = { user: null, item: null, model: models[0].name, seed: 0, ...DIALS };
  let shown = null; // the latest answer, to be drawn again when the window changes

  const pick = $("#sampler-model");
  pick.replaceChildren(...models.map(({ name }) => el("option", {}, name)));
  pick.closest("label").hidden = models.length < 2;
  pick.addEventListener("change", () => go({ model: pick.value, user: null, item: null }, true));
  makeFinder($("#pair-finder"), {
    label: "Find a person", hint: "Another person", kinds: ["user"], model: () => state.model,
    choose: (kind, row) => go({ user: String(row.user), item: null }, true),
  });
  $("#positive").addEventListener("change", (event) => go({ item: event.target.value }, true));
  $("#another-pair").addEventListener("click", () => go({ user: null, item: null, seed: state.seed + 1 }, true));
  $("#another-pool").addEventListener("click", () => go({ seed: state.seed + 1 }, true));
  for (const name of Object.keys(DIALS)) $(`#${name}`).addEventListener("input", (event) => go({ [name]: Number(event.target.value) }));

  function go(change, push = false) {
    Object.assign(state, change);
    draw(push);
  }

  function show(fields) {
    const given = (name) => (fields.has(name) && Number.isFinite(Number(fields.get(name))) ? Number(fields.get(name)) : DIALS[name]);
    Object.assign(state, {
      user: fields.get("user"), item: fields.get("item"), seed: Number(fields.get("seed")) || 0,
      model: models.some((one) => one.name === fields.get("model")) ? fields.get("model") : models[0].name,
      alpha: given("alpha"), lambda_max: given("lambda_max"), pool: given("pool"),
    });
    draw(false);
  }

  function draw(push) {
    for (const name of Object.keys(DIALS)) {
      $(`#${name}`).value = state[name];
      $(`#${name}-out`).textContent = name === "pool" ? String(state[name]) : number(state[name]);
    }
    pick.value = state.model;
    refresh(push).catch((error) => {
      for (const place of ["#story", "#profiles", "#map", "#mix", "#pool-table"]) $(place).replaceChildren();
      shown = null;
      tell(error);
    });
  }

  const refresh = latest(async (signal, push) => {
    const answer = await ask("inspect", { ...state }, signal);
    const { pair } = answer;
    Object.assign(state, { user: String(pair.user), item: String(pair.item) });
    writeAddress("sampler", { ...state, model: state.model === models[0].name ? undefined : state.model, seed: state.seed || undefined }, push);
    tell(null);
    shown = answer;
    $("#pair-finder input").placeholder = `${whoIs(pair.user)} (type to find another)`;
    $("#positive").replaceChildren(...answer.positives.map((one) => el("option", { value: one.item, selected: String(one.item) === state.item }, nameOf(one))));
    drawStory(answer);
    drawPictures();
    drawMix(answer);
    drawPool(answer);
  });

  function drawStory({ pair, layers }) {
    const chosen = pair.pool.find((one) => one.share > 0);
    const dns = pair.pool.find((one) => one.dns);
    const strength = pair.negatives[0].strength;
    const most = strength.indexOf(Math.max(...strength));
    const name = (row, kind) => el("mark", { class: kind }, nameOf(row));
    const why = state.alpha === 0 ? ", the hardest of them"
      : `: ${chosen.z_mu > 0.5 ? "hard" : chosen.z_mu > -0.5 ? "middling" : "easy"} on average and ${chosen.z_sigma > 0.5 ? "uneven" : chosen.z_sigma > -0.5 ? "as even as most" : "even"} over the layers`;
    const second = chosen === dns || chosen.item === dns.item ? ["; DNS would choose it too. "] : [". DNS would choose ", name(dns, "dns"), ". "];
    const third = strength[most] < 0.005
      ? ["The pool reaches the positive at every layer, so nothing of it is mixed in."]
      : ["The pool is easiest at ", layers[most], ", where ", el("b", {}, `${Math.round(100 * strength[most])} %`), " of the positive is mixed in."];
    fill($("#story"),
      `${whoIs(pair.user)} has `, name(pair, "positive"), `. Of ${count(pair.pool.length, "item")} that they do not have, SAHC-NS takes `, name(chosen, "chosen"), why, ...second, ...third,
      chosen.held_out && el("em", {}, " They took it later: a false negative."));
  }

  function drawPictures() {
    if (!shown) return;
    const room = (place) => Math.floor($(place).getBoundingClientRect().width);
    if (room("#profiles") < 50) return; // hidden
    $("#profiles").replaceChildren(profiles(room("#profiles"), shown, point));
    $("#map").replaceChildren(choiceMap(room("#map"), shown, state.alpha, point));
  }
  new ResizeObserver(() => requestAnimationFrame(drawPictures)).observe($("#sampler .pictures"));

  /** Lights a candidate in both pictures and the table. */
  function point(n) {
    for (const node of document.querySelectorAll("#sampler [data-n]")) node.classList.toggle("lit", n !== null && node.dataset.n === String(n));
    $("#sampler .pictures").classList.toggle("pointing", n !== null);
  }

  function drawMix({ pair, layers }) {
    const strength = pair.negatives[0].strength;
    const rows = [
      [["positive ", el("var", {}, "p")], pair.positive],
      [["best of the pool ", el("var", {}, "m")], pair.hardest],
      [["gap ", el("var", {}, "g")], pair.gaps],
      [["hardness ", el("var", {}, "ρ")], pair.rho],
    ];
    $("#mix").replaceChildren(
      el("thead", {}, el("tr", {}, el("td"), layers.map((name) => el("th", { scope: "col", class: "number" }, name)))),
      el("tbody", {}, rows.map(([name, values]) => el("tr", {}, el("th", { scope: "row" }, name), values.map((value) => el("td", { class: "number" }, number(value))))),
        el("tr", { class: "sum" }, el("th", { scope: "row" }, "share of the positive ", el("var", {}, "λ")),
          strength.map((value) => el("td", { class: "number" }, number(value), el("i", { style: `height: ${Math.round(26 * value)}px` }))))));
  }

  function drawPool({ pair }) {
    const all = [...pair.positive, ...pair.pool.flatMap((one) => one.profile)];
    const order = pair.pool.map((one, n) => [one, n]).sort((a, b) => b[0].q - a[0].q);
    const most = Math.max(...pair.pool.map((one) => Math.abs(one.q)), 1e-9);
    const head = (text, title) => el("th", { scope: "col", class: "number", title }, text);
    const symbol = (letter, argument) => argument ? [el("var", {}, letter), "(", el("var", {}, argument), ")"] : el("var", {}, letter);
    $("#pool-table").replaceChildren(
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "candidate"), el("td", {}, ""),
        head(symbol("μ"), "mean over the layers"), head(symbol("σ"), "spread over the layers, relative to the mean magnitude"),
        head(symbol("z", "μ")), head(symbol("z", "σ")), head(symbol("q"), "what the choice is made by"))),
      el("tbody", {}, order.map(([one, n]) => {
        const kind = one.share > 0 ? "chosen" : one.dns ? "dns" : "other";
        return el("tr", { class: kind, "data-n": n, onpointerenter: () => point(n), onpointerleave: () => point(null) },
          el("th", { scope: "row" }, el("span", {}, nameOf(one)),
            one.share > 0 && el("em", { class: "chosen" }, "chosen"), one.dns && el("em", { class: "dns" }, "DNS"),
            one.held_out && el("em", { class: "held", title: "an item of theirs that was held out of training" }, "false negative")),
          el("td", {}, sparkline(one.profile, all, kind)),
          el("td", { class: "number" }, number(one.mu)), el("td", { class: "number" }, number(one.sigma)),
          el("td", { class: "number" }, signed(one.z_mu)), el("td", { class: "number" }, signed(one.z_sigma)),
          el("td", { class: "number q" }, signed(one.q), el("i", { class: one.q < 0 ? "below" : "", style: `width: ${Math.round(44 * Math.abs(one.q) / most)}px` })));
      })));
  }

  return { show };
}
