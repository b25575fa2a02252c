"""What may stand in a user's profile: statements about the user, that last, and that describe. What is not sure to, may not (001)."""

from __future__ import annotations

from collections.abc import Iterable

from engrams.types import Kind, Record

_USER = "user"
_DESCRIBES = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION})
_INNER = frozenset({"conversation", "session", "thread", "chat"})
_PASSING = frozenset({"context", "event", ""})
_LASTS = ("event", "hearsay", "modality", "temporal", "effect")


def admits(record: Record) -> bool:
    """A rule of the user's always; a statement where it is theirs, lasts and describes.

    Theirs: about ``user`` or what is theirs, told to the owner or in a conversation of theirs, not to a project. Lasting: no event, no
    hearsay, nothing supposed, nothing that ends or has ended, of a category that lasts. Describing: a fact, a preference or a
    correction.
    """
    if record.kind not in _DESCRIBES:
        return True
    theirs = record.subject == _USER or record.subject.startswith(f"{_USER}'s ")
    inside = all(label in _INNER for label in record.scope.labels[2::2])
    lasts = record.valid_to is None and record.category not in _PASSING and not any(record.meta.get(name) for name in _LASTS)
    return theirs and inside and lasts


def gated(records: Iterable[Record], profile: str) -> list[Record]:
    """Those that a profile of this sort takes: ``all`` of them, or those about the ``user``."""
    return [record for record in records if profile == "all" or admits(record)]
