// Import of files with progress, and export.

import { ask, get, json, post } from "../api.js";
import { confirm } from "../dialog.js";
import { bar, button, field, fill, h, head, icon, select } from "../dom.js";
import { ago, bytes, short } from "../format.js";
import { saveFile } from "../download.js";
import { named, t } from "../i18n.js";
import { errorBox } from "../memory.js";
import { toastError, toast, withToast } from "../toast.js";

export const title = t("import");

const PIECE = 1_000_000;
const WAIT = 300;
const FORMATS = {
  engrams: t("engrams_export"),
  turns: t("messages_one_a_line"),
  json: "JSON",
  lines: t("text"),
  chatgpt: t("chatgpt_export"),
  claude: t("claude_export"),
  csv: t("table_csv"),
  locomo: t("locomo_conversations"),
  mem0: t("mem0_memories"),
  mcp: t("mcp_memory"),
};

/** Files that were dropped on another view, for the next `show`. */
let offered = [];

export function offer(files) {
  offered = files;
}

export async function show(root, params) {
  const list = h("ul", { class: "list", "aria-live": "polite" });
  const listed = earlier(list);
  const input = h("input", {
    type: "file",
    multiple: true,
    class: "hidden-text",
    "aria-label": t("files_to_import"),
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
    h("h2", {}, t("drop_files_here")),
    h(
      "p",
      { class: "soft small" },
      t("chatgpt_and_claude_exports_json"),
    ),
    button(t("choose_files"), () => input.click(), { icon: "plus", kind: "main-action" }),
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
      h("h2", {}, t("export_memory")),
      h("p", { class: "soft small" }, t("everything_in_memory_with_history")),
    ),
    button(t("export"), withToast(save), { icon: "export" }),
  );
  const link = h("a", { class: "button", href: `javascript:open("${location.origin}/#/import?url="+encodeURIComponent(location))`, on: { click: (event) => event.preventDefault() } }, icon("link"), t("add_to_engrams"));
  const marking = h("section", { class: "card pad row spread" }, h("p", { class: "soft small" }, t("drag_this_to_your_bookmarks")), link);
  fill(
    root,
    head(t("import"), t("import_conversations_of_other_assistants")),
    zone,
    list,
    exported,
    marking,
  );
  const files = offered;
  offered = [];
  if (files.length > 0) await take(files, list, listed);
  await listed;
  await takeShared(await readShared(params), list, listed);
}

/** What another app shared, or a bookmark named; it is read once. */
async function readShared(params) {
  history.replaceState(null, "", "#/import");
  const kept = params.has("shared") && (await caches.match("/", { cacheName: "share" }));
  if (!kept) return params;
  await caches.delete("share");
  return kept.formData();
}

/** Ask about what came from elsewhere: nothing of it is stored before a press. */
async function takeShared(given, list, listed) {
  const text = ["title", "text"].map((name) => given.get(name)).filter(Boolean).join("\n");
  const url = given.get("url") || text.match(/https?:\/\/\S+/)?.[0];
  const files = given.getAll("file").filter((file) => file.size);
  if (url) {
    const row = new Row(url);
    list.prepend(row.element);
    row.offer(async () => {
      const { import_id: id, outcome, passages } = await post("/v1/documents/url", { url });
      row.show({ id, report: { bad: [], stored: 0, [outcome]: passages } });
    });
  } else if (text && !files.length) files.push(new File([text], "text.txt"));
  if (files.length) await take(files, list, listed, text);
}

/** Show previous imports. */
async function earlier(list) {
  try {
    const { imports } = await get("/v1/imports");
    for (const each of imports) {
      const row = new Row(each.name || t("a_file"));
      list.append(row.element);
      row.show(each);
      if (["waiting", "running"].includes(each.state)) row.follow(each.id).catch(toastError);
    }
  } catch (fault) {
    if (![404, 422].includes(fault.status)) fill(list, errorBox(fault));
  }
}

