// Current tiers, and the trace of the last question.

import { get, memories } from "../api.js";
import { button, empty, fill, h, head, icon } from "../dom.js";
import { open } from "../drawer.js";
import { capital, number, plain } from "../format.js";
import { poll } from "../poll.js";
import { memoryRow, errorBox } from "../memory.js";
import { withToast } from "../toast.js";
import { recallCard } from "../recall.js";
import { getTrace, setTrace } from "../trace.js";
import { LAYERS, TIERS } from "../words.js";

export const title = "Tiers";

const ABOUT = {
  working: ["Working", "The current conversation; small, judged in the background."],
  recent: ["Recent", "New memories; they move to long-term when unused."],
  longterm: ["Long-term", "Older memories; nothing is dropped on the way."],
};

export async function show(root) {
  const columns = TIERS.map((tier) => new Column(tier));
  const layers = h("div", { class: "tiles three" });
  const detail = h("div", {});
  const off_note = h(
    "p",
    { class: "small soft", hidden: true },
    "All memories are in one tier, searched as a whole. ",
    h("code", {}, "engrams serve --set tiers.enabled=true"),
    " keeps the current conversation in a tier of its own, and moves old memories to another.",
  );
  const trace = h("section", { class: "stack", "aria-label": "Last recall" });
  fill(
    root,
    head(
      "Tiers",
      "Memories by tier. They move between tiers automatically.",
      h("span", { class: "chip good live" }, "Live"),
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
          h("span", { class: "small soft" }, capital(name)),
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
    const [name, text] = ABOUT[tier] ?? [plain(tier), ""];
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
    fill(this.number, number(sum), cap ? h("span", { class: "small soft" }, ` of ${number(cap)}`) : null);
    fill(
      this.list,
      found.length ? found.slice(0, 5).map((memory) => memoryRow(memory, (each) => open(each))) : h("li", { class: "small soft pad" }, "No memories here."),
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
    ["Hot cache", detail.hot, detail.on && detail.caps?.hot],
    ["Jobs running", detail.in_flight],
  ].filter(([, value]) => value !== undefined);
  if (rows.length === 0 || rows.every(([, value]) => !value)) return null;
  return h(
    "dl",
    { class: "known" },
    rows.map(([name, value, cap]) => [
      h("dt", {}, name),
      h("dd", { class: "number" }, cap ? `${number(value)} of ${number(cap)}` : number(value)),
    ]),
  );
}

/** Form for a question to memory, with its trace. */
function askForm(trace) {
  const input = h("input", {
    class: "input",
    type: "search",
    placeholder: "Ask memory a question",
    "aria-label": "Question to memory",
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
          "No question yet",
          "Ask here or in the chat to see each candidate, its score, and why others were left out. Asking here changes nothing.",
        ),
      );
    else
      fill(
        answer,
        h("p", { class: "small soft" }, `“${found.query}”`),
        found.hits.length + found.rows.length > 0
          ? recallCard({ explained: found, note: found.abstain ? "none" : "" }, (memory) => open(memory))
          : h("p", { class: "soft" }, "No memories about that."),
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
    h("h2", {}, "Last recall"),
    h(
      "form",
      { class: "row", on: { submit: run } },
      h("div", { class: "searchbox" }, icon("search"), input),
      button("Ask", run, { type: "submit" }),
    ),
    answer,
  );
  drawTrace();
}
