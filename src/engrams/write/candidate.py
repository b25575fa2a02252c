"""A memory that is not one yet: what the steps of the write flow hand to each other."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from engrams.text.normalize import fold
from engrams.types import Evidence, Kind, Scope

Modality: TypeAlias = Literal["asserted", "hypothetical", "question", "quoted", "wish", "request", "joke"]
Effect: TypeAlias = Literal["states", "changes", "ends", "corrects"]

USER = "user"
_SELF = frozenset({"user", "the user", "i", "me", "myself", "self"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """One statement taken out of a text.

    ``predicate`` is canonical (``lives_in``) or a verb's lemma. ``single``: the slot (subject, predicate) holds one value
    at a time. ``effect``: ``states`` says how things are, ``changes`` tells of the event that made them so (moved,
    joined), ``ends`` that they no longer are, ``corrects`` that an earlier statement was wrong. ``instead``: the wrong value, where
    a correction names it. ``said_at``: when it was said; ``valid_from``/``valid_to``: when it is true, where the words tell;
    ``settled``: the end of the dated span, for comparing with what is known. ``hearsay``: the speaker is not who it is about.
    Confidence, importance and trust are 0..1. ``reason``: why it was taken. ``origin``: its first text, where a later step
    reworded it. ``id``: of the record that holds it already. ``avoid``: what a correction asks not to do again.
    """

    text: str
    kind: Kind = Kind.FACT
    subject: str = ""
    predicate: str = ""
    object: str = ""
    category: str = "knowledge"
    polarity: bool = True
    modality: Modality = "asserted"
    effect: Effect = "states"
    single: bool = False
    wrong_value: str = ""
    hearsay: bool = False
    covers_source: bool = False
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.8
    importance: float = 0.5
    trust: float = 1.0
    said_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    effective_at: datetime | None = None
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    extractor: str = "rules"
    prompt: str = ""
    reason: str = ""
    origin: str = ""
    id: str = ""
    avoid: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The records it was said in."""
        return tuple(dict.fromkeys(item.source for item in self.evidence))

    @property
    def key(self) -> str:
        """The same for the same statement of the same sources: 16 hex digits."""
        parts = (fold(self.origin or self.text), *sorted(self.sources))
        return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def owner_name(scope: Scope) -> str:
    """The owner's own label: ``alice`` of ``user/alice/project/x``."""
    return scope.owner.labels[-1]


def canonical_subject(subject: str, scope: Scope) -> str:
    """The owner, however named, is ``user``; ``alice's sister`` is ``user's sister``; others stay as they are."""
    whole = " ".join(subject.split())
    if fold(whole) in _SELF or fold(whole) == fold(owner_name(scope)):
        return USER
    head, mark, rest = whole.replace("’", "'").partition("'s ")
    if mark and (fold(head) in _SELF or fold(head) == fold(owner_name(scope))):
        return f"{USER}'s {rest}"
    return whole
