"""The tiers as a whole:
what they tell, what runs by itself, and what several at once do to them.
"""

from __future__ import annotations

import math
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Scope, Status, Tier
from engrams.ports import CHANGES, JobSpec
from engrams.settings import load
from engrams.testing import HashEmbedder, SettableClock, temp_engine

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def opened(**fields: Any) -> Any:
    """An engine on the preset with tiers."""
    return temp_engine(
        **{
            "preset": "cache",
            "jobs__workers": 0,
            "clock": SettableClock(START),
            "embedder": HashEmbedder(),
        }
        | fields
    )


def tiers(engine: MemoryEngine) -> dict[Tier, int]:
    """Active turns by tier."""
    counts: dict[Tier, int] = {}
    for record in engine.list(scope=ANN, kinds=(Kind.TURN,), limit=1000).records:
        counts[record.tier] = counts.get(record.tier, 0) + 1
    return counts


@pytest.mark.covers("S0.53")
def test_the_state_tells_every_tier() -> None:
    """In numbers, as plain JSON; of an owner nobody knows, zeros."""
    with opened(tiers__working_size=2) as engine:
        for index in range(5):
            engine.observe(Turn(f"parcel{index} stands in room{index} of house{index}"), scope=ANN)
        engine.search("parcel0 room0 house0", scope=ANN, limit=1)
        engine.drain()
        state = engine.tiers.state(ANN)
        assert {
            name: state[name]
            for name in ("working", "hot", "recent", "longterm", "on", "in_flight")
        } == {
            "working": 2,
            "hot": 1,
            "recent": 4,
            "longterm": 0,
            "on": True,
            "in_flight": 0,
        }
        assert state["caps"] == {"working": 2, "hot": 20, "recent": 40, "facts": 0, "rules": 0}
        assert [item["source"] for item in engine.tiers.working(ANN)] == ["user", "promoted_l1"]
        engine.tiers.consolidate(ANN)
        assert engine.tiers.state(ANN)["longterm"] == 5
        nobody = engine.tiers.state(("user", "nobody"))
        assert [nobody[name] for name in ("working", "hot", "recent", "longterm")] == [0, 0, 0, 0]


def test_a_job_given_back_for_a_moment_is_still_in_flight() -> None:
    """One that met another writer runs again within a tenth of a second; one of later is not."""
    clock = SettableClock()
    with opened(clock=clock) as engine:
        soon, later = (clock() + timedelta(seconds=seconds) for seconds in (0.05, 60))
        engine.store.enqueue(
            (JobSpec(CHANGES, "met", due=soon), JobSpec(CHANGES, "due", due=later)), clock()
        )
        assert engine.tiers.jobs() == (f"{CHANGES}:met",)
        assert engine.tiers.in_flight() == 1


@pytest.mark.covers("S0.56")
def test_the_preset_has_the_numbers_of_the_document() -> None:
    """Every knob of the tiers, with its value, and each can be changed."""
    settings = load({"preset": "cache"}, environ={}).settings
    section = settings.tiers
    assert (
        section.enabled,
        section.working_size,
        section.promote_importance,
        section.recent_size,
        section.sweep_seconds,
    ) == (
        True,
        20,
        0.5,
        40,
        300,
    )
    assert (
        section.cold_decay,
        section.cold_minutes,
        section.hot_size,
        section.hot_cosine,
        section.duplicate_cosine,
        section.tail_turns,
    ) == (0.2, 5, 20, 0.6, 0.92, 5)
    assert (settings.read.recency_days, settings.read.longterm_days) == (7, 30)
    changed = load(
        {"preset": "cache", "tiers.working_size": 7}, environ={"ENGRAMS_TIERS__COLD_DECAY": "0.3"}
    ).settings.tiers
    assert (changed.working_size, changed.cold_decay) == (7, 0.3)


@pytest.mark.covers("S0.43")
def test_what_is_long_known_fades_more_slowly() -> None:
    """Ten days cost a recent memory exp(-10 / 7), and one of the long term exp(-10 / 30);
    at age 0 nothing.
    """
    clock = SettableClock(START)
    with opened(tiers__working_size=1, clock=clock, tiers__recent_size=0) as engine:
        engine.observe(Turn("The spare key is under the blue pot"), scope=ANN)
        engine.tiers.consolidate(ANN)
        engine.observe(
            [
                Turn("The other spare key is with the blue neighbour"),
                Turn("Felix the cat hates thunder"),
            ],
            scope=ANN,
        )
        for days in (0, 10):
            clock.set(START + timedelta(days=days))
            hits = {
                hit.record.tier: hit
                for hit in engine.explain("the spare key blue pot neighbour", scope=ANN).hits
            }
            assert hits[Tier.RECENT].parts["recency"] == pytest.approx(
                0.3 * math.exp(-days / 7), abs=1e-3
            )
            assert hits[Tier.LONGTERM].parts["recency"] == pytest.approx(
                0.3 * math.exp(-days / 30), abs=1e-3
            )


