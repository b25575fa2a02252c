"""Cutting and splicing a request's JSON text."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engrams.surfaces.proxy.json_splice import (
    OURS,
    append_member,
    attachment_types,
    parse_envelope,
    text_of,
)

ODD = (
    '{ "model" :"m", "temperature": 1.0e0, "seed":12345678901234567890123, "memory_top_k": 3,\n'
    ' "messages": [ {"role":"system","content":"caf\\u00e9 \\ud83d\\ude00 \\ud800"}'
    ' ,\t{"role":"user","content":"hi"},{"role":"tool","content":"x","tool_call_id":"1"}],'
    ' "prompt_cache_options" : {"a": [1E2, null]},"memory_id":"c" }'
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
bodies = st.dictionaries(st.text(max_size=6) | st.sampled_from(sorted(OURS)), values, max_size=6)


@pytest.mark.covers("S2.2")
def test_our_fields_are_cut_and_the_rest_keeps_its_bytes() -> None:
    """Number forms, escapes, blanks and lone surrogates of every other member are what they were."""
    envelope = parse_envelope(ODD.encode())
    assert envelope is not None
    assert envelope.render().decode() == ODD.replace(' "memory_top_k": 3,', "").replace(
        ',"memory_id":"c"', ""
    )


@pytest.mark.covers("S2.31")
def test_memory_goes_right_before_the_last_user_message() -> None:
    """The system message with memory stands before the last user message though a tool message is
    last.
    """
    envelope = parse_envelope(ODD.encode())
    assert envelope is not None
    before, after = envelope.render('a <b> "c"\n東京').decode().split('{"role":"user"')
    assert after == ODD.split('{"role":"user"')[1].replace(',"memory_id":"c"', "")
    assert before.endswith(',\t{"role": "system", "content": "a <b> \\"c\\"\\n\\u6771\\u4eac"},')


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{",
        b'{"messages": 5}',
        b'{"messages": [1,]}',
        b'{"messages": [],}',
        b'{"messages": []} x',
        b'{"messages": [1 2]}',
        b'{"a": 1}',
        b"{}",
        b'{1: 2, "messages": []}',
        b'{"messages": [}',
        b'\xff{"messages": []}',
        b'\xef\xbb\xbf{"messages": []}',
        b'{"messages": [' + b"[" * 100_000 + b"]}",
        b'{"n": ' + b"9" * 5000 + b', "messages": []}',
    ],
)
def test_what_is_no_chat_request_is_left_to_the_upstream(raw: bytes) -> None:
    """Broken, foreign, too deep or too long: there is no envelope, and no exception."""
    assert parse_envelope(raw) is None


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(bodies, st.lists(values, max_size=4), st.sampled_from([None, 1]))
def test_forwarding_is_removing_ours(
    body: dict[str, object], messages: list[object], indent: int | None
) -> None:
    """For any request the forwarded text parses to the request without our fields."""
    body = {**body, "messages": messages}
    envelope = parse_envelope(json.dumps(body, indent=indent).encode())
    assert envelope is not None
    assert json.loads(envelope.render()) == {
        key: value for key, value in body.items() if key not in OURS
    }


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    bodies,
    st.lists(st.sampled_from(["user", "assistant", "tool", "system"]), max_size=5),
    st.text(min_size=1),
)
def test_injecting_is_inserting_one_message(
    body: dict[str, object], roles: list[str], memory: str
) -> None:
    """For any conversation with a user message exactly one message is new and the others keep their
    order.
    """
    messages = [
        {"role": role, "content": str(place)}
        for place, role in enumerate([*roles, "user", "assistant"])
    ]
    envelope = parse_envelope(json.dumps({**body, "messages": messages}).encode())
    assert envelope is not None
    sent = json.loads(envelope.render(memory))["messages"]
    assert sent[: len(roles)] == messages[: len(roles)]
    assert sent[len(roles)] == {"role": "system", "content": memory}
    assert sent[len(roles) + 1 :] == messages[len(roles) :]


def test_only_our_fields_leave_an_empty_object() -> None:
    """A request of nothing but memory fields and messages loses only the fields."""
    envelope = parse_envelope(b'{"memory":{"user":"a"},"memory_id":"b","messages":[]}')
    assert envelope is not None
    assert envelope.render() == b'{"messages":[]}'


def test_a_repeated_key_counts_the_last_time() -> None:
    """With two `messages` the last one counts, as for a JSON parser, and the first stays as it is."""
    envelope = parse_envelope(
        b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}'
    )
    assert envelope is not None
    sent = envelope.render("m")
    assert sent.startswith(
        b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role": "system"'
    )
    assert json.loads(sent)["messages"][1] == {"role": "user", "content": "b"}


def test_an_answer_gains_a_member_and_keeps_its_bytes() -> None:
    """`extend` adds at the end, whatever blanks follow the object."""
    assert append_member(b'{"a": 1.50}\n', "hits", ["é"]) == b'{"a": 1.50,"hits":["\\u00e9"]}'


def test_text_of_multimodal_content() -> None:
    """Text parts are joined, others named, malformed ones passed over."""
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:"}},
        "x",
        {"type": "text", "text": 5},
        {"type": "text", "text": "here"},
    ]
    assert text_of(content) == "look\nhere"
    assert attachment_types(content) == ("image_url",)
    assert text_of(None) == text_of(7) == text_of({}) == ""
