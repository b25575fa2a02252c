"""Stored statements that a candidate is compared with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Literal

from engrams.core import Kind, Record, Scope, Status
from engrams.errors import ModelError
from engrams.extract.candidate import CandidateStatement
from engrams.extract.gate import BRIEF, gate_text
from engrams.extract.predicate_slots import canonical_predicate, closed_slots, is_single
from engrams.ports import CandidateSearchQuery, Condition, RecordQuery, ScopeReach, Where
from engrams.text.terms import terms
from engrams.write.dependencies import WriteDeps

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)
OPEN = (Status.ACTIVE, Status.CANDIDATE)
NEAR = 5
_SLOT = 200
_LATEST = 20
_BEFORE = 4
_AMONG = 100
_EDGE = 1e-6

_ASKS = re.compile(r"[?？؟]")
_INNER = frozenset(("conversation", "session", "thread", "chat"))


def find_neighbours(candidate: CandidateStatement, record: Record, deps: WriteDeps) -> list[Record]:
    """Find stored statements of the slots that a candidate fills or closes."""
    known = RecordQuery(
        scopes_in_reach(record.scope, deps.settings.reach),
        STATEMENTS,
        OPEN,
        subject=candidate.subject,
        limit=_SLOT,
    )
    also = [predicate for predicate, _ in closed_slots(candidate.predicate, candidate.object)]
    predicates = tuple(
        dict.fromkeys((candidate.predicate, canonical_predicate(candidate.predicate), *also))
    )
    # In a slot of many values, the relevant ones share words with the candidate: ``find_nearest``
    # finds them.
    whole = is_single(candidate.predicate, candidate.subject) or candidate.effect != "states"
    found = deps.find(
        replace(known, predicates=predicates, limit=_SLOT if whole else _LATEST * len(predicates))
    ).records
    if candidate.effect == "corrects":
        found += deps.find(known).records
    return _within_scope(found, record, deps)


def find_latest(record: Record, deps: WriteDeps) -> list[Record]:
    """Find the latest statements of the record's session."""
    query = RecordQuery(
        scopes_in_reach(record.scope, deps.settings.reach),
        STATEMENTS,
        OPEN,
        session=record.session,
        limit=NEAR * 2,
    )
    return [one for one in deps.find(query).records if one.scope == record.scope]


def find_past(candidate: CandidateStatement, record: Record, deps: WriteDeps) -> Sequence[Record]:
    """Find the superseded values of the candidate's slot."""
    predicates = (canonical_predicate(candidate.predicate),)
    slot = RecordQuery(
        scopes_in_reach(record.scope, deps.settings.reach),
        STATEMENTS,
        (Status.SUPERSEDED,),
        subject=candidate.subject,
        predicates=predicates,
        limit=_SLOT,
    )
    return deps.find(slot).records


def find_ended(by: Sequence[Record], record: Record, deps: WriteDeps) -> list[Record]:
    """Find superseded statements of the slots that some events fill or close."""
    slots = {
        (one.predicate, *(name for name, _ in closed_slots(one.predicate, one.object))): one.subject
        for one in by
    }
    reach = scopes_in_reach(record.scope, deps.settings.reach)
    return [
        one
        for names, subject in slots.items()
        for one in deps.find(
            RecordQuery(
                reach,
                STATEMENTS,
                (Status.SUPERSEDED,),
                subject=subject,
                predicates=names,
                limit=_SLOT,
            )
        ).records
    ]


def find_statements(candidate: CandidateStatement, record: Record, deps: WriteDeps) -> list[Record]:
    """Find the latest statements whose slots may be synonyms of the candidate's."""
    query = RecordQuery(
        scopes_in_reach(record.scope, deps.settings.reach), STATEMENTS, OPEN, limit=NEAR * 10
    )
    query = (
        replace(query, predicates=("is",))
        if candidate.predicate == "is"
        else replace(query, subject=candidate.subject)
    )
    return _within_scope(deps.find(query).records, record, deps)


