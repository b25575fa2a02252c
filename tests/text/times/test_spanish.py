"""Spanish times, seen from Wednesday 12 July 2023, 15:30 UTC."""

import pytest
from tests.text.times.spans import NOW, cases, expected, found

from engrams.text.times import find_times

TIMES = [
    ("Del 3 al 7 estuve en Lima", "range 2023-07-03 2023-07-08"),
    ("Estuve fuera del 28 al 2.", "range 2023-06-28 2023-07-03"),
    ("El viernes a las cinco y media de la tarde", "minute 2023-07-07T17:30"),
    ("hoy en ocho días", "day 2023-07-19"),
    ("el último domingo de junio", "day 2023-06-25"),
    ("el mes antepasado", "month 2023-05-01"),
    ("hace quince días", "week 2023-06-26"),
    ("Mañana en ocho países", "day 2023-07-13"),
    ("a fin de mes dejo el piso", "range 2023-07-21 2023-08-01"),
    ("el martes pasado", "day 2023-07-11"),
    ("el pasado martes", "day 2023-07-11"),
    ("el próximo martes", "day 2023-07-18"),
    ("el viernes fuimos", "day 2023-07-07"),
    ("ayer", "day 2023-07-11"),
    ("anteayer", "day 2023-07-10"),
    ("antes de ayer", "day 2023-07-10"),
    ("anoche", "hour 2023-07-11T18:00 2023-07-12T06:00"),
    ("hoy", "day 2023-07-12"),
    ("mañana", "day 2023-07-13"),
    ("pasado mañana", "day 2023-07-14"),
    ("esta mañana", "hour 2023-07-12T05:00 2023-07-12T12:00"),
    ("ayer por la tarde", "hour 2023-07-11T12:00 2023-07-11T18:00"),
    ("mañana a las 3 de la tarde", "hour 2023-07-13T15:00"),
    ("en marzo", "month 2023-03-01"),
    ("en marzo de 2022", "month 2022-03-01"),
    ("el 3 de mayo", "day 2023-05-03"),
    ("3 de mayo de 2022", "day 2022-05-03"),
    ("el 03/05/2022", "day 2022-05-03"),
    ("del 3 al 5 de junio", "range 2023-06-03 2023-06-06"),
    ("entre mayo y julio de 2023", "range 2023-05-01 2023-08-01"),
    ("hace dos semanas", "week 2023-06-26"),
    ("hace un mes", "month 2023-06-01"),
    ("hace unos años", "range 2018-01-01 2022-01-01"),
    ("dentro de dos semanas", "week 2023-07-24"),
    ("la semana pasada", "week 2023-07-03"),
    ("la próxima semana", "week 2023-07-17"),
    ("el mes que viene", "month 2023-08-01"),
    ("el año pasado", "year 2022-01-01"),
    ("este año", "year 2023-01-01"),
    ("el fin de semana pasado", "weekend 2023-07-08"),
    ("a finales del mes pasado", "range 2023-06-21 2023-07-01"),
    ("a principios de año", "range 2023-01-01 2023-04-01"),
    ("a finales de mayo", "range 2023-05-21 2023-06-01"),
    ("el verano pasado", "season 2022-06-01"),
    ("en verano", "season 2023-06-01"),
    ("verano de 2022", "season 2022-06-01"),
    ("en Navidad", "range 2022-12-24 2022-12-27"),
    ("en Nochevieja", "day 2022-12-31"),
    ("desde 2019", "range 2019-01-01 now"),
    ("hasta marzo viví allí", "range ever 2023-04-01"),
    ("antes de Navidad", "range ever 2022-12-24"),
    ("los últimos tres años", "range 2020-07-12T15:30 now"),
    ("últimamente", "range 2023-06-12T15:30 now"),
    ("los años 90", "range 1990-01-01 2000-01-01"),
    ("en el primer trimestre de 2023", "range 2023-01-01 2023-04-01"),
    ("Ayer comí con ella y el lunes pasado también", "day 2023-07-11; day 2023-07-10"),
]
NOTHING = cases("""
    del 1 al 10 le doy un 8|lee las páginas del 3 al 7|subió del 3 al 7 por ciento
    los martes|la mañana|por la mañana|cada lunes|tres años|durante tres años|Feliz Navidad|la primavera es bonita|2023 euros
    de 3 a 5
    """)


@pytest.mark.parametrize(("text", "want"), TIMES)
def test_finds(text: str, want: str) -> None:
    """A Spanish time means its interval."""
    assert found(text) == expected(want)


@pytest.mark.parametrize("text", NOTHING)
def test_finds_nothing(text: str) -> None:
    """A Spanish text that only looks like a time has none."""
    assert find_times(text, NOW) == ()
