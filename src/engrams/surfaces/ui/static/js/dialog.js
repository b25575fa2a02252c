// Dialogs and the side drawer, built on the browser's own dialog.

import { button, field, h } from "./dom.js";
import { t } from "./i18n.js";

/** A drawer with a title; `body` is filled by the caller. Closing gives the focus back to where it was. */
export function drawer(title, onClose = () => {}) {
  const before = document.activeElement;
  const body = h("div", { class: "drawer-body" });
  const heading = h("h2", { id: "drawer-title", tabindex: "-1" }, title);
  const box = h(
    "dialog",
    { class: "drawer", "aria-labelledby": "drawer-title", on: { close: () => closed() } },
    h(
      "div",
      { class: "drawer-head" },
      heading,
      button("", () => box.close(), { icon: "close", kind: "plain", label: t("close") }),
    ),
    body,
  );
  box.addEventListener("click", (event) => event.target === box && box.close());
  const closed = () => {
    box.remove();
    onClose();
    if (before?.isConnected) before.focus();
  };
  document.body.append(box);
  box.showModal();
  return { body, heading, close: () => box.close() };
}

/** Ask for a yes; `detail` is a sentence or elements. */
export function confirm(title, detail, yes, danger = true) {
  return new Promise((done) => {
    const box = boxed(
      title,
      [h("p", { class: "soft" }, detail)],
      [button(t("cancel"), () => box.close("")), button(yes, () => box.close("yes"), { kind: danger ? "danger" : "main-action" })],
    );
    box.addEventListener("close", () => done(box.returnValue === "yes"));
  });
}

/** Ask for a yes with a box to tick where `tick` names one; `{ ticked }`, or null for no. `content`: elements. */
export function choose(title, content, yes, tick = "") {
  return new Promise((done) => {
    const ticked = h("input", { type: "checkbox" });
    const box = boxed(
      title,
      [content, tick && h("label", { class: "tick" }, ticked, h("span", {}, tick))],
      [button(t("cancel"), () => box.close("")), button(yes, () => box.close("yes"), { kind: "danger" })],
    );
    box.addEventListener("close", () => done(box.returnValue === "yes" ? { ticked: ticked.checked } : null));
  });
}

/** Ask for a line of text; "" where none is given. `more`: elements under it. */
export function prompt(title, detail, label, { secret = false, value = "", yes = "OK", more = null } = {}) {
  return new Promise((done) => {
    const input = h("input", { class: "input", type: secret ? "password" : "text", value, autocomplete: "off", spellcheck: "false" });
    const form = h("form", { class: "stack", on: { submit: (event) => (event.preventDefault(), box.close("yes")) } }, field(label, input), more);
    const box = boxed(
      title,
      [h("p", { class: "soft" }, detail), form],
      [button(t("cancel"), () => box.close("")), button(yes, () => box.close("yes"), { kind: "main-action" })],
    );
    box.addEventListener("close", () => done(box.returnValue === "yes" ? input.value.trim() : ""));
    input.focus();
  });
}

/** Ask for a key of the server; `{ key, remember }`, or null where none is given. `logIn`: called for a login instead; null: there is none. */
export async function askKey(title, detail, logIn = null) {
  const remember = h("input", { type: "checkbox" });
  const more = [
    h("label", { class: "tick" }, remember, h("span", {}, t("remember_on_this_device"))),
    logIn && h("div", { class: "row" }, button(t("log_in_instead"), logIn)),
  ];
  const key = await prompt(title, detail, t("key"), { secret: true, yes: t("use_this_key"), more });
  return key ? { key, remember: remember.checked } : null;
}

/** Tell something at length. `action`: [text, function] of a button beside Close. */
export function tell(title, content, action = null) {
  const act = () => {
    box.close("");
    action[1]();
  };
  const box = boxed(title, content, [
    action && button(action[0], act),
    button(t("close"), () => box.close(""), { kind: "main-action" }),
  ]);
}

let boxes = 0;

function boxed(title, content, actions) {
  const id = `box-${++boxes}`;
  const before = document.activeElement;
  const box = h(
    "dialog",
    { class: "box", "aria-labelledby": id },
    h("div", { class: "inside" }, h("h2", { id }, title), content, h("div", { class: "row end" }, actions)),
  );
  box.addEventListener("close", () => {
    box.remove();
    if (before?.isConnected) before.focus();
  });
  document.body.append(box);
  box.showModal();
  return box;
}
