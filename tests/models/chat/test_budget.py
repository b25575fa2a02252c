"""Metering and the day's budget, exact under threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.models.conftest import spent_today

from engrams.errors import BudgetError, ModelError
from engrams.models.chat.budget import DailyModelBudget
from engrams.models.chat.memory_ledger import InMemoryModelUsageLedger
from engrams.models.chat.usage import ModelUsageMeter, PurposeModelUsage, estimate_tokens
from engrams.testing import ScriptedReply, SettableClock

NOON = "2026-11-21T12:00:00"


def test_a_meter_counts_every_thread() -> None:
    """Eight threads that count at once lose nothing, and a snapshot is whole."""
    meter = ModelUsageMeter()

    def work(number: int) -> None:
        for _ in range(2000):
            meter.add(f"purpose {number % 2}", calls=1, tokens=3)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert meter.snapshot() == {
        "purpose 0": PurposeModelUsage(8000, 0, 0, 24_000),
        "purpose 1": PurposeModelUsage(8000, 0, 0, 24_000),
    }
    assert meter.total() == PurposeModelUsage(16_000, 0, 0, 48_000)


def test_calls_and_tokens_are_counted_by_purpose(connect, ask, server) -> None:
    """What the server reports is what is counted, per purpose, over threads and real calls."""
    model = connect(server)
    server.when("", ScriptedReply("ok", usage=(11, 2)))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: model.ask(ask(f"q{number}")), range(40)))
    assert {(answer.calls, answer.tokens) for answer in answers} == {(1, 13)}
    assert model.meter.snapshot() == {"test": PurposeModelUsage(calls=40, tokens=40 * 13)}
    assert spent_today(model.budget) == (40, 40 * 13)


def test_tokens_are_estimated_where_the_server_is_silent(connect, ask, server) -> None:
    """A server that reports no usage does not make calls free."""
    server.say(ScriptedReply("x" * 400, usage=(0, 0)))
    answer = connect(server).ask(ask("y" * 400))
    assert answer.tokens == estimate_tokens("You are brief.") + 100 + 100


def test_calls_never_exceed_the_limit(connect, ask, server) -> None:
    """Of many threads exactly as many get through as the day's budget has calls."""
    model = connect(server, daily_calls=10)

    def work(number: int) -> str:
        try:
            return model.ask(ask(str(number))).text
        except BudgetError as problem:
            return problem.message

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(work, range(40)))
    assert sum(outcome.startswith("echo") for outcome in outcomes) == 10
    assert len(server.requests) == 10
    assert spent_today(model.budget)[0] == 10
    assert outcomes.count("Today's 10 model calls are used up.") == 30


def test_repeated_calls_count_too(connect, ask, server) -> None:
    """A retry is a call: a budget of two ends in the middle of an ask that fails twice."""
    server.fail("http_500", times=9)
    model = connect(server, daily_calls=2)
    with pytest.raises(BudgetError):
        model.ask(ask())
    assert len(server.requests) == 2


def test_tokens_end_the_day(connect, ask, server) -> None:
    """Calls are let in while tokens are left;
    the one that uses the last of them may go over, the next is refused.
    """
    server.when("", ScriptedReply("ok", usage=(30, 10)))
    model = connect(server, daily_tokens=100)
    for _ in range(3):
        model.ask(ask(max_tokens=10))
    with pytest.raises(BudgetError, match="100 model tokens"):
        model.ask(ask(max_tokens=10))
    assert spent_today(model.budget) == (3, 120)


def test_a_prompt_counts_before_it_is_sent(connect, ask, server) -> None:
    """A call whose prompt alone would use up the day is refused before it is sent."""
    server.when("", ScriptedReply("ok", usage=(900, 10)))
    model = connect(server, daily_tokens=1000)
    model.ask(ask(max_tokens=10))
    with pytest.raises(BudgetError, match="1,000 model tokens"):
        model.ask(ask("word " * 200, max_tokens=10))
    assert len(server.requests) == 1
    assert spent_today(model.budget) == (1, 910)


def test_the_hint_says_when_it_resets_and_then_it_does(connect, ask, server) -> None:
    """A spent budget names the time of its reset; from midnight UTC on there is a new one."""
    clock = SettableClock(NOON)
    model = connect(server, daily_calls=1, clock=clock)
    model.ask(ask())
    clock.forward(hours=8, minutes=20, seconds=30)
    with pytest.raises(BudgetError) as caught:
        model.ask(ask())
    assert (
        caught.value.hint
        == "The budget resets at 2026-11-22 00:00 UTC, in 3 h 40 min; raise `chat.daily_calls` to"
        " go on now."
    )
    clock.set("2026-11-22T00:00:00")
    assert model.ask(ask()).text


def test_a_clock_that_goes_back_gives_no_new_budget(connect, ask, server) -> None:
    """Each day is its own account, so going back a day finds it spent, and returning finds today
    spent.
    """
    clock = SettableClock(NOON)
    model = connect(server, daily_calls=1, clock=clock)
    model.ask(ask())
    clock.forward(days=1)
    model.ask(ask())
    for moment in (NOON, "2026-11-22T12:00:00", "2026-11-21T00:00:00"):
        clock.set(moment)
        with pytest.raises(BudgetError):
            model.ask(ask())
    assert len(server.requests) == 2


def test_a_shared_ledger_holds_for_all(connect, ask, server) -> None:
    """Two models on one ledger, such as two processes on one store, share one budget, also after a
    restart.
    """
    ledger = InMemoryModelUsageLedger()
    one, other = (connect(server, daily_calls=3, ledger=ledger) for _ in range(2))
    one.ask(ask())
    other.ask(ask())
    one.ask(ask())
    with pytest.raises(BudgetError):
        other.ask(ask())
    with pytest.raises(BudgetError):
        connect(server, daily_calls=3, ledger=ledger).ask(ask())


def test_a_failed_call_costs_no_tokens(connect, ask, server) -> None:
    """What was reserved for a call that failed is given back; the call itself counts."""
    server.fail("http_401")
    model = connect(server, daily_tokens=1000)
    with pytest.raises(ModelError):
        model.ask(ask())
    assert spent_today(model.budget) == (1, 0)


def test_reservations_hold_under_threads() -> None:
    """With calls under way counted in full, threads together cannot overrun a token budget by more
    than one call.
    """
    budget = DailyModelBudget(SettableClock(NOON), tokens=1000)
    let_in = []
    gate = threading.Barrier(8)

    def work(_: int) -> None:
        gate.wait()
        for _ in range(50):
            try:
                day = budget.reserve(100)
            except BudgetError:
                continue
            let_in.append(day)
            budget.settle_reservation(day, 100, 90)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    calls, tokens = spent_today(budget)
    assert calls == len(let_in)
    assert tokens == 90 * len(let_in)
    assert tokens + 90 * 8 >= 1000
    assert tokens < 1000 + 100


def test_a_tally_keeps_few_days() -> None:
    """A ledger in memory does not grow with the days."""
    tally = InMemoryModelUsageLedger()
    for day in range(10, 28):
        tally.spend(f"2026-11-{day}", 1, 1)
    assert tally.spend("2026-11-27", 0, 0) == (1, 1)
    assert tally.spend("2026-11-10", 0, 0) == (0, 0)
