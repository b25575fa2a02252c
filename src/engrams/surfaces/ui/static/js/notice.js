// Short messages at the edge of the page, read out as they come; an action in one can take back what was done.

import { button, h } from "./dom.js";
import { Problem } from "./api.js";

const SECONDS = 8;

/** Say something. `action`: [text, function]. */
export function say(text, action = null, bad = false) {
  const place = document.getElementById("notices");
  const box = h("div", { class: bad ? "notice bad" : "notice" }, h("span", {}, text));
  const end = () => box.remove();
  if (action) {
    box.append(
      button(action[0], () => {
        end();
        action[1]();
      }),
    );
  }
  let left = SECONDS;
  const timer = setInterval(() => {
    if (box.matches(":hover, :focus-within") || document.hidden) return;
    left -= 1;
    if (left <= 0 || !box.isConnected) {
      clearInterval(timer);
      end();
    }
  }, 1000);
  place.append(box);
  while (place.children.length > 3) place.firstChild.remove();
}

/** Say what failed. */
export function fail(fault) {
  if (fault?.name === "AbortError") return;
  say([fault.message, fault.hint].filter(Boolean).join(" "), null, true);
  if (!(fault instanceof Problem)) throw fault;
}

/** Run an action of a button: failures are said, not lost. */
export const tried =
  (action) =>
  async (...given) => {
    try {
      return await action(...given);
    } catch (fault) {
      return fail(fault);
    }
  };
