"""Flush of prompt messages: stored once by id, and written into the note of the day."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from engrams.core import Kind, Receipt, Scope, Turn, is_blank, to_role
from engrams.errors import InputError, RefusedError
from engrams.ports import DAILY, JobSpec, NoteReason
from engrams.session.summaries.dependencies import SummaryDeps
from engrams.session.summaries.message_window import Message, text_of

_log = logging.getLogger(__name__)


class MessageFlusher:
    """Stores messages that are about to leave a prompt. Never waits for a model."""

    def __init__(self, deps: SummaryDeps) -> None:
        self._deps = deps

    def flush(
        self, messages: Sequence[Message], scope: Scope, session: str, reason: NoteReason
    ) -> bool:
        """Store messages and enqueue the daily note. False: there is nothing to write.

        Messages that a timer sent (``scheduled``, by itself or in ``meta``) keep that mark.
        InputError: they are no messages, or the role of one with a text is unknown; then nothing is
        stored.
        """
        if isinstance(messages, str) or not all(
            isinstance(message, Mapping) for message in messages
        ):
            raise InputError(
                "Messages are a list of objects with role and content.",
                hint='For example [{"role": "user", "content": "I keep bees"}].',
            )
        turns = [
            Turn(
                text_of(message),
                role=to_role(message.get("role", "")),
                session=session,
                external_id=str(message.get("id") or ""),
                meta={"scheduled": True} if _is_scheduled(message) else {},
            )
            for message in messages
            if not is_blank(text_of(message))
        ]
        receipts = self._write_turns(turns, scope) if turns else ()
        ids = [receipt.id for receipt in receipts if receipt.id]
        self._deps.hasten_extraction(scope=scope, session=session)
        if ids and self._deps.has_daily_notes:
            payload = {"owner": scope.owner.key, "items": ids, "reason": reason}
            note_job = JobSpec(DAILY, f"{scope.key}|{session}|{ids[0]}", payload)
            self._deps.store.enqueue((note_job,), self._deps.clock())
        return bool(ids)

    def _write_turns(self, turns: Sequence[Turn], scope: Scope) -> tuple[Receipt, ...]:
        """Write turns; a refused turn does not cost its neighbours."""
        try:
            return self._deps.write_turns(turns, scope, Kind.TURN)
        except (InputError, RefusedError) as problem:
            if len(turns) == 1:
                _log.warning("context: a message was not stored: %s", problem.message)
                return ()
            return tuple(receipt for turn in turns for receipt in self._write_turns([turn], scope))


def _is_scheduled(message: Message) -> bool:
    """Return True for a message that a timer sent."""
    meta = message.get("meta")
    return bool(message.get("scheduled") or (isinstance(meta, Mapping) and meta.get("scheduled")))
