"""Corrections within minutes that only give the right value."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engrams import MemoryEngine, Turn
from engrams.core import STATEMENT_KINDS, EdgeType, Kind, Status
from engrams.testing import SettableClock, temp_engine
from engrams.write.value_corrections import read_value_correction

SLIPS = (
    ("the plumbers cell ends in 4471", "4417 i mean. fat fingers", "4417", "4471"),
    ("table for 6 ppl on friday", "wait no 8", "8 ppl", "6 ppl"),
    ("my exam is on the 14th of march", "sorry, the 15th", "15th", "14th"),
    ("my exam is on the 14th of march", "its the 15th", "15th", "14th"),
    ("the new colleague is called Jonas", "found the card, Jannis", "Jannis", "Jonas"),
    ("The gate code is 0417.", "typo!! 0471, sorry, my thumbs", "0471", "0417"),
    ("The plumber is called Mr. Tan", "misheard him, it's Tran", "Tran", "Tan."),
    ("the meeting is on tuesday", "no wait, thursday", "thursday", "tuesday"),
    ("Emil is allergic to peanuts.", "No, I meant hazelnuts.", "hazelnuts", "peanuts"),
    ("I'm allergic to peanuts.", "No, I meant hazelnuts, not peanuts.", "hazelnuts", "peanuts"),
    ("Ich bin allergisch gegen Erdnüsse.", "Nein, ich meinte Haselnüsse", "Haseln", "Erdn"),
    ("Die Sitzung ist um 14 Uhr.", "Quatsch, 15 Uhr", "15 Uhr", "14 Uhr"),
    ("Soy alérgico a los cacahuetes.", "No, quise decir avellanas", "avellanas", "cacahuetes"),
    ("La cita es el martes.", "perdón, el jueves", "jueves", "martes"),
    ("Je suis allergique aux arachides.", "non, je voulais dire noisettes", "noisettes", "arach"),
    ("La réunion est mardi.", "pardon, jeudi", "jeudi", "mardi"),
    ("我的房间号是402", "说错了，是420", "420", "402"),
    ("会议在周二", "不对，周四", "周四", "周二"),
    ("会議は3時です", "ごめん、4時です", "4時", "3時"),
    ("My son Emil is six years old.", "Emil is seven, not six.", "seven years old", "six"),
    ("My dentist is Dr. Weber.", "It's Dr. Maier, not Dr. Weber.", "Dr. Maier", "Weber"),
    ("We use npm here.", "we use pnpm, not npm", "pnpm", " npm"),
    ("Mein Zahnarzt heißt Dr. Weber.", "Mein Zahnarzt heißt Maier, nicht Weber.", "Maier", "Weber"),
    (
        "Mein Sohn Emil ist gegen Erdnüsse allergisch.",
        "Emil ist gegen Haselnüsse allergisch, nicht gegen Erdnüsse.",
        "Haselnüsse",
        "Erdnüsse",
    ),
    ("Mi dentista es el doctor Vega.", "Mi dentista es el doctor Ruiz, no Vega.", "Ruiz", "Vega"),
    ("Mon fils Emil a six ans.", "Emil a sept ans, pas six.", "sept ans", "six"),
    (
        "My accountant is Mr. Halversen.",
        "I misspelled that, sorry: the accountant's name is Halverson, with an o.",
        "Halverson",
        " o",
    ),
    ("The train to Lyon leaves at 15:30.", "Sorry, I meant 16:45.", "at 16:45", "15:30"),
    ("Le sac pèse 1,5 kilo.", "Pardon, je voulais dire 2,5 kilos.", "2,5 kilo", "1,5"),
    ("Unser Kater heißt Mops und ist 3", "nee warte, 4 ist er", "ist 4", "ist 3"),
    ("我对虾过敏。", "说错了，过敏的是螃蟹，虾没事。", "螃蟹", "没事"),
    ("我的牙医是王医生。", "我的牙医是李医生，不是王医生。", "李医生", "王医生"),
    ("我的牙医是王医生。", "不是王医生，是李医生。", "李医生", "王医生"),
    ("我表弟在洛阳上班。", "不对，是开封，不是洛阳", "开封", "洛阳"),
    (
        "私の歯医者は田中先生です。",
        "私の歯医者は田中先生じゃなくて鈴木先生です。",
        "鈴木先生",
        "田中",
    ),
    ("I live in Leeds.", "Not Leeds but Sheffield, sorry", "Sheffield", "Leeds"),
    ("I have 3 cats.", "not 3, 4", "4 cats", "3"),
    ("My appointment is on Tuesday.", "that should say Thursday", "Thursday", "Tuesday"),
    ("I work for Siemens.", "I said Siemens but I meant Bosch", "Bosch", "Siemens"),
    ("My sister's name is Clara.", "Wait, it's spelled Klara", "Klara", "Clara"),
    ("My sister's name is Clara.", "Klara with a K", "Klara", "Clara"),
    ("Ich wohne in Kassel.", "Sorry, nicht Kassel, sondern Fulda", "Fulda", "Kassel"),
    ("Meine Tochter heißt Lea.", "Sie heißt nicht Lea, sondern Lena", "Lena", "Lea"),
    ("Der Termin ist am Dienstag.", "Verzeihung, Donnerstag", "Donnerstag", "Dienstag"),
    ("J'habite à Tours.", "pas à Tours mais à Angers", "Angers", "Tours"),
    ("Mon rendez-vous est mardi.", "en fait jeudi, pas mardi", "jeudi", "mardi"),
    ("Ma fille s'appelle Léa.", "Erreur : elle s'appelle Léna", "Léna", "Léa"),
    ("Vivo en Málaga.", "Perdón, no es Málaga sino Cádiz", "Cádiz", "Málaga"),
    ("Mi perro se llama Toby.", "No se llama Toby sino Rocky", "Rocky", "Toby"),
    ("我住在苏州。", "我搞错了，是杭州", "杭州", "苏州"),
    ("私は神戸に住んでいます。", "すみません、神戸じゃなくて京都です", "京都", "神戸"),
)
NO_SLIPS = (
    ("I live in Leeds.", "not Leeds again, what a match"),
    ("I have 3 cats.", "not 3 but 4 of my friends came"),
    ("Ich wohne in Kassel.", "Nicht nur Kassel, sondern ganz Hessen hat Stau"),
    ("I have 2 cats.", "no, that is not true at all"),
    ("my name is Tom", "sorry, i have to go"),
    ("I'm 5 minutes away", "it's 20 degrees here"),
    ("I run 5 miles a day", "wait, what?"),
    ("I like tea.", "No, thanks"),
    ("The colors are so bright. Art is such a joy.", "Wow, did you make that? It looks so real!"),
    ('"The Name of the Wind" sounds cool.', "Will do! Thanks for the recommendation!"),
    ("table for 6 on friday", "I mean it"),
    ("My daughter Emma is allergic to peanuts.", "When is Emma's play?"),
    ("My daughter Emma is allergic to peanuts.", "when is Emily home"),
    ("My daughter Emma is allergic to peanuts.", "Actually, when is Emily's play?"),
    ("My daughter Emma is allergic to peanuts.", "This is Emma's."),
    ("Meine Tochter Emma ist gegen Nüsse allergisch.", "Wer ist Emily?"),
)
REVERSALS = (
    ("We use Redis instead of Memcached.", "We use Memcached instead of Redis."),
    ("Use tabs, not spaces.", "Use spaces, not tabs."),
    ("Use Go rather than Google Sheets.", "Use Google Sheets rather than Go."),
)
OF_OTHER_THINGS = (
    ("My sister's name is Clara.", "My cousin's name is spelled Klara with a K"),
    ("Ich wohne in Kassel.", "Mein Bruder wohnt nicht in Kassel, sondern in Fulda"),
    ("J'habite à Tours.", "Ma sœur n'habite pas à Tours mais à Angers"),
    ("Vivo en Málaga.", "Mi hermana no vive en Málaga sino en Cádiz"),
    ("I bought coffee for Ada.", "I drink tea, not coffee."),
    ("My sister likes Peter.", "I do not like Peter."),
    ("My boss is called Weber.", "My dentist is Maier, not Weber."),
    ("我的老板是王医生。", "我的牙医是李医生，不是王医生。"),
    ("我表弟在洛阳上班。", "是的，不是洛阳"),
)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def engine(clock: SettableClock) -> Iterator[MemoryEngine]:
    with temp_engine(clock=clock, jobs__workers=0) as opened:
        yield opened


def list_texts(engine: MemoryEngine, user: str) -> str:
    kinds = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)
    records = engine.list(scope=("user", user), kinds=kinds).records
    return " | ".join(record.text for record in records)


def test_a_slip_is_set_right(engine: MemoryEngine, clock: SettableClock) -> None:
    """The statement holds the right value, the wrong one is over, and its message is outdated."""
    for number, (said, correction, right, wrong) in enumerate(SLIPS):
        scope = ("user", f"u{number}")
        first = engine.add(Turn(said, session="s"), scope=scope)
        clock.forward(minutes=1)
        second = engine.add(Turn(correction, session="s"), scope=scope)
        engine.drain(10)
        texts = list_texts(engine, f"u{number}")
        assert right in texts, (correction, texts)
        assert wrong not in texts, (correction, texts)
        owner = engine.get(first.id, scope=scope).scope.owner
        edges = engine.store.edges(owner, [first.id], (EdgeType.SUPERSEDES, EdgeType.MAY_OUTDATE))
        assert (second.id, first.id) in {(edge.source, edge.target) for edge in edges}, correction


@pytest.mark.covers("S3.40")
def test_a_choice_turned_round_names_each_value_once(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """What was chosen before is over, and what is stored instead are the words of the new choice."""
    for number, (said, reversal) in enumerate(REVERSALS):
        scope = ("user", f"u{number}")
        engine.add(Turn(said, session="s"), scope=scope)
        clock.forward(minutes=1)
        engine.add(Turn(reversal, session="s"), scope=scope)
        engine.drain(10)
        statements = engine.list(scope=scope, kinds=STATEMENT_KINDS).records
        assert {record.text for record in statements} <= {reversal, reversal.rstrip(".")}, reversal
        first, *others = engine.search(reversal, scope=scope).hits
        assert first.record.text == reversal
        assert all(hit.tell_end() for hit in others), reversal


def test_other_talk_is_no_correction(engine: MemoryEngine, clock: SettableClock) -> None:
    """What is no value, or of another sort, changes nothing."""
    for number, (said, reply) in enumerate(NO_SLIPS):
        scope = ("user", f"u{number}")
        engine.add(Turn(said, session="s"), scope=scope)
        before = list_texts(engine, f"u{number}")
        clock.forward(minutes=1)
        engine.add(Turn(reply, session="s"), scope=scope)
        assert list_texts(engine, f"u{number}") == before, reply


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("I live in Rome.", "I meant to buy bread."),
        ("I work at Globex.", "I meant to ask about Globex."),
        ("My dentist appointment is on Friday.", "I mean every word."),
        ("My flight is on Friday.", "I meant my train."),
    ],
)
def test_an_intention_or_other_thing_is_no_value(
    engine: MemoryEngine, said: str, meant: str
) -> None:
    """What somebody meant to do, or means besides, takes the place of no home, employer or day."""
    for text in (said, meant):
        engine.add(Turn(text, session="s"), scope=("user", "ann"))
    engine.drain(10)
    facts = engine.list(scope=("user", "ann"), kinds=(Kind.FACT,)).records
    assert said.rstrip(".") in {fact.text for fact in facts}


def test_a_pair_corrects_only_what_it_is_about(engine: MemoryEngine, clock: SettableClock) -> None:
    """What names a right and a wrong value of another thing leaves the message as it is."""
    for number, (said, pair) in enumerate(OF_OTHER_THINGS):
        scope = ("user", f"u{number}")
        first = engine.add(Turn(said, session="s"), scope=scope)
        clock.forward(minutes=1)
        engine.add(Turn(pair, session="s"), scope=scope)
        assert engine.get(first.id, scope=scope).status is Status.ACTIVE, pair
        assert all(
            engine.get(fact.id, scope=scope).status is Status.ACTIVE for fact in first.derived
        )


def test_a_correction_needs_its_minutes_and_its_speaker(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """Later, of another speaker, in another session or as an answer, the words correct nothing."""
    cases = (
        ("later", "Ben", "s", 90, ""),
        ("speaker", "Eva", "s", 1, ""),
        ("session", "Ben", "t", 1, ""),
        ("answer", "Ben", "s", 1, "Do you want 7 chairs?"),
    )
    for user, speaker, session, minutes, question in cases:
        scope = ("user", user)
        said = Turn("We need a table for 6 on friday.", speaker="Ben", session="s")
        engine.add(said, scope=scope)
        if question:
            engine.add(Turn(question, "assistant", session="s"), scope=scope)
        clock.forward(minutes=minutes)
        engine.add(Turn("no, 8", speaker=speaker, session=session), scope=scope)
        engine.drain(10)
        assert "8" not in list_texts(engine, user), user


def test_a_correction_inherits(engine: MemoryEngine, clock: SettableClock) -> None:
    """Kind, slot, tags and links of the wrong statement come along."""
    scope = ("user", "ann")
    said = engine.add(Turn("I'm allergic to peanuts.", session="s"), scope=scope)
    (wrong,) = said.derived
    other = engine.add("Birthday cake with hazelnuts", scope=scope)
    engine.edit(wrong.id, scope=scope, fields={"tags": ("food",)})
    engine.links.link(wrong.id, other.id, scope=scope)
    clock.forward(minutes=1)
    engine.add(Turn("sorry, i meant hazelnuts", session="s"), scope=scope)
    (old,) = engine.list(
        scope=scope, statuses=(Status.SUPERSEDED,), kinds=(Kind.FACT, Kind.PREFERENCE)
    ).records
    (right,) = engine.list(scope=scope, kinds=(Kind.FACT, Kind.PREFERENCE)).records
    assert (right.kind, right.subject, right.predicate) == (old.kind, old.subject, old.predicate)
    assert (right.object, right.tags) == ("hazelnuts", ("food",))
    owner = right.scope.owner
    linked = engine.store.edges(owner, [right.id], (EdgeType.RELATES_TO,))
    assert [{edge.source, edge.target} for edge in linked] == [{right.id, other.id}]


@pytest.mark.parametrize(
    ("text", "value", "wrong", "is_strong"),
    [
        ("No, I meant hazelnuts, not peanuts.", "hazelnuts", "peanuts", True),
        ("wait no, 8", "8", "", False),
        ("quise decir avellanas, no cacahuetes", "avellanas", "cacahuetes", True),
    ],
)
def test_the_parts_of_a_correction(text: str, value: str, wrong: str, is_strong: bool) -> None:
    """The right value, the wrong one where it is named, and how sure it is a slip."""
    correction = read_value_correction(text)
    assert correction is not None
    assert (correction.value, correction.wrong_value) == (value, wrong)
    assert correction.is_strong is is_strong


def test_a_correction_names_the_right_person_everywhere(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """Name and allergy of a child are hers under the right name, however much was said meanwhile."""
    scope = ("user", "ann")
    told = ["My daughter Emma is allergic to peanuts.", "When is Emma's play?"]
    told += [f"Room {number} is upstairs." for number in range(8)]
    for text in (*told, "it's Ana, not Emma"):
        engine.add(Turn(text, session="s"), scope=scope)
        clock.forward(minutes=1)
    engine.drain(10)
    facts = engine.list(scope=scope, kinds=(Kind.FACT,)).records
    assert {fact.subject for fact in facts if fact.predicate == "allergic_to"} == {"Ana"}
    assert "Emma" not in list_texts(engine, "ann")


def test_a_question_is_not_corrected_into_a_fact(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """What was only asked states nothing, also with another day in it."""
    scope = ("user", "ann")
    for text in (
        "My dentist is on Friday.",
        "When is my dentist on Friday?",
        "no, I meant Thursday",
    ):
        engine.add(Turn(text, session="s"), scope=scope)
        clock.forward(minutes=1)
    engine.drain(10)
    assert list_texts(engine, "ann") == "My dentist is on Thursday"
