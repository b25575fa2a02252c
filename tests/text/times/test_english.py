"""English times, seen from Wednesday 12 July 2023, 15:30 UTC."""

import pytest
from tests.text.times.spans import NOW, cases, expected, found

from engrams.text.times import find_times

ABSOLUTE = [
    ("on 7 May 2023", "day 2023-05-07"),
    ("7th of May, 2023", "day 2023-05-07"),
    ("May 7, 2023", "day 2023-05-07"),
    ("May 7th", "day 2023-05-07"),
    ("the seventh of May", "day 2023-05-07"),
    ("Dec 3rd we met", "day 2022-12-03"),
    ("Sunday, 7 May 2023", "day 2023-05-07"),
    ("Monday, April 3", "day 2023-04-03"),
    ("2023-05-07", "day 2023-05-07"),
    ("2023/05/07", "day 2023-05-07"),
    ("2023-05-07T13:56:00Z", "minute 2023-05-07T13:56"),
    ("2023-05-07T13:56+02:00", "minute 2023-05-07T11:56"),
    ("2023-05-07 13:56", "minute 2023-05-07T13:56"),
    ("05/07/2023", "day 2023-05-07"),
    ("25/12/2022", "day 2022-12-25"),
    ("5/7/23", "day 2023-05-07"),
    ("7.5.2023", "day 2023-05-07"),
    ("March 2024", "month 2024-03-01"),
    ("March, 2024", "month 2024-03-01"),
    ("May '22", "month 2022-05-01"),
    ("2023-05", "month 2023-05-01"),
    ("in Sept 2021", "month 2021-09-01"),
    ("we met in March", "month 2023-03-01"),
    ("in December", "month 2022-12-01"),
    ("next March", "month 2024-03-01"),
    ("last March", "month 2023-03-01"),
    ("last July", "month 2022-07-01"),
    ("this May", "month 2023-05-01"),
    ("in may we moved house, in fact", "month 2023-05-01"),
    ("March last year", "month 2022-03-01"),
    ("in March of last year", "month 2022-03-01"),
    ("last year in March", "month 2022-03-01"),
    ("next year in April", "month 2024-04-01"),
    ("summer 2022", "season 2022-06-01"),
    ("the summer of 2022", "season 2022-06-01"),
    ("last summer", "season 2022-06-01"),
    ("this summer", "season 2023-06-01"),
    ("in the fall", "season 2022-09-01"),
    ("next spring", "season 2024-03-01"),
    ("winter 2022", "season 2022-12-01"),
    ("last winter", "season 2022-12-01"),
    ("in the summer of last year", "season 2022-06-01"),
    ("Christmas", "range 2022-12-24 2022-12-27"),
    ("Christmas Eve", "day 2022-12-24"),
    ("Christmas 2021", "range 2021-12-24 2021-12-27"),
    ("last Christmas", "range 2022-12-24 2022-12-27"),
    ("next Halloween", "day 2023-10-31"),
    ("on Thanksgiving", "day 2022-11-24"),
    ("New Year's Eve", "day 2022-12-31"),
    ("Valentine’s Day", "day 2023-02-14"),
    ("Easter 2023", "range 2023-04-07 2023-04-11"),
    ("on Good Friday", "day 2023-04-07"),
    ("Black Friday", "day 2022-11-25"),
    ("the 4th of July", "day 2023-07-04"),
    ("on the 3rd", "day 2023-07-03"),
    ("on the 21st", "day 2023-06-21"),
    ("the 3rd of last month", "day 2023-06-03"),
    ("on the 3rd of May", "day 2023-05-03"),
    ("back in 2022", "year 2022-01-01"),
    ("2021 was hard", "year 2021-01-01"),
    ("in 2000", "year 2000-01-01"),
    ("the Olympics 2024", "year 2024-01-01"),
    ("2023's best film", "year 2023-01-01"),
    ("the 90s", "range 1990-01-01 2000-01-01"),
    ("the 1980s", "range 1980-01-01 1990-01-01"),
    ("the nineties", "range 1990-01-01 2000-01-01"),
    ("the '80s", "range 1980-01-01 1990-01-01"),
    ("Q1 2023", "range 2023-01-01 2023-04-01"),
    ("in the second quarter of 2022", "range 2022-04-01 2022-07-01"),
    ("last quarter", "range 2023-04-01 2023-07-01"),
    ("on May 7th, 2023 at 3:30pm", "minute 2023-05-07T15:30"),
    ("tomorrow at 3pm", "hour 2023-07-13T15:00"),
    ("noon on Friday", "hour 2023-07-07T11:30 2023-07-07T13:30"),
]

