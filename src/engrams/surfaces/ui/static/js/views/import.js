// Import of files with progress, and export.

import { ask, get, json } from "../api.js";
import { confirm } from "../dialog.js";
import { bar, button, fill, h, head, icon } from "../dom.js";
import { ago, bytes, capital, count, number, plain, short } from "../format.js";
import { saveFile } from "../download.js";
import { errorBox } from "../memory.js";
import { toastError, toast, withToast } from "../toast.js";

export const title = "Import";

const PIECE = 1_000_000;
const WAIT = 300;
const FORMATS = {
  engrams: "engrams export",
  turns: "Messages, one a line",
  json: "JSON",
  lines: "Text",
  chatgpt: "ChatGPT export",
  claude: "Claude export",
  csv: "Table (CSV)",
  locomo: "LoCoMo conversations",
  mem0: "mem0 memories",
  mcp: "MCP memory",
};

export async function show(root) {
  const list = h("ul", { class: "list", "aria-live": "polite" });
  const listed = earlier(list);
  const input = h("input", {
    type: "file",
    multiple: true,
    class: "hidden-text",
    "aria-label": "Files to import",
    on: {
      change: () => {
        take([...input.files], list, listed);
        input.value = "";
      },
    },
  });
  const zone = h(
    "div",
    { class: "drop" },
    h("div", { class: "picture" }, icon("import")),
    h("h2", {}, "Drop files here"),
    h(
      "p",
      { class: "soft small" },
      "ChatGPT and Claude exports, JSON, JSON lines, CSV, Markdown, plain text, a zip of them, mem0, MCP memory, or an engrams export. The format is recognised. Importing twice stores nothing twice, and each import can be undone.",
    ),
    button("Choose files", () => input.click(), { icon: "plus", kind: "main-action" }),
    input,
  );
  for (const name of ["dragenter", "dragover"])
    zone.addEventListener(name, (event) => (event.preventDefault(), zone.classList.add("over")));
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, (event) => (event.preventDefault(), zone.classList.remove("over")));
  zone.addEventListener("drop", (event) => take([...event.dataTransfer.files], list, listed));
  const exported = h(
    "section",
    { class: "card pad row spread" },
    h(
      "div",
      {},
      h("h2", {}, "Export memory"),
      h("p", { class: "soft small" }, "Everything in memory, with history and links, as one file that imports anywhere engrams runs."),
    ),
    button("Export", withToast(save), { icon: "export" }),
  );
  fill(
    root,
    head("Import", "Import conversations of other assistants, or export all memories."),
    zone,
    list,
    exported,
  );
  await listed;
}

/** Show previous imports. */
async function earlier(list) {
  try {
    const { imports } = await get("/v1/imports");
    for (const each of imports) {
      const row = new Row(each.name || "A file");
      list.append(row.element);
      row.show(each);
      if (["waiting", "running"].includes(each.state)) row.follow(each.id).catch(toastError);
    }
  } catch (fault) {
    if (![404, 422].includes(fault.status)) fill(list, errorBox(fault));
  }
}

/** Preview the files once previous imports are listed, so that none is listed twice; each is sent at a press. */
async function take(files, list, listed) {
  await listed;
  const waiting = [];
  const all = h("li", { class: "memory" });
  const follow = () => {
    const left = waiting.filter((row) => row.send);
    all.hidden = left.length < 2;
    fill(all, h("div", { class: "grow row end" }, button(`Import all ${left.length} files`, () => left.forEach((row) => row.send()), { kind: "main-action" })));
  };
  list.prepend(all);
  follow();
  for (const file of files) {
    const row = new Row(file.name);
    all.after(row.element);
    try {
      await row.preview(file, follow);
      waiting.push(row);
    } catch (fault) {
      row.fault(fault);
    }
    follow();
  }
}

/** One file on its way. */
class Row {
  constructor(name) {
    this.place = h("div", { class: "grow stack tight" });
    this.element = h("li", { class: "memory" }, this.place);
    this.name = name;
  }

  draw(state, tone, share, ...more) {
    fill(
      this.place,
      h("div", { class: "row spread" }, h("strong", { class: "clip" }, this.name), h("span", { class: `chip ${tone}` }, state)),
      share !== null && h("progress", { class: "hidden-text", max: 1, value: share, "aria-label": `${this.name}: ${state}` }),
      share !== null && bar(share, true),
      more,
    );
  }

