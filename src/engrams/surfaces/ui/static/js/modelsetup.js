// Set up the language model that memory learns by: find it, try it, write it into config.toml.

import { get, json, post } from "./api.js";
import { confirm } from "./dialog.js";
import { button, field, fill, h, select } from "./dom.js";
import { errorBox } from "./memory.js";
import { toast, withToast } from "./toast.js";

const PATH = "/v1/settings/model";
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
    fill(box, h("h2", {}, "Language model"), errorBox(fault));
    return;
  }
  fill(
    box,
    h(
      "div",
      { class: "row spread" },
      h("h2", {}, "Language model"),
      h("span", { class: `chip ${current.in_use ? "good" : ""}` }, current.in_use ? `Learns by ${current.in_use}` : "Learns by rules"),
    ),
    notices(current),
    h("p", { class: "small soft" }, current.destination),
    modelForm(current, () => showModel(box)),
  );
}

function notices(current) {
  const set = current.provider === "none" ? "rules alone" : current.model || current.url;
  return h("div", { class: "stack tight", role: "status" }, [
    current.restart && h("p", {}, `${current.file} now names ${set}. Restart `, h("code", {}, "engrams serve"), " to learn by it."),
    current.fixed_by.length > 0 &&
      h("p", {}, "The environment sets ", h("code", {}, current.fixed_by.join(", ")), ", which counts for more than the file."),
  ]);
}

function modelForm(current, again) {
  const servers = h("div", { class: "stack tight", "aria-live": "polite" });
  const result = h("div", { class: "stack tight", "aria-live": "polite" });
  const names = h("datalist", { id: "model-names" });
  const input = (value, more = {}) =>
    h("input", { class: "input", value, autocomplete: "off", spellcheck: "false", on: { input: () => forget() }, ...more });
  const url = input(current.url, { placeholder: "http://localhost:11434/v1" });
  const model = input(current.model, { list: "model-names", placeholder: "The first that the server lists" });
  const key = input("", { type: "password", placeholder: current.has_key ? "Stored; leave empty to keep it" : "None" });
  const provider = select("Protocol", PROVIDERS, current.provider === "none" ? "openai" : current.provider, () => forget());
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
        h("p", { class: "small soft" }, "None: Ollama, LM Studio, llama.cpp and vLLM do not answer on their usual ports of the server's machine."),
      found.map((server) =>
        h(
          "div",
          { class: "row spread" },
          h("span", {}, `${server.name}: ${server.models.slice(0, 3).join(", ")}`),
          button("Use", () => (take(server), (model.value = server.models[0])), { label: `Use ${server.name} at ${server.url}` }),
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
    fill(save, h("span", {}, found.state === "fail" ? "Save anyway" : "Save"));
    fill(result, measured(found));
  };
  const store = async (body) => {
    await json("PUT", PATH, { body });
    toast("Saved.");
    await again();
  };
  const save = button("Save", withToast(() => store(tested)), { kind: "main-action", disabled: true });
  const rules = button(
    "Use rules only",
    withToast(async () => {
      const text = "Rules find facts in plain sentences, and close what a sentence ends. A model understands more. What is known stays.";
      if (await confirm("Learn by rules alone?", text, "Use rules", false)) await store({ provider: "none" });
    }),
  );
  return h(
    "form",
    { class: "stack", on: { submit: (event) => event.preventDefault() } },
    h("div", { class: "row" }, waiting("Find servers", find, servers)),
    servers,
    field("Address", url, "Of a server with the OpenAI protocol, or of Ollama."),
    field("Key of the model's server", key, "Stored in config.toml on the server, sent to this address only, and never shown."),
    field("Model", model),
    names,
    h("div", { class: "pair narrow" }, field("Protocol", provider, "The test finds it."), field("Time-out in seconds", seconds, "How long an answer may take in all.")),
    result,
    h("div", { class: "row" }, waiting("Test", test, result), save, current.provider !== "none" && rules),
    h("p", { class: "small soft" }, "The test sends two short questions and nothing of memory."),
  );
}

function measured(found) {
  const rows = [
    ["First word", found.first_seconds > 0 && `after ${found.first_seconds.toFixed(1)} s`],
    ["Short answer", found.seconds > 0 && `in ${found.seconds.toFixed(1)} s`],
    ["JSON", found.seconds > 0 && (found.json_by ? `yes, by ${found.json_by}` : "no")],
    ["Context", found.context_tokens > 0 && `${found.context_tokens.toLocaleString("en")} tokens`],
  ];
  const tone = { ok: "good", warn: "warn", fail: "bad" }[found.state] ?? "";
  const word = { ok: "Works", warn: "Works, but", fail: "Does not work" }[found.state] ?? "Not measured";
  return [
    h("div", { class: "row" }, h("span", { class: `chip ${tone}` }, word), found.state === "fail" && h("span", {}, found.detail)),
    found.hint && h("p", { class: "small" }, found.hint),
    h(
      "dl",
      { class: "known" },
      rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
    h("p", { class: "small soft" }, found.destination),
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
