"""Parse, render and tidy the items of MEMORY.md.

What people wrote in another form than a list stays in that form: front matter, title, paragraphs,
tables, code, quotations, numbered and nested lists. ``tidy`` chooses the items by rules; ``compare`` reports what a model chose instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from engrams.core import content_hash
from engrams.text.comparison.statement_comparison import differ_in_detail
from engrams.text.terms import terms
from engrams.vault.files import front_matter
from engrams.vault.files.front_matter import FrontMatterError

CORRECTIONS = "Corrections"
GENERAL = "General"
TITLE = "# Memory"
_CORRECTION_TOPICS = ("correction", "corrections", "corrected")
_ALIKE = 0.85
"""Share of common words (Jaccard) from which two items say the same."""
_TOPIC_ALIKE = 0.2
"""Share of common words from which an item gets the topic of another one."""
_TOPIC_ITEMS = 240
"""Newest items among which one with a near topic is looked for."""


_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r"```|~~~")
_NUMBERED = re.compile(r"\d{1,3}[.)]\s")
_BULLETS = ("- ", "* ", "+ ")
_MARKS = " \t-*+>|"
"""Characters around the words of a line of a block."""


@dataclass(frozen=True, slots=True)
class MemoryFileItem:
    """One item of MEMORY.md."""

    topic: str
    text: str
    fresh: bool = False
    """It comes from a daily note."""
    form: Literal["line", "paragraph", "block"] = "line"
    """Form in the file: a line of a list, a paragraph, or anything else, such as a table."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Its lines without the marks around them."""
        if self.form == "line":
            return (self.text,)
        return tuple(line.strip(_MARKS) for line in self.text.splitlines())

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


def split_head(text: str) -> tuple[str, str]:
    """Split a MEMORY.md into its head, which is front matter and title, and its items."""
    front: str | None = None
    body = text
    with suppress(FrontMatterError):  # A line of dashes is no front matter.
        front, body = front_matter.split(text)
    title, _, following = body.lstrip("\n").partition("\n")
    if not title.startswith("# "):
        title = TITLE
        following = body
    head = title if front is None else f"---\n{front}---\n\n{title}"
    return head, following


def parse_note(text: str) -> tuple[MemoryFileItem, ...]:
    """Parse the lists of daily notes, indented lines included; their headings are no topics."""
    items: list[MemoryFileItem] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(_BULLETS):
            items.append(MemoryFileItem("", stripped[2:].strip(), fresh=True))
        elif _is_indented(line) and items and not _HEADING.match(stripped):
            last = items.pop()
            items.append(replace(last, text=f"{last.text} {stripped}"))
    return tuple(item for item in items if item.text)


def parse(text: str) -> tuple[MemoryFileItem, ...]:
    """Parse the items of a MEMORY.md under their headings."""
    _, body = split_head(text)
    lines = body.splitlines()
    topic = ""
    items: list[MemoryFileItem] = []
    start = 0
    while start < len(lines):
        stripped = lines[start].strip()
        end = start + 1
        if _HEADING.match(stripped):
            topic = "" if stripped.startswith("# ") else stripped.lstrip("#").strip()
        elif stripped:
            end = _find_end(lines, start)
            items.append(_read_item(topic, lines[start:end]))
        start = end
    return tuple(item for item in items if item.text)


def _read_item(topic: str, lines: Sequence[str]) -> MemoryFileItem:
    """Read the lines of one item."""
    first_line = lines[0].strip()
    continuation = [line.strip() for line in lines[1:]]
    if first_line.startswith(_BULLETS) and not any(map(_opens_list, continuation)):
        return MemoryFileItem(topic, " ".join([first_line[2:].strip(), *continuation]).strip())
    is_paragraph = _find_other_end(lines, 0) is None and not first_line.startswith(_BULLETS)
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return MemoryFileItem(topic, text, form="paragraph" if is_paragraph else "block")


def _find_end(lines: Sequence[str], start: int) -> int:
    """Find where the item ends that begins in a line."""
    end = _find_other_end(lines, start)
    if end is not None:
        return end
    if lines[start].strip().startswith(_BULLETS):
        return _skip(lines, start + 1, _is_indented)
    return _skip(lines, start + 1, lambda line: not _opens_item(line))


