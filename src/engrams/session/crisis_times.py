"""Times of a session in which its person was in a crisis, as the caller reported it.

``note_crisis`` keeps them in the session's row, and ``find_crisis_turns`` finds what was said then.
They stay noted where the crisis is reported to be over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from engrams.core import Record
from engrams.ports import SessionRow

CRISIS = "crisis"
CRISIS_TIMES = "crisis_times"
"""Field of a session's row: begin and end of each crisis; the end is empty while it lasts."""
_MAX_TIMES = 50
"""Crises of a session beyond which the first two, and the time between, are noted as one."""


def note_crisis(row: SessionRow, crisis: str, now: datetime) -> dict[str, object]:
    """Return the data of a session with a reported crisis. Empty: none was reported."""
    if not crisis:
        return dict(row.data)
    reported = replace(row, data={**row.data, CRISIS: crisis})
    times = [list(span) for span in row.data.get(CRISIS_TIMES, ())]
    if reported.is_in_crisis and not row.is_in_crisis:
        times.append([now.isoformat(), ""])
    elif row.is_in_crisis and not reported.is_in_crisis:
        begin = times.pop()[0] if times else row.started_at.isoformat()
        times.append([begin, now.isoformat()])
    if len(times) > _MAX_TIMES:
        times[:2] = [[times[0][0], times[1][1]]]
    return {**reported.data, CRISIS_TIMES: times} if times else dict(reported.data)


def find_crisis_turns(row: SessionRow, turns: Sequence[Record]) -> list[Record]:
    """Find the turns of a crisis: those said in it, and the message by which it was noticed.

    ``turns``: of the session, oldest first. The message was said right before the report, if not after.
    """
    crisis_turns: dict[str, Record] = {}
    for begin, end in row.data.get(CRISIS_TIMES, ()):
        begun_at = datetime.fromisoformat(begin)
        ended_at = datetime.fromisoformat(end) if end else None
        earlier = [turn for turn in turns if turn.recorded_at < begun_at and turn.role == "user"]
        during = [
            turn
            for turn in turns
            if turn.recorded_at >= begun_at and (ended_at is None or turn.recorded_at <= ended_at)
        ]
        crisis_turns |= {turn.id: turn for turn in (*earlier[-1:], *during)}
    return list(crisis_turns.values())
