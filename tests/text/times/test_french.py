"""French times, seen from Wednesday 12 July 2023, 15:30 UTC."""

import pytest
from tests.text.times.spans import NOW, cases, expected, found

from engrams.text.times import find_times

TIMES = [
    ("lundi en huit", "day 2023-07-24"),
    ("lundi en huit minutes", "day 2023-07-10"),
    ("le premier lundi de juin", "day 2023-06-05"),
    ("du 28 au 2 j'étais en congé", "range 2023-06-28 2023-07-03"),
    ("il y a quinze jours", "week 2023-06-26"),
    ("dans la nuit de samedi à dimanche", "hour 2023-07-08T18:00 2023-07-09T06:00"),
    ("mardi dernier", "day 2023-07-11"),
    ("mardi prochain", "day 2023-07-18"),
    ("vendredi, nous avons mangé", "day 2023-07-07"),
    ("hier, je suis allé au marché", "day 2023-07-11"),
    ("avant-hier", "day 2023-07-10"),
    ("aujourd’hui", "day 2023-07-12"),
    ("demain", "day 2023-07-13"),
    ("après-demain", "day 2023-07-14"),
    ("demain matin", "hour 2023-07-13T05:00 2023-07-13T12:00"),
    ("hier soir", "hour 2023-07-11T17:00 2023-07-12T00:00"),
    ("ce matin", "hour 2023-07-12T05:00 2023-07-12T12:00"),
    ("la nuit dernière", "hour 2023-07-11T18:00 2023-07-12T06:00"),
    ("demain à 15h30", "minute 2023-07-13T15:30"),
    ("en mars", "month 2023-03-01"),
    ("en mars 2022", "month 2022-03-01"),
    ("le 3 mai", "day 2023-05-03"),
    ("le 1er mai 2022", "day 2022-05-01"),
    ("lundi 3 avril 2023", "day 2023-04-03"),
    ("du 3 au 5 juin", "range 2023-06-03 2023-06-06"),
    ("entre mai et juillet 2023", "range 2023-05-01 2023-08-01"),
    ("d'avril à juin", "range 2023-04-01 2023-07-01"),
    ("il y a deux semaines", "week 2023-06-26"),
    ("il y a un mois", "month 2023-06-01"),
    ("il y a quelques années", "range 2018-01-01 2022-01-01"),
    ("dans deux semaines", "week 2023-07-24"),
    ("la semaine dernière", "week 2023-07-03"),
    ("la semaine prochaine", "week 2023-07-17"),
    ("le mois dernier", "month 2023-06-01"),
    ("l'an dernier", "year 2022-01-01"),
    ("l’année prochaine", "year 2024-01-01"),
    ("cette année", "year 2023-01-01"),
    ("le week-end dernier", "weekend 2023-07-08"),
    ("fin mai", "range 2023-05-21 2023-06-01"),
    ("à la fin du mois dernier", "range 2023-06-21 2023-07-01"),
    ("au début de l'année", "range 2023-01-01 2023-04-01"),
    ("mi-juin", "range 2023-06-11 2023-06-21"),
    ("l'été dernier", "season 2022-06-01"),
    ("en été", "season 2023-06-01"),
    ("été 2022", "season 2022-06-01"),
    ("à Noël", "range 2022-12-24 2022-12-27"),
    ("la veille de Noël", "day 2022-12-24"),
    ("depuis 2019", "range 2019-01-01 now"),
    ("jusqu'en mars", "range ever 2023-04-01"),
    ("avant Noël", "range ever 2022-12-24"),
    ("ces trois dernières années", "range 2020-07-12T15:30 now"),
    ("récemment", "range 2023-06-12T15:30 now"),
    ("les années 90", "range 1990-01-01 2000-01-01"),
    ("au premier trimestre 2023", "range 2023-01-01 2023-04-01"),
]
NOTHING = cases("""
    le mardi|chaque lundi|j'ai été malade|J'ai sept ans|pendant trois ans|Joyeux Noël|la planète Mars est rouge|le matin
    une semaine|2023 euros
    """)


@pytest.mark.parametrize(("text", "want"), TIMES)
def test_finds(text: str, want: str) -> None:
    """A French time means its interval."""
    assert found(text) == expected(want)


@pytest.mark.parametrize("text", NOTHING)
def test_finds_nothing(text: str) -> None:
    """A French text that only looks like a time has none."""
    assert find_times(text, NOW) == ()
