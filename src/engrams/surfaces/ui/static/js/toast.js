// Short messages at the edge of the page, with an optional action such as Undo.

import { button, h } from "./dom.js";
import { Problem } from "./api.js";

const SECONDS = 8;

/** Show a message. `action`: [text, function]. */
export function toast(text, action = null, bad = false) {
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

/** Show an error. */
export function toastError(fault) {
  if (fault?.name === "AbortError") return;
  toast([fault.message, fault.hint].filter(Boolean).join(" "), null, true);
  if (!(fault instanceof Problem)) throw fault;
}

/** Wrap an action so that its errors are shown. */
export const withToast =
  (action) =>
  async (...given) => {
    try {
      return await action(...given);
    } catch (fault) {
      return toastError(fault);
    }
  };