RELATIVE = [
    ("I went yesterday.", "day 2023-07-11"),
    ("today", "day 2023-07-12"),
    ("tomorrow", "day 2023-07-13"),
    ("the day before yesterday", "day 2023-07-10"),
    ("the day after tomorrow", "day 2023-07-14"),
    ("last night was fun", "hour 2023-07-11T18:00 2023-07-12T06:00"),
    ("tonight", "hour 2023-07-12T18:00 2023-07-13T06:00"),
    ("this morning", "hour 2023-07-12T05:00 2023-07-12T12:00"),
    ("yesterday evening", "hour 2023-07-11T17:00 2023-07-12T00:00"),
    ("tomorrow morning", "hour 2023-07-13T05:00 2023-07-13T12:00"),
    ("Saturday night", "hour 2023-07-08T18:00 2023-07-09T06:00"),
    ("in the morning on Friday", "hour 2023-07-07T05:00 2023-07-07T12:00"),
    ("last week", "week 2023-07-03"),
    ("this week", "week 2023-07-10"),
    ("next week", "week 2023-07-17"),
    ("the week before last", "week 2023-06-26"),
    ("last weekend", "weekend 2023-07-08"),
    ("over the weekend", "weekend 2023-07-08"),
    ("this past weekend", "weekend 2023-07-08"),
    ("next weekend", "weekend 2023-07-22"),
    ("two weekends ago", "weekend 2023-07-01"),
    ("last month", "month 2023-06-01"),
    ("next month", "month 2023-08-01"),
    ("last year", "year 2022-01-01"),
    ("the year before last", "year 2021-01-01"),
    ("three months ago", "month 2023-04-01"),
    ("a week ago", "week 2023-07-03"),
    ("3 weeks back", "week 2023-06-19"),
    ("10 days ago", "day 2023-07-02"),
    ("two years ago", "year 2021-01-01"),
    ("a year and a half ago", "month 2022-01-01"),
    ("two years and three months ago", "month 2021-04-01"),
    ("half a year ago", "month 2023-01-01"),
    ("5 minutes ago", "minute 2023-07-12T15:25"),
    ("an hour ago", "hour 2023-07-12T14:00"),
    ("two Fridays ago", "day 2023-06-30"),
    ("two summers ago", "season 2021-06-01"),
    ("a few years ago", "range 2018-01-01 2022-01-01"),
    ("a couple of weeks ago", "range 2023-06-19 2023-07-10"),
    ("a few days ago", "range 2023-07-07 2023-07-11"),
    ("the other day", "range 2023-07-05 2023-07-12"),
    ("recently", "range 2023-06-12T15:30 now"),
    ("What have you been up to lately?", "range 2023-06-12T15:30 now"),
    ("in recent years", "range 2018-07-12T15:30 now"),
    ("on Monday", "day 2023-07-10"),
    ("Wednesday was fun", "day 2023-07-05"),
    ("last Friday", "day 2023-07-07"),
    ("Last Fri I went", "day 2023-07-07"),
    ("last Tues", "day 2023-07-11"),
    ("this Friday", "day 2023-07-14"),
    ("next Friday", "day 2023-07-21"),
    ("We will meet on Friday", "day 2023-07-14"),
    ("I'm leaving on Monday", "day 2023-07-17"),
    ("Monday last week", "day 2023-07-03"),
    ("on Friday of next week", "day 2023-07-21"),
    ("last week on Tuesday", "day 2023-07-04"),
    ("the Friday before last", "day 2023-06-30"),
    ("end of last month", "range 2023-06-21 2023-07-01"),
    ("early last year", "range 2022-01-01 2022-05-01"),
    ("at the end of the month", "range 2023-07-21 2023-08-01"),
    ("the end of 2022", "range 2022-10-01 2023-01-01"),
    ("mid-June", "range 2023-06-11 2023-06-21"),
    ("late March", "range 2023-03-21 2023-04-01"),
    ("in early 2021", "range 2021-01-01 2021-05-01"),
    ("She is leaving in two weeks", "week 2023-07-24"),
    ("three days from now", "day 2023-07-15"),
    ("the first half of 2023", "range 2023-01-01 2023-07-01"),
    ("this century", "range 2000-01-01 2100-01-01"),
    ("tmrw", "day 2023-07-13"),
]

