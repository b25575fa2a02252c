"""Themes: what several facts are about, by their own words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import field

from engrams.frozen_data import dataclass
from engrams.read.entities.cue_words import VAGUE
from engrams.read.entities.name_finder import MemoryNames

_LEAST = 2
"""Statements that make a theme."""
_MENTIONS = 4
"""Memories with the word that make one too."""


@dataclass(slots=True)
class Theme:
    """Words that several facts are about, and the memories that hold them."""

    name: str
    memories: set[str] = field(default_factory=set)
    statements: set[str] = field(default_factory=set)


def find_themes(found: Mapping[str, MemoryNames]) -> tuple[Theme, ...]:
    """Find the themes of facts; the order is that of the facts.

    A theme is all that one fact is about and part of what another is, as "pottery" is, or two words
    that both have: "mental health". Every memory that holds the word is on it; on two words only
    the facts, with what they were taken from.
    """
    phrases = [(id, names.phrase) for id, names in found.items() if names.phrase is not None]
    liked = {_singular(phrase.words[0]) for _, phrase in phrases if phrase.liked}
    ends = {
        (words[-2], _singular(words[-1])) for _, phrase in phrases if len(words := phrase.words) > 1
    }
    themes: dict[str, Theme] = {}
    spelled: defaultdict[str, set[str]] = defaultdict(set)
    for id, phrase in phrases:
        for key, name in _theme_words(phrase.words, liked, ends):
            sources = {
                source
                for source, quote in found[id].sources
                if source in found and name in quote.casefold()
            }
            theme = themes.setdefault(key, Theme(name))
            theme.memories |= {id, *sources}
            theme.statements |= sources or {id}
            spelled[key].add(name)
    said = {word for names in found.values() for word in names.lower} if themes else set[str]()
    meant = {word: themes[key] for word in said if (key := _singular(word)) in themes}
    for id, names in found.items() if meant else ():
        for word in meant.keys() & names.lower:
            meant[word].memories.add(id)
    kept = {
        key: theme
        for key, theme in themes.items()
        if len(theme.statements) >= _LEAST or len(theme.memories) >= _MENTIONS
    }
    for key, theme in kept.items():
        theme.name = min(spelled[key], key=lambda name: (len(name), name))
    kept = {key: theme for key, theme in kept.items() if not _is_covered(key, theme, kept)}
    return tuple(kept.values())


def _theme_words(
    phrase: tuple[str, ...], liked: Set[str], ends: Set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Keys and words of the themes that a phrase may be of.

    ``liked``: words that are all that some fact is about. ``ends``: pairs that some phrase ends
    with.
    """
    told = [word not in VAGUE and not word.endswith("ly") for word in phrase]
    for at, word in enumerate(phrase):
        if (
            told[at]
            and _singular(word) in liked
            and (len(phrase) == 1 or not word.endswith("ing") or not at)
        ):
            yield _singular(word), word
        if at and told[at] and told[at - 1] and (phrase[at - 1], _singular(word)) in ends:
            yield f"{phrase[at - 1]} {_singular(word)}", f"{phrase[at - 1]} {word}"


def _is_covered(key: str, theme: Theme, kept: Mapping[str, Theme]) -> bool:
    """True for a word that only stands within one longer theme."""
    return " " not in key and any(
        key in other.split(" ") and theme.memories <= longer.memories
        for other, longer in kept.items()
        if " " in other
    )


def _singular(word: str) -> str:
    """Cut a plural ending, roughly; only for comparison."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return (
        word[:-1]
        if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
        else word
    )
