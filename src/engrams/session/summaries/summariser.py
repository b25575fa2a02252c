"""Door of running summaries, reached as ``engine.summaries``."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from engrams.core import Scope, ScopeInput, conversation
from engrams.errors import ConflictError, InputError
from engrams.ports import Job, NoteReason
from engrams.session.summaries.dependencies import SummaryDeps
from engrams.session.summaries.message_flush import MessageFlusher
from engrams.session.summaries.message_window import Message, check_ids
from engrams.session.summaries.prompt_window import PromptMessageWindow, PromptWindowFitter
from engrams.session.summaries.rolling_summary_job import RollingSummaryUpdater
from engrams.session.summaries.summary_records import SummaryKey, SummaryKind, SummaryRecords
from engrams.settings import SummarySettings

_MAX_ATTEMPTS = 3


class ConversationSummariser:
    """Running summaries of conversations. Thread safe; a concurrent update is retried."""

    def __init__(self, deps: SummaryDeps, settings: SummarySettings) -> None:
        self._settings = settings
        self._records = SummaryRecords(deps)
        self._flusher = MessageFlusher(deps)
        self._fitter = PromptWindowFitter(deps, self._records, self._flusher)
        self._updater = RollingSummaryUpdater(deps, self._records, settings)

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
        check_ids(messages)
        summarised_scope = Scope.of(scope)
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            try:
                return self._fitter.fit(messages, summarised_scope, session, section)
            except ConflictError:
                if not attempts_left:
                    raise
        raise AssertionError("unreachable")

    def of(self, scope: ScopeInput, session: str = "", kind: SummaryKind = "rolling") -> str:
        """Return the current summary of a conversation; empty without one."""
        summarised_scope = Scope.of(scope)
        if kind == "rolling":
            summarised_scope, session = conversation(summarised_scope, session)
        record = self._records.find(SummaryKey(summarised_scope, session, kind))
        return record.text if record else ""

    def flush(
        self,
        messages: Sequence[Message],
        *,
        scope: ScopeInput,
        session: str = "",
        reason: NoteReason = "trim",
    ) -> bool:
        """Store messages, once by id, and enqueue the daily note.

        False: there is nothing to write. Never waits for a model.
        """
        return self._flusher.flush(messages, Scope.of(scope), session, reason)

    def run_job(self, job: Job) -> None:
        """Update a rolling summary with newly learned statements: the job ``ROLL``."""
        self._updater.run_job(job)


def _apply_limits(section: SummarySettings, limits: dict[str, int]) -> SummarySettings:
    unknown = set(limits) - {"max_tokens", "start_tokens", "tokens"}
    if unknown:
        raise InputError(
            f"fit does not take {min(unknown)}.",
            hint="It takes max_tokens, start_tokens and tokens.",
        )
    if not limits:
        return section
    try:
        return SummarySettings.model_validate({**section.model_dump(), **limits})
    except ValidationError as problem:
        first = problem.errors()[0]
        name = ".".join(map(str, first["loc"])) or "the limits"
        reason = first["msg"].removeprefix("Value error, ").rstrip(".")
        raise InputError(
            f"fit cannot use {name}: {reason}.",
            hint="All are whole numbers, and tokens is less than max_tokens. What you leave out is"
            f" as set: max_tokens {section.max_tokens}, tokens {section.tokens}.",
        ) from None
