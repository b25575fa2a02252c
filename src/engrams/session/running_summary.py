"""Running summaries of older prompt messages and of learned facts."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from engrams import prompts
from engrams.core import (
    EVICTED,
    LAYER_OF,
    RUNNING,
    Evidence,
    Kind,
    Provenance,
    Receipt,
    Record,
    Scope,
    ScopeInput,
    Status,
    Turn,
    conversation,
    is_blank,
)
from engrams.errors import BudgetError, ConflictError, InputError, ModelError, RefusedError
from engrams.extract.memory_requests import mark_unsaved
from engrams.frozen_data import dataclass
from engrams.ports import (
    DAILY,
    ChatModel,
    ChatRequest,
    Clock,
    Condition,
    Job,
    JobSpec,
    NewRecord,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    TokenCounter,
    Where,
    WriteBatch,
)
from engrams.ports import ChatMessage as Prompted
from engrams.session import message_window
from engrams.session.message_window import Message, count_tokens, keep_end, keep_start, text_of
from engrams.settings import SummarySettings
from engrams.write.source_checks import check_sources

Running: TypeAlias = Literal["window", "rolling"]

STATED = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)
_ROLES = frozenset({"user", "assistant", "system", "tool"})
_LEAD = "What was said before, in short: "
_KEPT = 2000
_FACTS = 500
_SLACK = 16
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PromptMessageWindow:
    """Messages within a budget: system messages, summary, newest messages.

    ``summary``: its text, empty where nothing was summarised. ``last``: the id of the last message
    it covers. ``dropped``: messages neither kept nor summarised; their text is in memory.
    ``notes``: problems on the way.
    """

    messages: tuple[Message, ...]
    summary: str = ""
    last: str = ""
    dropped: tuple[Message, ...] = ()
    notes: tuple[str, ...] = ()


class TurnWriter(Protocol):
    """Writer of turns, each ``external_id`` once in a scope."""

    def __call__(self, turns: Sequence[Turn], scope: Scope, kind: Kind) -> tuple[Receipt, ...]: ...


class ExtractionTrigger(Protocol):
    """Trigger that extracts a conversation's waiting turns now."""

    def __call__(self, *, scope: Scope, session: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class SummaryDeps:
    """Dependencies of summaries. ``files``: whether daily notes are kept."""

    store: Store
    chat: ChatModel | None
    counter: TokenCounter
    clock: Clock
    take: TurnWriter
    hasten: ExtractionTrigger
    files: bool


class ConversationSummariser:
    """Running summaries of conversations. Thread safe; a concurrent update is retried."""

    def __init__(self, parts: SummaryDeps, settings: SummarySettings) -> None:
        self._deps = parts
        self._settings = settings

    # ----------------------------------------------------------------------------------------------
    # messages

    def fit(
        self, messages: Sequence[Message], *, scope: ScopeInput, session: str, **limits: int
    ) -> PromptMessageWindow:
        """Fit messages into ``max_tokens`` by the configured counter.

        Messages that fit are returned as they came. Otherwise the older ones go into the running
        summary of this scope and session, by one call to the chat model, which sees the previous
        summary and the messages after the last one it covers. Leading system messages stay, and are
        not summarised; a tool call and its results stay together. Without a model, or where it
        fails, the oldest turns are dropped; dropped messages are stored first, and written into the
        daily note where there are notes. ``limits``: ``max_tokens``, ``start_tokens``, ``tokens``,
        in place of the settings of ``summary``.

        InputError (a ValueError): a message has no id or a duplicate one; one was summarised
        before; the limits are invalid.
        """
        section = _apply_limits(self._settings, limits)
        message_window.check_ids(messages)
        place = Scope.of(scope)
        for attempt in range(3):
            try:
                return self._fit(messages, place, session, section)
            except ConflictError:
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def of(self, scope: ScopeInput, session: str = "", what: Running = "rolling") -> str:
        """Return the current summary of a conversation; empty without one."""
        place, own = (
            conversation(Scope.of(scope), session)
            if what == "rolling"
            else (Scope.of(scope), session)
        )
        record = self._find_summary(place, own, what)
        return record.text if record else ""

    def _fit(
        self, messages: Sequence[Message], scope: Scope, session: str, section: SummarySettings
    ) -> PromptMessageWindow:
        lead, rest = message_window.split_lead(messages)
        running = self._find_summary(scope, session, "window")
        lead = tuple(message for message in lead if running is None or message["id"] != running.id)
        last = str(running.meta.get("last", "")) if running else ""
        start = next((at + 1 for at, message in enumerate(rest) if message["id"] == last), 0)
        summary = running.text if running else ""
        pending = rest[start:]
        whole = self._assemble(lead, summary, pending, running)
        cost = count_tokens(whole, self._deps.counter)
        most = min(section.max_tokens, section.start_tokens or section.max_tokens)
        if cost <= most:
            return PromptMessageWindow(tuple(messages) if running is None else whole, summary, last)
        room = most - count_tokens(lead, self._deps.counter) - section.tokens - _SLACK
        # Half of the room for the newest, so that the next few messages need no new summary.
        end = message_window.find_cut(pending, max(room, 0) // 2, self._deps.counter)
        older = pending[:end]
        newer = pending[end:]
        note = "there is no chat model" if self._deps.chat is None else ""
        covered: list[str] = list(running.meta.get("ids", ())) if running else []
        if again := [str(message["id"]) for message in older if message["id"] in set(covered)]:
            raise InputError(
                f"The message {again[0]!r} was summarised before.",
                hint="Give the messages in order, each summarised one only once.",
            )
        if self._deps.chat is not None and older:
            self._deps.hasten(scope=scope, session=session)
            sources = self._find_sources(scope, older)
            made = self._summarise(self._deps.chat, summary, older, section)
            if isinstance(made, str):
                note = made
            else:
                running = self._save(
                    scope, session, "window", running, made.text, made.meta(older, covered), sources
                )
                summary = made.text
                last = str(older[-1]["id"])
                pending = newer
                note = made.note
                if note:
                    self.flush(older, scope=scope, session=session)
        return self._trim_to_budget(
            lead, running, pending, section, (scope, session), (summary, last, note)
        )

    def _trim_to_budget(
        self,
        lead: tuple[Message, ...],
        running: Record | None,
        pending: Sequence[Message],
        section: SummarySettings,
        place: tuple[Scope, str],
        result: tuple[str, str, str],
    ) -> PromptMessageWindow:
        """Build the window; drop the oldest turns where it is too long."""
        summary, last, note = result
        notes = (note,) if note else ()
        front = self._assemble(lead, summary, (), running)
        room = section.max_tokens - count_tokens(front, self._deps.counter)
        if count_tokens(pending, self._deps.counter) <= room:
            return PromptMessageWindow((*front, *pending), summary, last, notes=notes)
        kept, dropped = message_window.trim_messages(
            pending, max(room, 0), self._deps.counter, section.tool_characters
        )
        if dropped:
            self.flush(dropped, scope=place[0], session=place[1], reason="overflow")
            notes = (*notes, f"{len(dropped)} of the oldest messages were dropped")
        if count_tokens(kept, self._deps.counter) > room:
            notes = (*notes, "the messages that must stay are over the budget by themselves")
        for text in notes:
            _log.warning("context: %s", text)
        return PromptMessageWindow(
            messages=(*front, *kept),
            summary=summary,
            last=last,
            dropped=tuple(dropped),
            notes=notes,
        )

    def flush(
        self,
        messages: Sequence[Message],
        *,
        scope: ScopeInput,
        session: str = "",
        reason: Literal["trim", "overflow", "session end", "daily summary", "note"] = "trim",
    ) -> bool:
        """Store messages, once by id, and enqueue the daily note.

        False: there is nothing to write. Never waits for a model.
        """
        place = Scope.of(scope)
        said = [
            message
            for message in messages
            if not is_blank(text_of(message)) and message.get("role") in _ROLES
        ]
        turns = [
            Turn(
                text_of(one),
                role=one["role"],
                session=session,
                external_id=str(one.get("id") or ""),
            )
            for one in said
        ]
        ids = (
            [receipt.id for receipt in self._write_turns(turns, place) if receipt.id]
            if turns
            else []
        )
        self._deps.hasten(scope=place, session=session)
        if ids and self._deps.files:
            payload = {"owner": place.owner.key, "items": ids, "reason": reason}
            self._deps.store.enqueue(
                (JobSpec(DAILY, f"{place.key}|{session}|{ids[0]}", payload),), self._deps.clock()
            )
        return bool(ids)

    def _write_turns(self, turns: Sequence[Turn], scope: Scope) -> tuple[Receipt, ...]:
        """Write turns; a refused turn does not cost its neighbours."""
        try:
            return self._deps.take(turns, scope, Kind.TURN)
        except (InputError, RefusedError) as problem:
            if len(turns) == 1:
                _log.warning("context: a message was not stored: %s", problem.message)
                return ()
            return tuple(receipt for turn in turns for receipt in self._write_turns([turn], scope))

    def _assemble(
        self,
        lead: Sequence[Message],
        summary: str,
        pending: Sequence[Message],
        running: Record | None,
    ) -> tuple[Message, ...]:
        summary_message: tuple[Message, ...] = ()
        if summary:
            message_id = running.id if running else "summary"
            content = _LEAD + summary
            summary_message = ({"id": message_id, "role": "system", "content": content},)
        return (*lead, *summary_message, *pending)

    def _summarise(
        self, chat: ChatModel, summary: str, older: Sequence[Message], section: SummarySettings
    ) -> _ModelSummary | str:
        """Ask for a new summary; a string says why it failed."""
        counter = self._deps.counter
        hidden = mark_unsaved(
            (str(message.get("role") or "user"), text_of(message)) for message in older
        )
        said = "\n".join(
            _format_message(message)
            for message, unsaved in zip(older, hidden, strict=True)
            if not unsaved
        )
        note = ""
        if counter.count(said) > section.max_tokens:
            note = f"what was to be summarised was cut to its last {section.max_tokens} tokens"
            _log.warning("context: %s", note)
            said = keep_end(said[-section.max_tokens * 64 :], section.max_tokens, counter)
        try:
            text = self._ask_model(chat, summary, said, section.tokens)
        except (ModelError, BudgetError) as problem:
            return f"no new summary: {problem.message}"
        return _ModelSummary(
            keep_start(text, section.tokens - counter.count(_LEAD), counter) or text[:1], note
        )

    def _ask_model(self, chat: ChatModel, summary: str, new: str, limit: int) -> str:
        prompt = prompts.load("summary").render(
            limit=str(limit), summary=prompts.quote(summary) if summary else "(none)", new=new
        )
        return chat.ask(
            ChatRequest((Prompted("user", prompt),), "summary", max_tokens=max(64, 2 * limit))
        ).text.strip()

    # ----------------------------------------------------------------------------------------------
    # records

    def roll(self, job: Job) -> None:
        """Update a conversation's summary with newly learned statements.

        Without news or a model it stays. ModelError, BudgetError: the model failed; the summary
        stays, and the job is tried again.
        """
        parts = self._deps
        scope = Scope.parse(job.payload["scope"])
        session = str(job.payload.get("session", ""))
        current = self._find_summary(scope, session, "rolling")
        covered = set(current.meta.get("ids", ())) if current else set()
        new = [
            record
            for record in self._load_statements(
                scope, session, list(job.payload.get("items", ())), current
            )
            if record.id not in covered
        ]
        if parts.chat is None or not new:
            parts.store.finish(job.lease, parts.clock())
            return
        facts = "\n".join(f"- {prompts.quote(record.text)}" for record in new)
        text = self._ask_model(
            parts.chat, current.text if current else "", facts, self._settings.tokens
        )
        kept = keep_start(text, self._settings.tokens, parts.counter)
        ids = [*(current.meta.get("ids", ()) if current else ()), *(record.id for record in new)]
        self._save(scope, session, "rolling", current, kept, {"ids": ids[-_KEPT:]}, new, job.lease)

    def _load_statements(
        self, scope: Scope, session: str, items: list[str], current: Record | None
    ) -> list[Record]:
        found = self._deps.store.get(scope.owner, items)
        if current is None:
            query = RecordQuery(
                ScopeReach(scope.owner, (scope,)),
                STATED,
                session=session,
                order="oldest",
                limit=_FACTS,
            )
            found = tuple(
                {one.id: one for one in (*found, *self._deps.store.find(query).records)}.values()
            )
        # A statement over the conversation's cap is out of reach, and no less true.
        return [
            one
            for one in found
            if one.kind in STATED and (one.status is Status.ACTIVE or EVICTED in one.meta)
        ]

    def _find_summary(self, scope: Scope, session: str, what: Running) -> Record | None:
        return find_summary(self._deps.store, scope, session, what)

    def _save(
        self,
        scope: Scope,
        session: str,
        what: Running,
        current: Record | None,
        text: str,
        meta: dict[str, Any],
        sources: Sequence[Record] = (),
        lease: str = "",
    ) -> Record:
        """Save the summary with the job's end.

        ConflictError: it changed meanwhile, or what it was made of.
        """
        now = self._deps.clock()
        evidence = tuple(
            Evidence("", source)
            for source in dict.fromkeys(
                [
                    *(item.source for item in (current.evidence if current else ())),
                    *(one.id for one in sources),
                ]
            )
        )[-_KEPT:]
        checks = check_sources(scope.owner, sources, self._deps.store)
        fields: dict[str, Any] = {
            "text": text,
            "meta": {RUNNING: what, **meta},
            "evidence": evidence,
        }
        finish = (lease,) if lease else ()
        if current is None:
            record = self._build_record(scope, session, what, fields, now)
            self._deps.store.commit(
                WriteBatch(
                    "summary",
                    "begun",
                    now,
                    puts=(NewRecord(record),),
                    changes=checks,
                    finish=finish,
                )
            )
            return record
        change = RecordChange(
            owner=scope.owner,
            id=current.id,
            fields=fields,
            action="summarise",
            expect=current.version,
        )
        self._deps.store.commit(
            WriteBatch(
                "summary", "brought up to date", now, changes=(*checks, change), finish=finish
            )
        )
        return self._deps.store.get(scope.owner, [current.id])[0]

    def _build_record(
        self, scope: Scope, session: str, what: Running, fields: dict[str, Any], now: datetime
    ) -> Record:
        _, name = _find_latest(self._deps.store, scope, session, what)
        model = self._deps.chat.name if self._deps.chat else ""
        return Record(
            id=name,
            scope=scope,
            kind=Kind.SUMMARY,
            recorded_at=now,
            layer=LAYER_OF[Kind.SUMMARY],
            role="summary",
            session=session,
            category="conversation",
            provenance=Provenance(
                "assistant", model, prompts.load("summary").hash, f"{what} summary"
            ),
            trust=0.6,
            **fields,
        )

    def _find_sources(self, scope: Scope, older: Sequence[Message]) -> tuple[Record, ...]:
        """Find stored turns among the messages: erasing one erases the summary too."""
        names = [str(message["id"]) for message in older]
        reach = ScopeReach(scope.owner, (scope,))
        query = RecordQuery(
            reach,
            statuses=(),
            where=Where("and", (Condition("external_id", "in", names),)),
            limit=max(len(names), 1),
        )
        return self._deps.store.find(query).records


@dataclass(frozen=True, slots=True)
class _ModelSummary:
    text: str
    note: str = ""

    def meta(self, older: Sequence[Message], covered: Sequence[str]) -> dict[str, Any]:
        names = [str(message["id"]) for message in older]
        return {"last": names[-1], "ids": [*covered, *names][-_KEPT:]}


def find_summary(
    store: Store, scope: Scope, session: str = "", what: Running = "rolling"
) -> Record | None:
    """Find the active summary of a conversation; None where there is none."""
    record, _ = _find_latest(store, scope, session, what)
    return record if record is not None and record.status is Status.ACTIVE else None


def _find_latest(
    store: Store, scope: Scope, session: str, what: Running
) -> tuple[Record | None, str]:
    """Find the newest generation, and the id of the next one.

    A forgotten or purged summary is not overwritten. ConflictError: too many generations.
    """
    record: Record | None = None
    for generation in range(_KEPT):
        name = summary_id(scope, session, what, generation)
        found = store.get(scope.owner, [name])
        if not found:
            return record, name
        record = found[0]
        if record.status is Status.ACTIVE:
            return record, name
    raise ConflictError(
        "This conversation's summary was erased too often.", hint="Use another session."
    )


def summary_id(scope: Scope, session: str, what: Running, generation: int = 0) -> str:
    """Return the stable id of a conversation's summary.

    ``generation`` counts summaries that were forgotten or purged.
    """
    text = "\x1f".join((scope.key, session, what, str(generation)))
    return (
        "0" * 10 + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    )


def _apply_limits(section: SummarySettings, limits: dict[str, int]) -> SummarySettings:
    if unknown := set(limits) - {"max_tokens", "start_tokens", "tokens"}:
        raise InputError(
            f"fit does not take {min(unknown)}.",
            hint="It takes max_tokens, start_tokens and tokens.",
        )
    if not limits:
        return section
    try:
        return SummarySettings.model_validate({**section.model_dump(), **limits})
    except ValueError as problem:
        raise InputError(
            f"These limits are invalid: {problem}.", hint="tokens must be less than max_tokens."
        ) from None


def _format_message(message: Message) -> str:
    calls = [
        call.get("function", {}).get("name") or call.get("name")
        for call in message.get("tool_calls") or ()
        if isinstance(call, dict)
    ]
    text = text_of(message) or (
        f"(calls {', '.join(str(name) for name in calls)})" if calls else ""
    )
    return f"{message.get('role', 'user')}: {prompts.quote(text)}"
