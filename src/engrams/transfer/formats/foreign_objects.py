"""JSON objects of other systems' files, read field by field.

A reader wraps each object in a ``ForeignObject``, asks it for fields under the names that the other
system uses, and makes a piece of it with ``make_statement``. ``convert`` calls the function that
does so and turns its ValueError into an ``UnreadablePiece``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.frozen_data import dataclass
from engrams.transfer.formats.foreign_values import (
    clean_label,
    first_filled,
    message_text,
    parse_moment,
    scope_label,
)
from engrams.transfer.formats.pieces import ForeignPiece, JsonElement, ParsedTurn, UnreadablePiece

_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+")


@dataclass(frozen=True, slots=True)
class ForeignObject:
    """One JSON object of a file.

    Methods that take several names look for the first field that is filled.
    """

    line: int
    """Line where it begins. 0: unknown."""
    data: Mapping[str, Any]

    def label(self, *names: str) -> str:
        """Return a field as a name or id; empty: there is none."""
        return clean_label(first_filled(self.data, *names))

    def labels(self, *names: str) -> tuple[str, ...]:
        """Return the names in a list, or in a text with commas, each once."""
        value = first_filled(self.data, *names)
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, list):
            return ()
        return tuple(dict.fromkeys(label for item in value if (label := clean_label(item))))

    def text(self, *names: str) -> str:
        """Return a field as a message's text; empty: there is none."""
        return message_text(first_filled(self.data, *names))

    def moment(self, *names: str) -> datetime | None:
        """Return a field as a time; None: it is empty. ValueError: it is not a time."""
        return parse_moment(first_filled(self.data, *names))

    def objects(self, *names: str) -> list[ForeignObject]:
        """Return the objects in a list."""
        value = first_filled(self.data, *names)
        if not isinstance(value, list):
            return []
        return [ForeignObject(self.line, item) for item in value if isinstance(item, dict)]

    def inner(self, name: str) -> ForeignObject | None:
        """Return a field that is an object itself; None: it is none."""
        value = self.data.get(name)
        return ForeignObject(self.line, value) if isinstance(value, Mapping) else None

    def share(self, name: str) -> float | None:
        """Return a number from 0 to 1; None: there is none."""
        value = self.data.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if 0 <= value <= 1 else None

    def count(self, name: str) -> int:
        """Return a number of times; 0: there is none."""
        value = self.data.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def pick(self, *names: str) -> dict[str, Any]:
        """Return all filled fields among these, as metadata."""
        return {
            name: self.data[name] for name in names if self.data.get(name) not in (None, "", [], {})
        }

    def is_marked(self, name: str) -> bool:
        """Check for a field that is true, also as the number 1 of a database."""
        return self.data.get(name) in (True, 1)


MakeFunction: TypeAlias = Callable[[ForeignObject], ParsedTurn | None]
"""Makes a piece of an object; None: it holds nothing to remember. ValueError: the reason why not."""


def convert(
    line: int, data: Json, make: MakeFunction, noun: str = "A memory"
) -> Iterator[ForeignPiece]:
    """Yield the piece that ``make`` makes of a value, or the reason why it cannot be read.

    ``noun``: what the value should be, for the reason: "An episode was left out: it has no uuid."
    """
    if not isinstance(data, Mapping):
        yield UnreadablePiece(line, f"{noun} was expected, not {type(data).__name__}.")
        return
    try:
        piece = make(ForeignObject(line, data))
    except ValueError as problem:
        yield UnreadablePiece(line, f"{noun} was left out: {problem}.")
    else:
        if piece is not None:
            yield piece


def convert_all(
    objects: Iterable[ForeignObject], make: MakeFunction, noun: str = "A memory"
) -> Iterator[ForeignPiece]:
    """Yield the piece of each object; see ``convert``."""
    for item in objects:
        yield from convert(item.line, item.data, make, noun)


def unwrap_pages(
    elements: Iterable[JsonElement], *list_names: str
) -> Iterator[ForeignObject | UnreadablePiece]:
    """Yield the objects of a file of API answers.

    An object without an ``id`` that has a list of one of these names is a page: its lists are
    yielded in its place.
    """
    for element in elements:
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, data = element
        lists = []
        if isinstance(data, dict) and "id" not in data:
            lists = [data[name] for name in list_names if isinstance(data.get(name), list)]
        values = [value for listed in lists for value in listed] if lists else [data]
        for value in values:
            if isinstance(value, dict):
                yield ForeignObject(line, value)
            else:
                yield UnreadablePiece(line, f"An object was expected, not {type(value).__name__}.")


def make_statement(
    turn: Turn,
    *,
    scope_labels: tuple[str, ...] = (),
    user: str = "",
    kind: Kind = Kind.FACT,
) -> ParsedTurn:
    """Make an explicit memory. ValueError: it has no text."""
    if not turn.text:
        raise ValueError("it has no text")
    return ParsedTurn(turn=turn, kind=kind, scope_labels=scope_labels, user=user)


def make_scope_labels(**names: str) -> tuple[str, ...]:
    """Return scope labels for the kinds that have a name: ``make_scope_labels(agent="planner")``."""
    return tuple(
        label
        for kind, name in names.items()
        if (clean_name := scope_label(name))
        for label in (kind, clean_name)
    )


def normalize_predicate(name: Json) -> str:
    """Return a relation's name in the usual form: ``LIVES_IN`` and ``livesIn`` give ``lives_in``."""
    return re.sub(r"_+", "_", _WORD_BREAK.sub("_", clean_label(name))).strip("_").lower()


def state_relation(subject: str, predicate: str, object: str) -> tuple[str, StatedFields]:
    """Return a relation as a sentence, and its parts as fields."""
    words = " ".join(part.replace("_", " ") for part in (subject, predicate, object) if part)
    return words, StatedFields(subject=subject, predicate=predicate, object=object)


def title_text(title: str, text: str) -> str:
    """Put a name before a text that does not hold it: ``Ann: likes tea``."""
    return text if title.casefold() in text.casefold() else f"{title}: {text}"
