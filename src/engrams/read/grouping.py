"""Grouping of facts with their source turns into one hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engrams.ports import Graph, Records
from engrams.types import EdgeType, Hit, Record, Scope, Status

_SHOWN_STATUSES = (Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED)


@dataclass(frozen=True, slots=True)
class GroupedHits:
    """Hits, best first, and ids of merged candidates by target id."""

    hits: tuple[Hit, ...]
    merged: Mapping[str, str]


def group_hits(hits: Sequence[Hit], owner: Scope, records: Records, graph: Graph) -> GroupedHits:
    """Merge facts into the found turns they quote, with the better score."""
    by_id = {hit.record.id: hit for hit in hits}
    merged: dict[str, str] = {}
    for hit in hits:
        source = next((quote.source for quote in hit.record.evidence if quote.source in by_id and quote.source != hit.record.id), "")
        if source:
            merged[hit.record.id] = source
            turn = by_id[source]
            if hit.score > turn.score:
                by_id[source] = replace(turn, score=hit.score, parts={**turn.parts, "fact": hit.score - turn.score})
    kept = [by_id[hit.record.id] for hit in hits if hit.record.id not in merged]
    facts = _find_derived(kept, owner, records, graph)
    kept = [_attach_facts(hit, facts.get(hit.record.id, ())) for hit in kept]
    return GroupedHits(tuple(sorted(kept, key=lambda hit: -hit.score)), merged)


def put_current_first(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Move superseding memories above those that they superseded."""
    order = list(hits)
    if all(hit.status is not Status.SUPERSEDED for hit in order):
        return tuple(order)
    moved: set[str] = set()
    place = 0
    while place < len(order):
        hit = order[place]
        newer = _find_successor(order, place, moved) if hit.status is Status.SUPERSEDED else None
        if newer is not None:
            # The winner may itself be superseded by a later one: look at this place again.
            winner = order.pop(newer)
            moved.add(winner.record.id)
            order.insert(place, replace(winner, score=max(winner.score, hit.score)))
        else:
            place += 1
    return tuple(order)


def _find_successor(order: Sequence[Hit], place: int, moved: set[str]) -> int | None:
    """Place of the first hit below that superseded the one at ``place``."""
    hit = order[place]
    successors = {record.superseded_by for record in (hit.record, *hit.facts) if record.superseded_by}
    if not successors:
        return None
    below = range(place + 1, len(order))
    return next((n for n in below if _is_among(order[n], successors) and order[n].record.id not in moved), None)


def _is_among(hit: Hit, ids: set[str]) -> bool:
    return hit.record.id in ids or any(fact.id in ids for fact in hit.facts)


def _find_derived(hits: Sequence[Hit], owner: Scope, records: Records, graph: Graph) -> dict[str, tuple[Record, ...]]:
    """Find facts derived from each hit, superseded ones too."""
    ids = [hit.record.id for hit in hits]
    edges = graph.edges(owner, ids, (EdgeType.DERIVED_FROM,)) if ids else ()
    wanted = set(ids)
    pairs = [(edge.source, edge.target) for edge in edges if edge.target in wanted]
    found = {record.id: record for record in records.get(owner, [source for source, _ in pairs])} if pairs else {}
    facts: dict[str, tuple[Record, ...]] = {}
    for source, target in pairs:
        if source in found and found[source].status in _SHOWN_STATUSES:
            facts[target] = (*facts.get(target, ()), found[source])
    return facts


def _attach_facts(hit: Hit, facts: tuple[Record, ...]) -> Hit:
    """Attach facts; a turn is superseded if all its facts are."""
    if not facts:
        return hit
    quoting = [fact for fact in facts if hit.record.id in {quote.source for quote in fact.evidence}]
    over = bool(quoting) and all(fact.status is Status.SUPERSEDED for fact in quoting)
    return replace(hit, facts=facts, status=Status.SUPERSEDED if over else hit.record.status)
