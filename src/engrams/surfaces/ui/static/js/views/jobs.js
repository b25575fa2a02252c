// Work off the path: what waits, what runs, and what failed, to be tried again.

import { get, post } from "../api.js";
import { button, empty, fill, h, head, icon } from "../dom.js";
import { ago, capital, count, milliseconds, number, plain } from "../format.js";
import { every } from "../live.js";
import { problem } from "../memory.js";
import { say, tried } from "../notice.js";

export const title = "Jobs";

const WHAT = { extract: "Learning from what was said", embed: "Bringing vectors up to date", upload: "Importing a file" };
const STATES = ["waiting", "running", "done", "dead"];

export async function show(root) {
  const numbers = h("div", { class: "tiles" });
  const failed = h("section", { class: "stack", "aria-label": "Failed jobs" });
  const table = h("div", { class: "card scroll-x" });
  fill(
    root,
    head(
      "Jobs",
      "What is done after an answer, never before it. A job that fails is tried again; one that keeps failing waits here and is never lost.",
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
      tile("Behind by", work.lag_seconds < 1 ? "nothing" : milliseconds(work.lag_seconds * 1000)),
    );
    fill(failed, dead(work.dead, draw));
    fill(table, kinds(work.jobs), work.items.length > 0 && next(work.items));
  };
  try {
    await draw();
  } catch (fault) {
    fill(root, problem(fault));
    return () => {};
  }
  return every(3, draw);
}

function tile(name, value) {
  return h("div", { class: "card tile" }, h("span", { class: "small soft" }, name), h("strong", { class: "number" }, value));
}

function dead(list, draw) {
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), "Nothing has failed.");
  const retry = (ids, what) =>
    tried(async () => {
      const { retried } = await post("/v1/jobs/retry", { ids });
      say(retried ? `${what} is tried again.` : "It was no longer there.");
      await draw();
    });
  return [
    h(
      "div",
      { class: "row spread" },
      h("h2", {}, `Failed (${list.length})`),
      list.length > 1 && button("Try all again", retry([], "All of it"), { icon: "retry", kind: "main-action" }),
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
              h("span", { class: "chip bad" }, WHAT[job.kind] ?? plain(job.kind)),
              h("span", { class: "small soft" }, `${count(job.attempt, "try", "tries")}`),
            ),
            h("p", { class: "mono small" }, job.error || "The server keeps the reason to itself."),
          ),
          button("Try again", retry([job.id], "It"), { icon: "retry", label: undefined }),
        ),
      ),
    ),
  ];
}

function kinds(jobs) {
  const names = Object.keys(jobs).sort();
  if (names.length === 0)
    return empty("jobs", "No work yet", "Learning from what was said, embedding, importing and tidying up happen here, after the answer.");
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
          h("th", { scope: "row" }, WHAT[name] ?? plain(name)),
          STATES.map((state) => h("td", { class: "number" }, number(jobs[name][state] ?? 0))),
        ),
      ),
    ),
  );
}

function next(items) {
  return h(
    "table",
    { class: "plain-table" },
    h("caption", { class: "hidden-text" }, "What is next"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["Next", "State", "Due", "Tries"].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h(
      "tbody",
      {},
      items.map((job) =>
        h(
          "tr",
          {},
          h("td", {}, WHAT[job.kind] ?? plain(job.kind)),
          h("td", {}, capital(job.state)),
          h("td", {}, ago(job.due)),
          h("td", { class: "number" }, job.attempt),
        ),
      ),
    ),
  );
}
