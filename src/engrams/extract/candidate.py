"""A statement as it is extracted, before it is compared with stored ones.

Every extractor returns ``CandidateStatement``; the functions here make its subject, category and
tags canonical.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from datetime import datetime
from typing import Literal, TypeAlias

from engrams.core import NAMES_OF_OWNERS, Evidence, Kind, ResolvedTime, Scope
from engrams.frozen_data import dataclass, replace
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import terms

Modality: TypeAlias = Literal[
    "asserted", "hypothetical", "question", "quoted", "wish", "request", "joke"
]
Effect: TypeAlias = Literal["states", "changes", "ends", "corrects"]

USER = "user"


_SPELLED = {
    "behaviour": "behavior",
    "behaviors": "behavior",
    "preferences": "preference",
    "goals": "goal",
    "corrections": "correction",
}
_OF_KIND = {
    Kind.PREFERENCE: "preference",
    Kind.CORRECTION: "correction",
    Kind.PROCEDURE: "behavior",
    Kind.RULE: "behavior",
    Kind.NEGATIVE: "behavior",
}


@dataclass(frozen=True, slots=True)
class CandidateStatement:
    """One statement extracted from a text."""

    text: str
    kind: Kind = Kind.FACT
    subject: str = ""
    """``user`` for the owner, else a name as it was said."""
    predicate: str = ""
    """Canonical (``lives_in``), or a verb's lemma; empty for a bare correction."""
    object: str = ""
    category: str = "knowledge"
    polarity: bool = True
    """False for a denial."""
    modality: Modality = "asserted"
    """Only an asserted statement replaces another."""
    effect: Effect = "states"
    """``states`` describes how things are, ``changes`` reports the event that made them so (moved,
    joined), ``ends`` says they are no longer so, ``corrects`` says an earlier statement was wrong.
    """
    single: bool = False
    """The slot (subject, predicate) holds one value at a time."""
    wrong_value: str = ""
    """Value that a correction rejects."""
    hearsay: bool = False
    """The speaker is not the subject."""
    covers_source: bool = False
    """Its source says nothing else."""
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.8
    """0..1."""
    importance: float = 0.5
    """0..1."""
    trust: float = 1.0
    """0..1: trust in the channel that it came by."""
    said_at: datetime | None = None
    valid_from: datetime | None = None
    """From when it is true, if stated."""
    valid_to: datetime | None = None
    """Until when it is true, if stated."""
    times: tuple[ResolvedTime, ...] = ()
    """Times that its words name."""
    effective_at: datetime | None = None
    """End of the dated span, by which it is compared with known statements."""
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    """When a procedure applies."""
    steps: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    extractor: str = "rules"
    """``rules``, or the model's name."""
    prompt: str = ""
    """Hash of the model's prompt."""
    reason: str = ""
    """Why it was extracted."""
    origin: str = ""
    """Its first text, if a later step reworded it."""
    id: str = ""
    """Id of the record that holds it already."""
    avoid: str = ""
    """Action that a correction asks not to repeat."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the records it was said in."""
        return tuple(dict.fromkeys(item.source for item in self.evidence))

    @property
    def is_elliptic(self) -> bool:
        """True for a bare correction, such as "no, it's Berlin"."""
        return self.effect == "corrects" and not self.predicate

    @property
    def lifts_ban(self) -> bool:
        """True for a permission that rules read: "you can use emojis again"."""
        return self.kind is Kind.NEGATIVE and self.effect == "ends" and self.extractor == "rules"

    @property
    def denies_event(self) -> bool:
        """True if rules read that something did not happen: "I didn't move"."""
        is_event = self.effect in ("changes", "ends") or self.predicate in ("left", "sold")
        return is_event and not self.polarity and self.extractor == "rules"

    @property
    def key(self) -> str:
        """Hash of text and sources: 16 hex digits.

        Rules make several triples of one clause, so that theirs belong to it.
        """
        triple = (self.predicate, self.object) if self.extractor == "rules" else ()
        parts = (fold(self.origin or self.text), *triple, *sorted(self.sources))
        return hashlib.blake2b(
            "\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=8
        ).hexdigest()


def owner_name(scope: Scope) -> str:
    """Return the owner's own label.

    ``alice`` for ``user/alice/project/x``.
    """
    return scope.owner.labels[-1]


def canonical_subject(subject: str, scope: Scope) -> str:
    """Replace the owner's names by ``user``.

    ``alice's sister`` becomes ``user's sister``; other subjects stay as they are.
    """
    whole = " ".join(subject.split())
    if fold(whole) in NAMES_OF_OWNERS or fold(whole) == fold(owner_name(scope)):
        return USER
    possessor, mark, possession = whole.replace("’", "'").partition("'s ")
    if mark and (fold(possessor) in NAMES_OF_OWNERS or fold(possessor) == fold(owner_name(scope))):
        return f"{USER}'s {possession}"
    return whole


def normalize_category(category: str, kind: Kind) -> str:
    """Normalize a model's category; without one, derive it from the kind."""
    word = " ".join(category.casefold().split())
    return _SPELLED.get(word, word) or _OF_KIND.get(kind, "knowledge")


def limit_category(
    candidate: CandidateStatement, categories: Collection[str]
) -> CandidateStatement:
    """Replace a category that is not among ``categories`` by the default of the kind."""
    if not candidate.category or candidate.category in categories:
        return candidate
    return replace(candidate, category=_OF_KIND.get(candidate.kind, "knowledge"))


def covers_text(text: str, candidate: CandidateStatement) -> bool:
    """True if the candidate's quote is all the text says."""
    quoted = set(terms(candidate.evidence[0].quote)) if candidate.evidence else set()
    return not any(word not in quoted and word not in STOP for word in terms(text))


def drop_tags(candidate: CandidateStatement) -> CandidateStatement:
    """Return a candidate without the tags that nobody asked for."""
    return replace(candidate, tags=()) if candidate.tags else candidate
