"""What holds for every text and every clock."""

import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.times.spans import NOW, cases, expected, found, texts

from engrams.text.times import EARLIEST, LATEST, TimeSpan, detect_language, find_times

PIECES = cases("""
    last|next|this|week|month|year|Friday|May|3|31|2023|9999|0001|99999|ago|in|from|to|between|and|since|until
    before|after|the|end of|early|mid-|two|a few|yesterday|tomorrow at|3pm|25:99|first|of|Christmas|summer|Q1|'90s
    29 February|2023-02-29|12/31/9999|1.1.1900|half a|century|decades|vor|drei|Jahren|Ende|letzten|hace|siglo|anos
    il y a|derniers|jusqu'en|mars|上周|二|三|年|月|日|以前|底|从|到|先週|の|火曜日|から|まで|前|後|令和|%|/|-|,|.|?
    """)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
)
CLOCKS = st.datetimes(
    timezones=st.sampled_from(
        [
            None,
            UTC,
            ZoneInfo("America/New_York"),
            timezone(timedelta(hours=14)),
            timezone(timedelta(hours=-12)),
        ]
    )
)


@settings(max_examples=600, deadline=None)
@given(TEXTS, CLOCKS)
def test_any_text_any_clock(text: str, now: datetime) -> None:
    """Whatever the text and the clock:
    no error, real intervals in UTC, in order, apart, each quoting its place.
    """
    last = 0
    for span in find_times(text, now):
        assert span.start < span.end
        assert span.start.tzinfo is UTC
        assert span.end.tzinfo is UTC
        assert text[span.at : span.at + len(span.text)] == span.text
        assert span.text.strip() == span.text != ""
        assert span.at >= last
        last = span.at + len(span.text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\0",
        "\ud800 yesterday",
        "yesterday\0",
        "🎉 last week 🎉",
        "\u202eyesterday",
        "a" * 100_000,
        "may " * 20_000,
    ],
)
def test_hostile(text: str) -> None:
    """Empty, huge, NUL, lone surrogates, emoji and right-to-left marks are texts like any other."""
    assert isinstance(find_times(text, NOW), tuple)


def test_emoji_do_not_move_the_place() -> None:
    """Characters outside the basic plane count as one."""
    (span,) = find_times("🎉🎉 last week 🎉", NOW)
    assert (span.text, span.at) == ("last week", 3)


@pytest.mark.parametrize(
    "text",
    ["übermorgen", "en février 2022", "im März", "el miércoles pasado", "été 2022", "mañana"],
)
def test_decomposed_accents(text: str) -> None:
    """A text with separate combining marks means the same, and is quoted with them."""
    apart = unicodedata.normalize("NFD", f"so, {text}!")
    assert found(apart) == found(f"so, {text}!") != []
    assert [unicodedata.normalize("NFC", quoted) for quoted in texts(apart)] == texts(
        f"so, {text}!"
    )


def test_day_of_the_speakers_zone() -> None:
    """Days begin at midnight where the speaker is."""
    tokyo = datetime(2023, 7, 12, 3, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
    (span,) = find_times("today", tokyo)
    assert (span.start, span.end) == (
        datetime(2023, 7, 11, 15, tzinfo=UTC),
        datetime(2023, 7, 12, 15, tzinfo=UTC),
    )


def test_naive_clock_is_utc() -> None:
    """A clock without a zone is read as UTC."""
    assert found("yesterday", NOW.replace(tzinfo=None)) == expected("day 2023-07-11")


def test_clock_change() -> None:
    """The day of a clock change has 23 or 25 hours."""
    monday = datetime(2023, 3, 13, 12, tzinfo=ZoneInfo("America/New_York"))
    (span,) = find_times("yesterday", monday)
    assert span.end - span.start == timedelta(hours=23)


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (datetime(1, 1, 1, tzinfo=UTC), "yesterday"),
        (datetime(1, 1, 1, tzinfo=UTC), "last year"),
        (datetime(9999, 12, 31, tzinfo=UTC), "tomorrow"),
        (datetime(9999, 12, 31, tzinfo=UTC), "this year"),
        (NOW, "9000 years ago"),
        (NOW, "9999-12-31"),
    ],
)
def test_outside_the_calendar(now: datetime, text: str) -> None:
    """A time outside years 1 to 9999 is none."""
    assert find_times(text, now) == ()


