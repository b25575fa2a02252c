// Graph of people, places and other things, and of memories, as a picture and a list.

import { get } from "../api.js";
import { button, empty, fill, h, head, icon, select, tabs, toggle } from "../dom.js";
import { open } from "../drawer.js";
import { count, plain, short } from "../format.js";
import { debounce } from "../poll.js";
import { errorBox, kindName } from "../memory.js";
import { GraphCanvas } from "../canvas.js";
import { KINDS, LAYERS, LAYER_OF, LINKS } from "../words.js";

export const title = "Graph";

const NAMES = {
  has_tag: "Tagged",
  in_topic: "In topic",
  relates_to: "Related",
  supersedes: "Replaces",
  contradicts: "Contradicts",
  derived_from: "Derived from",
  co_occurs: "Found together",
  abstracted_from: "Summarises",
  mentions: "Mentions",
  together: "Together",
};

/** Colour of an entity by its kind, and the legend of these. */
const ENTITY_COLOURS = { person: "accent", animal: "accent", place: "sessions", organisation: "rules", project: "rules", work: "rules", theme: "facts" };
const ENTITY_LEGEND = [
  ["", "People, animals"],
  ["sessions", "Places"],
  ["rules", "Organisations, projects, works"],
  ["facts", "Themes"],
];
const MOST_ENTITIES = 60;
const FEW = 8;
/** Entities below which the page begins with memories, which show them too. */
const LEAST_ENTITIES = 5;

export async function show(root, params) {
  const page = new Graph(root, params.get("focus") ?? "");
  page.frame();
  await page.load();
  return () => page.picture.end();
}

class Graph {
  constructor(root, focus) {
    Object.assign(this, { root, view: "", focus, type: "", layer: "", text: "", shape: "picture", lone: false, found: { nodes: [], edges: [] } });
    this.sum = h("p", { class: "small soft", role: "status" });
    this.canvas = h("canvas", {
      class: "canvas",
      tabindex: "0",
      role: "application",
      "aria-label": "Graph. Arrow keys walk from node to node, Enter opens one, plus and minus zoom. The list view has the same content.",
    });
    this.info = h("div", { class: "node-info", "aria-live": "polite" });
    this.list = h("div", { hidden: true });
    this.picture = new GraphCanvas(
      this.canvas,
      (node) => this.showInfo(node),
      (node) => this.openNode(node),
    );
  }

  frame() {
    const search = h("input", {
      class: "input",
      type: "search",
      placeholder: "Filter by text…",
      "aria-label": "Filter the graph",
      data: { search: "" },
      on: {
        input: debounce(() => {
          this.text = search.value.trim().toLowerCase();
          this.draw();
        }),
      },
    });
    const tools = h(
      "div",
      { class: "tools" },
      button("", () => this.picture.zoom(1.25), { icon: "plus", label: "Zoom in" }),
      button("", () => this.picture.zoom(0.8), { icon: "minus", label: "Zoom out" }),
      button("", () => this.picture.fit(), { icon: "fit", label: "Show all" }),
    );
    this.legend = h("ul", { class: "legend" });
    this.stage = h("div", { class: "stage card" }, this.canvas, tools, this.info, this.legend);
    this.filters = h(
      "div",
      { class: "row" },
      select("Layer", [["", "Every layer"], ...Object.entries(LAYERS).map(([layer, name]) => [layer, plain(name)])], "", (value) => {
        this.layer = value;
        this.load();
      }),
      select("Links", [["", "Every link"], ...[...LINKS, "mentions"].map((type) => [type, NAMES[type] ?? plain(type)])], "", (value) => {
        this.type = value;
        this.load();
      }),
    );
    this.views = select(
      "Nodes",
      [
        ["entities", "People, places, themes"],
        ["memories", "Memories"],
      ],
      "entities",
      (value) => {
        this.view = value;
        this.focusOn("");
      },
    );
    this.back = button("Whole graph", () => this.focusOn(""), { icon: "left" });
    fill(
      this.root,
      head("Graph", "Whom and what your memories are about, and how they are linked. Select a node to see its memories and links."),
      h(
        "div",
        { class: "row" },
        tabs(
          "Show as",
          [
            ["picture", "Picture"],
            ["list", "List"],
          ],
          this.shape,
          (value) => {
            this.shape = value;
            this.draw();
          },
        ),
        this.views,
        this.filters,
        h("div", { class: "searchbox" }, icon("search"), search),
      ),
      h(
        "div",
        { class: "row" },
        this.back,
        this.sum,
        h("span", { class: "grow" }),
        toggle("Show unlinked", false, (on) => {
          this.lone = on;
          this.draw();
        }),
      ),
      this.stage,
      this.list,
    );
  }

