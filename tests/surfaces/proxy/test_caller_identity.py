"""Who a request belongs to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.datastructures import Headers

from engrams.errors import ScopeError
from engrams.settings import Settings
from engrams.surfaces.proxy.caller_identity import identify, opening_id, turn_id
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest, parse_request
from engrams.surfaces.proxy.json_splice import ParsedChatRequest, parse_envelope

SETTINGS = Settings(user="local")
HELLO = [{"role": "user", "content": "hello"}]


def envelope(**fields: Any) -> ParsedChatRequest:
    found = parse_envelope(json.dumps({"messages": HELLO, **fields}).encode())
    assert found is not None
    return found


def headers(**values: str) -> Headers:
    return Headers({name.replace("_", "-"): value for name, value in values.items()})


def asked(messages: list[Any], settings: Settings = SETTINGS, **fields: Any) -> ParsedProxyRequest:
    return parse_request(headers(), json.dumps({"messages": messages, **fields}).encode(), settings)


@pytest.mark.parametrize(
    ("given", "fields", "owner"),
    [
        ({}, {}, "local"),
        ({}, {"user": "body"}, "body"),
        ({"X_OpenWebUI_User_Id": "web"}, {"user": "body"}, "web"),
        ({"X_Engrams_User": "own", "X_OpenWebUI_User_Id": "web"}, {}, "own"),
        ({"X_Engrams_User": "own"}, {"memory": {"user": "object"}}, "object"),
        ({"X_Engrams_User": "J%C3%BCrgen"}, {}, "Jürgen"),
        ({"X_Engrams_User": "Jürgen".encode().decode("latin-1")}, {}, "Jürgen"),
        ({"X_Engrams_User": "  "}, {"user": ["x"], "memory": [1]}, "local"),
        ({}, {"memory": {"user": 42}}, "42"),
    ],
)
def test_the_owner(given: dict[str, str], fields: dict[str, Any], owner: str) -> None:
    """The nearest name wins; blank and malformed ones are passed over."""
    assert identify(headers(**given), envelope(**fields), SETTINGS).scope.labels == ("user", owner)


def test_without_any_name_it_is_the_login() -> None:
    """With no name and no setting the owner is the login name."""
    assert identify(headers(), envelope(), Settings()).scope.labels[1]


def test_projects_and_conversations_are_scopes_and_sessions_are_not() -> None:
    """A project and a conversation narrow the scope; a session only groups turns."""
    caller = identify(
        headers(X_Engrams_Project="p", X_Engrams_Session="s"), envelope(memory_id="c"), SETTINGS
    )
    assert caller.scope.labels == ("user", "local", "project", "p", "conversation", "c")
    assert caller.session == "s"
    assert identify(headers(), envelope(memory_id="c"), SETTINGS).session == "c"
    assert identify(headers(X_OpenWebUI_Chat_Id="w"), envelope(), SETTINGS).session == "w"
    assert identify(headers(), envelope(metadata={"session_id": "m"}), SETTINGS).session == "m"


@pytest.mark.parametrize("bad", ["a\nb", "\x00", "x" * 201, "\ud800"])
def test_a_hostile_id_keeps_memory_out(bad: str) -> None:
    """An id that no scope can hold is an error here and a request without memory there, never a
    failed turn.
    """
    with pytest.raises(ScopeError):
        identify(headers(), envelope(memory={"user": bad}), SETTINGS)
    found = asked(HELLO, memory={"user": bad})
    assert (found.caller, found.skip_reason, found.question) == (None, "identity", None)


@pytest.mark.covers("S2.30")
def test_how_many_memories() -> None:
    """Ours before 002's before the setting;
    what is no count is passed over; never more than the limit.
    """
    default = SETTINGS.serve.top_k
    for fields, count in [
        ({}, default),
        ({"memory_top_k": 0}, 0),
        ({"memory_top_k": 7}, 7),
        ({"memory_top_k": 7, "memory": {"top_k": 2}}, 2),
        ({"memory_top_k": -1}, default),
        ({"memory_top_k": True}, default),
        ({"memory_top_k": "9"}, default),
        ({"memory_top_k": 10**9}, SETTINGS.limits.results),
    ]:
        assert identify(headers(), envelope(**fields), SETTINGS).top_k == count


def test_a_conversation_without_an_id_is_known_by_its_opening() -> None:
    """The first user message names it, whatever the system prompt says and however far it has gone."""
    first = envelope(messages=[{"role": "system", "content": "It is 9:00"}, *HELLO])
    later = envelope(
        messages=[
            {"role": "system", "content": "It is 9:05"},
            *HELLO,
            {"role": "assistant", "content": "hi"},
            {"role": "user", "content": "bye"},
        ]
    )
    assert (
        opening_id(first)
        == opening_id(later)
        != opening_id(envelope(messages=[{"role": "user", "content": "other"}]))
    )
    assert opening_id(envelope(messages=[1, None])) == ""


def test_a_turn_has_one_id_however_often_it_is_sent() -> None:
    """Sent again it has the same id;
    the same words later, elsewhere, or by another's hand have another.
    """
    talk = [*HELLO, {"role": "assistant", "content": "hi"}, *HELLO]
    one = envelope(messages=talk)
    again = envelope(messages=[{"role": "system", "content": "now 9:05"}, *talk])
    caller = identify(headers(), one, SETTINGS)
    other = identify(headers(), envelope(user="else"), SETTINGS)
    assert turn_id(caller, one, 2, "hello") == turn_id(caller, again, 3, "hello")
    assert (
        len(
            {
                turn_id(caller, one, 2, "hello"),
                turn_id(caller, one, 0, "hello"),
                turn_id(other, one, 2, "hello"),
                turn_id(caller, one, 2, "x"),
            }
        )
        == 4
    )


def test_what_keeps_memory_out() -> None:
    """Off, incognito, disabled and unreadable requests are forwarded without a caller, each with
    its reason.
    """
    assert asked(HELLO, memory={"off": True}).skip_reason == "off"
    assert asked(HELLO, memory={"incognito": True}).skip_reason == "incognito"
    assert asked(HELLO, Settings(enabled=False)).skip_reason == "disabled"
    assert parse_request(headers(), b"nonsense", SETTINGS).upstream_body() == b"nonsense"
    assert asked([{"role": "assistant", "content": "x"}]).question is None
    assert (
        asked(
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
        ).skip_reason
        == "no_question"
    )


def test_an_attachment_is_noted_with_the_turn() -> None:
    """A picture beside the text leaves its type with the stored turn, not its bytes."""
    said = asked(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image_url", "image_url": {"url": "data:x"}},
                ],
            }
        ]
    ).question
    assert said is not None
    assert (said.text, said.meta) == ("see", {"attachments": ["image_url"]})


@pytest.mark.parametrize(
    ("user", "labels"),
    [
        ("", ("user", "team")),
        ("team", ("user", "team")),
        ("ann", ("user", "team", "user", "ann")),
        ("user/other", ("user", "team", "user", "user/other")),
    ],
)
def test_a_key_never_leaves_its_owner(user: str, labels: tuple[str, ...]) -> None:
    """Whatever name a request with a key gives, the memory is its owner's or a part of that."""
    given = headers(X_Engrams_Owner="user%2Fteam", **({"X_Engrams_User": user} if user else {}))
    assert identify(given, envelope(), SETTINGS).scope.labels == labels
    deep = identify(given, envelope(memory={"project": "p"}), SETTINGS).scope
    assert deep.labels == (*labels, "project", "p") and deep.owner.labels == ("user", "team")
