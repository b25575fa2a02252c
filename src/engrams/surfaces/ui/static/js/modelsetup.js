// Set up the language model that memory learns by: find it, try it, write it into config.toml.

import { get, json, post } from "./api.js";
import { confirm } from "./dialog.js";
import { button, field, fill, h, select } from "./dom.js";
import { milliseconds } from "./format.js";
import { rich, t } from "./i18n.js";
import { errorBox } from "./memory.js";
import { toast, withToast } from "./toast.js";

const PATH = "/v1/settings/model";
const LOOKS = 60;
const LOOK_MS = 500;
const PROVIDERS = [
  ["openai", "OpenAI"],
  ["ollama", "Ollama"],
];

/** Fill `box` with the model that is set, and a form for another. */
export async function showModel(box) {
  let current;
  try {
    current = await get(PATH);
  } catch (fault) {
    fill(box, h("h2", {}, t("language_model")), errorBox(fault));
    return;
  }
  fill(
    box,
    h(
      "div",
      { class: "row spread" },
      h("h2", {}, t("language_model")),
      h("span", { class: `chip ${current.in_use ? "good" : ""}` }, current.in_use ? t("learns_by", { model: current.in_use }) : t("learns_by_rules")),
    ),
    notices(current),
    h("p", { class: "small soft", lang: "en" }, current.destination),
    modelForm(current, () => showModel(box)),
  );
}

function notices(current) {
  const set = current.provider === "none" ? t("rules_alone") : current.model || current.url;
  return h("div", { class: "stack tight", role: "status" }, [
    current.restart && h("p", {}, rich("restart_to_learn", { file: current.file, model: set, command: h("code", {}, "engrams serve") })),
    current.fixed_by.length > 0 &&
      h("p", {}, rich("environment_sets", { names: h("code", {}, current.fixed_by.join(", ")) })),
  ]);
}

function modelForm(current, again) {
  const servers = h("div", { class: "stack tight", "aria-live": "polite" });
  const result = h("div", { class: "stack tight", "aria-live": "polite" });
  const names = h("datalist", { id: "model-names" });
  const input = (value, more = {}) =>
    h("input", { class: "input", value, autocomplete: "off", spellcheck: "false", on: { input: () => forget() }, ...more });
  const url = input(current.url, { placeholder: "http://localhost:11434/v1" });
  const model = input(current.model, { list: "model-names", placeholder: t("the_first_that_the_server") });
  const key = input("", { type: "password", placeholder: current.has_key ? t("stored_leave_empty_to_keep") : t("none") });
  const provider = select(t("protocol"), PROVIDERS, current.provider === "none" ? "openai" : current.provider, () => forget());
  const seconds = input(String(current.timeout_seconds), { type: "number", min: 1, max: 3600, step: 1 });
  let tested = null;
  let changes = 0;

  const asked = () => ({ url: url.value.trim(), api_key: key.value.trim() || null });
  const forget = () => {
    changes += 1;
    tested = null;
    save.disabled = true;
    fill(result);
  };
  const take = (server) => {
    forget();
    provider.value = server.provider;
    url.value = server.url;
    fill(
      names,
      server.models.map((name) => h("option", { value: name })),
    );
  };
  const find = async () => {
    const found = (await post(`${PATH}/servers`, {})).servers;
    fill(
      servers,
      found.length === 0 &&
        h("p", { class: "small soft" }, t("none_ollama_lm_studio_llama")),
      found.map((server) =>
        h(
          "div",
          { class: "row spread" },
          h("span", {}, `${server.name}: ${server.models.slice(0, 3).join(", ")}`),
          button(t("use"), () => (take(server), (model.value = server.models[0])), { label: t("use_server", { name: server.name, url: server.url }) }),
        ),
      ),
    );
  };
  const test = async () => {
    forget();
    const [server] = (await post(`${PATH}/servers`, asked())).servers;
    take(server);
    model.value ||= server.models[0];
    const body = { ...asked(), provider: provider.value, model: model.value.trim(), timeout_seconds: Number(seconds.value) || null };
    const before = changes;
    const found = await post(`${PATH}/test`, body);
    if (changes !== before) return;
    tested = body;
    save.disabled = false;
    fill(save, h("span", {}, found.state === "fail" ? t("save_anyway") : t("save")));
    fill(result, measured(found));
  };
  const store = async (body) => {
    const { restarting } = await json("PUT", PATH, { body });
    if (restarting) {
      fill(result, h("p", { class: "row soft", role: "status" }, h("span", { class: "busy" }), t("server_takes_it_over")));
      await takenOver();
    }
    toast(restarting ? t("taken_over") : t("saved"));
    await again();
  };
  const save = button(t("save"), withToast(() => store(tested)), { kind: "main-action", disabled: true });
  const rules = button(
    t("use_rules_only"),
    withToast(async () => {
      const text = t("rules_find_facts_in_plain");
      if (await confirm(t("learn_by_rules_alone"), text, t("use_rules"), false)) await store({ provider: "none" });
    }),
  );
  return h(
    "form",
    { class: "stack", on: { submit: (event) => event.preventDefault() } },
    h("div", { class: "row" }, waiting(t("find_servers"), find, servers)),
    servers,
    field(t("address"), url, t("of_a_server_with_the")),
    field(t("key_of_the_models_server"), key, t("stored_in_config_toml_on")),
    field(t("model"), model),
    names,
    h("div", { class: "pair narrow" }, field(t("protocol"), provider, t("the_test_finds_it")), field(t("time_out_in_seconds"), seconds, t("how_long_an_answer_may"))),
    result,
    h("div", { class: "row" }, waiting(t("test"), test, result), save, current.provider !== "none" && rules),
    h("p", { class: "small soft" }, t("the_test_sends_two_short")),
  );
}

