// Small charts of plain numbers, with a summary in words and tooltips.

import { fill, h, s } from "./dom.js";

const HIGH = 184;
const EDGE = { left: 58, right: 8, top: 10, bottom: 24 };
const WIDEST = 30;
const GAP = 24;

/** Bars over time. `points`: [{label, parts: [[colour, value]]}]. `lit`: whether one is in the light, by its place. */
export function bars(title, points, { format = String, summary = "", lit = () => true, legend = [] } = {}) {
  const sum = (point) => point.parts.reduce((total, [, value]) => total + value, 0);
  const most = nice(Math.max(2, ...points.map(sum)));
  return figure(title, summary, legend, (wide) => {
    const step = (wide - EDGE.left - EDGE.right) / Math.max(1, points.length);
    const thick = Math.max(1, Math.min(WIDEST, step * 0.72));
    const columns = points.map((point, at) => {
      let foot = HIGH - EDGE.bottom;
      const middle = EDGE.left + (at + 0.5) * step;
      const rects = point.parts.map(([colour, value]) => {
        const high = (value / most) * (HIGH - EDGE.top - EDGE.bottom);
        foot -= high;
        return (
          high > 0 &&
          s("rect", { x: middle - thick / 2, y: foot, width: thick, height: high, rx: Math.min(2, thick / 4), fill: `var(--${colour})` })
        );
      });
      const air = s("rect", { x: middle - step / 2, y: EDGE.top, width: step, height: HIGH - EDGE.top - EDGE.bottom, fill: "transparent" });
      return s("g", { opacity: lit(at) ? 1 : 0.25 }, s("title", {}, `${point.label}: ${format(sum(point))}`), air, rects);
    });
    return [
      axis(most, format, wide),
      columns,
      ticks(
        points.map((point) => point.label),
        step,
        wide,
      ),
    ];
  });
}

/** Lines over time. `lines`: [{name, colour, values}], null where there is none. */
export function lines(title, labels, given, { format = String, summary = "" } = {}) {
  const most = nice(Math.max(0.001, ...given.flatMap((line) => line.values.filter((value) => value !== null))));
  return figure(
    title,
    summary,
    given.map((line) => [line.colour, line.name]),
    (wide) => {
      const step = (wide - EDGE.left - EDGE.right) / Math.max(1, labels.length);
      const spot = (value, at) => [EDGE.left + (at + 0.5) * step, HIGH - EDGE.bottom - (value / most) * (HIGH - EDGE.top - EDGE.bottom)];
      const drawn = given.map((line) => {
        const spots = line.values.map((value, at) => (value === null ? null : [...spot(value, at), value, at])).filter(Boolean);
        const path = spots.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
        const dots = spots.map(([x, y, value, at]) =>
          s(
            "circle",
            { cx: x, cy: y, r: 3, fill: `var(--${line.colour})` },
            s("title", {}, `${line.name}, ${labels[at]}: ${format(value)}`),
          ),
        );
        return s(
          "g",
          {},
          s("path", { d: path, fill: "none", stroke: `var(--${line.colour})`, "stroke-width": 2, "stroke-linejoin": "round" }),
          dots,
        );
      });
      return [axis(most, format, wide), drawn, ticks(labels, step, wide)];
    },
  );
}

/** A chart under its title, drawn anew when its width changes. `legend`: [[colour, name]]. */
function figure(title, summary, legend, content) {
  const drawing = s("svg", { role: "img", "aria-label": [title, summary].filter(Boolean).join(". ") });
  const plot = h("div", { class: "plot" }, drawing);
  new ResizeObserver(([entry]) => {
    const wide = Math.round(entry.contentRect.width);
    if (wide <= EDGE.left + EDGE.right) return;
    drawing.setAttribute("viewBox", `0 0 ${wide} ${HIGH}`);
    fill(drawing, content(wide));
  }).observe(plot);
  const names =
    legend.length > 1 &&
    h(
      "ul",
      { class: "legend" },
      legend.map(([colour, name]) => h("li", {}, h("i", { class: `dot ${colour.replace("-fill", "")}` }), name)),
    );
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", { class: "row spread" }, h("h2", {}, title), names),
    plot,
    summary && h("p", { class: "small soft" }, summary),
  );
}

function axis(most, format, wide) {
  return [0, 0.5, 1].map((share) => {
    const y = HIGH - EDGE.bottom - share * (HIGH - EDGE.top - EDGE.bottom);
    return s(
      "g",
      {},
      s("line", { x1: EDGE.left, x2: wide - EDGE.right, y1: y, y2: y, stroke: "var(--line)" }),
      s("text", { x: EDGE.left - 8, y: y + 4, "text-anchor": "end", class: "tick" }, format(most * share)),
    );
  });
}

/** As many labels as have room, none twice in a row. */
function ticks(labels, step, wide) {
  let end = 0;
  let last = "";
  return labels.map((label, at) => {
    const half = label.length * 3.2;
    if (label === last) return null;
    const middle = Math.max(EDGE.left + half, Math.min(EDGE.left + (at + 0.5) * step, wide - half));
    if (middle - half < end) return null;
    end = middle + half + GAP;
    last = label;
    return s("text", { x: middle, y: HIGH - 6, "text-anchor": "middle", class: "tick" }, label);
  });
}

/** The next round number. */
function nice(value) {
  const step = 10 ** Math.floor(Math.log10(value));
  const found = [1, 2, 4, 6, 8, 10].find((each) => each * step >= value);
  return found * step;
}
