"""What people tell of their life without "I" or "my" is kept in their own words."""

from __future__ import annotations

from engrams import MemoryEngine
from engrams.core import Kind, Turn
from engrams.testing import temp_engine

STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.RULE, Kind.NEGATIVE)
LASTING = (
    "Mum had her hip done in January, she walks with a stick now",
    "The contract for the office ends in March",
    "We owe my father-in-law about twelve thousand",
    "Die Miete geht immer am Dritten ab",
    "El contrato del piso vence en octubre",
    "Le bail se termine en avril",
    "甘いものは控えています",
    "我在一家面包店上早班",
)
DATED = (
    "Tilda's recital is on the 9th of May",
    "Der Sehtest von Anton ist am Dienstag um halb elf",
    "Gestern hat meine Tante die Prüfung bestanden",
    "El juicio de Elena es el lunes",
    "Le spectacle de Rose est le 12 juin",
    "小桐的体检在下周三",
    "颯太の発表会は6月14日です",
    "毕业旅行取消了",
)
PASSING = (
    "The baby kept us up last night",
    "The cat is asleep on my keyboard",
    "The contract between the parties shall be governed by the laws of England",
    "Die Heizung spinnt wieder",
    "Les enfants sont insupportables ce soir",
    "El perro está dormido",
    "Der Film kommt am Dienstag ins Kino",
    "Gestern war meine Tante total müde",
    "Kannst du mir eine kurze Rede schreiben",
    "La reunión de hoy fue larguísima",
    "Le concert de samedi était génial",
    "帮我写一封邮件",
    "明日までに直してくれる",
)


def list_learned(memory: MemoryEngine, texts: tuple[str, ...], **labels: str) -> list[str]:
    """Say each text in a conversation of its own and list what was learned."""
    for number, text in enumerate(texts):
        scope = {"user": f"alice{number}", **labels}
        memory.observe([Turn(f"{text}.", "user", session="s")], scope=scope)
    memory.drain(30)
    return [
        record.text
        for number in range(len(texts))
        for record in memory.list(
            scope={"user": f"alice{number}", **labels}, kinds=STATEMENTS
        ).records
    ]


def test_a_lasting_sentence_about_what_is_near_is_kept_as_it_was_said() -> None:
    """A relative or a thing of the home opens a sentence that is kept word for word."""
    with temp_engine() as memory:
        assert list_learned(memory, LASTING) == list(LASTING)


def test_what_takes_place_on_a_day_is_kept_without_a_first_person() -> None:
    """An appointment, an exam and what is called off are kept word for word in six languages."""
    with temp_engine() as memory:
        assert list_learned(memory, DATED) == list(DATED)


def test_a_sentence_of_the_moment_about_what_is_near_teaches_nothing() -> None:
    """What happens today, and a text about any contract, is nobody's lasting state."""
    with temp_engine() as memory:
        assert list_learned(memory, PASSING) == []


def test_in_a_project_the_contract_is_a_thing_of_its_code() -> None:
    """A scope with a project keeps no sentence because it begins with a thing of the home."""
    with temp_engine() as memory:
        assert list_learned(memory, LASTING[1:2], project="shop") == []
