"""A message with several statements answers for the others when one of them is over."""

from __future__ import annotations

import pytest

from engrams import Turn
from engrams.settings import presets
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
CHANGES = [
    (
        "I live in Graz, the spare key is under the mat.",
        "I moved to Linz.",
        "Where is the spare key?",
        "mat",
    ),
    ("I live in Graz with my dog Rex", "I moved to Linz", "Who is Rex?", "Rex"),
    ("I'm vegetarian and allergic to nuts.", "I eat meat again.", "What am I allergic to?", "nuts"),
    (
        "I'm married to Paul and allergic to kiwi.",
        "Paul and I got divorced.",
        "Am I allergic to anything?",
        "kiwi",
    ),
    (
        "Ich wohne in Graz, der Ersatzschlüssel liegt unter der Matte.",
        "Ich bin nach Linz gezogen.",
        "Wo liegt der Ersatzschlüssel?",
        "Matte",
    ),
    (
        "Ich wohne in Graz mit meinem Hund Rex.",
        "Ich bin nach Linz gezogen.",
        "Wer ist Rex?",
        "Rex",
    ),
    (
        "J'habite à Lyon, la clé de secours est sous le paillasson.",
        "J'ai déménagé à Nantes.",
        "Où est la clé de secours ?",
        "paillasson",
    ),
    ("J'habite à Lyon avec mon chien Rex.", "J'ai déménagé à Nantes.", "Qui est Rex ?", "Rex"),
    ("Vivo en Sevilla con mi perro Rex.", "Me he mudado a Málaga.", "¿Quién es Rex?", "Rex"),
    ("我住在上海，备用钥匙在门垫下面。", "我搬到北京了。", "备用钥匙在哪里？", "门垫"),
]


@pytest.mark.parametrize("preset", presets())
def test_what_else_a_message_says_is_recalled(preset: str) -> None:
    """Search and prompt have the rest of a message of which one statement is over."""
    missing: list[str] = []
    for is_note in (True, False):
        for text, news, question, answer in CHANGES:
            clock = SettableClock("2026-01-05T09:00")
            with temp_engine(preset=preset, clock=clock, jobs__workers=0) as engine:
                engine.sessions.recall(ANN, on=True)
                for number, words in enumerate((text, news)):
                    message = words if is_note else [Turn(words, session=str(number))]
                    (engine.add if is_note else engine.observe)(message, scope=ANN)
                    engine.drain(10)
                    clock.forward(days=20)
                texts = [hit.record.text for hit in engine.search(question, scope=ANN).hits]
                prompt = engine.context(question, scope=ANN).text
            if not any(answer in found for found in texts) or answer not in prompt:
                missing.append(f"{text} ({'note' if is_note else 'turn'})")
    assert missing == []


def test_only_the_words_of_the_value_are_marked_as_over() -> None:
    """A prompt says of the home that it is over, and not of the dog; in Japanese as well."""
    for text, news, marked in (
        ("I live in Graz with my dog Rex", "I moved to Linz", "I live in Graz [over since"),
        (
            "愛犬のレックスと東京に住んでいます。",
            "大阪に引っ越しました。",
            "愛犬のレックスと東京に住んでいます [over since",
        ),
    ):
        clock = SettableClock("2026-01-05T09:00")
        with temp_engine(clock=clock, jobs__workers=0) as engine:
            for words in (text, news):
                engine.add(words, scope=ANN)
                engine.drain(10)
                clock.forward(days=20)
            query = "Rex" if "Rex" in text else "レックス"
            assert marked in engine.context(query, scope=ANN).text


def test_a_companion_is_no_part_of_a_home() -> None:
    """The home of "愛犬のレックスと東京に住んでいます" is 東京."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add("愛犬のレックスと東京に住んでいます。", scope=ANN)
        engine.drain(10)
        (fact,) = engine.list(scope=ANN, kinds=["fact"]).records
        assert (fact.predicate, fact.object) == ("lives_in", "東京")
