"""Times that a clause names, worked out from the day of its telling."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.extract.everyday_times import MORE, ROWS, Answer

from engrams.core import ResolvedTime
from engrams.extract.rules.clause_times import resolve_times


def resolve(sentence: str, said_at: datetime) -> tuple[ResolvedTime, ...]:
    return resolve_times(sentence, 0, len(sentence), said_at, "", "")


def days(time: ResolvedTime) -> str | list[str | None]:
    """A day of the teller's calendar, or its first and last."""
    if time.recurs:
        return time.recurs.removeprefix("every year ")
    first = time.start.date().isoformat() if time.start else None
    last = (time.end - timedelta(seconds=1)).date().isoformat() if time.end else None
    return first if first and first == last else [first, last]


def expected(answer: Answer) -> list[str | list[str | None]]:
    return [
        reading
        for part in answer
        for reading in (part.split("|") if isinstance(part, str) else [part])
    ]


@pytest.mark.parametrize(("language", "said", "sentence", "answer"), ROWS + MORE)
def test_everyday_times(language: str, said: str, sentence: str, answer: Answer) -> None:
    """What people say of days, in six languages, is resolved from the day of telling."""
    times = resolve(sentence, datetime.fromisoformat(said))
    if answer == "recurs":
        assert times, language
        assert all(time.recurs and time.start is None for time in times)
    else:
        assert [days(time) for time in times] == expected(answer)


def test_unsure_where_two_days_are_meant() -> None:
    """Of two readings none is sure."""
    times = resolve("Dinner with Ana is next Friday.", datetime(2025, 6, 11, 12, tzinfo=UTC))
    assert [time.sure for time in times] == [0.5, 0.5]


def test_to_json_keeps_the_tellers_day() -> None:
    """Metadata has the calendar day of whoever said it, not that of UTC."""
    said_at = datetime.fromisoformat("2025-06-11T23:30-07:00")
    (time,) = resolve("My flight is tomorrow.", said_at)
    assert time.to_json() == {
        "text": "tomorrow",
        "start": "2025-06-12T00:00:00-07:00",
        "end": "2025-06-13T00:00:00-07:00",
        "grain": "day",
        "sure": 0.95,
    }


@pytest.mark.parametrize(
    ("text", "said_at", "day"),
    [
        ("I've managed to cut it down to 5 hours by April 7", (2024, 4, 10), (2024, 4, 8)),
        ("I want to have completed it by June 3", (2024, 4, 10), (2024, 6, 4)),
        ("I had to reschedule the April 7 craft session", (2024, 3, 28), (2024, 4, 8)),
    ],
)
def test_a_limit_and_what_is_put_off_have_the_nearest_day(
    text: str, said_at: tuple[int, int, int], day: tuple[int, int, int]
) -> None:
    """What is met lies before its telling, and a perfect infinitive or a move ahead of it."""
    (time,) = resolve_times(text, 0, len(text), datetime(*said_at, tzinfo=UTC), "", "")
    assert time.end == datetime(*day, tzinfo=UTC)


@pytest.mark.parametrize("text", ["王国庆是我的上司", "I work 30/week now"])
def test_a_name_or_a_rate_is_no_time(text: str) -> None:
    """A holiday within a name and a week behind a slash name no day."""
    times = resolve_times(text, 0, len(text), datetime(2024, 4, 3, tzinfo=UTC), "", "")
    assert times == ()