@pytest.mark.covers("S0.22", "S0.59")
def test_the_timer_runs_by_itself(home: Path) -> None:
    """With workers nobody needs to ask;
    what it moved is there in the next process, and the timer goes on.
    """
    fields: dict[str, Any] = {
        "home": home,
        "preset": "cache",
        "embedder": HashEmbedder(),
        "tiers__sweep_seconds": 0.02,
    }
    with engrams.open(jobs__workers=2, **fields) as engine:
        old = engine.now() - timedelta(days=50)
        engine.write_turns(
            [Turn("An old thing", at=old), Turn("An old answer", "assistant", at=old)],
            OWNER,
            Kind.TURN,
            "import",
        )
        for _ in range(500):
            if engine.list(scope=ANN, kinds=(Kind.EXCHANGE,)).records:
                break
            time.sleep(0.01)
        assert len(engine.list(scope=ANN, kinds=(Kind.EXCHANGE,)).records) == 1
    with engrams.open(jobs__workers=0, **fields) as engine:
        engine.drain()
        assert len(engine.list(scope=ANN, kinds=(Kind.EXCHANGE,)).records) == 1
        assert [
            job.kind for job in engine.store.queue(("waiting",)) if job.kind == "decay-sweep"
        ] == ["decay-sweep"]


def test_many_speak_at_once() -> None:
    """Every turn is in exactly one tier, and the ring holds what the rows say it holds."""
    with opened(tiers__working_size=5, tiers__recent_size=0) as engine:

        def speak(name: str) -> None:
            for index in range(15):
                engine.observe(
                    Turn(f"{name} brings parcel{index} to house{index} of {name}"), scope=ANN
                )
                engine._components.working.keep_recalled(
                    OWNER, [engine.list(scope=ANN, limit=1).records[0].id]
                )

        threads = [
            threading.Thread(target=speak, args=(name,)) for name in ("Ann", "Bea", "Cem", "Dan")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        in_tier = {
            item["id"]
            for item in engine.tiers.working(ANN)
            if not item["source"].startswith("promoted")
        }
        rows = engine.list(scope=ANN, kinds=(Kind.TURN,), limit=100).records
        assert len(rows) == 60
        assert {record.id for record in rows if record.tier is Tier.WORKING} == in_tier


def test_two_processes_on_one_home(home: Path) -> None:
    """One consolidates what the other holds;
    the other goes on, and nothing is moved twice or lost.
    """
    fields: dict[str, Any] = {
        "home": home,
        "preset": "cache",
        "jobs__workers": 0,
        "embedder": HashEmbedder(),
        "tiers__working_size": 2,
    }
    with engrams.open(**fields) as first_engine, engrams.open(**fields) as second_engine:
        for index in range(3):
            first_engine.observe(
                Turn(f"parcel{index} stands in room{index} of house{index}"), scope=ANN
            )
        assert second_engine.tiers.consolidate(ANN)["moved"] == 3
        for index in range(3, 6):
            first_engine.observe(
                Turn(f"parcel{index} stands in room{index} of house{index}"), scope=ANN
            )
        first_engine.tiers.consolidate(ANN)
        sources = [
            quote.source
            for row in first_engine.list(scope=ANN, kinds=(Kind.EXCHANGE,)).records
            for quote in row.evidence
        ]
        assert len(sources) == len(set(sources)) == 6


HOSTILE = (
    "x" * 300_000 + " end",
    "مرحبا بالعالم الجميل",
    "猫はソファの下で寝ています",
    "a\x00b \ud800 c d e",
    "🙂🙂 picnic",
    "../../etc/passwd",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_goes_all_the_way(text: str) -> None:
    """From the working tier to an exchange and into a context, whatever it is made of."""
    with opened(tiers__working_size=1, write__extract="off", write__gate=False) as engine:
        id = engine.observe(
            Turn(text, session="../s", external_id="../x"), scope=("user", "../ann")
        )[0].id
        assert engine.context("anything", scope=("user", "../ann"), tokens=300).tokens <= 300
        engine.tiers.consolidate(("user", "../ann"))
        (row,) = engine.list(scope=("user", "../ann"), kinds=(Kind.EXCHANGE,)).records
        assert row.text == f"User: {engine.get(id, scope=('user', '../ann')).text}\nAgent:"


def test_incognito_has_tiers_too() -> None:
    """In memory only."""
    with opened(incognito=True, tiers__working_size=1) as engine:
        engine.observe(
            [Turn("The spare key is under the blue pot"), Turn("Felix the cat hates thunder")],
            scope=ANN,
        )
        engine.tiers.consolidate(ANN)
        assert engine.tiers.state(ANN)["longterm"] == 2
        assert not engine.settings.home.exists()


def test_files_follow_the_tiers(home: Path) -> None:
    """With files on, an exchange is a file, and the memories made again from the files are the
    same.
    """
    from engrams.admin import reindex

    fields: dict[str, Any] = {
        "home": home,
        "preset": "cache",
        "jobs__workers": 0,
        "vault__enabled": True,
        "vault__git": False,
    }
    with engrams.open(**fields, tiers__working_size=1) as engine:
        engine.observe(Turn("The spare key is under the blue pot"), scope=ANN)
        engine.observe(Turn("Noted: the blue pot", "assistant"), scope=ANN)
        engine.observe(Turn("Felix the cat hates thunder"), scope=ANN)
        engine.tiers.consolidate(ANN)
        engine.drain()
        before = {
            (record.text, record.tier, record.status)
            for record in engine.list(scope=ANN, statuses=tuple(Status)).records
        }
        settings = engine.settings
    reindex(settings)
    with engrams.open(**fields) as engine:
        after = {
            (record.text, record.tier, record.status)
            for record in engine.list(scope=ANN, statuses=tuple(Status)).records
        }
        assert after == before
        engine.tiers.consolidate(ANN)
        assert len(engine.list(scope=ANN, kinds=(Kind.EXCHANGE,)).records) == 2
