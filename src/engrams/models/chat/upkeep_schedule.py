"""Hours, budgets and waiting people that upkeep gives way to."""

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
from engrams.models.chat.usage_meter import DailyModelBudget
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

_KINDS = {"dream": (DREAM,), "garden": (GARDEN,), "review": (REVIEW,), "summary": (ROLL, CONDENSE)}
_STEP = 0.2
_IN_UPKEEP: ContextVar[bool] = ContextVar("in_upkeep", default=False)


class UpkeepSchedule:
    """Times at which upkeep may run, and its share of the model.

    People are seen across processes: each holds a shared lock on ``mark`` while it waits for the
    model.
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
        self._quota = quota or QuotaSettings()
        self._ledger = ledger
        self.kinds = frozenset(kind for job in settings.jobs for kind in _KINDS[job])
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
        opens = find_opening(hours, now)
        if opens is not None:
            return UpkeepObstacle(f"upkeep.hours is {hours} UTC", opens)
        spent = self._budget.find_limit()
        if spent:
            return UpkeepObstacle(
                spent,
                datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo),
            )
        return UpkeepObstacle("somebody waits for the model") if self._is_person_waiting() else None

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
        """Budgets of a call made here besides that of all calls."""
        return (*((self._budget,) if _IN_UPKEEP.get() else ()), *self._find_owner_budget())

    def _find_owner_budget(self) -> tuple[DailyModelBudget, ...]:
        owner = CHARGED_OWNER.get()
        quota = self._quota
        if not owner or not (quota.daily_calls or quota.daily_tokens):
            return ()
        account = f" {name_account(owner)}"
        return (
            DailyModelBudget(
                self._clock,
                quota.daily_calls,
                quota.daily_tokens,
                self._ledger,
                "quota",
                account=account,
            ),
        )

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
            closed.wait(_STEP)

    def _open_mark(self) -> int | None:
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
    minute = now.hour * 60 + now.minute
    openings = []
    for span in hours.split(",") if hours else ():
        start, end = (int(part[:2]) * 60 + int(part[3:]) for part in span.strip().split("-"))
        if (minute - start) % 1440 < ((end - start) % 1440 or 1440):
            return None
        openings.append((start - minute) % 1440)
    return (
        now.replace(second=0, microsecond=0) + timedelta(minutes=min(openings))
        if openings
        else None
    )
