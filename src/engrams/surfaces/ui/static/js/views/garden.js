// The garden: what contradicts, what a cycle would do, what the last ones did, and taking them back.

import { get, post } from "../api.js";
import { confirm } from "../dialog.js";
import { button, empty, fill, h, head, icon, toggle } from "../dom.js";
import { ago, capital, count, day, moment, number, plain, short } from "../format.js";
import { every } from "../live.js";
import { problem } from "../memory.js";
import { say, tried } from "../notice.js";

export const title = "Garden";

const ENDS = { complete: "good", incomplete: "warn", interrupted: "warn", paused: "" };
const DOES = { archive: "puts away", doubt: "doubts", supersede: "closes", unlink: "unlinks" };

export async function show(root) {
  const tiles = h("div", { class: "tiles" });
  const clashes = h("section", { class: "stack", "aria-label": "Conflicts" });
  const planned = h("section", { class: "stack", "aria-label": "Plan", "aria-live": "polite" });
  const past = h("section", { class: "stack", "aria-label": "Last cycles" });
  const follow = async () => {
    const [status, { reports }] = await Promise.all([get("/v1/garden"), get("/v1/garden/reports")]);
    fill(tiles, ...numbers(status, follow));
    fill(past, cycles(reports, status.undo, follow));
  };
  // All of memory is looked through for what contradicts: not again and again.
  const draw = async () => {
    const [{ conflicts }] = await Promise.all([get("/v1/garden/conflicts"), follow()]);
    fill(clashes, contradictions(conflicts, draw));
  };
  const plan = tried(async () => {
    const made = await get("/v1/garden/plan");
    fill(planned, steps(made.steps));
  });
  const run = tried(async () => {
    const report = await post("/v1/garden/run", {});
    fill(planned);
    say(told(report), report.modified > 0 ? ["Undo", () => undo(report.id)] : null);
    await draw();
  });
  const undo = tried(async (cycle) => {
    const done = await post("/v1/garden/undo", { cycle });
    const left = done.left.length > 0 ? ` ${count(done.left.length, "memory", "memories")} changed since, and stay.` : "";
    say(`${count(done.restored.length, "memory is", "memories are")} as before.${left}`);
    await draw();
  });
  fill(
    root,
    head(
      "Garden",
      "Memory is looked after between conversations: what says the same becomes one, what nobody believes is put away. Nothing is erased.",
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
    fill(root, problem(fault));
    return () => {};
  }
  // Not under the reader's hands: a button that is about to be pressed stays where it is.
  return every(10, () => (root.matches(":focus-within") ? null : follow()));

  function cycles(reports, undoable, again) {
    if (reports.length === 0)
      return empty("garden", "Not looked after yet", "Each cycle leaves a report here, and can be taken back.", button("Run now", run));
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
          h("p", {}, told(report)),
          report.summary && h("p", { class: "soft" }, report.summary),
          report.notes.map((note) => h("p", { class: "small soft" }, note)),
        ),
        undoable.includes(report.id) &&
          button(
            "Undo",
            tried(async () => {
              const yes = await confirm("Take this cycle back?", "What it changed is as before, but for what was changed since.", "Undo", false);
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
  const pause = tried(async (on) => {
    await post("/v1/garden/pause", { on });
    await draw();
  });
  return [
    tile("State", status.state === "disabled" ? "By hand only" : capital(status.state)),
    tile("Next cycle", status.next ? ago(status.next) : "none"),
    tile("Tokens, last day", number(status.usage.tokens)),
    h("div", { class: "card tile" }, toggle("Paused", held, pause)),
  ];
}

function tile(name, value) {
  return h("div", { class: "card tile" }, h("span", { class: "small soft" }, name), h("strong", {}, value));
}

function contradictions(list, draw) {
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), "Nothing contradicts.");
  const settle = (clash, keep) =>
    tried(async () => {
      await post("/v1/garden/decide", { one: clash.one.id, other: clash.other.id, keep });
      say(keep ? "Settled. The other one is kept as history." : "Both stay.");
      await draw();
    });
  const side = (clash, it) =>
    h(
      "div",
      { class: "row spread" },
      h("span", {}, short(it.text, 200), h("span", { class: "small soft" }, ` ${day(it.at)}`)),
      button("Keep this", settle(clash, it.id), { label: undefined }),
    );
  return [
    h("h2", {}, `Both cannot be so (${list.length})`),
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
            h("div", { class: "row end" }, button("Keep both", settle(clash, ""), { kind: "plain" })),
          ),
        ),
      ),
    ),
  ];
}

function steps(list) {
  if (list.length === 0) return h("p", { class: "calm" }, icon("check"), "There is nothing to do.");
  return h(
    "div",
    { class: "card scroll-x" },
    h(
      "table",
      { class: "plain-table" },
      h("caption", { class: "hidden-text" }, "What a cycle would do now"),
      h("thead", {}, h("tr", {}, ["Would", "Memories", "Why"].map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        {},
        list.map((step) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, plain(DOES[step.verb] ?? step.verb)),
            h("td", {}, step.texts.map((text) => h("p", {}, short(text)))),
            h("td", { class: "soft" }, step.reason),
          ),
        ),
      ),
    ),
  );
}

function told(report) {
  if (report.modified === 0 && report.compactions === 0) return "Nothing had to change.";
  const merged = report.compactions > 0 ? `, ${number(report.compactions)} merged into others` : "";
  return `${count(report.modified, "memory", "memories")} changed${merged}.`;
}
