"""Feedback on sessions: a label with where and how it was given, for a hundred and eighty days."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from engrams import admin
from engrams.core.log_enums import FeedbackLabel, FeedbackSource, LogWriteOutcome, SessionMedium
from engrams.errors import InputError
from engrams.logs import FeedbackLogRecord
from engrams.settings import Settings
from engrams.testing import SettableClock


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-10T08:00")


@pytest.mark.covers("S4.57")
def test_a_label_with_source_and_modality(home: Path, clock: SettableClock) -> None:
    """Positive, negative or skip, with where it was said and how the session was held;
    the session is a hash, the user optional.
    """
    log = admin.open_feedback_log(Settings(home=home), clock)
    assert [label.value for label in FeedbackLabel] == ["positive", "negative", "skip"]
    for label in FeedbackLabel:
        assert (
            log.add(f"s-{label}", label, source="prompt", modality="voice", owner="user/ann")
            is LogWriteOutcome.STORED
        )
    assert log.add("s4", "positive") is LogWriteOutcome.STORED
    newest, *others = log.list()
    assert (newest.label, newest.source, newest.modality, newest.owner) == (
        FeedbackLabel.POSITIVE,
        FeedbackSource.API,
        SessionMedium.TEXT,
        None,
    )
    assert {record.label for record in others} == set(FeedbackLabel)
    assert {(record.source, record.modality, record.owner) for record in others} == {
        (FeedbackSource.PROMPT, SessionMedium.VOICE, "user/ann")
    }
    assert newest.at == datetime(2026, 3, 10, 8, tzinfo=UTC) and len(newest.session) == 32
    assert {field.name for field in fields(FeedbackLogRecord)} == {
        "id",
        "at",
        "session",
        "owner",
        "label",
        "source",
        "modality",
    }


@pytest.mark.covers("S4.57")
def test_dismissing_records_nothing(home: Path, clock: SettableClock) -> None:
    """Where nothing was chosen there is no record, no file, and no failure; `skip` is a choice."""
    log = admin.open_feedback_log(Settings(home=home), clock)
    assert log.add("s1", None, source="prompt") is None
    assert log.list() == () and not home.exists()
    assert log.add("s1", "skip", source="prompt") is LogWriteOutcome.STORED


@pytest.mark.covers("S4.56")
def test_records_last_a_hundred_and_eighty_days(home: Path, clock: SettableClock) -> None:
    """The hundred and eightieth day after it still has one, the next does not;
    purging before a date keeps that date's.
    """
    settings = Settings(home=home)
    assert settings.feedback.days == 180
    log = admin.open_feedback_log(settings, clock)
    log.add("s1", "positive")
    clock.set("2026-09-06T23:59")
    assert len(log.list()) == 1
    clock.set("2026-09-07T00:00")
    assert log.list() == ()
    log.add("s2", "negative")
    assert [log.purge(date(2026, 9, 7)), log.purge(date(2026, 9, 8))] == [0, 1]


@pytest.mark.parametrize(
    "bad", [{"label": "great"}, {"label": ""}, {"source": "fax"}, {"modality": "smoke"}]
)
def test_words_are_closed(home: Path, clock: SettableClock, bad: dict[str, str]) -> None:
    """Another label, source or modality is refused, and an empty label is none of them."""
    log = admin.open_feedback_log(Settings(home=home), clock)
    given = {"label": "positive", **bad}
    with pytest.raises(InputError, match="There is no"):
        log.add("s1", given.pop("label"), **given)
    assert not home.exists()


def test_the_same_session_has_the_same_hash_in_both_logs(home: Path, clock: SettableClock) -> None:
    """Somebody who looks after a service can see what was thought of a session in which there was a
    crisis.
    """
    settings = Settings(home=home)
    safety = admin.open_safety_log(settings, clock)
    feedback = admin.open_feedback_log(settings, clock)
    safety.append_once("s1", classifier="rules", severity="low")
    feedback.add("s1", "negative")
    assert safety.list()[0].session == feedback.list()[0].session
