// Growth, search time and model usage over time.

import { get } from "../api.js";
import { fill, h, head, tabs } from "../dom.js";
import { bars, lines } from "../chart.js";
import { axisLabel, clock, day, milliseconds, number } from "../format.js";
import { named, t } from "../i18n.js";
import { poll } from "../poll.js";
import { errorBox } from "../memory.js";
import { LAYERS } from "../words.js";

export const title = t("charts");

const SPANS = [
  ["60", t("last_hour")],
  ["360", t("six_hours")],
  ["1440", t("day")],
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
  const choose = tabs(t("period"), SPANS, minutes, (value) => {
    minutes = value;
    draw();
  });
  fill(
    root,
    head(t("charts"), t("growth_of_memory_search_time")),
    tiles,
    growth,
    h("div", { class: "row spread" }, h("h2", {}, t("since_the_server_started")), choose),
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
      t("current_memories"),
      number(stats.active),
      t("n_in_all", { n: Object.values(stats.status).reduce((sum, each) => sum + each, 0) }),
    ),
    tile(t("search"), middle === null ? "–" : milliseconds(middle), t("median_period")),
    tile(t("searchable_by_meaning"), `${Math.round(stats.embedded * 100)} %`, stats.embedder),
    tile(
      t("model_calls"),
      number(series.spent.calls),
      series.spent.calls ? t("n_tokens", { n: series.spent.tokens }) : t("none_so_far"),
    ),
  ];
}

function tile(name, value, more) {
  return h(
    "div",
    { class: "card tile" },
    h("span", { class: "small soft" }, name),
    h("strong", { class: "number" }, value),
    h("span", { class: "small soft" }, more),
  );
}

function growthChart(timeline) {
  if (timeline.points.length === 0) return h("p", { class: "soft" }, t("growth_appears_here_with_the"));
  let sum = 0;
  const names = Object.entries(LAYERS);
  const label = axisLabel(timeline.points[0].at);
  const points = timeline.points.map((point) => {
    for (const [layer] of names) sum += point.added[layer] ?? 0;
    return { label: label(point.at), parts: names.map(([layer, name]) => [`${name}-fill`, point.added[layer] ?? 0]) };
  });
  const legend = names.map(([, name]) => [`${name}-fill`, named("layer", name)]);
  const key = timeline.more ? "growth_more" : "growth_sum";
  const summary = t(key, { n: sum, day: day(timeline.points[0].at) });
  return bars(t("growth"), points, { format: whole, summary, legend });
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
  if (!p95.some((value) => value !== null)) return emptyChart(t("search_time"), t("no_searches_in_this_period"));
  return lines(
    t("search_time"),
    groups.map((group) => clock(group[0].at)),
    [
      { name: t("median"), colour: "accent", values: groups.map((group) => worst(group, "search_p50")) },
      { name: t("percentile_95"), colour: "sessions-fill", values: p95 },
    ],
    { format: milliseconds },
  );
}

function loadChart(points) {
  const groups = groupPoints(points);
  const total = (group, name) => group.reduce((sum, point) => sum + point[name], 0);
  const all = points.reduce((sum, point) => sum + point.searches + point.writes, 0);
  if (all === 0) return emptyChart(t("searches_and_writes"), t("no_searches_or_writes_in"));
  const columns = groups.map((group) => ({
    label: clock(group[0].at),
    parts: [
      ["accent", total(group, "searches")],
      ["facts-fill", total(group, "writes")],
    ],
  }));
  return bars(t("searches_and_writes"), columns, {
    format: whole,
    legend: [
      ["accent", t("searches")],
      ["facts-fill", t("writes")],
    ],
  });
}

function emptyChart(name, text) {
  return h("div", { class: "stack tight" }, h("h2", {}, name), h("p", { class: "soft small" }, text));
}
