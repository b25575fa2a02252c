"""How well a record's time and speaker fit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engrams.read.cues import QueryCues, parse_query, score_dates, score_speakers
from engrams.text.times import EARLIEST, LATEST, TimeSpan, find_times

NOW = datetime(2023, 7, 12, 15, 30, tzinfo=UTC)
DAY = TimeSpan(
    start=datetime(2023, 5, 7, tzinfo=UTC),
    end=datetime(2023, 5, 8, tzinfo=UTC),
    grain="day",
    text="7 May 2023",
    at=0,
)
MARCH = TimeSpan(
    start=datetime(2023, 3, 1, tzinfo=UTC),
    end=datetime(2023, 4, 1, tzinfo=UTC),
    grain="month",
    text="March",
    at=0,
    recurs=True,
)


def scores(span: TimeSpan, *moments: datetime) -> list[float]:
    return [
        float(value)
        for value in score_dates((span,), np.array([moment.timestamp() for moment in moments]))
    ]


def test_no_spans_score_nothing() -> None:
    """A query without a time prefers no time."""
    assert score_dates((), np.array([0.0, 1e9])).tolist() == [0.0, 0.0]
    assert score_dates((DAY,), np.array([])).shape == (0,)


def test_inside_is_one_and_the_end_is_outside() -> None:
    """The interval is half-open."""
    assert scores(DAY, DAY.start, DAY.end - timedelta(seconds=1)) == [1.0, 1.0]
    assert scores(DAY, DAY.start - timedelta(seconds=1))[0] == pytest.approx(0.5, abs=0.01)


def test_later_is_better_than_as_much_earlier() -> None:
    """People tell of things afterwards; plans count half."""
    late, early = scores(DAY, DAY.end + timedelta(days=5), DAY.start - timedelta(days=5))
    assert 1 > late > early > 0


def test_the_score_falls_with_distance() -> None:
    """Weeks after the event little is left, and after years nothing."""
    row = scores(DAY, *(DAY.end + timedelta(days=days) for days in (1, 7, 30, 3650)))
    assert row == sorted(row, reverse=True)
    assert row[0] > 0.8
    assert row[3] == pytest.approx(0, abs=1e-6)


def test_longer_spans_are_told_of_longer() -> None:
    """A month after a year is nearer to it than a month after a day."""
    year = TimeSpan(
        start=datetime(2022, 1, 1, tzinfo=UTC),
        end=datetime(2023, 1, 1, tzinfo=UTC),
        grain="year",
        text="2022",
        at=0,
    )
    month = timedelta(days=30)
    assert scores(year, year.end + month)[0] > 0.8 > scores(DAY, DAY.end + month)[0]


def test_a_span_without_a_year_counts_in_other_years() -> None:
    """March may be any March, rather the last one."""
    same, last, never = scores(
        MARCH,
        datetime(2023, 3, 10, tzinfo=UTC),
        datetime(2021, 3, 10, tzinfo=UTC),
        datetime(2021, 9, 10, tzinfo=UTC),
    )
    assert same == 1.0
    assert last == pytest.approx(0.7)
    assert never < 0.1


def test_the_best_span_counts() -> None:
    """Of several times meant, the nearest one counts."""
    scores_of_both = score_dates(
        (DAY, MARCH), np.array([DAY.start.timestamp(), MARCH.start.timestamp()])
    )
    assert scores_of_both.tolist() == [1.0, 1.0]


def test_open_sides() -> None:
    """Before 2019 is everything before it."""
    before = TimeSpan(
        start=EARLIEST,
        end=datetime(2019, 1, 1, tzinfo=UTC),
        grain="range",
        text="before 2019",
        at=0,
    )
    after = TimeSpan(
        start=datetime(2031, 1, 1, tzinfo=UTC), end=LATEST, grain="range", text="after 2030", at=0
    )
    assert scores(before, datetime(1990, 1, 1, tzinfo=UTC), datetime(2018, 12, 31, tzinfo=UTC)) == [
        1.0,
        1.0,
    ]
    assert scores(before, datetime(2023, 1, 1, tzinfo=UTC))[0] < 0.01
    assert scores(after, datetime(2040, 1, 1, tzinfo=UTC)) == [1.0]


@pytest.mark.parametrize(
    "text",
    [
        "2022",
        "in March",
        "before 2019",
        "since 1990",
        "yesterday",
        "the 1980s",
        "Christmas",
        "the first day of 0001",
    ],
)
def test_always_between_zero_and_one(text: str) -> None:
    """Whatever the span and the time, the score is a number from 0 to 1."""
    values = score_dates(
        find_times(text, NOW), np.array([-6e10, -1.0, 0.0, 1e9, 1.7e9, 2e11, np.inf, -np.inf])
    )
    assert values.dtype == np.float32
    assert np.isfinite(values).all()
    assert ((values >= 0) & (values <= 1)).all()


def test_speaker_asked_about() -> None:
    """Only what the person asked about said scores."""
    understood = parse_query("What did Melanie paint?", NOW, {"Caroline": 1, "Melanie": 1})
    assert score_speakers(understood, ["Melanie", "Caroline", "", "melanie"]).tolist() == [
        1.0,
        0.0,
        0.0,
        0.0,
    ]


def test_speaker_by_role() -> None:
    """Where speakers are called user and assistant, pronouns choose between them."""
    speakers = ["user", "assistant", "Human", "Bob"]
    assert score_speakers(parse_query("Where do I live?", NOW, {}), speakers).tolist() == [
        1.0,
        0.0,
        1.0,
        0.0,
    ]
    assert score_speakers(parse_query("What did you suggest?", NOW, {}), speakers).tolist() == [
        0.0,
        1.0,
        0.0,
        0.0,
    ]


def test_speaker_unknown() -> None:
    """A query about nobody prefers nobody."""
    assert score_speakers(QueryCues("pottery"), ["user", "", "Bob"]).tolist() == [0.0, 0.0, 0.0]
    assert score_speakers(QueryCues("pottery"), []).shape == (0,)
