// Recall switch: stored by the server for every program, else by this browser.

import { Problem, get, json } from "./api.js";
import { getChoice, setChoice } from "./pinned.js";

let served = false;
let decisions = 0;
let deciding = Promise.resolve();

/** Load the state from the server, unless it was changed meanwhile. */
export async function loadRecall() {
  const before = decisions;
  try {
    const { recall_enabled: on } = await get("/api/memory/status");
    if (decisions !== before) return;
    served = true;
    setChoice("recall", on ? "on" : "off");
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
  }
}

/** Set the state; changes reach the server one after the other. */
export function setRecall(on) {
  decisions += 1;
  setChoice("recall", on ? "on" : "off");
  deciding = deciding.then(
    () => send(on),
    () => send(on),
  );
  return deciding;
}

/** Wait until the last change has reached the server. */
export const recallSettled = () => deciding.catch(() => {});

async function send(on) {
  try {
    await json("PATCH", "/api/memory/recall", { body: { enabled: on } });
    served = true;
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
    served = false;
  }
}

export const isRecallOn = () => getChoice("recall", "on") === "on";

/** True if the server applies it; rules then still go into answers. */
export const isServerRecall = () => served;
