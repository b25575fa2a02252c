"""Job ``prune``: archives statements that are hardly believed and were never repeated."""

from __future__ import annotations

from datetime import datetime, timedelta

from engrams.core import Kind, Record, Status, find_basis
from engrams.read.decay import decayed_confidence
from engrams.settings import GardenSettings
from engrams.upkeep.garden.steps import (
    GardenJobInput,
    PlannedGardenStep,
    make_change,
    preview_texts,
)


def prune_unbelieved_records(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Archive statements below ``garden.prune_confidence`` that were said once.

    They are at least ``garden.prune_hours`` old. Age lowers the confidence of what was inferred
    only. Corrections and what a person wrote come last, so that they stay where more is weak than a
    cycle may change.
    """
    section = garden.settings
    cutoff = garden.now - timedelta(hours=section.prune_hours)
    weak: list[tuple[float, Record]] = []
    for _, record in garden.iter_unplanned():
        if record.strength > 1 or record.recorded_at > cutoff:
            continue
        confidence = compute_confidence(record, section, garden.now)
        if confidence < section.prune_confidence:
            weak.append((confidence, record))
    weak.sort(key=lambda pair: (is_protected(pair[1]), pair[0], pair[1].story_key))
    return [
        archive_record(garden, record, "hardly believed, and never said again")
        for _, record in weak[: section.max_changes]
    ]


def compute_confidence(record: Record, section: GardenSettings, now: datetime) -> float:
    """Return the confidence now, 0 to 1.

    With ``garden.decay`` that of an inferred memory falls with age and rises with use, by the
    formula of ``read.decay.decayed_confidence``. What was stated keeps its own: it is as true after
    a quarter as on its first day, until something ends it.
    """
    if section.decay and find_basis(record) == "inferred":
        return decayed_confidence(record, now)
    return record.confidence


def is_protected(record: Record) -> bool:
    """Test for a correction, or a text that a person wrote themselves."""
    return record.kind is Kind.CORRECTION or (
        record.provenance.channel == "user" and not record.provenance.extractor
    )


def archive_record(
    garden: GardenJobInput, record: Record, reason: str, job: str = "prune"
) -> PlannedGardenStep:
    """Build the step that archives one memory; it can be undone."""
    garden.planned_ids.add(record.id)
    fields = {"status": Status.ARCHIVED, "retired_at": garden.now}
    return PlannedGardenStep(
        job=job,
        verb="archive",
        ids=(record.id,),
        texts=preview_texts((record,)),
        reason=reason,
        changes=(make_change(record, fields, "archive"),),
    )
