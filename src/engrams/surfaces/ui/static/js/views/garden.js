// Garden: contradictions, texts that nothing was learned from, planned changes, past cycles and undo.

import { get, post } from "../api.js";
import { confirm } from "../dialog.js";
import { button, empty, fill, h, head, icon, scrollBox, toggle } from "../dom.js";
import { ago, capital, day, moment, number, plain, short } from "../format.js";
import { named, t } from "../i18n.js";
import { poll } from "../poll.js";
import { errorBox } from "../memory.js";
import { toast, withToast } from "../toast.js";

export const title = t("garden");

const ENDS = { complete: "good", incomplete: "warn", interrupted: "warn", paused: "" };
/** Steps of a cycle that are told, where its sums do not tell them. */
const STEPS = ["sessions", "embed", "verify", "prune", "links", "strengthen", "topics", "tags", "agent"];
const ACTIONS = { archive: t("archive"), doubt: t("lower_confidence"), supersede: t("mark_outdated"), unlink: t("remove_link") };

export async function show(root) {
  const tiles = h("div", { class: "tiles" });
  const clashes = h("section", { class: "stack", "aria-label": t("contradictions") });
  const foreign = h("section", { class: "stack", "aria-label": t("kept_out") });
  const planned = h("section", { class: "stack", "aria-label": t("plan"), "aria-live": "polite" });
  const past = h("section", { class: "stack", "aria-label": t("last_cycles") });
  const follow = async () => {
    const [status, { reports }] = await Promise.all([get("/v1/garden"), get("/v1/garden/reports")]);
    fill(tiles, ...numbers(status, follow));
    fill(past, cycles(reports, status.undo, follow));
  };
  // Finding contradictions and foreign texts reads all of memory, so they are not polled.
  const draw = async () => {
    const [{ conflicts }, { messages }] = await Promise.all([get("/v1/garden/conflicts"), get("/v1/quarantine"), follow()]);
    fill(clashes, contradictions(conflicts, draw));
    fill(foreign, keptOut(messages, draw));
  };
  const plan = withToast(async () => {
    const made = await get("/v1/garden/plan");
    fill(planned, steps(made.steps));
  });
  const run = withToast(async () => {
    const report = await post("/v1/garden/run", {});
    fill(planned);
    toast(describeReport(report), report.modified > 0 ? [t("undo"), () => undo(report.id)] : null);
    await draw();
  });
  const undo = withToast(async (cycle) => {
    const done = await post("/v1/garden/undo", { cycle });
    const left = done.left.length > 0 ? ` ${t("n_changed_since", { n: done.left.length })}` : "";
    toast(t("n_restored", { n: done.restored.length }) + left);
    await draw();
  });
  fill(
    root,
    head(
      t("garden"),
      t("maintenance_between_conversations_duplicates_are"),
      button(t("see_the_plan"), plan, { icon: "eye" }),
      button(t("run_now"), run, { icon: "check", kind: "main-action" }),
    ),
    tiles,
    clashes,
    foreign,
    planned,
    past,
  );
  try {
    await draw();
  } catch (fault) {
    fill(root, errorBox(fault));
    return () => {};
  }
  // No redraw while a control has the focus: a button about to be pressed must not move.
  return poll(10, () => (root.matches(":focus-within") ? null : follow()));

  function cycles(reports, undoable, again) {
    if (reports.length === 0)
      return empty("garden", t("no_cycles_yet"), t("each_cycle_leaves_a_report"), button(t("run_now"), run));
    const rows = [...reports].reverse().map((report) =>
      h(
        "li",
        { class: "memory" },
        h(
          "div",
          { class: "grow stack tight" },
          h(
            "div",
            { class: "row" },
            h("span", { class: `chip ${ENDS[report.state]}` }, named("state", report.state)),
            h("span", { class: "small soft", title: moment(report.at) }, `${ago(report.at)} · ${report.why}`),
          ),
          h("p", {}, describeReport(report)),
          report.summary && h("p", { class: "soft" }, report.summary),
          report.notes.map((note) => h("p", { class: "small soft", lang: "en" }, note)),
        ),
        undoable.includes(report.id) &&
          button(
            t("undo"),
            withToast(async () => {
              const yes = await confirm(t("undo_this_cycle"), t("its_changes_are_reverted_except"), t("undo"), false);
              if (yes) await undo(report.id);
              else await again();
            }),
            { icon: "undo" },
          ),
      ),
    );
    return [h("h2", {}, t("last_cycles")), h("ul", { class: "list" }, rows)];
  }
}

