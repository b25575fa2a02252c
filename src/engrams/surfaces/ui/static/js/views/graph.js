// Graph of people, places and other things, and of memories, as a picture and a list.

import { get } from "../api.js";
import { button, empty, fill, h, head, icon, select, tabs, toggle } from "../dom.js";
import { open } from "../drawer.js";
import { plain, short } from "../format.js";
import { named, t } from "../i18n.js";
import { debounce } from "../poll.js";
import { errorBox, kindName } from "../memory.js";
import { GraphCanvas } from "../canvas.js";
import { KINDS, LAYERS, LAYER_OF, LINKS } from "../words.js";

export const title = t("graph");

const NAMES = {
  has_tag: t("tagged"),
  in_topic: t("in_topic"),
  relates_to: t("related"),
  supersedes: t("replaces"),
  may_outdate: t("may_replace"),
  contradicts: t("contradicts"),
  derived_from: t("derived_from"),
  co_occurs: t("found_together"),
  abstracted_from: t("summarises"),
  mentions: t("mentions"),
  together: t("together"),
};

/** Colour of an entity by its kind, and the legend of these. */
const ENTITY_COLOURS = { person: "accent", animal: "accent", place: "sessions", organisation: "rules", project: "rules", work: "rules", theme: "facts" };
const ENTITY_LEGEND = [
  ["", t("people_animals")],
  ["sessions", t("places")],
  ["rules", t("organisations_projects_works")],
  ["facts", t("themes")],
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
      "aria-label": t("graph_arrow_keys_walk_from"),
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
      placeholder: t("filter_by_text"),
      "aria-label": t("filter_the_graph"),
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
      button("", () => this.picture.zoom(1.25), { icon: "plus", label: t("zoom_in") }),
      button("", () => this.picture.zoom(0.8), { icon: "minus", label: t("zoom_out") }),
      button("", () => this.picture.fit(), { icon: "fit", label: t("show_all") }),
    );
    this.legend = h("ul", { class: "legend" });
    this.stage = h("div", { class: "stage card" }, this.canvas, tools, this.info, this.legend);
    this.filters = h(
      "div",
      { class: "row" },
      select(t("layer"), [["", t("every_layer")], ...Object.entries(LAYERS).map(([layer, name]) => [layer, named("layer", name)])], "", (value) => {
        this.layer = value;
        this.load();
      }),
      select(t("links"), [["", t("every_link")], ...[...LINKS, "mentions"].map((type) => [type, NAMES[type] ?? plain(type)])], "", (value) => {
        this.type = value;
        this.load();
      }),
    );
    this.views = select(
      t("nodes"),
      [
        ["entities", t("people_places_themes")],
        ["memories", t("memories")],
      ],
      "entities",
      (value) => {
        this.view = value;
        this.focusOn("");
      },
    );
    this.unlinked = toggle(t("show_unlinked"), false, (on) => {
      this.lone = on;
      this.draw();
    });
    this.back = button(t("whole_graph"), () => this.focusOn(""), { icon: "left" });
    fill(
      this.root,
      head(t("graph"), t("whom_and_what_your_memories")),
      h(
        "div",
        { class: "row" },
        tabs(
          t("show_as"),
          [
            ["picture", t("picture")],
            ["list", t("list")],
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
        this.unlinked,
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
    const layers = [...Object.values(LAYERS).map((name) => [name, named("layer", name)]), ["accent", t("names_tags_topics")]];
    const names = this.showsEntities ? ENTITY_LEGEND : layers;
    fill(
      this.legend,
      names.map(([colour, text]) => h("li", {}, h("i", { class: `dot ${colour}` }), text)),
    );
  }

  async load() {
    this.back.hidden = !this.focus;
    this.filters.hidden = this.unlinked.hidden = this.showsEntities;
    this.drawLegend();
    fill(this.sum, t("loading_2"));
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
    const sums = [t("n_nodes", { n: kept.length }), t("n_links", { n: links.length })];
    if (this.found.more) sums.push(this.showsEntities ? t("most_mentioned_only") : t("newest_only"));
    fill(this.sum, sums.join(", "));
    this.stage.hidden = !pictured || kept.length === 0;
    this.list.hidden = pictured && kept.length > 0;
    if (kept.length === 0)
      fill(
        this.list,
        empty(
          "graph",
          this.text ? t("no_matches") : t("no_links_yet"),
          t("each_fact_is_linked_to"),
          h("a", { class: "button main-action", href: "#/chat" }, t("start_a_chat")),
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
            node.memories && t("n_memories", { n: node.memories }),
            t("n_links", { n: own.length }),
          ),
        ),
        own.length > 0 &&
          h(
            "details",
            { class: "small" },
            h("summary", {}, t("links")),
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
      h("span", { class: "soft" }, edge.type === "together" ? `${word} (${edge.count}): ` : `${edge.from === node ? word : t("link_by", { link: word })}: `),
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
        node.status === "superseded" && h("span", { class: "chip warn" }, t("outdated")),
      ),
      h("p", {}, short(node.label, 200), node.aliases?.length > 0 && h("span", { class: "soft" }, t("also_called", { names: node.aliases.join(", ") }))),
      node.type === "entity" && this.mentions(node),
      own.length > 0 &&
        h(
          "ul",
          { class: "small stack tight links" },
          own.slice(0, 6).map((edge) => this.link(edge, node)),
          own.length > 6 && h("li", { class: "soft" }, t("and_n_more", { n: own.length - 6 })),
        ),
      h(
        "div",
        { class: "row" },
        node.type === "memory" && button(t("open"), () => this.openNode(node)),
        button(node.type === "entity" ? t("show_its_memories") : t("show_neighbours"), () => this.focusOn(node.id)),
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
    return h("div", {}, h("p", { class: "small soft" }, t("n_memories", { n: node.memories })), list);
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
