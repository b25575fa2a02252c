"""Repetitions: opposite and different statements are none, however alike their words; the same in
other words is one.
"""

from __future__ import annotations

from typing import Any, Self

import pytest
from tests.text.comparison.statement_pairs import OPPOSITES, PARAPHRASES
from tests.write.conftest import ALICE, Talk

from engrams import Turn
from engrams.core import EdgeType, Kind, Scope, Status
from engrams.models.chat.factory import choose_chat
from engrams.settings import ChatSettings
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock, temp_engine
from engrams.text.comparison.statement_comparison import (
    are_opposite,
    compare_statements,
    differ_in_detail,
)

QUESTION = "how it meets what is known"
"""Words of the question about statements that meet known ones."""


@pytest.mark.parametrize(("known", "new"), OPPOSITES)
def test_a_word_that_decides_makes_another_statement(known: str, new: str) -> None:
    """Neither says the same as the other, or a part of it."""
    assert compare_statements(new, known) == compare_statements(known, new) == "different"
    assert differ_in_detail(new, known)


@pytest.mark.parametrize(("known", "new"), PARAPHRASES)
def test_a_paraphrase_is_the_same_statement(known: str, new: str) -> None:
    """Small words, order, spelling and synonyms make no other statement."""
    assert compare_statements(new, known) == compare_statements(known, new) == "same"
    assert not differ_in_detail(new, known)
    assert not are_opposite(new, known)


@pytest.mark.parametrize(
    ("new", "known", "relation"),
    [
        ("I work at Ikea", "I work at Ikea as a cook", "less"),
        ("I work at Ikea as a cook", "I work at Ikea", "more"),
        ("I drink coffee without milk", "I drink coffee", "different"),
        ("The user moved to Berlin", "The user lives in Berlin", "same"),
        ("Bor i Bergen", "Bor i Bergen.", "same"),
        ("Bor ikke i Bergen", "Bor i Bergen", "more"),
    ],
)
def test_a_statement_may_say_more_or_less(new: str, known: str, relation: str) -> None:
    """Words of content that only one has make it say more; words of the predicate do not count."""
    predicate = "lives_in" if "Berlin" in new else ""
    assert compare_statements(new, known, predicate) == relation


def test_no_opposite_is_kept_as_a_repetition_by_rules() -> None:
    """Of eighty pairs none strengthens the earlier statement, and no receipt says it is known."""
    clock = SettableClock()
    with temp_engine(clock=clock) as engine:
        for number, (known, new) in enumerate(OPPOSITES):
            scope = ("user", f"u{number}")
            engine.add(Turn(known), scope=scope)
            clock.forward(days=3)
            receipt = engine.add(Turn(new), scope=scope)
            assert "keep" not in [derived.verdict for derived in receipt.derived], new
            statements = engine.list(scope=scope, kinds=(Kind.FACT, Kind.PREFERENCE)).records
            assert all(record.strength == 1 for record in statements), new


def test_opposites_stand_side_by_side_and_are_linked() -> None:
    """Where nothing shows that one took the other's place, both stay, joined as a contradiction."""
    clock = SettableClock()
    with temp_engine(clock=clock) as engine:
        scope = ("user", "ann")
        engine.add("I take my pills before meals.", kind=Kind.FACT, scope=scope)
        clock.forward(days=3)
        receipt = engine.add("I take my pills after meals.", kind=Kind.FACT, scope=scope)
        (later,) = receipt.derived
        assert later.verdict == "conflict"
        statements = engine.list(scope=scope, kinds=(Kind.FACT, Kind.PREFERENCE)).records
        assert [record.status for record in statements] == [Status.ACTIVE, Status.ACTIVE]
        edges = engine.store.edges(statements[0].scope.owner, [later.id])
        assert EdgeType.CONTRADICTS in {edge.type for edge in edges}


def make_row(
    text: str, predicate: str = "states", value: str = "it", category: str = "life"
) -> dict[str, Any]:
    """A statement as a model gives it that hears the same triple in both texts of a pair."""
    return {
        "turn": 1,
        "text": text,
        "quote": text,
        "category": category,
        "kind": "fact",
        "confidence": 0.9,
        "subject": "user",
        "predicate": predicate,
        "object": value,
    }


