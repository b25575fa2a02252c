"""A whole engine that learns a conversation from a recorded model over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.model.data import Conversation
from bench.model.recorded import RecordedModel
from engrams.core import Kind, Record, Status
from engrams.testing import ScriptedModel, SettableClock, temp_engine

STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)
_PATIENCE = 120.0


@dataclass(frozen=True)
class Learned:
    """Statements in memory after a conversation, the accounts of its sessions, and what they cost."""

    current: tuple[Record, ...]
    past: tuple[Record, ...]
    accounts: tuple[Record, ...]
    calls: int
    tokens: int


def replay(conversation: Conversation, *, record: bool = False) -> Learned:
    """Let an engine of the default preset learn session by session.

    RecordingError: the product asks something else than was recorded.
    """
    recorded = RecordedModel(conversation.id, record)
    clock = SettableClock(_moment(conversation, 0))
    with (
        ScriptedModel(answer=recorded.answer) as model,
        temp_engine(
            clock=clock,
            chat__provider="openai",
            chat__model="recorded",
            chat__url=model.url,
            jobs__workers=0,
        ) as memory,
    ):
        for session in conversation.sessions:
            for turn in session:
                assert turn.at is not None
                clock.set(turn.at)
                memory.observe(turn, scope=("user", "owner"))
            clock.forward(hours=1)
            assert memory.drain(_PATIENCE), f"{conversation.id}: jobs are left: {memory.status()}"
            recorded.check()
        every = memory.list(
            scope=("user", "owner"), kinds=STATEMENTS, statuses=tuple(Status), limit=500
        ).records
        accounts = memory.list(scope=("user", "owner"), kinds=(Kind.EPISODE,)).records
        now = clock()
    recorded.close()
    current = tuple(one for one in every if one.status is Status.ACTIVE and not _is_over(one, now))
    return Learned(current, _others(every, current), accounts, recorded.calls, recorded.tokens)


def _moment(conversation: Conversation, session: int) -> datetime:
    at = conversation.sessions[session][0].at
    assert at is not None
    return at


def _is_over(record: Record, now: datetime) -> bool:
    return record.valid_to is not None and record.valid_to <= now


def _others(every: Sequence[Record], current: Sequence[Record]) -> tuple[Record, ...]:
    known = {one.id for one in current}
    return tuple(one for one in every if one.id not in known and one.status is not Status.CANDIDATE)
