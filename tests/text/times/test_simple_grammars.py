"""Simple times in Portuguese, Italian, Dutch, Russian and Korean."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.testing import SettableClock, temp_engine
from engrams.text.times import find_times

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
"""A Wednesday."""

TIMES = (
    ("Ontem fui ao cinema", "2024-05-14", "day"),
    ("Comprei um carro há três semanas", "2024-04-22", "week"),
    ("Mudei de casa dois meses atrás", "2024-03-01", "month"),
    ("Em março de 2023 mudei para o Porto", "2023-03-01", "month"),
    ("Na semana passada vi um filme", "2024-05-06", "week"),
    ("Na sexta-feira passada jantamos fora", "2024-05-10", "day"),
    ("Ieri ho visto un film", "2024-05-14", "day"),
    ("Tre giorni fa sono caduto", "2024-05-12", "day"),
    ("Il 3 marzo 2023 ci siamo sposati", "2023-03-03", "day"),
    ("La settimana scorsa ero a Roma", "2024-05-06", "week"),
    ("Lunedì scorso sono andato dal medico", "2024-05-13", "day"),
    ("Gisteren heb ik gefietst", "2024-05-14", "day"),
    ("Twee weken geleden was ik ziek", "2024-04-29", "week"),
    ("Op 4 april 2023 zijn we getrouwd", "2023-04-04", "day"),
    ("Vorige week was ik in Gent", "2024-05-06", "week"),
    ("Afgelopen zomer waren we in Spanje", "2023-06-01", "season"),
    ("Вчера мы ходили в кино", "2024-05-14", "day"),
    ("Две недели назад я заболел", "2024-04-29", "week"),
    ("В прошлом месяце мы переехали", "2024-04-01", "month"),
    ("5 апреля 2023 года родился сын", "2023-04-05", "day"),
    ("В прошлый вторник был дождь", "2024-05-14", "day"),
    ("어제 영화를 봤어요", "2024-05-14", "day"),
    ("3일 전에 병원에 갔어요", "2024-05-12", "day"),
    ("지난주에 부산에 갔어요", "2024-05-06", "week"),
    ("2023년 4월 5일에 결혼했어요", "2023-04-05", "day"),
    ("지난 화요일에 만났어요", "2024-05-14", "day"),
    ("작년에 이사했어요", "2023-01-01", "year"),
    ("두 달 전에 시작했어요", "2024-03-01", "month"),
)


@pytest.mark.parametrize(("text", "start", "grain"), TIMES)
def test_a_simple_time_is_read(text: str, start: str, grain: str) -> None:
    """Days, weeks, months and dates as people say them are found with their day and their grain,
    and nothing else is.
    """
    assert [(f"{span.start:%Y-%m-%d}", span.grain) for span in find_times(text, NOW)] == [
        (start, grain)
    ]


ASKED = (
    ("Vi um filme muito bom", "O que vi ontem?"),
    ("Ho visto un film molto bello", "Che cosa ho visto ieri?"),
    ("Ik heb een mooie film gezien", "Wat heb ik gisteren gezien?"),
    ("Мы смотрели хороший фильм", "Что мы смотрели вчера?"),
    ("좋은 영화를 봤어요", "어제 무슨 영화를 봤어요?"),
)


@pytest.mark.parametrize(("said", "asked"), ASKED)
def test_a_question_about_yesterday_finds_what_was_said_then(said: str, asked: str) -> None:
    """Of two equal sentences the one that was said on the day asked about comes first."""
    clock = SettableClock(NOW.replace(day=2))
    with temp_engine(
        jobs__workers=0, write__extract="off", embed__provider="null", clock=clock
    ) as engine:
        engine.add(f"{said}!", scope=("user", "ann"))
        clock.set(NOW.replace(day=14))
        id = engine.add(f"{said}.", scope=("user", "ann")).id
        clock.set(NOW)
        assert engine.search(asked, scope=("user", "ann")).hits[0].record.id == id
