"""Expansion of hits along links; facts joined to their turns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from engrams.core import (
    CORRECTED,
    REFINES,
    UNSAID,
    Edge,
    EdgeType,
    Evidence,
    Hit,
    Kind,
    OutdatedMark,
    Record,
    Scope,
    Status,
)
from engrams.frozen_data import dataclass
from engrams.ports import AsOf, LinkStore
from engrams.read.corrected_words import mask_corrected
from engrams.settings import LinkExpansionSettings
from engrams.text.terms import terms

FACTORS: Mapping[EdgeType, float] = {
    EdgeType.HAS_TAG: 0.8,
    EdgeType.IN_TOPIC: 0.6,
    EdgeType.SUPERSEDES: 0.9,
    EdgeType.DERIVED_FROM: 0.7,
    EdgeType.CONTRADICTS: 0.3,
    EdgeType.ABSTRACTED_FROM: 0.6,
}
"""Share of the score kept over a link by type; others keep their weight, at most 1."""

MAX_LINKS = 50
"""Links followed from one node: a tag on thousands of memories tells nothing."""


_NOT_LENT = (EdgeType.DERIVED_FROM, EdgeType.MAY_OUTDATE)
_ENDING = (EdgeType.SUPERSEDES, EdgeType.MAY_OUTDATE)


_SAID = (Kind.TURN, Kind.NOTE, Kind.EXCHANGE)
_BEST = 10
"""Hits that one from below enters only by what is sure."""
_MOST_REFINED = 8
"""Times that one fact can be refined and still be followed."""
_SHOWN_STATUSES = (Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED)


def cascade_scores(
    seeds: Mapping[str, float],
    neighbours: Callable[[Sequence[str]], Sequence[Edge]],
    depth: int,
    decay: float,
) -> dict[str, float]:
    """Score nodes within ``depth`` steps of the seeds by their best path.

    A step multiplies the score it starts from by the link's factor and by ``decay`` to the power of
    its depth, counted from 1 (
    0.7 ** (depth + 1) with depth from 0). ``depth`` 0 gives the seeds. Links are followed in both
      directions.
    """
    best = dict(seeds)
    front = dict(seeds)
    for step in range(1, depth + 1):
        reached: dict[str, float] = {}
        fan: dict[str, int] = {}
        for edge in neighbours(list(front)):
            for start, end in ((edge.source, edge.target), (edge.target, edge.source)):
                if start in front and start != end and fan.get(start, 0) < MAX_LINKS:
                    fan[start] = fan.get(start, 0) + 1
                    reached[end] = max(
                        reached.get(end, 0.0), front[start] * link_factor(edge) * decay**step
                    )
        front = {node: score for node, score in reached.items() if score > best.get(node, 0.0)}
        best.update(front)
        if not front:
            break
    return best


def link_factor(edge: Edge) -> float:
    """Share of a score kept over this link, 0..1."""
    return FACTORS.get(edge.type, min(max(edge.weight, 0.0), 1.0))


class NodeEdgeCache:
    """Links of one owner's nodes; each node is fetched once.

    ``commit``: of the search's survey.
    """

    def __init__(self, owner: Scope, graph: LinkStore, commit: str = "") -> None:
        self._owner = owner
        self._graph = graph
        self._commit = commit
        self._asked: set[str] = set()
        self._edges: dict[str, list[Edge]] = {}
        """Edges by node; a node without any has no entry."""
        self.records: dict[str, Record] = {}
        """Records that came with them, by id."""

    def fetch(self, nodes: Sequence[str]) -> list[Edge]:
        """Edges at each of the nodes, in their order."""
        if not self._asked.issuperset(nodes):
            fresh = dict.fromkeys(node for node in nodes if node not in self._asked)
            self._add(fresh, self._graph.edges(self._owner, list(fresh)))
        return (
            [edge for node in nodes if node in self._edges for edge in self._edges[node]]
            if self._edges
            else []
        )

    def fetch_with_records(self, ids: Sequence[str]) -> None:
        """Fetch edges at records, with the records, their facts and ends."""
        found, records = self._graph.surroundings(
            self._owner, ids, (EdgeType.DERIVED_FROM, *_ENDING), self._commit
        )
        self._add(dict.fromkeys(ids), found)
        self.records.update((record.id, record) for record in records)

    def _add(self, nodes: Mapping[str, object], found: Sequence[Edge]) -> None:
        self._asked.update(nodes)
        for edge in found:
            for end in {edge.source, edge.target} & nodes.keys():
                self._edges.setdefault(end, []).append(edge)

    def fetch_lending(self, nodes: Sequence[str]) -> list[Edge]:
        """Fetch links over which a score spreads to neighbours.

        Links of a fact and its turn do not: they become one hit. Nor does a doubt.
        """
        return [edge for edge in self.fetch(nodes) if edge.type not in _NOT_LENT]

    def find_sources(self, targets: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of a fact and the target that it is derived from."""
        if not (found := self.fetch(targets)):
            return []
        wanted = set(targets)
        return sorted(
            {
                (edge.source, edge.target)
                for edge in found
                if edge.type is EdgeType.DERIVED_FROM and edge.target in wanted
            }
        )

    def find_later(self, targets: Sequence[str]) -> dict[str, list[Edge]]:
        """Edges from later statements that end the targets, or may, by target."""
        if not self.fetch(targets):
            return {}
        linked = [target for target in dict.fromkeys(targets) if target in self._edges]
        found = {
            one: [edge for edge in self._edges[one] if edge.target == one and edge.type in _ENDING]
            for one in linked
        }
        return {target: later for target, later in found.items() if later}


