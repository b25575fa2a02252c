"""Cycles that are cut off: what was done is not done again, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from tests.upkeep.garden.conftest import ANN, Open, put

from engrams import MemoryEngine
from engrams.core import Status
from engrams.testing import ScriptedModel, SettableClock

REPORT = {"report": {"summary": "Looked through it."}}


class Cut(BaseException):
    """The process ends here."""


@pytest.mark.covers("S3.68")
def test_an_interrupted_cycle_goes_on_and_repeats_nothing(
    engine: MemoryEngine, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done before the cut is not done again; the rest is, under the same report."""
    removed = put(engine, "Ann may like jazz", confidence=0.01)
    clock.forward(days=2)
    cycles = engine.garden._cycles
    real = cycles._run_job
    begun: list[str] = []

    def cut(job: str, order: Any, going: Any) -> Any:
        begun.append(job)
        if job == "links" and begun.count("links") == 1:
            raise Cut
        return real(job, order, going)

    monkeypatch.setattr(cycles, "_run_job", cut)
    with pytest.raises(Cut):
        engine.garden.run(ANN)
    assert (
        engine.garden.status(ANN)["state"] == "running"
        and engine.get(removed, scope=ANN).status is Status.ARCHIVED
    )
    clock.forward(seconds=engine.settings.jobs.lease_seconds + 1)
    engine.drain()
    (report,) = engine.garden.reports(ANN)
    assert report.state == "complete" and "it was interrupted and went on" in report.notes
    assert begun.count("prune") == 1 and begun.count("merge") == 1 and report.jobs["prune"] == 1


@pytest.mark.covers("S3.68")
def test_a_cycle_that_is_asked_for_does_not_go_on_with_another_one(
    engine: MemoryEngine, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that died is recorded as interrupted; the new one does all that it was asked for."""
    put(engine, "Ann lives by the sea", confidence=0.9)
    engine.garden.run(ANN, ["prune"])

    def cut(*_: Any) -> None:
        raise Cut

    monkeypatch.setattr(engine.garden._cycles, "_plan_job", cut)
    with pytest.raises(Cut):
        engine.garden.run(ANN, ["prune"])
    monkeypatch.undo()
    removed = put(engine, "Ann may like jazz", confidence=0.01)
    clock.forward(days=2)
    (claimed,) = engine.store.queue(("running",))
    engine.store.finish(claimed.lease, clock())
    assert engine.garden.run(ANN, ["prune"]).modified == 1
    assert [report.state for report in engine.garden.reports(ANN)] == [
        "complete",
        "interrupted",
        "complete",
    ]
    assert engine.get(removed, scope=ANN).status is Status.ARCHIVED


@pytest.mark.covers("S3.68")
def test_a_visit_of_the_model_is_not_made_again(
    asking: MemoryEngine,
    model: ScriptedModel,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cut off in the middle, it is recorded as interrupted; its tokens are not spent twice."""
    put(asking, "Ann has a boat")
    cycles = asking.garden._cycles

    def cut(*_: Any) -> None:
        raise Cut

    monkeypatch.setattr(cycles, "_record_usage", cut)
    model.say(REPORT)
    with pytest.raises(Cut):
        asking.garden.run(ANN)
    monkeypatch.undo()
    clock.forward(seconds=asking.settings.jobs.lease_seconds + 1)
    asking.drain()
    (report,) = asking.garden.reports(ANN)
    assert report.state == "interrupted" and len(model.requests) == 1


def fresh(opened: Open, clock: SettableClock) -> MemoryEngine:
    """An engine with something to merge, to put away and to tidy."""
    engine = opened()
    for text, fields in (
        ("Ann plays the cello every day", {"predicate": "plays", "object": "cello", "strength": 2}),
        ("Ann plays the cello every day!", {"predicate": "plays", "object": "cello"}),
        ("Ann may like jazz", {"confidence": 0.01, "tags": ("music",)}),
        ("Ann likes tea", {"tags": ("drinks",)}),
        ("Ann likes milk", {"tags": ("drink",)}),
        ("Ann likes water", {"tags": ("drinks",)}),
    ):
        put(engine, text, **fields)
    clock.forward(days=2)
    return engine


def seen(engine: MemoryEngine) -> list[tuple[Any, ...]]:
    """What there is, and how often each changed."""
    records = engine.list(scope=ANN, statuses=tuple(Status), limit=100, order="oldest").records
    return [
        (
            record.text,
            record.status,
            record.strength,
            record.tags,
            len(engine.history(record.id, scope=ANN)),
        )
        for record in records
    ]


@pytest.mark.covers("S3.68")
@pytest.mark.parametrize("after", [False, True])
def test_a_cut_at_any_write_loses_nothing_and_repeats_nothing(
    opened: Open, clock: SettableClock, monkeypatch: pytest.MonkeyPatch, *, after: bool
) -> None:
    """Before it or behind it, each write in turn:
    the next worker brings memory to where an uncut cycle would have, once.
    """

    whole = fresh(opened, clock)
    whole.garden.run(ANN)
    wanted = seen(whole)
    cuts = 0
    for number in range(1, 100):
        engine = fresh(opened, clock)
        store = engine.store
        writes = 0

        def cutting(real: Any, at: int = number) -> Any:
            def write(*arguments: Any, **options: Any) -> Any:
                nonlocal writes
                writes += 1
                if writes == at and not after:
                    raise Cut
                result = real(*arguments, **options)
                if writes == at:
                    raise Cut
                return result

            return write

        with monkeypatch.context() as patch:
            for name in ("commit", "save", "enqueue"):
                patch.setattr(store, name, cutting(getattr(store, name)))
            try:
                engine.garden.run(ANN)
            except Cut:
                cuts += 1
        clock.forward(seconds=engine.settings.jobs.lease_seconds + 1)
        engine.drain()
        if not engine.garden.reports(ANN):
            engine.garden.run(ANN)  # it was cut before anything was asked for
        assert seen(engine) == wanted, number
        assert [report.state for report in engine.garden.reports(ANN)] == ["complete"]
        if writes < number:
            break
    assert cuts > 8
