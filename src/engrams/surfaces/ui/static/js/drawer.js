// Drawer of one memory: details, edit, forget, erase, history.

import { memories } from "./api.js";
import { drawer } from "./dialog.js";
import { words } from "./diff.js";
import { bar, button, field, fill, h, icon } from "./dom.js";
import { ago, capital, moment, plain } from "./format.js";
import { labels, errorBox, layerName, speakerOf } from "./memory.js";
import { tellProof } from "./erase.js";
import { askReach, tellReach } from "./reach.js";
import { toast, withToast } from "./toast.js";

/** Open a memory or its id; `changed` is called after each change. */
export async function open(which, changed = () => {}) {
  const side = drawer("Memory");
  const shown = { memory: null };
  const draw = async () => {
    try {
      shown.memory = await memories.read(which);
      const { changes } = await memories.history(which).catch(() => ({ changes: [] }));
      fill(side.heading, capital({ facts: "fact", sessions: "from a session", rules: "rule" }[layerName(shown.memory)] ?? "memory"));
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
      toast("Restored.");
      changed();
      await draw();
    }),
    erase: withToast(async () => {
      const besides = await askReach(
        shown.memory,
        "purge",
        "Erase this memory for good?",
        "Its text, vector, history, all memories derived from it alone, and its words in the messages behind it are removed. This cannot be undone.",
        "Erase for good",
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
      open(id, changed);
    },
  };
  await draw();
}

/** Forget a memory and offer Undo; asks first where messages said it. False: the reader said no. */
export async function forget(memory, changed) {
  const besides = await askReach(memory, "forget", "Forget this memory?", "No search finds it until you restore it.", "Forget");
  if (!besides) return false;
  const done = await memories.forget(memory, "forgotten in the page");
  for (const id of besides) await memories.forget(id, "forgotten in the page");
  toast(`Forgotten.${tellReach(done, besides.length)}`, [
    "Undo",
    withToast(async () => {
      for (const each of [memory, ...besides]) await memories.restore(each);
      changed();
      toast("Restored.");
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
      memory.category && memory.category !== memory.kind && h("span", { class: "chip" }, plain(memory.category)),
      h("span", { class: "chip" }, plain(memory.tier)),
    ),
    h("p", { class: "quote" }, memory.text || "This memory was erased."),
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
        { class: "row" },
        button("Edit", act.edit, { icon: "edit" }),
        memory.status === "forgotten"
          ? button("Restore", act.restore, { icon: "undo" })
          : button("Forget", act.forget, { icon: "trash" }),
        h("span", { class: "grow" }),
        button("Erase for good", act.erase, { kind: "plain danger" }),
      ),
    fieldList(memory),
    memory.evidence.length > 0 &&
      section(
        "Evidence",
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
                each.source && button("Open the source", () => act.open(each.source), { kind: "plain", icon: "link" }),
              ),
            ),
          ),
        ),
      ),
    section(
      "Scores",
      h(
        "div",
        { class: "meters" },
        scoreMeter("Confidence", memory.confidence),
        scoreMeter("Importance", memory.importance),
        scoreMeter("Trust", memory.trust),
      ),
    ),
    section(
      "History",
      h(
        "ol",
        { class: "history" },
        changes.length
          ? changes.toReversed().map((change) => historyEntry(change))
          : h("li", { class: "soft small" }, "No changes since it was stored."),
      ),
    ),
    memory.superseded_by &&
      h(
        "div",
        {},
        button("Open its replacement", () => act.open(memory.superseded_by), { icon: "link" }),
      ),
  ];
}

function section(title, ...content) {
  return h("section", { class: "stack tight" }, h("h3", {}, title), content);
}

function fieldList(memory) {
  const statement = [memory.subject, plain(memory.predicate).toLowerCase(), memory.object].filter(Boolean).join(" ");
  const rows = [
    ["Statement", memory.predicate && statement],
    ["Speaker", speakerOf(memory)],
    ["Recorded", moment(memory.recorded_at)],
    ["True from", moment(memory.valid_from)],
    ["True until", moment(memory.valid_to)],
    ["Conversation", memory.session],
    ["Tags", memory.tags.join(", ")],
    ["Triggers", memory.triggers.join(", ")],
    ["Source", plain(memory.provenance.channel)],
    ["Extracted by", extractedBy(memory.provenance)],
    ["Repeated", memory.strength > 1 && `${memory.strength} times`],
    ["Recalled", memory.access_count > 0 && `${memory.access_count} times, last ${ago(memory.last_accessed)}`],
    ["Scope", memory.scope.slice(2).join(" / ")],
    ["Id", memory.id],
  ];
  return h(
    "dl",
    { class: "known" },
    rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", { class: name === "Id" ? "mono" : "" }, value)]),
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

const ACTORS = { digest: "extraction", usage: "searches", hand: "a file edit", session: "the end of a session", engrams: "maintenance" };

const ACTIONS = {
  add: "Stored",
  edit: "Edited",
  forget: "Forgotten",
  restore: "Restored",
  supersede: "Replaced",
  bump: "Repeated",
  reinforce: "Repeated",
};

function historyEntry(change) {
  const names = [...new Set([...Object.keys(change.before), ...Object.keys(change.after)])].filter((name) => name !== "updated_at");
  return h(
    "li",
    {},
    h(
      "div",
      { class: "row" },
      h("strong", { class: "small" }, ACTIONS[change.action] ?? plain(change.action)),
      h("span", { class: "soft small" }, [moment(change.at), change.actor && `by ${ACTORS[change.actor] ?? plain(change.actor).toLowerCase()}`].filter(Boolean).join(" · ")),
    ),
    change.reason && h("p", { class: "soft small" }, change.reason),
    Object.keys(change.before).length > 0 && names.slice(0, 8).map((name) => fieldDiff(name, change.before[name], change.after[name])),
  );
}

function toText(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Differences of one field, marked as deletions and insertions. */
function fieldDiff(name, before, after) {
  const tags = { same: "span", gone: "del", new: "ins" };
  const parts = words(toText(before), toText(after));
  if (parts.length === 0) return null;
  return h(
    "p",
    { class: "difference" },
    h("span", { class: "soft" }, `${plain(name)}: `),
    parts.map(([kind, text]) => h(tags[kind], {}, text)),
  );
}

function editForm(memory, done, changed) {
  const text = h("textarea", { class: "input", rows: 5, value: memory.text, required: true });
  const tags = h("input", { class: "input", value: memory.tags.join(", "), autocomplete: "off" });
  const category = h("input", { class: "input", value: memory.category, autocomplete: "off" });
  const reason = h("input", { class: "input", autocomplete: "off", placeholder: "Optional, for its history" });
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
      const detail = "Searches and answers use the new text.";
      if (fields.text && !(await askReach(memory, "edit", "Correct what you said as well?", detail, "Save"))) return undefined;
      const saved = await memories.edit(memory, { ...fields, reason: reason.value.trim() });
      toast(`Saved.${tellReach(saved)}`);
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
    field("Text", text),
    field("Tags", tags, "Separated by commas"),
    field("Category", category),
    field("Importance", importance),
    field("Reason", reason),
    trouble,
    h(
      "div",
      { class: "row end" },
      button("Cancel", done),
      h("button", { type: "submit", class: "button main-action" }, icon("check"), "Save"),
    ),
  );
}
