// Garden: contradictions, planned changes, past cycles and undo.

import { get, post } from "../api.js";
import { confirm } from "../dialog.js";
import { button, empty, fill, h, head, icon, scrollBox, toggle } from "../dom.js";
import { ago, capital, count, day, moment, number, plain, short } from "../format.js";
import { poll } from "../poll.js";
import { errorBox } from "../memory.js";
import { toast, withToast } from "../toast.js";

export const title = "Garden";

const ENDS = { complete: "good", incomplete: "warn", interrupted: "warn", paused: "" };
/** Steps of a cycle, where its sums do not tell them. */
const JOBS = {
  sessions: "sessions closed",
  embed: "embeddings updated",
  verify: "files checked",
  prune: "doubtful memories archived",
  links: "links added",
  strengthen: "links strengthened",
  topics: "topics updated",
  tags: "tags added",
  agent: "changes by the model",
};
const ACTIONS = { archive: "Archive", doubt: "Lower confidence", supersede: "Mark outdated", unlink: "Remove link" };

export async function show(root) {
  const tiles = h("div", { class: "tiles" });
  const clashes = h("section", { class: "stack", "aria-label": "Contradictions" });
  const planned = h("section", { class: "stack", "aria-label": "Plan", "aria-live": "polite" });
  const past = h("section", { class: "stack", "aria-label": "Last cycles" });
  const follow = async () => {
    const [status, { reports }] = await Promise.all([get("/v1/garden"), get("/v1/garden/reports")]);
    fill(tiles, ...numbers(status, follow));
    fill(past, cycles(reports, status.undo, follow));
  };
  // Finding contradictions reads all of memory, so it is not polled.
  const draw = async () => {
    const [{ conflicts }] = await Promise.all([get("/v1/garden/conflicts"), follow()]);
    fill(clashes, contradictions(conflicts, draw));
  };
  const plan = withToast(async () => {
    const made = await get("/v1/garden/plan");
    fill(planned, steps(made.steps));
  });
  const run = withToast(async () => {
    const report = await post("/v1/garden/run", {});
    fill(planned);
    toast(describeReport(report), report.modified > 0 ? ["Undo", () => undo(report.id)] : null);
    await draw();
  });
  const undo = withToast(async (cycle) => {
    const done = await post("/v1/garden/undo", { cycle });
    const left = done.left.length > 0 ? ` ${count(done.left.length, "memory", "memories")} changed since and kept as they are.` : "";
    toast(`${count(done.restored.length, "memory", "memories")} restored.${left}`);
    await draw();
  });
  fill(
    root,
    head(
      "Garden",
      "Maintenance between conversations: duplicates are merged, outdated memories are archived. Nothing is erased.",
      button("See the plan", plan, { icon: "eye" }),
      button("Run now", run, { icon: "check", kind: "main-action" }),
    ),
    tiles,
    clashes,
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
      return empty("garden", "No cycles yet", "Each cycle leaves a report here and can be undone.", button("Run now", run));
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
            h("span", { class: `chip ${ENDS[report.state]}` }, capital(report.state)),
            h("span", { class: "small soft", title: moment(report.at) }, `${ago(report.at)} · ${report.why}`),
          ),
          h("p", {}, describeReport(report)),
          report.summary && h("p", { class: "soft" }, report.summary),
          report.notes.map((note) => h("p", { class: "small soft" }, note)),
        ),
        undoable.includes(report.id) &&
          button(
            "Undo",
            withToast(async () => {
              const yes = await confirm("Undo this cycle?", "Its changes are reverted, except on memories that changed since.", "Undo", false);
              if (yes) await undo(report.id);
              else await again();
            }),
            { icon: "undo" },
          ),
      ),
    );
    return [h("h2", {}, "Last cycles"), h("ul", { class: "list" }, rows)];
  }
}

function numbers(status, draw) {
  const held = status.state === "paused";
  const pause = withToast(async (on) => {
    await post("/v1/garden/pause", { on });
    await draw();
  });
  return [
    tile("State", status.state === "disabled" ? "Manual only" : capital(status.state)),
    tile("Next cycle", status.next ? ago(status.next) : "none"),
    tile("Tokens, last day", number(status.usage.tokens)),
    h("div", { class: "card tile" }, toggle("Paused", held, pause)),
  ];
}

function tile(name, value) {
  return h("div", { class: "card tile" }, h("span", { class: "small soft" }, name), h("strong", {}, value));
}

function contradictions(list, draw) {
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), "No contradictions.");
  const decideConflict = (clash, keep) =>
    withToast(async () => {
      await post("/v1/garden/decide", { one: clash.one.id, other: clash.other.id, keep });
      toast(keep ? "Decided. The other memory is kept as history." : "Both are kept.");
      await draw();
    });
  const side = (clash, it) =>
    h(
      "div",
      { class: "row spread" },
      h("span", {}, short(it.text, 200), h("span", { class: "small soft" }, ` ${day(it.at)}`)),
      button("Keep this", decideConflict(clash, it.id), { label: undefined }),
    );
  return [
    h("h2", {}, `Contradictions (${list.length})`),
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
            h("div", { class: "row end" }, button("Keep both", decideConflict(clash, ""), { kind: "plain" })),
          ),
        ),
      ),
    ),
  ];
}

function steps(list) {
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), "No changes planned.");
  return scrollBox(
    "Planned changes",
    h(
      "table",
      { class: "plain-table" },
      h("caption", { class: "hidden-text" }, "Planned changes"),
      h("thead", {}, h("tr", {}, ["Action", "Memories", "Reason"].map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        {},
        list.map((step) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, plain(ACTIONS[step.verb] ?? step.verb)),
            h("td", {}, step.texts.map((text) => h("p", {}, short(text)))),
            h("td", { class: "soft" }, step.reason),
          ),
        ),
      ),
    ),
  );
}

function describeReport(report) {
  const done = Object.entries(report.jobs)
    .filter(([job, steps]) => steps > 0 && JOBS[job])
    .map(([job, steps]) => `${JOBS[job]}: ${number(steps)}`);
  const parts = [
    report.modified > 0 && `${count(report.modified, "memory", "memories")} changed`,
    report.compactions > 0 && `${number(report.compactions)} merged into others`,
    report.conflicts > 0 && `${count(report.conflicts, "contradiction")} found`,
    ...done,
  ].filter(Boolean);
  return parts.length ? `${parts.join(", ")}.` : "Nothing had to change.";
}
