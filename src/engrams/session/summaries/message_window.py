"""Token window over prompt messages: counting, cutting, trimming. Pure.

A message is a mapping as chat APIs have it: ``id``, ``role``, ``content`` (text, or parts with
``text``), ``tool_calls`` (each with an ``id``) and ``tool_call_id``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from engrams.errors import InputError
from engrams.ports import TokenCounter

Message: TypeAlias = Mapping[str, Any]

_SYSTEM = frozenset({"system", "developer"})
_MESSAGE_TOKENS = 4
"""Tokens of a message besides its text: role and markup."""
_ELLIPSIS = "…"


def check_ids(messages: Sequence[Message]) -> None:
    """Raise InputError (a ValueError) for missing or duplicate message ids."""
    seen_ids: set[str] = set()
    for index, message in enumerate(messages):
        message_id = message.get("id")
        if not isinstance(message_id, str) or not message_id:
            raise InputError(
                f"Message {index} has no id.",
                hint="Give every message an `id` that stays the same.",
            )
        if message_id in seen_ids:
            raise InputError(
                f"Two messages have the id {message_id!r}.",
                hint="Give every message an `id` of its own.",
            )
        seen_ids.add(message_id)


def split_lead(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Split off the leading system messages, which are never summarised."""
    end = next(
        (index for index, message in enumerate(messages) if message.get("role") not in _SYSTEM),
        len(messages),
    )
    return tuple(messages[:end]), tuple(messages[end:])


def text_of(message: Message) -> str:
    """Return the message's text; text parts are joined, others ignored."""
    content = message.get("content")
    if isinstance(content, list | tuple):
        return "\n".join(
            str(part.get("text") or "")
            for part in content
            if isinstance(part, Mapping) and part.get("text")
        )
    return content if isinstance(content, str) else ""


def count_tokens(messages: Sequence[Message], counter: TokenCounter) -> int:
    """Count tokens of messages, tool calls included."""
    return sum(
        _MESSAGE_TOKENS + counter.count(text_of(message)) + counter.count(_encode_calls(message))
        for message in messages
    )


def find_cut(messages: Sequence[Message], room: int, counter: TokenCounter) -> int:
    """Find the index from which the newest messages fit ``room`` tokens.

    The last message is always included. A call and its results are never separated: they go to the
    older side, or to the newer one where nothing would be left of it.
    """
    cut = len(messages)
    cost = 0
    while cut > 0:
        cost += count_tokens(messages[cut - 1 : cut], counter)
        if cost > room:
            break
        cut -= 1
    cut = min(cut, max(len(messages) - 1, 0))
    later_cut = _move_forward(messages, cut)
    return later_cut if later_cut < len(messages) else _move_backward(messages, cut)


def trim_messages(
    messages: Sequence[Message], room: int, counter: TokenCounter, characters: int
) -> tuple[list[Message], list[Message]]:
    """Trim messages to ``room`` tokens; returns remaining and dropped, in order.

    Tool results are cut to ``characters``; then the oldest half of the turns is dropped, again
    while that is too much; in a last turn that is too long, the longest texts are shortened, if
    there is any room for it. A turn begins with a user message.
    """
    remaining: list[Message] = [
        _shorten(message, characters) if message.get("role") == "tool" else message
        for message in messages
    ]
    dropped: list[Message] = []
    while count_tokens(remaining, counter) > room:
        turns = _split_turns(remaining)
        if len(turns) <= 1:
            break
        oldest = [message for turn in turns[: (len(turns) + 1) // 2] for message in turn]
        dropped += oldest
        remaining = remaining[len(oldest) :]
    while count_tokens(remaining, counter) > room > 0:
        longest = max(
            range(len(remaining)), key=lambda index: len(text_of(remaining[index])), default=-1
        )
        if longest < 0 or len(text_of(remaining[longest])) <= 1:
            break
        remaining[longest] = _shorten(remaining[longest], len(text_of(remaining[longest])) // 2)
    return remaining, dropped


def keep_end(text: str, room: int, counter: TokenCounter) -> str:
    """Return the end of a text, at most ``room`` tokens."""
    if counter.count(text) <= room:
        return text
    # Tokens do not add up over a cut, so the longest end that fits is searched by halving.
    fitting = 0
    longest = len(text)
    while fitting < longest:
        middle = (fitting + longest + 1) // 2
        if counter.count(text[len(text) - middle :]) <= room:
            fitting = middle
        else:
            longest = middle - 1
    return text[len(text) - fitting :]


def keep_start(text: str, room: int, counter: TokenCounter) -> str:
    """Return the beginning of a text, at most ``room`` tokens."""
    return keep_end(text[::-1], room, _ReversedCounter(counter))[::-1]


class _ReversedCounter:
    """Counter of texts that were reversed, so that `keep_end` keeps a beginning."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._counter = counter

    def count(self, text: str) -> int:
        return self._counter.count(text[::-1])


def _encode_calls(message: Message) -> str:
    calls = message.get("tool_calls")
    return json.dumps(calls, ensure_ascii=False, default=str) if calls else ""


def _call_ids(messages: Sequence[Message]) -> set[str]:
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return {str(call.get("id")) for call in calls if isinstance(call, Mapping)}


def _move_forward(messages: Sequence[Message], cut: int) -> int:
    """Move the index behind the last result of any earlier call."""
    while True:
        calls = _call_ids(messages[:cut])
        behind_results = max(
            (
                index + 1
                for index in range(cut, len(messages))
                if str(messages[index].get("tool_call_id", "")) in calls
            ),
            default=cut,
        )
        if behind_results == cut:
            return cut
        # The messages that were passed over may hold calls themselves.
        cut = behind_results


def _move_backward(messages: Sequence[Message], cut: int) -> int:
    """Move the index before the first call with a later result."""
    while True:
        result_ids = {
            str(message.get("tool_call_id"))
            for message in messages[cut:]
            if message.get("tool_call_id")
        }
        first_call = min(
            (index for index in range(cut) if _call_ids(messages[index : index + 1]) & result_ids),
            default=cut,
        )
        if first_call == cut:
            return cut
        cut = first_call


def _split_turns(messages: Sequence[Message]) -> list[list[Message]]:
    groups: list[list[Message]] = []
    for message in messages:
        if message.get("role") == "user" or not groups:
            groups.append([])
        groups[-1].append(message)
    return groups


def _shorten(message: Message, characters: int) -> Message:
    text = text_of(message)
    if len(text) <= characters:
        return message
    return {**message, "content": text[: max(characters - 1, 0)] + _ELLIPSIS}
