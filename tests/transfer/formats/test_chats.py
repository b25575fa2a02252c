"""Exports of chat products."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, datetime
from typing import Any

import pytest

from engrams.errors import InputError
from engrams.transfer import formats


def node(id: str, parent: str | None, role: str, parts: list[Any], **extra: Any) -> dict[str, Any]:
    """One node of a ChatGPT mapping."""
    content = {"content_type": extra.pop("type", "text"), "parts": parts}
    message = {
        "id": f"m-{id}",
        "author": {"role": role},
        "content": content,
        "create_time": extra.pop("at", 1_700_000_000.5),
        **extra,
    }
    return {"id": id, "parent": parent, "children": [], "message": message}


def chatgpt() -> list[dict[str, Any]]:
    """One conversation in which the second question was edited once."""
    nodes = [
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        node("s", "root", "system", [""]),
        node("u0", "s", "user", ["custom instructions"], type="user_editable_context"),
        node("u1", "u0", "user", ["I moved to Porto."]),
        node("think", "u1", "assistant", ["hmm"], type="thoughts"),
        node("call", "think", "assistant", ["search('Porto')"], recipient="browser"),
        node("tool", "call", "tool", ["results"]),
        node("a1", "tool", "assistant", ["Lovely.\ue200cite\ue202turn0\ue201"], at=None),
        node("old", "a1", "user", ["abandoned question"]),
        node(
            "u2",
            "a1",
            "user",
            [{"asset_pointer": "file://x", "content_type": "image_asset_pointer"}, "What is this?"],
            type="multimodal_text",
            metadata={"attachments": [{"name": "bridge.jpg"}]},
            at=1_700_000_100,
        ),
        node(
            "h",
            "u2",
            "assistant",
            ["hidden"],
            metadata={"is_visually_hidden_from_conversation": True},
        ),
        node("a2", "h", "assistant", ["A bridge."]),
    ]
    return [
        {
            "title": "Moving",
            "create_time": 1_700_000_000,
            "mapping": {n["id"]: n for n in nodes},
            "current_node": "a2",
            "conversation_id": "talk-1",
        }
    ]


def said(id: str, sender: str, text: str, **extra: Any) -> dict[str, Any]:
    """One message of a Claude conversation."""
    return {
        "uuid": id,
        "sender": sender,
        "text": text,
        "created_at": f"2025-01-02T10:00:0{id[1]}Z",
        "content": [],
        **extra,
    }


def claude() -> list[dict[str, Any]]:
    """One conversation."""
    blocks = [
        {"type": "thinking", "thinking": "…"},
        {"type": "text", "text": "Noted."},
        {"type": "tool_use", "input": {}},
    ]
    messages = [
        said("m1", "human", "I like tea", files=[{"file_name": "tea.png"}]),
        said("m2", "assistant", "old", content=blocks),
        said("m3", "assistant", ""),
    ]
    return [
        {
            "uuid": "c-1",
            "name": "Tea",
            "created_at": "2025-01-02T10:00:00.5Z",
            "account": {"uuid": "acc"},
            "chat_messages": messages,
        }
    ]


def test_chatgpt_gives_the_current_branch(load: Any) -> None:
    """Only what both sides said on the branch of current_node comes, with ids, times and the
    conversation's name.
    """
    items, bad = load(chatgpt())
    assert not bad
    assert [(i.turn.role, i.turn.text) for i in items] == [
        ("user", "I moved to Porto."),
        ("assistant", "Lovely."),
        ("user", "What is this?"),
        ("assistant", "A bridge."),
    ]
    assert [i.turn.external_id for i in items] == ["m-u1", "m-a1", "m-u2", "m-a2"]
    assert {i.conversation for i in items} == {"talk-1"}
    assert items[0].turn.at == datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)
    assert items[1].turn.at == items[0].turn.at
    assert items[2].turn.caption == "bridge.jpg"
    assert items[0].turn.meta == {"title": "Moving"}


def test_chatgpt_without_a_current_node_takes_the_latest(load: Any) -> None:
    """A conversation that names no current node, or one that is not there, still gives its newest
    branch.
    """
    talk = chatgpt()
    talk[0]["current_node"] = "nowhere"
    talk[0]["mapping"]["old"]["message"]["create_time"] = 1_800_000_000
    items, _ = load(talk)
    assert items[-1].turn.text == "abandoned question"


def test_chatgpt_with_a_circle_of_parents_ends(load: Any) -> None:
    """Parents that go in a circle are walked once."""
    talk = chatgpt()
    talk[0]["mapping"]["root"]["parent"] = "a2"
    items, _ = load(talk)
    assert len(items) == 4


def test_claude_gives_both_sides_in_order(load: Any) -> None:
    """Text blocks come;
    thinking, tool calls and empty messages do not; a file's name is the caption.
    """
    items, bad = load(claude())
    assert not bad
    assert [(i.turn.role, i.turn.text, i.turn.external_id, i.conversation) for i in items] == [
        ("user", "I like tea", "m1", "c-1"),
        ("assistant", "Noted.", "m2", "c-1"),
    ]
    assert items[0].turn.caption == "tea.png"
    assert items[0].turn.at == datetime(2025, 1, 2, 10, 0, 1, tzinfo=UTC)


def test_claude_follows_the_named_leaf(load: Any) -> None:
    """Where the export names the leaf of the current branch, other branches stay out."""
    talk = claude()
    messages = talk[0]["chat_messages"]
    messages[1]["parent_message_uuid"] = "m1"
    messages.insert(
        1, {**messages[1], "uuid": "other", "content": [{"type": "text", "text": "abandoned"}]}
    )
    talk[0]["current_leaf_message_uuid"] = "m2"
    items, _ = load(talk)
    assert [i.turn.text for i in items] == ["I like tea", "Noted."]


@pytest.mark.parametrize(
    ("talk", "name"), [(chatgpt(), "conversations.json"), (claude(), "data-1/conversations.json")]
)
def test_zip_is_read_without_unpacking(save: Any, talk: Any, name: str) -> None:
    """A zip as it is downloaded is recognised by its contents, from a file and from a pipe."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("user.json", "{}")
        archive.writestr(name, json.dumps(talk))
    plain = list(formats.read(save(talk, "plain")))
    assert list(formats.read(save(buffer.getvalue(), "data.bin"))) == plain
    assert list(formats.read(io.BytesIO(buffer.getvalue()))) == plain
    pipe = io.BytesIO(buffer.getvalue())
    pipe.seekable = lambda: False  # type: ignore[method-assign]
    assert list(formats.read(pipe)) == plain


