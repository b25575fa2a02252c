"""Thanks and assent, told from messages that say something."""

from __future__ import annotations

import pytest

import engrams
from engrams.core import Turn
from engrams.text.acknowledgements import is_acknowledgement


@pytest.mark.parametrize(
    "text",
    [
        "thanks", "ok do it", "yes please", "go on", "Understood.", "Great, done.", "Let's do it!", "Sounds good to me", "LGTM", "👍",
        "Got it, thanks!", "You're welcome.", "danke dir", "mach weiter", "alles klar", "vas-y", "d'accord", "c'est bon", "de acuerdo",
        "muchas gracias", "好的，谢谢", "继续",
    ],
)  # fmt: skip
def test_what_says_nothing(text: str) -> None:
    """Thanks and assent in six languages."""
    assert is_acknowledgement(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no nuts",
        "do you know me",
        "where do I live",
        "use tabs",
        "all my dogs",
        "yes, I am vegan",
        "what's next?",
        "ok?",
        "no pork for me",
    ],
)
def test_what_says_something(text: str) -> None:
    """Questions, values and orders."""
    assert not is_acknowledgement(text)


def test_a_yes_is_shown_beside_its_question() -> None:
    """An answer means something where its question is recalled; thanks never do."""
    scope = ("user", "ann")
    with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
        said = [
            ("assistant", "Are you allergic to peanuts?"),
            ("user", "Yes."),
            ("user", "May I have a peanut bar?"),
            ("assistant", "Thanks."),
        ]
        memory.observe([Turn(text, role, session="s") for role, text in said], scope=scope)  # type: ignore[arg-type]
        tail = memory.context("peanuts allergy", scope=scope).tail
        assert "allergic" in tail and "user: Yes." in tail and "Thanks" not in tail


@pytest.mark.parametrize(
    ("last", "recalled"), [("Great, thanks!", False), ("go on", True), ("yes please", True)]
)
def test_thanks_end_the_subject_of_a_conversation(last: str, recalled: bool) -> None:
    """With the messages before, assent is about what they are about; thanks recall nothing."""
    scope = ("user", "ann")
    with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
        memory.observe([Turn("The staging DB is on port 5433.", session="s")], scope=scope)
        said = [
            ("user", "Which port is the staging DB on?"),
            ("assistant", "Shall I look it up?"),
            ("user", last),
        ]
        tail = memory.deliver(
            [{"role": role, "content": text} for role, text in said], scope=scope, session="t"
        ).tail
        assert ("5433" in tail) is recalled
