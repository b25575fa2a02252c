"""Memory commands in conversation: list, switch recall, forget after confirmation, undo, sources.

They are understood and answered in six languages.

Commands and answers to them are never stored: a conversation about what is to be forgotten would
keep it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from engrams.core import (
    LAYER_OF,
    MESSAGE_KINDS,
    PRODUCT,
    STATEMENT_KINDS,
    UNLISTED_KINDS,
    EdgeType,
    Kind,
    Receipt,
    Record,
    Scope,
    ScopeInput,
    SearchResult,
    Status,
)
from engrams.core.tellers_clock import on_tellers_clock, told_at
from engrams.errors import InputError, NotFoundError, RefusedError
from engrams.extract.command_parser import (
    ParsedMemoryCommand,
    may_be_command,
    names_memory,
    opens_with_forgetting,
    parse_choice,
    parse_command,
    parse_decision,
)
from engrams.extract.gate import gate_text
from engrams.extract.policy import only_gives_up_safety
from engrams.extract.statement_reader import find_instruction_kind
from engrams.ports import LinkStore, MemoryApi, is_skill
from engrams.ports.command_permit import begin_change
from engrams.read.cues import asked_predicates, asks_of_oneself
from engrams.session.command_replies import is_reply, write_reply
from engrams.session.open_questions import OpenQuestionLog
from engrams.text.normalize import fold
from engrams.text.reply_language import find_reply_language, quote_each
from engrams.text.terms import terms, tokens

MAX_LISTED = 10
"""Memories that a list shows."""
MAX_CHOICES = 5
"""Memories that a question which of them to forget names."""

_SHORTEST_PART = 4
_LONG_WORD = re.compile(rf"\b[^\W\d_]{{{2 * _SHORTEST_PART},40}}\b")
"""Word that may be a compound of two parts."""
_COVERED_SHARE = 0.6
"""Share of a request's words that a memory has which it is about."""
_FEW_WORDS = 12
"""Words of a subject at most that is asked for alone; a longer one says something besides."""
_MAX_TURNS = 500
_ECHO_CHARACTERS = 300
"""Longest answer that is forgotten with the statement that it repeats."""
_MAX_SLIPS = 10
"""Messages at most that are forgotten with the correction of their values."""
_LINE_CHARACTERS = 200
_MAX_SOURCES = 3
"""Memories whose source or time is told at once."""
_QUOTED_CHARACTERS = 2_000
"""Characters of the last answer that are looked through for the memories which it states."""

_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")
_ENDING_EDGES = (EdgeType.SUPERSEDES, EdgeType.MAY_OUTDATE)
_NO_MARKS: Mapping[str, str] = {}
_LISTED_FIRST = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.RULE,
    Kind.PROCEDURE,
    Kind.NEGATIVE,
    Kind.CORRECTION,
    Kind.NOTE,
)
_KINDS_BY_NAME: Mapping[str, tuple[Kind, ...]] = {
    name: tuple(
        kind
        for kind, kind_layer in LAYER_OF.items()
        if kind_layer is layer and kind not in UNLISTED_KINDS
    )
    for layer, name in PRODUCT.items()
}
"""Kinds by the name of their layer: facts, sessions and rules."""


QuestionStep = Literal["shown", "choose", "confirm", "forgotten", "bring_back"]
_OPEN_STEPS = ("choose", "confirm", "bring_back")
"""Steps that wait for an answer."""
_QUESTIONS = ("choose", "confirm", "confirm_several", "wrong", "bring_back", "no_number")
"""Replies that ask for a yes, a no or a number."""
_VERBS_BESIDE_WORK = (
    "list",
    "status",
    "source",
    "recall_on",
    "recall_off",
    "forget",
    "forget_last",
    "forget_all",
)
"""Requests of somebody who mostly talks about their work; an "undo" or a "wrong" is about that."""
_WORDS_FOR_ALL = ("everything", "all", "alles", "todo", "tout")
_READING_VERBS = ("list", "status", "source", "since")
"""Requests that change nothing."""
_FAILURES = ("failed", "begun")
"""Replies that say that a request was not carried out, or not yet."""


_MALFORMED = "The pending question is malformed."
_ASK_AGAIN = "Ask again what you want forgotten."


class RecallSettingStore(Protocol):
    """Recall setting of an owner, stored with their memory."""

    def recall(self, scope: Scope, on: bool | None = None) -> bool: ...


@dataclass(frozen=True, slots=True)
class PendingForgetQuestion:
    """Open question that the next turn may answer."""

    owner: str
    """Key of the owner's scope."""
    step: QuestionStep
    """``shown``: a numbered list was; ``choose``: one of several to forget; ``confirm``: forget them
    or not; ``forgotten``: they were, and may be brought back; ``bring_back``: bring them back or not.
    """
    ids: tuple[str, ...]
    """Memories in question, in the order that they were shown in."""
    language: str = "en"
    """Language in which the question was asked."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values, to be kept between two turns."""
        return {
            "owner": self.owner,
            "step": self.step,
            "ids": list(self.ids),
            "language": self.language,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], scope: Scope) -> PendingForgetQuestion:
        """Parse the result of ``to_dict``.

        InputError: it is malformed. RefusedError: it belongs to another owner.
        """
        if not isinstance(data, Mapping):
            raise InputError(_MALFORMED, hint=_ASK_AGAIN)
        owner = data.get("owner")
        language = data.get("language", "en")
        step = data.get("step")
        ids = data.get("ids")
        has_ids = isinstance(ids, list) and ids and all(isinstance(id, str) and id for id in ids)
        if (
            set(data) - {"language"} != {"owner", "step", "ids"}
            or step not in ("shown", "choose", "confirm", "forgotten", "bring_back")
            or not isinstance(language, str)
            or not isinstance(owner, str)
            or not has_ids
        ):
            raise InputError(_MALFORMED, hint=_ASK_AGAIN)
        if owner != scope.owner.key:
            raise RefusedError("The pending question belongs to another owner.")
        return cls(owner, step, tuple(ids or ()), language)


