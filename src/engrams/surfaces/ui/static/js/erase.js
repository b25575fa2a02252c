// Erasing for good: all about somebody or something, chosen from a list, and the proof.

import { memories } from "./api.js";
import { choose, prompt, tell } from "./dialog.js";
import { fill, h, scrollBox } from "./dom.js";
import { number } from "./format.js";
import { named, t } from "./i18n.js";
import { tellReach } from "./reach.js";
import { readStatement } from "./statement.js";
import { toast, withToast } from "./toast.js";

const HISTORY = "git history";
const GIT = t("also_from_the_git_history");

/** Ask for a name, list what is about it, and erase what is chosen. `changed` is called after that. */
export async function eraseAbout(changed) {
  const about = await prompt(
    t("erase_everything_about"),
    t("a_person_a_place_or"),
    t("about"),
    { yes: t("find") },
  );
  if (!about) return;
  const { memories: found } = await memories.about(about);
  if (!found.length) return toast(t("nothing_about", { about }));
  const sum = h("p", { class: "small", role: "status" });
  const boxes = [];
  const chosenIds = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const count = () => fill(sum, t("n_chosen", { n: chosenIds().length }));
  const line = ({ memory, certain }) => {
    const box = h("input", { type: "checkbox", checked: certain, value: memory.id, on: { change: count } });
    boxes.push(box);
    return h("li", {}, h("label", { class: "tick" }, box, h("span", {}, readStatement(memory))));
  };
  const certain = found.filter((candidate) => candidate.certain).map(line);
  const others = found.filter((candidate) => !candidate.certain).map(line);
  count();
  const told = [
    h("p", { class: "soft" }, t("chosen_memories_go_for_good")),
    certain.length > 0 ? h("ul", { class: "stack tight" }, certain) : h("p", {}, t("nothing_names_it")),
    others.length > 0 &&
      h("details", {}, h("summary", { class: "small" }, t("others_that_a_search_finds", { n: others.length })), h("ul", { class: "stack tight" }, others)),
    sum,
  ];
  const answer = await choose(t("erase_about_q", { about }), told, t("erase_for_good"), GIT);
  const ids = chosenIds();
  if (!answer || !ids.length) return;
  showProof(await memories.purge(ids, answer.ticked), ids);
  changed();
}

/** Show what was erased of several memories, and each place that was looked at again. The arguments are those of `tellProof`. */
export function showProof(proof, some, besides = 0) {
  const left = proof.places.find((place) => place.left && place.name === HISTORY) && !proof.removed[HISTORY];
  const rows = proof.places.map((place) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, named("erased_from", place.name)),
      h("td", { class: "number" }, number(place.looked)),
      place.left
        ? h("td", {}, h("span", { class: "chip bad" }, t("n_left", { n: place.left })), h("p", { class: "small soft", lang: "en" }, place.advice))
        : h("td", {}, h("span", { class: "chip good" }, t("nothing_left"))),
    ),
  );
  tell(
    proof.proven ? t("erased_for_good") : t("erased_here_but_some_is"),
    [
      h("p", {}, sumUp(proof, some.length, besides)),
      scrollBox(
        t("places_looked_at"),
        h(
          "table",
          { class: "plain-table" },
          h("caption", { class: "hidden-text" }, t("places_looked_at")),
          h("thead", {}, h("tr", {}, [t("place"), t("looked_at"), t("result")].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, rows),
        ),
      ),
    ],
    left ? [t("rewrite_the_history"), withToast(async () => showProof(await memories.purge(some, true), some, besides))] : null,
  );
}

/** Sentences on how many memories were erased, and whether anything was found again. */
function sumUp(proof, erased, besides) {
  const found = proof.proven ? t("none_left", { n: proof.places.length }) : t("some_left", { n: proof.places.length });
  return `${t("n_erased", { n: erased })} ${found}${tellReach(proof, besides)}`;
}

/** A place where erased words are left, and what to do about it. */
const leftIn = (place) => (place.name === HISTORY ? `${named("erased_from", place.name)}.` : `${named("erased_from", place.name)}. ${place.advice}`);

/** Say what was erased, and where it is left; offer the history. `some`: what was asked for; `besides`: other messages that went too. */
export function tellProof(proof, some, besides = 0) {
  const left = proof.places.filter((place) => place.left);
  toast(
    proof.proven
      ? sumUp(proof, some.length, besides)
      : t("erased_but_left", { places: left.map(leftIn).join(" ") }),
    left.some((place) => place.name === HISTORY) && !proof.removed[HISTORY]
      ? [t("rewrite_the_history"), withToast(async () => tellProof(await memories.purge(some, true), some, besides))]
      : null,
    !proof.proven,
  );
}
