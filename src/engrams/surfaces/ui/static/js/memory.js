// One memory in a list, and its labels.

import { add, h, icon } from "./dom.js";
import { ago, day, moment, plain } from "./format.js";
import { LAYERS } from "./words.js";

/** facts, sessions or rules. */
export const product = (memory) => LAYERS[memory.layer] ?? memory.layer;

const STATE = {
  superseded: ["warn", "No longer so"],
  archived: ["", "Archived"],
  forgotten: ["bad", "Forgotten"],
  purged: ["bad", "Erased"],
  candidate: ["night", "Held"],
};

/** Kind and, where it is not simply active, status. */
export function labels(memory, status = memory.status) {
  const [tone, text] = STATE[status] ?? [];
  return [h("span", { class: `chip ${product(memory)}` }, plain(memory.kind)), text && h("span", { class: `chip ${tone}` }, text)];
}

/** Who said it. */
export function voice(memory) {
  if (memory.speaker) return memory.speaker;
  return { user: "You", assistant: "Assistant", tool: "A tool", system: "System" }[memory.role] ?? "";
}

/** Since when it is true, or when it was said. */
export function when(memory) {
  if (memory.valid_from && memory.valid_to) return `${day(memory.valid_from)} – ${day(memory.valid_to)}`;
  if (memory.valid_to) return `until ${day(memory.valid_to)}`;
  if (memory.valid_from && memory.kind !== "turn") return `since ${day(memory.valid_from)}`;
  return ago(memory.recorded_at);
}

/** A line of a list; a press opens it. `more`: elements at its end. */
export function line(memory, open, ...more) {
  const about = [voice(memory), when(memory), memory.tags.length > 0 && memory.tags.map((tag) => `#${tag}`).join(" ")].filter(Boolean);
  return h(
    "li",
    { class: `memory ${memory.status === "active" ? "" : "faded"}`, data: { id: memory.id } },
    h(
      "button",
      { type: "button", class: "memory-open", on: { click: () => open(memory) } },
      h("span", { class: "memory-text" }, memory.text || "(erased)"),
      h("span", { class: "memory-about" }, labels(memory), h("span", { title: moment(memory.recorded_at) }, about.join(" · "))),
    ),
    more.length > 0 && h("div", { class: "memory-more" }, more),
  );
}

/** What a set of memories looks like while it is fetched. */
export function waiting(rows = 4) {
  return h(
    "ul",
    { class: "list", "aria-busy": "true", "aria-label": "Loading" },
    Array.from({ length: rows }, () =>
      h("li", { class: "waiting-row" }, h("span", { class: "skeleton" }), h("span", { class: "skeleton" })),
    ),
  );
}

/** Where the reader looks for what is not there. */
export function problem(fault) {
  return h(
    "div",
    { class: "problem", role: "alert" },
    icon("warn"),
    add(h("div", {}), [h("p", {}, fault.message), fault.hint && h("p", { class: "soft" }, fault.hint)]),
  );
}
