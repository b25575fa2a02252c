"""Decides whether upkeep may use the model: hours, budget, and people that wait for it.

``UpkeepSchedule`` is the entry. Upkeep asks ``find_obstacle`` before it begins and waits in
``wait_turn`` before each call; whoever answers a person does so within ``serve_person``.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from pathlib import Path

from engrams.core.usage_accounts import CHARGED_OWNER, name_account
from engrams.errors import BudgetError
from engrams.models.chat.budget import DailyModelBudget
from engrams.ports import (
    CONDENSE,
    DREAM,
    GARDEN,
    REVIEW,
    ROLL,
    Clock,
    ModelUsageLedger,
    UpkeepObstacle,
)
from engrams.settings import QuotaSettings, UpkeepSettings

_JOB_KINDS = {
    "dream": (DREAM,),
    "garden": (GARDEN,),
    "review": (REVIEW,),
    "summary": (ROLL, CONDENSE),
}
"""Name in ``upkeep.jobs`` to the kinds of jobs that it stands for."""
_POLL_SECONDS = 0.2
_MINUTES_OF_DAY = 1440
_IN_UPKEEP: ContextVar[bool] = ContextVar("in_upkeep", default=False)
"""The code that runs is upkeep."""


class UpkeepSchedule:
    """Times at which upkeep may run, and its share of the model.

    People are seen across processes: whoever waits for the model holds a shared lock on the file
    ``mark``, and its modification time says when the last of them had an answer.
    """

    def __init__(
        self,
        settings: UpkeepSettings,
        clock: Clock,
        ledger: ModelUsageLedger,
        mark: Path | None,
        quota: QuotaSettings | None = None,
    ) -> None:
        """Set up the schedule.

        ``mark``: a file in the home (None: people of this home are not seen). ``quota``: of each
        owner.
        """
        self.kinds = frozenset(kind for job in settings.jobs for kind in _JOB_KINDS[job])
        """Kinds of jobs that are upkeep."""
        self._quota = quota or QuotaSettings()
        self._ledger = ledger
        self._settings = settings
        self._clock = clock
        self._mark = mark
        self._budget = DailyModelBudget(
            clock, settings.daily_calls, settings.daily_tokens, ledger, "upkeep"
        )

    def find_obstacle(self) -> UpkeepObstacle | None:
        """Return the reason for which upkeep waits now, if any."""
        now = self._clock()
        hours = self._settings.hours
        opens_at = find_opening(hours, now)
        if opens_at is not None:
            return UpkeepObstacle(f"upkeep.hours is {hours} UTC", opens_at)
        used_up = self._budget.find_limit()
        if used_up:
            tomorrow = now.date() + timedelta(days=1)
            return UpkeepObstacle(
                used_up, datetime.combine(tomorrow, datetime.min.time(), now.tzinfo)
            )
        if self._is_person_waiting():
            return UpkeepObstacle("somebody waits for the model")
        return None

    @contextmanager
    def enter(self, kind: str) -> Iterator[None]:
        """Count model calls within the block against upkeep's budget."""
        token = _IN_UPKEEP.set(kind in self.kinds)
        try:
            yield
        finally:
            _IN_UPKEEP.reset(token)

    @contextmanager
    def serve_person(self) -> Iterator[None]:
        """Mark that a person waits for the model, so that upkeep pauses."""
        handle = self._open_mark()
        try:
            yield
        finally:
            if handle is not None:
                os.utime(handle)
                os.close(handle)

    def budgets(self) -> tuple[DailyModelBudget, ...]:
        """Return the budgets of a call made here besides that of all calls."""
        budgets = []
        if _IN_UPKEEP.get():
            budgets.append(self._budget)
        owner = CHARGED_OWNER.get()
        quota = self._quota
        if owner and (quota.daily_calls or quota.daily_tokens):
            budgets.append(
                DailyModelBudget(
                    self._clock,
                    quota.daily_calls,
                    quota.daily_tokens,
                    self._ledger,
                    "quota",
                    account=f" {name_account(owner)}",
                )
            )
        return tuple(budgets)

    def wait_turn(self, closed: threading.Event) -> None:
        """Wait, within upkeep, until nobody else waits for the model.

        BudgetError: its hours are over, or its budget is used up.
        """
        while (
            _IN_UPKEEP.get()
            and not closed.is_set()
            and (obstacle := self.find_obstacle()) is not None
        ):
            if obstacle.until is not None:
                raise BudgetError(
                    f"Upkeep waits: {obstacle.reason}.",
                    hint=f"It goes on at {obstacle.until:%Y-%m-%d %H:%M} UTC.",
                )
            closed.wait(_POLL_SECONDS)

    def _open_mark(self) -> int | None:
        """Open the mark with a shared lock, which ends as it is closed; None: there is no mark."""
        if self._mark is None or not self._mark.parent.is_dir():
            return None
        try:
            import fcntl

            handle = os.open(self._mark, os.O_RDWR | os.O_CREAT, 0o600)
        except (ImportError, OSError):
            # Without locks, or on a home that is read-only, upkeep does not see people.
            return None
        fcntl.flock(handle, fcntl.LOCK_SH)
        return handle

    def _is_person_waiting(self) -> bool:
        if self._mark is None or not self._mark.exists():
            return False
        import fcntl

        handle = os.open(self._mark, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return time.time() - os.fstat(handle).st_mtime < self._settings.quiet_seconds
        except BlockingIOError:
            return True
        finally:
            os.close(handle)


def find_opening(hours: str, now: datetime) -> datetime | None:
    """Return when the next span of hours begins; None inside one.

    ``hours``: spans such as ``22:00-06:00``, with commas between; empty: the whole day.
    """
    if not hours:
        return None
    minute = now.hour * 60 + now.minute
    waits = []
    for span in hours.split(","):
        start, end = (int(time[:2]) * 60 + int(time[3:]) for time in span.strip().split("-"))
        # All modulo a day: a span may go over midnight, and one without length is a whole day.
        length = (end - start) % _MINUTES_OF_DAY or _MINUTES_OF_DAY
        if (minute - start) % _MINUTES_OF_DAY < length:
            return None
        waits.append((start - minute) % _MINUTES_OF_DAY)
    return now.replace(second=0, microsecond=0) + timedelta(minutes=min(waits))
