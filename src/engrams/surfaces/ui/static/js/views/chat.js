// Chat: streamed answers with the recalled memories beside each.

import { drawer } from "../dialog.js";
import { button, empty, fill, h, icon, select, toggle } from "../dom.js";
import { forget, open } from "../drawer.js";
import { ago } from "../format.js";
import { rich, t } from "../i18n.js";
import { getChoice, getForWindow, setChoice, setForWindow, watchChoice } from "../pinned.js";
import { errorBox } from "../memory.js";
import { toast, withToast } from "../toast.js";
import { renderMarkdown } from "../markdown.js";
import { recallCard } from "../recall.js";
import { isRecallOn } from "../switch.js";
import { ChatLog, COMMAND, models, OFFLINE } from "../chatlog.js";
import { endSession, eraseSession, loadSessions, titleOf } from "./sessions.js";

export const title = t("chat");

/** Mark of an answer without a model, for other programs: this page says so under the input. */
const OFFLINE_TAG = /^\[engrams, offline\] /;
let talk = new ChatLog();

export async function show(root) {
  const page = new Chat(root);
  await page.start();
  return () => page.end();
}

class Chat {
  constructor(root) {
    this.root = root;
    this.model = getChoice("model", "");
    this.log = h("div", { class: "log", role: "log", "aria-live": "polite", "aria-relevant": "additions", "aria-label": t("conversation") });
    this.input = h("textarea", {
      class: "input",
      rows: 1,
      placeholder: t("write_a_message"),
      "aria-label": t("your_message"),
      on: { keydown: (event) => this.key(event), input: () => this.resizeInput() },
    });
    this.send = button("", () => this.submit(), { icon: "send", kind: "main-action", label: t("send") });
    this.picker = h("span", {});
    this.state = h("span", { class: "small soft" });
    this.rows = new Map();
  }

  async start() {
    if (talk.turns.length === 0) await this.takeUp(getForWindow("conversation"));
    const night = toggle(t("incognito"), talk.incognito, (on) => this.incognito(on));
    const bar = h(
      "div",
      { class: "chat-bar" },
      h("h1", {}, t("chat")),
      h(
        "div",
        { class: "controls" },
        this.picker,
        night,
        button(t("history"), () => showHistory((session) => this.resume(session), (session) => session === talk.session && this.replace(new ChatLog())), { icon: "time" }),
        button(t("end_session"), () => this.startAnew(t("nothing_of_this_conversation_was")), { icon: "check", kind: "writes" }),
        button(t("new_chat"), () => this.startAnew(), { icon: "plus", kind: "chats" }),
      ),
    );
    const composer = h(
      "form",
      { class: "composer chats", on: { submit: (event) => (event.preventDefault(), this.submit()) } },
      h("div", { class: "composer-box" }, this.input, this.send),
      h("p", { class: "composer-note" }, this.state),
    );
    const barred = h("p", { class: "composer no-chats small soft" }, t("this_key_may_not_chat"));
    fill(this.root, bar, this.log, composer, barred);
    this.unwatch = watchChoice("recall", () => this.showState());
    this.follows = true;
    this.watchScroll = this.watchScroll.bind(this);
    addEventListener("scroll", this.watchScroll, { passive: true });
    this.draw();
    await this.loadModels();
  }

  /** Go on with the conversation that this window showed before it was loaded anew. */
  async takeUp(session) {
    if (!session) return;
    const stored = await ChatLog.load(session).catch(() => null);
    if (stored?.turns.length > 0) talk = stored;
  }

  end() {
    this.unwatch();
    removeEventListener("scroll", this.watchScroll);
    this.gone = true;
  }

  async loadModels() {
    try {
      const names = await models();
      if (!names.includes(this.model)) this.model = names[0] ?? OFFLINE;
      const words = names.map((name) => [name, name === OFFLINE ? t("memory_only_no_model") : name]);
      fill(
        this.picker,
        select(t("model"), words, this.model, (name) => {
          this.model = name;
          setChoice("model", name);
          this.showState();
        }),
      );
    } catch (fault) {
      if (fault.status !== 403) fill(this.picker, h("span", { class: "chip bad", title: fault.hint }, t("model_server_unreachable")));
    }
    this.showState();
    if (talk.turns.length === 0 && !this.gone) this.draw();
  }

