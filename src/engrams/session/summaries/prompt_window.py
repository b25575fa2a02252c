"""Prompt window: messages within a budget, the older ones summarised.

Leading system messages stay. The newest messages that fit into half of the room stay, so that the
next few need no new summary; those before them go into the running summary. Where no model can
summarise, the oldest turns are dropped, after they were stored.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from engrams import prompts
from engrams.core import Record, Scope
from engrams.errors import BudgetError, InputError, ModelError
from engrams.extract.memory_requests import mark_unsaved
from engrams.ports import ChatModel, Condition, RecordQuery, ScopeReach, Where
from engrams.session.summaries import message_window
from engrams.session.summaries.dependencies import SummaryDeps
from engrams.session.summaries.message_flush import MessageFlusher
from engrams.session.summaries.message_window import (
    Message,
    count_tokens,
    keep_end,
    keep_start,
    text_of,
)
from engrams.session.summaries.summary_records import (
    MAX_COVERED,
    SummaryKey,
    SummaryRecords,
    SummaryUpdate,
)
from engrams.session.summaries.summary_request import ask_for_summary
from engrams.settings import SummarySettings

_log = logging.getLogger(__name__)
_LEAD = "What was said before, in short: "
"""Beginning of the message that holds the summary."""
_SLACK_TOKENS = 16
"""Room for the markup of the summary's message."""
_CHARACTERS_PER_TOKEN = 64
"""Longest token that is reckoned with where a text is cut before its tokens are counted."""


@dataclass(frozen=True, slots=True)
class PromptMessageWindow:
    """Messages within a budget: system messages, summary, newest messages."""

    messages: tuple[Message, ...]
    summary: str = ""
    """Text of the summary; empty where nothing was summarised."""
    last: str = ""
    """Id of the last message that the summary covers."""
    dropped: tuple[Message, ...] = ()
    """Messages that were neither kept nor summarised; their text is in memory."""
    notes: tuple[str, ...] = ()
    """Problems on the way."""


