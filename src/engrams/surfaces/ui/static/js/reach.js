// Messages behind a memory: what a change does to them, before and after it.

import { memories } from "./api.js";
import { choose } from "./dialog.js";
import { h } from "./dom.js";
import { count } from "./format.js";

const FATES = {
  superseded: "Replaced too, as it says nothing else",
  forgotten: "Forgotten too, as it says nothing else",
  purged: "Erased too, as it says nothing else",
  shortened: "Kept, shown without these words",
  kept: "Kept, and still says it",
};

const DONE = { superseded: "replaced", forgotten: "forgotten", purged: "erased", shortened: "shortened", kept: "kept as it was" };

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
    lines.length > 0 && h("div", { class: "stack tight" }, h("h3", {}, "What you said"), h("ul", { class: "stack tight" }, lines)),
    same > 0 && h("p", {}, `Also said in ${count(same, "other message", "other messages")}${also.length ? "." : ", which stay."}`),
  ];
  const chosen = await choose(title, told, yes, also.length ? `Also what you said there` : "");
  return chosen && (chosen.ticked ? also : []);
}

/** One sentence on what a change reached, for the notice after it; `besides`: how many other messages went too. */
export function tellReach({ sources = [], also_said_in = [] }, besides = 0) {
  const parts = Object.entries(DONE).map(([effect, word]) => {
    const number = sources.filter((each) => each.effect === effect).length;
    return number ? `${count(number, "message", "messages")} ${word}` : "";
  });
  const left = also_said_in.length - besides;
  return [
    ...parts,
    besides > 0 ? `${count(besides, "other message", "other messages")} as well` : "",
    left > 0 ? `also said in ${count(left, "message", "messages")}, unchanged` : "",
  ]
    .filter(Boolean)
    .map((part) => ` ${part[0].toUpperCase()}${part.slice(1)}.`)
    .join("");
}