  showState() {
    const off = !isRecallOn();
    this.root.classList.toggle("night", talk.incognito);
    fill(
      this.state,
      talk.incognito
        ? [icon("mask", true), " ", t("incognito_nothing_is_recalled_or")]
        : off
          ? t("recall_is_off_facts_are")
          : this.model === OFFLINE
            ? t("no_model_is_connected_answers")
            : t("enter_sends_shift_enter_makes"),
    );
  }

  draw() {
    this.rows.clear();
    fill(this.log);
    if (talk.turns.length === 0) this.log.append(h("div", { class: "log-empty chats" }, this.welcome()));
    for (const turn of talk.turns) this.addRow(turn);
    this.showState();
    this.showBusy();
  }

  welcome() {
    const hints = [
      t("i_moved_to_lisbon_in"),
      t("i_prefer_short_answers_without"),
      t("what_do_you_know_about"),
    ];
    const box = empty(
      "chat",
      talk.incognito ? t("incognito_chat") : t("start_a_conversation"),
      talk.incognito
        ? t("this_conversation_exists_only_in")
        : t("tell_engrams_something_about_you"),
    );
    if (!talk.incognito)
      box.append(
        h(
          "div",
          { class: "hints" },
          hints.map((text) => h("button", { type: "button", class: "hint-button", on: { click: () => this.insert(text) } }, text)),
        ),
      );
    if (this.model === OFFLINE)
      box.append(
        h(
          "p",
          { class: "small" },
          rich("connect_a_model", { settings: h("a", { href: "#/settings" }, t("settings")) }),
        ),
      );
    return box;
  }

  insert(text) {
    this.input.value = text;
    this.resizeInput();
    this.input.focus();
  }

  addRow(turn) {
    const said = h("div", { class: "said" });
    const beside = h("div", { class: "beside" });
    delete turn.drawn;
    const row = h(
      "div",
      { class: `turn ${turn.role}` },
      h("div", { class: "bubble" }, h("span", { class: "hidden-text" }, turn.role === "user" ? t("you_colon") : t("answer_colon"), " "), said),
      turn.role === "assistant" && beside,
    );
    this.rows.set(turn, { row, said, beside });
    this.log.append(row);
    this.redraw(turn);
  }

  redraw(turn) {
    if (this.gone || !talk.turns.includes(turn)) return;
    if (!this.rows.has(turn)) {
      if (this.rows.size === 0) fill(this.log);
      for (const each of talk.turns) if (!this.rows.has(each)) this.addRow(each);
      return;
    }
    const { said, beside } = this.rows.get(turn);
    if (turn.role === "user") fill(said, turn.text);
    else this.answer(turn, said, beside);
    this.showBusy();
    if (this.follows) scrollTo({ top: document.documentElement.scrollHeight });
  }

  answer(turn, said, beside) {
    const waits = turn.state === "waiting" || (turn.state === "streaming" && !turn.text);
    fill(
      said,
      waits && h("span", { class: "dots", role: "img", "aria-label": t("thinking") }, h("i"), h("i"), h("i")),
      renderMarkdown(turn.text.replace(OFFLINE_TAG, "")),
      turn.state === "stopped" && h("p", { class: "small soft" }, t("stopped")),
      turn.state === "failed" && [
        errorBox(turn.fault),
        h(
          "div",
          { class: "row" },
          button(t("try_again"), () => this.again(turn), { icon: "retry" }),
        ),
      ],
    );
    // A request about memory itself uses no memories: nothing stands beside its answer.
    if (turn.note === COMMAND) return fill(beside);
    const state = `${Boolean(turn.explained)} ${turn.note} ${turn.profile?.length ?? 0} ${turn.learned?.length ?? 0}`;
    if (turn.drawn === state || !(turn.explained || turn.note || turn.learned?.length)) return;
    turn.drawn = state;
    const before = new Map([...beside.querySelectorAll("details")].map((each) => [each.firstChild.textContent, each.open]));
    fill(
      beside,
      recallCard(
        turn,
        (memory) => open(memory),
        withToast((memory) => this.unlearn(turn, memory)),
      ),
    );
    for (const each of beside.querySelectorAll("details")) each.open = before.get(each.firstChild.textContent) ?? each.open;
  }

