"""Parse, render and tidy the items of MEMORY.md.

``tidy`` chooses the items by rules; ``compare`` reports what a model chose instead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engrams.core import content_hash
from engrams.text.comparison.statement_comparison import differ_in_detail
from engrams.text.terms import terms

CORRECTIONS = "Corrections"
TITLE = "# Memory"
_CORRECTION_TOPICS = ("correction", "corrections", "corrected")
_ALIKE = 0.85
"""Share of common words (Jaccard) from which two items say the same."""
_TOPIC_ALIKE = 0.2
"""Share of common words from which an item gets the topic of another one."""
_TOPIC_ITEMS = 240
"""Newest items among which one with a near topic is looked for."""


@dataclass(frozen=True, slots=True)
class MemoryFileItem:
    """One item of MEMORY.md."""

    topic: str
    text: str
    fresh: bool = False
    """It comes from a daily note."""

    @property
    def is_correction(self) -> bool:
        return self.topic.casefold() in _CORRECTION_TOPICS


_KeptItem: TypeAlias = tuple[MemoryFileItem, frozenset[str]]
"""An item that stays, and its words."""


@dataclass(frozen=True, slots=True)
class MemoryItemTidyResult:
    """Items that stay, and those that came and went."""

    items: tuple[MemoryFileItem, ...]
    dropped: tuple[tuple[str, str], ...] = ()
    """Text and reason of each item that went."""
    added: tuple[str, ...] = ()
    """Texts of the items that came."""


def parse(text: str, fresh: bool = False) -> tuple[MemoryFileItem, ...]:
    """Parse a Markdown list's items, indented lines included, under their headings.

    ``fresh``: it is a daily note. Its headings are no topics, and only its lists are items.
    """
    topic = ""
    items: list[MemoryFileItem] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            topic = "" if line.startswith("# ") else stripped.lstrip("#").strip()
        elif stripped.startswith(("- ", "* ", "+ ")):
            items.append(MemoryFileItem("" if fresh else topic, stripped[2:].strip(), fresh))
        elif stripped and line[:1] in (" ", "\t") and items:
            last = items.pop()
            items.append(MemoryFileItem(last.topic, f"{last.text} {stripped}", fresh))
        elif stripped and not fresh and not stripped.startswith("<!--"):
            items.append(MemoryFileItem(topic, stripped))
    return tuple(item for item in items if item.text)


def render(items: Sequence[MemoryFileItem]) -> str:
    """Render a MEMORY.md: corrections first, then topics by first item."""
    topics: dict[str, list[str]] = {}
    for item in sorted(items, key=lambda item: not item.is_correction):
        topic = CORRECTIONS if item.is_correction else item.topic or "General"
        topics.setdefault(topic, []).append(f"- {item.text}")
    sections = [f"## {topic}\n\n" + "\n".join(lines) for topic, lines in topics.items()]
    return "\n\n".join([TITLE, *sections]) + "\n"


def tidy(
    old_items: Sequence[MemoryFileItem],
    new_items: Sequence[MemoryFileItem],
    gone_hashes: Collection[str],
    topics: Mapping[str, str],
    max_items: int,
) -> MemoryItemTidyResult:
    """Tidy items by rules: drop the outdated, merge the repeated.

    Repeated items are kept once, in the longer form; new items take the topic of the item that they
    resemble. Of more than ``max_items``, every correction stays, then the newest.
    ``gone_hashes``: hashes of texts that no longer hold. ``topics``: topics of known statements,
    by hash.
    """
    kept_items: list[_KeptItem] = []
    dropped: list[tuple[str, str]] = []
    added: list[str] = []
    for item in (*old_items, *new_items):
        item_hash = content_hash(item.text)
        if item_hash in gone_hashes and not item.is_correction:
            dropped.append((item.text, "no longer so"))
            continue
        words = frozenset(terms(item.text))
        twin_index = _find_twin(item, words, kept_items)
        if twin_index is None:
            topic = (
                item.topic or topics.get(item_hash, "") or _find_nearest_topic(words, kept_items)
            )
            kept_items.append((MemoryFileItem(topic, item.text, item.fresh), words))
            if item.fresh:
                added.append(item.text)
        else:
            twin, _ = kept_items[twin_index]
            longer = twin
            shorter = item
            if len(item.text) > len(twin.text) and not twin.is_correction:
                longer = item
                shorter = twin
            dropped.append((shorter.text, "said twice"))
            merged = MemoryFileItem(twin.topic or item.topic, longer.text, twin.fresh)
            kept_items[twin_index] = (merged, frozenset(terms(longer.text)))
    items = _drop_oldest([item for item, _ in kept_items], max_items, dropped)
    return _build_tidy_result(items, dropped, added)


def compare(
    old_items: Sequence[MemoryFileItem],
    items: Sequence[MemoryFileItem],
    gone_hashes: Collection[str],
) -> MemoryItemTidyResult:
    """Compare a model's items with those before: report which came in, which went.

    ``gone_hashes``: hashes of texts that no longer hold.
    """
    before = {content_hash(item.text): item.text for item in old_items}
    after = {content_hash(item.text): item.text for item in items}
    return MemoryItemTidyResult(
        tuple(items),
        dropped=tuple(
            (text, "no longer so" if text_hash in gone_hashes else "by the model")
            for text_hash, text in before.items()
            if text_hash not in after
        ),
        added=tuple(text for text_hash, text in after.items() if text_hash not in before),
    )


def _drop_oldest(
    items: list[MemoryFileItem], max_items: int, dropped: list[tuple[str, str]]
) -> list[MemoryFileItem]:
    """Drop the oldest of too many items; corrections stay."""
    if len(items) <= max_items:
        return items
    corrections = [item for item in items if item.is_correction]
    plain_items = [item for item in items if not item.is_correction]
    excess = len(plain_items) - max(0, max_items - len(corrections))
    dropped += [(item.text, "no room") for item in plain_items[:excess]]
    return [*corrections[-max_items:], *plain_items[excess:]]


def _build_tidy_result(
    items: Sequence[MemoryFileItem], dropped: Sequence[tuple[str, str]], added: Sequence[str]
) -> MemoryItemTidyResult:
    """Build the result. An item that was dropped and whose text remains is not reported."""
    staying = {content_hash(item.text) for item in items}
    reported = {
        content_hash(text): (text, reason)
        for text, reason in dropped
        if content_hash(text) not in staying
    }
    texts = {item.text for item in items}
    return MemoryItemTidyResult(
        tuple(items), tuple(reported.values()), tuple(text for text in added if text in texts)
    )


def _find_twin(
    item: MemoryFileItem, words: frozenset[str], kept_items: Sequence[_KeptItem]
) -> int | None:
    """Find the index of an item that says the same."""
    for index, (kept_item, kept_words) in enumerate(kept_items):
        if content_hash(item.text) == content_hash(kept_item.text):
            return index
        if (
            words
            and kept_words
            and _measure_overlap(words, kept_words) >= _ALIKE
            and not differ_in_detail(item.text, kept_item.text)
        ):
            return index
    return None


def _find_nearest_topic(words: frozenset[str], kept_items: Sequence[_KeptItem]) -> str:
    """Find the topic of the item with most words in common; empty: none has enough."""
    best_overlap = _TOPIC_ALIKE
    topic = ""
    for item, item_words in kept_items[-_TOPIC_ITEMS:]:
        if item.topic and not item.is_correction and words and item_words:
            overlap = _measure_overlap(words, item_words)
            if overlap > best_overlap:
                best_overlap = overlap
                topic = item.topic
    return topic


def _measure_overlap(words: frozenset[str], other_words: frozenset[str]) -> float:
    return len(words & other_words) / len(words | other_words)
