"""Job ``conflicts``: finds statements that cannot both hold, and settles them where it may.

With ``garden.conflicts = "ask"`` they are only listed, and wait for ``MemoryGarden.decide``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from engrams.core import EdgeType, Kind, Record, Status
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.text.comparison.statement_comparison import is_additional
from engrams.text.normalize import fold
from engrams.upkeep.garden.steps import (
    GardenJobInput,
    PlannedGardenStep,
    make_change,
    order_pair,
    preview_texts,
)
from engrams.write.reconcile_rules import is_affirmative, is_ending, object_terms

_FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)


@dataclass(frozen=True, slots=True)
class StatementConflict:
    """Two statements that cannot both hold."""

    earlier: Record
    """The one that holds since earlier."""
    later: Record
    reason: str
    keep: str
    """Id of the one that rules would keep: the more trusted, of equals the later."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "one": _describe_side(self.earlier),
            "other": _describe_side(self.later),
            "reason": self.reason,
            "keep": self.keep,
        }


def _describe_side(record: Record) -> dict[str, str]:
    return {"id": record.id, "text": record.text, "at": record.recorded_at.isoformat()}


def find_conflicts(garden: GardenJobInput) -> list[StatementConflict]:
    """Find contradictions and competing values of single-valued slots, latest first.

    Conflicts that a person settled are left out.
    """
    records = {record.id: record for _, record in garden.iter_unplanned()}
    reasons: dict[tuple[str, str], str] = {}
    for edge in garden.links:
        if edge.type is EdgeType.CONTRADICTS and edge.source in records and edge.target in records:
            reasons[order_pair(edge.source, edge.target)] = "they contradict each other"
    for first, second in _find_slot_pairs(list(records.values())):
        reasons.setdefault(
            order_pair(first.id, second.id),
            f"only one {second.predicate.replace('_', ' ')} can be so at a time",
        )
    unsettled = [
        (records[first_id], records[second_id], reason)
        for (first_id, second_id), reason in reasons.items()
        if (first_id, second_id) not in garden.settled
    ]
    unsettled.sort(
        key=lambda pair: (max(pair[0].recorded_at, pair[1].recorded_at), pair[0].id), reverse=True
    )
    return [_make_conflict(first, second, reason) for first, second, reason in unsettled]


def plan_conflict_steps(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Plan a step for each conflict; none unless ``garden.conflicts`` is ``auto``."""
    if garden.settings.conflicts != "auto":
        return []
    steps = []
    for conflict in find_conflicts(garden)[: garden.settings.max_changes]:
        if {conflict.earlier.id, conflict.later.id} & garden.planned_ids:
            continue
        winner, loser = conflict.earlier, conflict.later
        if conflict.keep == conflict.later.id:
            winner, loser = loser, winner
        steps.append(decide_conflict(garden, winner, loser, conflict.reason))
    return steps


def decide_conflict(
    garden: GardenJobInput, winner: Record, loser: Record, reason: str
) -> PlannedGardenStep:
    """Build the step that supersedes one of two statements, and what was learned from it alone.

    An earlier loser was true until the winner began; a later one was never true, and is retired.
    """
    fields: dict[str, Any] = {"status": Status.SUPERSEDED, "superseded_by": winner.id}
    if _valid_since(winner) > _valid_since(loser):
        fields |= {"valid_to": _valid_since(winner), "ended_at": garden.now}
    else:
        fields["retired_at"] = garden.now
    garden.planned_ids.update((winner.id, loser.id))
    ended = [loser, *garden.list_learned(loser)]
    garden.planned_ids.update(record.id for record in ended)
    return PlannedGardenStep(
        job="conflicts",
        verb="supersede",
        ids=(winner.id, loser.id),
        texts=preview_texts((winner, loser)),
        reason=reason,
        changes=tuple(make_change(record, fields, "supersede") for record in ended),
    )


def _make_conflict(first: Record, second: Record, reason: str) -> StatementConflict:
    earlier, later = sorted((first, second), key=_valid_since)
    return StatementConflict(earlier, later, reason, _pick_trusted(first, second).id)


def _find_slot_pairs(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Pair consecutive, differing values of single-valued slots that hold now.

    A slot is a scope, a subject and a predicate, such as where somebody lives. "I also work at
    Volvo" competes with nothing.
    """
    slots: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        if _holds_now(record) and is_single(record.predicate, record.subject, record.object):
            slot = (record.scope, fold(record.subject), canonical_predicate(record.predicate))
            slots[slot].append(record)
    return [
        (first, second)
        for values in slots.values()
        for first, second in pairwise(sorted(values, key=_valid_since))
        if object_terms(first.object) != object_terms(second.object)
        and not is_additional(second.text)
    ]


def _holds_now(record: Record) -> bool:
    """Test for a fact about a subject that affirms something and has no end."""
    return bool(
        record.kind in _FACTS
        and record.subject
        and is_affirmative(record)
        and not is_ending(record)
        and record.valid_to is None
    )


def _pick_trusted(first: Record, second: Record) -> Record:
    """Pick the more trusted record; of equals the later one."""
    return max(
        first, second, key=lambda record: (record.trust, _valid_since(record), record.story_key)
    )


def _valid_since(record: Record) -> datetime:
    return record.valid_from or record.recorded_at
