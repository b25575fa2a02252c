// One conversation and the request for its next answer; it lives as long as the window.

import { ask, get, memories, post } from "./api.js";
import { t } from "./i18n.js";
import { getChoice } from "./pinned.js";
import { isRecallOn, isServerRecall, recallSettled } from "./switch.js";
import { setTrace } from "./trace.js";
import { NO_CHAT } from "./words.js";

const EXPLAIN_MS = 1500;
/** Model that answers where no model server is connected. */
export const OFFLINE = "engrams-offline";
const OTHER_MODEL = new RegExp(NO_CHAT, "i");
/** Statuses of messages as they were said: questions are archived, ended statements superseded. */
export const SAID = ["active", "superseded", "archived"];
/** Note of an answer by memory itself, to "forget that" and the like. */
export const COMMAND = "command";
const LEARNED_WAITS = [250, 1200, 4000, 15_000, 60_000, 120_000, 240_000];
/** Milliseconds between two looks for new facts: rules find them at once, a model after some minutes. */
const LEARNED = ["fact", "preference", "procedure", "correction", "negative", "rule"];

export class ChatLog {
  constructor(session = crypto.randomUUID()) {
    this.session = `page-${session.replace(/^page-/, "")}`;
    this.incognito = false;
    this.turns = [];
    this.running = null;
  }

  /** Load a stored conversation. */
  static async load(session) {
    const { memories: found } = await memories.list({ kind: "turn", session, order: "oldest", limit: 500, status: SAID });
    const talk = new ChatLog();
    talk.session = session;
    talk.turns = found
      .filter((each) => each.role === "user" || each.role === "assistant")
      .map((each) => ({ role: each.role, text: each.text, explained: undefined, note: "" }));
    return talk;
  }

  /** Send a message and read the answer; `drawn(turn)` is called on each change. */
  async say(text, model, drawn) {
    this.turns.push({ role: "user", text });
    const turn = { role: "assistant", text: "", explained: null, note: "", profile: [], learned: [], state: "waiting" };
    this.turns.push(turn);
    this.running = new AbortController();
    drawn(turn);
    await recallSettled();
    const open = isRecallOn();
    turn.explained = this.incognito || !open ? undefined : await explainText(text);
    drawn(turn);
    try {
      turn.closed = !open && !this.incognito;
      await this.#answer(turn, model, open, drawn);
      turn.state = "done";
    } catch (fault) {
      turn.state = fault.name === "AbortError" ? "stopped" : "failed";
      if (turn.state === "failed") turn.fault = fault;
    }
    this.running = null;
    drawn(turn);
    const isStored = !this.incognito && turn.state === "done" && turn.note !== COMMAND;
    if (isStored) await loadLearned(turn, text, this.session, drawn);
  }

  stop() {
    this.running?.abort();
  }

  async #answer(turn, model, open, drawn) {
    const memory = { session: this.session };
    if (getChoice("project", "")) memory.project = getChoice("project", "");
    if (!open && !isServerRecall()) memory.top_k = 0;
    if (this.incognito) memory.incognito = true;
    const messages = this.turns
      .filter((each) => each !== turn && each.text && each.state !== "failed")
      .map((each) => ({ role: each.role, content: each.text }));
    const answer = await ask("POST", "/v1/chat/completions", {
      body: { model, messages, stream: true, memory },
      signal: this.running.signal,
    });
    turn.note = answer.headers.get("x-engrams-memory") ?? "";
    loadProfile(turn, answer.headers.get("x-engrams-profile") ?? "", drawn);
    turn.state = "streaming";
    for await (const event of events(answer)) {
      if (event.error) throw Object.assign(new Error(event.error.message ?? t("the_model_failed")), { hint: "" });
      const piece = event.choices?.[0]?.delta?.content;
      if (typeof piece === "string" && piece) {
        turn.text += piece;
        drawn(turn);
      }
    }
  }
}

/** Explain the memories for a text; undefined on failure. */
async function explainText(text) {
  const limit = await loadLimit();
  try {
    const found = await memories.explain({ query: text, limit }, AbortSignal.timeout(EXPLAIN_MS));
    setTrace(found);
    return found;
  } catch {
    return undefined;
  }
}

let topK = null;

async function loadLimit() {
  topK ??= get("/health").then(
    (health) => health.default_top_k || 5,
    () => 5,
  );
  return topK;
}

/** Load the memories of the profile that went into an answer; a line of a note file is shown as its file. */
async function loadProfile(turn, header, drawn) {
  const ids = [...new Set(header.split(",").map((id) => id.split(":")[0]))].filter(Boolean);
  const found = await Promise.all(ids.map((id) => memories.read(id).catch(() => null)));
  turn.profile = found.filter(Boolean);
  if (turn.profile.length > 0) drawn(turn);
}

/** Poll for memories that were extracted from the message `text` of a conversation. */
async function loadLearned(turn, text, session, drawn) {
  let message;
  for (const wait of LEARNED_WAITS) {
    await new Promise((done) => setTimeout(done, wait));
    try {
      message ??= await findMessage(text, session);
      if (!message) continue;
      const { memories: found } = await memories.list({ kind: LEARNED, limit: 20 });
      turn.learned = found.filter((each) => each.evidence.some(({ source }) => source === message.id));
    } catch {
      return;
    }
    if (turn.learned.length > 0) {
      drawn(turn);
      return;
    }
  }
}

/** The stored message of a text: the newest with its words. */
async function findMessage(text, session) {
  const { memories: said } = await memories.list({ kind: "turn", session, limit: 6, status: SAID });
  return said.find((each) => each.role === "user" && each.text === text);
}

/** Parse the events of a stream. */
async function* events(answer) {
  if (!(answer.headers.get("content-type") ?? "").includes("event-stream")) {
    const body = await answer.json();
    yield { choices: [{ delta: { content: body.choices?.[0]?.message?.content ?? "" } }] };
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) {
      const data = line.startsWith("data:") ? line.slice(5).trim() : "";
      if (data && data !== "[DONE]") {
        try {
          yield JSON.parse(data);
        } catch {
          // A comment, or half a line of a broken stream.
        }
      }
    }
    if (done) return;
  }
}

/** List the models that chat, or all where no name looks like one; the offline one without a model server. */
export async function models() {
  const { data } = await get("/v1/models");
  const names = (data ?? []).map((each) => each.id);
  if (names.includes(OFFLINE)) return [OFFLINE];
  const chatting = names.filter((name) => !OTHER_MODEL.test(name));
  return chatting.length > 0 ? chatting : names;
}

/** Store a text without a conversation. */
export const addMemory = (text) => post("/v1/memories", { text });
