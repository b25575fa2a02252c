"""Statements whose clause also says what has ended: ``reword_shared``.

"I work at Acme as a data engineer" is the clause of two statements. Once the person works somewhere
else, it is no longer shown as the words of the second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from engrams.core import STATEMENT_KINDS, Hit, Record, Status
from engrams.core.statement_form import is_quotation, read_triple
from engrams.frozen_data import replace
from engrams.ports import RecordQuery, RecordStore, ScopeReach
from engrams.read.fact_joining import FactGroupingRules, is_over
from engrams.read.request import ReadRequest

_LIMIT = 500
"""Ended statements that are looked at, at most."""


def reword_shared(
    records: Sequence[Record], request: ReadRequest, store: RecordStore
) -> list[Record]:
    """Give the statements whose clause says what ended another text.

    It is another quote of them that does not say it, else their triple.
    """
    rules = FactGroupingRules(request.now, request.as_of)
    quoting = _select_quoting(records, rules)
    source_ids = {quote.source for record in quoting for quote in record.evidence}
    reworded = _reword(quoting, _find_ended(source_ids, request, store), rules)
    return [reworded.get(record.id, record) for record in records]


def reword_shared_in_hits(
    hits: Sequence[Hit], request: ReadRequest, store: RecordStore
) -> tuple[Hit, ...]:
    """Do the same for hits and the facts beneath them."""
    rules = FactGroupingRules(request.now, request.as_of)
    facts = [fact for hit in hits for fact in hit.facts]
    quoting = _select_quoting([*(hit.record for hit in hits), *facts], rules)
    # The ended facts of a message stand beneath it.
    message_ids = {hit.record.id for hit in hits if hit.facts}
    source_ids = {quote.source for record in quoting for quote in record.evidence} - message_ids
    reworded = _reword(quoting, (*facts, *_find_ended(source_ids, request, store)), rules)
    if not reworded:
        return tuple(hits)
    return tuple(
        replace(
            hit,
            record=reworded.get(hit.record.id, hit.record),
            facts=tuple(reworded.get(fact.id, fact) for fact in hit.facts),
        )
        for hit in hits
    )


def _select_quoting(records: Iterable[Record], rules: FactGroupingRules) -> list[Record]:
    """Select the statements that hold and are shown by a clause and a triple."""
    return [
        record
        for record in records
        if read_triple(record) and is_quotation(record) and not is_over(record, rules)
    ]


def _find_ended(
    source_ids: Collection[str], request: ReadRequest, store: RecordStore
) -> Sequence[Record]:
    """Find the ended statements of messages."""
    if not source_ids:
        return ()
    query = RecordQuery(
        ScopeReach.of_owner(request.scope.owner),
        tuple(STATEMENT_KINDS),
        (Status.SUPERSEDED,),
        sources=tuple(sorted(source_ids)),
        limit=_LIMIT,
    )
    return store.find(query).records


def _reword(
    quoting: Sequence[Record], statements: Iterable[Record], rules: FactGroupingRules
) -> dict[str, Record]:
    """Map ids to records with another text, where a clause says what ended of ``statements``."""
    ended_quotes = {
        quote.quote
        for record in statements
        if is_over(record, rules)
        for quote in record.evidence
        if quote.quote
    }
    return {
        record.id: replace(record, text=_choose_text(record, ended_quotes))
        for record in quoting
        if _says_any(record.text, ended_quotes)
    }


def _choose_text(record: Record, ended_quotes: Iterable[str]) -> str:
    quotes = (item.quote for item in record.evidence)
    return next(
        (quote for quote in quotes if quote and not _says_any(quote, ended_quotes)),
        read_triple(record),
    )


def _says_any(text: str, quotes: Iterable[str]) -> bool:
    return any(quote in text for quote in quotes)
