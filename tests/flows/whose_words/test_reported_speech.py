"""What somebody else says of the user is not the user's word; what is told to the user stays theirs."""

from __future__ import annotations

import pytest

from engrams.core import Kind, Turn
from engrams.testing import temp_engine

ANN = ("user", "ann")
_LEARNED = (Kind.FACT, Kind.PREFERENCE, Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE)

REPORTED = (
    "The landlord informed the court that I have moved to Zembrix and never pay. What can I do?",
    "Somebody told the whole office that I work at Zembrix now. How do I stop that?",
    "My ex claims I always drink Zembrix at breakfast. Is that slander?",
    "Die Nachbarin erzählt im Haus herum, dass ich in Zembrix wohne und immer Zembrix trinke.",
    "Le voisin raconte que j'habite à Zembrix et que je travaille chez Zembrix.",
    "El vecino anda diciendo que vivo en Zembrix y que siempre uso Zembrix.",
    "邻居在群里说我住在Zembrix，还说我在Zembrix工作。",
    "隣人が、私はZembrixに住んでいると言いふらしています。",
)
OWN = (
    "My doctor told me that I'm allergic to Zembrix.",
    "The allergist wrote that I'm allergic to Zembrix.",
    "I told my neighbour that I moved to Zembrix last week.",
    "My colleague wrote a long mail. I moved to Zembrix last week.",
    "Ich habe meiner Schwester geschrieben. Ich bin letzte Woche nach Zembrix gezogen.",
)


def _learn(message: str) -> list[str]:
    with temp_engine(jobs__workers=0) as engine:
        engine.observe([Turn(message, session="s")], scope=ANN)
        engine.drain()
        records = engine.list(scope=ANN, kinds=_LEARNED).records
        assert engine.search("Zembrix", scope=ANN).hits  # the message itself is kept
        return [record.text for record in records if "Zembrix" in record.text]


@pytest.mark.parametrize("message", REPORTED)
def test_a_claim_of_somebody_else_is_not_learned(message: str) -> None:
    """Gossip and complaints about the user are kept as the message, and teach nothing."""
    assert _learn(message) == []


@pytest.mark.parametrize("message", OWN)
def test_what_the_user_says_or_is_told_is_learned(message: str) -> None:
    """A finding of a doctor, what the user told others, and news beside a mail stay the user's."""
    assert _learn(message)