COMPOSED = [
    ("the week before 9 June 2023", "week 2023-06-02"),
    ("The Saturday before 25 May 2023", "day 2023-05-20"),
    ("The weekend before 13 September 2022", "weekend 2022-09-10"),
    ("two weekends before 17 July 2023", "weekend 2023-07-08"),
    ("two days before Christmas", "day 2022-12-23"),
    ("the day after 3 May 2023", "day 2023-05-04"),
    ("a month after May 2022", "month 2022-06-01"),
    ("the night before 3 May 2023", "hour 2023-05-02T18:00 2023-05-03T06:00"),
    ("a week from tomorrow", "day 2023-07-20"),
    ("The recital is a week from Sunday", "day 2023-07-23"),
    ("Two weeks on Monday we fly", "day 2023-07-31"),
    ("The plumber is coming Tuesday week.", "day 2023-07-25"),
    ("a fortnight ago", "week 2023-06-26"),
    ("twice a week on Monday", "day 2023-07-10"),
    ("the week of 23 August 2022", "week 2022-08-22"),
    ("the last week of May", "week 2023-05-25"),
    ("the first week of June 2022", "week 2022-06-01"),
    ("the first weekend of April 2023", "weekend 2023-04-01"),
    ("the first Monday of June 2023", "day 2023-06-05"),
    ("the last Friday in March", "day 2023-03-31"),
    ("the last day of 2022", "day 2022-12-31"),
    ("last week in London", "week 2023-07-03"),
    ("between May and July 2023", "range 2023-05-01 2023-08-01"),
    ("between March and June", "range 2023-03-01 2023-07-01"),
    ("from November to January", "range 2022-11-01 2023-02-01"),
    ("from 3 to 5 June", "range 2023-06-03 2023-06-06"),
    ("May 3-5", "range 2023-05-03 2023-05-06"),
    ("May 3rd to 5th, 2022", "range 2022-05-03 2022-05-06"),
    ("3 - 5 May 2022", "range 2022-05-03 2022-05-06"),
    ("from 2019 to 2021", "range 2019-01-01 2022-01-01"),
    ("2019-2021", "range 2019-01-01 2022-01-01"),
    ("2019–21", "range 2019-01-01 2022-01-01"),
    ("from Monday to Friday", "range 2023-07-03 2023-07-08"),
    ("May 2022 to March 2023", "range 2022-05-01 2023-04-01"),
    ("from May 2022 until July", "range 2022-05-01 2022-08-01"),
    ("since 2019", "range 2019-01-01 now"),
    ("since last March", "range 2023-03-01 now"),
    ("since the end of May", "range 2023-05-21 now"),
    ("I lived there until March", "range ever 2023-04-01"),
    ("We are closed until Friday", "range now 2023-07-15"),
    ("by Friday", "range now 2023-07-15"),
    ("before 2019", "range ever 2019-01-01"),
    ("after May 2023", "range 2023-06-01 now"),
    ("after 2030", "range 2031-01-01 never"),
    ("before next Christmas", "range now 2023-12-24"),
    ("for the past 3 years", "range 2020-07-12T15:30 now"),
    ("over the last two weeks", "range 2023-06-28T15:30 now"),
    ("in the past few months", "range 2023-02-12T15:30 now"),
    ("in the last week", "range 2023-07-05T15:30 now"),
    ("for the next 3 weeks", "range now 2023-08-02T15:30"),
    ("yesterday we met, and last week too", "day 2023-07-11; week 2023-07-03"),
    ("In May 2022 I moved, in June 2023 I left.", "month 2022-05-01; month 2023-06-01"),
]

