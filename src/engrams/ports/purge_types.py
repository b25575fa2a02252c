"""Erasure of memories for good, and its proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeAlias

from engrams.core import Meta, Scope
from engrams.frozen_data import dataclass

LiveWords: TypeAlias = Callable[[Sequence[str]], frozenset[str]]
"""Function that picks the given words that remaining memories still hold."""


@dataclass(frozen=True, slots=True)
class PurgePlaceCheck:
    """Result of looking for purged words in one place.

    ``looked``: files, objects or rows. ``left``: those that still hold purged words. ``advice``:
    what can be done about them.
    """

    name: str
    looked: int
    left: int = 0
    advice: str = ""


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """Report of a purge, place by place.

    ``removed``: what it erased. ``remaining``: what a second look still found. ``places``: where it
    looked, and what can be done. ``unquoted``: ids of memories that quoted what was erased.
    """

    removed: Mapping[str, int]
    remaining: Mapping[str, int]
    places: tuple[PurgePlaceCheck, ...] = ()
    unquoted: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Return True where every place was looked at and holds nothing."""
        return bool(self.places) and not any(self.remaining.values())


@dataclass(frozen=True, slots=True)
class PurgeOrder:
    """Order of a purge, resumable by another process.

    ``ids``: memories to erase. ``quotes``: words to remove from memories that stay, by their ids.
    ``words``: texts to remove wherever they stand. ``git``: also from the history of the files.
    ``short``: texts of a few characters, removed from the files that are no other memory's.
    """

    owner: Scope
    ids: tuple[str, ...]
    quotes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    git: bool = False
    short: tuple[str, ...] = ()

    def to_payload(self) -> Meta:
        quotes = {id: list(some) for id, some in self.quotes.items()}
        told = {"words": list(self.words), "short": list(self.short)}
        return {
            "owner": self.owner.key,
            "ids": list(self.ids),
            "quotes": quotes,
            **told,
            "git": self.git,
        }

    @classmethod
    def from_payload(cls, data: Mapping[str, Any]) -> PurgeOrder:
        quotes = {id: tuple(some) for id, some in data["quotes"].items()}
        short = tuple(data.get("short", ()))
        return cls(
            Scope.parse(data["owner"]),
            tuple(data["ids"]),
            quotes,
            tuple(data["words"]),
            bool(data["git"]),
            short,
        )


class HomeFileCleaner(Protocol):
    """Port: remove purged words from backups, git history and logs."""

    def clean(self, order: PurgeOrder) -> Mapping[str, int]:
        """Remove a purge's words from every file; number of them by place."""
        ...

    def recall_words(self, ids: Sequence[str], was_said: Callable[[str], bool]) -> tuple[str, ...]:
        """Return what git still holds of memories purged before.

        ``was_said``: tells a text of theirs, of which only a hash is left.
        """
        ...

    def look(self, order: PurgeOrder, live: LiveWords) -> tuple[PurgePlaceCheck, ...]:
        """Look for a purge's words in the bytes of every file.

        Its short ones are looked for in the vault's files and history only.
        """
        ...
