"""Themes: subjects of several facts, by their own words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from engrams.read.entities.entity_kind_words import VAGUE
from engrams.read.entities.name_finder import MemoryNames

_LEAST_STATEMENTS = 2
"""Statements that make a theme."""
_LEAST_MENTIONS = 4
"""Memories with the word that make one too."""


@dataclass(slots=True)
class Theme:
    """Words that several facts are about, and the memories that hold them."""

    name: str
    memories: set[str] = field(default_factory=set)
    """Ids of all memories that hold the words."""
    statements: set[str] = field(default_factory=set)
    """Ids of facts about it, or of the messages that they were taken from."""


def find_themes(names_by_memory: Mapping[str, MemoryNames]) -> tuple[Theme, ...]:
    """Find the themes of facts; the order is that of the facts.

    A theme is all that one fact is about and part of what another is, as "pottery" is, or two words
    that both have: "mental health". Every memory that holds the word is on it; on two words only
    the facts, with what they were taken from. ``names_by_memory``: by record id.
    """
    themes = _collect_statements(names_by_memory)
    _add_mentions(themes, names_by_memory)
    frequent = {
        key: theme
        for key, theme in themes.items()
        if len(theme.statements) >= _LEAST_STATEMENTS or len(theme.memories) >= _LEAST_MENTIONS
    }
    return tuple(theme for key, theme in frequent.items() if not _is_covered(key, theme, frequent))


def _collect_statements(names_by_memory: Mapping[str, MemoryNames]) -> dict[str, Theme]:
    """Collect the themes of each fact's phrase, by key, each named by its shortest spelling."""
    phrases = [
        (record_id, names.phrase)
        for record_id, names in names_by_memory.items()
        if names.phrase is not None
    ]
    liked = {_singular(phrase.words[0]) for _, phrase in phrases if phrase.liked}
    ends = {
        (phrase.words[-2], _singular(phrase.words[-1]))
        for _, phrase in phrases
        if len(phrase.words) > 1
    }
    themes: dict[str, Theme] = {}
    spellings: defaultdict[str, set[str]] = defaultdict(set)
    for record_id, phrase in phrases:
        for key, words in _theme_words(phrase.words, liked, ends):
            sources = {
                source
                for source, quote in names_by_memory[record_id].sources
                if source in names_by_memory and words in quote.casefold()
            }
            theme = themes.setdefault(key, Theme(words))
            theme.memories |= {record_id, *sources}
            theme.statements |= sources or {record_id}
            spellings[key].add(words)
    for key, theme in themes.items():
        theme.name = min(spellings[key], key=lambda words: (len(words), words))
    return themes


def _add_mentions(themes: Mapping[str, Theme], names_by_memory: Mapping[str, MemoryNames]) -> None:
    """Add to themes of one word all memories that hold it."""
    if not themes:
        return
    vocabulary = {word for names in names_by_memory.values() for word in names.lower_words}
    by_word = {}
    for word in vocabulary:
        key = _singular(word)
        if key in themes:
            by_word[word] = themes[key]
    if not by_word:
        return
    for record_id, names in names_by_memory.items():
        for word in by_word.keys() & names.lower_words:
            by_word[word].memories.add(record_id)


def _theme_words(
    phrase: tuple[str, ...], liked: Set[str], ends: Set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Keys and words of the themes that a phrase may be of.

    ``liked``: words that are all that some fact is about. ``ends``: pairs that some phrase ends
    with.
    """
    has_meaning = [word not in VAGUE and not word.endswith("ly") for word in phrase]
    for position, word in enumerate(phrase):
        if not has_meaning[position]:
            continue
        # "painting class": the verb's form counts at the beginning only.
        is_noun = len(phrase) == 1 or not word.endswith("ing") or position == 0
        if _singular(word) in liked and is_noun:
            yield _singular(word), word
        if position and has_meaning[position - 1]:
            before = phrase[position - 1]
            if (before, _singular(word)) in ends:
                yield f"{before} {_singular(word)}", f"{before} {word}"


def _is_covered(key: str, theme: Theme, themes: Mapping[str, Theme]) -> bool:
    """True for a word that only stands within one longer theme."""
    return " " not in key and any(
        key in longer_key.split(" ") and theme.memories <= longer.memories
        for longer_key, longer in themes.items()
        if " " in longer_key
    )


def _singular(word: str) -> str:
    """Cut a plural ending, roughly; only for comparison."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
