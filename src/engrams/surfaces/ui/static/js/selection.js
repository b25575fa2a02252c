// Several memories chosen at once, and what is done with them: tag, export, forget, erase.

import { ask, memories, post } from "./api.js";
import { prompt } from "./dialog.js";
import { button, fill, h } from "./dom.js";
import { saveFile } from "./download.js";
import { showProof } from "./erase.js";
import { t } from "./i18n.js";
import { askReach, tellReach } from "./reach.js";
import { toast, withToast } from "./toast.js";
import { readStatement } from "./statement.js";

const REASON = "forgotten in the page";

/** Choice of memories by their boxes, with a bar of actions. `changed`: called after one; `rows`: the memories that are shown. */
export class Selection {
  constructor(changed, rows) {
    Object.assign(this, { changed, rows, on: false, chosen: new Map() });
    this.element = h("div", { class: "choice-bar", role: "region", "aria-label": t("chosen_memories"), hidden: true });
    this.sum = h("strong", { role: "status" });
    const act = (work) => withToast(() => this.#act(work));
    const actions = [
      button(t("all_shown"), () => this.#setAll(this.rows()), { kind: "plain" }),
      button(t("none"), () => this.#setAll([]), { kind: "plain" }),
      button(t("tag"), act(tagAll), { icon: "edit" }),
      button(t("export"), act(exportAll), { icon: "export" }),
      button(t("forget"), act(forgetAll), { icon: "trash" }),
      button(t("erase_for_good"), act(eraseAll), { kind: "danger" }),
    ];
    this.needy = actions.slice(2);
    fill(this.element, h("div", { class: "row" }, this.sum, actions.slice(0, 2)), h("div", { class: "row" }, this.needy));
  }

  /** Begin or end choosing. */
  toggle(on) {
    this.on = on;
    this.chosen.clear();
    this.#draw();
  }

  /** Box of one memory, or null while nothing is chosen. */
  box(memory) {
    if (!this.on || memory.status === "purged") return null;
    const input = h("input", {
      type: "checkbox",
      checked: this.chosen.has(memory.id),
      "aria-label": t("choose_one", { text: readStatement(memory).slice(0, 60) }),
      data: { memory: memory.id },
      on: { change: () => this.#set(memory, input.checked) },
    });
    return h("label", { class: "choice" }, input);
  }

  #set(memory, on) {
    if (on) this.chosen.set(memory.id, memory);
    else this.chosen.delete(memory.id);
    this.#draw();
  }

  #setAll(some) {
    this.chosen = new Map(some.map((memory) => [memory.id, memory]));
    for (const input of document.querySelectorAll(".choice input")) input.checked = this.chosen.has(input.dataset.memory);
    this.#draw();
  }

  #draw() {
    this.element.hidden = !this.on;
    fill(this.sum, this.chosen.size ? t("n_chosen", { n: this.chosen.size }) : t("choose_memories"));
    for (const each of this.needy) each.disabled = this.chosen.size === 0;
  }

  async #act(work) {
    const done = await work([...this.chosen.values()], this.changed);
    if (!done) return;
    this.#setAll([]);
    this.changed();
  }
}

async function tagAll(some) {
  const line = await prompt(t("tag_memories"), t("the_tags_are_added_to"), t("tags_separated_by_commas"), { yes: t("add_tags") });
  const tags = line
    .split(",")
    .map((tag) => tag.trim().replace(/^#/, ""))
    .filter(Boolean);
  if (tags.length === 0) return false;
  for (const memory of some) {
    const fresh = await memories.read(memory);
    await memories.edit(fresh, { tags: [...new Set([...fresh.tags, ...tags])] });
  }
  toast(t("n_tagged", { n: some.length }));
  return true;
}

async function exportAll(some) {
  const answer = await ask("POST", "/v1/export", { body: { ids: some.map((memory) => memory.id) } });
  await saveFile(answer);
  toast(t("n_exported", { n: some.length }));
  return false;
}

async function forgetAll(some, changed) {
  const title = t("forget_n_q", { n: some.length });
  const besides = await askReach(some, "forget", title, t("no_search_finds_them_until"), t("forget"), true);
  if (!besides) return false;
  const ids = [...some.map((memory) => memory.id), ...besides];
  const reports = [];
  for (const id of ids) reports.push(await memories.forget(id, REASON));
  const reached = { sources: reports.flatMap((each) => each.sources ?? []), also_said_in: [] };
  toast(t("n_forgotten", { n: some.length, reach: tellReach(reached, besides.length) }), [
    t("undo"),
    withToast(async () => {
      for (const id of ids) await memories.restore(id);
      changed();
      toast(t("restored"));
    }),
  ]);
  return true;
}

async function eraseAll(some) {
  const title = t("erase_n_q", { n: some.length });
  const detail = t("their_texts_vectors_and_histories");
  const besides = await askReach(some, "purge", title, detail, t("erase_for_good"), true);
  if (!besides) return false;
  const ids = [...some.map((memory) => memory.id), ...besides];
  showProof(await post("/v1/purge", { ids, git: false }), ids, besides.length);
  return true;
}
