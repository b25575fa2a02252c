"""The three layers' document (004): standing wishes of how to answer, at the engine of preset ``layers``
without a model, in six languages.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status

WISHES = (Kind.RULE, Kind.NEGATIVE)
_numbers = count()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryEngine]:
    home: Path = tmp_path_factory.mktemp("wishes") / "home"
    with engrams.open(home=home, preset="layers", jobs__workers=0) as made:
        yield made


def list_active(engine: MemoryEngine, *messages: str) -> list[str]:
    """List the wishes that hold after a new person said these messages, each in its own session."""
    owner = ("user", f"person{next(_numbers)}")
    for number, text in enumerate(messages):
        engine.observe(Turn(text, session=f"s{number}"), scope=owner)
        engine.drain()
    return sorted(record.text for record in engine.list(scope=owner, kinds=WISHES).records)


@pytest.mark.covers("S4.25")
@pytest.mark.parametrize(
    ("former", "later"),
    [
        ("Always answer in French", "From now on always answer in German"),
        ("Antworte immer auf Deutsch", "Antworte ab jetzt immer auf Englisch"),
        ("Réponds toujours en français", "Réponds désormais toujours en anglais"),
        ("Responde siempre en español", "A partir de ahora responde siempre en inglés"),
        ("请一直用中文回答", "从现在起请用英文回答"),
        ("いつも日本語で答えて", "これからは英語で答えて"),
        ("Always answer in French", "Antworte ab jetzt immer auf Englisch"),
        ("Always use metric units", "Always use imperial units"),
        ("Keep your answers short", "Give me detailed answers from now on"),
        ("Sieze mich", "Du kannst mich duzen"),
    ],
)
def test_a_later_wish_replaces_the_earlier_one_about_the_same(
    engine: MemoryEngine, former: str, later: str
) -> None:
    """An assistant answers in one language, length, form of address and system of units at a time."""
    assert list_active(engine, former, later) == [later]


@pytest.mark.covers("S4.25")
@pytest.mark.parametrize(
    ("former", "later"),
    [
        ("Always write emails in French", "Always answer in German"),
        ("Always answer in French when I write in French", "Always answer in German"),
        ("Always answer in French", "Always use metric units"),
        ("Always answer in French", "Always answer in German too"),
        ("Never answer in French", "Never answer in German"),
    ],
)
def test_wishes_about_different_things_stand_side_by_side(
    engine: MemoryEngine, former: str, later: str
) -> None:
    """A wish for some occasions is not replaced by one for all of them."""
    assert list_active(engine, former, later) == sorted((former, later))


@pytest.mark.covers("S4.25")
def test_a_wish_for_one_project_leaves_the_one_for_all_of_them(engine: MemoryEngine) -> None:
    """A project's rule holds in the project alone."""
    owner = ("user", "of-projects")
    engine.observe(Turn("Always answer in French", session="a"), scope=owner)
    engine.drain()
    engine.observe(Turn("Always answer in German", session="b"), scope=(*owner, "project", "x"))
    engine.drain()
    rules = [record.text for record in engine.list(scope=owner, kinds=WISHES).records]
    assert sorted(rules) == ["Always answer in French", "Always answer in German"]


@pytest.mark.covers("S4.25")
@pytest.mark.parametrize(
    ("ban", "permission"),
    [
        ("Never use emojis", "You can use emojis again"),
        ("Never suggest restaurants", "You may suggest restaurants again"),
        ("Never use emojis", "Emojis are fine again"),
        ("Benutze nie Emojis", "Du darfst wieder Emojis benutzen"),
        ("N'utilise jamais d'emojis", "Tu peux de nouveau utiliser des emojis"),
        ("Nunca uses emojis", "Puedes volver a usar emojis"),
        ("不要用表情符号", "你可以再用表情符号了"),
        ("絵文字は使わないで", "また絵文字を使っていいよ"),
    ],
)
def test_a_permission_ends_the_ban(engine: MemoryEngine, ban: str, permission: str) -> None:
    """What is allowed again is no longer banned, and the permission is no rule of its own."""
    assert list_active(engine, ban) == [ban]
    assert list_active(engine, ban, permission) == []


@pytest.mark.covers("S4.25")
@pytest.mark.parametrize(
    "permission",
    ["You can use lists again", "Du darfst wieder Listen benutzen", "You can try again"],
)
def test_a_permission_ends_no_other_ban(engine: MemoryEngine, permission: str) -> None:
    """Nor is anything learned of it where nothing was banned."""
    assert list_active(engine, "Never use emojis", permission) == ["Never use emojis"]
    assert list_active(engine, permission) == []


