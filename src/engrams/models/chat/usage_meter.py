"""Count usage per purpose, and stop at the daily budget."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta

from engrams.errors import BudgetError
from engrams.frozen_data import dataclass
from engrams.ports import Clock, ModelUsageLedger

_DAYS_KEPT = 16
_PACE_KEPT = 50


@dataclass(frozen=True, slots=True)
class PurposeModelUsage:
    """Usage of a model for one purpose.

    ``calls``: requests sent, repeated ones included. ``failures``: requests without an answer.
    ``corrections``: answers that the model had to give again. ``tokens``: of prompts and answers,
    as the server counts them, or estimated where it does not.
    """

    calls: int = 0
    failures: int = 0
    corrections: int = 0
    tokens: int = 0

    def __add__(self, other: PurposeModelUsage) -> PurposeModelUsage:
        return PurposeModelUsage(
            self.calls + other.calls,
            self.failures + other.failures,
            self.corrections + other.corrections,
            self.tokens + other.tokens,
        )


class ModelUsageMeter:
    """Counter of usage by purpose, exact under any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, purpose: str, **counts: int) -> None:
        """Add counts to the ``PurposeModelUsage`` fields of a purpose."""
        with self._lock:
            for field, count in counts.items():
                self._counts[purpose, field] += count

    def snapshot(self) -> Mapping[str, PurposeModelUsage]:
        """Return the usage by purpose, as of one moment."""
        with self._lock:
            counts = dict(self._counts)
        return {
            purpose: PurposeModelUsage(
                **{field: count for (name, field), count in counts.items() if name == purpose}
            )
            for purpose in dict.fromkeys(name for name, _ in counts)
        }

    def total(self) -> PurposeModelUsage:
        return sum(self.snapshot().values(), PurposeModelUsage())


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one per 4 bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


class InMemoryModelUsageLedger:
    """Ledger of daily spending in memory; a restart begins anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._days: dict[str, tuple[int, int]] = {}
        self._pace: dict[str, tuple[float, ...]] = {}

    def spend(self, day: str, calls: int, tokens: int) -> tuple[int, int]:
        with self._lock:
            before = self._days.get(day, (0, 0))
            after = before[0] + calls, before[1] + tokens
            self._days[day] = after
            for old in sorted(self._days)[:-_DAYS_KEPT]:
                del self._days[old]
            return after

    def record_pace(self, model: str, seconds: float) -> None:
        with self._lock:
            self._pace[model] = (*self._pace.get(model, ()), seconds)[-_PACE_KEPT:]

    def load_pace(self, model: str) -> tuple[float, ...]:
        return self._pace.get(model, ())


class DailyModelBudget:
    """Daily limit of calls and tokens; 0 is no limit.

    Calls never exceed their limit. A call is let in while tokens are left, counting what running
    calls may still use, so the last call of a day can exceed the token limit, by no more than its
    own answer.
    """

    def __init__(
        self,
        clock: Clock,
        calls: int = 0,
        tokens: int = 0,
        ledger: ModelUsageLedger | None = None,
        section: str = "chat",
        account: str = "",
    ) -> None:
        """Set up a budget.

        ``section``: that of its settings. ``account``: what is spent together, by default each
        section's.
        """
        self._section = section
        self._account = account or ("" if section == "chat" else f" {section}")
        self._clock = clock
        self._calls = calls
        self._tokens = tokens
        self._ledger = ledger or InMemoryModelUsageLedger()

    def reserve(self, tokens: int) -> str:
        """Reserve one call and its tokens; return the day. BudgetError: used up."""
        now = self._clock().astimezone(UTC)
        day = self._day(now)
        # Reservations are an account of their own: what a day has spent never falls.
        held = self._ledger.spend(f"{day} held", 0, tokens)[1] if self._tokens else 0
        calls, used = self._ledger.spend(day, 1, 0)
        # A day is its own account, so a clock that goes back finds what that day has spent already.
        if self._calls and calls > self._calls:
            self.release(day, tokens)
            raise self._exhausted_error("calls", now)
        if self._tokens and used + held - tokens >= self._tokens:
            self.release(day, tokens)
            raise self._exhausted_error("tokens", now)
        return day

    def settle_reservation(self, day: str, reserved: int, used: int) -> None:
        """Replace the reserved tokens of a call by the used ones."""
        if used:
            self._ledger.spend(day, 0, used)
        if self._tokens:
            self._ledger.spend(f"{day} held", 0, -reserved)

    def find_limit(self) -> str:
        """Return the limit that is used up, as text."""
        if not (self._calls or self._tokens):
            return ""
        calls, tokens = self._ledger.spend(self._day(self._clock()), 0, 0)
        spent = {"calls": (calls, self._calls), "tokens": (tokens, self._tokens)}
        return next(
            (
                self._describe_limit(name)
                for name, (used, most) in spent.items()
                if most and used >= most
            ),
            "",
        )

    def _day(self, now: datetime) -> str:
        return f"{now.astimezone(UTC).date()}{self._account}"

    def _describe_limit(self, name: str) -> str:
        return (
            f"today's {self._calls if name == 'calls' else self._tokens:,} {name} of"
            f" {self._section}.daily_{name} are used up"
        )

    def release(self, day: str, tokens: int) -> None:
        """Give a reservation back whose call was not made."""
        self._ledger.spend(day, -1, 0)
        if self._tokens:
            self._ledger.spend(f"{day} held", 0, -tokens)

    def _exhausted_error(self, name: str, now: datetime) -> BudgetError:
        reset = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
        hours, minutes = divmod(-(-int((reset - now).total_seconds()) // 60), 60)
        wait = f"in {hours} h {minutes:02} min; raise `{self._section}.daily_{name}` to go on now"
        return BudgetError(
            f"Today's {self._calls if name == 'calls' else self._tokens:,} model {name} are"
            " used up.",
            hint=f"The budget resets at {reset:%Y-%m-%d %H:%M} UTC, {wait}.",
            retry_after=(reset - now).total_seconds(),
        )


def reserve_all(budgets: Sequence[DailyModelBudget], tokens: int) -> list[str]:
    """Reserve a call in all budgets or none; the day of each.

    BudgetError: one is used up.
    """
    days: list[str] = []
    try:
        for budget in budgets:
            days.append(budget.reserve(tokens))  # noqa: PERF401 - where one fails, those before are given back
    except BudgetError:
        for budget, day in zip(budgets, days, strict=False):
            budget.release(day, tokens)
        raise
    return days