def test_zip_without_conversations_says_so(save: Any) -> None:
    """A zip of something else, a damaged one and a locked one are errors with a hint, not garbage."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(InputError, match="contains no conversations"):
        list(formats.read(save(buffer.getvalue())))
    with pytest.raises(InputError, match="cannot be read"):
        list(formats.read(save(b"PK\x03\x04" + b"\0" * 100)))


def test_one_broken_conversation_costs_only_itself(load: Any) -> None:
    """Conversations of the wrong shape become Bad; the ones beside them are read."""
    talk = [
        *chatgpt(),
        {"mapping": 3},
        "text",
        {"mapping": {"x": 1, "y": {"message": {"author": 7}}}},
    ]
    items, bad = load(talk)
    assert len(items) == 4
    assert len(bad) == 2
    items, bad = load(
        [
            *claude(),
            {"chat_messages": "no"},
            {"chat_messages": [3, {"sender": "human", "text": "hi", "created_at": "soon"}]},
        ]
    )
    assert len(items) == 2
    assert len(bad) == 3


def test_truncated_export_gives_what_is_there(load: Any) -> None:
    """An export that was cut off gives its whole conversations and says where it ends."""
    text = json.dumps([*chatgpt(), {**chatgpt()[0], "conversation_id": "talk-2"}], indent=1)
    items, bad = load(text[:-200])
    assert {i.conversation for i in items} == {"talk-1"}
    assert len(bad) == 1
    assert bad[0].line > 10
