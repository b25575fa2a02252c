"""Topic names, and tags shared by members."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence

from engrams import prompts
from engrams.core import Kind, Record
from engrams.errors import EngramsError
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP

FIRST = 80
"""Characters of the first member's text that name a topic."""

_LEAST = 2
_MOST = 4
_LONGEST = 60
_SHOWN = 6
_CUT = 160
_AT_ONCE = 20
_SHORTEST = 4
_WIDEST = 32
_WORD = re.compile(r"[^\W\d_]+")
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
    return " ".join(text.split())[:FIRST].rstrip()


def label_by_text(record: Record) -> str:
    """Label a topic by its first member.

    An exchange gives the user's text.
    """
    said = record.kind is Kind.EXCHANGE and record.role != "assistant" and record.evidence
    return first_characters(record.evidence[0].quote if said else record.text)


def find_common_tag(records: Sequence[Record]) -> str:
    """Return the most frequent tag of at least two records; else empty."""
    counts = Counter(tag for record in records for tag in set(record.tags))
    best = min(counts, key=lambda tag: (-counts[tag], tag), default="")
    return best if best and counts[best] > 1 else ""


def update_label(label: str, members: Sequence[Record]) -> str:
    """Return the label if a member says it, else the first member's.

    The member it quotes may have been forgotten or edited since.
    """
    texts = [label_by_text(record) for record in members]
    tags = {tag for record in members for tag in record.tags}
    return label if label in texts or label in tags else texts[0]


def infer_tag(texts: Sequence[str]) -> str:
    """Return the most frequent word of at least half the texts.

    It stands in two texts at least, has 4 to 32 letters and is no stop word; empty: there is none.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(find_tag_words(text))
    best = min(counts, key=lambda word: (-counts[word], -len(word), word), default="")
    return best if best and counts[best] >= max(2, len(texts) / 2) else ""


def find_tag_words(text: str) -> set[str]:
    """Find possible tags: folded words of 4 to 32 letters."""
    return {
        word
        for word in _WORD.findall(fold(text))
        if _SHORTEST <= len(word) <= _WIDEST and word not in STOP
    }


def name_groups(groups: Sequence[Sequence[str]], chat: ChatModel) -> list[str]:
    """Ask for names of 2 to 4 words, one per group.

    Empty where the model failed or gave no usable name.
    """
    names: list[str] = []
    for start in range(0, len(groups), _AT_ONCE):
        some = groups[start : start + _AT_ONCE]
        try:
            names += _ask_names(some, chat)
        except EngramsError as problem:
            _log.warning("topics keep their old names: %s", problem.message)
            names += [""] * len(some)
    return names


def _ask_names(groups: Sequence[Sequence[str]], chat: ChatModel) -> list[str]:
    listed = "\n".join(
        f"{n}. " + " / ".join(prompts.quote(text[:_CUT]) for text in texts[:_SHOWN])
        for n, texts in enumerate(groups, 1)
    )
    text = prompts.load("label").render(groups=listed)
    answer = chat.ask(ChatRequest((ChatMessage("user", text),), purpose="label", schema=_SCHEMA))
    names = [""] * len(groups)
    for item in answer.data["names"]:
        name = " ".join(str(item["name"]).split()).strip(" .\"'")
        if (
            1 <= item["id"] <= len(groups)
            and _LEAST <= len(name.split()) <= _MOST
            and len(name) <= _LONGEST
        ):
            names[item["id"] - 1] = name
    return names
