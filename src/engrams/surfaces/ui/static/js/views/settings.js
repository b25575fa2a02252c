// Browser choices, current user, and the server's settings.

import { get, memories } from "../api.js";
import { askKey, prompt } from "../dialog.js";
import { button, field, fill, h, head, icon, scrollBox, select, tabs, toggle } from "../dom.js";
import { rich, t } from "../i18n.js";
import { getChoice, getKey, setChoice, setKey } from "../pinned.js";
import { showModel } from "../modelsetup.js";
import { debounce } from "../poll.js";
import { errorBox } from "../memory.js";
import { toast } from "../toast.js";
import { setRecall, isRecallOn } from "../switch.js";
import { LANGUAGES } from "../words.js";

export const title = t("settings");

export async function show(root) {
  const here = h("section", { class: "card pad stack" });
  const server = h("section", { class: "card pad stack" });
  const model = h("section", { class: "card pad stack", "aria-label": t("language_model") });
  const all = h("section", { class: "stack" });
  fill(
    root,
    head(
      t("settings"),
      t("preferences_of_this_browser_and"),
    ),
    h("div", { class: "pair" }, here, h("div", { class: "stack" }, server, model)),
    all,
  );
  const shown = await get("/v1/settings").catch((fault) => fault);
  // Settings of the server are of no use to a key that may not read them.
  const isForeign = shown.status === 403;
  model.hidden = isForeign;
  const own = isForeign ? [] : [showModel(model), values(all, shown)];
  await Promise.all([browser(here), about(server, !isForeign), ...own]);
}

async function browser(box) {
  const person = h("input", {
    class: "input",
    value: getChoice("person", ""),
    placeholder: t("the_servers_own_user"),
    autocomplete: "off",
    on: {
      change: () => {
        setChoice("person", person.value.trim());
        tellUser();
      },
    },
  });
  const places = await get("/v1/scopes").catch(() => ({ scopes: [] }));
  const names = [...new Set(places.scopes.filter((labels) => labels[2] === "project").map((labels) => labels[3]))].sort();
  const current = getChoice("project", "");
  if (current && !names.includes(current)) names.push(current);
  const project = select(t("project"), [["", t("all_of_memory")], ...names.map((name) => [name, name])], current, (value) =>
    setChoice("project", value),
  );
  const other = button(
    t("new_project"),
    async () => {
      const name = await prompt(t("new_project"), t("memories_of_a_project_are"), t("name"), {
        yes: t("create"),
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
    h("h2", {}, t("this_browser")),
    h(
      "div",
      { class: "field" },
      h("span", { class: "label" }, t("theme")),
      tabs(
        t("theme"),
        [
          ["", t("system")],
          ["light", t("light")],
          ["dark", t("dark")],
        ],
        getChoice("theme", ""),
        (value) => setChoice("theme", value),
      ),
    ),
    h(
      "div",
      { class: "field" },
      h("span", { class: "label" }, t("language_label")),
      h(
        "div",
        { class: "row" },
        select(t("language_label"), [["", t("language_browser")], ...Object.entries(LANGUAGES)], getChoice("language", ""), (value) => {
          setChoice("language", value);
          location.reload();
        }),
      ),
    ),
    h(
      "div",
      {},
      toggle(t("recall"), isRecallOn(), setRecall),
      h("p", { class: "small soft" }, t("off_facts_and_sessions_are")),
    ),
    field(t("user"), person, t("the_name_that_programs_send")),
    h("div", { class: "field" }, h("span", { class: "label" }, t("project")), h("div", { class: "row" }, project, other)),
    key(box),
  );
}

/** Say that the user was changed; a name without memories may be a typing error. */
async function tellUser() {
  const { memories: found } = await memories.list({ limit: 1 }).catch(() => ({ memories: [] }));
  toast(found.length ? t("user_changed") : t("no_memories_of_that_name"));
}

function key(box) {
  const has = getKey() !== "";
  const kept = getChoice("key", "") ? t("stored_on_this_device") : t("stored_until_you_close_this_window");
  return h(
    "div",
    { class: "row spread" },
    h(
      "div",
      {},
      h("span", { class: "label" }, t("key")),
      h("p", { class: "small soft" }, has ? kept : t("none_the_page_asks_if")),
    ),
    has
      ? button(t("remove_key"), () => {
          setKey("");
          fill(box);
          browser(box);
        })
      : button(t("add_key"), async () => {
          const given = await askKey(t("key_for_this_server"), t("stored_until_you_close_this"));
          if (given) setKey(given.key, given.remember);
          fill(box);
          await browser(box);
        }),
  );
}

/** Show the server; `isOwn`: with the place of everybody's memories. */
async function about(box, isOwn = true) {
  try {
    const health = await get("/health");
    const rows = [
      [t("version"), health.version],
      [t("storage"), isOwn && health.memory_store],
      [t("model_server_of_the_chat"), health.openai_base_url || t("no_upstream")],
      [t("memories_per_answer"), health.default_top_k],
    ];
    fill(
      box,
      h(
        "div",
        { class: "row spread" },
        h("h2", {}, t("the_server")),
        h("span", { class: `chip ${health.status === "ok" ? "good" : "bad"}` }, health.status === "ok" ? t("running") : t("degraded")),
      ),
      h(
        "dl",
        { class: "known" },
        rows
          .filter(([, value]) => value !== undefined && value !== "" && value !== false)
          .map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]),
      ),
      h("p", { class: "small soft" }, t("this_page_loads_nothing_from")),
    );
  } catch (fault) {
    fill(box, h("h2", {}, t("the_server")), errorBox(fault));
  }
}

function values(box, shown) {
  if (shown instanceof Error) return fill(box, h("h2", {}, t("in_effect")), errorBox(shown));
  const list = scrollBox(t("settings_in_effect"));
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
        ? h("p", { class: "soft pad" }, text ? t("no_matching_setting") : t("every_setting_has_its_default"))
        : h(
            "table",
            { class: "plain-table settings" },
            h("caption", { class: "hidden-text" }, t("settings_in_effect")),
            h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("setting")), h("th", { scope: "col" }, t("value")))),
            h(
              "tbody",
              {},
              rows.map((setting) =>
                h(
                  "tr",
                  {},
                  h("td", {}, h("code", {}, setting.name), h("p", { class: "small soft", lang: "en" }, setting.description)),
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
    placeholder: t("find_a_setting"),
    "aria-label": t("find_a_setting"),
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
        h("h2", {}, t("in_effect")),
        h(
          "p",
          { class: "small soft" },
          rich("preset_change", {
            preset: h("code", {}, shown.preset),
            file: h("code", {}, "config.toml"),
            variables: h("code", {}, "ENGRAMS_*"),
            option: h("code", {}, "--set"),
          }),
        ),
      ),
    ),
    h(
      "div",
      { class: "row" },
      tabs(
        t("which_settings"),
        [
          ["changed", t("changed")],
          ["all", t("all")],
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
  return draw();
}

function written(setting) {
  if (setting.secret) return setting.value ? t("set_not_shown") : t("not_set");
  return setting.value === "" ? t("empty_value") : typeof setting.value === "string" ? setting.value : JSON.stringify(setting.value);
}