/** Wait until the server serves with the model that is in the file; it may be away for a moment. */
async function takenOver() {
  for (let look = 0; look < LOOKS; look += 1) {
    await new Promise((done) => setTimeout(done, LOOK_MS));
    const current = await get(PATH).catch(() => null);
    if (current?.restart === false) return;
  }
}

function measured(found) {
  const rows = [
    [t("first_word"), found.first_seconds > 0 && t("after_seconds", { time: milliseconds(found.first_seconds * 1000) })],
    [t("short_answer"), found.seconds > 0 && t("in_seconds", { time: milliseconds(found.seconds * 1000) })],
    ["JSON", found.seconds > 0 && (found.json_by ? t("yes_by", { way: found.json_by }) : t("no"))],
    [t("context"), found.context_tokens > 0 && t("n_tokens", { n: found.context_tokens })],
  ];
  const tone = { ok: "good", warn: "warn", fail: "bad" }[found.state] ?? "";
  const word = { ok: t("works"), warn: t("works_but"), fail: t("does_not_work") }[found.state] ?? t("not_measured");
  return [
    h("div", { class: "row" }, h("span", { class: `chip ${tone}` }, word), found.state === "fail" && h("span", { lang: "en" }, found.detail)),
    found.hint && h("p", { class: "small", lang: "en" }, found.hint),
    h(
      "dl",
      { class: "known" },
      rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
    h("p", { class: "small soft", lang: "en" }, found.destination),
  ];
}

/** A button that shows the seconds while its work lasts; a fault is shown in `place`. */
function waiting(text, work, place) {
  const own = button(text, async () => {
    const start = Date.now();
    own.disabled = true;
    const seconds = () => `${Math.round((Date.now() - start) / 1000)} s`;
    const tick = () => fill(place, h("p", { class: "row soft", role: "timer" }, h("span", { class: "busy" }), seconds()));
    const timer = setInterval(tick, 1000);
    try {
      await work();
    } catch (fault) {
      fill(place, errorBox(fault));
    } finally {
      clearInterval(timer);
      own.disabled = false;
    }
  });
  return own;
}
