"""Stored context that extraction needs to understand messages: other turns, names, known facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise

from engrams.core import STATEMENT_KINDS, Kind, Record, Status
from engrams.core.timer_messages import drop_timer_turns
from engrams.extract.gate import BRIEF, gate_text
from engrams.ports import RecordQuery, ScopeReach
from engrams.write.related import scopes_in_reach
from engrams.write.write_deps import WriteDeps

_TURNS_BEFORE = 4
_TURNS_AMONG = 100
"""Turns read before the first message, and among and after the messages."""
_KNOWN_STATEMENTS = 80
"""Statements that a model is shown, so that it repeats none."""
_READ_BESIDE = 5
"""Times as many are read, as those of other projects are left out."""
_QUESTION_MARK = re.compile(r"[?？؟]")
_ANSWERING_ROLES = ("assistant", "tool")
_ROLES = ("user", "assistant", "system", "tool")


def find_context(records: Sequence[Record], deps: WriteDeps) -> list[Record]:
    """Find other turns of a conversation, among and before these.

    The last ``write.context_turns`` at most, in order.
    """
    limit = deps.settings.write.context_turns
    if not limit:
        return []
    first = records[0]
    turns = _query_turns(first)
    # Turns are listed by id, which begins with their time.
    before = deps.store.find(replace(turns, after=first.id, limit=_TURNS_BEFORE)).records
    among = deps.store.find(
        replace(turns, order="oldest", after=first.id, limit=_TURNS_AMONG)
    ).records
    own_ids = {record.id for record in records}
    last_key = records[-1].story_key
    context = [
        turn
        for turn in (*before[::-1], *among)
        if turn.session == first.session
        and turn.id not in own_ids
        and turn.role in ("user", "assistant", "")
        and turn.story_key < last_key
    ]
    return context[-limit:]


def find_reply_ids(records: Sequence[Record], deps: WriteDeps) -> frozenset[str]:
    """Find the ids of brief turns right after a question of the assistant."""
    if not any(_is_brief(record) for record in records):
        return frozenset()
    turns = sorted(
        {turn.id: turn for turn in (*find_context(records, deps), *records)}.values(),
        key=lambda turn: turn.story_key,
    )
    return frozenset(
        turn.id
        for before, turn in pairwise(turns)
        if before.role == "assistant"
        and before.session == turn.session
        and _QUESTION_MARK.search(before.text)
    )


def find_timer_ids(records: Sequence[Record], deps: WriteDeps) -> frozenset[str]:
    """Find the ids of the messages that a timer sent, and of the answers to them."""
    first = records[0]
    turns = [*records]
    if any(record.role in _ANSWERING_ROLES for record in records):
        before = replace(_query_turns(first), after=first.id, limit=_TURNS_BEFORE)
        turns += deps.store.find(before).records
    by_time = sorted(turns, key=lambda turn: turn.story_key)
    return frozenset(turn.id for turn in turns) - {turn.id for turn in drop_timer_turns(by_time)}


def find_known_statements(record: Record, deps: WriteDeps) -> tuple[Record, ...]:
    """Find statements to show the model, so that it repeats none.

    Those of the message's project and of its person only: what another project knows is neither a
    repetition here nor anything that this project's model may read.
    """
    reach = scopes_in_reach(record.scope, deps.settings.write.reach)
    limit = _KNOWN_STATEMENTS * _READ_BESIDE
    page = deps.store.find(RecordQuery(reach, STATEMENT_KINDS, limit=limit))
    above = record.scope.durable.chain()
    if deps.settings.write.reach == "conversation":
        return page.records[:_KNOWN_STATEMENTS]
    own = (statement for statement in page.records if statement.scope.durable in above)
    return tuple(islice(own, _KNOWN_STATEMENTS))


def find_speaker_names(records: Sequence[Record], deps: WriteDeps) -> frozenset[str]:
    """Return the names of the conversation's speakers, lower case.

    Without the bare roles (user, assistant, system, tool).
    """
    reach = scopes_in_reach(records[0].scope, deps.settings.write.reach)
    speakers = {record.speaker for record in records} | set(deps.store.speakers(reach))
    return frozenset(name.strip().lower() for name in speakers if name.strip()).difference(_ROLES)


def _query_turns(record: Record) -> RecordQuery:
    """Query the turns of a record's conversation."""
    return RecordQuery(
        ScopeReach(record.scope.owner, (record.scope,)),
        (Kind.TURN,),
        (Status.ACTIVE, Status.ARCHIVED),
        session=record.session,
    )


def _is_brief(record: Record) -> bool:
    refusal = gate_text(record.text)
    return refusal is not None and refusal.reason in BRIEF
