"""Telegram Desktop's exports: whose words they are, when they were said, and what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.transfer.formats.samples import SAMPLES

from engrams.core import Kind
from engrams.transfer import formats
from engrams.transfer.formats.json_stream import StreamedMember, read_members

CHAT = SAMPLES["telegram"]
ACCOUNT = SAMPLES["telegram_account"]


def test_a_chat_gives_what_both_said(load: Any) -> None:
    """The sender with the chat's own id is the other person, by name, and the other one is the
    user; texts of parts are one text, times are exact, and notices and pictures are left out.
    """
    items, bad = load(CHAT)
    assert not bad
    assert [(item.turn.role, item.turn.speaker, item.turn.text) for item in items] == [
        ("user", "Ines", "I moved to Porto last week."),
        ("user", "", "I keep bees, see https://bees.example!"),
        ("user", "City News", "I always wear a red hat."),
        ("user", "", "The bill."),
    ]
    assert [item.turn.at.isoformat() for item in items[:2]] == [
        "2024-11-27T09:40:02+00:00",
        "2024-11-27T09:40:03+00:00",
    ]
    assert items[3].turn.caption == "boiler.pdf"
    assert {item.turn.meta["title"] for item in items} == {"Ines"}


@pytest.mark.parametrize("number", range(len(CHAT["messages"])))
def test_a_chat_is_recognised_by_any_first_message(save: Any, number: int) -> None:
    """A notice, a text, a picture or a message that Telegram could not export may come first."""
    assert formats.detect(save({**CHAT, "messages": CHAT["messages"][number:]})) == "telegram"


def test_a_forwarded_text_is_a_note_of_its_author(load: Any) -> None:
    """What was forwarded is not learned from as if its sender had said it."""
    kinds = {item.turn.text: item.kind for item in load(CHAT)[0]}
    assert kinds.pop("I always wear a red hat.") is Kind.NOTE
    assert set(kinds.values()) == {Kind.TURN}


def test_an_account_tells_its_owner_in_every_chat(load: Any) -> None:
    """The account's own messages are the user's, also in groups; bots are assistants; whoever is
    called "Me", or has no name any more, goes by a number.
    """
    items, bad = load(ACCOUNT)
    assert not bad
    said = {
        (item.turn.session, item.turn.role, item.turn.speaker): item.turn.text for item in items
    }
    assert list(said.items())[3:] == [
        (("telegram-user5", "user", ""), "The wine is in the cellar."),
        (("telegram-group77", "user", "Cy"), "Call me Captain."),
        (("telegram-group77", "user", ""), "My hives are green."),
        (("telegram-group77", "user", "user8"), "Gone."),
        (("telegram-group77", "user", "user9"), "I hate honey."),
        (("telegram-user11", "user", ""), "/start"),
        (("telegram-user11", "assistant", "Helper"), "Welcome."),
        (("telegram-channel12", "user", "News"), "It rains."),
    ]


def test_a_chat_has_the_same_ids_in_every_export(load: Any) -> None:
    """A chat that is exported alone and later with the account is imported once; a group with the
    number of a person is another chat.
    """
    alone = [item.turn.external_id for item in load(CHAT)[0]]
    together = [item.turn.external_id for item in load(ACCOUNT)[0]]
    assert together[: len(alone)] == alone
    assert len(set(together)) == len(together)


@pytest.mark.parametrize(
    ("change", "senders"),
    [
        ({"type": "private_group"}, {"Ines", "Ben", "City News"}),
        ({"id": None}, {"Ines", "Ben", "City News"}),
        ({"type": ["personal_chat"], "name": {}}, {"Ines", "Ben", "City News"}),
    ],
)
def test_nobody_is_the_user_where_the_file_does_not_tell(
    load: Any, change: dict[str, Any], senders: set[str]
) -> None:
    """A group that was exported alone, and a chat without its number, have named people only."""
    items, _ = load({**CHAT, **change})
    assert {item.turn.speaker for item in items} == senders


def test_an_export_before_2021_has_named_people(load: Any) -> None:
    """Where senders are numbers, nobody is taken for the user; times without a zone are UTC."""
    old = {"id": 1, "type": "message", "date": "2019-05-01T10:00:00", "from": "Ben", "from_id": 5}
    items, bad = load({**CHAT, "messages": [{**old, "text": "I keep bees."}]})
    assert (items[0].turn.speaker, items[0].turn.at.isoformat(), bad) == (
        "Ben",
        "2019-05-01T10:00:00+00:00",
        [],
    )


def test_odd_messages_cost_only_themselves(load: Any) -> None:
    """Messages of a wrong shape are told by their lines; the ones beside them are read."""
    odd = [
        3,
        None,
        {},
        {"type": "message", "text": "no id", "date_unixtime": "1732700402"},
        {**CHAT["messages"][1], "date_unixtime": "soon"},
        {**CHAT["messages"][1], "text": [{"text": ["x"]}, {"href": "y"}, 4, None]},
        {**CHAT["messages"][1], "id": 8, "from": {}, "from_id": [], "poll": 3},
    ]
    items, bad = load(
        json.dumps({**CHAT, "messages": [*odd, CHAT["messages"][2]]}, indent=1), "telegram"
    )
    assert [(item.turn.speaker, item.turn.text) for item in items] == [
        ("unknown", "I moved to Porto last week."),
        ("", "I keep bees, see https://bees.example!"),
    ]
    assert len(bad) == 4 and all(piece.line > 5 for piece in bad)


@pytest.mark.parametrize("data", [{}, {"about": "x", "contacts": {"list": []}}, [3]])
def test_a_file_without_chats_says_so(load: Any, data: Any) -> None:
    """A file that holds no chat gives the reason."""
    items, bad = load(data, "telegram")
    assert not items
    assert "A chat with messages was expected." in [piece.message for piece in bad]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_members_come_in_order_from_parts_of_any_size(size: int) -> None:
    """How a text is cut changes nothing: lists come element by element, after what stands before
    them, and all else whole.
    """
    text = json.dumps(
        {"a": {"b": 1}, "c": {"list": [{"n": 1, "m": [[2], 3]}, 4]}, "m": 5}, indent=1
    )
    parts = (text[at : at + size] for at in range(0, len(text), size))
    members = [
        piece for piece in read_members(parts, "c.list.m") if isinstance(piece, StreamedMember)
    ]
    assert [(member.path, member.value) for member in members] == [
        ("", None),
        ("a", {"b": 1}),
        ("c", None),
        ("c.list", None),
        ("c.list.n", 1),
        ("c.list.m", [2]),
        ("c.list.m", 3),
        ("c.list", 4),
        ("m", 5),
    ]
    assert [member.line for member in members] == [1, 2, 5, 7, 8, 10, 13, 16, 19]


def test_a_chat_larger_than_the_limit_is_read(monkeypatch: pytest.MonkeyPatch, save: Any) -> None:
    """Only one message is held at a time, however long the chat."""
    monkeypatch.setattr("engrams.transfer.formats.json_stream.LIMIT", 2_000)
    chat = ACCOUNT["chats"]["list"][0]
    many = [{**chat["messages"][1], "id": number} for number in range(2_000)]
    path = save({"about": "x", "chats": {"about": "", "list": [{**chat, "messages": many}]}})
    assert (
        len([item for item in formats.read(path) if isinstance(item, formats.ParsedTurn)]) == 2000
    )


@pytest.mark.parametrize("left", [0.2, 0.5, 0.8, 0.99])
def test_a_cut_export_gives_what_is_there(load: Any, left: float) -> None:
    """An export that was cut off gives its whole messages, and says where it ends."""
    text = json.dumps(ACCOUNT, indent=1)
    items, bad = load(text[: int(len(text) * left)], "telegram")
    assert bad and bad[-1].broken
    assert len(items) <= len(load(ACCOUNT)[0])
