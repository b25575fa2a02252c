// Erasing for good: all about somebody or something, chosen from a list, and the proof.

import { memories } from "./api.js";
import { choose, prompt, tell } from "./dialog.js";
import { h, scrollBox } from "./dom.js";
import { capital, count, number } from "./format.js";
import { tellReach } from "./reach.js";
import { toast, withToast } from "./toast.js";

const HISTORY = "git history";
const GIT = "Also from the git history of the files, which is rewritten";

/** Ask for a name, list what is about it, and erase what is chosen. `changed` is called after that. */
export async function eraseAbout(changed) {
  const about = await prompt(
    "Erase everything about …",
    "A person, a place or a thing. Nothing is erased before you have chosen.",
    "About",
    { yes: "Find" },
  );
  if (!about) return;
  const { memories: found } = await memories.about(about);
  if (!found.length) return toast(`Nothing about ${about} was found.`);
  const boxes = found.map((one) => h("input", { type: "checkbox", checked: one.certain, value: one.memory.id }));
  const lines = found.map((one, place) =>
    h("li", {}, h("label", { class: "row" }, boxes[place], h("span", {}, one.memory.text, !one.certain && h("span", { class: "soft small" }, " perhaps")))),
  );
  const told = [
    h("p", { class: "soft" }, "Chosen memories go for good, with all that was derived from them alone and their words elsewhere."),
    h("ul", { class: "stack tight" }, lines),
  ];
  const answer = await choose(`Erase ${count(found.length, "memory", "memories")} about ${about}?`, told, "Erase for good", GIT);
  const ids = boxes.filter((box) => box.checked).map((box) => box.value);
  if (!answer || !ids.length) return;
  showProof(await memories.purge(ids, answer.ticked), ids);
  changed();
}

/** Show what was erased of several memories, and each place that was looked at again. The arguments are those of `tellProof`. */
export function showProof(proof, some, besides = 0) {
  const removed = Object.values(proof.removed).reduce((sum, each) => sum + each, 0);
  const left = proof.places.find((place) => place.left && place.name === HISTORY) && !proof.removed[HISTORY];
  const rows = proof.places.map((place) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, capital(place.name)),
      h("td", { class: "number" }, number(place.looked)),
      place.left
        ? h("td", {}, h("span", { class: "chip bad" }, `${number(place.left)} left`), h("p", { class: "small soft" }, place.advice))
        : h("td", {}, h("span", { class: "chip good" }, "Nothing left")),
    ),
  );
  tell(
    proof.proven ? "Erased for good" : "Erased here, but some is left",
    [
      h("p", {}, `${number(removed)} entries removed; a look at ${number(proof.places.length)} places found ${proof.proven ? "none left" : "some left"}.${tellReach(proof, besides)}`),
      scrollBox(
        "Places looked at",
        h(
          "table",
          { class: "plain-table" },
          h("caption", { class: "hidden-text" }, "Places looked at"),
          h("thead", {}, h("tr", {}, ["Place", "Looked at", "Result"].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, rows),
        ),
      ),
    ],
    left ? ["Rewrite the history", withToast(async () => showProof(await memories.purge(some, true), some, besides))] : null,
  );
}

/** Say what was erased, and where it is left; offer the history. `some`: what was asked for; `besides`: other messages that went too. */
export function tellProof(proof, some, besides = 0) {
  const removed = Object.values(proof.removed).reduce((sum, each) => sum + each, 0);
  const left = proof.places.filter((place) => place.left);
  toast(
    proof.proven
      ? `Erased: ${number(removed)} entries removed; a look at ${number(proof.places.length)} places found none left.${tellReach(proof, besides)}`
      : `Erased here, but it is left in: ${left.map((place) => (place.name === HISTORY ? `${HISTORY}.` : `${place.name}. ${place.advice}`)).join(" ")}`,
    left.some((place) => place.name === HISTORY) && !proof.removed[HISTORY]
      ? ["Rewrite the history", withToast(async () => tellProof(await memories.purge(some, true), some, besides))]
      : null,
    !proof.proven,
  );
}
