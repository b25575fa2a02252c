// Conversations: a list, and what was said in one.

import { maybe, memories } from "../api.js";
import { drawer } from "../dialog.js";
import { fill, h } from "../dom.js";
import { open } from "../drawer.js";
import { ago, capital, count, day, moment, short } from "../format.js";
import { labels, problem, voice, waiting } from "../memory.js";

const TURNS = 500;

/** Conversations, the latest first: those that the server keeps as such, and those that only their turns tell of. */
export async function sessions() {
  const [answer, turns] = await Promise.all([maybe("/v1/sessions", { limit: 100 }), memories.list({ kind: "turn", limit: TURNS })]);
  const all = new Map();
  for (const turn of turns.memories) {
    if (!turn.session) continue;
    const each = all.get(turn.session) ?? { id: turn.session, state: "", turns: 0, last_active: turn.recorded_at };
    if (turn.role === "user" || !each.title) each.title = short(turn.text, 80);
    all.set(turn.session, Object.assign(each, { turns: each.turns + 1, started_at: turn.recorded_at }));
  }
  for (const each of answer?.sessions ?? [])
    all.set(each.id, { ...all.get(each.id), ...each, turns: each.turns || all.get(each.id)?.turns || 0 });
  return [...all.values()].sort((a, b) => new Date(b.last_active) - new Date(a.last_active));
}

/** The list; a press opens the transcript. */
export function conversations(list, changed) {
  return h(
    "ul",
    { class: "list" },
    list.map((each) =>
      h(
        "li",
        { class: "memory" },
        h(
          "button",
          { type: "button", class: "memory-open", on: { click: () => transcript(each, changed) } },
          h("span", { class: "memory-text" }, titled(each)),
          h(
            "span",
            { class: "memory-about" },
            each.state && h("span", { class: "chip sessions" }, capital(each.state)),
            h("span", { title: moment(each.last_active) }, `${count(each.turns, "turn")} · ${ago(each.last_active)}`),
          ),
        ),
      ),
    ),
  );
}

export const titled = (each) =>
  each.title ||
  (/^(page-)?[0-9a-f-]{30,}$/.test(each.id) || each.id.startsWith("chat-")
    ? `Conversation of ${day(each.started_at)}`
    : short(each.id, 60));

async function transcript(session, changed) {
  const side = drawer(titled(session));
  fill(side.body, waiting());
  try {
    const { memories: said } = await memories.list({
      session: session.id,
      order: "oldest",
      limit: 500,
      status: ["active", "superseded", "archived"],
    });
    fill(
      side.body,
      h("p", { class: "small soft" }, `${moment(session.started_at)} · ${count(said.length, "memory", "memories")}`),
      h(
        "ol",
        { class: "stack" },
        said.map((each) =>
          h(
            "li",
            { class: "spoken" },
            h(
              "button",
              {
                type: "button",
                class: "memory-open",
                on: {
                  click: () => {
                    side.close();
                    open(each, changed);
                  },
                },
              },
              h(
                "span",
                { class: "row small" },
                h("strong", {}, voice(each) || "Memory"),
                each.kind !== "turn" && labels(each),
                h("span", { class: "soft" }, moment(each.recorded_at)),
              ),
              h("span", { class: "memory-text" }, each.text),
            ),
          ),
        ),
      ),
    );
  } catch (fault) {
    fill(side.body, problem(fault));
  }
}
