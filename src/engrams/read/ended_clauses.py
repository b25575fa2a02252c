"""Clauses of messages that ended while the rest of their message holds: ``mark_ended_clauses``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engrams.core import Hit, OutdatedMark, Record, Status
from engrams.core.meta_keys import last_said_at
from engrams.core.tellers_clock import on_tellers_clock
from engrams.frozen_data import replace
from engrams.read.corrected_words import mask_corrected
from engrams.read.fact_joining import SHOWN_STATUSES, FactGroupingRules, is_over
from engrams.read.link_expansion import LinkCache
from engrams.read.request import ReadRequest, sees_scope
from engrams.text.remainders import cut_remainder


def mark_ended_clauses(
    hits: Sequence[Hit],
    request: ReadRequest,
    rules: FactGroupingRules,
    fetch: Callable[[list[str]], Sequence[Record]],
) -> tuple[Hit, ...]:
    """Mark the clauses of messages that are over, or may be.

    They are those of the facts that ended, and of the mark that a hit has. ``fetch`` gets records
    by id: what took the place of the facts, where the request sees it.
    """
    ended = {hit.record.id: _find_ended_facts(hit, rules) for hit in hits}
    successor_ids = {
        fact.superseded_by for facts in ended.values() for fact, _ in facts if fact.superseded_by
    }
    successors: dict[str, Record] = {}
    if successor_ids:
        successors = {
            record.id: mask_corrected(record)
            for record in fetch(sorted(successor_ids))
            if record.status in SHOWN_STATUSES and sees_scope(request.scope, record.scope)
        }
    return tuple(_mark_clauses(hit, ended[hit.record.id], successors) for hit in hits)


def drop_doubted_facts(hits: Sequence[Hit], links: LinkCache) -> tuple[Hit, ...]:
    """Leave out the facts of marked messages that the same later statements may end.

    The message says it with its mark; beside it such a fact would look as if it held. What was said
    again since then holds.
    """
    fact_ids = [
        fact.id
        for hit in hits
        if hit.outdated is not None and not hit.outdated.closed
        for fact in hit.facts
        if fact.status is Status.ACTIVE
    ]
    if not fact_ids:
        return tuple(hits)
    doubts = {
        (fact_id, edge.source)
        for fact_id, edges in links.find_later(fact_ids).items()
        for edge in edges
    }
    return tuple(
        replace(
            hit,
            facts=tuple(
                fact
                for fact in hit.facts
                if (fact.id, hit.outdated.by) not in doubts
                or last_said_at(fact) > hit.outdated.said_at
            ),
        )
        if hit.outdated is not None and doubts
        else hit
        for hit in hits
    )


def _find_ended_facts(hit: Hit, rules: FactGroupingRules) -> list[tuple[Record, str]]:
    """Find the facts of a message that ended, each with the words in the message that did.

    None where the message is over as a whole, or the words are all that it says.
    """
    if hit.status is Status.SUPERSEDED or not hit.facts:
        return []
    text = hit.record.text
    return [
        (fact, clause)
        for fact in hit.facts
        if fact.valid_to is not None and is_over(fact, rules)
        for quote in fact.evidence
        if quote.source == hit.record.id
        and (clause := cut_remainder(quote.quote, fact.object)) in text
        and len(clause) < len(text.strip())
    ]


def _mark_clauses(
    hit: Hit, ended_facts: Sequence[tuple[Record, str]], successors: Mapping[str, Record]
) -> Hit:
    marks: dict[str, OutdatedMark] = {}
    own_mark = hit.outdated
    own_clause = own_mark.clause if own_mark is not None and own_mark.is_told else ""
    for fact, clause in ended_facts:
        if own_mark is not None and not own_mark.closed and own_mark.by == fact.superseded_by:
            # The message only may be over, as its mark says.
            continue
        if own_clause and own_clause in clause and own_clause != clause:
            # The fact says more than what ends.
            continue
        successor = successors.get(fact.superseded_by)
        said_at = successor.recorded_at if successor else fact.valid_to
        if said_at is not None:
            marks[clause] = OutdatedMark(
                by=successor.id if successor else "",
                said_at=said_at,
                said_on=on_tellers_clock(successor or fact, said_at).date(),
                probability=1.0,
                closed=True,
                words=_read_words(successor) if successor else "",
                clause=clause,
            )
    if own_mark is not None and own_clause:
        is_told = any(over in own_clause or own_clause in over for over in marks)
        if not is_told:
            marks[own_clause] = own_mark
    if not marks:
        return hit
    clauses = tuple(marks.values())
    return replace(hit, ended_clauses=clauses, outdated=own_mark or clauses[0])


def _read_words(successor: Record) -> str:
    """Read the words by which a statement was told; of a message its text."""
    words = next((item.quote for item in successor.evidence if item.quote), successor.text)
    return " ".join(words.split())