@dataclass(frozen=True, slots=True)
class MemoryCommandResult:
    """Reply to a command."""

    reply: str
    pending: dict[str, Any] | None = None
    """Open question, to be given back with the next turn."""
    forgotten: tuple[str, ...] = ()
    """Ids of the memories that were forgotten."""


class MemoryCommandHandler:
    """Memory commands of a conversation, reached as ``engine.control``.

    ``turn`` is stateless: open questions travel in ``MemoryCommandResult.pending``. ``converse``
    keeps them with the memory, for callers that have no place for them.
    """

    def __init__(
        self,
        memory: MemoryApi,
        links: LinkStore,
        recall_setting: RecallSettingStore | None = None,
        open_questions: OpenQuestionLog | None = None,
    ) -> None:
        self._memory = memory
        self._links = links
        self._recall_setting = recall_setting
        self._open_questions = open_questions

    def turn(
        self,
        text: str,
        *,
        scope: ScopeInput,
        session: str = "",
        pending: Mapping[str, Any] | None = None,
        answered: Sequence[str] | str = (),
        answers_questions: bool = False,
    ) -> MemoryCommandResult | None:
        """Answer a request about memory; None where the text is none.

        ``answered``: the last answer, or the ids of its memories, which "forget that" and "that's
        wrong" mean then. ``answers_questions``: also what a model would answer from memory, such as "what
        do you know about Emil?". With None the open question is closed too. InputError: ``pending``
        is malformed. RefusedError: it belongs to another owner.
        """
        asked_scope = Scope.of(scope)
        question = None
        if pending is not None:
            question = PendingForgetQuestion.from_dict(pending, asked_scope)
        if question is not None and question.step in _OPEN_STEPS:
            result = self._answer_question(text, question, asked_scope)
            if result is not None:
                return result
        command = parse_command(text, with_questions=answers_questions)
        if command is None:
            return None
        run = _RunningCommand(command.language, asked_scope)
        if isinstance(answered, str):
            answered = self._find_answered(command, answered, session, asked_scope)
        answer_records = [
            record
            for record in self._load_active(answered[:MAX_CHOICES], asked_scope)
            if record.role != "assistant"
        ]
        if command.is_question or command.verb in ("wrong", "source"):
            return self._answer_about(command, answer_records, run)
        if command.verb == "forget_last" and answer_records:
            return self._ask_which(answer_records, run)
        return self._run_command(command, run, session, question)

    def converse(
        self,
        text: str,
        *,
        scope: ScopeInput,
        session: str = "",
        last_answer: str | None = None,
        conversation: str = "",
        answers_questions: bool = False,
    ) -> MemoryCommandResult | None:
        """Answer a request about memory, and keep the open question for the conversation's next turn.

        ``conversation``: what tells conversations without a session apart, such as a hash of how they
        began.
        ``last_answer``: what the person was answered last, as the caller has it; an open question is
        dropped unless it was that. None: the caller does not know, and passes on every message.
        ``answers_questions``: as for ``turn``.
        Returns None if the text is no request, or one that may be meant for the assistant and finds
        nothing in memory. RefusedError: there is nowhere to keep questions.
        """
        if self._open_questions is None:
            raise RefusedError("Open questions cannot be kept here.", hint="Use `turn`.")
        failed_in = is_reply(last_answer or "", _FAILURES) if parse_decision(text) else ""
        if failed_in:
            return MemoryCommandResult(write_reply("say_again", failed_in))
        asked_scope = Scope.of(scope)
        owner = asked_scope.owner
        key = session or conversation
        open_question = self._find_question(text, key, last_answer, asked_scope)
        if (
            open_question
            and last_answer
            and self._is_yes_again(text, open_question, last_answer, asked_scope)
        ):
            answered = PendingForgetQuestion.from_dict(open_question, asked_scope)
            run = _RunningCommand(answered.language, asked_scope)
            return run.tell_forgotten(self._load_known(answered.ids, asked_scope))
        pending = (
            open_question
            if open_question and self._was_asked(open_question, last_answer, asked_scope)
            else None
        )
        question = PendingForgetQuestion.from_dict(pending, asked_scope) if pending else None
        is_answer = question is not None and question.step in _OPEN_STEPS
        result = None
        if is_answer or self._is_for_memory(text, question, asked_scope, answers_questions):
            result = self.turn(
                text,
                scope=asked_scope,
                session=session,
                pending=pending,
                answered=last_answer or "",
                answers_questions=answers_questions,
            )
        is_undoable = open_question is not None and open_question["step"] == "forgotten"
        if result is None and is_undoable and pending is None:
            result = self._offer_undo(text, open_question, asked_scope)
        # What was forgotten can be brought back later in the conversation, too.
        unanswered = open_question if is_undoable and not _is_undo(text) else None
        next_question = (result.pending if result is not None else None) or unanswered
        if next_question is not None or open_question is not None:
            begin_change()
            self._open_questions.put(key, owner, next_question)
        return result

    def converse_beside_work(
        self, text: str, *, scope: ScopeInput, session: str, is_next: bool
    ) -> MemoryCommandResult | None:
        """Answer a request about memory of somebody who mostly talks about their work.

        To a coding agent "delete it", "undo" and "yes" are about its work. They are about memory only
        if the message before was, which ``is_next`` says; any other request names memory, and is
        meant for it for certain.
        Returns None as ``converse`` does.
        """
        command = parse_command(text, with_questions=True)
        is_answer = is_next and (command is None or command.verb == "undo" or bool(command.number))
        if not is_answer and (command is None or not _is_sure(text, command)):
            return None
        # "Forget everything and start over" means the work, unless memory has such a thing.
        subject = command.about if command is not None and _means_all(command) else ""
        if subject and not self._find_matching(subject, Scope.of(scope)):
            return None
        return self.converse(
            text,
            scope=scope,
            session=session,
            last_answer=None if is_next else "",
            answers_questions=True,
        )

    @staticmethod
    def may_be_request(text: str) -> bool:
        """True for a request about memory, or for words that may answer a question about one."""
        return may_be_command(text)

    @staticmethod
    def answer_failure(
        text: str, last_answer: str | None = None, *, is_begun: bool = False
    ) -> MemoryCommandResult | None:
        """Say that a request about memory could not be carried out; None: the text is none.

        ``last_answer``: as for ``converse``; a yes to a question of memory is a request too.
        ``is_begun``: it may yet be carried out, as nobody could stop it.
        """
        command = parse_command(text)
        language = command.language if command is not None and command.is_certain else ""
        if (
            not language
            and last_answer
            and (parse_decision(text) or parse_choice(text) is not None)
        ):
            language = is_reply(last_answer, _QUESTIONS)
        if not language:
            return None
        return MemoryCommandResult(write_reply("begun" if is_begun else "failed", language))

    @staticmethod
    def describe_receipt(text: str, receipt: Receipt) -> str:
        """Say in the language of a message what was noted of it."""
        language = find_reply_language(text)
        if receipt.outcome in ("unsaved", "redacted"):
            return write_reply(receipt.outcome, language)
        learned = dict.fromkeys(change.text for change in receipt.derived)
        if not learned:
            return write_reply("noted", language)
        return write_reply("noted_what", language, memories=quote_each(learned, language))

    @staticmethod
    def describe_undone(text: str, last_answer: str | None = None, *, is_late: bool = False) -> str:
        """Tell a model that memory did nothing about a message which it might take for a request.

        Without this a model claims that it has forgotten something. ``is_late``: memory gave no answer
        in time. Empty: the message is nothing that a model would claim to have done.
        """
        command = parse_command(text)
        is_change = command is not None and command.verb not in _READING_VERBS
        is_open = bool(last_answer) and bool(is_reply(last_answer or "", _QUESTIONS + _FAILURES))
        may_be_answer = is_late and last_answer is None and bool(parse_decision(text))
        return write_reply("undone", "en") if is_change or is_open or may_be_answer else ""

    def _is_yes_again(
        self, text: str, open_question: Mapping[str, Any], last_answer: str, scope: Scope
    ) -> bool:
        """True for a yes that is sent once more, as a client does to have an answer written anew.

        The memories are forgotten by then: the answer before it is the question that named one.
        """
        question = PendingForgetQuestion.from_dict(open_question, scope)
        if question.step != "forgotten" or parse_decision(text) != "yes":
            return False
        try:
            records = [self._memory.get(record_id, scope=scope) for record_id in question.ids]
        except NotFoundError:
            return False
        return any(_format_line(record) in last_answer for record in records)

    def _find_question(
        self, text: str, key: str, last_answer: str | None, scope: Scope
    ) -> Mapping[str, Any] | None:
        """Find the question of a conversation that a message may be about: the latest one.

        An undo is about the forgetting that the last answer told. Where the person edited the
        history, another one was told later.
        """
        if self._open_questions is None:
            return None
        if last_answer and _is_undo(text):
            for question in self._open_questions.find_forgotten(key, scope.owner):
                if self._was_asked(question, last_answer, scope):
                    return question
        return self._open_questions.find(key, scope.owner)

    def _was_asked(self, pending: Mapping[str, Any], last_answer: str | None, scope: Scope) -> bool:
        """Tell whether the last answer asked this question: it names all memories in question."""
        if last_answer is None:
            return True
        question = PendingForgetQuestion.from_dict(pending, scope)
        if question.step in _OPEN_STEPS and question.step != "bring_back":
            records = self._load_active(question.ids, scope)
        else:
            records = self._load_known(question.ids, scope)
        if question.step == "forgotten":
            reply = _tell_forgotten(records, question.language)
            return reply.split() == last_answer.split()
        return all(_format_line(record) in last_answer for record in records)

    def _is_for_memory(
        self,
        text: str,
        pending: PendingForgetQuestion | None,
        scope: Scope,
        answers_questions: bool,
    ) -> bool:
        """Tell a request about memory from words that may be meant for the assistant.

        A request about something that is not in memory may be a task. One that goes on after the
        request is for the assistant to answer.
        """
        command = parse_command(text, with_questions=answers_questions)
        if command is None or command.goes_on:
            return False
        if command.is_question:
            return True
        match command.verb:
            case "undo":
                return pending is not None and pending.step == "forgotten"
            case "list" if command.about:
                return bool(self._find_matching(command.about, scope))
            case "forget" if not command.number:
                if self._find_matching(command.about, scope):
                    return True
                return command.is_certain and len(command.about.split()) <= _FEW_WORDS
            case "forget":
                # Without a list "forget number 2" is answered by asking for one: a model would
                # claim that it is done.
                return pending is not None or opens_with_forgetting(text)
            case _:
                return command.is_certain

    def recall(self, scope: ScopeInput, on: bool | None = None) -> bool:
        """Return whether facts are recalled for this owner; ``on`` sets it."""
        if self._recall_setting is None:
            return True
        return self._recall_setting.recall(Scope.of(scope), on)

    def _run_command(
        self,
        command: ParsedMemoryCommand,
        run: _RunningCommand,
        session: str,
        question: PendingForgetQuestion | None,
    ) -> MemoryCommandResult:
        match command.verb:
            case "list":
                return self._list_memories(command.about, command.layer_name, run)
            case "status":
                return self._report_status(run)
            case "recall_on" | "recall_off":
                return self._set_recall(command.verb == "recall_on", run)
            case "save":
                return self._save_preference(command.about, run)
            case "forget_all":
                return run.reply("forget_all")
            case "undo":
                return self._bring_back(question, run)
            case "forget_last":
                return self._ask_which(self._find_latest(run.scope, session), run)
            case "forget" if command.number:
                return self._pick_number(command.number, question, run)
            case "forget" if command.is_for_all:
                return self._ask_confirmation(self._find_all_about(command.about, run.scope), run)
            case "forget":
                return self._ask_which(self._find_matching(command.about, run.scope), run)
            case "wrong" | "source" | "since":
                return run.reply("no_match")

    def _answer_about(
        self, command: ParsedMemoryCommand, answer_records: Sequence[Record], run: _RunningCommand
    ) -> MemoryCommandResult | None:
        """Answer what is said or asked about memories; None where there is none.

        ``answer_records``: memories of the last answer, which a request without a subject is about.
        """
        records = answer_records
        if command.about:
            records = (
                self._find_current(command.about, run.scope)
                if command.verb == "list"
                else self._find_matching(command.about, run.scope, _MAX_SOURCES)
            )
        if not records:
            return None
        match command.verb:
            case "wrong" if len(records) == 1:
                text = run.write("wrong", memory=_format_line(records[0]))
                return MemoryCommandResult(text, run.ask("confirm", _list_ids(records)))
            case "wrong":
                return self._ask_which(records, run)
            case "source":
                in_order = sorted(records[:_MAX_SOURCES], key=told_at)
                return MemoryCommandResult(self._tell(in_order, run, self._tell_source))
            case "since":
                return MemoryCommandResult(self._tell(records, run, self._tell_since))
            case _:
                return self._list_memories(command.about, "", run)

    def _tell(
        self,
        records: Sequence[Record],
        run: _RunningCommand,
        tell: Callable[[Record, _RunningCommand], str],
    ) -> str:
        """Tell one thing of each memory, and equal lines once."""
        return "\n".join(dict.fromkeys(tell(record, run) for record in records[:_MAX_SOURCES]))

    def _tell_source(self, record: Record, run: _RunningCommand) -> str:
        """Tell who said it, when and in which sentence."""
        message = self._find_message(record, run.scope)
        memory = _clip_line(_cut_sentence(record, message))
        day = f"{told_at(message):%Y-%m-%d}"
        if message.speaker or message.role not in ("user", ""):
            return run.write(
                "said_by", speaker=message.speaker or message.role, day=day, memory=memory
            )
        return run.write("said", day=day, memory=memory)

    def _tell_since(self, record: Record, run: _RunningCommand) -> str:
        """Tell since when it holds, and when it was said; or only that, where nobody said since when."""
        source = self._tell_source(record, run)
        if record.valid_from is None:
            return run.write("since_unknown", source=source)
        since = on_tellers_clock(record, record.valid_from)
        if since.date() >= told_at(record).date():
            return run.write("since_unknown", source=source)
        day = f"{since:%Y-%m-%d}"
        if since.day == 1:
            # A month or a year that was named begins with its first day.
            day = f"{since:%Y}" if since.month == 1 else f"{since:%Y-%m}"
        return run.write("since", day=day, source=source)

    def _find_message(self, record: Record, scope: Scope) -> Record:
        """Find the message that a statement was learned from; the statement, where it is gone."""
        for evidence in record.evidence:
            try:
                return self._memory.get(evidence.source, scope=scope)
            except NotFoundError:
                continue
        return record

    def _find_answered(
        self, command: ParsedMemoryCommand, last_answer: str, session: str, scope: Scope
    ) -> tuple[str, ...]:
        """Find the memories that the last answer states, where a request means that answer."""
        means_answer = command.verb in ("wrong", "source", "since") and not command.about
        if command.verb == "forget_last":
            means_answer = self._was_asking(session, scope)
        if not last_answer or not means_answer:
            return ()
        hits = self._memory.search(last_answer, scope=scope, limit=4 * MAX_CHOICES).hits
        answer_terms = set(terms(last_answer[:_QUOTED_CHARACTERS]))
        stated = [
            hit.record
            for hit in hits
            if hit.record.role != "assistant"
            and not hit.tell_end()
            and _is_said_with(hit.record.text, answer_terms)
        ]
        return _list_ids(_list_each_once(stated))

    def _was_asking(self, session: str, scope: Scope) -> bool:
        """Tell whether the person's last message was a question."""
        from engrams.text.questions import is_asking

        page = self._memory.list(
            scope=scope,
            session=session,
            kinds=(Kind.TURN,),
            statuses=(Status.ACTIVE, Status.ARCHIVED),
            limit=MAX_CHOICES,
        )
        return any(is_asking(record.text) for record in page.records[:2] if record.role == "user")

    def _offer_undo(
        self, text: str, forgotten: Mapping[str, Any] | None, scope: Scope
    ) -> MemoryCommandResult | None:
        """Ask whether an "undo" that comes later means what was forgotten; None: it is no undo."""
        command = parse_command(text)
        if command is None or command.verb != "undo" or forgotten is None:
            return None
        run = _RunningCommand(command.language, scope)
        ids = tuple(forgotten["ids"])
        try:
            records = [self._memory.get(record_id, scope=scope) for record_id in ids]
        except NotFoundError:
            return None
        memories = "; ".join(map(_format_line, _list_each_once(records)))
        return MemoryCommandResult(
            run.write("bring_back", memories=memories), run.ask("bring_back", ids)
        )

    def _answer_question(
        self, text: str, question: PendingForgetQuestion, scope: Scope
    ) -> MemoryCommandResult | None:
        """Take the text as the answer to a question; None: it is about something else."""
        run = _RunningCommand(question.language, scope)
        decision = parse_decision(text)
        if question.step == "choose" and decision == "yes":
            # Which one was not said: nothing is forgotten before all are confirmed.
            return self._ask_confirmation(self._load_active(question.ids, scope), run)
        if question.step == "bring_back":
            if decision == "yes":
                return self._bring_back(question, run)
            return run.reply("left_forgotten") if decision == "no" else None
        if decision == "no":
            return run.reply("kept")
        if question.step == "confirm":
            return self._forget_confirmed(question, run) if decision == "yes" else None
        if decision == "all":
            return self._ask_confirmation(self._load_active(question.ids, scope), run)
        number = parse_choice(text, len(question.ids))
        return None if number is None else self._pick_number(number, question, run)

    def _save_preference(self, text: str, run: _RunningCommand) -> MemoryCommandResult:
        if only_gives_up_safety(text):
            return run.reply("not_saved")
        begin_change()
        # A wish for how to answer is a rule: prompts have it whether or not facts are recalled.
        kind = find_instruction_kind(text) or Kind.PREFERENCE
        receipt = self._memory.add(text, scope=run.scope, kind=kind)
        if receipt.outcome == "refused":
            return run.reply("not_saved")
        return run.reply("saved", memory=text)

    def _list_memories(
        self, about: str, layer_name: str, run: _RunningCommand
    ) -> MemoryCommandResult:
        """List memories about something, or the newest of a layer or of all."""
        scope = run.scope
        records: Sequence[Record]
        subject = "" if layer_name else about
        if subject:
            records = self._find_current(subject, scope)
        else:
            records = self._list_newest(scope, _KINDS_BY_NAME.get(layer_name, _LISTED_FIRST))
        if not records:
            missing = about or layer_name
            return (
                run.reply("list_none_about", about=missing) if missing else run.reply("list_none")
            )
        head = run.write("list_about", about=subject) if subject else run.write("list_newest")
        shown = records[:MAX_LISTED]
        end = f"\n{run.write('list_more')}" if len(records) > MAX_LISTED else ""
        doubted = self._list_outdated(shown, scope, (EdgeType.MAY_OUTDATE,)) if subject else set()
        mark = run.write("may_be_outdated")
        marked = dict.fromkeys(doubted, f" ({mark})")
        return MemoryCommandResult(
            f"{head}\n{_format_list(shown, marked)}{end}", run.ask("shown", _list_ids(shown))
        )

    def _list_newest(self, scope: Scope, kinds: tuple[Kind, ...]) -> list[Record]:
        """List the newest records of some kinds; of all kinds, also messages that say something else.

        Messages that say nothing, such as requests about memory, are left out.
        """
        newest = self._memory.list(scope=scope, kinds=kinds, limit=3 * MAX_LISTED).records
        stated_in = {evidence.source for record in newest for evidence in record.evidence}
        records = [record for record in newest if record.id not in stated_in]
        if kinds is _LISTED_FIRST:
            messages = self._memory.list(
                scope=scope, kinds=(Kind.TURN,), limit=3 * MAX_LISTED
            ).records
            left_out = stated_in | self._list_outdated(messages, scope)
            records += [
                record
                for record in messages
                if record.role == "user" and record.id not in left_out and _says(record)
            ]
        records.sort(key=told_at, reverse=True)
        return _list_each_once(records)[: MAX_LISTED + 1]

    def _list_outdated(
        self,
        records: Sequence[Record],
        scope: Scope,
        edge_types: tuple[EdgeType, ...] = _ENDING_EDGES,
    ) -> set[str]:
        """List the ids of memories that a later one ends or casts doubt on."""
        edges = self._links.edges(scope.owner, _list_ids(records), edge_types)
        return {edge.target for edge in edges}

    def _report_status(self, run: _RunningCommand) -> MemoryCommandResult:
        stats = self._memory.stats(run.scope)
        active = int(stats.get("status", {}).get("active", 0))
        sentences = [run.write("status_one") if active == 1 else run.write("status", count=active)]
        layers = stats.get("active_layers", {})
        counts = {name: int(layers.get(layer, 0)) for layer, name in PRODUCT.items()}
        sentences.append(run.write("status_parts", **counts))
        if self._recall_setting is not None:
            is_on = self._recall_setting.recall(run.scope)
            sentences.append(run.write("recall_is_on" if is_on else "recall_is_off"))
        return MemoryCommandResult(" ".join(sentences))

    def _set_recall(self, on: bool, run: _RunningCommand) -> MemoryCommandResult:
        if self._recall_setting is None:
            return run.reply("recall_fixed")
        begin_change()
        self._recall_setting.recall(run.scope, on)
        return run.reply("recall_on" if on else "recall_off")

    def _pick_number(
        self, number: int, question: PendingForgetQuestion | None, run: _RunningCommand
    ) -> MemoryCommandResult:
        """Ask to confirm one memory of the last list."""
        if question is None:
            return run.reply("which_list")
        count = len(question.ids)
        if not 1 <= number <= count:
            text = run.write("no_number", number=number, count=count)
            memories = _format_list(self._load_active(question.ids, run.scope))
            return MemoryCommandResult(f"{text}\n{memories}", run.ask("choose", question.ids))
        return self._ask_confirmation(
            self._load_active(question.ids[number - 1 : number], run.scope), run
        )

    def _ask_which(self, records: Sequence[Record], run: _RunningCommand) -> MemoryCommandResult:
        """Ask which memory to forget, or to confirm the only one."""
        if len(records) < 2:
            return self._ask_confirmation(records, run)
        text = run.write("choose", memories=_format_list(records))
        return MemoryCommandResult(text, run.ask("choose", _list_ids(records)))

    def _ask_confirmation(
        self, records: Sequence[Record], run: _RunningCommand
    ) -> MemoryCommandResult:
        if not records:
            return run.reply("no_match")
        if len(records) == 1:
            text = run.write("confirm", memory=_format_line(records[0]))
        else:
            memories = _format_list(records)
            text = run.write("confirm_several", count=len(records), memories=memories)
        return MemoryCommandResult(text, run.ask("confirm", _list_ids(records)))

    def _forget_confirmed(
        self, question: PendingForgetQuestion, run: _RunningCommand
    ) -> MemoryCommandResult:
        record_by_id = {
            record.id: record
            for subject_record in self._load_active(question.ids, run.scope)
            for record in (
                subject_record,
                *self._find_slips(subject_record, run.scope),
                *self._find_same_words(subject_record, run.scope),
                *self._find_echoes(subject_record, run.scope),
            )
        }
        if not record_by_id:
            return run.reply("forgotten_before")
        begin_change()
        for record_id in record_by_id:
            self._memory.forget(record_id, scope=run.scope, reason="asked for in a conversation")
        return run.tell_forgotten(list(record_by_id.values()))

    def _find_same_words(self, record: Record, scope: Scope) -> list[Record]:
        """Find other statements in the same words: one sentence may say two things.

        The person was shown the words once, and takes them for one memory.
        """
        sources = tuple(evidence.source for evidence in record.evidence)
        edges = self._links.edges(scope.owner, sources, (EdgeType.DERIVED_FROM,))
        ids = tuple(dict.fromkeys(edge.source for edge in edges if edge.source != record.id))
        words = _fold_words(record)
        return [twin for twin in self._load_active(ids, scope) if _fold_words(twin) == words]

    def _find_slips(self, record: Record, scope: Scope) -> list[Record]:
        """Find the messages with the wrong values that a correction set right, one after the other.

        They would answer for what is forgotten: "Friday; no, I meant Thursday".
        """
        slips: dict[str, Record] = {}
        later = [record] if record.meta.get("effect") == "corrects" else []
        while later and len(slips) < _MAX_SLIPS:
            source_ids = [item.source for statement in later for item in statement.evidence]
            later_ids = tuple(dict.fromkeys((*source_ids, *_list_ids(later))))
            edges = self._links.edges(scope.owner, later_ids, (EdgeType.SUPERSEDES,))
            wrong_ids = tuple(
                edge.target
                for edge in edges
                if edge.source in later_ids and edge.target not in slips
            )
            later = [
                message
                for message in self._load_active(wrong_ids, scope)
                if message.kind is Kind.TURN
            ]
            slips |= {message.id: message for message in later}
        return list(slips.values())

    def _find_echoes(self, record: Record, scope: Scope) -> list[Record]:
        """Find short answers and notes of work in the same session that repeat the memory."""
        if not record.session:
            return []
        subject = set(terms(record.text))
        turns = self._memory.list(
            scope=scope, kinds=(Kind.TURN,), session=record.session, limit=_MAX_TURNS
        ).records
        return [
            turn
            for turn in turns
            if turn.role in ("assistant", "tool")
            and turn.id != record.id
            and len(turn.text) <= _ECHO_CHARACTERS
            and _covers(subject, turn.text)
        ]

    def _bring_back(
        self, question: PendingForgetQuestion | None, run: _RunningCommand
    ) -> MemoryCommandResult:
        """Restore what the last turn forgot."""
        if question is None or question.step not in ("forgotten", "bring_back"):
            return run.reply("nothing_to_undo")
        restored = []
        begin_change()
        for id in question.ids:
            try:
                restored.append(self._memory.restore(id, scope=run.scope))
            except (NotFoundError, RefusedError):
                continue  # purged, or restored meanwhile
        if not restored:
            return run.reply("nothing_to_undo")
        memories = "; ".join(map(_format_line, _list_each_once(restored)))
        return run.reply("restored", memories=memories)

    def _load_known(self, ids: Sequence[str], scope: Scope) -> list[Record]:
        """Load those of the memories that are not purged, whatever their status."""
        records = []
        for record_id in ids:
            with suppress(NotFoundError):
                records.append(self._memory.get(record_id, scope=scope))
        return records

    def _load_active(self, ids: Sequence[str], scope: Scope) -> list[Record]:
        """Load those of the memories that are active and that this scope reads."""
        active = []
        for id in ids:
            try:
                record = self._memory.get(id, scope=scope)
            except NotFoundError:
                continue
            is_in_reach = scope.is_owner or record.scope in scope.chain()
            if record.status is Status.ACTIVE and is_in_reach:
                active.append(record)
        return active

    def _find_matching(self, about: str, scope: Scope, limit: int = MAX_CHOICES) -> list[Record]:
        """Find memories that say what a request is about: most of its words, or the one best match.

        Statements come before messages: a message also says other things.
        """
        about = _part_compounds(about)
        subject = set(terms(about))
        for kinds in (STATEMENT_KINDS, ()):
            result = self._memory.search(about, scope=scope, limit=4 * limit, kinds=kinds)
            records = _list_forgettable(result)
            matching = [record for record in records if _covers(subject, record.text)]
            matching = matching or [record for record in records if _is_of_kind(record, about)]
            if matching:
                return _list_each_once(matching)[:limit]
            is_kind = bool(asked_predicates(about)) and (
                len(subject) == 1 or asks_of_oneself(about)
            )
            if is_kind and result.helpful and result.helpful[0].record in records:
                return [result.helpful[0].record]  # "my address" and "I live at 3 Elm Street"
        return []

    def _find_all_about(self, about: str, scope: Scope) -> list[Record]:
        """Find the statements about something, and the messages about it that none was learned from."""
        subject = set(terms(about))
        statements = self._find_matching(about, scope, MAX_LISTED)
        stated_in = {item.source for record in statements for item in record.evidence}
        messages = self._memory.search(
            about, scope=scope, limit=4 * MAX_LISTED, kinds=MESSAGE_KINDS
        )
        unstated = [
            record
            for record in _list_forgettable(messages)
            if record.id not in stated_in and _covers(subject, record.text)
        ]
        return _list_each_once([*statements, *unstated])[:MAX_LISTED]

    def _find_current(self, about: str, scope: Scope) -> list[Record]:
        """Find what is to be listed about something: all that says something, and is not outdated."""
        records = self._find_all_about(about, scope)
        outdated = self._list_outdated(records, scope, (EdgeType.SUPERSEDES,))
        return [record for record in records if record.id not in outdated and _says(record)]

    def _find_latest(self, scope: Scope, session: str) -> list[Record]:
        """Find the last thing that the person said here, questions left out."""
        from engrams.text.questions import is_asking

        page = self._memory.list(scope=scope, session=session, limit=4 * MAX_CHOICES)
        return [
            record
            for record in page.records
            if record.role in ("user", "")
            and not is_asking(record.text)
            and parse_command(record.text) is None
        ][:1]


