// Current tiers, and the trace of the last question.

import { get, memories } from "../api.js";
import { button, empty, fill, h, head, icon } from "../dom.js";
import { open } from "../drawer.js";
import { number } from "../format.js";
import { named, rich, t } from "../i18n.js";
import { poll } from "../poll.js";
import { memoryRow, errorBox } from "../memory.js";
import { withToast } from "../toast.js";
import { recallCard } from "../recall.js";
import { getTrace, setTrace } from "../trace.js";
import { LAYERS, TIERS } from "../words.js";

export const title = t("tiers");

const ABOUT = {
  working: [t("working"), t("the_current_conversation_small_judged")],
  recent: [t("recent"), t("new_memories_they_move_to")],
  longterm: [t("long_term"), t("older_memories_nothing_is_dropped")],
};

export async function show(root) {
  const columns = TIERS.map((tier) => new Column(tier));
  const layers = h("div", { class: "tiles three" });
  const detail = h("div", {});
  const off_note = h(
    "p",
    { class: "small soft", hidden: true },
    rich("tiers_off", {
      command: h("code", {}, "engrams serve --set tiers.enabled=true"),
    }),
  );
  const trace = h("section", { class: "stack", "aria-label": t("last_recall") });
  fill(
    root,
    head(
      t("tiers"),
      t("memories_by_tier_they_move"),
      h("span", { class: "chip good live" }, t("live")),
    ),
    layers,
    h(
      "div",
      { class: "columns" },
      columns.map((column) => column.element),
    ),
    off_note,
    detail,
    trace,
  );
  askForm(trace);
  const draw = async () => {
    const state = await get("/v1/state");
    fill(
      layers,
      Object.entries(LAYERS).map(([layer, name]) =>
        h(
          "a",
          { class: "card tile", href: `#/memories?layer=${layer}` },
          h("span", { class: "small soft" }, named("layer", name)),
          h("strong", { class: `number ink-${name}` }, number(state.layers[layer] ?? 0)),
        ),
      ),
    );
    await Promise.all(columns.map((column) => column.draw(state)));
    const off = state.detail.on === false;
    for (const column of columns) column.element.hidden = off && column.tier !== "recent" && column.sum === 0;
    off_note.hidden = !columns.some((column) => column.element.hidden);
    fill(detail, processSizes(state.detail));
  };
  try {
    await draw();
  } catch (fault) {
    fill(root, errorBox(fault));
    return () => {};
  }
  return poll(3, draw);
}

/** One tier: its size and newest memories; redrawn only when changed, so that the focus stays. */
class Column {
  constructor(tier) {
    this.tier = tier;
    this.before = "";
    this.number = h("strong", { class: "number" });
    this.list = h("ul", { class: "list" });
    const [name, text] = ABOUT[tier] ?? [named("tier", tier), ""];
    this.element = h(
      "section",
      { class: `column ${tier}`, "aria-label": name },
      h("div", { class: "row spread" }, h("h2", {}, name), this.number),
      h("p", { class: "small soft" }, text),
      this.list,
    );
  }

  async draw(state) {
    const sum = state.detail[this.tier] ?? state.tiers[this.tier] ?? 0;
    const found =
      this.tier === "working" && state.working
        ? state.working.map(toMemory).reverse()
        : sum
          ? (await memories.list({ tier: this.tier, limit: 5 })).memories
          : [];
    this.sum = sum;
    const now = `${sum}|${found.map((each) => `${each.id}.${each.version}`).join()}`;
    if (now === this.before) return;
    this.before = now;
    const cap = state.detail.on && state.detail.caps?.[this.tier];
    fill(this.number, number(sum), cap ? h("span", { class: "small soft" }, t("of_cap", { n: cap })) : null);
    fill(
      this.list,
      found.length ? found.slice(0, 5).map((memory) => memoryRow(memory, (each) => open(each))) : h("li", { class: "small soft pad" }, t("no_memories_here")),
    );
  }
}

/** Items of the working tier are not stored yet: they have a text and an importance. */
const toMemory = (item) => ({
  id: item.id,
  version: item.importance,
  text: item.text,
  layer: "episodic",
  kind: item.source,
  status: "active",
  tags: [],
  role: "",
  speaker: "",
  recorded_at: "",
});

/** Sizes of the hot cache and the running jobs. */
function processSizes(detail) {
  const rows = [
    [t("hot_cache"), detail.hot, detail.on && detail.caps?.hot],
    [t("jobs_running"), detail.in_flight],
  ].filter(([, value]) => value !== undefined);
  if (rows.length === 0 || rows.every(([, value]) => !value)) return null;
  return h(
    "dl",
    { class: "known" },
    rows.map(([name, value, cap]) => [
      h("dt", {}, name),
      h("dd", { class: "number" }, cap ? t("x_of_y", { done: value, all: cap }) : number(value)),
    ]),
  );
}

/** Form for a question to memory, with its trace. */
function askForm(trace) {
  const input = h("input", {
    class: "input",
    type: "search",
    placeholder: t("ask_memory_a_question"),
    "aria-label": t("question_to_memory"),
    data: { search: "" },
  });
  const answer = h("div", { class: "stack", role: "status" });
  const drawTrace = () => {
    const found = getTrace();
    if (!found)
      fill(
        answer,
        empty(
          "search",
          t("no_question_yet"),
          t("ask_here_or_in_the"),
        ),
      );
    else
      fill(
        answer,
        h("p", { class: "small soft" }, `“${found.query}”`),
        found.hits.length + found.rows.length > 0
          ? recallCard({ explained: found, note: found.abstain ? "none" : "" }, (memory) => open(memory))
          : h("p", { class: "soft" }, t("no_memories_about_that")),
      );
  };
  const run = withToast(async (event) => {
    event.preventDefault();
    if (!input.value.trim()) return;
    setTrace(await memories.explain({ query: input.value.trim() }));
    drawTrace();
  });
  fill(
    trace,
    h("h2", {}, t("last_recall")),
    h(
      "form",
      { class: "row", on: { submit: run } },
      h("div", { class: "searchbox" }, icon("search"), input),
      button(t("ask"), run, { type: "submit" }),
    ),
    answer,
  );
  drawTrace();
}
