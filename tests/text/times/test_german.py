"""German times, seen from Wednesday 12 July 2023, 15:30 UTC."""

import pytest
from tests.text.times.spans import NOW, cases, expected, found

from engrams.text.times import find_times

TIMES = [
    ("Letzten Dienstag war ich dort", "day 2023-07-11"),
    ("nächsten Freitag", "day 2023-07-21"),
    ("am Montag", "day 2023-07-10"),
    ("am Freitagabend", "hour 2023-07-07T17:00 2023-07-08T00:00"),
    ("gestern", "day 2023-07-11"),
    ("vorgestern", "day 2023-07-10"),
    ("übermorgen", "day 2023-07-14"),
    ("heute", "day 2023-07-12"),
    ("Morgen fahren wir los", "day 2023-07-13"),
    ("morgen früh", "hour 2023-07-13T05:00 2023-07-13T12:00"),
    ("gestern Abend", "hour 2023-07-11T17:00 2023-07-12T00:00"),
    ("heute Morgen", "hour 2023-07-12T05:00 2023-07-12T12:00"),
    ("gestern um 15 Uhr", "hour 2023-07-11T15:00"),
    ("letzte Nacht", "hour 2023-07-11T18:00 2023-07-12T06:00"),
    ("im März", "month 2023-03-01"),
    ("im Mai 2022", "month 2022-05-01"),
    ("am 3. Mai", "day 2023-05-03"),
    ("am 3. Mai 2022", "day 2022-05-03"),
    ("am 3.5.2022", "day 2022-05-03"),
    ("am 3.5. war es", "day 2023-05-03"),
    ("vom 3. bis 5. Juni", "range 2023-06-03 2023-06-06"),
    ("zwischen Mai und Juli 2023", "range 2023-05-01 2023-08-01"),
    ("vor zwei Wochen", "week 2023-06-26"),
    ("vor einem Monat", "month 2023-06-01"),
    ("vor 3 Tagen", "day 2023-07-09"),
    ("vor ein paar Jahren", "range 2018-01-01 2022-01-01"),
    ("in zwei Wochen", "week 2023-07-24"),
    ("Der TÜV ist heute in acht Tagen", "day 2023-07-19"),
    ("Montag in acht Tagen um 9 Uhr", "hour 2023-07-24T09:00"),
    ("Heute vor einem Jahr", "day 2022-07-12"),
    ("übernächste Woche", "week 2023-07-24"),
    ("vorletzten Sonntag", "day 2023-07-02"),
    ("am ersten Montag im Juni", "day 2023-06-05"),
    ("am letzten Freitag im Büro", "day 2023-07-07"),
    ("Wir waren vom 3. bis 7. weg", "range 2023-07-03 2023-07-08"),
    ("Wir sind vom 28. bis zum 2. weg gewesen", "range 2023-06-28 2023-07-03"),
    ("letzte Woche", "week 2023-07-03"),
    ("nächste Woche", "week 2023-07-17"),
    ("letzten Monat", "month 2023-06-01"),
    ("letztes Jahr", "year 2022-01-01"),
    ("dieses Jahr", "year 2023-01-01"),
    ("letztes Wochenende", "weekend 2023-07-08"),
    ("am Wochenende", "weekend 2023-07-08"),
    ("Ende Mai", "range 2023-05-21 2023-06-01"),
    ("Ende letzten Monats", "range 2023-06-21 2023-07-01"),
    ("Anfang des Jahres", "range 2023-01-01 2023-04-01"),
    ("Ende 2022", "range 2022-10-01 2023-01-01"),
    ("letzten Sommer", "season 2022-06-01"),
    ("im Sommer 2022", "season 2022-06-01"),
    ("im Herbst", "season 2022-09-01"),
    ("an Weihnachten", "range 2022-12-24 2022-12-27"),
    ("zwei Tage vor Weihnachten", "day 2022-12-23"),
    ("seit 2019", "range 2019-01-01 now"),
    ("seit drei Jahren", "range 2020-07-12T15:30 now"),
    ("in den letzten drei Wochen", "range 2023-06-21T15:30 now"),
    ("Ich war bis März dort", "range ever 2023-04-01"),
    ("nach dem 3. Mai", "range 2023-05-04 now"),
    ("neulich", "range 2023-06-12T15:30 now"),
    ("die 90er Jahre", "range 1990-01-01 2000-01-01"),
    ("im ersten Quartal 2023", "range 2023-01-01 2023-04-01"),
    ("Im Jahr 2000", "year 2000-01-01"),
    ("Ich war letzten Monat in Berlin und vorgestern in Köln", "month 2023-06-01; day 2023-07-10"),
]
NOTHING = cases("""
    vom 3. bis 7. Semester habe ich gejobbt
    Guten Morgen|Das ist hier|jeden Montag|dienstags|ein Jahr|drei Jahre lang|Der Mai ist schön|um 15 Uhr|2023 Euro
    letzten Endes|am Tag|die Nacht
    """)


@pytest.mark.parametrize(("text", "want"), TIMES)
def test_finds(text: str, want: str) -> None:
    """A German time means its interval."""
    assert found(text) == expected(want)


@pytest.mark.parametrize("text", NOTHING)
def test_finds_nothing(text: str) -> None:
    """A German text that only looks like a time has none."""
    assert find_times(text, NOW) == ()
