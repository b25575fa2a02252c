// Navigation, recall switch, current user, theme.

import { get } from "./api.js";
import { button, fill, h, icon, s, toggle } from "./dom.js";
import { t } from "./i18n.js";
import { poll } from "./poll.js";
import { getChoice, getKey, setChoice, watchChoice } from "./pinned.js";
import { allow } from "./rights.js";
import { setRecall, isRecallOn, loadRecall } from "./switch.js";

/** Views by name: text and icon. A phone shows those of everyday use in its bar and the others under More. */
const EVERYDAY = [
  ["chat", t("chat"), "chat"],
  ["memories", t("memories"), "memories"],
  ["timeline", t("timeline"), "time"],
  ["graph", t("graph"), "graph"],
];
const SETTINGS = ["settings", t("settings"), "settings"];
const ADVANCED = [
  ["import", t("import"), "import", "writes"],
  ["garden", t("garden"), "garden"],
  ["tiers", t("tiers"), "tiers"],
  ["charts", t("charts"), "charts"],
  ["jobs", t("jobs"), "jobs"],
  ["devices", t("devices"), "devices"],
  ["spaces", t("spaces"), "person"],
];

/** Fill the side; returns the marker of the current view. */
export function frame(side) {
  const failed = h("span", { class: "chip bad count", hidden: true });
  const item = (rank) => ([name, text, shape, right = ""]) =>
    h("li", { class: `${rank} ${right}` }, h("a", { href: `#/${name}` }, icon(shape), h("span", {}, text), name === "jobs" && failed));
  const advanced = ADVANCED.map(item("second advanced"));
  const items = [...EVERYDAY.map(item("first")), item("second")(SETTINGS), ...advanced];
  const fold = h(
    "button",
    { type: "button", class: "fold", "aria-expanded": "false", on: { click: () => setChoice("advanced", getChoice("advanced", "") === "on" ? "" : "on") } },
    icon("more"),
    h("span", {}, t("advanced")),
  );
  /** Show the advanced views where the reader chose so, is in one of them, or a job has failed. */
  const unfold = () => {
    const wanted = getChoice("advanced", "") === "on" || !failed.hidden || advanced.some((each) => each.firstChild.hasAttribute("aria-current"));
    nav.classList.toggle("simple", !wanted);
    fold.setAttribute("aria-expanded", String(wanted));
  };
  watchChoice("advanced", () => unfold());
  const more = h(
    "button",
    { type: "button", class: "more", "aria-expanded": "false", on: { click: () => open(!nav.classList.contains("open")) } },
    icon("more"),
    h("span", {}, t("more")),
  );
  const nav = h("nav", { class: "nav", "aria-label": t("views") }, h("ul", {}, items.slice(0, -advanced.length), h("li", { class: "folds" }, fold), advanced, h("li", { class: "rest" }, more)));
  const open = (wanted) => {
    nav.classList.toggle("open", wanted);
    more.setAttribute("aria-expanded", String(wanted));
  };
  addEventListener("keydown", (event) => event.key === "Escape" && open(false));
  fill(side, h("a", { class: "brand", href: "#/chat" }, mark(), "engrams"), nav, foot());
  poll(15, async () => {
    const { dead } = await get("/v1/jobs");
    failed.hidden = dead.length === 0;
    unfold();
    fill(failed, dead.length, h("span", { class: "hidden-text" }, " ", t("failed_lower")));
  });
  return {
    current(name) {
      open(false);
      for (const item of items) {
        const link = item.firstChild;
        if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      unfold();
    },
  };
}

function mark() {
  return s(
    "svg",
    { viewBox: "0 0 32 32", "aria-hidden": "true" },
    s("rect", { width: 32, height: 32, rx: 8, fill: "var(--accent)" }),
    [11.5, 16.8, 22.1].map((y, at) =>
      s("path", {
        d: `M9 ${y}c4.6-3.3 9.4-3.3 14 0`,
        fill: "none",
        stroke: "var(--accent-ink)",
        "stroke-width": 2.2,
        "stroke-linecap": "round",
        opacity: 1 - at * 0.25,
      }),
    ),
  );
}

function foot() {
  const person = h("span", { class: "person" });
  let keyOwner = "";
  const drawn = () => {
    const name = getChoice("person", "") || keyOwner || t("you_lower");
    const project = getChoice("project", "");
    fill(
      person,
      h("span", { class: "face", "aria-hidden": "true" }, [...name][0]),
      h("span", { class: "clip" }, name, project && h("span", { class: "soft" }, ` · ${project}`)),
    );
  };
  watchChoice("person", drawn);
  watchChoice("project", drawn);
  drawn();
  // Without a key or a chosen name the server's own user is meant: its name is the login of the machine.
  const readOwner = async () => {
    const held = getKey() ? await get("/v1/scopes").catch(() => null) : null;
    keyOwner = held?.owner[1] ?? "";
    allow(held?.rights);
    drawn();
  };
  watchChoice("key", readOwner);
  readOwner();
  const switched = toggle(t("recall"), isRecallOn(), setRecall);
  loadRecall();
  watchChoice("person", loadRecall);
  watchChoice("recall", (value) => (switched.firstChild.checked = value === "on"));
  return h(
    "div",
    { class: "foot" },
    switched,
    h(
      "div",
      { class: "row spread" },
      h("a", { class: "button plain person-link", href: "#/settings" }, h("span", { class: "hidden-text" }, t("settings_of"), " "), person),
      themer(),
    ),
  );
}

function themer() {
  const dark = () =>
    (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const draw = () => {
    box.title = dark() ? t("use_light") : t("use_dark");
    box.setAttribute("aria-label", box.title);
    fill(box, icon(dark() ? "sun" : "moon"));
  };
  const box = button("", () => setChoice("theme", dark() ? "light" : "dark"), { kind: "plain", label: t("theme") });
  watchChoice("theme", (value) => {
    if (value === "light" || value === "dark") document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
    draw();
  });
  draw();
  return box;
}
