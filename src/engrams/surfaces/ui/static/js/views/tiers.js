// The tiers as they are now, and how the last question was answered.

import { get, memories } from "../api.js";
import { button, empty, fill, h, head, icon } from "../dom.js";
import { open } from "../drawer.js";
import { capital, number, plain } from "../format.js";
import { every } from "../live.js";
import { line, problem } from "../memory.js";
import { tried } from "../notice.js";
import { card } from "../recall.js";
import { last, traced } from "../trace.js";
import { LAYERS, TIERS } from "../words.js";

export const title = "Tiers";

const ABOUT = {
  working: ["Working", "What is being talked about right now. Small, quick, judged in the background."],
  recent: ["Recent", "What was said and learned lately. Fades into long-term when it has not been needed."],
  longterm: ["Long-term", "What stays. Older memories move here; nothing is dropped on the way."],
};

export async function show(root) {
  const columns = TIERS.map((tier) => new Column(tier));
  const layers = h("div", { class: "tiles three" });
  const detail = h("div", {});
  const trace = h("section", { class: "stack", "aria-label": "Last recall" });
  fill(
    root,
    head(
      "Tiers",
      "Where memories live, as it is this moment. They move by themselves; this view follows.",
      h("span", { class: "chip good live" }, "Live"),
    ),
    layers,
    h(
      "div",
      { class: "columns" },
      columns.map((column) => column.element),
    ),
    detail,
    trace,
  );
  ask(trace);
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
    fill(detail, held(state.detail));
  };
  try {
    await draw();
  } catch (fault) {
    fill(root, problem(fault));
    return () => {};
  }
  return every(3, draw);
}

/** One tier: how many, and the newest of them. It is drawn again only when it changed, so that a focus stays. */
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
        ? state.working.map(momentary).reverse()
        : sum
          ? (await memories.list({ tier: this.tier, limit: 5 })).memories
          : [];
    const now = `${sum}|${found.map((each) => `${each.id}.${each.version}`).join()}`;
    if (now === this.before) return;
    this.before = now;
    const cap = state.detail.on && state.detail.caps?.[this.tier];
    fill(this.number, number(sum), cap ? h("span", { class: "small soft" }, ` of ${number(cap)}`) : null);
    const off = this.tier === "working" && state.detail.on === false;
    const none = off
      ? ["The working tier is off. ", h("code", { class: "command" }, "engrams serve --set tiers.enabled=true"), " turns it on."]
      : "Nothing here right now.";
    fill(
      this.list,
      found.length ? found.slice(0, 5).map((memory) => line(memory, (each) => open(each))) : h("li", { class: "small soft pad" }, none),
    );
  }
}

/** What is in the working tier is no stored memory yet: it has a text and an importance. */
const momentary = (item) => ({
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

/** What is at hand besides the tiers. */
function held(detail) {
  const rows = [
    ["At hand, found lately", detail.hot, detail.on && detail.caps?.hot],
    ["Jobs in flight", detail.in_flight],
  ].filter(([, value]) => value !== undefined);
  if (rows.length === 0) return null;
  return h(
    "dl",
    { class: "known" },
    rows.map(([name, value, cap]) => [
      h("dt", {}, name),
      h("dd", { class: "number" }, cap ? `${number(value)} of ${number(cap)}` : number(value)),
    ]),
  );
}

/** A question to memory alone, with the whole trace. */
function ask(trace) {
  const input = h("input", {
    class: "input",
    type: "search",
    placeholder: "Ask memory something",
    "aria-label": "Question to memory",
    data: { search: "" },
  });
  const answer = h("div", { class: "stack", role: "status" });
  const drawn = () => {
    const found = last();
    if (!found)
      fill(
        answer,
        empty(
          "search",
          "No question yet",
          "Ask something here or in the chat. You will see each candidate, what its score is made of, and why others were left out. Asking here leaves no mark on memory.",
        ),
      );
    else
      fill(
        answer,
        h("p", { class: "small soft" }, `“${found.query}”`),
        found.hits.length + found.rows.length > 0
          ? card({ explained: found, note: found.abstain ? "none" : "" }, (memory) => open(memory))
          : h("p", { class: "soft" }, "Memory holds nothing about that."),
      );
  };
  const run = tried(async (event) => {
    event.preventDefault();
    if (!input.value.trim()) return;
    traced(await memories.explain({ query: input.value.trim() }));
    drawn();
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
  drawn();
}
