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
    "Over dinner Kim went on and on, I only wear Zembrix, I work at Zembrix, and I yawned.",
    "He's like I live in Zembrix now, I never drive. What do I reply?",
    "My cousin hums into the phone: I live in Zembrix, I always shop at Zembrix.",
    "Caller three, I work at Zembrix, I always use Zembrix. Who is it?",
    "Put this into Latin: I live in Zembrix and I work at Zembrix.",
    "In Omas Brief steht, ich wohne in Zembrix. Wann war das?",
    "Mein Onkel quatscht auf die Mailbox: ich bin nach Zembrix gezogen.",
    "Im Antrag ist vorausgefüllt: Ich wohne in Zembrix. Muss das weg?",
    "Wir üben einen Dialog: du bist der Wirt und ich bin ein Ritter. Ich wohne in Zembrix.",
    "Sur le mur on lit j'habite à Zembrix, je travaille chez Zembrix. C'est de qui ?",
    "Mi tía me dejó un audio, que vivo en Zembrix, que siempre uso Zembrix. ¿Qué hago?",
    "收银员大声说我住在Zembrix，我在Zembrix工作，大家都看她。",
    "英語に直して：私はZembrixに住んでいます。",
)
OWN = (
    "My doctor told me that I'm allergic to Zembrix.",
    "The allergist wrote that I'm allergic to Zembrix.",
    "I told my neighbour that I moved to Zembrix last week.",
    "My colleague wrote a long mail. I moved to Zembrix last week.",
    "Ich habe meiner Schwester geschrieben. Ich bin letzte Woche nach Zembrix gezogen.",
    "Write to the bank that I moved to Zembrix.",
    "You asked where I work: I work at Zembrix.",
    "The README is mine: always run Zembrix before a commit.",
    "My part is done. I work at Zembrix on the rest.",
    "The show goes on, I work at Zembrix.",
    "In meinem Profil steht, ich arbeite bei Zembrix.",
    "Das Haus steht, ich wohne jetzt in Zembrix.",
    "Ven a verme, que vivo en Zembrix.",
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
    """Gossip about the user, and speech without quotation marks, are kept and teach nothing."""
    assert _learn(message) == []


@pytest.mark.parametrize("message", OWN)
def test_what_the_user_says_or_is_told_is_learned(message: str) -> None:
    """Findings of a doctor, what the user tells others, and news beside a text stay the user's."""
    assert _learn(message)
