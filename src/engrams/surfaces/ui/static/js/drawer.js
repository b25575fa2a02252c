// Drawer of one memory: details, edit, forget, erase, history.

import { memories, spaceOf } from "./api.js";
import { drawer } from "./dialog.js";
import { words } from "./diff.js";
import { bar, button, field, fill, h, icon } from "./dom.js";
import { ago, moment } from "./format.js";
import { named, t } from "./i18n.js";
import { labels, errorBox, layerName, speakerOf } from "./memory.js";
import { tellProof } from "./erase.js";
import { showFile } from "./media.js";
import { askReach, tellReach } from "./reach.js";
import { toast, withToast } from "./toast.js";
import { readStatement } from "./statement.js";

/** Open a memory or its id; `changed` is called after each change. */
export async function open(which, changed = () => {}) {
  const side = drawer(t("memory"));
  const shown = { memory: null };
  const draw = async () => {
    try {
      shown.memory = await memories.read(which);
      const { changes } = await memories.history(which).catch(() => ({ changes: [] }));
      fill(side.heading, named("layer_one", layerName(shown.memory)));
      fill(side.body, details(shown.memory, changes, act));
    } catch (fault) {
      fill(side.body, errorBox(fault));
    }
  };
  const act = {
    edit: () => fill(side.body, editForm(shown.memory, draw, changed)),
    forget: withToast(async () => {
      if (await forget(shown.memory, changed)) side.close();
    }),
    restore: withToast(async () => {
      await memories.restore(shown.memory);
      toast(t("restored"));
      changed();
      await draw();
    }),
    erase: withToast(async () => {
      const besides = await askReach(
        shown.memory,
        "purge",
        t("erase_this_memory_for_good"),
        t("its_text_vector_history_all"),
        t("erase_for_good"),
        true,
      );
      if (!besides) return;
      const proof = await memories.purge([shown.memory, ...besides]);
      tellProof(proof, [shown.memory, ...besides], besides.length);
      changed();
      side.close();
    }),
    open: (id) => {
      side.close();
      open({ id, scope: shown.memory.scope }, changed);
    },
  };
  await draw();
}

/** Forget a memory and offer Undo; asks first where messages said it. False: the reader said no. */
export async function forget(memory, changed) {
  const besides = await askReach(memory, "forget", t("forget_this_memory"), t("no_search_finds_it_until"), t("forget"));
  if (!besides) return false;
  const done = await memories.forget(memory, "forgotten in the page");
  const { scope } = memory;
  for (const id of besides) await memories.forget({ id, scope }, "forgotten in the page");
  toast(t("forgotten_reach", { reach: tellReach(done, besides.length) }), [
    t("undo"),
    withToast(async () => {
      for (const id of [memory.id ?? memory, ...besides]) await memories.restore({ id, scope });
      changed();
      toast(t("restored"));
    }),
  ]);
  changed();
  return true;
}

function details(memory, changes, act) {
  const gone = memory.status === "purged";
  return [
    h(
      "div",
      { class: "row" },
      labels(memory),
      memory.category && memory.category !== memory.kind && h("span", { class: "chip" }, named("category", memory.category)),
    ),
    !gone && memory.document?.media && showFile(memory),
    h("p", { class: "quote" }, readStatement(memory) || t("this_memory_was_erased")),
    memory.summary && memory.summary !== memory.text && h("p", { class: "soft small" }, memory.summary),
    memory.steps.length > 0 &&
      h(
        "ol",
        { class: "steps" },
        memory.steps.map((step) => h("li", {}, step)),
      ),
    !gone &&
      h(
        "div",
        { class: "row writes" },
        button(t("edit"), act.edit, { icon: "edit" }),
        memory.status === "forgotten"
          ? button(t("restore"), act.restore, { icon: "undo" })
          : button(t("forget"), act.forget, { icon: "trash" }),
        h("span", { class: "grow" }),
        button(t("erase_for_good"), act.erase, { kind: "plain danger" }),
      ),
    fieldList(plainFields(memory)),
    memory.evidence.length > 0 &&
      section(
        changes.some(({ action, before }) => action === "edit" && "text" in before) ? t("evidence_before_the_edit") : t("evidence"),
        h(
          "ul",
          { class: "stack tight" },
          memory.evidence.map((each) =>
            h(
              "li",
              { class: "evidence" },
              h("q", {}, each.quote),
              h(
                "span",
                { class: "row" },
                h("span", { class: "soft small grow" }, each.speaker),
                each.source && button(t("open_the_source"), () => act.open(each.source), { kind: "plain", icon: "link" }),
              ),
            ),
          ),
        ),
      ),
    section(
      t("history"),
      h(
        "ol",
        { class: "history" },
        changes.length
          ? changes.toReversed().map((change) => historyEntry(change, spaceOf(memory)))
          : h("li", { class: "soft small" }, t("no_changes_since_it_was")),
      ),
    ),
    h(
      "details",
      { class: "stack tight" },
      h("summary", {}, t("details")),
      fieldList(innerFields(memory)),
      section(
        t("scores"),
        h(
          "div",
          { class: "meters" },
          scoreMeter(t("confidence"), memory.confidence),
          scoreMeter(t("importance"), memory.importance),
          scoreMeter(t("trust"), memory.trust),
        ),
      ),
    ),
    memory.superseded_by &&
      h(
        "div",
        {},
        button(t("open_its_replacement"), () => act.open(memory.superseded_by), { icon: "link" }),
      ),
  ];
}

