// Erasing for good: all about somebody or something, chosen from a list, and the proof.

import { memories } from "./api.js";
import { choose, prompt } from "./dialog.js";
import { h } from "./dom.js";
import { count, number } from "./format.js";
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
  tellProof(await memories.purge(ids, answer.ticked), ids);
  changed();
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
