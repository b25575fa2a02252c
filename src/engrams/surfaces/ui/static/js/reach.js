// Messages behind a memory: what a change does to them, before and after it.

import { memories } from "./api.js";
import { choose } from "./dialog.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";

const FATES = {
  superseded: t("replaced_too_as_it_says"),
  forgotten: t("forgotten_too_as_it_says"),
  purged: t("erased_too_as_it_says"),
  shortened: t("kept_shown_without_these_words"),
  kept: t("kept_and_still_says_it"),
};

const DONE = ["superseded", "forgotten", "purged", "shortened", "kept"];

/** Ask before a change of one memory or several that reaches messages; the ids to change besides, or null where the reader says no. `force`: ask in any case. */
export async function askReach(some, action, title, detail, yes, force = false) {
  const report = await memories.preview(some, action);
  const also = action === "edit" ? [] : report.also_said_in;
  if (!force && !report.sources.length && !report.also_said_in.length) return [];
  const lines = report.sources.map((each) =>
    h("li", {}, each.quotes.map((quote) => h("q", {}, quote)), h("span", { class: "soft small" }, ` ${FATES[each.effect]}.`)),
  );
  const same = report.also_said_in.length;
  const told = [
    h("p", { class: "soft" }, detail),
    lines.length > 0 && h("div", { class: "stack tight" }, h("h3", {}, t("what_you_said")), h("ul", { class: "stack tight" }, lines)),
    same > 0 && h("p", {}, also.length ? t("also_said", { n: same }) : t("also_said_stay", { n: same })),
  ];
  const chosen = await choose(title, told, yes, also.length ? t("also_what_you_said") : "");
  return chosen && (chosen.ticked ? also : []);
}

/** One sentence on what a change reached, for the notice after it; `besides`: how many other messages went too. */
export function tellReach({ sources = [], also_said_in = [] }, besides = 0) {
  const parts = DONE.map((effect) => {
    const n = sources.filter((each) => each.effect === effect).length;
    return n ? t(`reached.${effect}`, { n }) : "";
  });
  const left = also_said_in.length - besides;
  return [
    ...parts,
    besides > 0 ? t("besides", { n: besides }) : "",
    left > 0 ? t("also_unchanged", { n: left }) : "",
  ]
    .filter(Boolean)
    .map((part) => ` ${part}`)
    .join("");
}
