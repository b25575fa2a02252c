// Background jobs: waiting, running, failed.

import { get, post } from "../api.js";
import { button, empty, fill, h, head, icon, scrollBox } from "../dom.js";
import { ago, capital, count, milliseconds, number, plain } from "../format.js";
import { poll } from "../poll.js";
import { errorBox } from "../memory.js";
import { toast, withToast } from "../toast.js";

export const title = "Jobs";

const NAMES = {
  extract: "Extract facts",
  embed: "Update embeddings",
  changes: "Find changes",
  begin: "Begin what was planned",
  import: "Import a file",
  roll: "Update summary",
  finalise: "Close session",
  policy: "Judge what is held",
  review: "Review facts",
  topics: "Group topics",
  daily: "Write daily note",
  dream: "Write dream diary",
  garden: "Garden cycle",
  "garden-wake": "Schedule garden cycle",
  "importance-judge": "Judge importance",
  "l1-finalize": "Condense memories",
  "enforce-caps": "Enforce tier sizes",
  "decay-sweep": "Move old memories",
  git: "Commit vault",
  vault: "Sync vault",
  note_file: "Read note",
};
const STATES = ["waiting", "running", "done", "dead"];

export async function show(root) {
  const numbers = h("div", { class: "tiles" });
  const failed = h("section", { class: "stack", "aria-label": "Failed jobs" });
  const table = scrollBox("Jobs");
  fill(
    root,
    head(
      "Jobs",
      "Background work, done after an answer. A failed job is retried; one that keeps failing waits here.",
    ),
    numbers,
    failed,
    table,
  );
  const draw = async () => {
    const work = await get("/v1/jobs", { state: ["waiting", "running"], limit: 20 });
    const sum = Object.fromEntries(
      STATES.map((state) => [state, Object.values(work.jobs).reduce((total, states) => total + (states[state] ?? 0), 0)]),
    );
    fill(
      numbers,
      tile("Waiting", number(sum.waiting)),
      tile("Running", number(sum.running)),
      tile("Done", number(sum.done)),
      tile("Backlog", work.lag_seconds < 1 ? "Up to date" : `${milliseconds(work.lag_seconds * 1000)} behind`),
      work.pace.answers > 0 && tile("Model", `${milliseconds(work.pace.median_seconds * 1000)} an answer`),
      work.queue_seconds > 0 && tile("Queue", `about ${milliseconds(work.queue_seconds * 1000)}`),
    );
    fill(failed, failedList(work.dead, draw));
    fill(table, kindTable(work.jobs), work.items.length > 0 && nextTable(work.items));
  };
  try {
    await draw();
  } catch (fault) {
    fill(root, errorBox(fault));
    return () => {};
  }
  return poll(3, draw);
}

function tile(name, value) {
  return h("div", { class: "card tile" }, h("span", { class: "small soft" }, name), h("strong", { class: "number" }, value));
}

function failedList(list, draw) {
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), "Nothing has failed.");
  const retry = (ids, what) =>
    withToast(async () => {
      const { retried } = await post("/v1/jobs/retry", { ids });
      toast(retried ? `${what} queued again.` : "The job is gone.");
      await draw();
    });
  return [
    h(
      "div",
      { class: "row spread" },
      h("h2", {}, `Failed (${list.length})`),
      list.length > 1 && button("Try all again", retry([], "All failed jobs"), { icon: "retry", kind: "main-action" }),
    ),
    h(
      "ul",
      { class: "list" },
      list.map((job) =>
        h(
          "li",
          { class: "memory dead" },
          h(
            "div",
            { class: "grow stack tight" },
            h(
              "div",
              { class: "row" },
              h("span", { class: "chip bad" }, NAMES[job.kind] ?? plain(job.kind)),
              h("span", { class: "small soft" }, `${count(job.attempt, "try", "tries")}`),
            ),
            h("p", { class: "mono small" }, job.error || "The server does not show the reason."),
          ),
          button("Try again", retry([job.id], "Job"), { icon: "retry", label: undefined }),
        ),
      ),
    ),
  ];
}

function kindTable(jobs) {
  const names = Object.keys(jobs).sort();
  if (names.length === 0)
    return empty("jobs", "No jobs yet", "Extraction, embeddings, imports and maintenance run here after each answer.");
  return h(
    "table",
    { class: "plain-table" },
    h("caption", { class: "hidden-text" }, "Jobs by kind and state"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Job"),
        STATES.map((state) => h("th", { scope: "col" }, state === "dead" ? "Failed" : capital(state))),
      ),
    ),
    h(
      "tbody",
      {},
      names.map((name) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, NAMES[name] ?? plain(name)),
          STATES.map((state) => h("td", { class: "number" }, number(jobs[name][state] ?? 0))),
        ),
      ),
    ),
  );
}

function nextTable(items) {
  return h(
    "table",
    { class: "plain-table" },
    h("caption", { class: "hidden-text" }, "Next jobs"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["Next", "State", "Due", "Tries", "Now"].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h(
      "tbody",
      {},
      items.map((job) =>
        h(
          "tr",
          {},
          h("td", {}, NAMES[job.kind] ?? plain(job.kind)),
          h("td", {}, capital(job.state)),
          h("td", {}, job.due ? ago(job.due) : "–"),
          h("td", { class: "number" }, job.attempt),
          h("td", {}, job.error || job.doing),
        ),
      ),
    ),
  );
}
