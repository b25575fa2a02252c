// One conversation: what was said, and the request for the next answer. It outlives the view, not the window.

import { ask, get, memories, post } from "./api.js";
import { recall } from "./kept.js";
import { isOn, isServed, settled } from "./switch.js";
import { traced } from "./trace.js";

const LOOK = 1500;
const LEARNED = ["fact", "preference", "procedure", "correction", "negative", "rule"];

export class Talk {
  constructor(session = crypto.randomUUID()) {
    this.session = `page-${session.replace(/^page-/, "")}`;
    this.incognito = false;
    this.turns = [];
    this.running = null;
  }

  /** Take up a stored conversation. */
  static async of(session) {
    const { memories: found } = await memories.list({ kind: "turn", session, order: "oldest", limit: 200 });
    const talk = new Talk();
    talk.session = session;
    talk.turns = found
      .filter((each) => each.role === "user" || each.role === "assistant")
      .map((each) => ({ role: each.role, text: each.text, explained: undefined, note: "" }));
    return talk;
  }

  /** Say something and follow the answer; `drawn(turn)` is called whenever the answer's turn changed. */
  async say(text, model, drawn) {
    const since = Date.now() - 2000;
    this.turns.push({ role: "user", text });
    const turn = { role: "assistant", text: "", explained: null, note: "", learned: [], state: "waiting" };
    this.turns.push(turn);
    this.running = new AbortController();
    drawn(turn);
    await settled();
    const open = isOn();
    turn.explained = this.incognito || !open ? undefined : await look(text);
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
    if (!this.incognito && turn.state === "done") await learned(turn, since, drawn);
  }

  stop() {
    this.running?.abort();
  }

  async #answer(turn, model, open, drawn) {
    const memory = { session: this.session };
    if (recall("project", "")) memory.project = recall("project", "");
    if (!open && !isServed()) memory.top_k = 0;
    if (this.incognito) memory.incognito = true;
    const messages = this.turns
      .filter((each) => each !== turn && each.text && each.state !== "failed")
      .map((each) => ({ role: each.role, content: each.text }));
    const answer = await ask("POST", "/v1/chat/completions", {
      body: { model, messages, stream: true, memory },
      signal: this.running.signal,
    });
    turn.note = answer.headers.get("x-engrams-memory") ?? "";
    turn.state = "streaming";
    for await (const event of events(answer)) {
      if (event.error) throw Object.assign(new Error(event.error.message ?? "The model failed."), { hint: "" });
      const piece = event.choices?.[0]?.delta?.content;
      if (typeof piece === "string" && piece) {
        turn.text += piece;
        drawn(turn);
      }
    }
  }
}

/** What memory has to say to a text, and why; a failure leaves the answer without it, not without an answer. */
async function look(text) {
  const limit = await wanted();
  try {
    const found = await memories.explain({ query: text, limit }, AbortSignal.timeout(LOOK));
    traced(found);
    return found;
  } catch {
    return undefined;
  }
}

let topK = null;

async function wanted() {
  topK ??= get("/health").then(
    (health) => health.default_top_k || 5,
    () => 5,
  );
  return topK;
}

/** What was made of what was said, when it is there: rules are quick, a model takes its time. */
async function learned(turn, since, drawn) {
  for (const wait of [250, 1200, 4000]) {
    await new Promise((done) => setTimeout(done, wait));
    try {
      const { memories: found } = await memories.list({ kind: LEARNED, limit: 10 });
      turn.learned = found.filter((each) => new Date(each.recorded_at).getTime() >= since);
    } catch {
      return;
    }
    if (turn.learned.length > 0) {
      drawn(turn);
      return;
    }
  }
}

/** The events of a stream, however its bytes are cut. */
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
          // A comment of the server or half a line of a stream that broke off.
        }
      }
    }
    if (done) return;
  }
}

/** The models there are; the offline answerer where no model server is connected. */
export async function models() {
  const { data } = await get("/v1/models");
  return (data ?? []).map((each) => each.id);
}

/** Keep a statement without a conversation. */
export const tell = (text) => post("/v1/memories", { text });