def _find_other_end(lines: Sequence[str], start: int) -> int | None:
    """Find where a block ends; None: no table, code, comment, quotation or numbered list begins."""
    stripped = lines[start].strip()
    if _FENCE.match(stripped):
        mark = stripped[:3]
        return _skip(lines, start + 1, lambda line: not line.strip().startswith(mark)) + 1
    if stripped.startswith("<!--"):
        return start + 1 + _skip([stripped, *lines[start + 1 :]], 0, lambda line: "-->" not in line)
    if stripped.startswith(("|", ">")):
        return _skip(lines, start + 1, lambda line: line.strip().startswith(stripped[0]))
    if _NUMBERED.match(stripped):
        return _skip(
            lines, start + 1, lambda line: _is_indented(line) or bool(_NUMBERED.match(line))
        )
    return None


def _skip(lines: Sequence[str], start: int, goes_on: Callable[[str], bool]) -> int:
    """Return the first place from ``start`` on where an item does not go on."""
    return next(
        (index for index in range(start, len(lines)) if not goes_on(lines[index])), len(lines)
    )


def _is_indented(line: str) -> bool:
    return bool(line.strip()) and line[0] in " \t"


def _opens_list(stripped: str) -> bool:
    return stripped.startswith(_BULLETS) or _NUMBERED.match(stripped) is not None


def _opens_item(line: str) -> bool:
    """True for a line that does not go on with a paragraph."""
    stripped = line.strip()
    is_mark = stripped.startswith(("|", ">", "<!--")) or _FENCE.match(stripped)
    return not stripped or bool(is_mark or _HEADING.match(stripped)) or _opens_list(stripped)


def render(items: Sequence[MemoryFileItem], head: str = TITLE) -> str:
    """Render a MEMORY.md: what has no topic first, then corrections, then topics by first item."""
    topics: dict[str, list[MemoryFileItem]] = {}
    for item in sorted(items, key=lambda item: (bool(item.topic), not item.is_correction)):
        topic = CORRECTIONS if item.is_correction else item.topic
        topics.setdefault(topic, []).append(item)
    sections = [
        f"## {topic}\n\n{_render_items(members)}" if topic else _render_items(members)
        for topic, members in topics.items()
    ]
    return "\n\n".join([head, *sections]) + "\n"


def _render_items(items: Sequence[MemoryFileItem]) -> str:
    """Render items; lines of a list stand together, all else apart."""
    pieces: list[str] = []
    for index, item in enumerate(items):
        if index:
            is_list = item.form == items[index - 1].form == "line"
            pieces.append("\n" if is_list else "\n\n")
        pieces.append(f"- {item.text}" if item.form == "line" else item.text)
    return "".join(pieces)


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
    for whole_item in (*old_items, *new_items):
        item = _cut_gone(whole_item, gone_hashes)
        if item is None:
            dropped.append((whole_item.text, "no longer so"))
            continue
        item_hash = content_hash(item.text)
        words = frozenset(terms(item.text))
        twin_index = _find_twin(item, words, kept_items)
        if twin_index is None:
            topic = (
                item.topic or topics.get(item_hash, "") or _find_nearest_topic(words, kept_items)
            )
            kept_items.append((replace(item, topic=topic or (GENERAL * item.fresh)), words))
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
            merged = replace(longer, topic=twin.topic or item.topic, fresh=twin.fresh)
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


def _cut_gone(item: MemoryFileItem, gone_hashes: Collection[str]) -> MemoryFileItem | None:
    """Return an item without its lines that no longer hold; None: it has no other."""
    if item.is_correction:
        return item
    if item.form == "line":
        return None if content_hash(item.text) in gone_hashes else item
    lines = zip(item.text.splitlines(), item.lines, strict=True)
    standing = [line for line, words in lines if content_hash(words) not in gone_hashes]
    return replace(item, text="\n".join(standing)) if standing else None


def _drop_oldest(
    items: list[MemoryFileItem], max_items: int, dropped: list[tuple[str, str]]
) -> list[MemoryFileItem]:
    """Drop the oldest of too many items; corrections and blocks stay."""
    if len(items) <= max_items:
        return items
    corrections = [item for item in items if item.is_correction]
    blocks = [item for item in items if item.form == "block" and not item.is_correction]
    plain_items = [item for item in items if item.form != "block" and not item.is_correction]
    excess = max(0, len(plain_items) - max(0, max_items - len(corrections)))
    dropped += [(item.text, "no room") for item in plain_items[:excess]]
    staying = {*map(id, (*corrections[-max_items:], *blocks, *plain_items[excess:]))}
    return [item for item in items if id(item) in staying]


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
