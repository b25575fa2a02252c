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


@pytest.mark.parametrize(
    "text",
    [
        "I'm away until March",
        "Ich bin bis März in Rom",
        "Estoy en Roma hasta marzo",
        "Je suis à Rome jusqu'en mars",
    ],
)
def test_until_a_month_has_two_ends(text: str) -> None:
    """It may mean that March begins, or that it is over."""
    times = resolve(text, datetime(2026, 12, 31, tzinfo=UTC))
    assert [time.end for time in times] == [
        datetime(2027, 3, 1, tzinfo=UTC),
        datetime(2027, 4, 1, tzinfo=UTC),
    ]
    assert [time.sure for time in times] == [0.5, 0.5]


@pytest.mark.parametrize(
    "text",
    [
        "Mein Mann kocht am Wochenende",
        "I see my dad on the weekend",
        "We're moving the release from Thursday to Monday",
        "pasamos la reunión del jueves al lunes",
        "on décale la réunion du jeudi au lundi",
        "our sessions last 8 hours",
        "my doctor put me on it since before Christmas",
    ],
)
def test_each_weekend_a_moved_day_and_a_length_are_no_time(text: str) -> None:
    """What is done at weekends, a day that another replaces and how long things take name no day."""
    assert resolve(text, datetime(2026, 5, 31, 22, tzinfo=UTC)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "I work three twelves, thursday friday saturday",
        "trabajo lunes, miércoles y viernes",
        "je travaille lundi, mardi et jeudi",
        "Ich arbeite Montag, Mittwoch und Freitag",
        "De lunes a viernes me levanto a las cinco",
        "Von Montag bis Freitag arbeite ich in Kiel",
    ],
)
def test_weekdays_in_a_row_recur(text: str) -> None:
    """They name no days of this week."""
    (time,) = resolve(text, datetime(2026, 5, 31, tzinfo=UTC))
    assert time.recurs
    assert time.start is None


@pytest.mark.parametrize(
    "text", ["I'm in Rome from Thursday to Monday", "estoy en Roma de jueves a lunes"]
)
def test_a_stay_from_day_to_day_is_one_stay(text: str) -> None:
    """Who is somewhere from Thursday to Monday is not there every week."""
    (time,) = resolve(text, datetime(2026, 6, 3, tzinfo=UTC))
    assert not time.recurs


def test_a_weekend_that_has_begun_may_be_the_next_one() -> None:
    """Said on a Sunday, "am Wochenende fahre ich" may mean either."""
    times = resolve("Ich fahre am Wochenende nach Köln", datetime(2026, 5, 31, 22, tzinfo=UTC))
    assert [time.start and time.start.day for time in times] == [30, 6]
