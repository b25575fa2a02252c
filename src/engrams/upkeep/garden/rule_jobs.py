"""Plan upkeep: prune weak memories, resolve conflicts, verify files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engrams.core import Edge, EdgeType, Kind, Record, Scope, Status
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.frozen_data import dataclass
from engrams.ports import RecordChange
from engrams.read.decay import decayed_confidence
from engrams.settings import GardenSettings
from engrams.text.normalize import fold
from engrams.write.reconcile import is_affirmative, is_ending, object_terms

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

STATEMENTS = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.NOTE,
    Kind.PROCEDURE,
    Kind.NEGATIVE,
    Kind.RULE,
    Kind.CORRECTION,
)
"""Kinds that the garden changes; turns stay as they are."""

Verb = Literal["merge", "archive", "doubt", "supersede", "link", "tag", "unlink"]


STALE = "stale"
"""Metadata key of facts with changed or missing files: which, and when seen."""


_FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)


@dataclass(frozen=True, slots=True)
class PlannedGardenStep:
    """Planned change of upkeep: job, memories, new values, reason.

    ``ids``: its memories, the remaining one first; ``texts``: theirs.
    """

    job: str
    verb: Verb
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    reason: str
    changes: tuple[RecordChange, ...] = ()
    edges: tuple[Edge, ...] = ()
    unlink: tuple[Edge, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "verb": self.verb,
            "ids": list(self.ids),
            "texts": list(self.texts),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class StatementConflict:
    """Two conflicting statements. ``keep``: the one that rules would keep."""

    one: Record
    other: Record
    reason: str
    keep: str

    def to_dict(self) -> dict[str, Any]:
        sides = [
            {"id": each.id, "text": each.text, "at": each.recorded_at.isoformat()}
            for each in (self.one, self.other)
        ]
        return {"one": sides[0], "other": sides[1], "reason": self.reason, "keep": self.keep}


@dataclass(frozen=True, slots=True)
class GardenPlan:
    """Planned steps of a cycle. ``notes``: what is left out, and why."""

    owner: Scope
    steps: tuple[PlannedGardenStep, ...] = ()
    conflicts: tuple[StatementConflict, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GardenJobInput:
    """Active statements of an owner, oldest first, as input of a job.

    ``vectors``: [records, dimension], zeros for none. ``links``: edges at any of them. ``settled``:
    pairs of ids with a decision. ``taken``: ids that a step already changes.
    """

    owner: Scope
    now: datetime
    settings: GardenSettings
    records: tuple[Record, ...]
    vectors: Floats
    links: tuple[Edge, ...] = ()
    settled: frozenset[tuple[str, str]] = frozenset()
    taken: set[str] = field(default_factory=set)

    def untouched(self) -> list[tuple[int, Record]]:
        """Return (index, record) of records that no step changes yet."""
        return [
            (place, record)
            for place, record in enumerate(self.records)
            if record.id not in self.taken
        ]


def order_pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def make_change(record: Record, fields: Mapping[str, Any], action: str) -> RecordChange:
    return RecordChange(
        owner=record.scope.owner, id=record.id, fields=fields, action=action, expect=record.version
    )


def preview_texts(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the texts, cut to 200 characters."""
    return tuple(
        record.text if len(record.text) <= 200 else f"{record.text[:199]}…" for record in records
    )


