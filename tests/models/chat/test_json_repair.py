"""Reading the JSON that a model meant."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrams.models.chat.json_repair import parse, strip_thoughts

FACTS = {
    "type": "object",
    "properties": {"facts": {"type": "array"}},
    "required": ["facts"],
    "additionalProperties": False,
}


@pytest.mark.covers("S1.14")
@pytest.mark.parametrize(
    ("text", "facts", "how"),
    [
        ('{"facts": ["a"]}', ["a"], "exact"),
        ('\ufeff \n{"facts": ["a"]}\n', ["a"], "exact"),
        ('"{\\"facts\\": [\\"a\\"]}"', ["a"], "exact"),
        ('```json\n{"facts": ["a"]}\n```', ["a"], "inside"),
        ('```\n{"facts": ["a"]}', ["a"], "inside"),
        ('Sure [1], for {you}: {"facts": ["a"]} Anything else?', ["a"], "inside"),
        ('First {"facts": ["draft"]}, no: {"facts": ["a"]}', ["a"], "inside"),
        ('Not {"facts": ["prose"]} but\n```json\n{"facts": ["a"]}\n```', ["a"], "inside"),
        ('<think>{"facts": ["no"]}</think>{"facts": ["a"]}', ["a"], "inside"),
        ('so {"facts": ["no"]} it is</think>\n{"facts": ["a"]}', ["a"], "inside"),
        ("{'facts': ['a',],}", ["a"], "repaired"),
        ('{facts: ["a"]}', ["a"], "repaired"),
        ('{"facts": ["a" "b"]}', ["a", "b"], "repaired"),
        ('{"facts": ["she said </think> and ```"]}', ["she said </think> and ```"], "exact"),
        ('{"facts": ["日本語", "🙂", "עברית"]}', ["日本語", "🙂", "עברית"], "exact"),
    ],
)
def test_json_is_found_wherever_it_stands(text: str, facts: list[str], how: str) -> None:
    """Fences, prose, thoughts and bad punctuation around or in the JSON do not hide it."""
    found = parse(text, FACTS)
    assert found is not None
    assert (found.data, found.how) == ({"facts": facts}, how)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"facts": [{"text": "a"}, {"text": "b", "negated": tr', {"facts": [{"text": "a"}]}),
        ('{"facts": ["I live in Lisbon", "My cat is call', {"facts": ["I live in Lisbon"]}),
        ('{"facts": ["a", "b"', {"facts": ["a"]}),
        ('{"facts": [12, 34', {"facts": [12]}),
        ('{"facts": ["a"], "more": ["b', {"facts": ["a"]}),
        ('{"facts": [{"tags": ["x", "y"', None),
        ('{"facts": ["only ha', None),
        ('```json\n{"facts": ["a", "b', {"facts": ["a"]}),
        ('{"facts": ["with \\" and ] and }", "cut', {"facts": ['with " and ] and }']}),
        ('{"facts": [[1, 2], [3', {"facts": [[1, 2]]}),
    ],
)
def test_what_was_cut_off_is_never_completed_by_guessing(text: str, data: object) -> None:
    """Of an answer that ends early only whole list items are kept: half a sentence is no memory."""
    found = parse(text, FACTS)
    assert found is not None
    assert (found.data, found.how) == (data, "cut")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "no",
        "nothing to report.",
        "<think>{} is it? [1]",
        "null",
        '"text"',
        "42",
        "\0",
        "\ud800",
    ],
)
def test_no_json_is_none(text: str) -> None:
    """An answer that holds no object or array gives None."""
    assert parse(text, FACTS) is None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "{" * 100_000,
        "[{" * 50_000 + "," * 50_000,
        '"' * 200_000,
        "\\" * 200_000,
        '{"a": "' + 'x"y' * 50_000,
        "}" * 100_000,
        "```" * 50_000,
        "<think>" * 50_000,
        '{"facts": [' + '"a",' * 200_000,
    ],
)
def test_hostile_text_is_only_text(text: str) -> None:
    """Huge or deeply nested answers neither raise nor take for ever."""
    found = parse(text, FACTS)
    assert found is None or found.how in ("inside", "repaired", "cut")


@given(st.text(alphabet=st.sampled_from(list("{}[]\",:\\ tf1n'`<think>/\ud800\0é")), max_size=80))
def test_no_text_makes_it_raise(text: str) -> None:
    """Any mixture of JSON's characters gives a value or None."""
    found = parse(text, FACTS)
    assert found is None or found.how in ("exact", "inside", "repaired", "cut")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(JSON, max_size=5), st.data())
def test_any_cut_gives_a_beginning(items: list[object], data: st.DataObject) -> None:
    """Wherever an answer is cut, the items that are kept are the first ones, unchanged."""
    whole = json.dumps({"facts": items})
    found = parse(whole[: data.draw(st.integers(1, len(whole) - 1))], FACTS)
    if found is not None and found.data:
        kept = found.data["facts"]
        assert kept == items[: len(kept)]


def test_thoughts_are_left_out_of_text() -> None:
    """The reasoning in front of an answer is dropped, a mention of the tag in an answer is not."""
    assert strip_thoughts("<think>hm\nhm</think>\n\nYes.") == "Yes."
    assert strip_thoughts("<Thinking>x</Thinking>Yes.") == "Yes."
    assert strip_thoughts("hm</think>Yes.") == "Yes."
    assert strip_thoughts("<think>never finished") == ""
    assert strip_thoughts("Use <think> and </think> tags.") == "Use <think> and </think> tags."
