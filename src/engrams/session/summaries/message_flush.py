"""Flush of prompt messages: stored once by id, and written into the note of the day."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import TypeAlias, get_args

from engrams.core import Kind, Receipt, Record, Scope, Status, Turn, is_blank, to_role
from engrams.core.timer_messages import SCHEDULED
from engrams.errors import InputError, RefusedError
from engrams.ports import DAILY, JobSpec, NoteReason, RecordQuery, ScopeReach
from engrams.session.summaries.dependencies import SummaryDeps
from engrams.session.summaries.message_window import Message, text_of

_FLUSHED = "flushed:"
"""Beginning of the ids that messages without their own get."""
_MOST_REPEATED = 500
"""Messages of a session, at most, that may be flushed again behind others."""
_Fingerprint: TypeAlias = tuple[str, str]
"""Role and words of a message."""
_log = logging.getLogger(__name__)


class MessageFlusher:
    """Stores messages that are about to leave a prompt. Never waits for a model."""

    def __init__(self, deps: SummaryDeps) -> None:
        self._deps = deps

    def flush(
        self, messages: Sequence[Message], scope: Scope, session: str, reason: NoteReason
    ) -> bool:
        """Store messages and enqueue the daily note. False: there is nothing new to write.

        A message without an id is known by its words and those flushed before it, also where a
        later flush begins further on, so the same messages are stored once, and what is said twice
        in them stays twice.
        Messages that a timer sent (``scheduled``, by itself or in ``meta``) keep that mark.
        InputError: they are no messages, the role of one with a text is unknown, or so is the
        reason; then nothing is stored.
        """
        if isinstance(messages, str) or not all(
            isinstance(message, Mapping) for message in messages
        ):
            raise InputError(
                "Messages are a list of objects with role and content.",
                hint='For example [{"role": "user", "content": "I keep bees"}].',
            )
        if reason not in get_args(NoteReason):
            raise InputError(
                f"There is no reason {reason!r}.",
                hint=f"The reasons are: {', '.join(get_args(NoteReason))}.",
            )
        messages_with_text = [message for message in messages if not is_blank(text_of(message))]
        external_ids = self._identify(messages_with_text, scope, session)
        turns = [
            Turn(
                text_of(message),
                role=to_role(message.get("role", "")),
                session=session,
                external_id=external_id,
                meta={SCHEDULED: True} if _is_scheduled(message) else {},
            )
            for message, external_id in zip(messages_with_text, external_ids, strict=True)
        ]
        receipt_pairs = self._write_turns(turns, scope) if turns else ()
        ids = [
            receipt.id
            for turn, receipt in receipt_pairs
            if receipt.id and not (receipt.outcome == "duplicate" and _is_made(turn.external_id))
        ]
        self._deps.hasten_extraction(scope=scope, session=session)
        if ids and self._deps.has_daily_notes:
            payload = {"owner": scope.owner.key, "items": ids, "reason": reason}
            note_job = JobSpec(DAILY, f"{scope.key}|{session}|{ids[0]}", payload)
            self._deps.store.enqueue((note_job,), self._deps.clock())
        return bool(ids)

    def _identify(self, messages: Sequence[Message], scope: Scope, session: str) -> list[str]:
        """Return the id of each message: its own, else one by its words and those before it."""
        own_ids = [str(message.get("id") or "") for message in messages]
        fingerprints = [
            _take_fingerprint(message.get("role", ""), text_of(message))
            for message, own_id in zip(messages, own_ids, strict=True)
            if not own_id
        ]
        stored = self._find_flushed(scope, session) if fingerprints else []
        made_ids = iter(_identify_by_words(fingerprints, stored, session))
        return [own_id or next(made_ids) for own_id in own_ids]

    def _find_flushed(self, scope: Scope, session: str) -> list[Record]:
        """Find the messages of a session that were flushed before, in the order of telling."""
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)),
            (Kind.TURN,),
            tuple(Status),
            session=session,
            limit=_MOST_REPEATED,
        )
        flushed = [
            record
            for record in self._deps.store.find(query).records
            if record.session == session and _is_made(record.external_id)
        ]
        return sorted(flushed, key=lambda record: record.story_key)

    def _write_turns(self, turns: Sequence[Turn], scope: Scope) -> tuple[tuple[Turn, Receipt], ...]:
        """Write turns; a refused turn does not cost its neighbours."""
        try:
            receipts = self._deps.write_turns(turns, scope, Kind.TURN)
            return tuple(zip(turns, receipts, strict=True))
        except (InputError, RefusedError) as problem:
            if len(turns) == 1:
                _log.warning("context: a message was not stored: %s", problem.message)
                return ()
            return tuple(pair for turn in turns for pair in self._write_turns([turn], scope))


def _identify_by_words(
    fingerprints: Sequence[_Fingerprint], stored: Sequence[Record], session: str
) -> list[str]:
    """Return ids of messages by their words and those before them; ``stored``: flushed before.

    Messages that are stored in a row keep their ids, and further ones follow them. A single message
    may be said again, unless it is the one stored last.
    """
    external_ids: list[str] = []
    stored_fingerprints = [_take_fingerprint(record.role, record.text) for record in stored]
    for start in range(len(stored)):
        run = stored_fingerprints[start : start + len(fingerprints)]
        is_known = len(run) > 1 or start == len(stored) - 1
        if is_known and list(fingerprints[: len(run)]) == run:
            external_ids = [record.external_id for record in stored[start : start + len(run)]]
            break
    digest = hashlib.sha256((external_ids[-1] if external_ids else session).encode())
    for fingerprint in fingerprints[len(external_ids) :]:
        digest.update(json.dumps(fingerprint).encode())
        external_ids.append(f"{_FLUSHED}{digest.hexdigest()[:32]}")
    return external_ids


def _take_fingerprint(role: str, text: str) -> _Fingerprint:
    return (to_role(role), " ".join(text.split()))


def _is_made(external_id: str) -> bool:
    """Return True for an id that only an earlier flush of the same messages can have stored."""
    return external_id.startswith(_FLUSHED)


def _is_scheduled(message: Message) -> bool:
    """Return True for a message that a timer sent."""
    meta = message.get("meta")
    return bool(message.get(SCHEDULED) or (isinstance(meta, Mapping) and meta.get(SCHEDULED)))
