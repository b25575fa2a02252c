"""Interval of time that a text mentions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeAlias

from engrams.frozen_data import dataclass

Grain: TypeAlias = Literal[
    "minute", "hour", "day", "week", "weekend", "month", "season", "year", "range"
]

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)

TimeDirection: TypeAlias = Literal["as told", "past", "future"]
"""Where to look for a time that names no year, month or week.

``as told`` asks the words around it; ``past`` takes the latest until now, ``future`` the next.
"""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Hold a time expression and its half-open UTC interval.

    ``grain``: how exact it is; anything of no single calendar unit (quarter, decade, "from May to
    July") is "range". ``text``: the expression as written, ``at``: where it begins. ``recurs``: the
    text named no year ("in March", "on Christmas"), so another year is possible. An open side
    ("before 2019") is EARLIEST or LATEST.
    """

    start: datetime
    end: datetime
    grain: Grain
    text: str
    at: int
    recurs: bool = False
