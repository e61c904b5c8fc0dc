/* What Vega does not do by itself: draw a figure once it is seen, save it, unfold what is linked to, show hints, change the theme. */
(() => {
  "use strict";
  const all = (what, root = document) => [...root.querySelectorAll(what)];
  const tip = document.getElementById("tip");
  const folds = all("details.section");

  /* Figures: without altair the page has none, and no Vega either. */
  const options = (typeof vegaEmbed === "function") && {
    ast: true, renderer: "svg", actions: false, config: CONFIG, tooltip: { disableDefaultStyle: true },
  };
  const plain = (svg) => svg.replace(/var\(--([\w-]+)\)/g, (_, name) => LIGHT[name]);
  const draw = (figure) => {
    seen.unobserve(figure);
    if (figure.dataset.drawn) return;
    figure.dataset.drawn = "yes";
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const title = figure.querySelector("h3").textContent;
    vegaEmbed(figure.querySelector(".chart"), spec, options).catch((error) => console.error(error));
    const button = figure.querySelector(".save");
    button.hidden = false;
    button.onclick = async () => {
      const whole = { ...spec, title, width: 760, background: LIGHT.surface };
      const { view } = await vegaEmbed(document.createElement("div"), whole, options);
      const link = Object.assign(document.createElement("a"), { download: `${figure.id}.svg` });
      link.href = URL.createObjectURL(new Blob([plain(await view.toSVG())], { type: "image/svg+xml" }));
      link.click();
    };
  };
  const seen = new IntersectionObserver(
    (entries) => entries.filter((one) => one.isIntersecting).forEach((one) => draw(one.target)), { rootMargin: "400px" });
  const figures = options ? all("figure") : [];
  figures.forEach((figure) => seen.observe(figure));

  /* Folding: the notes of the first screen, the contents on a phone, and what a link leads to. */
  const narrow = matchMedia("(max-width: 62rem)");
  const menu = document.querySelector("nav details");
  const unfold = () => {
    for (let at = document.getElementById(location.hash.slice(1)); at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (narrow.matches) menu.open = false;
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  };
  all(".lead .caption").forEach((notes) => { notes.open = false; });
  menu.open = !narrow.matches;
  narrow.addEventListener("change", () => { menu.open = !narrow.matches; });
  addEventListener("hashchange", unfold);
  all("nav a").forEach((link) => link.addEventListener("click", () => setTimeout(unfold)));
  if (location.hash) unfold();
  const button = document.getElementById("all");
  button.hidden = folds.length < 2;
  button.onclick = () => folds.forEach((fold) => { fold.open = true; });
  addEventListener("beforeprint", () => { all("details.section, .caption").forEach((one) => { one.open = true; }); figures.forEach(draw); });

  /* Hints of cells: for the Tab key a table is one stop, from which the arrow keys go on. */
  const show = (cell) => {
    const box = cell.getBoundingClientRect();
    tip.textContent = cell.dataset.hint;
    tip.hidden = false;
    tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${box.bottom + tip.offsetHeight + 12 < innerHeight ? box.bottom + 6 : box.top - tip.offsetHeight - 6}px`;
  };
  const hide = () => { tip.hidden = true; };
  all("table").forEach((table) => all("[data-hint]", table).forEach((cell, at, cells) => {
    cell.tabIndex = at ? -1 : 0;
    cell.onpointerenter = cell.onfocus = () => show(cell);
    cell.onpointerleave = cell.onblur = hide;
    cell.onkeydown = (event) => {
      const same = cells.filter((one) => one.cellIndex === cell.cellIndex);
      const [list, step] = { ArrowRight: [cells, 1], ArrowLeft: [cells, -1], ArrowDown: [same, 1], ArrowUp: [same, -1] }[event.key] || [];
      const next = list && list[list.indexOf(cell) + step];
      if (event.key === "Escape") hide();
      if (!next) return;
      event.preventDefault();
      next.focus();
    };
  }));
  addEventListener("scroll", hide, { passive: true, capture: true });

  /* Light or dark: as the system has it until told otherwise. */
  const root = document.documentElement;
  const toggle = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const label = () => { toggle.textContent = (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark" ? "Light" : "Dark"; };
  toggle.hidden = false;
  toggle.onclick = () => { root.dataset.theme = toggle.textContent.toLowerCase(); label(); };
  dark.addEventListener("change", label);
  label();
})();
