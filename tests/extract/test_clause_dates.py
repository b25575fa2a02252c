"""Times of a clause that are dates, and those that are part of a name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.extract.rules.clause_dates import find_spans

SAID = datetime(2026, 12, 2, 12, tzinfo=UTC)

NAMES = """
The honey is sold at the Saturday market. | My Tuesday class is full. | I teach at Sunday school. | Our Monday meeting moved to room 4.
He attends Friday prayers. | I read the March issue in the May edition. | I like the Tuesday morning class. | We sell at the weekend market.
I bought it on Black Friday. | We rest on Good Friday. | Anna's Tuesday class is full. | I love our Sunday walks. | I read the Sunday Times.
We cook at the Christmas market. | I joined after our June trip. | I bought a tent at the spring fair.
J'ai acheté du miel au marché du samedi. | Compré miel en el mercado del sábado. | Ich kaufe Honig auf dem Samstagsmarkt.
"""

DATES = """
We met on Saturday. | We met on the Saturday. | We meet this Saturday. | Saturday evening we went out. | I missed next Tuesday's class.
I missed the class on Tuesday. | On Friday class was cancelled. | We had dinner Saturday night with Anna. | My Monday was awful.
The Monday Anna left was cold. | Over the weekend people came. | In May Anna came. | The Saturday we met was sunny. | The Friday went well.
We were at Anna's Saturday night. | I bought it last Black Friday. | I was there on Good Friday 2023. | In the May of last year I moved.
Je travaille à partir du lundi. | J'ai mangé le samedi 3 mai. | Fuimos el sábado. | El partido del sábado 3 de mayo.
"""


def listed(text: str) -> list[str]:
    return [one.strip() for line in text.strip().splitlines() for one in line.split("|")]


@pytest.mark.parametrize("text", listed(NAMES))
def test_a_day_in_a_name_is_no_date(text: str) -> None:
    """A weekday, month, season or weekend before its noun is part of a name or a habit."""
    assert find_spans(text, SAID) == ()


@pytest.mark.parametrize("text", listed(DATES))
def test_a_day_of_its_own_is_a_date(text: str) -> None:
    """What says when something happens is resolved."""
    assert find_spans(text, SAID)