@dataclass(slots=True)
class _WindowState:
    """State of one fit, changed step by step."""

    lead: tuple[Message, ...]
    """Leading system messages."""
    pending: Sequence[Message]
    """Messages that the summary does not cover."""
    record: Record | None
    """The running summary as stored."""
    summary: str = ""
    last: str = ""
    """Id of the last message that the summary covers."""
    note: str = ""
    """Why there is no new summary, or what it lacks."""

    def assemble(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the lead, the summary as a system message, and messages."""
        if not self.summary:
            return (*self.lead, *messages)
        summary_message = {
            "id": self.record.id if self.record else "summary",
            "role": "system",
            "content": _LEAD + self.summary,
        }
        return (*self.lead, summary_message, *messages)


class PromptWindowFitter:
    """Fits messages into a budget, by one call to the chat model at most."""

    def __init__(self, deps: SummaryDeps, records: SummaryRecords, flusher: MessageFlusher) -> None:
        self._deps = deps
        self._records = records
        self._flusher = flusher

    def fit(
        self, messages: Sequence[Message], scope: Scope, session: str, section: SummarySettings
    ) -> PromptMessageWindow:
        """Fit messages into ``section.max_tokens``.

        ConflictError: somebody else changed the summary meanwhile. InputError: a message was
        summarised before.
        """
        key = SummaryKey(scope, session, "window")
        state = self._load_state(messages, key)
        whole = state.assemble(state.pending)
        budget = min(section.max_tokens, section.start_tokens or section.max_tokens)
        if count_tokens(whole, self._deps.counter) <= budget:
            unchanged = tuple(messages) if state.record is None else whole
            return PromptMessageWindow(unchanged, state.summary, state.last)
        self._summarise_older(state, key, section, budget)
        return self._build_window(state, key, section)

    def _load_state(self, messages: Sequence[Message], key: SummaryKey) -> _WindowState:
        """Find what the stored summary covers, and what comes after it."""
        lead, conversation = message_window.split_lead(messages)
        record = self._records.find(key)
        if record is None:
            return _WindowState(lead, conversation, None)
        # A caller may give back the window of the last call, with the summary's message.
        lead = tuple(message for message in lead if message["id"] != record.id)
        last = str(record.meta.get("last", ""))
        covered_ids = [message["id"] for message in conversation]
        start = covered_ids.index(last) + 1 if last in covered_ids else 0
        return _WindowState(lead, conversation[start:], record, record.text, last)

    def _summarise_older(
        self, state: _WindowState, key: SummaryKey, section: SummarySettings, budget: int
    ) -> None:
        """Bring the summary up to date with the older messages, where a model can."""
        counter = self._deps.counter
        room = budget - count_tokens(state.lead, counter) - section.tokens - _SLACK_TOKENS
        # Half of the room for the newest, so that the next few messages need no new summary.
        end = message_window.find_cut(state.pending, max(room, 0) // 2, counter)
        older = state.pending[:end]
        covered_ids: list[str] = list(state.record.meta.get("ids", ())) if state.record else []
        _refuse_covered(older, covered_ids)
        chat = self._deps.chat
        if chat is None:
            state.note = "there is no chat model"
            return
        if not older:
            return
        self._deps.hasten_extraction(scope=key.scope, session=key.session)
        # Found before the model is asked: a source that changes meanwhile makes the save conflict.
        sources = self._find_sources(key.scope, older)
        addition, cut_note = self._format_addition(older, section)
        try:
            text = self._write_summary(chat, state.summary, addition, section)
        except (ModelError, BudgetError) as problem:
            state.note = f"no new summary: {problem.message}"
            return
        older_ids = [str(message["id"]) for message in older]
        meta = {"last": older_ids[-1], "ids": [*covered_ids, *older_ids][-MAX_COVERED:]}
        state.record = self._records.save(key, state.record, SummaryUpdate(text, meta, sources))
        state.summary = text
        state.last = older_ids[-1]
        state.pending = state.pending[end:]
        state.note = cut_note
        if cut_note:
            self._flusher.flush(older, key.scope, key.session, "trim")

    def _format_addition(
        self, older: Sequence[Message], section: SummarySettings
    ) -> tuple[str, str]:
        """Format messages for the model; with a note where that was too long, and cut.

        Messages that somebody asked not to save are left out.
        """
        counter = self._deps.counter
        unsaved = mark_unsaved(
            (str(message.get("role") or "user"), text_of(message)) for message in older
        )
        addition = "\n".join(
            _format_message(message)
            for message, is_unsaved in zip(older, unsaved, strict=True)
            if not is_unsaved
        )
        if counter.count(addition) <= section.max_tokens:
            return addition, ""
        note = f"what was to be summarised was cut to its last {section.max_tokens} tokens"
        _log.warning("context: %s", note)
        # Cut roughly first: counting the tokens of a very long text takes long.
        end = addition[-section.max_tokens * _CHARACTERS_PER_TOKEN :]
        return keep_end(end, section.max_tokens, counter), note

    def _write_summary(
        self, chat: ChatModel, summary: str, addition: str, section: SummarySettings
    ) -> str:
        """Ask for the new summary, cut to its budget with the lead."""
        counter = self._deps.counter
        text = ask_for_summary(chat, summary, addition, section.tokens)
        room = section.tokens - counter.count(_LEAD)
        return keep_start(text, room, counter) or text[:1]

    def _find_sources(self, scope: Scope, older: Sequence[Message]) -> tuple[Record, ...]:
        """Find stored turns among the messages: erasing one erases the summary too."""
        message_ids = [str(message["id"]) for message in older]
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)),
            statuses=(),
            where=Where("and", (Condition("external_id", "in", message_ids),)),
            limit=max(len(message_ids), 1),
        )
        return self._deps.store.find(query).records

    def _build_window(
        self, state: _WindowState, key: SummaryKey, section: SummarySettings
    ) -> PromptMessageWindow:
        """Build the window; drop the oldest turns where it is too long."""
        counter = self._deps.counter
        notes = [state.note] if state.note else []
        front = state.assemble(())
        room = section.max_tokens - count_tokens(front, counter)
        if count_tokens(state.pending, counter) <= room:
            return PromptMessageWindow(
                (*front, *state.pending), state.summary, state.last, notes=tuple(notes)
            )
        remaining, dropped = message_window.trim_messages(
            state.pending, max(room, 0), counter, section.tool_characters
        )
        if dropped:
            notes.append(f"{len(dropped)} of the oldest messages were dropped")
        remaining_ids = {id(message) for message in remaining}
        cut_short = [
            message for message in state.pending[len(dropped) :] if id(message) not in remaining_ids
        ]
        if cut_short:
            notes.append(f"{len(cut_short)} of the remaining messages were shortened")
        if dropped or cut_short:
            leaving = [*state.pending[: len(dropped)], *cut_short]
            self._flusher.flush(leaving, key.scope, key.session, "overflow")
        if count_tokens(remaining, counter) > room:
            notes.append("the messages that must stay are over the budget by themselves")
        for note in notes:
            _log.warning("context: %s", note)
        return PromptMessageWindow(
            messages=(*front, *remaining),
            summary=state.summary,
            last=state.last,
            dropped=tuple(dropped),
            notes=tuple(notes),
        )


def _refuse_covered(older: Sequence[Message], covered_ids: Sequence[str]) -> None:
    """Raise InputError for a message that the summary covers already."""
    covered = set(covered_ids)
    repeated_ids = [str(message["id"]) for message in older if message["id"] in covered]
    if repeated_ids:
        raise InputError(
            f"The message {repeated_ids[0]!r} was summarised before.",
            hint="Give the messages in order, each summarised one only once.",
        )


def _format_message(message: Message) -> str:
    text = text_of(message)
    if not text:
        tool_names = [
            call.get("function", {}).get("name") or call.get("name")
            for call in message.get("tool_calls") or ()
            if isinstance(call, dict)
        ]
        if tool_names:
            text = f"(calls {', '.join(str(name) for name in tool_names)})"
    return f"{message.get('role', 'user')}: {prompts.quote(text)}"
