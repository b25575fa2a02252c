"""Prose of messages that carry code."""

import pytest

from engrams.text.prose import strip_code

ASK = "My invoice export runs each Friday night"


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        (f"{ASK}:\n```python\nprint(1)\n```\nIt must not fail.", f"{ASK}:\n\n\nIt must not fail."),
        (f"{ASK}\n~~~\nselect 1\n~~~", ASK),
        (f"{ASK}\n```\nnever closed", ASK),
        ("Fix this:\n```\nprint(1)\n```", "Fix this:\n```\nprint(1)\n```"),
        ("```\nprint(1)\n```", "```\nprint(1)\n```"),
        (ASK, ASK),
        ("", ""),
    ],
)
def test_code_is_left_out(text: str, prose: str) -> None:
    """Fenced code goes, also where the fence stays open;
    with hardly a word beside it, it is the message.
    """
    assert strip_code(text) == prose


def test_many_fences_take_linear_time() -> None:
    """A text of nothing but fences is read once."""
    assert strip_code("```" * 200_001) == "```" * 200_001
