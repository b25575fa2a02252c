// List of conversations and their transcripts.

import { maybe, memories, post } from "../api.js";
import { SAID } from "../chatlog.js";
import { confirm, drawer } from "../dialog.js";
import { button, fill, h } from "../dom.js";
import { open } from "../drawer.js";
import { tellProof } from "../erase.js";
import { ago, day, moment, short } from "../format.js";
import { t } from "../i18n.js";
import { labels, errorBox, speakerOf, skeleton } from "../memory.js";
import { withToast } from "../toast.js";
import { readStatement } from "../statement.js";

const TURNS = 500;
const STATES = { active: t("active"), expired_unfinalized: t("quiet"), interrupted: t("ending"), rotation_required: t("ended") };

/** End a conversation: learn from the rest, keep an account, decide what was held. Null where nothing of it is stored. */
export const endSession = (id) =>
  post(`/v1/sessions/${encodeURIComponent(id)}/end`).catch((fault) => {
    if (fault.status !== 404) throw fault;
    return null;
  });

/** Erase a conversation for good, with what was learned only from it, after a question. False: the reader said no. */
export async function eraseSession(id) {
  if (!(await confirm(t("erase_conversation_q"), t("its_messages_and_all_learned"), t("erase_for_good")))) return false;
  const query = { session: id, limit: TURNS, status: [...SAID, "candidate", "forgotten"] };
  let page = await memories.list(query);
  const said = page.memories;
  while (page.next) {
    page = await memories.list({ ...query, after: page.next });
    said.push(...page.memories);
  }
  if (said.length > 0) tellProof(await memories.purge(said), said);
  return true;
}

/** Conversations, newest first: stored sessions, and those known by their messages only. */
export async function loadSessions() {
  const [answer, turns] = await Promise.all([maybe("/v1/sessions", { limit: 100 }), memories.list({ kind: "turn", limit: TURNS, status: SAID })]);
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

/** List of conversations; a press opens the transcript. */
export function sessionList(list, changed) {
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
          h("span", { class: "memory-text" }, titleOf(each)),
          h(
            "span",
            { class: "memory-about" },
            STATES[each.state] && h("span", { class: "chip sessions" }, STATES[each.state]),
            h("span", { title: moment(each.last_active) }, `${t("n_messages", { n: each.turns })} · ${ago(each.last_active)}`),
          ),
        ),
      ),
    ),
  );
}

export const titleOf = (each) =>
  each.title ||
  (/^(page-)?[0-9a-f-]{30,}$/.test(each.id) || each.id.startsWith("chat-")
    ? t("conversation_of", { day: day(each.started_at) })
    : short(each.id, 60));

async function transcript(session, changed) {
  const side = drawer(titleOf(session));
  fill(side.body, skeleton());
  try {
    const { memories: said } = await memories.list({
      session: session.id,
      order: "oldest",
      limit: 500,
      status: SAID,
    });
    fill(
      side.body,
      h("p", { class: "small soft" }, `${moment(session.started_at)} · ${t("n_memories", { n: said.length })}`),
      h(
        "div",
        { class: "row writes" },
        ["active", "expired_unfinalized"].includes(session.state) &&
          button(
            t("end_session"),
            withToast(async () => {
              await endSession(session.id);
              side.close();
              changed();
            }),
            { title: t("keep_an_account_of_it") },
          ),
        button(
          t("erase_conversation"),
          withToast(async () => {
            if (!(await eraseSession(session.id))) return;
            side.close();
            changed();
          }),
          { kind: "plain danger" },
        ),
      ),
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
                h("strong", {}, speakerOf(each) || t("memory")),
                each.kind !== "turn" && labels(each),
                h("span", { class: "soft" }, moment(each.recorded_at)),
              ),
              h("span", { class: "memory-text" }, readStatement(each)),
            ),
          ),
        ),
      ),
    );
  } catch (fault) {
    fill(side.body, errorBox(fault));
  }
}