function section(title, ...content) {
  return h("section", { class: "stack tight" }, h("h3", {}, title), content);
}

/** Fields that anybody reads. */
function plainFields(memory) {
  return [
    [t("speaker"), speakerOf(memory)],
    [t("recorded"), moment(memory.recorded_at)],
    [t("true_from"), moment(memory.valid_from)],
    [t("true_until"), moment(memory.valid_to)],
    [t("tags"), memory.tags.join(", ")],
  ];
}

/** Fields that say how engrams keeps it. */
function innerFields(memory) {
  return [
    [t("statement"), memory.statement],
    [t("conversation"), memory.session],
    [t("triggers"), memory.triggers.join(", ")],
    [t("source"), named("source", memory.provenance.channel)],
    [t("extracted_by"), extractedBy(memory.provenance)],
    [t("repeated"), memory.strength > 1 && t("n_times", { n: memory.strength })],
    [t("recalled"), memory.access_count > 0 && t("n_times_last", { n: memory.access_count, when: ago(memory.last_accessed) })],
    [t("scope"), memory.scope.slice(2).join(" / ")],
    [t("tier"), named("tier", memory.tier)],
    [t("id"), memory.id, "mono"],
  ];
}

function fieldList(rows) {
  return h(
    "dl",
    { class: "known" },
    rows.filter(([, value]) => value).map(([name, value, kind = ""]) => [h("dt", {}, name), h("dd", { class: kind }, value)]),
  );
}

function scoreMeter(name, value) {
  return h(
    "div",
    { class: "meter" },
    h("span", { class: "small soft" }, name),
    bar(value, true),
    h("span", { class: "number small" }, `${Math.round(value * 100)} %`),
  );
}

/** Extractor and its reason; a text given by hand has neither. */
function extractedBy({ extractor, reason }) {
  if (!extractor || extractor.startsWith("human")) return "";
  return [extractor, reason].filter(Boolean).join(", ");
}

/** A change; `space`: name of the memory's space, in which "you" may be any member. */
function historyEntry(change, space) {
  const { before, after } = change;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => name !== "updated_at" && isPlain(before[name]) && isPlain(after[name]));
  const isMember = space && change.actor === "user";
  const actor = (isMember && after.meta?.edited_by) || named("actor", isMember ? "member" : change.actor);
  return h(
    "li",
    {},
    h(
      "div",
      { class: "row" },
      h("strong", { class: "small" }, named("action", change.action)),
      h("span", { class: "soft small" }, [moment(change.at), change.actor && t("by_actor", { actor })].filter(Boolean).join(" · ")),
    ),
    change.reason && h("p", { class: "soft small" }, change.reason),
    Object.keys(before).length > 0 && names.slice(0, 8).map((name) => fieldDiff(name, before[name], after[name])),
  );
}

/** What engrams notes for itself, such as evidence, is an object or a list of them. */
function isPlain(value) {
  return Array.isArray(value) ? value.every((each) => typeof each === "string") : typeof value !== "object" || value === null;
}

function toText(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(Math.round(value * 100) / 100);
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** Differences of one field, marked as deletions and insertions. */
function fieldDiff(name, before, after) {
  const tags = { same: "span", gone: "del", new: "ins" };
  const parts = words(toText(before), toText(after));
  if (parts.length === 0) return null;
  return h(
    "p",
    { class: "difference" },
    h("span", { class: "soft" }, `${named("field", name)}: `),
    parts.map(([kind, text]) => h(tags[kind], {}, text)),
  );
}

function editForm(memory, done, changed) {
  const text = h("textarea", { class: "input", rows: 5, value: memory.text, required: true });
  const tags = h("input", { class: "input", value: memory.tags.join(", "), autocomplete: "off" });
  const category = h("input", { class: "input", value: memory.category, autocomplete: "off" });
  const reason = h("input", { class: "input", autocomplete: "off", placeholder: t("optional_for_its_history") });
  const importance = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: memory.importance });
  const trouble = h("div", {});
  const save = async (event) => {
    event.preventDefault();
    const fields = { text: text.value, category: category.value.trim(), importance: Number(importance.value) };
    fields.tags = tags.value
      .split(",")
      .map((tag) => tag.trim().replace(/^#/, ""))
      .filter(Boolean);
    const same = (name) => JSON.stringify(fields[name]) === JSON.stringify(memory[name]);
    for (const name of Object.keys(fields)) if (same(name)) delete fields[name];
    if (Object.keys(fields).length === 0) return done();
    try {
      const detail = t("searches_and_answers_use_the");
      if (fields.text && !(await askReach(memory, "edit", t("correct_what_you_said_as"), detail, t("save")))) return undefined;
      const saved = await memories.edit(memory, { ...fields, reason: reason.value.trim() });
      toast(t("saved_reach", { reach: tellReach(saved) }));
      changed();
      return await done();
    } catch (fault) {
      return fill(trouble, errorBox(fault));
    }
  };
  queueMicrotask(() => text.focus());
  return h(
    "form",
    { class: "stack", on: { submit: save } },
    field(t("text"), text),
    field(t("tags"), tags, t("separated_by_commas")),
    field(t("category"), category),
    field(t("importance"), importance),
    field(t("reason"), reason),
    trouble,
    h(
      "div",
      { class: "row end" },
      button(t("cancel"), done),
      h("button", { type: "submit", class: "button main-action" }, icon("check"), t("save")),
    ),
  );
}
