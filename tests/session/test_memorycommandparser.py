"""What is asked of memory in words, and what is not."""

from __future__ import annotations

import pytest

from engrams.session.memorycommandparser import MemoryCommand, parse_command, parse_decision, parse_number


@pytest.mark.covers("S4.50")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What do you remember about me?", MemoryCommand("list")),
        ("what do you know about me", MemoryCommand("list")),
        ("Please show me what you know about me.", MemoryCommand("list")),
        ("list my memories", MemoryCommand("list")),
        ("What have you stored about the boat?", MemoryCommand("list", "the boat")),
        ("What do you remember about my dog, please?", MemoryCommand("list", "my dog")),
        ("what\u2019s in your memory", MemoryCommand("list")),
        ("memory status", MemoryCommand("status")),
        ("How many things do you remember about me?", MemoryCommand("status")),
        ("Is recall on?", MemoryCommand("status")),
        ("Turn off your memory", MemoryCommand("recall_off")),
        ("please switch memory off", MemoryCommand("recall_off")),
        ("stop using your memory", MemoryCommand("recall_off")),
        ("turn recall back on", MemoryCommand("recall_on")),
        ("Switch on memory!", MemoryCommand("recall_on")),
        ("Save this as a preference: tea without sugar", MemoryCommand("save", "tea without sugar")),
        ("remember my preference that I hate mornings.", MemoryCommand("save", "I hate mornings")),
        ("forget that", MemoryCommand("forget_last")),
        ("Please forget what I just said.", MemoryCommand("forget_last")),
        ("Forget everything about me", MemoryCommand("forget_all")),
        ("delete all my memories", MemoryCommand("forget_all")),
        ("forget number 3", MemoryCommand("forget", number=3)),
        ("delete #2", MemoryCommand("forget", number=2)),
        ("forget the second one", MemoryCommand("forget", number=2)),
        ("Forget that I like tea.", MemoryCommand("forget", "I like tea")),
        ("could you forget what I told you about Berlin?", MemoryCommand("forget", "Berlin")),
        ("Delete the memory about my old address", MemoryCommand("forget", "my old address")),
        ("forget everything about the boat", MemoryCommand("forget", "the boat")),
    ],
)
def test_requests_about_memory(text: str, wanted: MemoryCommand) -> None:
    """Each is understood, however politely."""
    assert parse_command(text) == wanted


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
    """Conversation about the world, work for a tool and things to keep are no requests about memory."""
    assert parse_command(text) is None


@pytest.mark.parametrize(
    ("text", "number"), [("2", 2), ("number 3", 3), ("the second one", 2), ("#4.", 4), ("tenth", 10), ("0", 0), ("two", 0), ("12345", 0)]
)
def test_numbers(text: str, number: int) -> None:
    """A digit or an ordinal names one of a list."""
    assert parse_number(text) == number


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
    assert parse_decision(text) == said
