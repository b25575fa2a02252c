"""Requests about what was said before: "forget that", "don't save this conversation".

A conversation that is only stored, with no assistant to ask back, still means what it says: the
message before, or each one of the session, is forgotten with what was learned from it. ``restore``
brings it back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.core import Kind, Receipt, Record, Scope, Status, Turn
from engrams.extract.memory_requests import is_about_before, is_about_conversation
from engrams.forget.memory_forgetter import MemoryForgetter
from engrams.ports import RecordQuery, RecordStore, ScopeReach
from engrams.text.normalize import fold

_LATEST = 12
"""Messages of a conversation that are looked at for the last one."""
_LONGEST = 10_000
"""Messages of a conversation that one request forgets."""
_OF_MEMORY = re.compile(
    r"\b(?:remember|forget|memor|erinner|vergess|gedachtnis|merken|souven|oubli|reten|retien|recuerd|olvid)|记|忘|覚|忘れ"
)
"""Words of a question about memory, without accents."""
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
    in the same conversation; or all messages of the session, of its speaker and of the assistant,
    if it names the conversation.
    """
    for position, (turn, receipt) in enumerate(zip(turns, receipts, strict=True)):
        if turn.role != "user" or not is_about_before(turn.text):
            continue
        later_ids = {receipt.id, *(later.id for later in receipts[position:])}
        if turn.session and is_about_conversation(turn.text):
            meant = _find_conversation(turn, scope, later_ids, store)
        elif _answers_question(turn, scope, later_ids, store):
            continue
        else:
            meant = _find_before(turn, scope, later_ids, store)[:1]
        if meant:
            forgetter.forget(meant, scope.owner, _REASON)


def _find_conversation(
    turn: Turn, scope: Scope, later_ids: set[str], store: RecordStore
) -> list[Record]:
    """Find the messages of a turn's session before it: those of its speaker, and the answers."""
    return [
        record
        for record in _load_session(turn, scope, store, _LONGEST)
        if record.id not in later_ids
        and (record.role == "assistant" or record.speaker == turn.speaker)
    ]


def _answers_question(turn: Turn, scope: Scope, later_ids: set[str], store: RecordStore) -> bool:
    """True after a question of the assistant about something else than memory.

    "Should I keep a slice of cake for you?", "Don't keep it": that is about the cake.
    """
    before = (
        record
        for record in _load_session(turn, scope, store, _LATEST)
        if record.id not in later_ids
    )
    last = next(before, None)
    if last is None or last.role != "assistant" or not last.text.rstrip().endswith(("?", "？")):
        return False
    return _OF_MEMORY.search(fold(last.text)) is None


def _find_before(turn: Turn, scope: Scope, later_ids: set[str], store: RecordStore) -> list[Record]:
    """Find the latest messages of the same speaker before a turn, newest first."""
    return [
        record
        for record in _load_session(turn, scope, store, _LATEST)
        if record.role == "user"
        and record.speaker == turn.speaker
        and record.id not in later_ids
        and not is_about_before(record.text)
    ]


def _load_session(turn: Turn, scope: Scope, store: RecordStore, limit: int) -> list[Record]:
    """Load the latest messages of a turn's session, newest first."""
    query = RecordQuery(
        ScopeReach(scope.owner, (scope,)),
        (Kind.TURN, Kind.EXCHANGE),
        (Status.ACTIVE, Status.ARCHIVED),
        session=turn.session,
        limit=limit,
    )
    return [record for record in store.find(query).records if record.session == turn.session]