  /** Forget what was learned from a message. */
  async unlearn(turn, memory) {
    const drop = (learned) => {
      turn.learned = learned;
      this.redraw(turn);
    };
    const before = turn.learned;
    const isDone = await forget(memory, () => drop(before));
    if (isDone) drop(before.filter((each) => each.id !== memory.id));
  }

  showBusy() {
    const busy = talk.running !== null;
    this.log.setAttribute("aria-busy", String(busy));
    fill(this.send, icon(busy ? "stop" : "send"));
    this.send.setAttribute("aria-label", busy ? t("stop") : t("send"));
    this.send.title = busy ? t("stop") : t("send");
  }

  key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!talk.running) this.submit();
    }
  }

  resizeInput() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight + 2, 200)}px`;
  }

  submit() {
    if (talk.running) return talk.stop();
    const text = this.input.value.trim();
    if (!text) return this.input.focus();
    this.input.value = "";
    this.resizeInput();
    return this.run(text);
  }

  /** Follow the conversation until the reader scrolls up; what grows below does not scroll. */
  watchScroll() {
    this.follows = innerHeight + scrollY >= document.documentElement.scrollHeight - 160;
  }

  async run(text) {
    this.follows = true;
    if (!talk.incognito) setForWindow("conversation", talk.session);
    await talk.say(text, this.model || OFFLINE, (turn) => this.redraw(turn));
  }

  again(turn) {
    const at = talk.turns.indexOf(turn);
    const [question] = talk.turns.splice(at - 1, 2);
    this.draw();
    return this.run(question.text);
  }

  incognito(on) {
    const fresh = new ChatLog();
    fresh.incognito = on;
    this.replace(fresh);
  }

  replace(fresh) {
    talk.stop();
    if (fresh.incognito === false)
      fresh.incognito = talk.incognito && fresh.turns.length === 0 && this.root.querySelector(".switch input")?.checked;
    talk = fresh;
    setForWindow("conversation", "");
    this.draw();
    this.input.focus();
  }

  /** End this conversation and begin a new one; `unsaid`: the notice where there is nothing to end. */
  async startAnew(unsaid = "") {
    const left = talk;
    this.replace(new ChatLog());
    if (left.incognito || left.turns.length === 0) return unsaid && toast(unsaid);
    return withToast(async () => {
      const session = await endSession(left.session);
      if (!session) return unsaid && toast(unsaid);
      return toast(session.ended?.episodes?.length ? t("session_ended_an_account_of") : t("session_ended"));
    })();
  }

  async resume(session) {
    const found = await ChatLog.load(session);
    this.root.querySelector(".switch input").checked = false;
    talk.stop();
    talk = found;
    setForWindow("conversation", session);
    this.draw();
    scrollTo(0, document.documentElement.scrollHeight);
  }
}

/** List of stored conversations to continue, or to erase; `erased(session)` is called after that. */
async function showHistory(resume, erased) {
  const side = drawer(t("conversations"));
  const erase = withToast(async (session) => {
    if (!(await eraseSession(session))) return;
    side.close();
    erased(session);
  });
  try {
    const list = (await loadSessions()).map((each) =>
      h(
        "li",
        { class: "memory" },
        h(
          "button",
          {
            type: "button",
            class: "memory-open",
            on: {
              click: withToast(async () => {
                side.close();
                await resume(each.id);
              }),
            },
          },
          h("span", { class: "memory-text" }, titleOf(each)),
          h("span", { class: "memory-about soft" }, `${t("n_messages", { n: each.turns })} · ${ago(each.last_active)}`),
        ),
        h("div", { class: "memory-more" }, button("", () => erase(each.id), { icon: "trash", kind: "plain writes", label: t("erase_conversation") })),
      ),
    );
    fill(
      side.body,
      list.length
        ? h("ul", { class: "list" }, list)
        : empty("time", t("no_conversations_yet"), t("stored_conversations_are_listed_here")),
    );
  } catch (fault) {
    fill(side.body, errorBox(fault));
  }
}
