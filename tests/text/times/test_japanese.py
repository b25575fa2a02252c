"""Japanese times, seen from Wednesday 12 July 2023, 15:30 UTC."""

import pytest
from tests.text.times.spans import NOW, cases, expected, found

from engrams.text.times import find_times

TIMES = [
    ("先週の火曜日に行った", "day 2023-07-04"),
    ("来週の金曜日", "day 2023-07-21"),
    ("次の火曜日", "day 2023-07-18"),
    ("火曜日に会った", "day 2023-07-11"),
    ("土曜日に会いましょう", "day 2023-07-15"),
    ("昨日", "day 2023-07-11"),
    ("きのう見た", "day 2023-07-11"),
    ("一昨日", "day 2023-07-10"),
    ("おととい", "day 2023-07-10"),
    ("今日", "day 2023-07-12"),
    ("明日", "day 2023-07-13"),
    ("明後日", "day 2023-07-14"),
    ("昨夜", "hour 2023-07-11T18:00 2023-07-12T06:00"),
    ("今朝", "hour 2023-07-12T05:00 2023-07-12T12:00"),
    ("昨日の午後3時", "hour 2023-07-11T15:00"),
    ("火曜日の夜", "hour 2023-07-11T18:00 2023-07-12T06:00"),
    ("三日前", "day 2023-07-09"),
    ("3日前に買った", "day 2023-07-09"),
    ("二週間前", "week 2023-06-26"),
    ("3ヶ月前", "month 2023-04-01"),
    ("二年半前", "month 2021-01-01"),
    ("数年前", "range 2018-01-01 2022-01-01"),
    ("先週", "week 2023-07-03"),
    ("再来週", "week 2023-07-24"),
    ("先週末", "weekend 2023-07-08"),
    ("先月", "month 2023-06-01"),
    ("来月", "month 2023-08-01"),
    ("先月末", "range 2023-06-21 2023-07-01"),
    ("先月の3日", "day 2023-06-03"),
    ("去年", "year 2022-01-01"),
    ("おととし", "year 2021-01-01"),
    ("来年の春", "season 2024-03-01"),
    ("去年の夏", "season 2022-06-01"),
    ("去年の3月", "month 2022-03-01"),
    ("2023年5月7日", "day 2023-05-07"),
    ("令和5年3月の話", "month 2023-03-01"),
    ("5月から7月まで", "range 2023-05-01 2023-08-01"),
    ("2019年以来ずっと", "range 2019-01-01 now"),
    ("5月以前", "range ever 2023-05-01"),
    ("クリスマスに", "range 2022-12-24 2022-12-27"),
    ("年末に", "range 2023-10-01 2024-01-01"),
    ("過去3年間", "range 2020-07-12T15:30 now"),
    ("最近どう", "range 2023-06-12T15:30 now"),
    ("先日", "range 2023-06-28 2023-07-12"),
    ("1990年代の音楽", "range 1990-01-01 2000-01-01"),
    ("今月の初め", "range 2023-07-01 2023-07-11"),
]
NOTHING = cases(
    """
    毎週火曜日に|三日間|3年間住んだ|りんごが好き|月がきれい|午後3時に|何時ですか|夜が好き
    """
)


@pytest.mark.parametrize(("text", "want"), TIMES)
def test_finds(text: str, want: str) -> None:
    """A Japanese time means its interval."""
    assert found(text) == expected(want)


@pytest.mark.parametrize("text", NOTHING)
def test_finds_nothing(text: str) -> None:
    """A Japanese text that only looks like a time has none."""
    assert find_times(text, NOW) == ()
