/* What Vega does not do by itself: draw a figure once it is seen, save it, unfold what is linked to, show hints, change the theme. */
(() => {
  "use strict";
  const all = (what, root = document) => [...root.querySelectorAll(what)];
  const at = (name) => document.getElementById(name);
  const [tip, open, theme, menu] = [at("tip"), at("all"), at("theme"), document.querySelector("nav details")];

  const figures = typeof vegaEmbed === "function" ? all("figure") : []; // without altair there is no Vega
  const embed = (where, spec) => vegaEmbed(where, spec, {
    ast: true, renderer: "svg", actions: false, config: CONFIG, tooltip: { disableDefaultStyle: true },
  });
  const draw = (figure) => {
    if (figure.dataset.drawn) return;
    figure.dataset.drawn = "yes";
    const spec = JSON.parse(figure.querySelector("script").textContent);
    embed(figure.querySelector(".chart"), spec);
    const button = figure.querySelector(".save");
    button.hidden = false;
    button.onclick = async () => {
      const title = figure.querySelector("h3").textContent;
      const { view } = await embed(document.createElement("div"), { ...spec, title, width: 760, background: LIGHT.surface });
      const svg = (await view.toSVG()).replace(/var\(--([\w-]+)\)/g, (_, name) => LIGHT[name]);
      const href = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
      Object.assign(document.createElement("a"), { download: `${figure.id}.svg`, href }).click();
    };
  };
  const watch = new IntersectionObserver((seen) => seen.forEach((one) => one.isIntersecting && draw(one.target)), { rootMargin: "400px" });
  figures.forEach((figure) => watch.observe(figure));

  const narrow = matchMedia("(max-width: 62rem)");
  const fit = () => { menu.open = !narrow.matches; };
  const unfold = (what) => all(what).forEach((one) => { one.open = true; });
  const go = () => {
    const target = at(location.hash.slice(1));
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    fit();
    target?.scrollIntoView();
  };
  all(".lead .caption").forEach((notes) => { notes.open = false; });
  narrow.addEventListener("change", fit);
  addEventListener("hashchange", go);
  all("nav a").forEach((link) => link.addEventListener("click", () => setTimeout(go))); // also where the hash is the same
  location.hash ? go() : fit();
  open.hidden = all("details.section").length < 2;
  open.onclick = () => unfold("details.section");
  addEventListener("beforeprint", () => { unfold("details.section, .caption"); figures.forEach(draw); });

  all("table").forEach((table) => all("[data-hint]", table).forEach((cell, place, cells) => {
    cell.tabIndex = place ? -1 : 0; // for the Tab key a table is one stop, from which the arrow keys go on
    cell.onpointerenter = cell.onfocus = () => {
      const { left, top, bottom } = cell.getBoundingClientRect();
      Object.assign(tip, { textContent: cell.dataset.hint, hidden: false });
      tip.style.left = `${Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${bottom + tip.offsetHeight + 12 < innerHeight ? bottom + 6 : top - tip.offsetHeight - 6}px`;
    };
    cell.onpointerleave = cell.onblur = () => { tip.hidden = true; };
    cell.onkeydown = ({ key }) => {
      if (key === "Escape") tip.hidden = true;
      cells[place + { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key]]?.focus();
    };
  }));

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement.dataset;
  const label = () => { theme.textContent = (root.theme || (dark.matches ? "dark" : "light")) === "dark" ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.onclick = () => { root.theme = theme.textContent.toLowerCase(); label(); };
  dark.addEventListener("change", label);
  label();
})();