@dataclass(frozen=True, slots=True)
class _RunningCommand:
    """Request that is carried out: its language, and whose memory it is about."""

    language: str
    scope: Scope

    def write(self, key: str, **values: object) -> str:
        """Return a text in the language of the request."""
        return write_reply(key, self.language, **values)

    def reply(self, key: str, **values: object) -> MemoryCommandResult:
        """Return a reply that asks nothing back."""
        return MemoryCommandResult(self.write(key, **values))

    def ask(self, step: QuestionStep, ids: tuple[str, ...]) -> dict[str, Any]:
        """Return the open question about these memories, for the next turn."""
        return PendingForgetQuestion(self.scope.owner.key, step, ids, self.language).to_dict()

    def tell_forgotten(self, records: Sequence[Record]) -> MemoryCommandResult:
        """Return the reply that these memories are forgotten, which offers to bring them back."""
        ids = _list_ids(records)
        text = _tell_forgotten(records, self.language)
        return MemoryCommandResult(text, self.ask("forgotten", ids), forgotten=ids)


def _is_sure(text: str, command: ParsedMemoryCommand) -> bool:
    """True for a request that cannot be meant for work at hand."""
    is_known = command.verb == "list" and command.is_question
    is_certain = command.is_certain or is_known
    return is_certain and command.verb in _VERBS_BESIDE_WORK and names_memory(text)


