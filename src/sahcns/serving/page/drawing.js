// The two pictures of the sampler, and the small lines of its table: plain SVG, drawn as wide as there is room.

import { nameOf, number, svg } from "./parts.js";

const span = (values) => {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low - room, high + room];
};
const scale = ([low, high], from, to) => (value) => from + ((value - low) / (high - low)) * (to - from);

function ticks([low, high], wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high; at += 1) found.push(at * step);
  return found.map((value) => [value, number(value, Math.max(0, -Math.floor(Math.log10(step))))]);
}

const path = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Labels at heights that do not overlap, in their order. */
function apart(labels, least, low, high) {
  const sorted = [...labels].sort((a, b) => a.y - b.y);
  sorted.forEach((one, at) => { one.at = Math.max(one.y, at ? sorted[at - 1].at + least : low); });
  for (let at = sorted.length - 1; at >= 0; at -= 1) {
    const limit = at === sorted.length - 1 ? high : sorted[at + 1].at - least;
    if (sorted[at].at > limit) sorted[at].at = limit;
  }
  return labels;
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Lines over the layers: the pool, the positive, DNS's choice, the choice, and the negative that λ makes of it. */
export function profiles(width, { pair, layers }, point) {
  const narrow = width < 480;
  const height = narrow ? 300 : 360;
  const box = { left: 44, right: width - (narrow ? 22 : 168), top: 16, bottom: height - 52 };
  const negative = pair.negatives[0];
  const values = span([...pair.positive, ...pair.pool.flatMap((one) => one.profile), ...negative.profile]);
  const y = scale(values, box.bottom, box.top);
  const x = scale([0, Math.max(layers.length - 1, 1)], box.left + 14, box.right - 14);
  const at = (profile) => profile.map((value, layer) => [x(layer), y(value)]);
  const chosen = pair.pool.findIndex((one) => one.share > 0);
  const dns = pair.pool.findIndex((one) => one.dns);

  const grid = ticks(values, 5).map(([value, text]) => svg("g", {},
    svg("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), class: value === 0 ? "zero" : "grid" }),
    svg("text", { x: box.left - 7, y: y(value) + 4, class: "tick end" }, text)));
  const below = layers.map((name, layer) => svg("g", {},
    svg("line", { x1: x(layer), x2: x(layer), y1: box.top, y2: box.bottom, class: "grid" }),
    svg("text", { x: x(layer), y: box.bottom + 19, class: "tick middle" }, narrow ? name.replace("layer ", "") : name),
    svg("text", { x: x(layer), y: box.bottom + 38, class: "tick middle lambda" }, `λ ${number(negative.strength[layer])}`)));
  const pool = pair.pool.map((one, n) => svg("path", {
    d: path(at(one.profile)), "data-n": n, class: `profile ${n === chosen ? "chosen" : n === dns ? "dns" : "other"}`,
    onpointerenter: () => point(n), onpointerleave: () => point(null),
  }, svg("title", {}, nameOf(one))));
  const pulls = negative.profile.map((value, layer) => svg("line", {
    class: "pull", x1: x(layer), x2: x(layer), y1: y(pair.pool[chosen].profile[layer]), y2: y(value),
  }));
  const last = layers.length - 1;
  const labels = apart([
    { text: nameOf(pair), kind: "positive", y: y(pair.positive[last]) },
    { text: nameOf(pair.pool[chosen]), kind: "chosen", y: y(pair.pool[chosen].profile[last]) },
    ...(dns === chosen ? [] : [{ text: nameOf(pair.pool[dns]), kind: "dns", y: y(pair.pool[dns].profile[last]) }]),
    { text: "the negative", kind: "negative", y: y(negative.profile[last]) },
  ], 17, box.top + 4, box.bottom - 2);

  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Scores of the pool, the positive and the negative at each layer" },
    grid, below,
    pool.filter((_, n) => n !== chosen && n !== dns), pool[dns], pool[chosen],
    svg("path", { d: path(at(pair.positive)), class: "profile positive" }),
    pulls,
    svg("path", { d: path(at(negative.profile)), class: "profile negative" }),
    at(pair.positive).map(([cx, cy]) => svg("circle", { cx, cy, r: 4, class: "dot positive" })),
    at(pair.pool[chosen].profile).map(([cx, cy]) => svg("circle", { cx, cy, r: 4.5, class: "dot chosen" })),
    at(negative.profile).map(([cx, cy]) => svg("circle", { cx, cy, r: 3.5, class: "dot negative" })),
    !narrow && labels.map((one) => svg("g", {},
      svg("path", { d: `M${x(last) + 7} ${one.y}L${box.right + 4} ${one.at}`, class: `leader ${one.kind}` }),
      svg("text", { x: box.right + 8, y: one.at + 4, class: `label ${one.kind}` }, short(one.text, 20)))));
}

/** z(μ) and z(σ) of each candidate, the arrow (1, α), and the line that nobody is beyond. */
export function choiceMap(width, { pair }, alpha, point) {
  const height = Math.min(360, Math.max(280, width * 0.8));
  const box = { left: 40, right: width - 12, top: 14, bottom: height - 40 };
  const across = span([...pair.pool.map((one) => one.z_mu), 1.5, -1.5]);
  const up = span([...pair.pool.map((one) => one.z_sigma), 1.5, -1.5]);
  // One unit is as long both ways, so that the slope of the arrow is α.
  const unit = Math.min((box.right - box.left) / (across[1] - across[0]), (box.bottom - box.top) / (up[1] - up[0]));
  const middle = [(across[0] + across[1]) / 2, (up[0] + up[1]) / 2];
  const centre = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const x = (value) => centre[0] + (value - middle[0]) * unit;
  const y = (value) => centre[1] - (value - middle[1]) * unit;
  const reach = [[middle[0] - (centre[0] - box.left) / unit, middle[0] + (box.right - centre[0]) / unit], [middle[1] - (box.bottom - centre[1]) / unit, middle[1] + (centre[1] - box.top) / unit]];
  const chosen = pair.pool.find((one) => one.share > 0);
  const [mu, sigma] = [chosen.z_mu, chosen.z_sigma];
  const long = 100;
  const norm = Math.hypot(1, alpha);
  const along = [-alpha / norm, 1 / norm]; // the line of equal q through the choice
  const ahead = [1 / norm, alpha / norm];
  const corner = (a, b) => `${x(mu + a * along[0] + b * ahead[0]).toFixed(1)},${y(sigma + a * along[1] + b * ahead[1]).toFixed(1)}`;
  const arrow = Math.min(1.3, (across[1] - across[0]) / 3);
  const clip = "choice-clip";
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Candidates by mean hardness and unevenness" },
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, rx: 4 })),
      svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8Z", class: "head" }))),
    svg("g", { "clip-path": `url(#${clip})` },
      svg("polygon", { class: "beyond", points: [corner(-long, 0), corner(long, 0), corner(long, long), corner(-long, long)].join(" ") }),
      ticks(reach[0], 6).map(([value]) => svg("line", { x1: x(value), x2: x(value), y1: box.top, y2: box.bottom, class: value === 0 ? "zero" : "grid" })),
      ticks(reach[1], 6).map(([value]) => svg("line", { y1: y(value), y2: y(value), x1: box.left, x2: box.right, class: value === 0 ? "zero" : "grid" })),
      svg("path", { class: "front", d: `M${corner(-long, 0)}L${corner(long, 0)}`.replaceAll(",", " ") })),
    ticks(reach[0], 6).map(([value, text]) => svg("text", { x: x(value), y: box.bottom + 16, class: "tick middle" }, text)),
    ticks(reach[1], 6).map(([value, text]) => svg("text", { x: box.left - 6, y: y(value) + 4, class: "tick end" }, text)),
    svg("text", { x: box.right, y: box.bottom + 34, class: "axis end" }, "z(μ), hard on average →"),
    svg("text", { x: box.left + 6, y: box.top + 14, class: "axis" }, "↑ z(σ), uneven over layers"),
    svg("line", { class: "arrow", x1: x(0), y1: y(0), x2: x(arrow * ahead[0]), y2: y(arrow * ahead[1]), "marker-end": "url(#arrow)" }),
    pair.pool.map((one, n) => svg("circle", {
      cx: x(one.z_mu), cy: y(one.z_sigma), r: one.share > 0 ? 7 : one.dns ? 6 : 4.5, "data-n": n,
      class: `dot ${one.share > 0 ? "chosen" : one.dns ? "dns" : "other"}`, onpointerenter: () => point(n), onpointerleave: () => point(null),
    }, svg("title", {}, nameOf(one)))));
}

/** One candidate's profile as a line of a few letters' size: its shape, and flat where it hardly differs from layer to layer. */
export function sparkline(profile, all, kind) {
  const [width, height] = [76, 24];
  const middle = (Math.min(...profile) + Math.max(...profile)) / 2;
  const half = Math.max(Math.max(...profile) - middle, (Math.max(...all) - Math.min(...all)) / 16, 1e-12);
  const y = scale([middle - half, middle + half], height - 3, 3);
  const x = scale([0, Math.max(profile.length - 1, 1)], 3, width - 3);
  const points = profile.map((value, layer) => [x(layer), y(value)]);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "spark", "aria-hidden": "true" },
    svg("path", { d: path(points), class: `profile ${kind}` }),
    points.map(([cx, cy]) => svg("circle", { cx, cy, r: 1.8, class: `dot ${kind}` })));
}
