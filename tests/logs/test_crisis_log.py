"""The safety log: that a crisis was noticed, for ninety days, without a word of what was said."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path

import apsw
import pytest

from engrams import admin
from engrams.core.log_enums import CrisisDetectionSource, CrisisSeverity, LogWriteOutcome
from engrams.errors import InputError
from engrams.logs import CrisisLogRecord
from engrams.settings import Settings
from engrams.testing import SettableClock, temp_engine


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-10T08:00")


@pytest.mark.covers("S4.55")
def test_a_record_has_no_place_for_what_was_said(home: Path, clock: SettableClock) -> None:
    """A crisis has a hashed session, a classifier, a severity and a reason of at most 500
    characters, and nothing else.
    """
    log = admin.open_safety_log(Settings(home=home), clock)
    assert (
        log.append_once(
            "s1",
            classifier="model",
            severity="high",
            reason="r" * 501,
            owner="user/ann",
            id="turn-1",
        )
        is LogWriteOutcome.STORED
    )
    (record,) = log.list()
    assert {field.name for field in fields(CrisisLogRecord)} == {
        "id",
        "at",
        "session",
        "owner",
        "classifier",
        "severity",
        "reason",
    }
    assert (record.classifier, record.severity, record.reason) == (
        CrisisDetectionSource.MODEL,
        CrisisSeverity.HIGH,
        "r" * 500,
    )
    assert (record.at, record.owner) == (datetime(2026, 3, 10, 8, tzinfo=UTC), "user/ann")
    assert len(record.session) == 32 and "s1" not in record.session and len(record.id) == 32
    base = apsw.Connection(str(home / "ledgers" / "safety.db"))
    assert [json.loads(data) for (data,) in base.execute("SELECT data FROM records")] == [
        {"classifier": "model", "severity": "high", "reason": "r" * 500}
    ]


@pytest.mark.covers("S4.55")
def test_the_same_record_is_kept_once(home: Path, clock: SettableClock) -> None:
    """An id that is sent again, after a restart too, changes nothing: the first stays as it was."""
    assert (
        admin.open_safety_log(Settings(home=home), clock).append_once(
            "s1", classifier="rules", severity="low", id="1"
        )
        is LogWriteOutcome.STORED
    )
    again = admin.open_safety_log(Settings(home=home), clock)
    assert (
        again.append_once("s1", classifier="person", severity="high", id="1")
        is LogWriteOutcome.KNOWN
    )
    assert [record.severity for record in again.list()] == ["low"]


@pytest.mark.covers("S4.55")
def test_nobody_is_named_in_incognito(home: Path, clock: SettableClock) -> None:
    """The owner of a record made in incognito is null, whoever is given;
    of another it is who was given, or null.
    """
    hushed = admin.open_safety_log(Settings(home=home, incognito=True), clock)
    hushed.append_once("s1", classifier="rules", severity="low", owner="user/ann")
    assert [record.owner for record in hushed.list()] == [None]
    log = admin.open_safety_log(Settings(home=home), clock)
    log.append_once("s1", classifier="rules", severity="low", owner="user/ann")
    log.append_once("s2", classifier="rules", severity="low")
    log.append_once("s3", classifier="rules", severity="low", owner="user/ann", incognito=True)
    assert {record.owner for record in log.list(session="s3")} == {None}
    assert sorted(str(record.owner) for record in log.list()) == ["None", "None", "user/ann"]


@pytest.mark.covers("S4.55")
def test_a_failed_write_is_logged_and_never_raises(
    home: Path, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A home that cannot be one: the caller goes on, the failure is told and counted."""
    home.write_text("no folder")
    log = admin.open_safety_log(Settings(home=home), clock)
    assert log.append_once("s1", classifier="rules", severity="high") is LogWriteOutcome.LOST
    assert log.lost == 1 and "safety log cannot be written" in caplog.text


@pytest.mark.covers("S4.56")
def test_records_last_ninety_days_and_are_listed_and_purged_by_date(
    home: Path, clock: SettableClock
) -> None:
    """The ninetieth day after it still has a record, the ninety-first does not;
    purging before a date keeps that date's.
    """
    settings = Settings(home=home)
    assert settings.safety.days == 90
    log = admin.open_safety_log(settings, clock)
    for number in range(3):
        log.append_once(f"s{number}", classifier="rules", severity="low")
        clock.forward(days=1)
    assert [len(log.list(day=date(2026, 3, day))) for day in (9, 10, 11, 12, 13)] == [0, 1, 1, 1, 0]
    assert len(log.list(since=date(2026, 3, 11), until=date(2026, 3, 12))) == 2
    assert log.purge(date(2026, 3, 11)) == 1
    assert [record.at.day for record in log.list()] == [12, 11]
    clock.set("2026-06-09T23:59:59")
    assert [record.at.day for record in log.list()] == [12, 11]
    clock.set("2026-06-10T00:00")
    assert [record.at.day for record in log.list()] == [12]
    log.append_once("s9", classifier="rules", severity="low")
    assert (
        apsw.Connection(str(home / "ledgers" / "safety.db"))
        .execute("SELECT count(*) FROM records")
        .get
        == 2
    )


@pytest.mark.parametrize(
    "bad", [{"classifier": "magic"}, {"severity": "7"}, {"classifier": ""}, {"severity": "HIGH"}]
)
def test_classifier_and_severity_are_closed(
    home: Path, clock: SettableClock, bad: dict[str, str]
) -> None:
    """Another word is refused, and the error has those there are."""
    log = admin.open_safety_log(Settings(home=home), clock)
    with pytest.raises(InputError) as problem:
        log.append_once("s1", **({"classifier": "rules", "severity": "low"} | bad))
    assert "person" in problem.value.hint or "moderate" in problem.value.hint
    assert not home.exists()


@pytest.mark.covers("S4.54")
def test_what_memory_is_told_to_do_does_not_touch_the_logs() -> None:
    """Both are kept with memory switched off and recall off; nothing of them is found or put into a
    prompt; and when all of memory is erased, they stay.
    """
    with temp_engine(user="ann") as engine:
        safety = admin.open_safety_log(engine.settings, engine.now)
        feedback = admin.open_feedback_log(engine.settings, engine.now)
        safety.append_once(
            "s1", classifier="model", severity="high", reason="zyzzyva", owner="user/ann"
        )
        feedback.add("s1", "negative", owner="user/ann")
        scope = ("user", "ann")
        kept = engine.add("The kiln is hot.", scope=scope)
        engine.sessions.recall(scope, False)
        assert [hit.record.text for hit in engine.search("zyzzyva", scope=scope).hits] == [
            "The kiln is hot."
        ]
        assert "zyzzyva" not in engine.context("zyzzyva negative", scope=scope).text
        engine.purge([record.id for record in engine.list(scope=scope).records], scope=scope)
        assert kept and engine.list(scope=scope).records == ()
        off = engine.settings.model_copy(update={"enabled": False})
        assert (
            admin.open_safety_log(off, engine.now).append_once(
                "s2", classifier="rules", severity="low"
            )
            is LogWriteOutcome.STORED
        )
        assert admin.open_feedback_log(off, engine.now).add("s2", "skip") is LogWriteOutcome.STORED
        assert (len(safety.list()), len(feedback.list())) == (2, 2)
