"""People, places and other things that memories mention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from engrams.frozen_data import dataclass


class EntityKind(StrEnum):
    """Kind of an entity that memories mention.

    ``work``: a book, film, game or piece of music.
    """

    PERSON = "person"
    ANIMAL = "animal"
    PLACE = "place"
    ORGANISATION = "organisation"
    PROJECT = "project"
    WORK = "work"
    THEME = "theme"


@dataclass(frozen=True, slots=True)
class Entity:
    """Person, place or other thing that memories mention.

    ``id``: ``entity:`` and its folded name. ``aliases``: other names of it. ``memories``: ids of
    those that mention it, newest first.
    """

    id: str
    name: str
    kind: EntityKind
    memories: tuple[str, ...]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityLink:
    """Two entities, by id, that ``memories`` memories bring together.

    They are mentioned in one, or one of them said what mentions the other.
    """

    source: str
    target: str
    memories: int


@dataclass(frozen=True, slots=True)
class EntityNet:
    """Entities of a scope, most mentioned first, and their links.

    ``by_memory``: ids of entities by the memory that mentions them.
    """

    entities: tuple[Entity, ...] = ()
    links: tuple[EntityLink, ...] = ()
    by_memory: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