function numbers(status, draw) {
  const held = status.state === "paused";
  const pause = withToast(async (on) => {
    await post("/v1/garden/pause", { on });
    await draw();
  });
  return [
    tile(t("state"), named("state", status.state)),
    tile(t("next_cycle"), status.next ? ago(status.next) : t("none_lower")),
    tile(t("tokens_last_day"), number(status.usage.tokens)),
    h("div", { class: "card tile" }, toggle(t("paused"), held, pause)),
  ];
}

function tile(name, value) {
  return h("div", { class: "card tile" }, h("span", { class: "small soft" }, name), h("strong", {}, value));
}

function contradictions(list, draw) {
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), t("no_contradictions"));
  const decideConflict = (clash, keep) =>
    withToast(async () => {
      await post("/v1/garden/decide", { one: clash.one.id, other: clash.other.id, keep });
      toast(keep ? t("decided_the_other_memory_is") : t("both_are_kept"));
      await draw();
    });
  const side = (clash, it) =>
    h(
      "div",
      { class: "row spread" },
      h("span", {}, short(it.text, 200), h("span", { class: "small soft" }, ` ${day(it.at)}`)),
      button(t("keep_this"), decideConflict(clash, it.id), { label: undefined }),
    );
  return [
    h("h2", {}, t("contradictions_n", { n: list.length })),
    h(
      "ul",
      { class: "list" },
      list.map((clash) =>
        h(
          "li",
          { class: "memory" },
          h(
            "div",
            { class: "grow stack tight" },
            h("p", { class: "small soft" }, capital(clash.reason)),
            side(clash, clash.one),
            side(clash, clash.other),
            h("div", { class: "row end" }, button(t("keep_both"), decideConflict(clash, ""), { kind: "plain" })),
          ),
        ),
      ),
    ),
  ];
}

function keptOut(messages, draw) {
  if (messages.length === 0) return null;
  const learn = (message) =>
    withToast(async () => {
      const yes = await confirm(t("learn_from_this_text"), t("it_counts_as_your_own_words"), t("learn_from_it"), false);
      if (yes) await post(`/v1/quarantine/${message.id}/allow`, {});
      await draw();
    });
  return [
    h("h2", {}, t("kept_out")),
    h("p", { class: "soft" }, t("nothing_was_learned_from_these")),
    h(
      "ul",
      { class: "list" },
      messages.map((message) =>
        h(
          "li",
          { class: "memory" },
          h(
            "div",
            { class: "grow stack tight" },
            message.parts.map((part) => [
              h("p", { class: "small soft", lang: "en" }, capital(part.reason)),
              h("p", { class: "quote" }, short(part.text, 300)),
            ]),
          ),
          button(t("learn_from_it"), learn(message), { icon: "check", label: undefined }),
        ),
      ),
    ),
  ];
}

function steps(list) {
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), t("no_changes_planned"));
  return scrollBox(
    t("planned_changes"),
    h(
      "table",
      { class: "plain-table" },
      h("caption", { class: "hidden-text" }, t("planned_changes")),
      h("thead", {}, h("tr", {}, [t("action"), t("memories"), t("reason")].map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        {},
        list.map((step) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, plain(ACTIONS[step.verb] ?? step.verb)),
            h("td", {}, step.texts.map((text) => h("p", {}, short(text)))),
            h("td", { class: "soft", lang: "en" }, step.reason),
          ),
        ),
      ),
    ),
  );
}

function describeReport(report) {
  const done = Object.entries(report.jobs)
    .filter(([job, steps]) => steps > 0 && STEPS.includes(job))
    .map(([job, steps]) => t(`garden_did.${job}`, { n: steps }));
  const parts = [
    report.modified > 0 && t("n_changed", { n: report.modified }),
    report.compactions > 0 && t("n_merged", { n: report.compactions }),
    report.conflicts > 0 && t("n_conflicts", { n: report.conflicts }),
    ...done,
  ].filter(Boolean);
  return parts.length ? parts.join(" · ") : t("nothing_had_to_change");
}
