"""Known statements that a candidate is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.errors import ModelError
from engrams.ports import Condition, Query, Reach, Seek, Where
from engrams.text.terms import terms
from engrams.types import Kind, Record, Scope, Status
from engrams.write.backdate import insert_past_value
from engrams.write.candidate import Candidate
from engrams.write.changeset import ChangeSet
from engrams.write.deps import WriteDeps
from engrams.write.reconcile import Reconciliation, reconcile
from engrams.write.slots import canonical_predicate, closed_slots, is_single
from engrams.write.synonyms import find_synonyms

STATEMENTS = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)
OPEN = (Status.ACTIVE, Status.CANDIDATE)
NEAR = 5
_SLOT = 200
_LATEST = 20
_EDGE = 1e-6
_INNER = frozenset(("conversation", "session", "thread", "chat"))


def reconcile_candidate(candidate: Candidate, record: Record, deps: WriteDeps, changes: ChangeSet) -> Reconciliation:
    known = find_neighbours(candidate, record, deps, changes)
    synonyms = _find_synonymous(candidate, record, deps, changes)
    outcome = reconcile(candidate, [*known, *synonyms], deps.settings.dedup_jaccard, synonyms)
    if outcome.until is None:
        return outcome
    slot = Query(
        scopes_in_reach(record.scope),
        STATEMENTS,
        (Status.SUPERSEDED,),
        subject=candidate.subject,
        predicates=(canonical_predicate(candidate.predicate),),
    )
    changes.add_stored(deps.records.find(replace(slot, limit=_SLOT)).records)
    return insert_past_value(outcome, record, changes)


def find_neighbours(candidate: Candidate, record: Record, deps: WriteDeps, changes: ChangeSet) -> list[Record]:
    """Find the statements a candidate is compared with."""
    reach = scopes_in_reach(record.scope)
    found: list[Record] = []
    also = [predicate for predicate, _ in closed_slots(candidate.predicate, candidate.object)]
    # In a slot of many values, the relevant ones share words with the candidate: the search below finds them.
    most = _SLOT if is_single(candidate.predicate, candidate.subject) or candidate.effect != "states" else _LATEST
    for predicate in dict.fromkeys((candidate.predicate, canonical_predicate(candidate.predicate), *also)):
        query = Query(reach, STATEMENTS, OPEN, subject=candidate.subject, predicates=(predicate,), limit=most)
        found += deps.records.find(query).records
    if candidate.effect == "corrects" and not candidate.predicate:
        return _find_recent(record, reach, deps, changes)
    if candidate.effect == "corrects":
        found += deps.records.find(Query(reach, STATEMENTS, OPEN, subject=candidate.subject, limit=_SLOT)).records
    found += find_nearest(candidate, record, reach, deps)
    mine = durable_scope(record.scope)
    close = [one for one in found if durable_scope(one.scope) in mine.chain()]
    changes.add_stored(close)
    near = dict.fromkeys((*(one.id for one in close), *changes.created))
    return [one for name in near if (one := changes.current[name]).status in OPEN and one.kind in STATEMENTS]


def _find_synonymous(candidate: Candidate, record: Record, deps: WriteDeps, changes: ChangeSet) -> tuple[Record, ...]:
    """Find statements of synonymous slots; none if the embedder fails."""
    if deps.embedder is None or not candidate.single or candidate.effect == "ends":
        return ()
    reach, mine = scopes_in_reach(record.scope), durable_scope(record.scope)
    attributes = Query(reach, STATEMENTS, OPEN, predicates=("is",), limit=NEAR * 10)
    of_theirs = Query(reach, STATEMENTS, OPEN, subject=candidate.subject, limit=NEAR * 10)
    known = deps.records.find(attributes if candidate.predicate == "is" else of_theirs).records
    changes.add_stored([one for one in known if durable_scope(one.scope) in mine.chain()])
    open_ = [changes.current[one.id] for one in known if one.id in changes.current and changes.current[one.id].status in OPEN]
    try:
        return find_synonyms(candidate, open_, deps.embedder)
    except ModelError:
        return ()  # the lexical slots stand; the embedder's failure shows in the vectors that are missing


def _find_recent(record: Record, reach: Reach, deps: WriteDeps, changes: ChangeSet) -> list[Record]:
    """Find the speaker's latest statements of this session.
    A bare correction ("no, it's Berlin") can only refer to these."""
    found = deps.records.find(Query(reach, STATEMENTS, OPEN, session=record.session, limit=NEAR * 2)).records
    changes.add_stored([one for one in found if one.scope == record.scope])
    now = [one for one in changes.current.values() if one.status in OPEN and one.kind in STATEMENTS]
    return [one for one in now if one.session == record.session and one.speaker == record.speaker and one.recorded_at <= record.recorded_at]


def find_nearest(candidate: Candidate, record: Record, reach: Reach, deps: WriteDeps) -> list[Record]:
    """Find the statements nearest in words and, if cheap, meaning."""
    if deps.search is None:
        return []
    words = tuple(dict.fromkeys(terms(candidate.text)))
    pool = deps.search.seek(
        Seek(
            reach,
            record.recorded_at,
            tuple((word, 1.0) for word in words),
            model=deps.embedder.card.id if deps.embedder else "",
            width=NEAR * 4,
            kinds=STATEMENTS,
        )
    )
    order = (-pool.bm).argsort(kind="stable")[:NEAR]
    return list(deps.records.get(record.scope.owner, [pool.ids[at] for at in order]))


def find_rivals(candidate: Candidate, record: Record, deps: WriteDeps, changes: ChangeSet) -> list[Record]:
    """Find up to five statements that a candidate may contradict (003).
    Of its category, with a cosine of ``write.contradiction_cosine`` or more, nearest first."""
    floor, category = deps.settings.contradiction_cosine, candidate.category
    if deps.embedder is None or deps.search is None or not deps.embedder.card.dimension:
        return []
    fresh = [one for one in changes.created.values() if one.category == category and one.status in OPEN and one.kind in STATEMENTS]
    try:
        own, *others = deps.embedder.embed([candidate.text, *(one.search_text for one in fresh)])
    except ModelError:
        return []
    same_category = Where("and", (Condition("category", "eq", category),))
    reach, mine = scopes_in_reach(record.scope), durable_scope(record.scope)
    seek = Seek(reach, record.recorded_at, (), own, deps.embedder.card.id, NEAR * 4, kinds=STATEMENTS, where=same_category)
    pool = deps.search.seek(seek)
    close = {name: float(cos) for name, cos, known in zip(pool.ids, pool.cos, pool.embedded, strict=True) if known and cos >= floor - _EDGE}
    stored = [one for one in deps.records.get(record.scope.owner, list(close)) if durable_scope(one.scope) in mine.chain()]
    changes.add_stored(stored)
    close |= {one.id: float(row @ own) for one, row in zip(fresh, others, strict=True) if float(row @ own) >= floor - _EDGE}
    found = [changes.current[one.id] for one in (*stored, *fresh) if one.id in close and changes.current[one.id].status in OPEN]
    return sorted(found, key=lambda one: (-close[one.id], one.id))[:NEAR]


def find_known(record: Record, deps: WriteDeps) -> tuple[Record, ...]:
    """Find the statements that the model must not repeat."""
    return deps.records.find(Query(scopes_in_reach(record.scope), STATEMENTS, limit=80)).records


def durable_scope(scope: Scope) -> Scope:
    """Strip trailing conversation labels from a scope.
    A person's facts hold across conversations, a project's within it."""
    labels = scope.labels
    while len(labels) > 2 and labels[-2] in _INNER:
        labels = labels[:-2]
    return Scope(labels)


def scopes_in_reach(scope: Scope) -> Reach:
    return Reach(scope.owner, durable_scope(scope).chain(), tree=True)


def known_speakers(records: Sequence[Record], deps: WriteDeps) -> frozenset[str]:
    """Return names of the conversation's speakers, lower case.
    Without the bare roles (user, assistant, system, tool)."""
    named = {record.speaker for record in records}
    if deps.search is not None:
        named |= set(deps.search.speakers(scopes_in_reach(records[0].scope)))
    return frozenset(name.strip().lower() for name in named if name.strip()) - {"user", "assistant", "system", "tool"}
