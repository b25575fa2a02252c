"""Daily budget of model calls and tokens.

A call is paid in two steps: ``reserve`` before it, with as many tokens as it may use, and
``settle_reservation`` after it, with those it did use; ``reserve_all`` reserves in several budgets.
The sums stand in a ledger, which all processes on one store share.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from engrams.errors import BudgetError
from engrams.models.chat.memory_ledger import InMemoryModelUsageLedger
from engrams.ports import Clock, ModelUsageLedger


class DailyModelBudget:
    """Limit of the calls and tokens of a day (UTC); 0 is no limit.

    Calls never exceed their limit. A call is let in while its prompt leaves tokens for an answer,
    counting what running calls may still use, so the last call of a day can exceed the token limit,
    by no more than its own answer.
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

        ``section``: of its settings, for messages. ``account``: name under which the ledger counts;
        budgets of one account spend together. Empty: the section's own.
        """
        self._section = section
        self._account = account or ("" if section == "chat" else f" {section}")
        self._clock = clock
        self._calls = calls
        self._tokens = tokens
        self._ledger = ledger or InMemoryModelUsageLedger()

    def reserve(self, tokens: int, prompt_tokens: int = 0) -> str:
        """Reserve one call and its tokens; return the day.

        ``prompt_tokens``: those of ``tokens`` that the call takes for sure. BudgetError: the calls
        or tokens are used up, or too few tokens are left for the prompt.
        """
        now = self._clock().astimezone(UTC)
        day = self._name_day(now)
        # Reservations are an account of their own: what a day has spent never falls.
        reserved = 0
        if self._tokens:
            reserved = self._ledger.spend(_name_reservations(day), 0, tokens)[1]
        calls, used = self._ledger.spend(day, 1, 0)
        # A day is its own account, so a clock that goes back finds what that day has spent already.
        if self._calls and calls > self._calls:
            self.release(day, tokens)
            raise self._make_error("calls", now)
        if self._tokens and used + reserved - tokens + prompt_tokens >= self._tokens:
            self.release(day, tokens)
            raise self._make_error("tokens", now)
        return day

    def settle_reservation(self, day: str, reserved: int, used: int) -> None:
        """Replace the reserved tokens of a call by the used ones."""
        if used:
            self._ledger.spend(day, 0, used)
        if self._tokens:
            self._ledger.spend(_name_reservations(day), 0, -reserved)

    def release(self, day: str, tokens: int) -> None:
        """Give a reservation back whose call was not made."""
        self._ledger.spend(day, -1, 0)
        if self._tokens:
            self._ledger.spend(_name_reservations(day), 0, -tokens)

    def find_limit(self) -> str:
        """Return the limit that is used up today, as text; empty: none is."""
        if not (self._calls or self._tokens):
            return ""
        calls, tokens = self._ledger.spend(self._name_day(self._clock()), 0, 0)
        if self._calls and calls >= self._calls:
            return self._describe_limit("calls")
        if self._tokens and tokens >= self._tokens:
            return self._describe_limit("tokens")
        return ""

    def _name_day(self, now: datetime) -> str:
        return f"{now.astimezone(UTC).date()}{self._account}"

    def _limit_of(self, unit: str) -> int:
        return self._calls if unit == "calls" else self._tokens

    def _describe_limit(self, unit: str) -> str:
        return (
            f"today's {self._limit_of(unit):,} {unit} of {self._section}.daily_{unit} are used up"
        )

    def _make_error(self, unit: str, now: datetime) -> BudgetError:
        reset = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
        seconds = (reset - now).total_seconds()
        hours, minutes = divmod(-(-int(seconds) // 60), 60)
        return BudgetError(
            f"Today's {self._limit_of(unit):,} model {unit} are used up.",
            hint=(
                f"The budget resets at {reset:%Y-%m-%d %H:%M} UTC, in {hours} h {minutes:02} min;"
                f" raise `{self._section}.daily_{unit}` to go on now."
            ),
            retry_after=seconds,
        )


def _name_reservations(day: str) -> str:
    """Return the account of a day's tokens that running calls may still use."""
    return f"{day} held"


def reserve_all(budgets: Sequence[DailyModelBudget], tokens: int, prompt_tokens: int) -> list[str]:
    """Reserve a call in all budgets or none; return the day of each.

    BudgetError: one is used up, or too few tokens are left in it for the prompt.
    """
    days: list[str] = []
    try:
        for budget in budgets:
            days.append(budget.reserve(tokens, prompt_tokens))  # noqa: PERF401 - where one fails, those before are given back
    except BudgetError:
        for budget, day in zip(budgets, days, strict=False):
            budget.release(day, tokens)
        raise
    return days
