"""Telegram Desktop's export: ``result.json`` of one chat, or of an account with all its chats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from engrams.core import NAMES_OF_OWNERS, Json, Kind, Turn
from engrams.text.normalize import fold
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import ForeignObject, convert
from engrams.transfer.formats.foreign_values import clean_label, derive_id, scope_label
from engrams.transfer.formats.json_stream import MemberPiece
from engrams.transfer.formats.pieces import ForeignPiece, ParsedTurn, UnreadablePiece

MESSAGE_LISTS = ("messages", "chats.list.messages", "left_chats.list.messages")
"""Lists of messages: of a single chat, and of the chats of an account."""
_MESSAGE_KEYS = {"id", "type", "date"}
_UNSUPPORTED_KEYS = frozenset({"id", "type"})
"""Keys of a message of a kind that the exporting program did not know."""
_AUTHOR_KEYS = ("from_id", "actor_id", "date_unixtime")
_ACCOUNT_PARTS = ("personal_information", "contacts", "chats", "left_chats")
_CHAT_FIELDS = ("name", "type", "id")
_PAIRS = frozenset({"personal_chat", "bot_chat"})
"""Types of chats with one other party, whose id is that of the chat."""
_PEER_OF_TYPE = {
    "personal_chat": "user",
    "bot_chat": "user",
    "saved_messages": "user",
    "replies": "user",
    "private_group": "group",
}
"""Kind of number that the id of a chat is; of all other types: a channel's."""


def recognises(head: FileHead) -> bool:
    """Recognise a chat by its messages, an account by its parts."""
    shape = head.shape
    is_account = "about" in shape.keys and any(map(shape.has_object, _ACCOUNT_PARTS))
    is_unsupported = shape.rows.get("messages") == _UNSUPPORTED_KEYS
    return (
        is_account
        or is_unsupported
        or shape.has_rows(*({*_MESSAGE_KEYS, key} for key in _AUTHOR_KEYS), lists=("messages",))
    )


def read(members: Iterable[MemberPiece]) -> Iterator[ForeignPiece]:
    """Yield the messages of people and bots; notices such as "joined the group" are left out."""
    chat = _Chat()
    account_id = ""
    has_chats = False
    for member in members:
        if isinstance(member, UnreadablePiece):
            yield member
            continue
        if member.path in MESSAGE_LISTS:
            has_chats = True
            yield from convert(member.line, member.value, chat.parse_message, "A message")
            continue
        parent, _, name = member.path.rpartition(".")
        if f"{parent}.messages".lstrip(".") in MESSAGE_LISTS and name in _CHAT_FIELDS:
            has_chats = True
            chat.fields[name] = clean_label(member.value)
        elif f"{member.path}.messages".lstrip(".") in MESSAGE_LISTS and member.value is None:
            chat = _Chat(account_id)
        elif member.path == "personal_information" and isinstance(member.value, dict):
            account_id = clean_label(member.value.get("user_id"))
    if not has_chats:
        yield UnreadablePiece(1, "A chat with messages was expected.")


@dataclass(slots=True)
class _Chat:
    """Chat whose messages are being read."""

    account_id: str = ""
    """Id of the exporting user. Empty: unknown, as in the export of a single chat."""
    fields: dict[str, str] = field(default_factory=dict)
    """Name, type and id, which stand before the messages; what is no text or number is empty."""

    def parse_message(self, message: ForeignObject) -> ParsedTurn | None:
        """Convert a message; None for a notice, and for one without words."""
        if message.label("type") != "message":
            return None
        text = _join_text(message.data.get("text"))
        caption = _describe_attachment(message)
        message_id = message.label("id")
        if not (text or caption):
            return None
        if not message_id:
            raise ValueError("it has no id")
        peer = self._name_peer()
        session = scope_label(f"telegram-{peer}")
        title = self.fields.get("name")
        is_forwarded = "forwarded_from" in message.data
        is_own = self._is_own(message)
        is_bot = self.fields.get("type") == "bot_chat" and not is_own
        meta: dict[str, Any] = {"title": title} if title else {}
        if is_forwarded:
            meta["forwarded_by"] = "user" if is_own else _name_author(message, "from", "from_id")
        turn = Turn(
            text=text or caption,
            role="assistant" if is_bot else "user",
            speaker=self._name_speaker(message, is_own=is_own, is_forwarded=is_forwarded),
            at=message.moment("date_unixtime", "date"),
            session=session,
            external_id=derive_id("telegram", peer, message_id),
            caption=caption if text else "",
            meta=meta,
        )
        # Its sender did not say what a forwarded text says: nothing of the user is learned from it.
        return ParsedTurn(turn, session, kind=Kind.NOTE if is_forwarded else Kind.TURN)

    def _name_peer(self) -> str:
        """Return kind and number of the chat: users, groups and channels have the same numbers."""
        peer = _PEER_OF_TYPE.get(self.fields.get("type", ""), "channel")
        return f"{peer}{self.fields.get('id', '')}"

    def _is_own(self, message: ForeignObject) -> bool:
        """Check that the exporting user sent a message; False where that is not certain."""
        sender = message.label("from_id")
        if not sender.startswith("user"):  # a channel, or a number of an export before 2021
            return False
        if self.account_id:
            return sender == f"user{self.account_id}"
        peer = self._name_peer()
        is_saved = self.fields.get("type") == "saved_messages"
        is_pair = self.fields.get("type") in _PAIRS and peer != "user"
        return is_saved or (is_pair and sender != peer)

    def _name_speaker(self, message: ForeignObject, *, is_own: bool, is_forwarded: bool) -> str:
        if is_forwarded:
            return _name_author(message, "forwarded_from", "forwarded_from_id") or "unknown"
        return "" if is_own else _name_author(message, "from", "from_id") or "unknown"


def _name_author(message: ForeignObject, name_field: str, id_field: str) -> str:
    """Return an author's name; the id of a deleted account, and of one with a misleading name."""
    name = message.label(name_field)
    if name and fold(name) not in NAMES_OF_OWNERS:
        return name
    return message.label(id_field)


def _join_text(text: Json) -> str:
    """Join a text's parts: plain ones, and objects for links, names and formatted words."""
    parts = text if isinstance(text, list) else [text]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(part for part in texts if isinstance(part, str)).strip("\0 \t\r\n")


def _describe_attachment(message: ForeignObject) -> str:
    """Return the name of an attached file or the question of a poll."""
    poll = message.inner("poll")
    return message.label("file_name") or (poll.label("question") if poll else "")
