"""Labels of topics: a chat model's name, the words that members share, or how the first begins."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence

from engrams import prompts
from engrams.core import Kind, Record
from engrams.errors import EngramsError
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.text.stopwords import STOP
from engrams.text.terms import is_unspaced, terms

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
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
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
    """Return the label if members say it, else the first member's.

    A member that it quotes may have been forgotten or edited since.
    """
    texts = [label_by_text(record) for record in members]
    tags = {tag for record in members for tag in record.tags}
    is_said = label in texts or label in tags or label == label_by_words(texts)
    return label if is_said else texts[0]


def label_by_words(texts: Sequence[str]) -> str:
    """Label a group by 2 to 4 words of its first text, those that most members share first.

    Empty where the first text has fewer words of content, or none that another one shares.
    """
    counts = Counter(term for text in texts for term in set(terms(text)))
    words: dict[str, str] = {}
    for word in _WORD.findall(texts[0]):
        word_terms = () if word.lower() in STOP or is_unspaced(word) else terms(word)
        if len(word_terms) == 1:
            words.setdefault(word_terms[0], word)
    shared = [term for term in words if counts[term] > 1]
    by_members = sorted(words, key=lambda term: -counts[term])
    chosen = set(by_members[: max(_MIN_WORDS, min(len(shared), _MAX_WORDS))])
    if not shared or len(chosen) < _MIN_WORDS:
        return ""
    return " ".join(word for term, word in words.items() if term in chosen)[:_MAX_NAME]


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
