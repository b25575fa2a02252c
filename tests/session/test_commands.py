"""Memory under control in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engrams.core import Kind, Scope, Status, Turn
from engrams.engine import MemoryEngine
from engrams.errors import InputError, RefusedError
from engrams.session.commands import MemoryCommandHandler
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")


class Toggle:
    """A switch as sessions have one."""

    def __init__(self) -> None:
        self.on: dict[str, bool] = {}

    def recall(self, scope: Scope, on: bool | None = None) -> bool:
        if on is not None:
            self.on[scope.owner.key] = on
        return self.on.get(scope.owner.key, False)


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(write__extract="off") as opened:
        for text in (
            "The dog Rex is a greyhound.",
            "The boat is moored in Lund.",
            "The boat has a red sail.",
        ):
            opened.add(text, scope=ANN)
        yield opened


@pytest.fixture
def control(engine: MemoryEngine) -> MemoryCommandHandler:
    return MemoryCommandHandler(engine, engine.store, Toggle())


def active(engine: MemoryEngine) -> set[str]:
    return {record.text for record in engine.list(scope=ANN).records}


@pytest.mark.covers("S4.50")
def test_forgetting_waits_for_a_yes_on_the_next_turn(
    engine: MemoryEngine, control: MemoryCommandHandler
) -> None:
    """Asked to forget, it asks back;
    only a yes on the very next turn forgets, and the memory can be restored.
    """
    question = control.turn("Forget that Rex is a greyhound.", scope=ANN)
    assert (
        question is not None and "Rex is a greyhound" in question.reply and question.forgotten == ()
    )
    assert len(active(engine)) == 3
    confirmed = control.turn("Yes, please.", scope=ANN, pending=question.pending)
    assert confirmed is not None and confirmed.pending is not None
    assert confirmed.pending["step"] == "forgotten"
    assert active(engine) == {"The boat is moored in Lund.", "The boat has a red sail."}
    engine.restore(confirmed.forgotten[0], scope=ANN)
    assert len(active(engine)) == 3


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    "answer", ["no", "Cancel", "never mind", "What time is it?", "yes, but what about cats?"]
)
def test_anything_else_forgets_nothing(
    engine: MemoryEngine, control: MemoryCommandHandler, answer: str
) -> None:
    """A no cancels;
    talk about something else leaves the question behind, so that a later yes means nothing.
    """
    question = control.turn("Forget about Rex", scope=ANN)
    assert question is not None
    reply = control.turn(answer, scope=ANN, pending=question.pending)
    assert reply is None or (reply.reply == "Nothing was forgotten." and reply.pending is None)
    assert control.turn("yes", scope=ANN) is None
    assert len(active(engine)) == 3


@pytest.mark.covers("S4.51")
def test_several_matches_are_a_numbered_choice(
    engine: MemoryEngine, control: MemoryCommandHandler
) -> None:
    """Two memories match:
    they are numbered; a bad number keeps the options; a good one still needs its yes.
    """
    question = control.turn("Forget what I told you about the boat", scope=ANN)
    assert (
        question is not None and "1. The boat" in question.reply and "2. The boat" in question.reply
    )
    wrong = control.turn("number 7", scope=ANN, pending=question.pending)
    assert wrong is not None and wrong.pending == question.pending
    assert "1 to 2" in wrong.reply
    chosen = control.turn("the second one", scope=ANN, pending=wrong.pending)
    assert chosen is not None and chosen.pending is not None and "yes or no" in chosen.reply
    assert len(active(engine)) == 3
    confirmed = control.turn("yes", scope=ANN, pending=chosen.pending)
    assert confirmed is not None and len(confirmed.forgotten) == 1
    assert len(active(engine)) == 2
    question_again = control.turn("forget about the boat", scope=ANN)
    assert question_again is not None and "yes or no" in question_again.reply


@pytest.mark.covers("S4.51")
def test_all_of_several(engine: MemoryEngine, control: MemoryCommandHandler) -> None:
    """`all` takes every option, after a yes; `no` none."""
    question = control.turn("forget about the boat", scope=ANN)
    assert question is not None
    none = control.turn("none of them", scope=ANN, pending=question.pending)
    assert none is not None and none.reply == "Nothing was forgotten."
    every = control.turn("both of them", scope=ANN, pending=question.pending)
    assert every is not None
    confirmed = control.turn("yes", scope=ANN, pending=every.pending)
    assert confirmed is not None and len(confirmed.forgotten) == 2
    assert active(engine) == {"The dog Rex is a greyhound."}


@pytest.mark.covers("S4.51")
def test_a_question_put_to_somebody_else(
    engine: MemoryEngine, control: MemoryCommandHandler
) -> None:
    """Another owner's pending question is refused, and nothing of anybody's is forgotten."""
    question = control.turn("Forget about Rex", scope=ANN)
    assert question is not None
    with pytest.raises(RefusedError):
        control.turn("yes", scope=BOB, pending=question.pending)
    assert len(active(engine)) == 3
    forged = {**(question.pending or {}), "owner": "user/bob"}
    answer = control.turn("yes", scope=BOB, pending=forged)
    assert answer is not None and answer.forgotten == ()
    assert len(active(engine)) == 3


@pytest.mark.covers("S4.51")
@pytest.mark.parametrize(
    "pending",
    [
        {},
        {"owner": "user/ann", "step": "confirm"},
        {"owner": "user/ann", "step": "confirm", "ids": []},
        {"owner": "user/ann", "step": "confirm", "ids": "abc"},
        {"owner": "user/ann", "step": "confirm", "ids": [5]},
        {"owner": "user/ann", "step": "purge", "ids": ["a"]},
        {"owner": 5, "step": "confirm", "ids": ["a"]},
        {"owner": "user/ann", "step": "confirm", "ids": ["a"], "more": 1},
    ],
)
def test_a_malformed_question_raises(
    control: MemoryCommandHandler, pending: dict[str, object]
) -> None:
    """What is not what was handed out is an error, not a guess."""
    with pytest.raises(InputError):
        control.turn("yes", scope=ANN, pending=pending)


@pytest.mark.covers("S4.50")
def test_what_is_known_of_a_person_leaves_out_what_was_corrected() -> None:
    """Asked what it knows, memory lists facts and messages that say more, and none that is over."""
    ann = ("user", "ann")
    with temp_engine(jobs__workers=0) as engine:
        for text in ("I play the cello.", "Emil is six years old.", "Emil is seven, not six."):
            engine.add(Turn(text, session="s"), scope=ann)
        listed = engine.control.turn("What do you know about me?", scope=ann)
    assert listed is not None
    assert "cello" in listed.reply and "seven years old" in listed.reply
    assert "six years old" not in listed.reply


def test_a_yes_to_a_list_asks_to_confirm_all(
    engine: MemoryEngine, control: MemoryCommandHandler
) -> None:
    """A yes to "which one" forgets nothing yet: memory asks whether it means all of them."""
    question = control.turn("Forget about the boat.", scope=ANN)
    assert question is not None and "Which one" in question.reply
    confirmation = control.turn("yes", scope=ANN, pending=question.pending)
    assert confirmation is not None and "Shall I forget these 2?" in confirmation.reply
    assert len(active(engine)) == 3
    control.turn("yes", scope=ANN, pending=confirmation.pending)
    assert active(engine) == {"The dog Rex is a greyhound."}


@pytest.mark.parametrize(
    "request_to_forget",
    ["forget everything about the boat", "vergiss alles über the boat", "olvida todo sobre boat"],
)
def test_everything_about_a_thing_is_one_question(
    control: MemoryCommandHandler, request_to_forget: str
) -> None:
    """Who wants everything forgotten is not asked which one."""
    question = control.turn(request_to_forget, scope=ANN)
    assert question is not None and question.pending is not None
    assert question.pending["step"] == "confirm"
    assert len(question.pending["ids"]) == 2


def test_a_list_and_a_number_from_it(engine: MemoryEngine, control: MemoryCommandHandler) -> None:
    """What is remembered is listed by number; the next turn may forget one of them by that."""
    shown = control.turn("What do you remember about me?", scope=ANN)
    assert shown is not None and shown.reply.count("\n") == 3
    first = shown.reply.splitlines()[1].removeprefix("1. ")
    wrong = control.turn("forget number 9", scope=ANN, pending=shown.pending)
    assert wrong is not None and "Say a number from 1 to 3" in wrong.reply
    kept = control.turn("no", scope=ANN, pending=wrong.pending)
    assert kept is not None and kept.reply == "Nothing was forgotten."
    question = control.turn("forget the first one", scope=ANN, pending=shown.pending)
    assert question is not None and first in question.reply
    control.turn("yes", scope=ANN, pending=question.pending)
    assert first not in active(engine)
    lone = control.turn("forget number 1", scope=ANN)
    assert lone is not None and lone.pending is None
    nobody = control.turn("what do you remember about me?", scope=BOB)
    assert nobody is not None and (nobody.reply, nobody.pending) == (
        "I remember nothing yet.",
        None,
    )
    assert control.turn("What is 1 + 1?", scope=ANN, pending=shown.pending) is None


@pytest.mark.covers("S4.51")
@pytest.mark.parametrize(
    ("answer", "number"),
    [("0", 0), ("-1", -1), ("12345", 12345), ("nine", 9), ("zwei", 2), ("one", 1), ("七", 7)],
)
def test_a_number_that_no_list_has_keeps_the_choice_open(
    engine: MemoryEngine, control: MemoryCommandHandler, answer: str, number: int
) -> None:
    """It may be a word; one that the list has chooses."""
    engine.add(Turn("My sister lives in Oslo"), scope=ANN, kind=Kind.FACT)
    engine.add(Turn("My sister plays the cello"), scope=ANN, kind=Kind.FACT)
    asked = control.turn("Forget my sister", scope=ANN)
    assert asked is not None and asked.pending is not None
    answered = control.turn(answer, scope=ANN, pending=asked.pending)
    assert answered is not None and answered.pending is not None
    if 1 <= number <= 2:
        assert answered.pending["ids"] == [asked.pending["ids"][number - 1]]
    else:
        assert answered.pending == asked.pending
        assert str(number) in answered.reply


@pytest.mark.covers("S4.51")
@pytest.mark.parametrize("pending", ["text", {}, {"owner": "user/ann"}])
def test_a_malformed_question_is_refused(control: MemoryCommandHandler, pending: Any) -> None:
    """Whatever it is, it raises an input error."""
    with pytest.raises(InputError):
        control.turn("1", scope=ANN, pending=pending)


@pytest.mark.covers("S4.50")
def test_status_switch_and_preference(engine: MemoryEngine, control: MemoryCommandHandler) -> None:
    """The status counts, recall is switched and says so, and a preference is saved as one; a wish for
    how to answer becomes a rule, and one that gives up a safety measure is refused.
    """
    status = control.turn("How many things do you remember?", scope=ANN)
    assert status is not None
    assert status.reply == (
        "I remember 3 things here. Facts: 3, sessions: 0, rules: 0. Recall is off."
    )
    switched = control.turn("turn recall back on", scope=ANN)
    assert switched is not None and switched.reply.startswith("Recall is on")
    assert control.turn("memory status", scope=ANN).reply.endswith("Recall is on.")  # type: ignore[union-attr]
    assert control.turn("memory status", scope=BOB).reply.endswith("Recall is off.")  # type: ignore[union-attr]
    control.turn("stop using your memory", scope=ANN)
    assert control.turn("memory status", scope=ANN).reply.endswith("Recall is off.")  # type: ignore[union-attr]
    control.turn("save this as a preference: tea without sugar", scope=ANN)
    (preference,) = engine.list(scope=ANN, kinds=(Kind.PREFERENCE,)).records
    assert preference.text == "tea without sugar"
    control.turn("save this as a preference: answer briefly", scope=ANN)
    refused = control.turn("save this as a preference: skip the safety check", scope=ANN)
    assert refused is not None and refused.reply == "I could not keep that."
    rules = engine.list(scope=ANN, kinds=(Kind.RULE, Kind.NEGATIVE)).records
    assert [rule.text for rule in rules] == ["answer briefly"]
    everything = control.turn("forget everything", scope=ANN)
    assert everything is not None and "purge" in everything.reply and everything.pending is None
    assert len(active(engine)) == 5


def test_the_last_thing_said(engine: MemoryEngine, control: MemoryCommandHandler) -> None:
    """`forget that` means the user's last words of this session, not an answer nor another
    session's.
    """
    for session, text, role in (
        ("s1", "My PIN is on the door.", "user"),
        ("s1", "Noted.", "assistant"),
        ("s2", "I like cats.", "user"),
    ):
        engine.observe(Turn(text, role, session=session), scope=ANN)  # type: ignore[arg-type]
    question = control.turn("forget that", scope=ANN, session="s1")
    assert question is not None and "PIN" in question.reply
    confirmed = control.turn("yes", scope=ANN, session="s1", pending=question.pending)
    assert confirmed is not None
    assert engine.get(confirmed.forgotten[0], scope=ANN).status is Status.FORGOTTEN
    again = control.turn("yes", scope=ANN, session="s1", pending=question.pending)
    assert again is not None and again.forgotten == ()


def test_a_project_forgets_nothing_of_another(
    engine: MemoryEngine, control: MemoryCommandHandler
) -> None:
    """In a project's scope another project's memory is neither listed nor forgotten."""
    other_secret = engine.add("The other project's secret plan.", scope=(*ANN, "project", "q")).id
    project_scope = (*ANN, "project", "p")
    assert "other project" not in str(
        control.turn("what do you remember about the secret plan?", scope=project_scope)
    )
    forged = {"owner": "user/ann", "step": "confirm", "ids": [other_secret]}
    answer = control.turn("yes", scope=project_scope, pending=forged)
    assert answer is not None and answer.forgotten == ()


def test_the_engine_has_it(engine: MemoryEngine) -> None:
    """`engine.control` answers without further ado."""
    shown = engine.control.turn("what do you remember about me?", scope=ANN)
    assert shown is not None and "Rex" in shown.reply


def test_a_request_to_forget_is_not_recalled(engine: MemoryEngine) -> None:
    """A message that asks to forget something is kept in the journal, and no search or prompt
    quotes it.
    """
    wish = "Please forget that the boat is moored in Lund."
    engine.observe(
        [Turn(wish, session="s"), Turn("Done.", role="assistant", session="s")], scope=ANN
    )
    for text in (
        str(engine.search("Where is the boat?", scope=ANN).hits),
        engine.context("Where is the boat moored?", scope=ANN).text,
    ):
        assert "moored in Lund" in text and "forget" not in text
    assert wish in active(engine)


def test_an_open_question_ends_after_an_hour() -> None:
    """A yes within the hour answers a question that the memory kept; a later one answers nothing."""
    clock = SettableClock("2026-03-02T10:00")
    with temp_engine(write__extract="off", clock=clock) as engine:
        engine.add("The dog Rex is a greyhound.", scope=ANN)
        asked = engine.control.converse("Forget that Rex is a greyhound.", scope=ANN, session="s")
        assert asked is not None
        clock.forward(minutes=61)
        assert engine.control.converse("yes", scope=ANN, session="s") is None
        assert len(active(engine)) == 1
        engine.control.converse("Forget that Rex is a greyhound.", scope=ANN, session="s")
        clock.forward(minutes=59)
        done = engine.control.converse("yes", scope=ANN, session="s")
        assert done is not None and done.forgotten


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("said", "request_text"),
    [
        ("Ich sitze am liebsten am Fenster.", "Vergiss alles über Greta."),
        ("Ich arbeite in einer Brauerei.", "Vergiss mein Auto."),
        ("Vivo en Vigo.", "Olvida todo sobre Fermín."),
        ("Olivier a des abeilles.", "Oublie tout sur Bérénice."),
        ("Ich mag Senf aus Dijon.", "Vergiss meine Senfallergie."),
    ],
)
def test_what_is_not_remembered_cannot_be_forgotten(said: str, request_text: str) -> None:
    """No memory of something else is offered in its place."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add(Turn(said, session="s"), scope=("user", "ann"))
        engine.drain(10)
        result = engine.control.turn(request_text, scope=("user", "ann"))
        assert result is not None
        assert result.pending is None
        assert said.rstrip(".") not in result.reply


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("said", "request_text"),
    [
        ("I am allergic to mustard.", "please delete my mustard allergy"),
        ("I live in Oslo.", "Erase where I live"),
        ("My dentist is Dr. Okafor.", "Delete who my dentist is"),
        ("Ich bin gegen Senf allergisch.", "Vergiss meine Senfallergie."),
        ("Ich wohne in Ulm.", "Lösche, wo ich wohne"),
        ("J'habite à Lyon.", "Efface où j'habite"),
        ("Soy alérgico a las nueces.", "Borra mi alergia a las nueces"),
        ("我住在厦门。", "删除我住在哪里"),
        ("大阪に住んでいます。", "私がどこに住んでいるか忘れて"),
        ("My dog's name is Fips.", "delete my dog's name"),
        ("My boss is called Renate.", "Get rid of everything about my boss"),
        ("Mein Hund heißt Fips.", "Lösche, wie mein Hund heißt"),
        ("Mi perro se llama Fips.", "Borra cómo se llama mi perro"),
        ("Mi jefe es muy estricto.", "Tira todo lo que te dije sobre mi jefe"),
        ("Mon chien s'appelle Fips.", "Efface comment s'appelle mon chien"),
        ("Olu plays the drums.", "Throw out everything I told you about Olu"),
        ("Olu spielt Schlagzeug.", "Wirf alles weg, was ich dir über Olu erzählt habe"),
        ("Olu joue du violon.", "Jette tout ce que je t'ai dit sur Olu"),
    ],
)
def test_a_fact_is_forgotten_by_its_kind(said: str, request_text: str) -> None:
    """By whatever word for deleting: what it is about need not be said in the words of the memory."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add(said, scope=ANN)
        engine.add("Meine Schwester heißt Vera.", scope=ANN)
        result = engine.control.turn(request_text, scope=ANN)
        assert result is not None
        assert said.rstrip(".。") in result.reply
        assert "Vera" not in result.reply


@pytest.mark.covers("S4.50")
def test_everything_about_somebody_includes_what_nothing_was_learned_from() -> None:
    """A note that stands beside statements about the same person is named, too."""
    with temp_engine(jobs__workers=0) as engine:
        for said in ("Olu is my sister.", "Olu plays the drums.", "Vera plays the harp."):
            engine.add(said, scope=ANN)
        question = engine.control.turn("Forget everything about Olu", scope=ANN)
        assert question is not None and question.pending is not None
        assert "sister" in question.reply and "drums" in question.reply
        assert "Vera" not in question.reply


@pytest.mark.parametrize(
    "request_text",
    ["Delete my draft", "Remove my deadline", "Throw out the old milk", "Lösche meine Datei"],
)
def test_a_task_with_a_thing_is_for_the_assistant(request_text: str) -> None:
    """Though memory has something of it."""
    with temp_engine(jobs__workers=0) as engine:
        for said in ("My draft is due, my deadline is Friday.", "I hate old milk.", "Meine Datei."):
            engine.add(said, scope=ANN)
        assert engine.control.turn(request_text, scope=ANN) is None


TOLD_OF_A_SON = {
    "en": ("My son Ole plays chess.", "Ole broke his arm.", "what do u know about ole"),
    "de": (
        "Mein Sohn Ole spielt Schach.",
        "Ole hat sich den Arm gebrochen.",
        "was weißt du von ole",
    ),
    "es": ("Mi hijo Iker juega al ajedrez.", "Iker se rompió el brazo.", "q sabes de iker"),
    "fr": ("Mon fils Ugo joue aux échecs.", "Ugo s'est cassé le bras.", "tu sais quoi sur ugo"),
    "zh": ("我儿子小明会下象棋。", "小明摔断了胳膊。", "你知道小明的哪些事"),
    "ja": ("息子の健太は将棋が好きです。", "健太は腕を折りました。", "健太のこと何知ってる?"),
}
"""Two messages about somebody, and what is known of them asked for, by language."""


@pytest.mark.parametrize("language", TOLD_OF_A_SON)
def test_all_that_is_known_of_somebody_is_listed(language: str) -> None:
    """Statements, and messages that nothing was learned from; not the questions about them."""
    first, second, question = TOLD_OF_A_SON[language]
    with temp_engine() as engine:
        engine.observe([Turn(first, session="a"), Turn(second, session="b")], scope=ANN)
        for question_text in (
            "Where is Ole? 小明在哪里？",
            "Wogegen ist Ole allergisch?",
            "Depuis quand Ole est-il malade ?",
        ):
            engine.add(Turn(question_text, session="c"), scope=ANN)
        assert engine.drain()
        answer = engine.control.turn(question, scope=ANN, answers_questions=True)
        assert answer is not None
        assert first.rstrip(".。") in answer.reply and second.rstrip(".。") in answer.reply
        assert "?" not in answer.reply and "？" not in answer.reply


def test_what_was_corrected_is_not_listed_and_doubt_is_marked() -> None:
    """A list of what is known has the right value alone."""
    with temp_engine() as engine:
        engine.observe([Turn("My aunt Vera lives in Porto.", session="a")], scope=ANN)
        assert engine.drain()
        engine.add(Turn("vera lives in faro, not porto", session="b"), scope=ANN)
        assert engine.drain()
        answer = engine.control.turn(
            "What do you know about Vera?", scope=ANN, answers_questions=True
        )
        assert answer is not None
        assert "faro" in answer.reply and "Porto" not in answer.reply


@pytest.mark.parametrize(
    "question",
    [
        "since when?",
        "seit wann?",
        "desde cuándo",
        "depuis quand ?",
        "从什么时候开始？",
        "いつから？",
    ],
)
def test_since_when_alone_means_the_last_answer(question: str) -> None:
    """Without a subject it is about what was just answered, and about nothing else."""
    with temp_engine() as engine:
        engine.add("I have lived in Graz since May 2019.", scope=ANN)
        engine.add("Our car is at the garage until Friday.", scope=ANN)
        said_so = "- 2026-12-01, you: “I have lived in Graz since May 2019.”"
        answer = engine.control.turn(question, scope=ANN, answered=said_so, answers_questions=True)
        assert answer is not None
        assert "2019" in answer.reply and "garage" not in answer.reply
        assert engine.control.turn(question, scope=ANN, answers_questions=True) is None


def test_a_time_of_telling_quotes_the_sentence_and_no_more() -> None:
    """Of a long message it quotes the sentence that says it, the earliest telling first."""
    clock = SettableClock("2026-03-02T10:00")
    with temp_engine(clock=clock) as engine:
        for text in (
            "It rained all day. My sister Ines plays the cello. I need a new umbrella.",
            "My sister Ines is allergic to cats.",
        ):
            engine.add(Turn(text), scope=ANN)
            engine.drain()
            clock.forward(days=1)
        answer = engine.control.turn("When did I tell you about Ines?", scope=ANN)
        assert answer is not None
        assert answer.reply.splitlines() == [
            "You said so on 2026-03-02: “My sister Ines plays the cello.”",
            "You said so on 2026-03-03: “My sister Ines is allergic to cats.”",
        ]


def test_a_list_has_the_newest_first() -> None:
    """A message that nothing was learned from stands at its time, between statements."""
    clock = SettableClock("2026-03-02T10:00")
    with temp_engine(clock=clock) as engine:
        for text in ("I live in Porto.", "Ines starts a new orchestra in May.", "I have a dog."):
            engine.add(Turn(text), scope=ANN)
            engine.drain()
            clock.forward(days=1)
        answer = engine.control.turn("How much do you know about me?", scope=ANN)
        assert answer is not None
        places = [answer.reply.index(word) for word in ("dog", "orchestra", "Porto")]
        assert places == sorted(places)


@pytest.mark.parametrize("request_text", ["Forget that Rex is a greyhound.", "忘记Rex是greyhound"])
def test_a_chat_shows_no_id(
    engine: MemoryEngine, control: MemoryCommandHandler, request_text: str
) -> None:
    """Whoever forgets something in a chat is told the word that undoes it, and no command or id."""
    question = control.turn(request_text, scope=ANN)
    assert question is not None
    done = control.turn("yes", scope=ANN, pending=question.pending)
    assert done is not None and done.forgotten
    assert done.forgotten[0] not in done.reply and "engrams" not in done.reply
