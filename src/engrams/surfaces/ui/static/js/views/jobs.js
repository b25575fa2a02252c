// Background jobs: waiting, running, failed.

import { get, post } from "../api.js";
import { button, empty, fill, h, head, icon, scrollBox } from "../dom.js";
import { ago, duration, number, plain } from "../format.js";
import { named, t } from "../i18n.js";
import { poll } from "../poll.js";
import { errorBox } from "../memory.js";
import { toast, withToast } from "../toast.js";

export const title = t("jobs");

const NAMES = {
  extract: t("extract_facts"),
  embed: t("update_embeddings"),
  changes: t("find_changes"),
  begin: t("begin_what_was_planned"),
  import: t("import_a_file"),
  roll: t("update_summary"),
  finalise: t("close_session"),
  policy: t("judge_what_is_held"),
  review: t("review_facts"),
  topics: t("group_topics"),
  daily: t("write_daily_note"),
  dream: t("write_dream_diary"),
  garden: t("garden_cycle"),
  "garden-wake": t("schedule_garden_cycle"),
  "importance-judge": t("judge_importance"),
  "l1-finalize": t("condense_memories"),
  "enforce-caps": t("enforce_tier_sizes"),
  "decay-sweep": t("move_old_memories"),
  git: t("commit_vault"),
  vault: t("sync_vault"),
  note_file: t("read_note"),
};
const STATES = ["waiting", "running", "done", "dead"];

export async function show(root) {
  const numbers = h("div", { class: "tiles" });
  const failed = h("section", { class: "stack", "aria-label": t("failed_jobs") });
  const table = scrollBox(t("jobs"));
  fill(
    root,
    head(
      t("jobs"),
      t("background_work_done_after_an"),
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
    const wrong = Object.values(work.mistakes).reduce((total, count) => total + count, 0);
    fill(
      numbers,
      tile(t("waiting"), number(sum.waiting)),
      tile(t("running"), number(sum.running)),
      tile(t("done"), number(sum.done)),
      tile(t("backlog"), work.lag_seconds < 1 ? t("up_to_date") : t("behind", { time: duration(work.lag_seconds) })),
      work.pace.answers > 0 && tile(t("model"), t("per_answer", { time: duration(work.pace.median_seconds) })),
      wrong > 0 && tile(t("mistakes_of_the_model"), number(wrong)),
      work.queue_seconds > 0 && tile(t("queue"), t("about_time", { time: duration(work.queue_seconds) })),
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
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), t("nothing_has_failed"));
  const retry = (ids, what) =>
    withToast(async () => {
      const { retried } = await post("/v1/jobs/retry", { ids });
      toast(retried ? t("queued_again", { what }) : t("the_job_is_gone"));
      await draw();
    });
  return [
    h(
      "div",
      { class: "row spread" },
      h("h2", {}, t("failed_n", { n: list.length })),
      list.length > 1 && button(t("try_all_again"), retry([], t("all_failed_jobs")), { icon: "retry", kind: "main-action" }),
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
              h("span", { class: "small soft" }, t("n_tries", { n: job.attempt })),
            ),
            h("p", { class: "mono small" }, job.error || t("the_server_does_not_show")),
          ),
          button(t("try_again"), retry([job.id], t("one_job")), { icon: "retry", label: undefined }),
        ),
      ),
    ),
  ];
}

function kindTable(jobs) {
  const names = Object.keys(jobs).sort();
  if (names.length === 0)
    return empty("jobs", t("no_jobs_yet"), t("extraction_embeddings_imports_and_maintenance"));
  // A state that no job is in has no column.
  const states = STATES.filter((state) => state === "done" || names.some((name) => jobs[name][state]));
  return h(
    "table",
    { class: "plain-table" },
    h("caption", { class: "hidden-text" }, t("jobs_by_kind_and_state")),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, t("one_job")),
        states.map((state) => h("th", { scope: "col" }, named("state", state))),
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
          states.map((state) => h("td", { class: "number" }, number(jobs[name][state] ?? 0))),
        ),
      ),
    ),
  );
}

function nextTable(items) {
  return h(
    "table",
    { class: "plain-table" },
    h("caption", { class: "hidden-text" }, t("next_jobs")),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        [t("next"), t("state"), t("due"), t("tries"), t("now")].map((name) => h("th", { scope: "col" }, name)),
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
          h("td", {}, named("state", job.state)),
          h("td", {}, job.due ? ago(job.due) : "–"),
          h("td", { class: "number" }, job.attempt),
          h("td", {}, job.error || job.doing),
        ),
      ),
    ),
  );
}
