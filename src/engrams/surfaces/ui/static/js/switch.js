// Recall on or off. It is the owner's choice and kept by the server, for every program; where a server keeps none, by this browser.

import { Problem, get, json } from "./api.js";
import { recall, remember } from "./kept.js";

let served = false;
let decisions = 0;
let deciding = Promise.resolve();

/** What the server says, from now on shown everywhere; unless something else was decided while it spoke. */
export async function learn() {
  const before = decisions;
  try {
    const { recall_enabled: on } = await get("/api/memory/status");
    if (decisions !== before) return;
    served = true;
    remember("recall", on ? "on" : "off");
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
  }
}

/** Decide it. Decisions reach the server one after the other. */
export function decide(on) {
  decisions += 1;
  remember("recall", on ? "on" : "off");
  deciding = deciding.then(
    () => send(on),
    () => send(on),
  );
  return deciding;
}

/** Wait until what was decided holds: nothing is asked under the rule of before. */
export const settled = () => deciding.catch(() => {});

async function send(on) {
  try {
    await json("PATCH", "/api/memory/recall", { body: { enabled: on } });
    served = true;
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
    served = false;
  }
}

export const isOn = () => recall("recall", "on") === "on";

/** Whether the server itself leaves facts out; then rules still go into answers. */
export const isServed = () => served;