def _means_all(command: ParsedMemoryCommand) -> bool:
    """True for a request to forget all that is about something."""
    first_word = command.about.lower().partition(" ")[0]
    return command.verb == "forget" and (command.is_for_all or first_word in _WORDS_FOR_ALL)


def _is_undo(text: str) -> bool:
    """True for a request to bring back what was forgotten."""
    command = parse_command(text)
    return command is not None and command.verb == "undo"


def _list_forgettable(result: SearchResult) -> list[Record]:
    """List the found memories that a person means when they ask to forget.

    A note of an agent's work quotes what was asked for, and is forgotten with that.
    """
    records = [
        hit.record
        for hit in result.hits
        if not is_skill(hit.record.id)
        and hit.record.role != "assistant"
        and parse_command(hit.record.text) is None
    ]
    return [record for record in records if record.role != "tool"] or records


def _says(record: Record) -> bool:
    """False for a message that states nothing: a question, or a request about memory."""
    from engrams.text.questions import is_asking

    if record.kind is not Kind.TURN:
        return True
    return gate_text(record.text, min_words=1) is None and not is_asking(record.text)


def _tell_forgotten(records: Sequence[Record], language: str) -> str:
    """Tell what was forgotten; not the answers of an assistant that went with it."""
    user_records = [record for record in records if record.role not in ("assistant", "tool")]
    lines = [_format_line(record) for record in _list_each_once(user_records)]
    ellipsis = ["…"] if len(lines) > MAX_CHOICES else []
    memories = "; ".join([*lines[:MAX_CHOICES], *ellipsis])
    return write_reply("forgotten", language, memories=memories)