@pytest.mark.covers("S4.7")
@pytest.mark.parametrize(
    "wish",
    [
        "I kind of like climbing",
        "I sort of prefer tea",
        "Ich mag irgendwie Klettern",
        "Creo que me gusta más el té",
        "Je crois que j'aime bien le thé",
        "我好像喜欢爬山",
        "なんとなく登山が好きかも",
        "I guess I prefer short answers",
        "Es wäre mir irgendwie lieber, wenn du mich duzt",
        "Creo que prefiero respuestas cortas",
        "Je préférerais peut-être des réponses courtes",
        "我比较喜欢简短的回答",
        "短く答えてくれると嬉しいです",
    ],
)
def test_an_implied_wish_is_held(engine: MemoryEngine, wish: str) -> None:
    """It is neither stored at once nor lost, in any of the six languages."""
    owner = ("user", f"person{next(_numbers)}")
    engine.observe(Turn(wish, session="s"), scope=owner)
    engine.drain()
    kinds = (*WISHES, Kind.PREFERENCE, Kind.FACT)
    statements = engine.list(scope=owner, kinds=kinds, statuses=()).records
    assert [(record.text, record.status) for record in statements] == [(wish, Status.CANDIDATE)]


@pytest.mark.covers("S4.7")
@pytest.mark.parametrize(
    "liking",
    ["I like climbing", "Ich mag Klettern", "Me gusta el té", "J'aime le thé", "我喜欢爬山"],
)
def test_a_plain_liking_is_stored_at_once(engine: MemoryEngine, liking: str) -> None:
    """Only words that leave doubt hold it."""
    owner = ("user", f"person{next(_numbers)}")
    engine.observe(Turn(liking, session="s"), scope=owner)
    engine.drain()
    (preference,) = engine.list(scope=owner, kinds=(Kind.PREFERENCE,)).records
    assert preference.text == liking


@pytest.mark.covers("S4.7")
@pytest.mark.parametrize(
    "request_of_the_moment",
    [
        "Es wäre schön, wenn du mir bei einer Bewerbung hilfst",
        "Ce serait bien si tu m'aidais demain",
        "Me gustaría que me escribas una carta",
    ],
)
def test_a_task_that_is_asked_for_politely_is_no_wish(
    engine: MemoryEngine, request_of_the_moment: str
) -> None:
    """It asks for one thing, and is no rule for every answer."""
    assert list_active(engine, request_of_the_moment) == []


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("rules_request", "sessions_request", "sessions_word"),
    [
        ("Show me my rules", "Show me my sessions", "sessions"),
        ("Zeig mir meine Regeln", "Zeig mir meine Sitzungen", "Sitzungen"),
        ("Muéstrame mis reglas", "Muéstrame mis sesiones", "sesiones"),
        ("Montre-moi mes règles", "Montre-moi mes sessions", "sessions"),
        ("显示我的规则", "显示我的会话", "会话"),
        ("私のルールを見せて", "私のセッションを見せて", "セッション"),
    ],
)
def test_a_layer_is_listed_in_each_language(
    engine: MemoryEngine, rules_request: str, sessions_request: str, sessions_word: str
) -> None:
    """The rules are listed and no fact; an empty layer is named in the person's own word."""
    owner = ("user", f"person{next(_numbers)}")
    engine.add("Always answer in verse", scope=owner, kind=Kind.RULE)
    engine.add("My boat is called Moby", scope=owner)
    listed = engine.control.turn(rules_request, scope=owner)
    assert listed is not None
    assert "Always answer in verse" in listed.reply
    assert "Moby" not in listed.reply
    empty = engine.control.turn(sessions_request, scope=owner)
    assert empty is not None
    assert sessions_word in empty.reply


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("off", "on"),
    [
        ("Désactive la mémoire", "Réactive la mémoire"),
        ("Désactive ta mémoire, s'il te plaît", "Active ta mémoire"),
        ("Desactiva la memoria", "Activa la memoria"),
        ("Schalte das Gedächtnis aus", "Schalte das Gedächtnis wieder ein"),
        ("关闭记忆", "打开记忆"),
        ("メモリをオフにして", "メモリをオンにして"),
    ],
)
def test_recall_is_switched_in_each_language(engine: MemoryEngine, off: str, on: str) -> None:
    """What is understood without accents is understood with them."""
    owner = ("user", f"person{next(_numbers)}")
    engine.sessions.recall(owner, True)
    engine.control.turn(off, scope=owner)
    assert engine.sessions.recall(owner) is False
    engine.control.turn(on, scope=owner)
    assert engine.sessions.recall(owner) is True
