"""Labels of topics: how their first member begins, or a name that a chat model gives."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from engrams import prompts
from engrams.core import Kind, Record
from engrams.errors import EngramsError
from engrams.ports import ChatMessage, ChatModel, ChatRequest

LABEL_CHARACTERS = 80
"""Characters of the first member's text that name a topic."""

_MIN_WORDS = 2
_MAX_WORDS = 4
_MAX_NAME = 60
"""Words and characters of a model's name."""
_TEXTS_SHOWN = 6
_TEXT_CHARACTERS = 160
"""Texts of a group, and characters of each, that the model sees."""
_GROUPS_PER_PROMPT = 20
_SCHEMA = {
    "type": "object",
    "properties": {
        "names": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
                "required": ["id", "name"],
            },
        }
    },
    "required": ["names"],
}
_log = logging.getLogger(__name__)


def first_characters(text: str) -> str:
    """Return the first 80 characters, on one line."""
    return " ".join(text.split())[:LABEL_CHARACTERS].rstrip()


def label_by_text(record: Record) -> str:
    """Label a topic by its first member.

    An exchange gives the user's text.
    """
    if record.kind is Kind.EXCHANGE and record.role != "assistant" and record.evidence:
        return first_characters(record.evidence[0].quote)
    return first_characters(record.text)


def update_label(label: str, members: Sequence[Record]) -> str:
    """Return the label if a member says it, else the first member's.

    The member it quotes may have been forgotten or edited since.
    """
    texts = [label_by_text(record) for record in members]
    tags = {tag for record in members for tag in record.tags}
    return label if label in texts or label in tags else texts[0]


def name_groups(groups: Sequence[Sequence[str]], chat: ChatModel) -> list[str]:
    """Ask for names of 2 to 4 words, one per group of texts.

    Empty where the model failed or gave no usable name.
    """
    names: list[str] = []
    for start in range(0, len(groups), _GROUPS_PER_PROMPT):
        batch = groups[start : start + _GROUPS_PER_PROMPT]
        try:
            names += _ask_names(batch, chat)
        except EngramsError as problem:
            _log.warning("topics keep their old names: %s", problem.message)
            names += [""] * len(batch)
    return names


def _ask_names(groups: Sequence[Sequence[str]], chat: ChatModel) -> list[str]:
    listed = "\n".join(
        f"{number}. "
        + " / ".join(prompts.quote(text[:_TEXT_CHARACTERS]) for text in texts[:_TEXTS_SHOWN])
        for number, texts in enumerate(groups, 1)
    )
    prompt = prompts.load("label").render(groups=listed)
    answer = chat.ask(ChatRequest((ChatMessage("user", prompt),), purpose="label", schema=_SCHEMA))
    names = [""] * len(groups)
    for item in answer.data["names"]:
        name = " ".join(str(item["name"]).split()).strip(" .\"'")
        is_usable = _MIN_WORDS <= len(name.split()) <= _MAX_WORDS and len(name) <= _MAX_NAME
        if is_usable and 1 <= item["id"] <= len(groups):
            names[item["id"] - 1] = name
    return names