def link_bonuses(
    seeds: Mapping[str, float], edges: NodeEdgeCache, settings: LinkExpansionSettings
) -> dict[str, tuple[float, str]]:
    """Compute score bonuses that linked hits lend, each with its seed.

    A bonus is a share of the best cascade score.

    Only better seeds add to a node. Links between a fact and its turn are not followed: the two
    become one hit anyway.
    """
    if not settings.depth or not settings.bonus or not seeds:
        return {}
    extra: dict[str, tuple[float, str]] = {}
    if not edges.fetch(list(seeds)):
        return extra
    for seed, score in seeds.items():
        if edges.fetch_lending([seed]):
            for node, reached in cascade_scores(
                {seed: score}, edges.fetch_lending, settings.depth, settings.decay
            ).items():
                if node != seed and seeds.get(node, 0.0) < score:
                    extra[node] = max(extra.get(node, (0.0, "")), (settings.bonus * reached, seed))
    return _add_successors(extra, seeds, edges, settings) if settings.vouch else extra


def _add_successors(
    extra: dict[str, tuple[float, str]],
    seeds: Mapping[str, float],
    edges: NodeEdgeCache,
    settings: LinkExpansionSettings,
) -> dict[str, tuple[float, str]]:
    """Add what took the place of facts that a seed message said."""
    said = edges.find_sources(list(seeds))
    later = edges.find_later([fact for fact, _ in said])
    for fact, seed in said:
        for edge in later.get(fact, ()):
            if edge.type is EdgeType.SUPERSEDES and edge.source != seed:
                bonus = settings.bonus * seeds[seed] * FACTORS[EdgeType.SUPERSEDES] * settings.decay
                extra[edge.source] = max(extra.get(edge.source, (0.0, "")), (bonus, seed))
    return extra


@dataclass(frozen=True, slots=True)
class GroupedHits:
    """Hits, best first, and ids of merged candidates by target id."""

    hits: tuple[Hit, ...]
    merged: Mapping[str, str]


def group_hits(
    hits: Sequence[Hit],
    derived: Mapping[str, Sequence[Record]],
    now: datetime,
    as_of: AsOf | None = None,
    asked: Collection[str] = (),
    *,
    refined: Mapping[str, Record],
    whole: bool = False,
) -> GroupedHits:
    """Merge facts into the found turns they quote, with the better score.

    A fact whose words in the turn were corrected since stays a hit of its own.

    ``derived``: facts by the id of what they are derived from. ``asked``: words, if given, that
    tell which of a turn's facts count. ``refined``: of ``follow_refinements``. ``whole``: with all
    parts of that score, not with what the fact adds.
    """
    by_id = {hit.record.id: hit for hit in hits}
    merged: dict[str, str] = {}
    for hit in hits:
        if not hit.record.evidence:
            continue
        own = hit.record.id
        said = (
            quote for quote in hit.record.evidence if quote.source in by_id and quote.source != own
        )
        source = next(
            (quote.source for quote in said if _still_says(by_id[quote.source].record, quote)), ""
        )
        if source:
            merged[own] = source
            turn = by_id[source]
            if hit.score > turn.score:
                parts = hit.parts if whole else {**turn.parts, "fact": hit.score - turn.score}
                by_id[source] = replace(turn, score=hit.score, parts=parts)
    alone = {name: hit for name, hit in by_id.items() if name not in merged}
    kept = [
        _attach_facts(hit, derived[name], refined, now, as_of, asked, alone)
        if name in derived
        else hit
        for name, hit in alone.items()
    ]
    return GroupedHits(tuple(sorted(kept, key=_by_score)), merged)


