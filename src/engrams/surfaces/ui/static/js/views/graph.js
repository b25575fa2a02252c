// Graph of memories, tags and topics, as a picture and a list.

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
};

export async function show(root) {
  const page = new Graph(root);
  page.frame();
  await page.load();
  return () => page.picture.end();
}

class Graph {
  constructor(root) {
    Object.assign(this, { root, focus: "", type: "", layer: "", text: "", shape: "picture", lone: false, found: { nodes: [], edges: [] } });
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
    this.stage = h("div", { class: "stage card" }, this.canvas, tools, this.info, this.legend());
    this.back = button("Whole graph", () => this.focusOn(""), { icon: "left" });
    fill(
      this.root,
      head("Graph", "How memories are linked. Select one to see its links, open it to read it."),
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
        select("Layer", [["", "Every layer"], ...Object.entries(LAYERS).map(([layer, name]) => [layer, plain(name)])], "", (value) => {
          this.layer = value;
          this.load();
        }),
        select("Links", [["", "Every link"], ...LINKS.map((type) => [type, NAMES[type] ?? plain(type)])], "", (value) => {
          this.type = value;
          this.load();
        }),
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

  legend() {
    const names = [...Object.values(LAYERS).map((name) => [name, plain(name)]), ["accent", "Tags and topics"]];
    return h(
      "ul",
      { class: "legend" },
      names.map(([colour, text]) => h("li", {}, h("i", { class: `dot ${colour}` }), text)),
    );
  }

  async load() {
    this.back.hidden = !this.focus;
    fill(this.sum, "Loading…");
    try {
      this.found = await get("/v1/graph", {
        focus: this.focus,
        depth: this.focus ? 2 : 1,
        type: this.type,
        kind: this.layer ? KINDS.filter((kind) => LAYER_OF[kind] === this.layer) : [],
        limit: 200,
      });
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
        colour: node.type === "memory" ? (LAYERS[LAYER_OF[node.kind]] ?? "facts") : "accent",
        faded: node.status === "superseded",
        x: before.get(node.id)?.x,
        y: before.get(node.id)?.y,
      }));
    const linked = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
    if (!this.lone && !this.text && linked.size > 0) kept = kept.filter((node) => linked.has(node.id) || node.id === this.focus);
    const byId = new Map(kept.map((node) => [node.id, node]));
    const links = edges
      .filter((edge) => byId.has(edge.source) && byId.has(edge.target))
      .map((edge) => ({ ...edge, from: byId.get(edge.source), to: byId.get(edge.target) }));
    return { kept, links };
  }

  draw() {
    const { kept, links } = this.visibleGraph();
    const pictured = this.shape === "picture";
    fill(this.sum, `${count(kept.length, "node")}, ${count(links.length, "link")}${this.found.more ? "; newest only" : ""}`);
    this.stage.hidden = !pictured || kept.length === 0;
    this.list.hidden = pictured && kept.length > 0;
    if (kept.length === 0)
      fill(
        this.list,
        empty(
          "graph",
          this.text ? "No matches" : "No links yet",
          "Each fact is linked to its source, to the fact it replaces, and to its topic.",
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
      h("span", { class: "soft" }, `${edge.from === node ? word : `${word} by`}: `),
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
      h("p", {}, short(node.label, 200)),
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
        button("Show neighbours", () => this.focusOn(node.id)),
      ),
    );
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
