"""Corrections that say a sentence anew, also in another conversation than what they correct."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engrams import MemoryEngine, Turn
from engrams.core import STATEMENT_KINDS, Status
from engrams.testing import SettableClock, temp_engine

RESTATED = (
    ("My aunt Vera lives in Porto.", "hang on vera lives in faro not porto sry", "faro", "Porto"),
    ("Our rabbit Pip is 2 years old.", "you got that wrong, pip is 5, not 2", "5 years", "2"),
    ("My landlord is called Osborne.", "my landlord's name is Osman, u wrote that wrong", "Osman", "Osborne"),
    ("I'm allergic to shrimp.", "i'm not allergic to shrimp i'm allergic to mussels", "mussels", "shrimp"),
    ("The parents' evening is on Monday.", "pls correct that: the parents' evening is on Wednesday", "Wednesday", "Monday"),
    ("Mein Onkel Rolf wohnt in Gera.", "da irrst du dich, rolf wohnt in jena", "jena", "Gera"),
    ("Mats geht in die zweite Klasse.", "Quatsch, Mats geht in die dritte Klasse, nicht in die zweite", "dritte", "zweite"),
    ("Die Probe beginnt um 18:30.", "hab mich verlesen, die probe beginnt um 19:30", "19:30", "18:30"),
    ("Mi tía Rosa vive en Vigo.", "rosa vive en lugo, me he confundido", "lugo", "Vigo"),
    ("El veterinario es el viernes.", "te equivocas, el veterinario es el lunes", "lunes", "viernes"),
    ("Mon fils Léo a 7 ans.", "nan tu te trompes, léo a 8 ans", "8 ans", "7"),
    ("Ma tante est infirmière.", "ma tante est pas infirmière, elle est dentiste", "dentiste", "infirmière"),
    ("Wir haben vier Ziegen.", "bitte ändern: wir haben fünf Ziegen", "fünf", "vier"),
    ("奶奶今年71岁。", "奶奶不是71岁，是73岁", "73岁", "71"),
    ("Le cours de yoga est mardi.", "tu t'es trompée, le cours de yoga c'est jeudi", "jeudi", "mardi"),
    ("我哥哥住在重庆。", "你搞错了，我哥哥住在长沙，不是重庆", "长沙", "重庆"),
    ("爷爷今年80岁。", "记错了，爷爷今年82岁", "82岁", "80"),
    ("弟は名古屋に住んでいます。", "いや、弟は名古屋じゃなくて仙台に住んでるよ", "仙台", "名古屋"),
    ("猫の名前はタマです。", "訂正します。猫の名前はミケです", "ミケ", "タマ"),
)  # fmt: skip
"""What was said, its correction two weeks later, the right value, and the wrong one."""

OF_OTHERS = (
    ("Ben is allergic to walnuts.", "I'm not allergic to walnuts, I'm allergic to plums."),
    ("My brother lives in Leeds.", "You got that wrong: my sister lives in Bristol."),
    ("My dog is old.", "You're wrong, my dog is friendly."),
    ("Mein Hund ist alt.", "Da irrst du dich, mein Hund ist sehr brav."),
    ("Das Buch ist für Ida.", "Der Kuchen ist nicht für Ida, sondern für Ole."),
    ("Mi hermana vive en Vigo.", "Mi prima no vive en Vigo, vive en Lugo."),
    ("Mon oncle est boulanger.", "Mon cousin n'est pas boulanger, il est dentiste."),
    ("我姐姐住在重庆。", "你搞错了，我哥哥住在长沙"),
    ("母は銀行で働いています。", "いや、父は銀行じゃなくて病院で働いています"),
)
"""What was said, and a correction of something else."""


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(clock: SettableClock) -> Iterator[MemoryEngine]:
    with temp_engine(clock=clock, jobs__workers=0) as opened:
        yield opened


def list_told(engine: MemoryEngine, user: str) -> str:
    """What memory states of a person's words now, with messages that nothing ended."""
    scope = ("user", user)
    found = [
        hit.record.text
        for hit in engine.search("?", scope=scope, limit=20).hits
        if not hit.tell_end()
    ]
    facts = engine.list(scope=scope, kinds=STATEMENT_KINDS, statuses=(Status.ACTIVE,)).records
    return " | ".join([*found, *(fact.text for fact in facts)])


def test_a_sentence_said_anew_corrects_one_of_another_conversation(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """The statement holds the right value, and the wrong one is over."""
    for number, (said, correction, right, wrong) in enumerate(RESTATED):
        user = f"u{number}"
        engine.observe([Turn(said, session="first")], scope=("user", user))
        engine.drain()
        clock.forward(days=14)
        engine.observe([Turn(correction, session="later")], scope=("user", user))
        engine.drain()
        told = list_told(engine, user).replace(correction, "")
        assert right in told, (said, correction)
        assert wrong not in told, (said, correction)


def test_a_correction_of_something_else_changes_nothing(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """Another person, another thing, or another trait that may hold, too, is left as it was."""
    for number, (said, correction) in enumerate(OF_OTHERS):
        scope = ("user", f"o{number}")
        message = engine.observe([Turn(said, session="first")], scope=scope)[0].id
        engine.drain()
        before = engine.list(scope=scope, kinds=STATEMENT_KINDS).records
        clock.forward(days=2)
        engine.observe([Turn(correction, session="later")], scope=scope)
        engine.drain()
        assert engine.get(message, scope=scope).status is Status.ACTIVE
        for fact in before:
            assert engine.get(fact.id, scope=scope).status is Status.ACTIVE, (said, correction)


def test_a_sentence_said_anew_months_later_corrects_no_other_conversation(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """Whom the speaker names in the summer need not be whom they named in the spring."""
    scope = ("user", "ann")
    engine.observe([Turn("Our guest tonight is Irma.", session="first")], scope=scope)
    engine.drain()
    clock.forward(days=90)
    engine.observe([Turn("I was wrong, our guest tonight is Olaf.", session="later")], scope=scope)
    engine.drain()
    hits = engine.search("Who was our guest?", scope=scope).hits
    assert not [hit for hit in hits if "over since" in hit.tell_end()]
