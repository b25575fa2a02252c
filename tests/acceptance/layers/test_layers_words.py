"""The three layers' document (004): what the write policy holds back and which requests about memory are
understood, in words of everyday speech in six languages, at the engine of preset ``layers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status

STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.RULE, Kind.NEGATIVE)
_numbers = count()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryEngine]:
    home: Path = tmp_path_factory.mktemp("words") / "home"
    with engrams.open(home=home, preset="layers", jobs__workers=0) as made:
        yield made


def make_owner() -> tuple[str, str]:
    """Name a person whom no other test has."""
    return ("user", f"person{next(_numbers)}")


def tell(engine: MemoryEngine, *messages: str) -> tuple[str, str]:
    """Have a new person say these messages in one session; return the person."""
    owner = make_owner()
    for text in messages:
        engine.observe(Turn(text, session=owner[1]), scope=owner)
    engine.drain()
    return owner


def list_statements(engine: MemoryEngine, owner: tuple[str, str]) -> list[str]:
    """List the statements of a person, held ones too."""
    statuses = (Status.ACTIVE, Status.CANDIDATE)
    records = engine.list(scope=owner, kinds=STATEMENTS, statuses=statuses).records
    return [record.text for record in records]


@pytest.mark.covers("S4.5")
@pytest.mark.parametrize(
    "said",
    [
        "I'm craving sushi this evening",
        "Zurzeit mag ich nur Tee",
        "Esta noche estoy muy cansada",
        "Ce soir je suis crevé",
        "我今晚很累",
        "今夜はとても疲れています",
        "Just for this conversation, call me Captain",
        "Ausnahmsweise auf Englisch antworten",
        "En este mensaje no uses listas",
        "Dans ce message, pas de listes",
        "这条回复请用列表",
        "このメールだけ丁寧に書いて",
        "Heute Abend habe ich Bauchweh",
        "Esta mañana tengo resaca",
        "Ce matin j'ai la gueule de bois",
        "今朝は二日酔いです",
    ],
)
def test_what_holds_for_a_moment_is_no_memory(engine: MemoryEngine, said: str) -> None:
    """A state of this evening, and a wish for one text."""
    assert list_statements(engine, tell(engine, said, "I play the oboe")) == ["I play the oboe"]


@pytest.mark.covers("S4.12")
@pytest.mark.parametrize(
    "said",
    [
        "I don't want to be alive anymore",
        "Ich denke daran, mich umzubringen",
        "Me tomé todas las pastillas",
        "Je voudrais être mort",
        "我想结束自己的生命",
        "もう生きていたくない",
        "Ich sehe keinen Grund mehr zu leben",
        "我不想醒来了",
    ],
)
def test_nothing_is_learned_of_a_wish_to_die(engine: MemoryEngine, said: str) -> None:
    """Though nobody reported a crisis. The message is kept, and the next one is learned from."""
    owner = tell(engine, said, "I have a sister called Ines")
    assert list_statements(engine, owner) == ["I have a sister called Ines"]
    turns = engine.list(scope=owner, kinds=(Kind.TURN,)).records
    assert said in [record.text for record in turns]


class Talk:
    """Conversation of one person about memory."""

    def __init__(self, engine: MemoryEngine, owner: tuple[str, str]) -> None:
        self._engine = engine
        self._owner = owner
        self._pending: dict[str, Any] | None = None

    def say(self, text: str) -> str:
        """Return the reply to the next message; empty: it is no request about memory."""
        result = self._engine.control.turn(text, scope=self._owner, pending=self._pending)
        self._pending = result.pending if result else None
        return result.reply if result else ""


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("listing", "forget", "cancel", "confirm"),
    [
        (
            "What's stored about me?",
            "Wipe what you remember about Emil",
            "no, keep that",
            "sure thing",
        ),
        (
            "Read me my memories",
            "I'd like you to forget Emil",
            "rather not",
            "yup, delete it please",
        ),
        (
            "Was ist über mich gespeichert?",
            "Lösch, was du über Emil weißt",
            "nein, lieber nicht",
            "ja, bitte löschen",
        ),
        (
            "Liste deine Erinnerungen auf",
            "Ich will, dass du Emil vergisst",
            "nee, lass mal",
            "klar, mach das",
        ),
        ("Enséñame tus recuerdos", "Quiero que olvides a Emil", "no, mejor déjalo", "claro que sí"),
        (
            "¿Qué cosas recuerdas de mí?",
            "Borra de tu memoria a Emil",
            "no lo borres",
            "sí, adelante",
        ),
        (
            "Montre-moi ta mémoire",
            "J'aimerais que tu oublies Emil",
            "non, laisse tomber",
            "oui, efface-le",
        ),
        (
            "Qu'est-ce que tu as gardé sur moi ?",
            "Efface Emil de ta mémoire",
            "surtout pas",
            "bien sûr que oui",
        ),
        ("列出你记得的内容", "请你忘掉Emil", "还是别删了", "可以，删吧"),
        ("给我看看你的记忆", "把Emil从记忆里删掉", "先不要", "确定"),
        (
            "覚えていることを全部見せて",
            "Emilの記憶を消去してください",
            "消さないで",
            "はい、消してください",
        ),
        ("記憶を見せて", "Emilの話を記憶から消して", "やっぱりやめて", "うん、削除して"),
    ],
)
def test_memory_is_listed_and_forgotten_in_everyday_words(
    engine: MemoryEngine, listing: str, forget: str, cancel: str, confirm: str
) -> None:
    """Nothing is forgotten before a yes to the question, and nothing after a no."""
    owner = make_owner()
    engine.add("My brother is called Emil", scope=owner)
    talk = Talk(engine, owner)
    assert "Emil" in talk.say(listing)
    for answer, is_left in ((cancel, True), (confirm, False)):
        assert "Emil" in talk.say(forget)
        assert list_statements(engine, owner)
        assert talk.say(answer)
        assert bool(list_statements(engine, owner)) is is_left


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("status", "off", "on", "save", "saved"),
    [
        (
            "Is memory currently enabled?",
            "Deactivate your memory",
            "Reactivate your memory",
            "Add this to my preferences: no onions",
            "no onions",
        ),
        (
            "Wie viel hast du dir gemerkt?",
            "Deaktiviere dein Gedächtnis",
            "Du darfst dein Gedächtnis wieder benutzen",
            "Notiere als Präferenz: keine Zwiebeln",
            "keine Zwiebeln",
        ),
        (
            "¿Cuántas cosas recuerdas de mí?",
            "No utilices más tu memoria",
            "Puedes volver a usar tu memoria",
            "Añade a mis preferencias: sin cebolla",
            "sin cebolla",
        ),
        (
            "Combien de choses as-tu retenues ?",
            "Arrête d'utiliser ta mémoire",
            "Rallume ta mémoire",
            "Ajoute à mes préférences : pas d'oignons",
            "pas d'oignons",
        ),
        (
            "记忆功能开着吗？",
            "请停止使用记忆功能",
            "把记忆打开",
            "添加到我的偏好：不要洋葱",
            "不要洋葱",
        ),
        (
            "いくつ覚えていますか？",
            "メモリを使うのをやめて",
            "記憶機能を有効にしてください",
            "私の好みに追加して：玉ねぎ抜き",
            "玉ねぎ抜き",
        ),
    ],
)
def test_memory_is_asked_about_and_switched_in_everyday_words(
    engine: MemoryEngine, status: str, off: str, on: str, save: str, saved: str
) -> None:
    """Status, the switch of recall and a preference to save."""
    owner = make_owner()
    talk = Talk(engine, owner)
    engine.sessions.recall(owner, True)
    assert talk.say(status)
    assert talk.say(off)
    assert engine.sessions.recall(owner) is False
    assert talk.say(on)
    assert engine.sessions.recall(owner) is True
    assert talk.say(save)
    assert list_statements(engine, owner) == [saved]


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    "talk",
    [
        "My memory is getting worse",
        "I deleted my old photos",
        "Das vergessen viele Leute",
        "Mi abuela olvida los nombres",
        "Ma sœur oublie toujours tout",
        "我忘了密码",
        "弟は約束を覚えていない",
    ],
)
def test_talk_about_memory_is_no_request(engine: MemoryEngine, talk: str) -> None:
    """A sentence about what people remember and forget is answered by no command."""
    assert engine.control.turn(talk, scope=make_owner()) is None
