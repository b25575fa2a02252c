// Card beside an answer: memories used, their scores, and those left out.

import { bar, h, icon } from "./dom.js";
import { capital, count, milliseconds, plain, short } from "./format.js";
import { labels, speakerOf, timeOf } from "./memory.js";

const NARROW = 1100;

const PARTS = {
  cos: "Meaning",
  cosctx: "Meaning, with previous messages",
  cosnext: "Meaning of the reply",
  bm: "Words",
  bmctx: "Words, with previous messages",
  bmses: "Words in the conversation",
  speaker: "Speaker",
  date: "Date",
  when: "Time asked about",
  slot: "Answers this question",
  question: "Is itself a question",
  length: "Length",
  recency: "Recency",
  importance: "Importance",
  confidence: "Confidence",
  graph: "Linked to something found",
  rerank: "Reranker",
  trigger: "Trigger",
  access: "Recently used",
};

const SKIPPED = {
  timeout: "The lookup took too long, so the answer went on without memory.",
  busy: "Too many lookups at once; the answer went on without memory.",
  error: "The lookup failed; the answer went on without memory.",
  top_k: "Recall is off: no memories used in this answer.",
  off: "Memory is off for this conversation.",
  incognito: "Incognito: nothing was read from memory or stored.",
  disabled: "Memory is turned off in the settings.",
  task: "A task of the client program, not a message.",
  refused: "The model server refused the request with memory in it, so it was sent again without.",
};

/** Describe the header `x-engrams-memory`; `profile`: how many memories of the profile went into the answer. */
export function describeNote(note, profile = 0) {
  const [word, detail] = (note ?? "").split(":");
  if (word === "used") {
    const standing = profile ? `your profile (${count(profile, "memory", "memories")})` : detail === "0" && "your profile";
    const recalled = detail !== "0" && count(Number(detail), "recalled memory", "recalled memories");
    return `Used in this answer: ${[recalled, standing].filter(Boolean).join(" and ")}.`;
  }
  if (word === "none") return "No relevant memories.";
  return SKIPPED[detail] ?? "";
}

/** Build the card. `explained`: the answer of /v1/explain, null while it is awaited. */
export function recallCard({ explained, note, closed = false, profile = [], learned = [] }, open) {
  const said = closed ? "Recall is off: no facts used in this answer." : describeNote(note, profile.length);
  const time = explained && h("span", { class: "soft small number" }, milliseconds(totalTime(explained)));
  const title = h("summary", { class: "recall-head" }, icon("bulb", true), h("h2", {}, "Recalled", explained && h("span", { class: "chip accent number" }, usedCount(explained, note) + profile.length)), time);
  const found = explained ? [chosenLists(explained, note, open), leftOut(explained, open), steps(explained)] : [];
  const content = [said && h("p", { class: "small soft" }, said), profile.length > 0 && profileList(profile, open), found, learned.length > 0 && learnedList(learned, open)];
  return h(
    "aside",
    { "aria-label": "Recalled memories" },
    h("details", { class: "recall", open: innerWidth > NARROW }, title, h("div", { class: "recall-body" }, content)),
  );
}

const totalTime = (explained) => explained.stages.reduce((sum, stage) => sum + stage.milliseconds, 0);

/** Number of memories used in the answer; without an answer all hits. */
function usedCount({ hits, abstain }, note) {
  const [word, number] = (note ?? "").split(":");
  if (word === "used") return Number(number);
  return word === "none" || abstain ? 0 : hits.length;
}

function chosenLists(explained, note, open) {
  const number = Math.min(explained.hits.length, usedCount(explained, note));
  const [into, near] = [explained.hits.slice(0, number), explained.hits.slice(number)].map((hits) => hits.map((hit) => hitItem(hit, open)));
  return [
    into.length > 0 && h("ol", { class: "recall-list" }, into),
    near.length > 0 && h("details", {}, h("summary", {}, `Relevant, not used (${near.length})`), h("ol", { class: "recall-list" }, near)),
  ];
}

function hitItem(hit, open) {
  const { memory } = hit;
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: "recall-open", on: { click: () => open(memory) } },
      h("span", { class: "recall-text" }, short(memory.text, 220)),
      h("span", { class: "row small soft" }, labels(memory, hit.status), [speakerOf(memory), timeOf(memory)].filter(Boolean).join(" · ")),
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
      scoreParts(hit.parts),
      hit.facts.length > 0 && h("p", { class: "small soft" }, "Facts: ", hit.facts.map((fact) => fact.text).join("; ")),
    ),
  );
}

/** Parts of a score by source. */
function scoreParts(all) {
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

function leftOut(explained, open) {
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
            h("span", { class: "small soft" }, `${dropReason(row.dropped)} · ${row.score.toFixed(2)}`),
          ),
        ),
      ),
    ),
  );
}

/** Reason of a drop, without ids of other memories. */
function dropReason(text) {
  return capital(text)
    .replace(/^Part of \w{20,}$/, "Part of a memory above")
    .replace(/^Says what \w{20,} says$/, "Says the same as one above");
}

function steps(explained) {
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

/** Memories of the profile: part of every answer, whatever was asked. */
function profileList(profile, open) {
  return h(
    "details",
    { class: "profile" },
    h("summary", {}, `Profile (${profile.length})`),
    h("p", { class: "small soft" }, "Part of every answer, whatever the question."),
    h("ul", { class: "recall-list" }, profile.map((memory) => plainItem(memory, open))),
  );
}

function plainItem(memory, open) {
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: "recall-open", on: { click: () => open(memory) } },
      h("span", { class: "recall-text" }, memory.text),
      h("span", { class: "row" }, labels(memory)),
    ),
  );
}

function learnedList(learned, open) {
  return h(
    "div",
    { class: "learned" },
    h("h3", { class: "small" }, "Extracted from your message"),
    h(
      "ul",
      { class: "recall-list" },
      learned.map((memory) => plainItem(memory, open)),
    ),
  );
}
