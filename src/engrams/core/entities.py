"""Entities: people, places and other things that memories mention.

They are derived from memories on each read; none is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from engrams.frozen_data import dataclass


class EntityKind(StrEnum):
    """Kind of an entity."""

    PERSON = "person"
    ANIMAL = "animal"
    PLACE = "place"
    ORGANISATION = "organisation"
    PROJECT = "project"
    WORK = "work"
    """A book, film, game or piece of music."""
    THEME = "theme"


@dataclass(frozen=True, slots=True)
class Entity:
    """Person, place or other thing that memories mention."""

    id: str
    """``entity:`` and its folded name."""
    name: str
    kind: EntityKind
    memories: tuple[str, ...]
    """Ids of the memories that mention it, newest first."""
    aliases: tuple[str, ...] = ()
    """Its other names."""


@dataclass(frozen=True, slots=True)
class EntityLink:
    """Link of two entities.

    One memory mentions both, or one of them is the speaker of a memory that mentions the other.
    """

    source: str
    """Id of an entity."""
    target: str
    """Id of an entity."""
    memories: int
    """Number of memories that link them."""


@dataclass(frozen=True, slots=True)
class EntityNet:
    """Entities of a scope, and their links."""

    entities: tuple[Entity, ...] = ()
    """Most mentioned first."""
    links: tuple[EntityLink, ...] = ()
    by_memory: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Id of a memory -> ids of the entities that it mentions."""
