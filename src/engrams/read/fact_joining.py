"""Facts joined to the turns that they were taken from: the two are one hit.

``group_hits`` merges facts that were found into their turns and attaches those that were not;
``find_derived`` and ``follow_refinements`` find what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from engrams.core import CORRECTED, REFINES, UNSAID, Evidence, Hit, Kind, Record, Status
from engrams.core.records import repeats_turns
from engrams.frozen_data import dataclass, replace
from engrams.ports import AsOf
from engrams.read.corrected_words import mask_corrected
from engrams.text.clause_kinds import may_end
from engrams.text.clause_split import split_clauses
from engrams.text.remainders import find_remainder
from engrams.text.terms import terms

SHOWN_STATUSES = (Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED)
"""Statuses of records that may be shown beside a hit, or say that it is outdated."""

_MOST_REFINED = 8
"""Times that one fact can be refined and still be followed."""


_NO_EXCHANGES: Mapping[str, str] = {}

_MOST_FRAME_TERMS = 3
"""Terms beside the right value in a message that says nothing else: "sorry, typo, I meant"."""


@dataclass(frozen=True, slots=True)
class GroupedHits:
    """Hits after facts were joined to their turns."""

    hits: tuple[Hit, ...]
    """Best first."""
    merged: Mapping[str, str]
    """Ids of facts that were hits of their own, with the ids of their turns."""


@dataclass(frozen=True, slots=True)
class FactGroupingRules:
    """Moments and settings that tell how facts count for their turns."""

    now: datetime
    as_of: AsOf | None = None
    takes_parts: bool = False
    """A turn takes over all parts of a better fact's score, not the difference as one part."""


def group_hits(
    hits: Sequence[Hit],
    derived: Mapping[str, Sequence[Record]],
    refined: Mapping[str, Record],
    rules: FactGroupingRules,
) -> GroupedHits:
    """Merge facts into the found turns they quote, with the better score.

    A fact whose words in the turn were corrected since stays a hit of its own. A turn that only sets
    a value right is merged into the fact that says it in full. ``derived``: facts
    by the id of what they are derived from. ``refined``: of ``follow_refinements``.
    """
    by_id = {hit.record.id: hit for hit in hits}
    exchange_ids = _map_exchanges(hits)
    facts_by_hit = {record_id: list(facts) for record_id, facts in derived.items()}
    merged: dict[str, str] = {}
    for turn_id, fact_id in _find_completions(hits, by_id).items():
        merged[turn_id] = fact_id
        better = max(by_id[turn_id], by_id[fact_id], key=_get_score)
        by_id[fact_id] = replace(by_id[fact_id], score=better.score, parts=better.parts)
    for hit in hits:
        turn = _find_quoted(hit.record, by_id, exchange_ids)
        if turn is None or turn.record.id in merged:
            continue
        merged[hit.record.id] = turn.record.id
        if repeats_turns(turn.record):
            facts_by_hit.setdefault(turn.record.id, []).append(hit.record)
        if hit.score > turn.score:
            parts = hit.parts
            if not rules.takes_parts:
                parts = {**turn.parts, "fact": hit.score - turn.score}
            by_id[turn.record.id] = replace(turn, score=hit.score, parts=parts)
    unmerged = {record_id: hit for record_id, hit in by_id.items() if record_id not in merged}
    joined = dict(unmerged)
    for record_id, facts in facts_by_hit.items():
        if record_id in unmerged:
            hit = unmerged[record_id]
            is_over = _is_turn_over(hit.record, facts, refined, rules)
            # A fact that is a hit of its own is not shown twice.
            further_facts = tuple(fact for fact in facts if fact.id not in unmerged)
            joined[record_id] = _attach_facts(hit, further_facts, is_over=is_over)
    return GroupedHits(tuple(sorted(joined.values(), key=_by_score)), merged)


def _by_score(hit: Hit) -> float:
    return -hit.score


def _get_score(hit: Hit) -> float:
    return hit.score


def _find_completions(hits: Sequence[Hit], by_id: Mapping[str, Hit]) -> dict[str, str]:
    """Find found turns that say less than the fact which they corrected, with the best such fact.

    "No, I meant Thursday" answers no question; "My appointment is on Thursday" does.
    """
    # Hardly any search finds a correction: the words of the others are not read.
    if not any(is_correction(hit.record) for hit in hits):
        return {}
    completions: dict[str, str] = {}
    says_besides: set[str] = set()
    for hit in hits:
        turn = _find_quoted(hit.record, by_id)
        if turn is None or turn.record.kind is not Kind.TURN:
            continue
        fact_terms = set(terms(hit.record.text))
        turn_terms = set(terms(turn.record.text))
        if not is_correction(hit.record) or len(turn_terms - fact_terms) > _MOST_FRAME_TERMS:
            says_besides.add(turn.record.id)
        elif not fact_terms <= turn_terms:
            completions.setdefault(turn.record.id, hit.record.id)
    return {turn: fact for turn, fact in completions.items() if turn not in says_besides}


def is_correction(fact: Record) -> bool:
    """True for a statement that was made by setting an earlier one right."""
    return fact.meta.get("effect") == "corrects"


def _map_exchanges(hits: Sequence[Hit]) -> dict[str, str]:
    """Map turns to the found exchanges that they became, by id."""
    return {
        quote.source: hit.record.id
        for hit in hits
        if repeats_turns(hit.record)
        for quote in hit.record.evidence
    }


