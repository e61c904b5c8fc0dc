/* Hover, keys, legend and saving for the drawings of the page. They are complete without this: it only adds to them. */
"use strict";

(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const tip = document.getElementById("tip");
  const spoken = document.getElementById("spoken");

  const html = (name, className, text) => {
    const made = document.createElement(name);
    made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const svg = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  /* The tip stands beside a point of the window, where it hides the point least and leaves the window nowhere.
     The point is asked for again when the page scrolls below it. */
  let anchor = null;

  const placeTip = (where) => {
    anchor = where;
    const { x, y, above, below, start = x } = where(); // what stands there begins at start
    const [wide, high] = [document.documentElement.clientWidth, window.innerHeight];
    tip.hidden = y < -40 || y > high + 40; // until its point is scrolled back
    if (tip.hidden) return;
    const { width, height } = tip.getBoundingClientRect();
    let left = x + 14 + width <= wide - 8 ? x + 14 : start - 14 - width;
    let top = y - height / 2;
    if (left < 8) {
      left = x - width / 2;
      top = below + 8 + height <= high - 8 || above - 8 - height < 8 ? below + 8 : above - 8 - height;
    }
    tip.style.left = `${Math.max(8, Math.min(left, wide - width - 8))}px`;
    tip.style.top = `${Math.max(8, Math.min(top, high - height - 8))}px`;
  };

  const hideTip = () => {
    anchor = null;
    tip.hidden = true;
  };

  /* Keys are the same in figures and tables. Both are rows of places: a place is its x, or null where nothing is.
     Up and down go to the next row that has any, to its place nearest to x. */
  const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };
  const isStep = ({ key, altKey, metaKey, shiftKey, ctrlKey }) => // the others are the browser's, as Alt and left for back
    key in STEPS && !altKey && !metaKey && !shiftKey && !(ctrlKey && key.startsWith("Arrow"));
  const there = (row) => [...row.keys()].filter((at) => row[at] !== null);
  const stepped = (list, from, step) => list[Math.max(0, Math.min(list.length - 1, list.indexOf(from) + step))];

  const walk = (rows, [row, at], { key, ctrlKey }, { x = rows[row][at], round = false } = {}) => {
    const full = there(rows.map((one) => there(one)[0] ?? null));
    if (key === "ArrowUp" || key === "ArrowDown") {
      const next = stepped(full, row, STEPS[key]);
      const to = round && next === row ? stepped(full, row, -Infinity * STEPS[key]) : next;
      const away = (one) => Math.abs(rows[to][one] - x);
      return [to, there(rows[to]).reduce((best, one) => (away(one) < away(best) ? one : best))];
    }
    if (ctrlKey) row = stepped(full, row, STEPS[key]);
    return [row, stepped(there(rows[row]), at, STEPS[key])];
  };

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.querySelector("script").textContent);
      this.kind = this.data.kind;
      this.hidden = new Set();
      // where in each series an x stands, to find all series at one x
      this.index = this.data.series.map((one) => new Map(one.points.map((point, at) => [point[0], at])));
      this.drawings = [...figure.querySelectorAll("svg.drawing")].map((drawing) => this.enliven(drawing));
      figure.classList.add("live");
      const save = figure.querySelector(".save");
      save.hidden = false;
      save.addEventListener("click", () => this.save());
    }

    enliven(drawing) {
      const made = {
        svg: drawing,
        plot: drawing.dataset.plot.split(",").map(Number),
        cell: (drawing.dataset.cell || "0,0").split(",").map(Number),
        places: drawing.dataset.at.split("|").map((series) =>
          series ? series.split(" ").map((spot) => (spot === "-" ? null : spot.split(",").map(Number))) : []),
        layer: svg("g", { class: "focus" }),
        here: null,
      };
      drawing.append(made.layer);
      drawing.setAttribute("tabindex", "0");
      drawing.setAttribute("role", "application"); // else a screen reader keeps the arrow keys for itself
      drawing.setAttribute("aria-description", "Arrow keys go from value to value; the same values are below, under Data.");
      drawing.addEventListener("pointermove", (event) => this.point(made, event));
      drawing.addEventListener("pointerdown", (event) => this.point(made, event));
      drawing.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.leave(made); });
      drawing.addEventListener("keydown", (event) => this.press(made, event));
      drawing.addEventListener("blur", () => this.leave(made));
      drawing.addEventListener("focus", () => {
        if (drawing.matches(":focus-visible")) this.show(made, this.first(made), true);
      });
      for (const key of drawing.querySelectorAll(".key")) this.enlivenKey(made, key);
      return made;
    }

    enlivenKey(drawing, key) {
      const series = Number(key.dataset.series);
      const [x, y, width, height] = key.dataset.box.split(",");
      key.prepend(svg("rect", { class: "hit", x, y, width, height, rx: 5, fill: "transparent" }));
      const help = svg("title", {});
      help.textContent = "Click: hide or show. Double click, or Shift and Enter: only this one.";
      key.append(help);
      key.setAttribute("role", "button");
      key.setAttribute("tabindex", "0");
      key.setAttribute("aria-pressed", "true");
      key.setAttribute("aria-label", this.data.series[series].name);
      key.addEventListener("click", () => this.toggle(series));
      key.addEventListener("dblclick", () => this.only(series));
      key.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        if (event.shiftKey) this.only(series);
        else this.toggle(series);
      });
      key.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") this.dim(series); });
      key.addEventListener("pointerleave", () => this.dim(null));
    }

    /* ---- legend ---- */

    toggle(series) {
      if (!this.hidden.delete(series)) this.hidden.add(series);
      this.redraw();
    }

    only(series) {
      const others = this.data.series.map((_, at) => at).filter((at) => at !== series);
      const alone = !this.hidden.has(series) && others.every((at) => this.hidden.has(at));
      this.hidden = new Set(alone ? [] : others);
      this.redraw();
    }

    redraw() {
      for (const part of this.figure.querySelectorAll("[data-series]")) {
        const off = this.hidden.has(Number(part.dataset.series));
        part.classList.toggle("off", off);
        if (part.classList.contains("key")) part.setAttribute("aria-pressed", String(!off));
      }
      this.dim(null);
      for (const drawing of this.drawings) this.leave(drawing);
    }

    dim(series) {
      for (const part of this.figure.querySelectorAll(".series"))
        part.classList.toggle("dim", series !== null && !this.hidden.has(series) && Number(part.dataset.series) !== series);
    }

    /* ---- pointing ---- */

    point(drawing, event) {
      if (event.target.closest(".key")) return this.leave(drawing);
      const matrix = drawing.svg.getScreenCTM();
      if (!matrix) return;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      const found = this.nearest(drawing, at.x, at.y);
      if (found) this.show(drawing, found, false);
      else this.leave(drawing);
    }

    nearest(drawing, x, y) {
      const [left, top, right, bottom] = drawing.plot;
      if (x < left - 12 || x > right + 12 || y < top - 12 || y > bottom + 12) return null;
      // bars are found by what is below them, lines mostly so; points by their distance
      const weight = { line: 0.3, bar: 0.02, scatter: 1, heat: 1 }[this.kind];
      let [best, found] = [Infinity, null];
      drawing.places.forEach((spots, series) => {
        if (this.hidden.has(series)) return;
        spots.forEach((spot, at) => {
          if (!spot) return;
          const distance = Math.hypot(spot[0] - x, (spot[1] - y) * weight);
          if (distance < best) [best, found] = [distance, { series, at }];
        });
      });
      if (!found || (this.kind === "scatter" && best > 40)) return null;
      if (this.kind === "heat") {
        const spot = drawing.places[found.series][found.at];
        if (Math.abs(spot[0] - x) > drawing.cell[0] / 2 || Math.abs(spot[1] - y) > drawing.cell[1] / 2) return null;
      }
      return found;
    }

    /* All series at the x of one point, from top to bottom; a cloud and a heat map have only the one. */
    together(drawing, { series, at }) {
      if (this.kind === "scatter" || this.kind === "heat") return [{ series, at }];
      const x = this.data.series[series].points[at][0];
      return this.data.series
        .map((_, other) => ({ series: other, at: other === series ? at : this.index[other].get(x) }))
        .filter((one) => one.at !== undefined && !this.hidden.has(one.series) && drawing.places[one.series][one.at])
        .sort((a, b) => drawing.places[a.series][a.at][1] - drawing.places[b.series][b.at][1]);
    }

    show(drawing, found, aloud) {
      if (!found) return;
      drawing.here = found;
      const all = this.together(drawing, found);
      this.mark(drawing, found, all);
      const one = this.data.series[found.series];
      const [x, y, band, hint] = one.points[found.at];
      const column = `${this.data.x} ${x}`.trim();
      tip.replaceChildren(html("div", "at", this.kind === "heat" ? `${this.data.row} ${one.name}, ${column}`.trim() : column));
      const rows = html("div", "rows");
      for (const each of all) {
        const series = this.data.series[each.series];
        const near = each.series === found.series ? " near" : "";
        const point = series.points[each.at];
        const chip = html("span", "chip");
        chip.style.setProperty("--hue", this.colour(drawing, each));
        rows.append(chip, html("span", `name${near}`, this.kind === "heat" ? this.data.value : series.name),
          html("span", `value${near}`, point[1]), html("span", `band${near}`, point[2] || ""));
      }
      tip.append(rows);
      if (hint) tip.append(html("div", "hint", hint));
      const spot = drawing.places[found.series][found.at];
      placeTip(() => {
        const matrix = drawing.svg.getScreenCTM();
        const onScreen = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
        const { x, y } = onScreen(...spot);
        return { x, y, above: onScreen(0, drawing.plot[1]).y, below: onScreen(0, drawing.plot[3]).y };
      });
      if (aloud) spoken.textContent = [column, one.name, y, band, hint].filter(Boolean).join(", ");
    }

    colour(drawing, { series, at }) {
      const parts = drawing.svg.querySelectorAll(`.series[data-series="${series}"]`);
      // a heat map and bars that are samplers have one part a point, in the order of the points that are there
      const there = drawing.places[series].slice(0, at).filter(Boolean).length;
      const part = parts.length > 2 || this.kind === "heat" || this.kind === "bar" ? parts[there] || parts[0] : parts[0];
      return part ? getComputedStyle(part).getPropertyValue("--hue") : "currentColor";
    }

    mark(drawing, found, all) {
      const [left, top, right, bottom] = drawing.plot;
      const [x, y] = drawing.places[found.series][found.at];
      const made = [];
      if (this.kind === "heat") {
        const [wide, high] = drawing.cell;
        made.push(svg("rect", { class: "frame", x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: 2 }));
      } else {
        if (this.kind === "line") made.push(svg("line", { class: "guide", x1: x, x2: x, y1: top, y2: bottom }));
        for (const one of all) {
          const [cx, cy] = drawing.places[one.series][one.at];
          const near = one.series === found.series;
          if (this.kind === "bar" && !near) continue;
          const ring = svg("circle", { class: near ? "near" : "ring", cx, cy, r: near ? 6.5 : 5 });
          ring.style.setProperty("--hue", this.colour(drawing, one));
          made.push(ring);
        }
      }
      drawing.layer.replaceChildren(...made);
    }

    leave(drawing) {
      drawing.layer.replaceChildren();
      drawing.here = null;
      hideTip();
    }

    /* ---- keys ---- */

    rows(drawing) {
      return drawing.places.map((spots, at) => (this.hidden.has(at) ? [] : spots.map((spot) => spot && spot[0])));
    }

    first(drawing) {
      const rows = this.rows(drawing).map(there);
      const series = rows.findIndex((row) => row.length);
      return series < 0 ? null : { series, at: rows[series][0] };
    }

    press(drawing, event) {
      if (event.target !== drawing.svg) return;
      if (event.key === "Escape") return this.leave(drawing);
      if (!isStep(event)) return;
      event.preventDefault();
      const { here } = drawing;
      if (!here) return this.show(drawing, this.first(drawing), true);
      const [series, at] = walk(this.rows(drawing), [here.series, here.at], event, { round: true });
      this.show(drawing, { series, at }, true);
    }

    /* ---- saving: the drawing as it is shown, with its title, on white ---- */

    save() {
      const source = this.drawings[0].svg;
      const copy = source.cloneNode(true);
      for (const part of copy.querySelectorAll(".focus, .hit, .off, .key title")) part.remove();
      for (const part of copy.querySelectorAll("[style], [tabindex], [role]"))
        for (const name of ["style", "tabindex", "role", "aria-pressed", "aria-label"]) part.removeAttribute(name);
      const { width, height } = source.viewBox.baseVal;
      const [above, beside] = [14 + 20 * this.data.heading.length, 8];
      const frame = { x: -beside, y: -above, width: width + 2 * beside, height: height + above };
      const size = { viewBox: Object.values(frame).join(" "), width: frame.width, height: frame.height, xmlns: SVG };
      for (const [name, value] of Object.entries(size)) copy.setAttribute(name, value);
      const ours = ["tabindex", "role", "aria-label", "aria-description", "class", "data-at", "data-plot", "data-cell"];
      for (const name of ours) copy.removeAttribute(name);
      const back = svg("rect", { ...frame, fill: "#ffffff" });
      const title = this.data.heading.map((line, at) => {
        const text = svg("text", { x: 0, y: 22 + 20 * at - above, "font-size": 15, "font-weight": 600, fill: "#1c2027" });
        text.textContent = line;
        return text;
      });
      copy.prepend(back, ...title);
      const file = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
      const link = html("a", "");
      link.href = URL.createObjectURL(file);
      link.download = `${this.data.name}.svg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }
  }

  for (const figure of document.querySelectorAll("figure.figure")) new Chart(figure);

  /* Hints of tables: a browser's own come late, and never for a finger or a keyboard.
     A table is one stop of the Tab key, its last visited cell, and the other keys go from there. */
  const enlivenTable = (table) => {
    const cells = table.querySelectorAll(".hinted");
    if (!cells.length) return;
    const rows = [...table.rows].map((row) => [...row.cells].map((cell, at) => (cell.matches(".hinted") ? at : null)));
    let stop = cells[0];
    let column = 0; // where up and down come from, kept over rows that have no hint there
    for (const cell of cells) {
      const hint = cell.title;
      cell.removeAttribute("title");
      cell.tabIndex = cell === stop ? 0 : -1;
      cell.setAttribute("aria-description", hint);
      const where = () => {
        const { left, right, top, bottom, height } = cell.getBoundingClientRect();
        return { x: right - 8, y: top + height / 2, above: top, below: bottom, start: left + 8 };
      };
      const show = () => {
        tip.replaceChildren(html("div", "", hint));
        placeTip(where);
      };
      const hide = () => { if (anchor === where) hideTip(); }; // not the hint of another cell
      cell.addEventListener("pointerenter", show);
      for (const event of ["pointerleave", "blur"]) cell.addEventListener(event, hide);
      cell.addEventListener("focus", () => {
        stop.tabIndex = -1;
        cell.tabIndex = 0;
        [stop, column] = [cell, cell.cellIndex];
        show();
      });
      cell.addEventListener("keydown", (event) => {
        if (!isStep(event)) return;
        const kept = column;
        const [row, at] = walk(rows, [cell.parentElement.rowIndex, cell.cellIndex], event, { x: column });
        const { cells } = table.rows[row];
        if (cells[at] === cell && event.key.startsWith("Arrow")) return; // no further: the browser scrolls
        event.preventDefault();
        table.parentElement.style.scrollPaddingLeft = `${cells[0].offsetWidth}px`; // the first column stays, and covers
        cells[at].focus({ preventScroll: true }); // its own scrolling is content with half a cell
        cells[at].scrollIntoView({ block: "nearest", inline: "nearest" });
        if (event.key === "ArrowUp" || event.key === "ArrowDown") column = kept;
      });
    }
    table.parentElement.tabIndex = -1; // its cells are the way in
  };

  document.querySelectorAll("table").forEach(enlivenTable);

  addEventListener("scroll", () => { if (anchor) placeTip(anchor); }, { passive: true, capture: true });
  addEventListener("beforeprint", hideTip);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  /* Light or dark: as the system has it until told otherwise. */
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  const kept = (value) => {
    try {
      if (value) localStorage.setItem("sahcns-theme", value);
      return localStorage.getItem("sahcns-theme");
    } catch { // a page from a disk may have no storage
      return null;
    }
  };
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    kept(root.dataset.theme);
    label();
  });
  system.addEventListener("change", label);
  label();
})();
