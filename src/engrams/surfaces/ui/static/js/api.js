// REST client: user, key, and errors with hints.

import { t } from "./i18n.js";
import { getChoice, getKey, setKey } from "./pinned.js";

/** What went wrong, in words for people. */
export class Problem extends Error {
  constructor(status, text, hint = "", kind = "") {
    super(text);
    this.status = status;
    this.hint = hint;
    this.kind = kind;
  }
}

let asking = null;
let askForKey = async () => null;

/** How a key is asked for: a function of the refused key, and of whether a provider gives tokens, that resolves to `{ key, remember }`, or to null where the reader gives none. */
export function onKeyNeeded(answer) {
  askForKey = answer;
}

/** The headers that say who asks. */
export function identity() {
  const headers = {};
  const own = getKey();
  if (own) headers.authorization = `Bearer ${own}`;
  const person = getChoice("person", "");
  if (person) headers["x-engrams-user"] = encodeURIComponent(person);
  return headers;
}

function address(path, query = {}) {
  const url = new URL(path, location.origin);
  const project = getChoice("project", "");
  if (project && path.startsWith("/v1/")) url.searchParams.set("project", project);
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== undefined && each !== null && each !== "") url.searchParams.append(name, each);
  }
  return url;
}

/** The raw answer of a request; a Problem where it failed. `body`: JSON; `raw`: bytes. */
export async function ask(method, path, { body, raw, query, headers = {}, signal } = {}) {
  for (let again = 0; ; again += 1) {
    const used = getKey();
    const answer = await sent(address(path, query), {
      method,
      signal,
      headers: { ...identity(), ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      body: body === undefined ? raw : JSON.stringify(body),
    });
    if (answer.ok) return answer;
    // A late refusal of an older key is no reason to ask for another.
    if (answer.status === 401 && again < 4 && (getKey() !== used || (await replaceKey(used, answer)))) continue;
    throw await problem(answer);
  }
}

async function sent(url, options) {
  try {
    return await fetch(url, { cache: "no-store", ...options });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new Problem(0, t("engrams_does_not_answer"), t("is_engrams_serve_still_running"));
  }
}

/** Ask for a key in place of the refused one; several requests that need one ask once. */
async function replaceKey(refused, answer) {
  const hasProvider = (answer.headers.get("www-authenticate") ?? "").includes("resource_metadata");
  asking ??= askForKey(refused, hasProvider).finally(() => {
    asking = null;
  });
  const given = await asking;
  setKey(given?.key ?? "", given?.remember);
  return given !== null;
}

async function problem(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    body = {};
  }
  const text = body.detail || body.error?.message || body.message || t("server_said", { status: String(answer.status) });
  return new Problem(
    answer.status,
    typeof text === "string" ? text : t("server_said", { status: String(answer.status) }),
    typeof body.hint === "string" ? body.hint : "",
    typeof body.title === "string" ? body.title : "",
  );
}

/** A request whose answer is JSON. */
export async function json(method, path, options) {
  const answer = await ask(method, path, options);
  return answer.status === 204 ? {} : answer.json();
}

export const get = (path, query, signal) => json("GET", path, { query, signal });
export const post = (path, body, query, signal) => json("POST", path, { body: body ?? {}, query, signal });

/** GET, or null where this server does not have that path. */
export async function maybe(path, query) {
  try {
    return await get(path, query);
  } catch (fault) {
    if (fault instanceof Problem && [404, 405, 501].includes(fault.status)) return null;
    throw fault;
  }
}

const id = (memory) => encodeURIComponent(memory.id ?? memory);

/** Name of the space that a memory is in, without the number of deleted ones; empty for one's own, and for an id alone. */
export const spaceOf = (memory) => (memory?.scope?.[0] === "space" ? memory.scope[1].split("#")[0] : "");

/** Query of a request about a memory: it goes to the space that the memory is in. */
const place = (memory) => ({ space: spaceOf(memory) });

export const documents = {
  /** The file of a picture or sound, with the media type that the server tells. */
  file: async (memory, small) => (await ask("GET", `/v1/documents/${encodeURIComponent(memory.document.id)}/file`, { query: { small, ...place(memory) } })).blob(),
};

export const memories = {
  list: (query, signal) => get("/v1/memories", query, signal),
  read: (memory) => get(`/v1/memories/${id(memory)}`, place(memory)),
  history: (memory) => get(`/v1/memories/${id(memory)}/history`, place(memory)),
  add: (body) => post("/v1/memories", body),
  edit: (memory, body) => json("PATCH", `/v1/memories/${id(memory)}`, { body, query: place(memory), headers: { "if-match": `"${memory.version}"` } }),
  forget: (memory, reason) => json("DELETE", `/v1/memories/${id(memory)}`, { query: { reason, ...place(memory) } }),
  restore: (memory) => post(`/v1/memories/${id(memory)}/restore`, {}, place(memory)),
  purge: (some, git = false) => post("/v1/purge", { ids: some.map((memory) => memory.id ?? memory), git }, place(some[0])),
  about: (about) => post("/v1/purge/about", { about }),
  preview: (some, action) => post("/v1/preview", { ids: [some].flat().map((memory) => memory.id ?? memory), action }, place([some].flat()[0])),
  search: (body, signal) => json("POST", "/v1/search", { body, signal }),
  explain: (body, signal) => json("POST", "/v1/explain", { body, signal }),
};