def _list_each_once(records: Sequence[Record]) -> list[Record]:
    """Leave out records with the words of one before: two statements of one clause."""
    by_words: dict[str, Record] = {}
    for record in records:
        by_words.setdefault(_fold_words(record), record)
    return list(by_words.values())


def _fold_words(record: Record) -> str:
    return fold(record.text).strip(" .!。")


def _covers(subject: set[str], text: str) -> bool:
    """True if a text has most of the subject's words: "I live in Rome" is not "I live in Paris"."""
    return bool(subject) and len(subject & set(terms(text))) >= _COVERED_SHARE * len(subject)


def _is_of_kind(record: Record, about: str) -> bool:
    """True for "I'm allergic to lupins" and "my lupin allergy": a kind of fact, and its value."""
    # A statement without a predicate has the kind in its words: "Ich bin gegen Senf allergisch".
    predicates = (record.predicate,) if record.predicate else asked_predicates(record.text)
    if not {*predicates} & {*asked_predicates(about)}:
        return False
    kind = {term for word in tokens(about) if asked_predicates(word) for term in terms(word)}
    values = set(terms(about)) - kind
    return bool(values) and values <= set(terms(record.text))


def _part_compounds(about: str) -> str:
    """Part the compounds that end with a kind of fact: "meine Senfallergie" is "meine Senf Allergie"."""
    return _LONG_WORD.sub(lambda word: _split_compound(word[0]), about)


