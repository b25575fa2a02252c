"""Subjects of clauses: speaker, relation, named person or thing."""

from __future__ import annotations

from dataclasses import replace

from engrams.core import Evidence
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.clause_meaning import UtteranceContext
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.clause_quote import collapse_space
from engrams.extract.rules.predicate_table import RELATIONS
from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class ClauseSubject:
    """Subject of a clause: speaker, named person or relation.

    ``key``: canonical; ``shown``: as it stands at the head of a sentence; ``hearsay``: another
    speaker.
    """

    key: str
    shown: str
    hearsay: bool = False
    extra: tuple[CandidateStatement, ...] = ()


def resolve_subject(
    clause: EnglishClause, text: str, speech: UtteranceContext, last: ClauseSubject | None
) -> ClauseSubject | None:
    """Resolve a clause's subject; None where only the talk tells it.

    ``last``: the person of the clause before, for "he" and "she".
    """
    if clause.person != "other":
        return ClauseSubject(speech.subject, speech.speaker)
    first = clause.owner[0].lower
    if first in ("he", "she"):
        return replace(last, extra=()) if last and not last.key.startswith("the ") else None
    shown = collapse_space(text[clause.owner[0].start : clause.owner[-1].end])
    if first == "the":
        return ClauseSubject(shown.partition(" ")[2], shown)
    if first not in ("my", "our"):
        other = shown.lower() in speech.names and shown.lower() != speech.speaker.lower()
        return ClauseSubject(shown, shown, hearsay=other)
    words = clause.owner[1:]
    at = next((i for i, word in enumerate(words) if word.lower in RELATIONS), None)
    owner = "user" if speech.subject == "user" else speech.subject
    if (
        at is not None
        and at + 1 < len(words)
        and words[at + 1].text[0].isupper()
        and words[at + 1].text.isalpha()
    ):
        name = " ".join(word.text for word in words[at + 1 : at + 3] if word.text[0].isupper())
        relation = words[at].lower
        known = CandidateStatement(
            text=collapse_space(text[clause.start : clause.end]),
            subject=speech.subject,
            predicate=relation,
            object=name,
            category="family",
            evidence=(Evidence(text[clause.start : clause.end], speech.source, ""),),
            confidence=0.8,
            importance=0.7,
            trust=speech.trust,
            said_at=speech.said_at,
            reason="rule relation",
        )
        return ClauseSubject(name, shown, extra=(known,))
    noun = " ".join(word.lower for word in words)
    return ClauseSubject(f"{owner}'s {noun}", shown)
