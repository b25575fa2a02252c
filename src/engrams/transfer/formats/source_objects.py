"""Objects of other systems' files, field by field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.frozen_data import dataclass
from engrams.transfer.formats.field_parsers import (
    clean_label,
    first_filled,
    message_text,
    parse_moment,
    scope_label,
)
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece

_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+")


@dataclass(frozen=True, slots=True)
class SourceObject:
    """One JSON object of a file.

    ``line``: where it begins (0: not known).
    """

    line: int
    data: Mapping[str, Any]

    def label(self, *names: str) -> str:
        """Return the first filled field as a name or id."""
        return clean_label(first_filled(self.data, *names))

    def text(self, *names: str) -> str:
        """Return the first filled field as a message's text."""
        return message_text(first_filled(self.data, *names))

    def moment(self, *names: str) -> datetime | None:
        """Return the first filled field as a time. ValueError: it is none."""
        return parse_moment(first_filled(self.data, *names))

    def labels(self, *names: str) -> tuple[str, ...]:
        """Return the names in a list, or in a text with commas."""
        value = first_filled(self.data, *names)
        if isinstance(value, str):
            held = value.split(",")
        elif isinstance(value, list):
            held = value
        else:
            held = []
        return tuple(dict.fromkeys(name for each in held if (name := clean_label(each))))

    def objects(self, *names: str) -> list[SourceObject]:
        """Return the objects of the first filled list."""
        value = first_filled(self.data, *names)
        return (
            [SourceObject(self.line, each) for each in value if isinstance(each, dict)]
            if isinstance(value, list)
            else []
        )

    def share(self, name: str) -> float | None:
        """Return a number from 0 to 1; None: there is none."""
        value = self.data.get(name)
        return (
            float(value)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
            else None
        )

    def pick(self, *names: str) -> dict[str, Any]:
        """Return the filled fields among these, as metadata."""
        return {
            name: self.data[name] for name in names if self.data.get(name) not in (None, "", [], {})
        }

    def is_marked(self, name: str) -> bool:
        return self.data.get(name) in (True, 1)


MakeFunction: TypeAlias = Callable[[SourceObject], ParsedTurn | None]


def convert(
    line: int, data: Json, make: MakeFunction, what: str = "A memory"
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield an object's piece, or why it cannot be read.

    ``make`` raises ValueError with a reason, or returns None for what holds nothing to remember.
    """
    if not isinstance(data, Mapping):
        yield UnreadablePiece(line, f"{what} was expected, not {type(data).__name__}.")
        return
    try:
        made = make(SourceObject(line, data))
    except ValueError as problem:
        yield UnreadablePiece(line, f"{what} was left out: {problem}.")
    else:
        if made is not None:
            yield made


def convert_all(
    objects: Iterable[SourceObject], make: MakeFunction, what: str = "A memory"
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield what ``make`` gives for each object; see ``convert``."""
    for each in objects:
        yield from convert(each.line, each.data, make, what)


def unwrap(
    values: Iterable[tuple[int, Json] | UnreadablePiece], *names: str
) -> Iterator[SourceObject | UnreadablePiece]:
    """Yield the objects of a file.

    Of a page without an id those in its lists ``names``.
    """
    for value in values:
        if isinstance(value, UnreadablePiece):
            yield value
            continue
        line, data = value
        lists = (
            [data[name] for name in names if isinstance(data.get(name), list)]
            if isinstance(data, dict) and "id" not in data
            else []
        )
        for each in [one for held in lists for one in held] if lists else [data]:
            good = isinstance(each, dict)
            yield (
                SourceObject(line, each)
                if good
                else UnreadablePiece(line, f"An object was expected, not {type(each).__name__}.")
            )


def make_statement(
    turn: Turn, *, place: tuple[str, ...] = (), user: str = "", kind: Kind = Kind.FACT
) -> ParsedTurn:
    """Make an explicit memory. ValueError: it has no text."""
    if not turn.text:
        raise ValueError("it has no text")
    return ParsedTurn(turn=turn, conversation="", kind=kind, place=place, user=user)


def place_in(**parts: str) -> tuple[str, ...]:
    """Return scope labels for the parts that have a name: ``place_in(agent="planner")``."""
    return tuple(
        label
        for part, name in parts.items()
        if (named := scope_label(name))
        for label in (part, named)
    )


def predicate_name(value: Json) -> str:
    """Return a relation's name in the usual form: ``LIVES_IN`` gives ``lives_in``."""
    return re.sub(r"_+", "_", _WORD_BREAK.sub("_", clean_label(value))).strip("_").lower()


def state_relation(subject: str, predicate: str, object: str) -> tuple[str, StatedFields]:
    """Say a relation in words, with its parts."""
    words = " ".join(part.replace("_", " ") for part in (subject, predicate, object) if part)
    return words, StatedFields(subject=subject, predicate=predicate, object=object)