def test_first_day_of_the_calendar_in_an_eastern_zone() -> None:
    """A day that begins before year 1 in UTC is cut there."""
    (span,) = find_times("today", datetime(1, 1, 1, 12, tzinfo=timezone(timedelta(hours=14))))
    assert span.start == EARLIEST


def test_open_sides() -> None:
    """An open side is the first or last moment there is."""
    assert find_times("before 2019", NOW)[0].start == EARLIEST
    assert find_times("after 2030", NOW)[0].end == LATEST


@pytest.mark.parametrize(
    ("now", "want"),
    [
        ("2024-02-29T12:00", "day 2024-02-29"),
        ("2024-02-28T12:00", "day 2024-02-29"),
        ("2024-01-02T12:00", "day 2020-02-29"),
        ("2025-06-01T12:00", "day 2024-02-29"),
    ],
)
def test_leap_day(now: str, want: str) -> None:
    """29 February is looked for in leap years."""
    assert found("on 29 February", datetime.fromisoformat(now).replace(tzinfo=UTC)) == expected(
        want
    )


@pytest.mark.parametrize(
    ("now", "text", "want"),
    [
        ("2023-07-15T12:00", "last weekend", "weekend 2023-07-08"),
        ("2023-07-15T12:00", "this weekend", "weekend 2023-07-15"),
        ("2023-07-16T12:00", "this Friday", "day 2023-07-21"),
        ("2023-07-16T12:00", "next Friday", "day 2023-07-21"),
        ("2023-07-16T12:00", "last Friday", "day 2023-07-14"),
        ("2023-07-17T12:00", "last weekend", "weekend 2023-07-15"),
        ("2024-01-31T12:00", "last month", "month 2023-12-01"),
        ("2024-03-31T12:00", "a month ago", "month 2024-02-01"),
        ("2024-01-15T12:00", "this winter", "season 2023-12-01"),
        ("2024-01-15T12:00", "in December", "month 2023-12-01"),
        ("2023-12-25T12:00", "at Christmas", "range 2023-12-24 2023-12-27"),
        ("2023-12-25T12:00", "last Christmas", "range 2022-12-24 2022-12-27"),
        ("2023-07-03T12:00", "Monday", "day 2023-06-26"),
        ("2023-07-01T12:00", "on the 31st", "day 2023-05-31"),
    ],
)
def test_seen_from_other_days(now: str, text: str, want: str) -> None:
    """Weeks begin on Monday, "last" is over, and "this" is running."""
    assert found(text, datetime.fromisoformat(now).replace(tzinfo=UTC)) == expected(want)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("I will be there in March", "month 2024-03-01"),
        ("The wedding was in March", "month 2023-03-01"),
        ("We're planning a trip in September", "month 2023-09-01"),
        ("I went in September and I will go again", "month 2022-09-01"),
        ("Day 2 (July 20)", "day 2023-07-20"),
        ("we met on July 20", "day 2022-07-20"),
        ("Day 2 (October 20)", "day 2022-10-20"),
        ("Ich werde im März fahren", "month 2024-03-01"),
        ("En marzo voy a viajar", "month 2024-03-01"),
        ("En mars je vais voyager", "month 2024-03-01"),
        ("我三月要去", "month 2024-03-01"),
    ],
)
def test_future_clause(text: str, want: str) -> None:
    """A date without a year is the coming one where its clause looks ahead."""
    assert found(text) == expected(want)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("What did she paint last week?", "en"),
        ("Was hat sie letzte Woche gemalt?", "de"),
        ("¿Qué pintó ella la semana pasada?", "es"),
        ("Qu'est-ce qu'elle a peint la semaine dernière ?", "fr"),
        ("她上周画了什么？", "zh"),
        ("先週は何を描きましたか", "ja"),
        ("지난주에 뭐 했어요", "ko"),
        ("", "en"),
    ],
)
def test_language(text: str, want: str) -> None:
    """The language of a short question is told by its most frequent words or its script."""
    assert detect_language(text) == want


def test_span_is_a_value() -> None:
    """Two spans of the same content are equal."""
    assert find_times("yesterday", NOW) == find_times("yesterday", NOW)
    assert isinstance(find_times("yesterday", NOW)[0], TimeSpan)
