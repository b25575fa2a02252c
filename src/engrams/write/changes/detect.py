"""Close or mark what a new statement makes outdated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from engrams.ports import Embedder, Query, Seek
from engrams.text.terms import terms
from engrams.types import BESIDE, Decision, DerivedMemory, EdgeType, Kind, Record, Status
from engrams.write.changes.features import may_change, read_message
from engrams.write.changes.model import load_model, nearest_clause
from engrams.write.changeset import ChangeSet
from engrams.write.neighbours import STATEMENTS, scopes_in_reach

if TYPE_CHECKING:
    from engrams.write.changes.features import SaidMessage
    from engrams.write.deps import WriteDeps

_SAID = (Kind.TURN, Kind.NOTE)
_NEAREST = 6
_LATEST = 6
_WIDTH = 40
_MOST_FACTS = 50


@dataclass(frozen=True, slots=True)
class DetectedChange:
    """Earlier statement that a new one probably ends.
    ``probability``: 0..1. ``clause``: what ends of it; ``partly``: it says something else besides."""

    old: Record
    probability: float
    clause: str
    partly: bool


def apply_changes(record: Record, deps: WriteDeps, changes: ChangeSet, decisions: list[Decision]) -> None:
    """Close or mark what a new statement ends, in the digest's changes.

    A statement that says something else besides is only marked; of its facts, that of the clause that ends is closed."""
    section = deps.settings.changes
    if not section.enabled or deps.plain is None or record.kind not in _SAID:
        return
    for found in detect_changes(record, deps, deps.plain):
        reason = f"a later statement ends it, probability {found.probability:.2f}"
        certain = found.probability >= section.close_at
        ended, others = _split_facts(found, deps, changes) if certain else ((), ())
        whole = certain and not (found.partly or others)
        for fact in ended:
            changes.end_by_turn(fact, record, reason)
            changes.derived.append(DerivedMemory(fact.id, fact.kind, fact.text, "remove", (), reason))
        changes.link(record.id, found.old.id, EdgeType.SUPERSEDES if whole else EdgeType.MAY_OUTDATE, found.probability)
        decisions.append(Decision("changes", "close" if whole else "mark", reason, found.old.text[:200], found.old.id))


def detect_changes(record: Record, deps: WriteDeps, plain: Embedder) -> list[DetectedChange]:
    """Find earlier statements of the speaker that a new one probably ends.
    Of at least ``write.changes.mark_at``, the most probable first."""
    if not may_change(record.text):
        return []
    earlier = _find_earlier(record, deps)
    if not earlier:
        return []
    new = _read(record, plain)
    read = [_read(old, plain) for old in earlier]
    chances = load_model().judge(read, new)
    found = [
        DetectedChange(old, chance, nearest_clause(message, new), len(message.clauses) > 1)
        for old, message, chance in zip(earlier, read, chances, strict=True)
        if chance >= deps.settings.changes.mark_at
    ]
    return sorted(found, key=lambda one: (-one.probability, one.old.id))


def _read(record: Record, plain: Embedder) -> SaidMessage:
    return read_message(record.text, record.speaker or record.role, record.recorded_at, partial(plain.embed, purpose="query"))


def _find_earlier(record: Record, deps: WriteDeps) -> list[Record]:
    """Find what the speaker said before.
    The nearest in words and meaning, and the latest of the session."""
    reach = scopes_in_reach(record.scope)
    latest: Sequence[Record] = ()
    if record.session:
        latest = deps.records.find(Query(reach, _SAID, session=record.session, limit=2 * _LATEST)).records
    near: Sequence[Record] = ()
    if deps.search is not None:
        words = tuple((word, 1.0) for word in dict.fromkeys(terms(record.text)))
        model = deps.embedder.card.id if deps.embedder is not None and deps.embedder.card.dimension else ""
        rows = deps.search.vectors(record.scope.owner, [record.id], model) if model else None
        vector = rows[0] if rows is not None and rows[0].any() else None
        pool = deps.search.seek(Seek(reach, record.recorded_at, words, vector, model, _WIDTH, kinds=_SAID))
        places = (-(pool.bm + pool.cos)).argsort(kind="stable")[: 2 * _NEAREST]
        near = deps.records.get(record.scope.owner, [pool.ids[place] for place in places])
    found = [one for one in {one.id: one for one in (*near, *latest)}.values() if _is_earlier(one, record)]
    return found[: _NEAREST + _LATEST]


def _is_earlier(old: Record, new: Record) -> bool:
    """True for an earlier open statement of the same speaker.
    Not if it was set right beside the new one."""
    return (
        old.id != new.id
        and old.status is Status.ACTIVE
        and (old.recorded_at, old.id) < (new.recorded_at, new.id)
        and (old.speaker, old.role) == (new.speaker, new.role)
        and new.id not in old.meta.get(BESIDE, ())
    )


def _split_facts(found: DetectedChange, deps: WriteDeps, changes: ChangeSet) -> tuple[Sequence[Record], Sequence[Record]]:
    """Split the open facts into those that end and those that stay.
    All stay where it is not clear which one is meant."""
    reach = scopes_in_reach(found.old.scope.owner)
    facts = deps.records.find(Query(reach, STATEMENTS, sources=(found.old.id,), limit=_MOST_FACTS)).records
    open_ = [fact for fact in changes.add_stored(facts) if fact.status is Status.ACTIVE]
    own = set(terms(found.clause))
    meant = [fact for fact in open_ if any(set(terms(quote.quote)) <= own for quote in fact.evidence if quote.source == found.old.id)]
    return (meant, [fact for fact in open_ if fact not in meant]) if len(meant) == 1 else ((), open_)