def _split_compound(word: str) -> str:
    if asked_predicates(word):
        return word
    starts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART)
    cut = next((start for start in starts if asked_predicates(word[start:])), len(word))
    return f"{word[:cut]} {word[cut:]}".strip()


def _is_said_with(text: str, answer_terms: set[str]) -> bool:
    """True if a memory's words are among those of an answer."""
    subject = set(terms(text))
    return bool(subject) and len(subject & answer_terms) >= _COVERED_SHARE * len(subject)


def _list_ids(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(record.id for record in records)


def _format_list(records: Sequence[Record], marks: Mapping[str, str] = _NO_MARKS) -> str:
    """Number some memories; ``marks``: what follows those with these ids."""
    return "\n".join(
        f"{number}. {_format_line(record)}{marks.get(record.id, '')}"
        for number, record in enumerate(records, 1)
    )


def _cut_sentence(record: Record, message: Record) -> str:
    """Return the sentences of a message that a statement was learned from; else the message."""
    quotes = [item.quote for item in record.evidence if item.source == message.id and item.quote]
    begin = message.text.find(quotes[0]) if quotes else -1
    if begin < 0:
        return message.text
    ends = [match.end() for match in _SENTENCE_END.finditer(message.text)]
    last = begin + len(quotes[0].rstrip())
    start = max((end for end in ends if end <= begin), default=0)
    return message.text[start : min((end for end in ends if end >= last), default=None)]


def _format_line(record: Record) -> str:
    return _clip_line(record.text)


def _clip_line(words: str) -> str:
    text = " ".join(words.split())
    if len(text) <= _LINE_CHARACTERS:
        return text
    return text[: _LINE_CHARACTERS - 1].rstrip() + "…"