/** Preview the files once previous imports are listed, so that none is listed twice; each is sent at a press. */
async function take(files, list, listed, note = "") {
  await listed;
  const waiting = [];
  const all = h("li", { class: "memory" });
  const follow = () => {
    const left = waiting.filter((row) => row.send);
    all.hidden = left.length < 2;
    fill(all, h("div", { class: "grow row end" }, button(t("import_all", { n: left.length }), () => left.forEach((row) => row.send()), { kind: "main-action" })));
  };
  list.prepend(all);
  follow();
  for (const file of files) {
    const row = new Row(file.name);
    all.after(row.element);
    try {
      await (/^(image|audio)\//.test(file.type) ? row.describe(file, note) : row.preview(file, follow));
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
    this.draw(t("reading"), "accent", null);
    const seen = await this.raw("POST", "/v1/import", file, {}, { name: file.name, dry_run: "true" });
    const places = Object.keys(seen.scopes).length;
    const users = Object.keys(seen.users);
    const whose = select(t("whose_memories"), [...users.map((name) => [name, name]), ["*", t("all_users")]], users[0] ?? "*", () => {});
    const decide = (work) => () => {
      this.send = null;
      work();
      changed();
    };
    this.send = decide(() => this.upload(file, users.length > 1 ? whose.value : "").catch((fault) => this.fault(fault)));
    const parts = [
      FORMATS[seen.format] ?? named("format", seen.format),
      t("n_memories", { n: seen.stored }),
      seen.history > 0 && t("n_outdated", { n: seen.history }),
      places > 1 && t("n_conversations", { n: places }),
      seen.files > 1 && t("n_files", { n: seen.files }),
      seen.edges > 0 && t("n_links", { n: seen.edges }),
      bytes(file.size),
    ];
    this.draw(
      t("preview"),
      "night",
      null,
      h("p", { class: "small soft" }, parts.filter(Boolean).join(" · ")),
      seen.samples.length > 0 && h("ul", { class: "samples small" }, seen.samples.map((text) => h("li", {}, short(text, 140)))),
      unreadable(seen.bad),
      users.length > 1 && field(t("whose_memories"), whose),
      this.choices(seen.stored + seen.edges > 0 && (() => this.send?.()), decide(() => this.element.remove())),
    );
  }

  /** Ask before `send` stores something. */
  offer(send, ...more) {
    const work = () => {
      this.draw(t("sending"), "accent", 0);
      send().catch((fault) => this.fault(fault));
    };
    this.draw(t("preview"), "night", null, more, this.choices(work, () => this.element.remove()));
  }

  choices(send, leave) {
    return h(
      "div",
      { class: "row" },
      send && button(t("import"), send, { kind: "main-action", label: t("import_one", { name: this.name }) }),
      button(t("do_not_import"), leave, { label: t("do_not_import_one", { name: this.name }) }),
    );
  }

  /** A picture or sound, which is found by the reader's words. */
  describe(file, note) {
    const words = h("input", { class: "input", maxlength: 800, value: note });
    this.offer(async () => {
      const form = new FormData();
      form.append("file", file);
      form.append("note", words.value);
      const { documents } = await json("POST", "/v1/documents", { raw: form, query: { background: true } });
      await this.follow(documents[0].import_id);
    }, field(t("your_words"), words));
  }

  async upload(file, user) {
    this.draw(t("sending"), "accent", 0);
    const piece = (from) => file.slice(from, from + PIECE);
    const raw = (method, path, body, headers, query) => this.raw(method, path, body, headers, query);
    let found = await raw("POST", "/v1/imports", piece(0), { "upload-length": String(file.size) }, { name: file.name, from_user: user });
    while (found.received < file.size) {
      this.draw(
        t("sending"),
        "accent",
        (found.received / file.size) * 0.5,
        h("p", { class: "small soft number" }, t("x_of_y", { done: bytes(found.received), all: bytes(file.size) })),
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
        t("failed"),
        "bad",
        null,
        h("p", { class: "small" }, found.error),
        h("p", { class: "small soft" }, t("nothing_of_it_was_stored")),
      );
    else if (found.state === "undone") this.draw(t("undone"), "", null, h("p", { class: "small soft" }, t("all_that_it_brought_is")));
    else if (report) {
      const parts = [
        t("n_stored", { n: report.stored }),
        report.existing && t("n_existing", { n: report.existing }),
        report.refused && t("n_refused", { n: report.refused }),
        found.created_at && ago(found.created_at),
      ];
      this.draw(
        t("done"),
        "good",
        null,
        h("p", { class: "small soft" }, parts.filter(Boolean).join(" · ")),
        (report.stored > 0 || report.edges > 0) && button(t("undo"), withToast(() => this.undo(found)), { icon: "undo", label: t("undo_one", { name: this.name }) }),
        unreadable(report.bad),
      );
    } else {
      const share = found.total ? found.done / found.total : 0;
      this.draw(
        named("state", found.state),
        "accent",
        0.5 + share / 2,
        found.total > 0 && h("p", { class: "small soft number" }, t("x_of_y", { done: found.done, all: found.total })),
      );
    }
  }

  async undo(found) {
    const detail = t("all_memories_that_it_brought");
    if (!(await confirm(t("undo_import_q", { name: this.name }), detail, t("undo_import")))) return;
    const { removed, kept } = await json("POST", `/v1/imports/${found.id}/undo`);
    this.show({ ...found, state: "undone" });
    const left = kept.length ? ` ${t("edited_kept", { n: kept.length })}` : "";
    toast(t("n_erased", { n: removed }) + left);
  }

  fault(fault) {
    this.draw(t("failed"), "bad", null, errorBox(fault));
  }
}

/** What could not be read, by line. */
function unreadable(bad) {
  if (bad.length === 0) return null;
  return h(
    "details",
    {},
    h("summary", { class: "small" }, t("n_unreadable", { n: bad.length })),
    h(
      "ul",
      { class: "small soft" },
      bad.slice(0, 50).map((each) => h("li", {}, each.line ? t("line_n", { n: each.line, message: each.message }) : each.message)),
    ),
  );
}

async function save() {
  await saveFile(await ask("GET", "/v1/export"));
  toast(t("exported"));
}
