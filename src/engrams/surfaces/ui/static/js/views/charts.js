// Growth, search time and model usage over time.

import { get } from "../api.js";
import { fill, h, head, tabs } from "../dom.js";
import { bars, lines } from "../chart.js";
import { axisLabel, capital, clock, count, day, milliseconds, number } from "../format.js";
import { poll } from "../poll.js";
import { errorBox } from "../memory.js";
import { LAYERS } from "../words.js";

export const title = "Charts";

const SPANS = [
  ["60", "Last hour"],
  ["360", "6 hours"],
  ["1440", "Day"],
];
const MOST = 48;

const whole = (value) => number(Math.round(value));

export async function show(root) {
  const tiles = h("div", { class: "tiles" });
  const growth = h("section", { class: "card pad" });
  const speed = h("section", { class: "card pad" });
  const use = h("section", { class: "card pad" });
  let minutes = "60";
  const draw = async () => {
    const [stats, series, timeline] = await Promise.all([
      get("/v1/stats"),
      get("/v1/stats/series", { minutes }),
      get("/v1/timeline", { buckets: 40 }),
    ]);
    fill(tiles, summaryTiles(stats, series));
    fill(growth, growthChart(timeline));
    fill(speed, latencyChart(series.points));
    fill(use, loadChart(series.points));
  };
  const choose = tabs("Period", SPANS, minutes, (value) => {
    minutes = value;
    draw();
  });
  fill(
    root,
    head("Charts", "Growth of memory, search time and model usage."),
    tiles,
    growth,
    h("div", { class: "row spread" }, h("h2", {}, "Since the server started"), choose),
    h("div", { class: "pair" }, speed, use),
  );
  try {
    await draw();
  } catch (fault) {
    fill(root, errorBox(fault));
    return () => {};
  }
  return poll(10, draw);
}

function summaryTiles(stats, series) {
  const searches = series.points.filter((point) => point.searches > 0);
  const middle = searches.length
    ? searches.reduce((sum, point) => sum + point.search_p50 * point.searches, 0) / searches.reduce((sum, point) => sum + point.searches, 0)
    : null;
  return [
    tile(
      "Current memories",
      number(stats.active),
      `${count(
        Object.values(stats.status).reduce((sum, each) => sum + each, 0),
        "memory",
        "memories",
      )} in all`,
    ),
    tile("Search", middle === null ? "–" : milliseconds(middle), "median, this period"),
    tile("Searchable by meaning", `${Math.round(stats.embedded * 100)} %`, stats.embedder),
    tile(
      "Model calls",
      number(series.spent.calls),
      series.spent.calls ? `${number(series.spent.tokens)} tokens` : "None so far",
    ),
  ];
}

function tile(name, value, more) {
  return h(
    "div",
    { class: "card tile" },
    h("span", { class: "small soft" }, name),
    h("strong", { class: "number" }, value),
    h("span", { class: "small soft clip" }, more),
  );
}

function growthChart(timeline) {
  if (timeline.points.length === 0) return h("p", { class: "soft" }, "Growth appears here with the first memory.");
  let sum = 0;
  const names = Object.entries(LAYERS);
  const label = axisLabel(timeline.points[0].at);
  const points = timeline.points.map((point) => {
    for (const [layer] of names) sum += point.added[layer] ?? 0;
    return { label: label(point.at), parts: names.map(([layer, name]) => [`${name}-fill`, point.added[layer] ?? 0]) };
  });
  const legend = names.map(([, name]) => [`${name}-fill`, capital(name)]);
  const summary = `${count(sum, "memory", "memories")} from ${day(timeline.points[0].at)} to today${timeline.more ? "; older ones are not shown" : ""}.`;
  return bars("Growth", points, { format: whole, summary, legend });
}

/** Group minutes into at most 48 columns. */
function groupPoints(points) {
  const size = Math.max(1, Math.ceil(points.length / MOST));
  const groups = [];
  for (let at = 0; at < points.length; at += size) groups.push(points.slice(at, at + size));
  return groups;
}

function latencyChart(points) {
  const groups = groupPoints(points);
  const worst = (group, name) => {
    const asked = group.filter((point) => point.searches > 0).map((point) => point[name]);
    return asked.length ? Math.max(...asked) : null;
  };
  const p95 = groups.map((group) => worst(group, "search_p95"));
  if (!p95.some((value) => value !== null)) return emptyChart("Search time", "No searches in this period.");
  return lines(
    "Search time",
    groups.map((group) => clock(group[0].at)),
    [
      { name: "Median", colour: "accent", values: groups.map((group) => worst(group, "search_p50")) },
      { name: "95th percentile", colour: "sessions-fill", values: p95 },
    ],
    { format: milliseconds },
  );
}

function loadChart(points) {
  const groups = groupPoints(points);
  const total = (group, name) => group.reduce((sum, point) => sum + point[name], 0);
  const all = points.reduce((sum, point) => sum + point.searches + point.writes, 0);
  if (all === 0) return emptyChart("Searches and writes", "No searches or writes in this period.");
  const columns = groups.map((group) => ({
    label: clock(group[0].at),
    parts: [
      ["accent", total(group, "searches")],
      ["facts-fill", total(group, "writes")],
    ],
  }));
  return bars("Searches and writes", columns, {
    format: whole,
    legend: [
      ["accent", "Searches"],
      ["facts-fill", "Writes"],
    ],
  });
}

function emptyChart(name, text) {
  return h("div", { class: "stack tight" }, h("h2", {}, name), h("p", { class: "soft small" }, text));
}
