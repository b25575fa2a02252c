"""Use of one search: the hits it selected, those a reranker judged, and a gap it left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engrams.core import Scope, SearchResult
from engrams.frozen_data import dataclass
from engrams.ports import SKILL
from engrams.read.stages import KNOWN_HERE, SHOWN_BEFORE
from engrams.text.questions import asks_for_knowledge
from engrams.text.stopwords import STOP
from engrams.text.terms import terms


@dataclass(frozen=True, slots=True)
class SearchUsageEvent:
    """Use of one search. Skills are no memories, and are left out of all ids."""

    query: str
    """Empty: the owner of the memories does not learn what was asked."""
    scope: Scope
    at: datetime
    hits: tuple[str, ...]
    """Ids of selected hits."""
    verified: tuple[str, ...]
    """Ids that a reranker passed."""
    rejected: tuple[str, ...]
    """Ids that a reranker rejected."""
    candidates: tuple[str, ...]
    """Ids of all candidates."""
    gap: str
    """Why a question found nothing; empty: it left no gap."""
    session: str = ""

    @classmethod
    def from_search(
        cls, result: SearchResult, scope: Scope, at: datetime, session: str = ""
    ) -> SearchUsageEvent:
        """Extract the use from a search result."""
        hits = [hit for hit in result.hits if not hit.record.id.startswith(SKILL)]
        rows = [row for row in result.trace.rows if not row.id.startswith(SKILL)]
        rejected = tuple([row.id for row in rows if row.dropped.startswith("judged ")])
        return cls(
            query=result.trace.query,
            scope=scope,
            at=at,
            hits=tuple([hit.record.id for hit in hits]),
            verified=tuple([hit.record.id for hit in hits if "rerank" in hit.parts]),
            rejected=rejected,
            candidates=tuple([row.id for row in rows]),
            gap=_find_gap(result, rejected),
            session=session,
        )


def _find_gap(result: SearchResult, rejected: Sequence[str]) -> str:
    """Say why a question found nothing.

    Empty: it was none, or what it asks for was shown or said in the conversation; a question said
    there answers none.
    """
    rows = result.trace.rows
    query = result.trace.query
    if not result.abstain or not rows or not asks_for_knowledge(query):
        return ""
    if STOP.issuperset(terms(query)):
        return ""  # "and?" names nothing that could be learned
    for row in rows:
        if row.dropped == SHOWN_BEFORE:
            return ""
        if row.dropped == KNOWN_HERE and not asks_for_knowledge(row.text):
            return ""
    return "what came near was judged to be no answer" if rejected else "nothing came near"
