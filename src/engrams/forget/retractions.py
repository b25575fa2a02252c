"""Requests that are about the message before: "forget that", "don't save my last message".

A conversation that is only stored, with no assistant to ask back, still means what it says: the
message before is forgotten with what was learned from it. ``restore`` brings it back.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Kind, Receipt, Record, Scope, Status, Turn
from engrams.extract.memory_requests import is_about_before
from engrams.forget.memory_forgetter import MemoryForgetter
from engrams.ports import RecordQuery, RecordStore, ScopeReach

_LATEST = 12
"""Messages of a conversation that are looked at."""
_REASON = "asked for in the conversation"


def retract_said_before(
    turns: Sequence[Turn],
    receipts: Sequence[Receipt],
    scope: Scope,
    store: RecordStore,
    forgetter: MemoryForgetter,
) -> None:
    """Forget the messages that turns of the same write ask to forget, or not to save.

    ``receipts``: those of ``turns``, in order. A request means its speaker's last message before it
    in the same conversation.
    """
    for position, (turn, receipt) in enumerate(zip(turns, receipts, strict=True)):
        if turn.role != "user" or not is_about_before(turn.text):
            continue
        later_ids = {receipt.id, *(later.id for later in receipts[position:])}
        meant = _find_before(turn, scope, later_ids, store)
        if meant is not None:
            forgetter.forget([meant], scope.owner, _REASON)


def _find_before(
    turn: Turn, scope: Scope, later_ids: set[str], store: RecordStore
) -> Record | None:
    """Find the last message of the same speaker before a turn; None: there is none."""
    query = RecordQuery(
        ScopeReach(scope.owner, (scope,)),
        (Kind.TURN, Kind.EXCHANGE),
        (Status.ACTIVE, Status.ARCHIVED),
        session=turn.session,
        limit=_LATEST,
    )
    return next(
        (
            record
            for record in store.find(query).records
            if record.session == turn.session
            and record.role == "user"
            and record.speaker == turn.speaker
            and record.id not in later_ids
            and not is_about_before(record.text)
        ),
        None,
    )
