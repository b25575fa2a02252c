// Facts, sessions and rules: by topic, by search, as lists.

import { json, memories } from "../api.js";
import { drawer } from "../dialog.js";
import { bar, button, empty, field, fill, h, head, icon, select, tabs, toggle } from "../dom.js";
import { forget, open } from "../drawer.js";
import { eraseAbout } from "../erase.js";
import { capital, count, plain } from "../format.js";
import { debounce } from "../poll.js";
import { memoryRow, errorBox, skeleton } from "../memory.js";
import { Selection } from "../selection.js";
import { toast, withToast } from "../toast.js";
import { addMemory } from "../chatlog.js";
import { KINDS, LAYERS, LAYER_OF } from "../words.js";
import { loadSessions, sessionList } from "./sessions.js";

export const title = "Memories";

const STATUSES = [
  ["active", "Current"],
  ["superseded", "Outdated"],
  ["archived", "Archived"],
  ["candidate", "Held"],
  ["forgotten", "Forgotten"],
  ["", "Everything"],
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
    const names = Object.entries(LAYERS).map(([layer, name]) => [layer, capital(name)]);
    const search = h("input", {
      class: "input",
      type: "search",
      value: this.query,
      placeholder: "Search by meaning or words",
      "aria-label": "Search memories",
      data: { search: "" },
      on: {
        input: debounce(() => {
          this.query = search.value.trim();
          this.draw();
        }),
      },
    });
    this.status_box = select("Which", STATUSES, this.status, (value) => {
      this.status = value;
      this.draw();
    });
    this.shapes = tabs(
      "Show as",
      [
        ["topics", "By topic"],
        ["list", "Newest first"],
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
        "Memories",
        "All memories. Open one to see its source, edit it or forget it.",
        toggle("Choose several", false, (on) => {
          this.selection.toggle(on);
          this.draw();
        }),
        button("Erase about …", withToast(() => eraseAbout(() => this.draw())), { icon: "trash" }),
        button("Add a memory", () => this.add(), { icon: "plus", kind: "main-action" }),
      ),
      h(
        "div",
        { class: "stack" },
        h(
          "div",
          { class: "row" },
          tabs("Layer", [["", "All"], ...names], this.layer, (value) => {
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
    this.status_box.hidden = spoken || Boolean(this.query);
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
              toast("Restored.");
              this.draw();
            }),
            { icon: "undo", kind: "plain", label: `Restore: ${memory.text.slice(0, 60)}` },
          )
        : button(
            "",
            withToast(() => forget(memory, () => this.draw())),
            { icon: "trash", kind: "plain", label: `Forget: ${memory.text.slice(0, 60)}` },
          );
    this.shown.set(memory.id, memory);
    const row = memoryRow(memory, this.open, ...more, memory.status === "purged" || this.selection.on ? null : act);
    row.prepend(...[this.selection.box(memory)].filter(Boolean));
    return row;
  }

  async showResults(still) {
    const { hits: found, abstain } = await memories.search({ query: this.query, kinds: this.kinds, limit: 30, history: true });
    // What only asked the assistant is in the log, and no memory.
    const hits = found.filter((hit) => hit.memory.kind !== "turn" || hit.status !== "archived");
    if (!still()) return;
    fill(this.sum, hits.length === 0 ? "" : abstain ? "No close match; these are the nearest." : count(hits.length, "result"));
    const scored = (hit) =>
      h(
        "span",
        { class: "score" },
        bar(hit.score),
        h("span", { class: "number small soft", title: "Score, 0 to 1" }, hit.score.toFixed(2)),
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
            "Nothing found",
            "Search works by meaning and by words. Try a name, a place or a question.",
          ),
    );
  }

  async showTopics(still) {
    const book = await json("GET", "/v1/notebook", { query: { layer: this.layer, limit: 200 } });
    if (!still()) return;
    const total = book.topics.reduce((sum, topic) => sum + topic.memories.length, 0);
    fill(this.sum, total ? `${count(total, "memory", "memories")} in ${count(book.topics.length, "topic")}` : "");
    fill(
      this.list,
      total
        ? book.topics.map((topic) =>
            h(
              "section",
              { class: "topic", "aria-label": topic.entity ? topic.topic : plain(topic.topic) },
              h(
                "h2",
                {},
                topic.entity ? topic.topic : plain(topic.topic),
                h("span", { class: "chip number" }, topic.memories.length),
                topic.entity && h("a", { class: "small", href: `#/graph?focus=${encodeURIComponent(topic.entity)}` }, "In the graph"),
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

  async showList(still, after = "") {
    const page = await memories.list({ kind: this.kinds, status: this.status || ALL, tag: this.tag, limit: 50, after });
    if (!still()) return;
    const lines = page.memories.map((memory) => this.line(memory));
    const old = after ? this.list.querySelector("ul") : null;
    this.list.querySelector(".next")?.remove();
    if (old) old.append(...lines);
    else fill(this.list, lines.length ? h("ul", { class: "list" }, lines) : this.emptyState());
    const shown = this.list.querySelectorAll(".memory").length;
    fill(this.sum, shown ? `${count(shown, "memory", "memories")}${page.next ? " so far" : ""}` : "");
    if (page.next)
      this.list.append(
        h(
          "div",
          { class: "row next" },
          button(
            "Show more",
            withToast(() => this.showList(still, page.next)),
          ),
        ),
      );
  }

  async showSessions(still) {
    const list = await loadSessions();
    if (!still()) return;
    fill(this.sum, list.length ? count(list.length, "conversation") : "");
    fill(
      this.list,
      list.length
        ? sessionList(list, () => this.draw())
        : empty(
            "chat",
            "No sessions yet",
            "Conversations appear here with their messages and the facts extracted.",
            h("a", { class: "button main-action", href: "#/chat" }, "Start a chat"),
          ),
    );
  }

  emptyState() {
    if (this.status !== "active")
      return empty(
        "memories",
        "No such memories",
        "Outdated, archived, held or forgotten memories are listed here until you erase them.",
      );
    const words = {
      semantic: [
        "No facts yet",
        "Facts are extracted from your messages: “I moved to Lisbon in March” becomes your home, its start date, and the fact it replaces.",
      ],
      procedural: ["No rules yet", "Rules say how you want things done, such as “When I ask for code, always add type hints.”"],
    };
    const [name, text] = words[this.layer] ?? [
      "No memories yet",
      "Start a chat, import conversations, or add a memory by hand. Everything stays on this machine.",
    ];
    return empty(
      "memories",
      name,
      text,
      button("Add a memory", () => this.add(), { icon: "plus", kind: "main-action" }),
      h("a", { class: "button", href: "#/import" }, icon("import"), "Import a file"),
    );
  }

  add() {
    const side = drawer("Add a memory");
    const text = h("textarea", { class: "input", rows: 4, required: true, placeholder: "My sister Ines plays the cello." });
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
            h("span", { class: "chip good" }, capital(receipt.outcome)),
            receipt.searchable.length > 0 &&
              h("span", { class: "small soft" }, `Found by ${receipt.searchable.join(" and ")} search`),
          ),
          receipt.learned.length > 0 &&
            h(
              "ul",
              { class: "stack tight" },
              receipt.learned.map((each) => h("li", { class: "small" }, h("span", { class: "chip" }, plain(each.verdict)), " ", each.text)),
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
        field("What should be remembered?", text, "Facts are extracted from it and listed below."),
        h("div", { class: "row end" }, h("button", { type: "submit", class: "button main-action" }, "Remember")),
      ),
      result,
    );
    text.focus();
  }
}
