// Several memories chosen at once, and what is done with them: tag, export, forget, erase.

import { ask, memories, post } from "./api.js";
import { prompt } from "./dialog.js";
import { button, fill, h } from "./dom.js";
import { saveFile } from "./download.js";
import { showProof } from "./erase.js";
import { count } from "./format.js";
import { askReach, tellReach } from "./reach.js";
import { toast, withToast } from "./toast.js";

const REASON = "forgotten in the page";

/** Choice of memories by their boxes, with a bar of actions. `changed`: called after one; `rows`: the memories that are shown. */
export class Selection {
  constructor(changed, rows) {
    Object.assign(this, { changed, rows, on: false, chosen: new Map() });
    this.element = h("div", { class: "choice-bar", role: "region", "aria-label": "Chosen memories", hidden: true });
    this.sum = h("strong", { role: "status" });
    const act = (work) => withToast(() => this.#act(work));
    const actions = [
      button("All shown", () => this.#setAll(this.rows()), { kind: "plain" }),
      button("None", () => this.#setAll([]), { kind: "plain" }),
      button("Tag", act(tagAll), { icon: "edit" }),
      button("Export", act(exportAll), { icon: "export" }),
      button("Forget", act(forgetAll), { icon: "trash" }),
      button("Erase for good", act(eraseAll), { kind: "danger" }),
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
      "aria-label": `Choose: ${memory.text.slice(0, 60)}`,
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
    fill(this.sum, this.chosen.size ? count(this.chosen.size, "memory chosen", "memories chosen") : "Choose memories");
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
  const line = await prompt("Tag memories", "The tags are added to those that are there.", "Tags, separated by commas", { yes: "Add tags" });
  const tags = line
    .split(",")
    .map((tag) => tag.trim().replace(/^#/, ""))
    .filter(Boolean);
  if (tags.length === 0) return false;
  for (const memory of some) {
    const fresh = await memories.read(memory);
    await memories.edit(fresh, { tags: [...new Set([...fresh.tags, ...tags])] });
  }
  toast(`${count(some.length, "memory", "memories")} tagged.`);
  return true;
}

async function exportAll(some) {
  const answer = await ask("POST", "/v1/export", { body: { ids: some.map((memory) => memory.id) } });
  await saveFile(answer);
  toast(`${count(some.length, "memory", "memories")} exported.`);
  return false;
}

async function forgetAll(some, changed) {
  const title = `Forget ${count(some.length, "memory", "memories")}?`;
  const besides = await askReach(some, "forget", title, "No search finds them until you restore them.", "Forget", true);
  if (!besides) return false;
  const ids = [...some.map((memory) => memory.id), ...besides];
  const reports = [];
  for (const id of ids) reports.push(await memories.forget(id, REASON));
  const reached = { sources: reports.flatMap((each) => each.sources ?? []), also_said_in: [] };
  toast(`${count(some.length, "memory", "memories")} forgotten.${tellReach(reached, besides.length)}`, [
    "Undo",
    withToast(async () => {
      for (const id of ids) await memories.restore(id);
      changed();
      toast("Restored.");
    }),
  ]);
  return true;
}

async function eraseAll(some) {
  const title = `Erase ${count(some.length, "memory", "memories")} for good?`;
  const detail = "Their texts, vectors and histories, all memories derived from them alone, and their words in the messages behind them are removed. This cannot be undone.";
  const besides = await askReach(some, "purge", title, detail, "Erase for good", true);
  if (!besides) return false;
  const ids = [...some.map((memory) => memory.id), ...besides];
  showProof(await post("/v1/purge", { ids, git: false }), ids, besides.length);
  return true;
}
