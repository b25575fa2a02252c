// Row of a memory in a list, and its labels.

import { spaceOf } from "./api.js";
import { add, h, icon } from "./dom.js";
import { ago, day, moment } from "./format.js";
import { named, t } from "./i18n.js";
import { readStatement } from "./statement.js";
import { LAYERS } from "./words.js";

/** Display name of the layer: facts, sessions or rules. */
export const layerName = (memory) => LAYERS[memory.layer] ?? memory.layer;

/** Display name of a kind of memory. */
export const kindName = (kind) => named("kind", kind);

const STATE = {
  superseded: ["warn", t("outdated")],
  archived: ["", t("archived")],
  forgotten: ["bad", t("forgotten")],
  purged: ["bad", t("erased")],
  candidate: ["night", t("held")],
};

/** Chips of kind, of the space if it is in one and, unless active, of the status. */
export function labels(memory, status = memory.status) {
  const name = memory.meta?.note_file ? t("note_file") : kindName(memory.kind);
  const [tone, text] = STATE[status] ?? [];
  const doubt = !text && memory.outdated?.told && h("span", { class: "chip warn", title: memory.outdated.words }, t("may_be_outdated"));
  const space = spaceOf(memory);
  const shared = space && h("span", { class: "chip accent" }, t("in_space", { space }));
  return [h("span", { class: `chip ${layerName(memory)}` }, name), shared, text && h("span", { class: `chip ${tone}` }, text), doubt];
}

/** Speaker of a memory, or the place of a passage in its document. */
export function speakerOf(memory) {
  if (memory.document) return memory.document.label;
  const editor = memory.meta?.edited_by;
  if (memory.speaker) return editor ? t("speaker_edited_by", { speaker: memory.speaker, editor }) : memory.speaker;
  return { user: t("you"), assistant: t("assistant"), tool: t("a_tool"), system: t("system") }[memory.role] ?? "";
}

/** Time of validity, or of recording. */
export function timeOf(memory) {
  if (memory.valid_from && memory.valid_to) return `${day(memory.valid_from)} – ${day(memory.valid_to)}`;
  if (memory.valid_to) return t("until_day", { day: day(memory.valid_to) });
  if (memory.valid_from && memory.kind !== "turn") return t(new Date(memory.valid_from) > new Date() ? "from_day" : "since_day", { day: day(memory.valid_from) });
  return memory.meta?.note_file ? day(memory.recorded_at) : ago(memory.recorded_at);
}

/** Row of a list; a press opens the memory. `more`: elements at its end. `query`: words to mark in it. */
export function memoryRow(memory, open, more = [], query = "") {
  const about = [speakerOf(memory), timeOf(memory), memory.tags.length > 0 && memory.tags.map((tag) => `#${tag}`).join(" ")].filter(Boolean);
  return h(
    "li",
    { class: `memory ${memory.status === "active" ? "" : "faded"}`, data: { id: memory.id } },
    h(
      "button",
      { type: "button", class: "memory-open", on: { click: () => open(memory) } },
      h("span", { class: "memory-text" }, markWords(readStatement(memory) || t("erased_text"), query)),
      h("span", { class: "memory-about" }, labels(memory), h("span", { title: moment(memory.recorded_at) }, about.join(" · "))),
    ),
    more.some(Boolean) && h("div", { class: "memory-more" }, more),
  );
}

/** A text with the words of a query marked, also where they are part of a longer word. */
function markWords(text, query) {
  const words = query.match(/[\p{L}\p{N}]{3,}|\p{Script=Han}+/gu) ?? [];
  if (words.length === 0) return text;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})`, "giu");
  return text.split(pattern).map((part, at) => (at % 2 ? h("mark", {}, part) : part));
}

/** Placeholder of a list while it loads. */
export function skeleton(rows = 4) {
  return h(
    "ul",
    { class: "list", "aria-busy": "true", "aria-label": t("loading") },
    Array.from({ length: rows }, () =>
      h("li", { class: "waiting-row" }, h("span", { class: "skeleton" }), h("span", { class: "skeleton" })),
    ),
  );
}

/** Box with an error and its hint. */
export function errorBox(fault) {
  const unnamed = fault.kind === "ScopeError";
  const hint = unnamed ? t("say_who_you_are_under") : fault.hint;
  return h(
    "div",
    { class: "problem", role: "alert" },
    icon("warn"),
    add(h("div", {}), [
      h("p", {}, fault.message),
      hint && h("p", { class: "soft" }, hint),
      unnamed && h("a", { class: "button", href: "#/settings" }, t("open_settings")),
    ]),
  );
}