def find_nearest(
    said: Sequence[tuple[CandidateStatement, Record]], deps: WriteDeps
) -> list[list[Record]]:
    """Find the statements nearest in words to each candidate of one owner."""
    if not said or deps.search is None or deps.settings.reconcile == "off":
        return [[] for _ in said]
    model = deps.embedder.card.id if deps.embedder else ""
    asked = {place: one for place, one in enumerate(said) if not one[0].is_elliptic}
    queries = [
        CandidateSearchQuery(
            scopes_in_reach(record.scope, deps.settings.reach),
            record.recorded_at,
            tuple((word, 1.0) for word in dict.fromkeys(terms(candidate.text))),
            model=model,
            width=NEAR * 4,
            kinds=STATEMENTS,
            alone=True,
        )
        for candidate, record in asked.values()
    ]
    owner = said[0][1].scope.owner
    pools = deps.search.seek_all(queries)
    ids = [pool.ids.at(find_highest(pool.bm, NEAR)) for pool in pools]
    near = dict(zip(asked, ids, strict=True))
    every = [*dict.fromkeys(name for names in ids for name in names)]
    known = {one.id: one for one in deps.records.get(owner, every)} if every else {}
    found = [
        [known[name] for name in near.get(place, ()) if name in known] for place in range(len(said))
    ]
    return [
        _within_scope(some, record, deps) for some, (_, record) in zip(found, said, strict=True)
    ]


def find_highest(scores: Floats, most: int) -> list[int]:
    """Find the places of the highest scores; the first of equals."""
    import numpy as np

    if len(scores) <= most:
        return [int(place) for place in (-scores).argsort(kind="stable")]
    least = np.partition(scores, len(scores) - most)[len(scores) - most]
    some = np.flatnonzero(scores >= least)
    return [int(place) for place in some[(-scores[some]).argsort(kind="stable")[:most]]]


def find_rivals(candidate: CandidateStatement, record: Record, deps: WriteDeps) -> list[Record]:
    """Find stored statements that a candidate may contradict.

    Of its category, unless it is stored already, with a cosine of ``write.contradiction_cosine`` or
    more, nearest first.
    """
    same_category = (
        None if candidate.id else Where("and", (Condition("category", "eq", candidate.category),))
    )
    return _find_alike(candidate, record, deps, deps.settings.contradiction_cosine, same_category)


def find_twins(candidate: CandidateStatement, record: Record, deps: WriteDeps) -> list[Record]:
    """Find stored statements that may say the same, nearest first."""
    least = deps.settings.dedup_cosine
    return _find_alike(candidate, record, deps, least) if least else []


def _find_alike(
    candidate: CandidateStatement,
    record: Record,
    deps: WriteDeps,
    least: float,
    where: Where | None = None,
) -> list[Record]:
    if deps.embedder is None or deps.search is None or not deps.embedder.card.dimension:
        return []
    try:
        (own,) = deps.embedder.embed([candidate.text])
    except ModelError:
        return []
    reach = scopes_in_reach(record.scope, deps.settings.reach)
    model = deps.embedder.card.id
    asked = CandidateSearchQuery(
        reach=reach,
        now=record.recorded_at,
        terms=(),
        vector=own,
        model=model,
        width=NEAR * 4,
        kinds=STATEMENTS,
        where=where,
        alone=True,
    )
    pool = deps.search.seek(asked)
    scored = zip(pool.ids, pool.cos, pool.embedded, strict=True)
    near = {name: float(cos) for name, cos, known in scored if known and cos >= least - _EDGE}
    return sorted(
        _within_scope(deps.records.get(record.scope.owner, list(near)), record, deps),
        key=lambda one: (-near[one.id], one.id),
    )