class ModelTalk(Talk):
    """A conversation from which a model learns one statement a message.

    ``verdict``: its answer about each that meets known ones, of which it names the first.
    """

    def __init__(self, verdict: str = "add") -> None:
        super().__init__(gate=False, policy="off")
        self.row: dict[str, Any] = {}
        self.verdict = verdict
        self.questions = 0
        """Questions about statements that meet known ones."""
        self.model = ScriptedModel(answer=self._answer)

    def __enter__(self) -> Self:
        self.model.start()
        settings = ChatSettings(
            provider="openai", model="m", url=self.model.url, retries=0, timeout_seconds=5
        )
        self.chat = choose_chat(settings, lambda: self.now)
        return self

    def __exit__(self, *_: object) -> None:
        self.model.stop()
        self.store.close()

    def hear(self, row: dict[str, Any], scope: Scope = ALICE) -> None:
        self.row = row
        self.say(str(row["text"]), scope=scope)

    def _answer(self, request: ReceivedModelRequest) -> dict[str, Any]:
        if QUESTION not in request.prompt:
            return {"statements": [self.row]}
        self.questions += 1
        known = [] if self.verdict == "add" else [1]
        decision = {"new": 1, "known": known, "verdict": self.verdict}
        return {"decisions": [decision | {"confidence": "high", "reason": "-"}]}


def test_a_model_is_asked_about_opposites_and_its_add_stands() -> None:
    """However equal the triples are that it heard: eighty questions, and two statements each."""
    with ModelTalk() as talk:
        for number, (known, new) in enumerate(OPPOSITES):
            scope = Scope.of(("user", f"u{number}"))
            talk.hear(make_row(known), scope)
            talk.hear(make_row(new), scope)
            assert talk.questions == number + 1, new
            assert [record.strength for record in talk.facts(scope=scope)] == [1, 1], new


@pytest.mark.covers("S2.44")
@pytest.mark.parametrize(
    ("known", "new", "value"),
    [
        ("I love pizza", "I hate pizza", "pizza"),
        ("I adore jazz", "I loathe jazz", "jazz"),
        ("Ich liebe Pilze", "Ich hasse Pilze", "Pilze"),
        ("Me encanta el queso", "Odio el queso", "queso"),
        ("J'adore le fromage", "Je déteste le fromage", "fromage"),
        ("我喜欢咖啡", "我讨厌咖啡", "咖啡"),
        ("魚が好きです", "魚が嫌いです", "魚"),
    ],
)
def test_a_denial_that_only_the_words_tell_is_no_repetition(
    known: str, new: str, value: str
) -> None:
    """A model that reports a like and a dislike as one triple is asked about the second."""
    with ModelTalk("replace") as talk:
        for text in (known, new):
            talk.hear(make_row(text, "likes", value))
        assert talk.questions == 1
        assert [record.text for record in talk.facts()] == [new]


def test_a_model_is_not_asked_about_paraphrases() -> None:
    """What says the same strengthens the statement that is there, without a question."""
    with ModelTalk() as talk:
        for number, (known, new) in enumerate(PARAPHRASES):
            if known.startswith("The user"):
                continue  # In a message these are not the sender's words.
            scope = Scope.of(("user", f"u{number}"))
            talk.hear(make_row(known), scope)
            talk.hear(make_row(new), scope)
            assert talk.questions == 0, new
            assert [record.strength for record in talk.facts(scope=scope)] == [2], new


def test_a_second_employer_stays_where_a_model_adds_it() -> None:
    """The slot holds one value, but the model says that both can be true."""
    with ModelTalk() as talk:
        talk.hear(make_row("I work at Ikea", "works_at", "Ikea"))
        talk.hear(make_row("I am at Volvo on weekends", "works_at", "Volvo"))
        assert [record.object for record in talk.facts()] == ["Ikea", "Volvo"]


def test_a_second_employer_of_a_word_stays_beside_the_first() -> None:
    """Without a model, "also" says that the first one holds too."""
    talk = Talk()
    talk.say("I work at Ikea.")
    talk.say("I also work at Volvo.")
    assert {record.object for record in talk.facts()} == {"Ikea", "Volvo"}
    talk.store.close()


def test_opposites_are_shown_together() -> None:
    """A search and a context hold both sides, however alike their words are."""
    clock = SettableClock()
    scope = ("user", "ann")
    with temp_engine(clock=clock, jobs__workers=0) as engine:
        for text in ("I take my pills before meals.", "I take my pills after meals."):
            engine.add(Turn(text, session="s"), scope=scope)
            clock.forward(days=3)
        engine.drain(10)
        question = "When do I take my pills?"
        hits = engine.search(question, scope=scope).hits
        shown = " ".join(hit.record.text for hit in hits)
        context = engine.context(question, scope=scope).text
        for word in ("before", "after"):
            assert word in shown
            assert word in context
