"""What is asked of memory in words, and what is not."""

from __future__ import annotations

import pytest

from engrams.session.intents import Wish, chosen, decided, wish


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What do you remember about me?", Wish("list")),
        ("what do you know about me", Wish("list")),
        ("Please show me what you know about me.", Wish("list")),
        ("list my memories", Wish("list")),
        ("What have you stored about the boat?", Wish("list", "the boat")),
        ("What do you remember about my dog, please?", Wish("list", "my dog")),
        ("what\u2019s in your memory", Wish("list")),
        ("memory status", Wish("status")),
        ("How many things do you remember about me?", Wish("status")),
        ("Is recall on?", Wish("status")),
        ("Turn off your memory", Wish("recall_off")),
        ("please switch memory off", Wish("recall_off")),
        ("stop using your memory", Wish("recall_off")),
        ("turn recall back on", Wish("recall_on")),
        ("Switch on memory!", Wish("recall_on")),
        ("Save this as a preference: tea without sugar", Wish("save", "tea without sugar")),
        ("remember my preference that I hate mornings.", Wish("save", "I hate mornings")),
        ("forget that", Wish("forget_last")),
        ("Please forget what I just said.", Wish("forget_last")),
        ("Forget everything about me", Wish("forget_all")),
        ("delete all my memories", Wish("forget_all")),
        ("forget number 3", Wish("forget", number=3)),
        ("delete #2", Wish("forget", number=2)),
        ("forget the second one", Wish("forget", number=2)),
        ("Forget that I like tea.", Wish("forget", "I like tea")),
        ("could you forget what I told you about Berlin?", Wish("forget", "Berlin")),
        ("Delete the memory about my old address", Wish("forget", "my old address")),
        ("forget everything about the boat", Wish("forget", "the boat")),
    ],
)
def test_requests_about_memory(text: str, wanted: Wish) -> None:
    """Each is understood, however politely."""
    assert wish(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "What do you know about Python?",
        "My dog is called Rex.",
        "I always forget my keys.",
        "Don't forget that I like tea.",
        "never forget the milk",
        "Forget to feed him and he barks.",
        "forget about it",
        "delete the temporary files",
        "remove the first line of the file",
        "Turn off the lights",
        "What do you remember?" + " really" * 200,
        "Remember that I like tea",
        "forgetting is human",
        "\ud800\0",
    ],
)
def test_everything_else(text: str) -> None:
    """Talk about the world, work for a tool and things to keep are no requests about memory."""
    assert wish(text) is None


@pytest.mark.parametrize(
    ("text", "number"), [("2", 2), ("number 3", 3), ("the second one", 2), ("#4.", 4), ("tenth", 10), ("0", 0), ("two", 0), ("12345", 0)]
)
def test_numbers(text: str, number: int) -> None:
    """A digit or an ordinal names one of a list."""
    assert chosen(text) == number


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes", "yes"),
        ("Yes, please do it.", "yes"),
        ("go ahead!", "yes"),
        ("no", "no"),
        ("No, keep it.", "no"),
        ("never mind", "no"),
        ("cancel please", "no"),
        ("all of them", "all"),
        ("yes but tell me about cats first", ""),
        ("What time is it?", ""),
        ("", ""),
    ],
)
def test_decisions(text: str, said: str) -> None:
    """Only a plain answer counts as one."""
    assert decided(text) == said