def find_inner_rivals(candidates: Sequence[CandidateStatement], deps: WriteDeps) -> set[int]:
    """Find candidates of one batch that may contradict each other."""
    if deps.embedder is None or not deps.embedder.card.dimension or len(candidates) < 2:
        return set()
    try:
        rows = deps.embedder.embed([candidate.text for candidate in candidates])
    except ModelError:
        return set()
    near = rows @ rows.T >= deps.settings.contradiction_cosine - _EDGE
    pairs = [pair for pair in combinations(range(len(candidates)), 2) if near[pair]]
    return {
        at
        for one, other in pairs
        if candidates[one].category == candidates[other].category
        for at in (one, other)
    }


def find_context(records: Sequence[Record], deps: WriteDeps) -> list[Record]:
    """Find other turns of a conversation, among and before these.

    The last ``write.context_turns`` at most, in order.
    """
    most = deps.settings.context_turns
    first = records[0]
    if not most:
        return []
    turns = RecordQuery(
        ScopeReach(first.scope.owner, (first.scope,)),
        (Kind.TURN,),
        (Status.ACTIVE, Status.ARCHIVED),
        session=first.session,
    )
    # Turns are listed by id, which begins with their time.
    before = deps.records.find(replace(turns, after=first.id, limit=_BEFORE)).records
    among = deps.records.find(replace(turns, order="oldest", after=first.id, limit=_AMONG)).records
    shown = {record.id for record in records}
    others = [
        one
        for one in (*before[::-1], *among)
        if one.session == first.session and one.id not in shown
    ]
    said = [one for one in others if one.role in ("user", "assistant", "")]
    return [one for one in said if one.story_key < records[-1].story_key][-most:]


def find_replies(records: Sequence[Record], deps: WriteDeps) -> frozenset[str]:
    """Find brief turns right after a question of the assistant."""
    brief = [
        record
        for record in records
        if (refused := gate_text(record.text)) is not None and refused.reason in BRIEF
    ]
    if not brief:
        return frozenset()
    said = sorted(
        {one.id: one for one in (*find_context(records, deps), *records)}.values(),
        key=lambda one: one.story_key,
    )
    return frozenset(
        turn.id
        for before, turn in pairwise(said)
        if before.role == "assistant"
        and before.session == turn.session
        and _ASKS.search(before.text)
    )


def find_known(record: Record, deps: WriteDeps) -> tuple[Record, ...]:
    """Find statements to show the model, so that it repeats none."""
    return deps.records.find(
        RecordQuery(scopes_in_reach(record.scope, deps.settings.reach), STATEMENTS, limit=80)
    ).records


def _within_scope(records: Sequence[Record], record: Record, deps: WriteDeps) -> list[Record]:
    if deps.settings.reach == "conversation":
        return [one for one in records if one.scope == record.scope]
    above = durable_scope(record.scope).chain()
    return [one for one in records if durable_scope(one.scope) in above]


def durable_scope(scope: Scope) -> Scope:
    """Strip trailing conversation labels from a scope.

    A person's facts hold across conversations, a project's within it.
    """
    labels = scope.labels
    while len(labels) > 2 and labels[-2] in _INNER:
        labels = labels[:-2]
    return scope if len(labels) == len(scope.labels) else Scope(labels)


def scopes_in_reach(scope: Scope, reach: Literal["owner", "conversation"] = "owner") -> ScopeReach:
    """Scopes whose statements one of this scope may change."""
    if reach == "conversation":
        return ScopeReach(scope.owner, (scope,))
    return ScopeReach(scope.owner, durable_scope(scope).chain(), tree=True)


def known_speakers(records: Sequence[Record], deps: WriteDeps) -> frozenset[str]:
    """Return names of the conversation's speakers, lower case.

    Without the bare roles (user, assistant, system, tool).
    """
    named = {record.speaker for record in records}
    if deps.search is not None:
        named |= set(deps.search.speakers(scopes_in_reach(records[0].scope, deps.settings.reach)))
    return frozenset(name.strip().lower() for name in named if name.strip()) - {
        "user",
        "assistant",
        "system",
        "tool",
    }