def prune_weak(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Archive memories with confidence below ``prune`` and strength of 1.

    They are at least ``prune_hours`` old. Corrections and what a person said come last, so that
    they stay where more is weak than a cycle removes.
    """
    section = garden.settings
    before = garden.now - timedelta(hours=section.prune_hours)
    weak = [one for _, one in garden.untouched() if one.strength <= 1 and one.recorded_at <= before]
    weak = [
        one
        for one in weak
        if current_confidence(one, section, garden.now) < section.prune_confidence
    ]
    weak.sort(
        key=lambda one: (
            is_guarded(one),
            current_confidence(one, section, garden.now),
            one.story_key,
        )
    )
    return [
        archive_record(garden, one, "hardly believed, and never said again")
        for one in weak[: section.max_changes]
    ]


def current_confidence(record: Record, section: GardenSettings, now: datetime) -> float:
    """Return the confidence now, 0 to 1, decayed where ``decay`` is on."""
    return decayed_confidence(record, now) if section.decay else record.confidence


def is_guarded(record: Record) -> bool:
    """Return whether it is a correction, or written by a person verbatim."""
    return record.kind is Kind.CORRECTION or (
        record.provenance.channel == "user" and not record.provenance.extractor
    )


def archive_record(
    garden: GardenJobInput, record: Record, reason: str, job: str = "prune"
) -> PlannedGardenStep:
    """Build the step that archives one memory; it can be undone."""
    garden.taken.add(record.id)
    change = make_change(record, {"status": Status.ARCHIVED, "retired_at": garden.now}, "archive")
    return PlannedGardenStep(
        job=job,
        verb="archive",
        ids=(record.id,),
        texts=preview_texts((record,)),
        reason=reason,
        changes=(change,),
    )


def verify_files(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Lower confidence of facts whose source files changed or are gone.

    Each state of a file counts once.
    """
    steps: list[PlannedGardenStep] = []
    for _, record in garden.untouched():
        if len(steps) >= garden.settings.max_changes:
            break
        seen = {
            name: state
            for name in record.provenance.files
            if (state := _file_state(name, garden.settings.file_root, record.recorded_at))
        }
        if not seen or record.meta.get(STALE, {}).get("files") == seen:
            continue
        garden.taken.add(record.id)
        mark = {"files": seen, "at": garden.now.isoformat()}
        fields = {
            "confidence": round(record.confidence * garden.settings.missing_file_factor, 6),
            "meta": {**record.meta, STALE: mark},
        }
        reason = "; ".join(
            f"{name} {'is gone' if state == 'gone' else 'has changed'}"
            for name, state in seen.items()
        )
        steps.append(
            PlannedGardenStep(
                job="verify",
                verb="doubt",
                ids=(record.id,),
                texts=preview_texts((record,)),
                reason=reason[:240],
                changes=(make_change(record, fields, "doubt"),),
            )
        )
    return steps


def _file_state(name: str, root: str, since: datetime) -> str:
    """Return ``gone``, the time of a later change, or empty (unchanged, unreachable)."""
    folder = Path(root).expanduser().resolve()
    path = folder / name if "\0" not in name else folder
    if not root or folder not in path.resolve().parents:
        return ""  # memory must not reveal files outside the root
    try:
        changed_at = path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError:
        return ""  # unreadable, or no file name
    return str(int(changed_at)) if changed_at > since.timestamp() else ""


def find_conflicts(garden: GardenJobInput) -> list[StatementConflict]:
    """Find contradictions and competing values of single-valued slots, latest first."""
    known = {record.id: record for _, record in garden.untouched()}
    found: dict[tuple[str, str], str] = {}
    for edge in garden.links:
        if edge.type is EdgeType.CONTRADICTS and edge.source in known and edge.target in known:
            found[order_pair(edge.source, edge.target)] = "they contradict each other"
    for first, second in _find_slot_pairs(list(known.values())):
        found.setdefault(
            order_pair(first.id, second.id),
            f"only one {second.predicate.replace('_', ' ')} can be so at a time",
        )
    open_ones = [
        (known[one], known[other], reason)
        for (one, other), reason in found.items()
        if (one, other) not in garden.settled
    ]
    open_ones.sort(
        key=lambda each: (max(each[0].recorded_at, each[1].recorded_at), each[0].id), reverse=True
    )
    return [_make_conflict(one, other, reason) for one, other, reason in open_ones]


def _make_conflict(one: Record, other: Record, reason: str) -> StatementConflict:
    first, second = sorted((one, other), key=_valid_since)
    return StatementConflict(first, second, reason, _pick_trusted(one, other).id)


def settle_conflicts(
    garden: GardenJobInput, found: list[StatementConflict]
) -> list[PlannedGardenStep]:
    """Resolve each conflict in favour of the statement it would keep."""
    steps = []
    for conflict in found[: garden.settings.max_changes]:
        if {conflict.one.id, conflict.other.id} & garden.taken:
            continue
        keep, drop = (
            (conflict.one, conflict.other)
            if conflict.keep == conflict.one.id
            else (conflict.other, conflict.one)
        )
        steps.append(decide_conflict(garden, keep, drop, conflict.reason))
    return steps


def decide_conflict(
    garden: GardenJobInput, keep: Record, drop: Record, reason: str
) -> PlannedGardenStep:
    """Build the step that supersedes one of two statements.

    An earlier loser ends when the winner begins; a later one never held.
    """
    fields = {"status": Status.SUPERSEDED, "superseded_by": keep.id}
    later = _valid_since(keep) > _valid_since(drop)
    ended = (
        {"valid_to": _valid_since(keep), "ended_at": garden.now}
        if later
        else {"retired_at": garden.now}
    )
    garden.taken.update((keep.id, drop.id))
    return PlannedGardenStep(
        job="conflicts",
        verb="supersede",
        ids=(keep.id, drop.id),
        texts=preview_texts((keep, drop)),
        reason=reason,
        changes=(make_change(drop, {**fields, **ended}, "supersede"),),
    )


def _find_slot_pairs(records: list[Record]) -> list[tuple[Record, Record]]:
    """Pair consecutive, differing values of single-valued slots that hold now."""
    slots: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        holds = (
            record.kind in _FACTS
            and record.subject
            and is_affirmative(record)
            and not is_ending(record)
            and record.valid_to is None
        )
        if holds and is_single(record.predicate, record.subject, record.object):
            slots[record.scope, fold(record.subject), canonical_predicate(record.predicate)].append(
                record
            )
    every = [
        both for values in slots.values() for both in pairwise(sorted(values, key=_valid_since))
    ]
    return [
        (first, second)
        for first, second in every
        if object_terms(first.object) != object_terms(second.object)
    ]


def _pick_trusted(one: Record, other: Record) -> Record:
    """Pick the more trusted record; of equals the later one."""
    return max(
        one, other, key=lambda record: (record.trust, _valid_since(record), record.story_key)
    )


def _valid_since(record: Record) -> datetime:
    return record.valid_from or record.recorded_at