  /** True where only entities are shown. */
  get showsEntities() {
    return this.view !== "memories" && !this.focus;
  }

  drawLegend() {
    const layers = [...Object.values(LAYERS).map((name) => [name, plain(name)]), ["accent", "Names, tags, topics"]];
    const names = this.showsEntities ? ENTITY_LEGEND : layers;
    fill(
      this.legend,
      names.map(([colour, text]) => h("li", {}, h("i", { class: `dot ${colour}` }), text)),
    );
  }

  async load() {
    this.back.hidden = !this.focus;
    this.filters.hidden = this.showsEntities;
    this.drawLegend();
    fill(this.sum, "Loading…");
    try {
      this.found = await get("/v1/graph", {
        view: this.view || "entities",
        focus: this.focus,
        depth: this.focus && !this.focus.startsWith("entity:") ? 2 : 1,
        type: this.showsEntities ? "" : this.type,
        kind: this.layer && !this.showsEntities ? KINDS.filter((kind) => LAYER_OF[kind] === this.layer) : [],
        limit: this.showsEntities ? MOST_ENTITIES : 200,
      });
      if (!this.view && !this.focus && this.found.nodes.length < LEAST_ENTITIES) {
        this.view = this.views.value = "memories";
        await this.load();
        return;
      }
      this.draw();
    } catch (fault) {
      fill(this.sum);
      fill(this.list, errorBox(fault));
      this.list.hidden = false;
      this.stage.hidden = true;
    }
  }

  /** Nodes that pass the filter, with their links. */
  visibleGraph() {
    const { nodes, edges } = this.found;
    const hit = nodes.filter((node) => !this.text || node.label.toLowerCase().includes(this.text));
    const near = new Set(hit.map((node) => node.id));
    if (this.text)
      for (const edge of edges)
        if (hit.some((node) => node.id === edge.source || node.id === edge.target)) near.add(edge.source).add(edge.target);
    const before = new Map(this.picture.nodes.map((node) => [node.id, node]));
    let kept = nodes
      .filter((node) => near.has(node.id))
      .map((node) => ({
        ...node,
        colour: node.type === "memory" ? (LAYERS[LAYER_OF[node.kind]] ?? "facts") : this.showsEntities ? ENTITY_COLOURS[node.kind] : "accent",
        faded: node.status === "superseded",
        mass: node.memories ? 1 + Math.min(2.5, Math.sqrt(node.memories) / 5) : 1,
        x: before.get(node.id)?.x,
        y: before.get(node.id)?.y,
      }));
    const linked = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
    if (!this.lone && !this.text && !this.showsEntities && linked.size > 0) kept = kept.filter((node) => linked.has(node.id) || node.id === this.focus);
    const byId = new Map(kept.map((node) => [node.id, node]));
    const links = edges
      .filter((edge) => byId.has(edge.source) && byId.has(edge.target))
      .map((edge) => ({ ...edge, from: byId.get(edge.source), to: byId.get(edge.target) }));
    return { kept, links };
  }