NOTHING = cases("""
    we went there|Wednesdays are busy|on Mondays|every Monday|each Friday|May Smith called me|may I go|You may 7
    of those, 3 may be wrong|she may march|march on|the March on Washington|they march through town|the sun sat down
    he sat in the sun|version 2.5.201|v2023.1|Python 3.12.1|it costs $2023|2023 dollars|2000 steps a day|5,2023|call 555-2023
    +1 2023 555|wait a second|the second time|don't fall down|spring water|a spring in her step|for 3 years|3 years old|in my 20s
    room 2022|24/7|9/11|1/2|the 3rd floor|on the 3rd floor|the 3rd time|21st century|I learned it in two weeks|April said hi
    June and I|with August|Jan called|Sun is out|mon ami|once a week|one day|a year|day by day|good morning|good night
    the night was long|all day long|weekend plans|last time|last one|the next one|next door|this time|at last|first day
    31 February 2023|2023-02-30|2023-13-01|45/45/2023|32 May|Ruby Tuesday|Super Tuesday|Saturday Night Live|Wednesday Addams
    Sunday school|192.168.20.23|10.0.0.1|20231|12023|2023abc|error 2023|Windows 2000|a month|9999999999 days ago|99999 years ago
    9999 years ago|in 9999 years|minus 5|I will|soon|now|later|always|never|ago|since|between|the 0th|May 0|Q5|Q1
    """)


@pytest.mark.parametrize(("text", "want"), ABSOLUTE + RELATIVE + COMPOSED)
def test_finds(text: str, want: str) -> None:
    """An English time means its interval."""
    assert found(text) == expected(want)


@pytest.mark.parametrize("text", NOTHING)
def test_finds_nothing(text: str) -> None:
    """A text that only looks like a time has none."""
    assert find_times(text, NOW) == ()


@pytest.mark.parametrize(
    "text", ["in March", "May 7th", "Christmas", "in the fall", "the last week of May"]
)
def test_recurs(text: str) -> None:
    """A date whose text names no year says so."""
    assert [span.recurs for span in find_times(text, NOW)] == [True]


@pytest.mark.parametrize(
    "text",
    ["last March", "March 2022", "next Christmas", "yesterday", "on Friday", "March last year"],
)
def test_does_not_recur(text: str) -> None:
    """A date that a year or a word such as "last" fixes does not recur."""
    assert [span.recurs for span in find_times(text, NOW)] == [False]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Well, the week before 9 June 2023 was odd", "the week before 9 June 2023"),
        ("from 3 to 5 June we slept", "from 3 to 5 June"),
        ("I saw May 7th, 2023!", "May 7th, 2023"),
        ("at the end of last month", "the end of last month"),
        ("since 2019, yes", "since 2019"),
    ],
)
def test_text_and_place(text: str, want: str) -> None:
    """A span quotes its expression and says where it begins."""
    (span,) = find_times(text, NOW)
    assert span.text == want
    assert text[span.at : span.at + len(span.text)] == want
