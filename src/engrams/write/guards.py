"""Guards of a write: which turns are not stored at all. Enter at ``admit``.

Memory is off, the session is incognito, or the message asks not to be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from engrams.core import Receipt, Scope, StageDecision, Turn
from engrams.core.process_peers import ProcessPeers
from engrams.errors import ConflictError
from engrams.extract.memory_requests import (
    forbids_storage,
    is_about_before,
    is_bare_request,
    mark_unsaved,
)
from engrams.frozen_data import dataclass, replace
from engrams.ports import UNSAVED, OwnerStateStore
from engrams.write.announced_texts import AnnouncedTextLog
from engrams.write.privacy_modes import IncognitoSessions
from engrams.write.write_deps import WriteDeps

_OFF = StageDecision("switch", "refused", "memory is off: the setting `enabled` is false")
_UNSAVED = StageDecision("privacy", "skip", "not saved, as the message asks")
_MAX_CONVERSATIONS = 10_000
"""Conversations whose last message was not saved; the oldest is dropped."""
_MAX_NOTED = 100
"""Sessions of an owner to drop statements of at their end."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class WriteGuards:
    """Guards of the writes of one engine."""

    deps: WriteDeps
    incognito: IncognitoSessions
    no_save_requests: NoSaveRequestLog
    announced_texts: AnnouncedTextLog


@dataclass(frozen=True, slots=True)
class Admission:
    """Turns that may be stored, and receipts of the others."""

    turns: tuple[Turn, ...]
    """Those that may be stored, in order."""
    barred: tuple[Receipt | None, ...]
    """For each turn of the write the receipt of one that is not stored, or None."""

    def join_receipts(self, receipts: Sequence[Receipt]) -> tuple[Receipt, ...]:
        """Return the receipts of all turns, in order; ``receipts``: of those that were admitted."""
        admitted = iter(receipts)
        return tuple(receipt or next(admitted) for receipt in self.barred)


def admit(turns: Sequence[Turn], scope: Scope, guards: WriteGuards, *, is_live: bool) -> Admission:
    """Bar turns that must not be stored, and mark those that are announced as foreign texts.

    InputError: a field of one has the wrong type.
    ``is_live``: they are said now, and not imported.
    """
    now = guards.deps.clock()
    for turn in turns:
        turn.check_types()
    if not guards.deps.settings.enabled:
        refusal = Receipt("", scope, "refused", now, decisions=(_OFF,))
        return Admission((), tuple(refusal for _ in turns))
    marks = guards.no_save_requests.mark(turns, scope)
    barred = tuple(
        _bar(turn, scope, guards, now, is_unsaved=is_unsaved)
        for turn, is_unsaved in zip(turns, marks, strict=True)
    )
    pairs = list(zip(turns, barred, strict=True))
    if is_live:
        unsaved = [turn for turn, receipt in pairs if receipt and receipt.outcome == "unsaved"]
        guards.no_save_requests.note_bare(unsaved, scope)
    admitted = [turn for turn, receipt in pairs if receipt is None]
    if is_live:
        admitted = guards.announced_texts.mark(admitted, scope)
    return Admission(tuple(admitted), barred)


def _bar(
    turn: Turn, scope: Scope, guards: WriteGuards, now: datetime, *, is_unsaved: bool
) -> Receipt | None:
    """Return the receipt of a turn that must not be stored; None: it may be."""
    if guards.incognito.is_silent(scope, turn.session):
        return Receipt("", scope, "incognito", now)
    if is_unsaved:
        return Receipt("", scope, "unsaved", now, decisions=(_UNSAVED,))
    return None


# --------------------------------------------------------------------------------------------------
# requests not to be saved


class NoSaveRequestLog:
    """Conversations in which somebody asked not to be saved. Thread safe."""

    def __init__(self, states: OwnerStateStore, peers: ProcessPeers) -> None:
        self._states = states
        self._waiting = peers.table("unsaved", _MAX_CONVERSATIONS)

    def mark(self, turns: Sequence[Turn], scope: Scope) -> list[bool]:
        """Mark turns that ask not to be saved, and their answers.

        The answer may come with a later call of the same conversation.
        """
        marks = [False] * len(turns)
        for session in dict.fromkeys(turn.session for turn in turns):
            positions = [position for position, turn in enumerate(turns) if turn.session == session]
            messages = [
                (turns[position].role, f"{turns[position].text}\n{turns[position].caption}")
                for position in positions
            ]
            key = (scope.key, session)
            session_marks = mark_unsaved(messages, after=self._waiting.get(key, False))
            for position, is_marked in zip(positions, session_marks, strict=True):
                marks[position] = is_marked
            if session_marks[-1]:
                self._waiting.put(key, True)
            else:
                self._waiting.pop(key)
        if len(turns) == 1 and turns[0].role == "assistant":
            # A note that an agent adds by itself may ask for it, too.
            return [marks[0] or forbids_storage(turns[0].text)]
        return marks

    def note_bare(self, turns: Sequence[Turn], scope: Scope) -> None:
        """Note sessions with a bare "don't save that", for their end.

        Such a request is about what was said before: statements that are held for the end of the
        session are dropped then.
        """
        sessions = [
            turn.session
            for turn in turns
            if turn.session and turn.role == "user" and _is_about_session(turn.text)
        ]
        if sessions:
            change_noted(self._states, scope.owner, lambda noted: [*noted, *sessions][-_MAX_NOTED:])


def _is_about_session(text: str) -> bool:
    """True for a request not to save that tells nothing of its own: "Actually, don't save any of this"."""
    return is_bare_request(text) or (forbids_storage(text) and is_about_before(text))


def find_noted(states: OwnerStateStore, owner: Scope) -> tuple[str, ...]:
    """List the sessions in which somebody asked not to be saved."""
    return tuple(states.load_state(owner, UNSAVED).data.get("sessions", ()))


def change_noted(
    states: OwnerStateStore, owner: Scope, change: Callable[[Sequence[str]], Sequence[str]]
) -> None:
    """Update the sessions not to be saved, by compare and swap."""
    for tries_left in reversed(range(_TRIES)):
        row = states.load_state(owner, UNSAVED)
        sessions = list(dict.fromkeys(change(row.data.get("sessions", ()))))
        try:
            states.save_state(replace(row, data={"sessions": sessions}), row.token)
        except ConflictError:
            if not tries_left:
                raise
        else:
            return
