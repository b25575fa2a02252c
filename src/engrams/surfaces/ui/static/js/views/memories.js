// Facts, sessions and rules: by topic, by search, as lists.

import { json, memories } from "../api.js";
import { drawer } from "../dialog.js";
import { bar, button, empty, field, fill, h, head, icon, select, tabs, toggle } from "../dom.js";
import { forget, open } from "../drawer.js";
import { eraseAbout } from "../erase.js";
import { joined, named, t } from "../i18n.js";
import { debounce } from "../poll.js";
import { memoryRow, errorBox, skeleton } from "../memory.js";
import { Selection } from "../selection.js";
import { toast, withToast } from "../toast.js";
import { addMemory } from "../chatlog.js";
import { KINDS, LAYERS, LAYER_OF } from "../words.js";
import { loadSessions, sessionList } from "./sessions.js";
import { readStatement } from "../statement.js";

export const title = t("memories");

const STATUSES = [
  ["active", t("current")],
  ["superseded", t("outdated")],
  ["archived", t("archived")],
  ["candidate", t("held")],
  ["forgotten", t("forgotten")],
  ["", t("everything")],
];
const ALL = ["active", "superseded", "archived", "candidate", "forgotten"];

export async function show(root, params) {
  const page = new Memories(root, params);
  page.frame();
  await page.draw();
}

class Memories {
  constructor(root, params) {
    this.root = root;
    this.layer = params.get("layer") ?? "";
    this.query = params.get("q") ?? "";
    this.status = "active";
    this.tag = params.get("tag") ?? "";
    this.shape = "topics";
    this.turn = 0;
    this.shown = new Map();
    this.selection = new Selection(
      () => this.draw(),
      () => [...this.shown.values()],
    );
    this.list = h("div", { class: "results" });
    this.sum = h("p", { class: "small soft", role: "status" });
  }

  frame() {
    const names = Object.entries(LAYERS).map(([layer, name]) => [layer, named("layer", name)]);
    const search = h("input", {
      class: "input",
      type: "search",
      value: this.query,
      placeholder: t("search_by_meaning_or_words"),
      "aria-label": t("search_memories"),
      data: { search: "" },
      on: {
        input: debounce(() => {
          this.query = search.value.trim();
          this.draw();
        }),
      },
    });
    this.status_box = select(t("which"), STATUSES, this.status, (value) => {
      this.status = value;
      this.draw();
    });
    this.shapes = tabs(
      t("show_as"),
      [
        ["topics", t("by_topic")],
        ["list", t("newest_first")],
      ],
      this.shape,
      (value) => {
        this.shape = value;
        this.draw();
      },
    );
    fill(
      this.root,
      head(
        t("memories"),
        t("all_memories_open_one_to"),
        toggle(t("choose_several"), false, (on) => {
          this.selection.toggle(on);
          this.draw();
        }),
        button(t("erase_about"), withToast(() => eraseAbout(() => this.draw())), { icon: "trash", kind: "writes" }),
        button(t("add_a_memory"), () => this.add(), { icon: "plus", kind: "main-action writes" }),
      ),
      h(
        "div",
        { class: "stack" },
        h(
          "div",
          { class: "row" },
          tabs(t("layer"), [["", t("all")], ...names], this.layer, (value) => {
            this.layer = value;
            this.draw();
          }),
          h("span", { class: "grow" }),
          this.shapes,
        ),
        h("div", { class: "row" }, h("div", { class: "searchbox" }, icon("search"), search), this.status_box),
      ),
      this.sum,
      this.list,
      this.selection.element,
    );
  }

  get kinds() {
    return this.layer ? KINDS.filter((kind) => LAYER_OF[kind] === this.layer) : [];
  }

  async draw() {
    const mine = ++this.turn;
    this.shown.clear();
    const still = () => mine === this.turn;
    const spoken = this.layer === "episodic" && !this.query;
    const notebook = !this.query && !spoken && this.status === "active" && this.shape === "topics";
    this.shapes.hidden = Boolean(this.query) || spoken || this.status !== "active";
    this.status_box.hidden = spoken;
    if (!this.list.firstChild) fill(this.list, skeleton());
    try {
      if (this.query) await this.showResults(still);
      else if (spoken) await this.showSessions(still);
      else if (notebook) await this.showTopics(still);
      else await this.showList(still);
    } catch (fault) {
      if (still()) fill(this.list, errorBox(fault));
    }
  }

  open = (memory) => open(memory, () => this.draw());

  line(memory, ...more) {
    const act =
      memory.status === "forgotten"
        ? button(
            "",
            withToast(async () => {
              await memories.restore(memory);
              toast(t("restored"));
              this.draw();
            }),
            { icon: "undo", kind: "plain writes", label: t("restore_one", { text: readStatement(memory).slice(0, 60) }) },
          )
        : button(
            "",
            withToast(() => forget(memory, () => this.draw())),
            { icon: "trash", kind: "plain writes", label: t("forget_one", { text: readStatement(memory).slice(0, 60) }) },
          );
    this.shown.set(memory.id, memory);
    const row = memoryRow(memory, this.open, [...more, memory.status === "purged" || this.selection.on ? null : act], this.query);
    row.prepend(...[this.selection.box(memory)].filter(Boolean));
    return row;
  }

  /** Whether a hit has the chosen status. By default a message that only asked is left out. */
  isWanted(hit) {
    if (this.status === "active") return hit.memory.kind !== "turn" || hit.status !== "archived";
    return !this.status || hit.status === this.status;
  }

