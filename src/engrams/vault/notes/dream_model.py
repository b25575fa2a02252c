"""Let the chat model choose the items of MEMORY.md."""

from __future__ import annotations

from dataclasses import dataclass

from engrams import prompts
from engrams.core import content_hash
from engrams.errors import ModelError
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.text.word_support import find_unsupported
from engrams.vault.notes import memory_md
from engrams.vault.notes.memory_md import MemoryFileItem
from engrams.vault.notes.text_chunks import estimate_tokens

_SHOWN_CHARS = 60_000
"""Last characters of MEMORY.md, and of the notes, that the model is shown."""
_MAX_ANSWER_TOKENS = 8000
_SCHEMA = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"topic": {"type": "string"}, "text": {"type": "string"}},
                "required": ["topic", "text"],
            },
        },
        "diary": {"type": "string"},
    },
}


@dataclass(frozen=True, slots=True)
class DreamAnswer:
    """A model's choice of items."""

    items: tuple[MemoryFileItem, ...]
    diary: str
    """The model's words on what it did."""
    refused: tuple[str, ...] = ()
    """Texts of items that neither MEMORY.md nor the notes support."""


def ask_for_items(chat: ChatModel, memory: str, notes: str, max_items: int) -> DreamAnswer:
    """Ask for the new items of MEMORY.md. ModelError: the answer has none, or is cut off.

    Corrections and blocks stay, whatever the model says. So do all old items if it invented one: it may have
    put that in the place of any of them.
    """
    old_items = memory_md.parse(memory)
    prompt = prompts.load("dream").render(
        memory=prompts.quote(memory[-_SHOWN_CHARS:]),
        notes=prompts.quote(notes[-_SHOWN_CHARS:]),
        limit=str(max_items),
    )
    expected_tokens = 500 + estimate_tokens(memory) * 2 + estimate_tokens(notes)
    answer = chat.ask(
        ChatRequest(
            (ChatMessage("user", prompt),),
            "dream",
            _SCHEMA,
            max_tokens=min(_MAX_ANSWER_TOKENS, expected_tokens),
        )
    )
    if answer.cut:
        # What the answer does not reach would be dropped from MEMORY.md.
        raise ModelError(
            "The model's answer was cut off before the end of MEMORY.md.",
            hint="MEMORY.md stays unchanged. Choose a model that can give longer answers, or lower"
            " `vault.memory_items`.",
        )
    data = answer.data if isinstance(answer.data, dict) else {}
    rows = [row for row in data.get("items") or () if isinstance(row, dict)]
    items = [
        MemoryFileItem(str(row["topic"]), text)
        for row in rows
        if (text := " ".join(str(row["text"]).split()))
    ]
    refused = find_unsupported([item.text for item in items], f"{memory}\n{notes}")
    items = [item for item in items if item.text not in refused]
    if not items and (old_items or refused or "items" not in data):
        raise ModelError(
            "The model gave no items for MEMORY.md.",
            hint="It stays unchanged, and the next dream reads the same notes.",
        )
    hashes = {content_hash(item.text) for item in items}
    kept_items = [
        item
        for item in old_items
        if (refused or item.is_correction or item.form == "block")
        and content_hash(item.text) not in hashes
    ]
    items = [*kept_items, *items]
    tidied = memory_md.tidy(items, (), (), {}, max_items)
    return DreamAnswer(tidied.items, str(data.get("diary") or "").strip(), refused)
