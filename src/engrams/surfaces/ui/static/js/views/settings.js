// Browser choices, current user, and the server's settings.

import { get } from "../api.js";
import { prompt } from "../dialog.js";
import { button, field, fill, h, head, icon, scrollBox, select, tabs, toggle } from "../dom.js";
import { setForWindow, getForWindow, getChoice, setChoice } from "../pinned.js";
import { showModel } from "../modelsetup.js";
import { debounce } from "../poll.js";
import { errorBox } from "../memory.js";
import { toast } from "../toast.js";
import { setRecall, isRecallOn } from "../switch.js";

export const title = "Settings";

export async function show(root) {
  const here = h("section", { class: "card pad stack" });
  const server = h("section", { class: "card pad stack" });
  const model = h("section", { class: "card pad stack", "aria-label": "Language model" });
  const all = h("section", { class: "stack" });
  fill(
    root,
    head(
      "Settings",
      "Preferences of this browser, and the settings in effect on the server.",
    ),
    h("div", { class: "pair" }, here, h("div", { class: "stack" }, server, model)),
    all,
  );
  await Promise.all([browser(here), about(server), showModel(model), values(all)]);
}

async function browser(box) {
  const person = h("input", {
    class: "input",
    value: getChoice("person", ""),
    placeholder: "The server's own user",
    autocomplete: "off",
    on: {
      change: () => {
        setChoice("person", person.value.trim());
        toast("User changed.");
      },
    },
  });
  const places = await get("/v1/scopes").catch(() => ({ scopes: [] }));
  const names = [...new Set(places.scopes.filter((labels) => labels[2] === "project").map((labels) => labels[3]))].sort();
  const current = getChoice("project", "");
  if (current && !names.includes(current)) names.push(current);
  const project = select("Project", [["", "All of memory"], ...names.map((name) => [name, name])], current, (value) =>
    setChoice("project", value),
  );
  const other = button(
    "New project",
    async () => {
      const name = await prompt("New project", "Memories of a project are found in that project only.", "Name", {
        yes: "Create",
      });
      if (!name) return;
      setChoice("project", name);
      fill(box);
      await browser(box);
    },
    { icon: "plus" },
  );
  fill(
    box,
    h("h2", {}, "This browser"),
    h(
      "div",
      { class: "field" },
      h("span", { class: "label" }, "Theme"),
      tabs(
        "Theme",
        [
          ["", "System"],
          ["light", "Light"],
          ["dark", "Dark"],
        ],
        getChoice("theme", ""),
        (value) => setChoice("theme", value),
      ),
    ),
    h(
      "div",
      {},
      toggle("Recall", isRecallOn(), setRecall),
      h("p", { class: "small soft" }, "Off: facts and sessions are not used in answers; rules still apply. Messages are still stored."),
    ),
    field("User", person, "The name that programs send as X-Engrams-User."),
    h("div", { class: "field" }, h("span", { class: "label" }, "Project"), h("div", { class: "row" }, project, other)),
    key(box),
  );
}

function key(box) {
  const has = getForWindow("key") !== "";
  return h(
    "div",
    { class: "row spread" },
    h(
      "div",
      {},
      h("span", { class: "label" }, "Key"),
      h("p", { class: "small soft" }, has ? "Stored until you close this window." : "None. The page asks if the server requires one."),
    ),
    has
      ? button("Remove key", () => {
          setForWindow("key", "");
          fill(box);
          browser(box);
        })
      : button("Add key", async () => {
          const given = await prompt(
            "Key for this server",
            "Stored until you close this window and sent to this server only.",
            "Key",
            { secret: true, yes: "Use this key" },
          );
          if (given) setForWindow("key", given);
          fill(box);
          await browser(box);
        }),
  );
}

async function about(box) {
  try {
    const health = await get("/health");
    const rows = [
      ["Version", health.version],
      ["Storage", health.memory_store],
      ["Model server of the chat", health.openai_base_url || "none: answers are quotes from memory"],
      ["Memories per answer", health.default_top_k],
    ];
    fill(
      box,
      h(
        "div",
        { class: "row spread" },
        h("h2", {}, "The server"),
        h("span", { class: `chip ${health.status === "ok" ? "good" : "bad"}` }, health.status === "ok" ? "Running" : "Degraded"),
      ),
      h(
        "dl",
        { class: "known" },
        rows
          .filter(([, value]) => value !== undefined && value !== "")
          .map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]),
      ),
      h("p", { class: "small soft" }, "This page loads nothing from other servers and sends nothing to them."),
    );
  } catch (fault) {
    fill(box, h("h2", {}, "The server"), errorBox(fault));
  }
}

async function values(box) {
  let shown;
  try {
    shown = await get("/v1/settings");
  } catch (fault) {
    fill(box, h("h2", {}, "In effect"), errorBox(fault));
    return;
  }
  const list = scrollBox("Settings in effect");
  let text = "";
  let only = "changed";
  const same = (setting) => JSON.stringify(setting.value) === JSON.stringify(setting.default);
  const draw = () => {
    const rows = shown.settings.filter(
      (setting) => (only === "all" || !same(setting) || text) && `${setting.name} ${setting.description}`.toLowerCase().includes(text),
    );
    fill(
      list,
      rows.length === 0
        ? h("p", { class: "soft pad" }, text ? "No matching setting." : "Every setting has its default value.")
        : h(
            "table",
            { class: "plain-table settings" },
            h("caption", { class: "hidden-text" }, "Settings in effect"),
            h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Setting"), h("th", { scope: "col" }, "Value"))),
            h(
              "tbody",
              {},
              rows.map((setting) =>
                h(
                  "tr",
                  {},
                  h("td", {}, h("code", {}, setting.name), h("p", { class: "small soft" }, setting.description)),
                  h("td", {}, h("code", { class: same(setting) ? "" : "changed" }, written(setting))),
                ),
              ),
            ),
          ),
    );
  };
  const search = h("input", {
    class: "input",
    type: "search",
    placeholder: "Find a setting",
    "aria-label": "Find a setting",
    data: { search: "" },
    on: {
      input: debounce(() => {
        text = search.value.trim().toLowerCase();
        draw();
      }),
    },
  });
  fill(
    box,
    h(
      "div",
      { class: "row spread" },
      h(
        "div",
        {},
        h("h2", {}, "In effect"),
        h(
          "p",
          { class: "small soft" },
          "Preset ",
          h("code", {}, shown.preset),
          ". Change them with ",
          h("code", {}, "config.toml"),
          ", ",
          h("code", {}, "ENGRAMS_*"),
          " variables or ",
          h("code", {}, "--set"),
          ".",
        ),
      ),
    ),
    h(
      "div",
      { class: "row" },
      tabs(
        "Which settings",
        [
          ["changed", "Changed"],
          ["all", "All"],
        ],
        only,
        (value) => {
          only = value;
          draw();
        },
      ),
      h("div", { class: "searchbox" }, icon("search"), search),
    ),
    list,
  );
  draw();
}

function written(setting) {
  if (setting.secret) return setting.value ? "set, not shown" : "not set";
  return setting.value === "" ? "(empty)" : typeof setting.value === "string" ? setting.value : JSON.stringify(setting.value);
}
