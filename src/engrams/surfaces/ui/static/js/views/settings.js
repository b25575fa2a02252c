// Choices of this browser, whose memory this is, and every setting of the server with its value.

import { get } from "../api.js";
import { prompt } from "../dialog.js";
import { button, field, fill, h, head, icon, select, tabs, toggle } from "../dom.js";
import { keep, kept, recall, remember } from "../kept.js";
import { later } from "../live.js";
import { problem } from "../memory.js";
import { say } from "../notice.js";
import { decide, isOn } from "../switch.js";

export const title = "Settings";

export async function show(root) {
  const here = h("section", { class: "card pad stack" });
  const server = h("section", { class: "card pad stack" });
  const all = h("section", { class: "stack" });
  fill(
    root,
    head(
      "Settings",
      "What this browser does is changed here. What the server does is set by its configuration; this shows what is in effect.",
    ),
    h("div", { class: "pair" }, here, server),
    all,
  );
  await Promise.all([browser(here), about(server), values(all)]);
}

async function browser(box) {
  const person = h("input", {
    class: "input",
    value: recall("person", ""),
    placeholder: "The server's own user",
    autocomplete: "off",
    on: {
      change: () => {
        remember("person", person.value.trim());
        say("From now on this is their memory.");
      },
    },
  });
  const places = await get("/v1/scopes").catch(() => ({ scopes: [] }));
  const names = [...new Set(places.scopes.filter((labels) => labels[2] === "project").map((labels) => labels[3]))].sort();
  const current = recall("project", "");
  if (current && !names.includes(current)) names.push(current);
  const project = select("Project", [["", "All of memory"], ...names.map((name) => [name, name])], current, (value) =>
    remember("project", value),
  );
  const other = button(
    "New project",
    async () => {
      const name = await prompt("A project of its own", "What is told in a project is found in that project only.", "Its name", {
        yes: "Work in it",
      });
      if (!name) return;
      remember("project", name);
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
          ["", "As the system"],
          ["light", "Light"],
          ["dark", "Dark"],
        ],
        recall("theme", ""),
        (value) => remember("theme", value),
      ),
    ),
    h(
      "div",
      {},
      toggle("Recall", isOn(), decide),
      h("p", { class: "small soft" }, "Off: facts and sessions stay out of answers, your rules still hold. What you say is kept."),
    ),
    field("Whose memory", person, "The name that programs send as X-Engrams-User."),
    h("div", { class: "field" }, h("span", { class: "label" }, "Project"), h("div", { class: "row" }, project, other)),
    key(box),
  );
}

function key(box) {
  const has = kept("key") !== "";
  return h(
    "div",
    { class: "row spread" },
    h(
      "div",
      {},
      h("span", { class: "label" }, "Key"),
      h("p", { class: "small soft" }, has ? "Kept until you close this window." : "None given. The page asks when the server demands one."),
    ),
    has
      ? button("Forget the key", () => {
          keep("key", "");
          fill(box);
          browser(box);
        })
      : button("Give a key", async () => {
          const given = await prompt(
            "Key for this server",
            "It is kept until you close this window, and sent to this server only.",
            "Key",
            { secret: true, yes: "Use this key" },
          );
          if (given) keep("key", given);
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
      ["Memory lies in", health.memory_store],
      ["Model server", health.openai_base_url || "none: answers are quotes from memory"],
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
      h("p", { class: "small soft" }, "Nothing on this page comes from anywhere else, and nothing is sent anywhere else."),
    );
  } catch (fault) {
    fill(box, h("h2", {}, "The server"), problem(fault));
  }
}

async function values(box) {
  let shown;
  try {
    shown = await get("/v1/settings");
  } catch (fault) {
    fill(box, h("h2", {}, "In effect"), problem(fault));
    return;
  }
  const list = h("div", { class: "card scroll-x" });
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
        ? h("p", { class: "soft pad" }, text ? "No setting is called that." : "Every setting has its default value.")
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
      input: later(() => {
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
