"""Orders and reports of purges, and the port that purges files beside the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeAlias

from engrams.core import Meta, Scope
from engrams.frozen_data import dataclass

LiveWords: TypeAlias = Callable[[Sequence[str]], frozenset[str]]
"""Picks those of some words that remaining memories still contain."""


@dataclass(frozen=True, slots=True)
class PurgePlaceCheck:
    """Result of looking for purged words in one place, such as the database or the backups."""

    name: str
    looked: int
    """Number of files, objects or rows that were looked at."""
    left: int = 0
    """Number of them that still contain purged words."""
    advice: str = ""
    """What a person can do about them."""


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """Report of a purge, place by place."""

    removed: Mapping[str, int]
    """Place -> number of rows or files that were erased."""
    remaining: Mapping[str, int]
    """Place -> number of rows or files in which a second look still found something."""
    places: tuple[PurgePlaceCheck, ...] = ()
    """Places at which it looked a second time."""
    unquoted: tuple[str, ...] = ()
    """Ids of memories that stay, and lost words that quoted an erased one."""
    certificate: Meta = field(default_factory=dict)
    """Account of what was erased and where it was looked for, to be checked by others.

    Ids and numbers, no words. Empty: nothing was proven.
    """

    @property
    def proven(self) -> bool:
        """True where every place was looked at a second time and holds nothing."""
        return bool(self.places) and not any(self.remaining.values())


@dataclass(frozen=True, slots=True)
class PurgeOrder:
    """Order of a purge, which another process can resume."""

    owner: Scope
    ids: tuple[str, ...]
    """Memories to erase."""
    quotes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id of a memory that stays -> words to remove from it."""
    words: tuple[str, ...] = ()
    """Texts to remove wherever they stand."""
    git: bool = False
    """Remove them from the history of the files, too."""
    short: tuple[str, ...] = ()
    """Texts of a few characters, to remove only from files that belong to no other memory."""
    attachments: tuple[str, ...] = ()
    """Hashes of the files that the memories to erase were made of."""

    def to_payload(self) -> Meta:
        """Return the order as the payload of a job."""
        return {
            "owner": self.owner.key,
            "ids": list(self.ids),
            "quotes": {id: list(words) for id, words in self.quotes.items()},
            "words": list(self.words),
            "short": list(self.short),
            "git": self.git,
            "attachments": list(self.attachments),
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> PurgeOrder:
        """Read the payload of a job."""
        return cls(
            owner=Scope.parse(payload["owner"]),
            ids=tuple(payload["ids"]),
            quotes={id: tuple(words) for id, words in payload["quotes"].items()},
            words=tuple(payload["words"]),
            git=bool(payload["git"]),
            short=tuple(payload.get("short", ())),
            attachments=tuple(payload.get("attachments", ())),
        )


class HomeFileCleaner(Protocol):
    """Port that removes purged words from files beside the store: backups, git history, logs."""

    def clean(self, order: PurgeOrder) -> Mapping[str, int]:
        """Remove a purge's words from every file; return place -> number of files."""
        ...

    def recall_words(self, ids: Sequence[str], was_said: Callable[[str], bool]) -> tuple[str, ...]:
        """Return texts of purged memories that the history of the files still contains.

        ``was_said``: True for a text of theirs, of which the store has only a hash left.
        """
        ...

    def look(self, order: PurgeOrder, live: LiveWords) -> tuple[PurgePlaceCheck, ...]:
        """Look for a purge's words in the bytes of every file.

        Short words are looked for in the vault's files and history only.
        """
        ...
