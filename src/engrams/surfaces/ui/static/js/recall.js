// Card beside an answer: memories used, their scores, and those left out.

import { bar, button, h, icon } from "./dom.js";
import { capital, milliseconds, plain, short } from "./format.js";
import { joined, named, t } from "./i18n.js";
import { labels, speakerOf, timeOf } from "./memory.js";
import { readStatement } from "./statement.js";

const NARROW = 1100;

const PARTS = {
  cos: t("meaning"),
  cosctx: t("meaning_with_previous_messages"),
  cosnext: t("meaning_of_the_reply"),
  bm: t("words"),
  bmctx: t("words_with_previous_messages"),
  bmses: t("words_in_the_conversation"),
  identifier: t("number_or_code_asked_for"),
  speaker: t("speaker"),
  date: t("date"),
  when: t("time_asked_about"),
  slot: t("answers_this_question"),
  question: t("is_itself_a_question"),
  length: t("length"),
  recency: t("recency"),
  importance: t("importance"),
  confidence: t("confidence"),
  linked: t("linked_to_something_found"),
  current: t("newer_than_a_better_match"),
  fact: t("fact_it_states"),
  rerank: t("reranker"),
  trigger: t("trigger"),
  access: t("recently_used"),
};

const SKIPPED = {
  timeout: t("the_lookup_took_too_long"),
  busy: t("too_many_lookups_at_once"),
  error: t("the_lookup_failed_the_answer"),
  top_k: t("recall_is_off_no_memories"),
  off: t("memory_is_off_for_this"),
  incognito: t("incognito_nothing_was_read_from"),
  disabled: t("memory_is_turned_off_in"),
  task: t("a_task_of_the_client"),
  refused: t("the_model_server_refused_the"),
};

/** Describe the header `x-engrams-memory`; `profile`: how many memories of the profile went into the answer. */
export function describeNote(note, profile = 0) {
  const [word, detail] = (note ?? "").split(":");
  if (word === "used") {
    const standing = profile ? t("profile_n", { n: profile }) : detail === "0" && t("your_profile");
    const recalled = detail !== "0" && t("n_recalled", { n: Number(detail) });
    return t("used_in_answer", { parts: joined([recalled, standing]) });
  }
  if (word === "none") return t("no_relevant_memories");
  return SKIPPED[detail] ?? "";
}

/** Build the card. `explained`: the answer of /v1/explain, null while it is awaited. `unlearn(memory)`: forgets what was learned. */
export function recallCard({ explained, note, closed = false, profile = [], learned = [] }, open, unlearn) {
  const said = closed ? t("recall_is_off_no_facts") : describeNote(note, profile.length);
  const time = explained && h("span", { class: "soft small number" }, milliseconds(totalTime(explained)));
  const title = h("summary", { class: "recall-head" }, icon("bulb", true), h("h2", {}, t("recalled"), explained && h("span", { class: "chip accent number" }, usedCount(explained, note) + profile.length)), time);
  const found = explained ? [chosenLists(explained, note, profile, open), leftOut(explained, open), steps(explained)] : [];
  const content = [said && h("p", { class: "small soft" }, said), profile.length > 0 && profileList(profile, open), found, learned.length > 0 && learnedList(learned, open, unlearn)];
  return h(
    "div",
    { role: "group", "aria-label": t("recalled_memories") },
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

function chosenLists(explained, note, profile, open) {
  const number = usedCount(explained, note);
  const profileIds = new Set(profile.map((memory) => memory.id));
  // A message is used, too, if the profile states what it says: it is not given twice.
  const isUsed = (hit, index) => index < number || [hit.memory, ...hit.facts].some((memory) => profileIds.has(memory.id));
  const into = explained.hits.filter(isUsed).map((hit) => hitItem(hit, open));
  const near = explained.hits.filter((hit, index) => !isUsed(hit, index)).map((hit) => hitItem(hit, open));
  return [
    into.length > 0 && h("ol", { class: "recall-list" }, into),
    near.length > 0 && h("details", {}, h("summary", {}, t("similar_not_used", { n: near.length })), h("ol", { class: "recall-list" }, near)),
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
      h("span", { class: "recall-text" }, short(readStatement(memory), 220)),
      h("span", { class: "row small soft" }, labels(memory, hit.status), [speakerOf(memory), timeOf(memory)].filter(Boolean).join(" · ")),
    ),
    h(
      "details",
      { class: "why" },
      h(
        "summary",
        {},
        h("span", { class: "small" }, t("why")),
        bar(hit.score),
        h("span", { class: "number small", title: t("score_0_to_1") }, hit.score.toFixed(2)),
      ),
      scoreParts(hit.parts),
      hit.facts.length > 0 && h("p", { class: "small soft" }, t("facts_list", { facts: hit.facts.map(readStatement).join("; ") })),
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
    h("summary", {}, t("left_out", { n: rows.length })),
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
    .replace(/^Part of \w{20,}$/, t("part_of_a_memory_above"))
    .replace(/^Says what \w{20,} says$/, t("says_the_same_as_one"));
}

function steps(explained) {
  const understood = Object.entries(explained.understood).filter(([, value]) => typeof value === "string" && value);
  return h(
    "details",
    {},
    h("summary", {}, t("how_it_was_chosen")),
    h(
      "dl",
      { class: "parts" },
      understood.map(([name, value]) => [h("dt", {}, t("understood", { what: named("understood", name) })), h("dd", {}, value)]),
      explained.stages.map((stage) => [
        h("dt", {}, named("stage", stage.name)),
        h("dd", { class: "number" }, t("n_in_time", { n: stage.count, time: milliseconds(stage.milliseconds) })),
      ]),
    ),
    explained.notes.map((note) => h("p", { class: "small soft", lang: "en" }, note)),
  );
}

/** Memories of the profile: part of every answer, whatever was asked. */
function profileList(profile, open) {
  return h(
    "details",
    { class: "profile" },
    h("summary", {}, t("profile_title", { n: profile.length })),
    h("p", { class: "small soft" }, t("part_of_every_answer_whatever")),
    h("ul", { class: "recall-list" }, profile.map((memory) => plainItem(memory, open))),
  );
}

function plainItem(memory, open, ...more) {
  return h(
    "li",
    {},
    h(
      "button",
      { type: "button", class: "recall-open", on: { click: () => open(memory) } },
      h("span", { class: "recall-text" }, readStatement(memory)),
      h("span", { class: "row" }, labels(memory)),
    ),
    more,
  );
}

function learnedList(learned, open, unlearn) {
  return h(
    "div",
    { class: "learned" },
    h("h3", { class: "small" }, t("extracted_from_your_message")),
    h(
      "ul",
      { class: "recall-list" },
      learned.map((memory) => {
        const text = readStatement(memory);
        return plainItem(memory, open, button(t("undo"), () => unlearn(memory), { icon: "undo", kind: "plain writes", label: t("undo_one", { name: text }) }));
      }),
    ),
  );
}