def _by_score(hit: Hit) -> float:
    return -hit.score


def _still_says(turn: Record, quote: Evidence) -> bool:
    return CORRECTED not in turn.meta or quote.quote in turn.text


def put_current_first(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Move superseding memories above those that they superseded.

    Each gets at least their score. One that only may outdate another must be among the best ten or
    follow one that is not; the less probable it is, the nearer must the scores be.
    """
    order = list(hits)
    named = {record.id for hit in hits for record in (hit.record, *hit.facts)}
    giving = {
        hit.record.id
        for hit in hits
        if _gives_way(hit) and not named.isdisjoint(_list_successors(hit))
    }
    if not giving:
        return tuple(order)
    moved: set[str] = set()
    place = 0
    while place < len(order):
        hit = order[place]
        newer = _find_successor(order, place, moved) if hit.record.id in giving else None
        if newer is not None:
            # The winner may itself be superseded by a later one: look at this place again.
            winner = order.pop(newer)
            moved.add(winner.record.id)
            order.insert(place, _raise_to(winner, hit.score))
        else:
            place += 1
    return tuple(order)


def _raise_to(winner: Hit, score: float) -> Hit:
    """Raise a memory to a score; the part ``current`` is the raise."""
    if winner.score >= score:
        return winner
    return replace(
        winner,
        score=score,
        parts={**winner.parts, "current": winner.parts.get("current", 0.0) + score - winner.score},
    )


def _gives_way(hit: Hit) -> bool:
    return hit.status is Status.SUPERSEDED or hit.outdated is not None


def mark_outdated(
    hits: Sequence[Hit],
    later: Mapping[str, Sequence[Edge]],
    known: Mapping[str, Record],
    as_of: AsOf | None,
) -> tuple[Hit, ...]:
    """Mark what a later statement ends, or may end.

    Facts that have ended say so themselves.

    ``later``: edges of ``NodeEdgeCache.find_later``; ``known``: records by id. A later statement
    that is forgotten, or was not said yet at ``as_of``, counts for nothing.
    """
    if not later:
        return tuple(hits)
    return tuple(
        _mark_hit(hit, later[hit.record.id], known, as_of) if hit.record.id in later else hit
        for hit in hits
    )


def _mark_hit(
    hit: Hit, ends: Sequence[Edge], known: Mapping[str, Record], as_of: AsOf | None
) -> Hit:
    until = [
        moment for moment in ((as_of.valid, as_of.known) if as_of else ()) if moment is not None
    ]
    said = [
        (edge.type is EdgeType.SUPERSEDES, known[edge.source].recorded_at, edge)
        for edge in ends
        if edge.source in known
        and (hit.record.kind in _SAID or edge.type is EdgeType.MAY_OUTDATE)
        and known[edge.source].status in _SHOWN_STATUSES
        and all(known[edge.source].recorded_at <= end for end in until)
    ]
    if not said:
        return hit
    closed, moment, edge = max(said, key=lambda one: (one[0], one[1], one[2].source))
    status = Status.SUPERSEDED if closed else hit.status
    return replace(
        hit, status=status, outdated=OutdatedMark(edge.source, moment, edge.weight, closed)
    )


def _list_successors(hit: Hit) -> set[str]:
    """List ids of what replaces a hit or its facts, or may."""
    successors = {
        record.superseded_by for record in (hit.record, *hit.facts) if record.superseded_by
    }
    return successors if hit.outdated is None else {*successors, hit.outdated.by}


def _find_successor(order: Sequence[Hit], place: int, moved: set[str]) -> int | None:
    hit = order[place]
    successors = _list_successors(hit)
    sure = hit.status is Status.SUPERSEDED or hit.outdated is None
    least = 0.0 if sure or hit.outdated is None else (1 - hit.outdated.probability) ** 2 * hit.score
    below = range(place + 1, len(order) if sure or place >= _BEST else min(_BEST, len(order)))
    return next(
        (
            n
            for n in below
            if _is_among(order[n], successors)
            and order[n].score >= least
            and order[n].record.id not in moved
        ),
        None,
    )


def _is_among(hit: Hit, ids: set[str]) -> bool:
    return hit.record.id in ids or (bool(hit.facts) and any(fact.id in ids for fact in hit.facts))


def find_derived(
    pairs: Sequence[tuple[str, str]], known: Mapping[str, Record]
) -> dict[str, list[Record]]:
    """Find facts by the turns they are derived from, superseded ones too.

    What an edited turn no longer says is none of its facts.
    """
    facts: dict[str, list[Record]] = {}
    for source, target in pairs:
        if (
            source in known
            and known[source].status in _SHOWN_STATUSES
            and UNSAID not in known[source].meta
        ):
            facts.setdefault(target, []).append(
                mask_corrected(known[source]) if CORRECTED in known[source].meta else known[source]
            )
    return facts


def follow_refinements(
    facts: Iterable[Record], fetch: Callable[[list[str]], Sequence[Record]]
) -> dict[str, Record]:
    """Find what now says refined facts more exactly, by their ids.

    ``fetch`` gets records by id.
    """
    found: dict[str, Record] = {}
    front = {fact.id: fact for fact in facts if _may_be_refined(fact)}
    for _ in range(_MOST_REFINED):
        if not front:
            break
        newer = {one.id: one for one in fetch([fact.superseded_by for fact in front.values()])}
        steps = {
            name: newer[fact.superseded_by]
            for name, fact in front.items()
            if _is_refined_by(fact, newer.get(fact.superseded_by))
        }
        found.update(steps)
        front = {name: fact for name, fact in steps.items() if _may_be_refined(fact)}
    return found


def _may_be_refined(fact: Record) -> bool:
    """True if a fact was replaced without having ended."""
    return fact.status is Status.SUPERSEDED and bool(fact.superseded_by) and fact.valid_to is None


def _is_refined_by(fact: Record, newer: Record | None) -> bool:
    named = newer.meta.get(REFINES) if newer is not None else None
    return isinstance(named, list) and fact.id in named


def _attach_facts(
    hit: Hit,
    facts: Sequence[Record],
    refined: Mapping[str, Record],
    now: datetime,
    as_of: AsOf | None,
    asked: Collection[str],
    alone: Collection[str],
) -> Hit:
    """Attach facts; a turn is superseded if all its facts are.

    A refined fact is so only if what refined it is. ``asked``: words that tell which of them count;
    ``alone``: ids of facts that are hits of their own, which are not attached.
    """
    said = (fact for fact in facts if fact.kind is not Kind.EPISODE)
    turn = hit.record.id
    quoting = [fact for fact in said if turn in [quote.source for quote in fact.evidence]]
    if asked:
        quoting = [
            fact
            for fact in quoting
            if any(set(terms(quote.quote)) & set(asked) for quote in fact.evidence)
        ] or quoting
    over = bool(quoting) and all(
        _is_over(refined.get(fact.id, fact), now, as_of) for fact in quoting
    )
    own = tuple(fact for fact in facts if fact.id not in alone)
    return Hit(
        record=hit.record,
        score=hit.score,
        status=Status.SUPERSEDED if over else hit.record.status,
        parts=hit.parts,
        facts=own,
        snippet=hit.snippet,
        outdated=hit.outdated,
    )


def _is_over(fact: Record, now: datetime, as_of: AsOf | None) -> bool:
    """True if a fact is superseded, or ended by another.

    At a past time: if it had ended and that was known.
    """
    planned = (
        fact.status is Status.ACTIVE and bool(fact.superseded_by) and fact.valid_to is not None
    )
    if planned and as_of is None:
        as_of = AsOf(valid=now)
    if (fact.status is not Status.SUPERSEDED and not planned) or as_of is None:
        return fact.status is Status.SUPERSEDED
    known = as_of.known
    valid = as_of.valid
    if fact.retired_at is not None and (known is None or fact.retired_at <= known):
        return True
    told = fact.ended_at is None or known is None or fact.ended_at <= known
    return fact.valid_to is not None and told and (valid is None or fact.valid_to <= valid)
