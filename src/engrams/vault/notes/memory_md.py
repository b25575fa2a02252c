"""Parse, render and tidy the items of MEMORY.md."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engrams.core import content_hash
from engrams.frozen_data import dataclass
from engrams.text.terms import terms

CORRECTIONS = "Corrections"
TITLE = "# Memory"
_ALIKE = 0.85
_WORDS = ("correction", "corrections", "corrected")
_TIDYABLE = 60


@dataclass(frozen=True, slots=True)
class MemoryFileItem:
    """One item; ``fresh``: it comes from a daily note."""

    topic: str
    text: str
    fresh: bool = False

    @property
    def is_correction(self) -> bool:
        return self.topic.casefold() in _WORDS


@dataclass(frozen=True, slots=True)
class MemoryItemTidyResult:
    """Items that stay, and those dropped with the reason."""

    items: tuple[MemoryFileItem, ...]
    dropped: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()


def parse(text: str, fresh: bool = False) -> tuple[MemoryFileItem, ...]:
    """Parse a Markdown list's items, indented lines included, under their headings."""
    topic = ""
    found = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            topic = "" if line.startswith("# ") else stripped.lstrip("#").strip()
        elif stripped.startswith(("- ", "* ", "+ ")):
            found.append(MemoryFileItem("" if fresh else topic, stripped[2:].strip(), fresh))
        elif stripped and line[:1] in (" ", "\t") and found:
            last = found.pop()
            found.append(MemoryFileItem(last.topic, f"{last.text} {stripped}", fresh))
        elif stripped and not fresh and not stripped.startswith("<!--"):
            found.append(MemoryFileItem(topic, stripped))
    return tuple(item for item in found if item.text)


def render(items: Sequence[MemoryFileItem]) -> str:
    """Render a MEMORY.md: corrections first, then topics by first item."""
    topics: dict[str, list[str]] = {}
    for item in sorted(items, key=lambda item: not item.is_correction):
        topics.setdefault(
            CORRECTIONS if item.is_correction else item.topic or "General", []
        ).append(f"- {item.text}")
    return (
        "\n\n".join(
            [TITLE, *(f"## {topic}\n\n" + "\n".join(lines) for topic, lines in topics.items())]
        )
        + "\n"
    )


def tidy(
    known: Sequence[MemoryFileItem],
    new: Sequence[MemoryFileItem],
    gone: Collection[str],
    topics: dict[str, str],
    most: int,
) -> MemoryItemTidyResult:
    """Tidy items by rules: drop the outdated, merge the repeated.

    Repeated items are kept once, in the longer form; new items take the topic of what they
    resemble; at most ``most`` stay: every correction, then the newest. ``gone``: hashes of texts
    that no longer hold. ``topics``: topics of known statements, by hash.
    """
    kept: list[tuple[MemoryFileItem, frozenset[str]]] = []
    dropped: list[tuple[str, str]] = []
    added: list[str] = []
    for item in (*known, *new):
        digest = content_hash(item.text)
        if digest in gone and not item.is_correction:
            dropped.append((item.text, "no longer so"))
            continue
        words = frozenset(terms(item.text))
        twin = next(
            (at for at, (other, held) in enumerate(kept) if _is_alike(item, words, other, held)),
            None,
        )
        if twin is None:
            topic = item.topic or topics.get(digest, "") or _nearest_topic(words, kept)
            kept.append((MemoryFileItem(topic, item.text, item.fresh), words))
            added += [item.text] if item.fresh else []
        else:
            other, _ = kept[twin]
            longer = item if len(item.text) > len(other.text) and not other.is_correction else other
            dropped.append((item.text if longer is other else other.text, "said twice"))
            kept[twin] = (
                MemoryFileItem(other.topic or item.topic, longer.text, other.fresh),
                frozenset(terms(longer.text)),
            )
    items = [item for item, _ in kept]
    if len(items) > most:
        corrections = [item for item in items if item.is_correction]
        room = max(0, most - len(corrections))
        others = [item for item in items if not item.is_correction]
        dropped += [(item.text, "no room") for item in others[: len(others) - room]]
        items = [*corrections[-most:], *(others[len(others) - room :] if room else [])]
    stays = {content_hash(item.text) for item in items}
    out = {
        content_hash(text): (text, why) for text, why in dropped if content_hash(text) not in stays
    }
    came = tuple(text for text in added if any(item.text == text for item in items))
    return MemoryItemTidyResult(tuple(items), tuple(out.values()), came)


def compare(
    known: Sequence[MemoryFileItem], items: Sequence[MemoryFileItem], gone: Collection[str]
) -> MemoryItemTidyResult:
    """Compare a model's items with those before: which came in, which went."""
    before = {content_hash(item.text): item.text for item in known}
    after = {content_hash(item.text): item.text for item in items}
    dropped = tuple(
        (text, "no longer so" if name in gone else "by the model")
        for name, text in before.items()
        if name not in after
    )
    return MemoryItemTidyResult(
        tuple(items), dropped, tuple(text for name, text in after.items() if name not in before)
    )


def _is_alike(
    item: MemoryFileItem, words: frozenset[str], other: MemoryFileItem, held: frozenset[str]
) -> bool:
    """Return True for nearly the same words and the same numbers."""
    if content_hash(item.text) == content_hash(other.text):
        return True
    if not words or not held or _find_numbers(item.text) != _find_numbers(other.text):
        return False
    return len(words & held) / len(words | held) >= _ALIKE


def _nearest_topic(
    words: frozenset[str], kept: Sequence[tuple[MemoryFileItem, frozenset[str]]]
) -> str:
    best = 0.2
    topic = ""
    for item, held in kept[-_TIDYABLE * 4 :]:
        if item.topic and not item.is_correction and words and held:
            score = len(words & held) / len(words | held)
            if score > best:
                best = score
                topic = item.topic
    return topic


def _find_numbers(text: str) -> set[str]:
    return {word for word in text.split() if any(char.isdigit() for char in word)}