def _find_quoted(
    fact: Record, hits: Mapping[str, Hit], exchange_ids: Mapping[str, str] = _NO_EXCHANGES
) -> Hit | None:
    """Find the first hit that a fact quotes, or whose turn it quotes, and that still says so."""
    for quote in fact.evidence:
        turn = hits.get(quote.source) or hits.get(exchange_ids.get(quote.source, ""))
        if turn is not None and turn.record.id != fact.id and _still_says(turn.record, quote):
            return turn
    return None


def _still_says(turn: Record, quote: Evidence) -> bool:
    return CORRECTED not in turn.meta or quote.quote in turn.text


def _attach_facts(hit: Hit, facts: tuple[Record, ...], *, is_over: bool) -> Hit:
    # Not by ``replace``, which takes twice as long: every hit of every search comes by here.
    return Hit(
        record=hit.record,
        score=hit.score,
        status=Status.SUPERSEDED if is_over else hit.record.status,
        parts=hit.parts,
        facts=facts,
        snippet=hit.snippet,
        outdated=hit.outdated,
        ended_clauses=hit.ended_clauses,
    )


def _is_turn_over(
    turn: Record,
    facts: Sequence[Record],
    refined: Mapping[str, Record],
    rules: FactGroupingRules,
) -> bool:
    """True if all facts that a turn says are over; of a refined one, if what refined it is."""
    quoting = [fact for fact in facts if turn.id in [quote.source for quote in fact.evidence]]
    if not quoting or not all(is_over(refined.get(fact.id, fact), rules) for fact in quoting):
        return False
    quotes = [
        (quote.quote, fact.object)
        for fact in quoting
        for quote in fact.evidence
        if quote.source == turn.id
    ]
    if any(find_remainder(quote, value) for quote, value in quotes):
        return False
    return not says_more(turn.text, [quote for quote, _ in quotes])


def says_more(text: str, quotes: Sequence[str]) -> bool:
    """True if a message tells a state or a plan in a clause without any of some quotes."""
    return any(
        may_end(clause) and len(terms(clause)) > 1
        for clause in split_clauses(text)
        if not any(quote and (quote in clause or clause.strip() in quote) for quote in quotes)
    )


def is_over(fact: Record, rules: FactGroupingRules) -> bool:
    """True if a fact is superseded, or ended by another.

    At a past time: if it had ended and that was known.
    """
    as_of = rules.as_of
    # Active with an end to come: what replaces it holds from a later day on.
    is_ending = (
        fact.status is Status.ACTIVE and bool(fact.superseded_by) and fact.valid_to is not None
    )
    if is_ending and as_of is None:
        as_of = AsOf(valid=rules.now)
    is_superseded = fact.status is Status.SUPERSEDED
    if as_of is None or not (is_superseded or is_ending):
        return is_superseded
    if fact.retired_at is not None and (as_of.known is None or fact.retired_at <= as_of.known):
        return True
    end_known = fact.ended_at is None or as_of.known is None or fact.ended_at <= as_of.known
    return (
        fact.valid_to is not None
        and end_known
        and (as_of.valid is None or fact.valid_to <= as_of.valid)
    )


def find_derived(
    sources: Sequence[tuple[str, str]], records: Mapping[str, Record]
) -> dict[str, list[Record]]:
    """Find facts by the turns they are derived from, superseded ones too.

    What an edited turn no longer says is none of its facts, nor is the episode of its whole
    conversation. ``sources``: ids of facts and of what
    they are derived from.
    """
    derived: dict[str, list[Record]] = {}
    for fact_id, target in sources:
        fact = records.get(fact_id)
        if fact is None or fact.status not in SHOWN_STATUSES or UNSAID in fact.meta:
            continue
        if fact.kind is Kind.EPISODE:
            continue
        if CORRECTED in fact.meta:
            fact = mask_corrected(fact)
        derived.setdefault(target, []).append(fact)
    return derived


def follow_refinements(
    facts: Iterable[Record], fetch: Callable[[list[str]], Sequence[Record]]
) -> dict[str, Record]:
    """Find what now says refined facts more exactly, by their ids.

    ``fetch`` gets records by id.
    """
    refined: dict[str, Record] = {}
    front = {fact.id: fact for fact in facts if _may_be_refined(fact)}
    for _ in range(_MOST_REFINED):
        if not front:
            break
        successors = {
            record.id: record for record in fetch([fact.superseded_by for fact in front.values()])
        }
        steps = {
            fact_id: successors[fact.superseded_by]
            for fact_id, fact in front.items()
            if _is_refined_by(fact, successors.get(fact.superseded_by))
        }
        refined.update(steps)
        front = {fact_id: fact for fact_id, fact in steps.items() if _may_be_refined(fact)}
    return refined


def _may_be_refined(fact: Record) -> bool:
    """True if a fact was replaced without having ended."""
    return fact.status is Status.SUPERSEDED and bool(fact.superseded_by) and fact.valid_to is None


def _is_refined_by(fact: Record, successor: Record | None) -> bool:
    refined_ids = successor.meta.get(REFINES) if successor is not None else None
    return isinstance(refined_ids, list) and fact.id in refined_ids
