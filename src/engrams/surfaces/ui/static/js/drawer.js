// One memory with everything known about it: edit, forget and undo, erase, its history as differences.

import { memories } from "./api.js";
import { confirm, drawer } from "./dialog.js";
import { words } from "./diff.js";
import { bar, button, field, fill, h, icon } from "./dom.js";
import { ago, capital, moment, number, plain } from "./format.js";
import { labels, problem, product, voice } from "./memory.js";
import { say, tried } from "./notice.js";

/** Open a memory, by itself or by its id. `changed` is called after each change. */
export async function open(which, changed = () => {}) {
  const side = drawer("Memory");
  const shown = { memory: null };
  const draw = async () => {
    try {
      shown.memory = await memories.read(which);
      const { changes } = await memories.history(which).catch(() => ({ changes: [] }));
      fill(side.heading, capital({ facts: "fact", sessions: "from a session", rules: "rule" }[product(shown.memory)] ?? "memory"));
      fill(side.body, whole(shown.memory, changes, act));
    } catch (fault) {
      fill(side.body, problem(fault));
    }
  };
  const act = {
    edit: () => fill(side.body, editor(shown.memory, draw, changed)),
    forget: tried(async () => {
      await forget(shown.memory, changed);
      side.close();
    }),
    restore: tried(async () => {
      await memories.restore(shown.memory);
      say("It is back.");
      changed();
      await draw();
    }),
    erase: tried(async () => {
      const sure = await confirm(
        "Erase this for good?",
        "Its text, its vector, its history and what was derived from it alone are removed. There is no undo.",
        "Erase for good",
      );
      if (!sure) return;
      const proof = await memories.purge(shown.memory);
      const removed = Object.values(proof.removed).reduce((sum, each) => sum + each, 0);
      say(
        proof.proven
          ? `Erased: ${number(removed)} entries removed, and a second look found none of them.`
          : "Erased, but something was still found afterwards. `engrams doctor` says more.",
        null,
        !proof.proven,
      );
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

/** Forget with an undo in the message. */
export async function forget(memory, changed) {
  await memories.forget(memory, "forgotten in the page");
  say("Forgotten.", [
    "Undo",
    tried(async () => {
      await memories.restore(memory);
      changed();
      say("It is back.");
    }),
  ]);
  changed();
}

function whole(memory, changes, act) {
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
          ? button("Bring back", act.restore, { icon: "undo" })
          : button("Forget", act.forget, { icon: "trash" }),
        h("span", { class: "grow" }),
        button("Erase for good", act.erase, { kind: "plain danger" }),
      ),
    known(memory),
    memory.evidence.length > 0 &&
      part(
        "Where it comes from",
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
    part(
      "How sure",
      h(
        "div",
        { class: "meters" },
        meter("Confidence", memory.confidence),
        meter("Importance", memory.importance),
        meter("Trust", memory.trust),
      ),
    ),
    part(
      "History",
      h(
        "ol",
        { class: "history" },
        changes.length
          ? changes.toReversed().map((change) => entry(change))
          : h("li", { class: "soft small" }, "Nothing has changed since it was stored."),
      ),
    ),
    memory.superseded_by &&
      h(
        "div",
        {},
        button("Open what replaced it", () => act.open(memory.superseded_by), { icon: "link" }),
      ),
  ];
}

function part(title, ...content) {
  return h("section", { class: "stack tight" }, h("h3", {}, title), content);
}

function known(memory) {
  const statement = [memory.subject, plain(memory.predicate).toLowerCase(), memory.object].filter(Boolean).join(" ");
  const rows = [
    ["Statement", memory.predicate && statement],
    ["Said by", voice(memory)],
    ["Recorded", moment(memory.recorded_at)],
    ["True from", moment(memory.valid_from)],
    ["True until", moment(memory.valid_to)],
    ["Conversation", memory.session],
    ["Tags", memory.tags.join(", ")],
    ["Comes up at", memory.triggers.join(", ")],
    ["Came in by", [memory.provenance.channel, memory.provenance.extractor].filter(Boolean).join(", ")],
    ["Why it was kept", memory.provenance.reason],
    ["Said again", memory.strength > 1 && `${memory.strength} times`],
    ["Recalled", memory.access_count > 0 && `${memory.access_count} times, last ${ago(memory.last_accessed)}`],
    ["Where", memory.scope.slice(2).join(" / ")],
    ["Id", memory.id],
  ];
  return h(
    "dl",
    { class: "known" },
    rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", { class: name === "Id" ? "mono" : "" }, value)]),
  );
}

function meter(name, value) {
  return h(
    "div",
    { class: "meter" },
    h("span", { class: "small soft" }, name),
    bar(value, true),
    h("span", { class: "number small" }, `${Math.round(value * 100)} %`),
  );
}

const ACTIONS = {
  add: "Stored",
  edit: "Edited",
  forget: "Forgotten",
  restore: "Brought back",
  supersede: "Replaced",
  bump: "Said again",
  reinforce: "Said again",
};

function entry(change) {
  const names = [...new Set([...Object.keys(change.before), ...Object.keys(change.after)])].filter((name) => name !== "updated_at");
  return h(
    "li",
    {},
    h(
      "div",
      { class: "row" },
      h("strong", { class: "small" }, ACTIONS[change.action] ?? plain(change.action)),
      h("span", { class: "soft small" }, [moment(change.at), change.actor && `by ${change.actor}`].filter(Boolean).join(" · ")),
    ),
    change.reason && h("p", { class: "soft small" }, change.reason),
    Object.keys(change.before).length > 0 && names.slice(0, 8).map((name) => difference(name, change.before[name], change.after[name])),
  );
}

function written(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** One field before and after; what went is struck through, what came is marked, and both are said to a screen reader. */
function difference(name, before, after) {
  const tags = { same: "span", gone: "del", new: "ins" };
  const parts = words(written(before), written(after));
  if (parts.length === 0) return null;
  return h(
    "p",
    { class: "difference" },
    h("span", { class: "soft" }, `${plain(name)}: `),
    parts.map(([kind, text]) => h(tags[kind], {}, text)),
  );
}

function editor(memory, done, changed) {
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
      await memories.edit(memory, { ...fields, reason: reason.value.trim() });
      say("Saved.");
      changed();
      return await done();
    } catch (fault) {
      return fill(trouble, problem(fault));
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
    field("Why", reason),
    trouble,
    h(
      "div",
      { class: "row end" },
      button("Cancel", done),
      h("button", { type: "submit", class: "button main-action" }, icon("check"), "Save"),
    ),
  );
}
