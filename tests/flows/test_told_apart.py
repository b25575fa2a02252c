"""Things and persons of one kind do not doubt each other, and what changes of one is still told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engrams import MemoryEngine
from engrams.core import Status, Turn
from engrams.testing import temp_engine

ANN = ("user", "ann")
START = datetime(2026, 3, 3, 10, tzinfo=UTC)


def is_doubted(memory: MemoryEngine, earlier: str, later: str) -> bool:
    """Say two things twenty days apart; tell if a reader is told that the earlier may be over."""
    memory.observe(Turn(earlier, at=START), scope=ANN)
    assert memory.drain(30)
    memory.observe(Turn(later, at=START + timedelta(days=20)), scope=ANN)
    assert memory.drain(30)
    (hit,) = [hit for hit in memory.search(earlier, scope=ANN).hits if hit.record.text == earlier]
    return hit.status is not Status.ACTIVE or bool(hit.outdated and hit.outdated.is_told)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("my phone plan is 40 euros a month", "the internet is 35 now"),
        ("Karim brings the kids to school on Mondays", "Nadia brings the kids on Tuesdays now"),
        ("I meet the architect on Friday", "the meeting with the bank is cancelled"),
        ("the red bike is in the cellar", "I sold the blue bike"),
        ("I like working at the library", "I hate working at the cafe now"),
        ("I take magnesium every evening", "I no longer take iron"),
        ("My son plays the cello", "My daughter gave up the piano"),
        ("my car insurance is with Aviva", "switched the house insurance to Axa"),
        ("I teach 7b on Mondays", "8a moved to Tuesdays"),
        ("Ward 3 has twelve beds", "ward 5 is down to eight beds"),
        ("Team Falcon uses kotlin", "Team Heron switched to swift"),
        ("We use Stripe instead of PayPal.", "The shop uses PayPal instead of Stripe."),
        ("We use pnpm instead.", "The shop uses bun instead of pnpm."),
        ("Wir nutzen Postgres statt MySQL.", "Der Shop nutzt MySQL statt Postgres."),
        ("Usamos Stripe en lugar de PayPal.", "La tienda usa PayPal en lugar de Stripe."),
        (
            "Nous utilisons Stripe au lieu de PayPal.",
            "La boutique utilise PayPal au lieu de Stripe.",
        ),
        ("我们用支付宝代替微信。", "商店用微信代替支付宝。"),
        ("prod runs on eu-west-1", "dev moved to us-east-2"),
        ("I have a cat called Biscuit", "the neighbours' cat died"),
        ("Ich nehme Magnesium", "Eisen nehme ich nicht mehr"),
        ("Der Kindergarten kostet 200 Euro", "Die Musikschule kostet jetzt 60 Euro"),
        ("Lukas bringt die Kinder montags", "Mia bringt die Kinder jetzt dienstags"),
        ("Tomo magnesio por la noche", "ya no tomo hierro"),
        ("la bici roja está en el sótano", "vendí la bici azul"),
        ("Je prends du magnésium", "Je ne prends plus de fer"),
        ("Mon fils joue du violoncelle", "Ma fille a arrêté le piano"),
        ("我每天吃镁片", "我不再吃铁剂了"),
        ("赤い自転車は地下にあります", "青い自転車を売りました"),
    ],
)
def test_another_of_its_kind_casts_no_doubt(earlier: str, later: str) -> None:
    """Another bill, person, remedy, bike, class or team ends nothing that was said of this one."""
    with temp_engine(jobs__workers=0) as memory:
        assert not is_doubted(memory, earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Lena is our team lead", "Marco is our team lead now"),
        ("I take magnesium every evening", "I no longer take magnesium"),
        ("the red bike is in the cellar", "I sold the red bike"),
        ("My therapist is on Mondays at 5", "therapy moved to Wednesdays"),
        ("I like working at the library", "I hate working at the library now"),
        ("Das Training ist mittwochs", "Training ist jetzt freitags"),
        ("mi hija hace judo", "mi hija dejó el judo"),
        ("Le cours de yoga est à 18h", "le yoga est à 19h désormais"),
        ("例会在周二", "例会改到周四了"),
        ("会議は月曜日です", "会議は水曜日に変わりました"),
    ],
)
def test_news_of_the_very_thing_is_told(earlier: str, later: str) -> None:
    """A role that passes on, and the same thing with another value or at its end."""
    with temp_engine(jobs__workers=0) as memory:
        assert is_doubted(memory, earlier, later)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "Always sign letters for client number 11 with the initials Q11.",
            "Always sign letters for client number 12 with the initials Q12.",
        ),
        (
            "Always send the order 7 of Weber by post.",
            "Always send the order 8 of Weber by courier.",
        ),
    ],
)
def test_rules_for_things_with_other_numbers_stand_beside_each_other(
    first: str, second: str
) -> None:
    """One client's rule ends no other's."""
    with temp_engine(jobs__workers=0) as memory:
        assert not is_doubted(memory, first, second)