  draw() {
    const { kept, links } = this.visibleGraph();
    const pictured = this.shape === "picture";
    fill(this.sum, `${count(kept.length, "node")}, ${count(links.length, "link")}${this.found.more ? (this.showsEntities ? "; most mentioned only" : "; newest only") : ""}`);
    this.stage.hidden = !pictured || kept.length === 0;
    this.list.hidden = pictured && kept.length > 0;
    if (kept.length === 0)
      fill(
        this.list,
        empty(
          "graph",
          this.text ? "No matches" : "No links yet",
          "Each fact is linked to its source, to the fact it replaces, to its topic, and to whom and what it is about.",
          h("a", { class: "button main-action", href: "#/chat" }, "Start a chat"),
        ),
      );
    else if (pictured) this.picture.show(kept, links);
    else
      fill(
        this.list,
        h(
          "ul",
          { class: "list" },
          kept.map((node) => this.line(node, links)),
        ),
      );
    this.showInfo(this.picture.selected);
  }

  line(node, links) {
    const own = links.filter((edge) => edge.from === node || edge.to === node);
    return h(
      "li",
      { class: "memory" },
      h(
        "div",
        { class: "grow stack tight" },
        h(
          "button",
          { type: "button", class: "memory-open", on: { click: () => this.openNode(node) } },
          h("span", { class: "memory-text" }, node.label),
          h(
            "span",
            { class: "memory-about" },
            h("span", { class: `chip ${node.colour}` }, kindName(node.kind ?? node.type)),
            node.memories && count(node.memories, "memory", "memories"),
            count(own.length, "link"),
          ),
        ),
        own.length > 0 &&
          h(
            "details",
            { class: "small" },
            h("summary", {}, "Links"),
            h(
              "ul",
              { class: "stack tight" },
              own.slice(0, 30).map((edge) => this.link(edge, node)),
            ),
          ),
      ),
    );
  }

  link(edge, node) {
    const other = edge.from === node ? edge.to : edge.from;
    const word = NAMES[edge.type] ?? plain(edge.type);
    return h(
      "li",
      {},
      h("span", { class: "soft" }, edge.type === "together" ? `${word} (${edge.count}): ` : `${edge.from === node ? word : `${word} by`}: `),
      h(
        "button",
        {
          type: "button",
          class: "link",
          on: { click: () => (this.shape === "picture" ? this.picture.select(other) : this.openNode(other)) },
        },
        short(other.label, 80),
      ),
    );
  }

  showInfo(node) {
    if (!node) {
      fill(this.info);
      return;
    }
    const own = this.picture.edges.filter((edge) => edge.from === node || edge.to === node);
    fill(
      this.info,
      h(
        "div",
        { class: "row" },
        h("span", { class: `chip ${node.colour}` }, kindName(node.kind ?? node.type)),
        node.status === "superseded" && h("span", { class: "chip warn" }, "Outdated"),
      ),
      h("p", {}, short(node.label, 200), node.aliases?.length > 0 && h("span", { class: "soft" }, ` also ${node.aliases.join(", ")}`)),
      node.type === "entity" && this.mentions(node),
      own.length > 0 &&
        h(
          "ul",
          { class: "small stack tight links" },
          own.slice(0, 6).map((edge) => this.link(edge, node)),
          own.length > 6 && h("li", { class: "soft" }, `and ${own.length - 6} more`),
        ),
      h(
        "div",
        { class: "row" },
        node.type === "memory" && button("Open", () => this.openNode(node)),
        button(node.type === "entity" ? "Show its memories" : "Show neighbours", () => this.focusOn(node.id)),
      ),
    );
  }

  /** The newest memories that mention an entity. */
  mentions(node) {
    const list = h("ul", { class: "small stack tight links" });
    get("/v1/graph", { focus: node.id, depth: 1, type: "mentions", limit: FEW + 1 }).then(
      (found) =>
        fill(
          list,
          found.nodes
            .filter((each) => each.type === "memory")
            .map((each) => h("li", {}, h("button", { type: "button", class: "link", on: { click: () => this.openNode(each) } }, short(each.label, 90)))),
        ),
      (fault) => fill(list, errorBox(fault)),
    );
    return h("div", {}, h("p", { class: "small soft" }, count(node.memories, "memory", "memories")), list);
  }

  openNode(node) {
    if (node.type === "memory") open(node, () => this.load());
    else this.focusOn(node.id);
  }

  focusOn(id) {
    this.focus = id;
    this.picture.selected = null;
    fill(this.info);
    this.load();
  }
}