  async showResults(still) {
    const { hits: found, abstain } = await memories.search({ query: this.query, kinds: this.kinds, limit: 30, history: true });
    const hits = found.filter((hit) => this.isWanted(hit));
    if (!still()) return;
    fill(this.sum, hits.length === 0 ? "" : abstain ? t("no_close_match_these_are") : t("n_results", { n: hits.length }));
    const scored = (hit) =>
      h(
        "span",
        { class: "score" },
        bar(hit.score),
        h("span", { class: "number small soft", title: t("score_0_to_1") }, hit.score.toFixed(2)),
      );
    fill(
      this.list,
      hits.length
        ? h(
            "ul",
            { class: "list" },
            hits.map((hit) => this.line({ ...hit.memory, status: hit.status, outdated: hit.outdated }, scored(hit))),
          )
        : empty(
            "search",
            t("nothing_found"),
            t("search_works_by_meaning_and"),
          ),
    );
  }

  async showTopics(still) {
    const book = await json("GET", "/v1/notebook", { query: { layer: this.layer, limit: 200 } });
    if (!still()) return;
    const name = (topic) => (topic.entity ? topic.topic : named("category", topic.topic));
    const total = book.topics.reduce((sum, topic) => sum + topic.memories.length, 0);
    if (!total && !this.layer) return this.showMessages(still);
    fill(this.sum, total ? t("memories_in_topics", { memories: t("n_memories", { n: total }), topics: t("n_topics", { n: book.topics.length }) }) : "");
    fill(
      this.list,
      total
        ? book.topics.map((topic) =>
            h(
              "section",
              { class: "topic", "aria-label": name(topic) },
              h(
                "h2",
                {},
                name(topic),
                h("span", { class: "chip number" }, topic.memories.length),
                topic.entity && h("a", { class: "small", href: `#/graph?focus=${encodeURIComponent(topic.entity)}` }, t("in_the_graph")),
              ),
              h(
                "ul",
                { class: "list" },
                topic.memories.map((memory) => this.line(memory)),
              ),
            ),
          )
        : this.emptyState(),
    );
  }

  /** Messages, where no facts have been learned yet. */
  async showMessages(still) {
    await this.showList(still);
    if (still() && this.list.querySelector(".memory")) fill(this.sum, t("only_messages_so_far_facts"));
  }

  async showList(still, after = "") {
    const page = await memories.list({ kind: this.kinds, status: this.status || ALL, tag: this.tag, limit: 50, after });
    if (!still()) return;
    const lines = page.memories.map((memory) => this.line({ ...memory, outdated: page.outdated[memory.id] }));
    const old = after ? this.list.querySelector("ul") : null;
    this.list.querySelector(".next")?.remove();
    if (old) old.append(...lines);
    else fill(this.list, lines.length ? h("ul", { class: "list" }, lines) : this.emptyState());
    const shown = this.list.querySelectorAll(".memory").length;
    fill(this.sum, shown ? page.next ? t("so_far", { n: shown }) : t("n_memories", { n: shown }) : "");
    if (page.next)
      this.list.append(
        h(
          "div",
          { class: "row next" },
          button(
            t("show_more"),
            withToast(() => this.showList(still, page.next)),
          ),
        ),
      );
  }

  async showSessions(still) {
    const list = await loadSessions();
    if (!still()) return;
    fill(this.sum, list.length ? t("n_conversations", { n: list.length }) : "");
    fill(
      this.list,
      list.length
        ? sessionList(list, () => this.draw())
        : empty(
            "chat",
            t("no_sessions_yet"),
            t("conversations_appear_here_with_their"),
            h("a", { class: "button main-action", href: "#/chat" }, t("start_a_chat")),
          ),
    );
  }

  emptyState() {
    if (this.status !== "active")
      return empty(
        "memories",
        t("no_such_memories"),
        t("outdated_archived_held_or_forgotten"),
      );
    const words = {
      semantic: [
        t("no_facts_yet"),
        t("facts_are_extracted_from_your"),
      ],
      procedural: [t("no_rules_yet"), t("rules_say_how_you_want")],
    };
    const [name, text] = words[this.layer] ?? [
      t("no_memories_yet"),
      t("start_a_chat_import_conversations"),
    ];
    return empty(
      "memories",
      name,
      text,
      button(t("add_a_memory"), () => this.add(), { icon: "plus", kind: "main-action writes" }),
      h("a", { class: "button writes", href: "#/import" }, icon("import"), t("import_a_file")),
    );
  }

  add() {
    const side = drawer(t("add_a_memory"));
    const text = h("textarea", { class: "input", rows: 4, required: true, placeholder: t("my_sister_ines_plays_the") });
    const result = h("div", { class: "stack", role: "status" });
    const save = withToast(async (event) => {
      event.preventDefault();
      const { results } = await addMemory(text.value);
      const receipt = results[0];
      fill(
        result,
        h(
          "div",
          { class: "card pad stack tight" },
          h(
            "div",
            { class: "row" },
            h("span", { class: "chip good" }, named("outcome", receipt.outcome)),
            receipt.searchable.length > 0 &&
              h("span", { class: "small soft" }, t("found_by", { ways: joined(receipt.searchable.map((way) => named("search_by", way))) })),
          ),
          receipt.learned.length > 0 &&
            h(
              "ul",
              { class: "stack tight" },
              receipt.learned.map((each) => h("li", { class: "small" }, h("span", { class: "chip" }, named("verdict", each.verdict)), " ", each.shown)),
            ),
        ),
      );
      text.value = "";
      this.draw();
    });
    fill(
      side.body,
      h(
        "form",
        { class: "stack", on: { submit: save } },
        field(t("what_should_be_remembered"), text, t("facts_are_extracted_from_it")),
        h("div", { class: "row end" }, h("button", { type: "submit", class: "button main-action" }, t("remember"))),
      ),
      result,
    );
    text.focus();
  }
}
