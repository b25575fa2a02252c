// Facts known on a past day, and the changes since.

import { get, memories } from "../api.js";
import { button, empty, fill, h, head, tabs, toggle } from "../dom.js";
import { bars } from "../chart.js";
import { open } from "../drawer.js";
import { axisLabel, day, moment, number } from "../format.js";
import { t } from "../i18n.js";
import { debounce } from "../poll.js";
import { memoryRow, errorBox, skeleton } from "../memory.js";
import { KINDS, LAYERS } from "../words.js";

export const title = t("timeline");

const RAW_KINDS = ["turn", "exchange", "gap"];
const STEPS = 200;
const LIMIT = 300;

export async function show(root) {
  const page = new Timeline(root);
  await page.start();
}

class Timeline {
  constructor(root) {
    Object.assign(this, { root, spoken: false, part: "then", turn: 0, at: null });
    this.chart = h("div", {});
    this.slider = h("input", {
      type: "range",
      class: "slider",
      min: 0,
      max: STEPS,
      step: 1,
      value: STEPS,
      "aria-label": t("as_of"),
      on: { input: () => this.moved(), change: () => this.moved() },
    });
    this.date = h("input", { type: "date", class: "input date", "aria-label": t("as_of_this_day"), on: { change: () => this.dated() } });
    this.told = h("output", { class: "told" });
    this.parts = h("div", {});
    this.list = h("div", { role: "region", "aria-label": t("known_facts"), "aria-live": "polite" });
    this.ask = debounce(() => this.draw(), 120);
  }

  async start() {
    const box = h(
      "section",
      { class: "card pad stack" },
      this.chart,
      this.slider,
      h(
        "div",
        { class: "row" },
        this.told,
        h("span", { class: "grow" }),
        this.date,
        button(t("today"), () => this.jump(STEPS), { icon: "time" }),
        toggle(t("include_messages"), this.spoken, (on) => {
          this.spoken = on;
          this.draw();
        }),
      ),
    );
    fill(
      this.root,
      head(t("timeline"), t("facts_known_on_a_past")),
      box,
      this.parts,
      this.list,
    );
    try {
      this.line = await get("/v1/timeline", { buckets: 60 });
    } catch (fault) {
      fill(this.root, errorBox(fault));
      return;
    }
    if (this.line.points.length === 0) {
      fill(
        this.root,
        head(t("timeline"), t("facts_known_on_a_past")),
        empty(
          "time",
          t("no_history_yet"),
          t("an_outdated_fact_is_closed"),
          h("a", { class: "button main-action", href: "#/chat" }, t("start_a_chat")),
          h("a", { class: "button", href: "#/import" }, t("import_older_conversations")),
        ),
      );
      return;
    }
    this.first = new Date(this.line.points[0].at).getTime();
    this.date.min = iso(this.first);
    this.date.max = iso(Date.now());
    this.moved();
  }

  /** The right end of the slider is now; its steps divide the time since the first memory. */
  moved() {
    const step = Number(this.slider.value);
    this.at = step >= STEPS ? null : new Date(this.first + ((Date.now() - this.first) * step) / STEPS);
    this.changed();
  }

  dated() {
    if (!this.date.value) return;
    const end = new Date(`${this.date.value}T23:59:59`);
    this.at = end.getTime() >= Date.now() ? null : end;
    this.slider.value = this.at ? Math.round(((this.at.getTime() - this.first) / (Date.now() - this.first)) * STEPS) : STEPS;
    this.changed();
  }

  jump(step) {
    this.slider.value = step;
    this.moved();
  }

  changed() {
    const text = this.at ? t("as_of_moment", { moment: moment(this.at) }) : t("as_of_now");
    fill(this.told, text);
    this.slider.setAttribute("aria-valuetext", text);
    this.date.value = iso(this.at ?? Date.now());
    const edge = (this.at ?? new Date()).getTime();
    const names = Object.entries(LAYERS);
    const label = axisLabel(this.first);
    fill(
      this.chart,
      bars(
        t("memories_by_date"),
        this.line.points.map((point) => ({
          label: label(point.at),
          parts: names.map(([layer, name]) => [`${name}-fill`, point.added[layer] ?? 0]),
        })),
        { format: (value) => number(Math.round(value)), lit: (at) => new Date(this.line.points[at].at).getTime() <= edge },
      ),
    );
    this.ask();
  }

  get kinds() {
    return this.spoken ? [] : KINDS.filter((kind) => !RAW_KINDS.includes(kind));
  }

  async draw() {
    const mine = ++this.turn;
    if (!this.list.firstChild) fill(this.list, skeleton());
    try {
      const query = { kind: this.kinds, limit: LIMIT };
      const [now, then] = await Promise.all([
        memories.list(query),
        this.at
          ? memories.list({ ...query, as_of: this.at.toISOString(), status: ["active", "superseded", "archived", "forgotten"] })
          : null,
      ]);
      if (mine === this.turn) this.show(now.memories.filter(isMemory), (then ?? now).memories.filter(isMemory));
    } catch (fault) {
      if (mine === this.turn) fill(this.list, errorBox(fault));
    }
  }

  show(now, then) {
    const known = new Set(now.map((memory) => memory.id));
    const before = new Set(then.map((memory) => memory.id));
    const gone = then.filter((memory) => !known.has(memory.id) || ended(memory));
    const came = now.filter((memory) => !before.has(memory.id));
    const sets = { then, gone, came };
    if (!this.at) {
      this.part = "then";
      fill(this.parts, h("p", { class: "small soft" }, t("n_known_today", { n: then.length })));
    } else
      fill(
        this.parts,
        tabs(
          t("compared_with_today"),
          [
            ["then", t("known_then"), then.length],
            ["gone", t("outdated"), gone.length],
            ["came", t("learned_since"), came.length],
          ],
          this.part,
          (value) => {
            this.part = value;
            this.fill(sets[value], gone);
          },
        ),
      );
    this.fill(sets[this.part], gone);
  }

  fill(set, gone) {
    const over = new Set(gone.map((memory) => memory.id));
    const words = {
      then: t("nothing_was_known_on_that"),
      gone: t("everything_known_then_still_holds"),
      came: t("nothing_was_learned_since"),
    };
    fill(
      this.list,
      set.length
        ? h(
            "ul",
            { class: "list" },
            set.map((memory) =>
              memoryRow(
                { ...memory, status: this.at && this.part !== "came" ? "active" : memory.status },
                (each) => open(each, () => this.draw()),
                [
                  this.at &&
                    this.part === "then" &&
                    over.has(memory.id) &&
                    h("span", { class: "chip warn" }, ended(memory) ? t("until_day", { day: day(memory.valid_to) }) : t("changed_since")),
                ],
              ),
            ),
          )
        : h("p", { class: "soft pad" }, this.at ? words[this.part] : t("only_messages_so_far_facts")),
    );
  }
}

/** False for a piece of a note file. */
const isMemory = (memory) => !memory.meta?.note_file;
const ended = (memory) => Boolean(memory.valid_to) && new Date(memory.valid_to) <= new Date();
const iso = (value) => {
  const date = new Date(value);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
};
