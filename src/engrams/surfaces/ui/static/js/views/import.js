// Import of files with progress, and export.

import { ask, get, json } from "../api.js";
import { confirm } from "../dialog.js";
import { bar, button, fill, h, head, icon } from "../dom.js";
import { ago, bytes, capital, count, number } from "../format.js";
import { errorBox } from "../memory.js";
import { toastError, toast, withToast } from "../toast.js";

export const title = "Import";

const PIECE = 1_000_000;
const WAIT = 300;

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

/** Send the files once previous imports are listed, so that none is listed twice. */
async function take(files, list, listed) {
  await listed;
  for (const file of files) {
    const row = new Row(file.name);
    list.prepend(row.element);
    try {
      await row.send(file);
    } catch (fault) {
      row.fault(fault);
    }
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

  async send(file) {
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
        report.bad.length > 0 &&
          h(
            "details",
            {},
            h("summary", { class: "small" }, `${count(report.bad.length, "piece")} could not be read`),
            h(
              "ul",
              { class: "small soft" },
              report.bad.slice(0, 50).map((bad) => h("li", {}, bad.line ? `Line ${bad.line}: ${bad.message}` : bad.message)),
            ),
          ),
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

async function save() {
  const answer = await ask("GET", "/v1/export");
  const url = URL.createObjectURL(await answer.blob());
  const link = h("a", { href: url, download: `engrams-${new Date().toISOString().slice(0, 10)}.jsonl` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  toast("Exported.");
}
