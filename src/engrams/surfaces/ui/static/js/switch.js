// Recall on or off. It is the owner's choice and kept by the server, for every program; where a server keeps none, by this browser.

import { Problem, get, json } from "./api.js";
import { recall, remember } from "./kept.js";

let served = false;

/** What the server says, from now on shown everywhere. */
export async function learn() {
  try {
    const { recall_enabled: on } = await get("/api/memory/status");
    served = true;
    remember("recall", on ? "on" : "off");
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault;
  }
}

/** Decide it. */
export async function decide(on) {
  remember("recall", on ? "on" : "off");
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