  /** Show what the file holds, with a button to import it; `changed` is called when that is decided. */
  async preview(file, changed) {
    this.draw("Reading", "accent", null);
    const seen = await this.raw("POST", "/v1/imports/preview", file, {}, { name: file.name });
    const decide = (work) => () => {
      this.send = null;
      work();
      changed();
    };
    this.send = decide(() => this.upload(file).catch((fault) => this.fault(fault)));
    const parts = [
      FORMATS[seen.format] ?? plain(seen.format),
      count(seen.items, "memory", "memories"),
      seen.conversations > 1 && count(seen.conversations, "conversation"),
      seen.files > 1 && count(seen.files, "file"),
      seen.edges > 0 && count(seen.edges, "link"),
      bytes(file.size),
    ];
    this.draw(
      "Preview",
      "night",
      null,
      h("p", { class: "small soft" }, parts.filter(Boolean).join(" · ")),
      seen.samples.length > 0 && h("ul", { class: "samples small" }, seen.samples.map((text) => h("li", {}, short(text, 140)))),
      unreadable(seen.bad),
      h(
        "div",
        { class: "row" },
        seen.items + seen.edges > 0 && button("Import", () => this.send?.(), { kind: "main-action", label: `Import ${this.name}` }),
        button("Do not import", decide(() => this.element.remove()), { label: `Do not import ${this.name}` }),
      ),
    );
  }

  async upload(file) {
    this.draw("Sending", "accent", 0);
    const piece = (from) => file.slice(from, from + PIECE);
    const raw = (method, path, body, headers, query) => this.raw(method, path, body, headers, query);
    let found = await raw("POST", "/v1/imports", piece(0), { "upload-length": String(file.size) }, { name: file.name });
    while (found.received < file.size) {
      this.draw(
        "Sending",
        "accent",
        (found.received / file.size) * 0.5,
        h("p", { class: "small soft number" }, `${bytes(found.received)} of ${bytes(file.size)}`),
      );
      found = await raw("PATCH", `/v1/imports/${found.id}`, piece(found.received), { "upload-offset": String(found.received) });
    }
    this.show(found);
    await this.follow(found.id);
  }

  async raw(method, path, blob, headers, query) {
    const answer = await ask(method, path, { query, headers: { ...headers, "content-type": "application/octet-stream" }, raw: blob });
    return answer.json();
  }

  async follow(id) {
    for (;;) {
      const found = await json("GET", `/v1/imports/${id}`);
      this.show(found);
      if (["done", "failed"].includes(found.state)) return;
      await new Promise((done) => setTimeout(done, WAIT));
    }
  }

  show(found) {
    const { report } = found;
    if (found.state === "failed")
      this.draw(
        "Failed",
        "bad",
        null,
        h("p", { class: "small" }, found.error),
        h("p", { class: "small soft" }, "Nothing of it was stored. Mend the file and import it again."),
      );
    else if (found.state === "undone") this.draw("Undone", "", null, h("p", { class: "small soft" }, "All that it brought is erased, but for what was edited since."));
    else if (report) {
      const parts = [
        count(report.stored, "memory", "memories") + " stored",
        report.existing && `${number(report.existing)} already stored`,
        report.refused && `${number(report.refused)} refused`,
        found.created_at && ago(found.created_at),
      ];
      this.draw(
        "Done",
        "good",
        null,
        h("p", { class: "small soft" }, parts.filter(Boolean).join(" · ")),
        (report.stored > 0 || report.edges > 0) && button("Undo", withToast(() => this.undo(found)), { icon: "undo", label: `Undo ${this.name}` }),
        unreadable(report.bad),
      );
    } else {
      const share = found.total ? found.done / found.total : 0;
      this.draw(
        capital(found.state),
        "accent",
        0.5 + share / 2,
        found.total > 0 && h("p", { class: "small soft number" }, `${number(found.done)} of ${number(found.total)}`),
      );
    }
  }

  async undo(found) {
    const detail = "All memories that it brought are erased, with what was learned from them. Those you edited since stay.";
    if (!(await confirm(`Undo the import of ${this.name}?`, detail, "Undo import"))) return;
    const { removed, kept } = await json("POST", `/v1/imports/${found.id}/undo`);
    this.show({ ...found, state: "undone" });
    toast(`${count(removed, "memory", "memories")} erased${kept.length ? `; ${number(kept.length)} edited ones kept` : ""}.`);
  }

  fault(fault) {
    this.draw("Failed", "bad", null, errorBox(fault));
  }
}

/** What could not be read, by line. */
function unreadable(bad) {
  if (bad.length === 0) return null;
  return h(
    "details",
    {},
    h("summary", { class: "small" }, `${count(bad.length, "piece")} could not be read`),
    h(
      "ul",
      { class: "small soft" },
      bad.slice(0, 50).map((each) => h("li", {}, each.line ? `Line ${each.line}: ${each.message}` : each.message)),
    ),
  );
}

async function save() {
  await saveFile(await ask("GET", "/v1/export"));
  toast("Exported.");
}
