// Beside an answer: what memory gave to it, why, and what it left out.

import { bar, h, icon } from "./dom.js";
import { capital, count, milliseconds, plain, short } from "./format.js";
import { labels, voice, when } from "./memory.js";

const NARROW = 1100;

const PARTS = {
  cos: "Meaning",
  cosctx: "Meaning, with what was said before",
  cosnext: "Meaning of the reply",
  bm: "Words",
  bmctx: "Words, with what was said before",
  bmses: "Words in the conversation",
  speaker: "Who said it",
  date: "Date",
  when: "Time asked about",
  slot: "Answers this very question",
  question: "Is itself a question",
  length: "Length",
  recency: "How recent",
  importance: "Importance",
  confidence: "Confidence",
  graph: "Linked to something found",
  rerank: "Second judgement",
  trigger: "A rule for this",
  access: "Used lately",
};

const SKIPPED = {
  timeout: "The lookup took too long, so the answer went on without memory.",
  busy: "Too many lookups at once; the answer went on without memory.",
  error: "The lookup failed; the answer went on without memory.",
  top_k: "Recall is off: nothing from memory went into this answer.",
  off: "Memory is off for this conversation.",
  incognito: "Incognito: nothing was read from memory, nothing is kept.",
  disabled: "Memory is turned off in the settings.",
  task: "An errand of a program, not a person's words.",
  refused: "The model server refused the request with memory in it, so it was sent again without.",
};

/** What the header `x-engrams-memory` says, for people. */
export function told(note) {
  const [word, detail] = (note ?? "").split(":");
  if (word === "used")
    return detail === "0" ? "Your profile went into this answer." : `${count(Number(detail), "memory", "memories")} went into this answer.`;
  if (word === "none") return "Nothing in memory came near this.";
  return SKIPPED[detail] ?? "";
}

/** The card. `explained`: what /v1/explain said, null while it is awaited; `used`: whether it went into the answer. */
export function card({ explained, note, closed = false, learned = [] }, open) {
  const said = closed ? "Recall is off: no facts went into this answer." : told(note);
  const time = explained && h("span", { class: "soft small number" }, milliseconds(total(explained)));
  const title = h("summary", { class: "recall-head" }, icon("bulb", true), h("h3", {}, "Recalled", explained && h("span", { class: "chip accent number" }, used(explained, note))), time);
  const found = explained ? [chosen(explained, note, open), left(explained, open), how(explained)] : [];
  const content = [said && h("p", { class: "small soft" }, said), found, learned.length > 0 && kept(learned, open)];
  return h(
    "aside",
    { "aria-label": "What was recalled" },
    h("details", { class: "recall", open: innerWidth > NARROW }, title, h("div", { class: "recall-body" }, content)),
  );
}

const total = (explained) => explained.stages.reduce((sum, stage) => sum + stage.milliseconds, 0);

/** How many of the memories found went into the answer; of a question without one, all that came near. */
function used({ hits, abstain }, note) {
  const [word, number] = (note ?? "").split(":");
  if (word === "used") return Math.min(hits.length, Number(number));
  return word === "none" || abstain ? 0 : hits.length;
}

function chosen(explained, note, open) {
  const number = used(explained, note);
  const [into, near] = [explained.hits.slice(0, number), explained.hits.slice(number)].map((hits) => hits.map((hit) => item(hit, open)));
  return [
    into.length > 0 && h("ol", { class: "recall-list" }, into),
    near.length > 0 && h("details", {}, h("summary", {}, `Near, but not put in (${near.length})`), h("ol", { class: "recall-list" }, near)),
  ];
}

function item(hit, open) {
  const { memory } = hit;
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: "recall-open", on: { click: () => open(memory) } },
      h("span", { class: "recall-text" }, short(memory.text, 220)),
      h("span", { class: "row small soft" }, labels(memory, hit.status), [voice(memory), when(memory)].filter(Boolean).join(" · ")),
    ),
    h(
      "details",
      { class: "why" },
      h(
        "summary",
        {},
        h("span", { class: "small" }, "Why"),
        bar(hit.score),
        h("span", { class: "number small", title: "Score, 0 to 1" }, hit.score.toFixed(2)),
      ),
      parts(hit.parts),
      hit.facts.length > 0 && h("p", { class: "small soft" }, "Says: ", hit.facts.map((fact) => fact.text).join("; ")),
    ),
  );
}

/** What each source added to a score. */
function parts(all) {
  const named = Object.entries(all)
    .filter(([, value]) => Math.abs(value) >= 0.0005)
    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const most = Math.max(...named.map(([, value]) => Math.abs(value)), 0.001);
  return h(
    "dl",
    { class: "parts" },
    named.map(([name, value]) => [
      h("dt", {}, PARTS[name] ?? plain(name)),
      h("dd", {}, bar(Math.abs(value) / most), h("span", { class: "number" }, value.toFixed(3))),
    ]),
  );
}

function left(explained, open) {
  const rows = explained.rows.filter((row) => row.dropped);
  if (rows.length === 0) return null;
  return h(
    "details",
    {},
    h("summary", {}, `Left out (${rows.length})`),
    h(
      "ul",
      { class: "recall-list left" },
      rows.map((row) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "recall-open", on: { click: () => open(row) } },
            h("span", { class: "recall-text" }, short(row.text, 120)),
            h("span", { class: "small soft" }, `${reason(row.dropped)} · ${row.score.toFixed(2)}`),
          ),
        ),
      ),
    ),
  );
}

/** Reasons name other memories by their ids; people need not see those. */
function reason(text) {
  return capital(text)
    .replace(/^Part of \w{20,}$/, "Part of a memory above")
    .replace(/^Says what \w{20,} says$/, "Says the same as one above");
}

function how(explained) {
  const understood = Object.entries(explained.understood).filter(([, value]) => typeof value === "string" && value);
  return h(
    "details",
    {},
    h("summary", {}, "How it was chosen"),
    h(
      "dl",
      { class: "parts" },
      understood.map(([name, value]) => [h("dt", {}, `Understood: ${name}`), h("dd", {}, value)]),
      explained.stages.map((stage) => [
        h("dt", {}, capital(stage.name)),
        h("dd", { class: "number" }, `${stage.count} in ${milliseconds(stage.milliseconds)}`),
      ]),
    ),
    explained.notes.map((note) => h("p", { class: "small soft" }, note)),
  );
}

function kept(learned, open) {
  return h(
    "div",
    { class: "learned" },
    h("h3", { class: "small" }, "Learned from what you said"),
    h(
      "ul",
      { class: "recall-list" },
      learned.map((memory) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "recall-open", on: { click: () => open(memory) } },
            h("span", { class: "recall-text" }, memory.text),
            h("span", { class: "row" }, labels(memory)),
          ),
        ),
      ),
    ),
  );
}
