"""Pruning of weak memories, and verification of facts against files (003)."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from engrams.read.confidence import decayed_confidence
from engrams.settings import GardenSettings
from engrams.tend.garden.plan import GardenScope, GardenStep, make_change, preview_texts
from engrams.types import Kind, Record, Status

STALE = "stale"
"""Metadata key of facts with changed or missing files: which, and when seen."""


def prune_weak(garden: GardenScope) -> list[GardenStep]:
    """Archive memories with confidence below ``prune`` and strength of 1.

    They are at least ``prune_hours`` old. Corrections and what a person said come last, so that they stay where more is weak than a
    cycle removes.
    """
    section = garden.settings
    before = garden.now - timedelta(hours=section.prune_hours)
    weak = [one for _, one in garden.untouched() if one.strength <= 1 and one.recorded_at <= before]
    weak = [one for one in weak if current_confidence(one, section, garden.now) < section.prune_confidence]
    weak.sort(key=lambda one: (is_guarded(one), current_confidence(one, section, garden.now), one.recorded_at, one.id))
    return [archive_record(garden, one, "hardly believed, and never said again") for one in weak[: section.max_changes]]


def current_confidence(record: Record, section: GardenSettings, now: datetime) -> float:
    """Return the confidence now, 0 to 1, decayed where ``decay`` is on."""
    return decayed_confidence(record, now) if section.decay else record.confidence


def is_guarded(record: Record) -> bool:
    """Return whether it is a correction, or written by a person verbatim."""
    return record.kind is Kind.CORRECTION or (record.provenance.channel == "user" and not record.provenance.extractor)


def archive_record(garden: GardenScope, record: Record, reason: str, job: str = "prune") -> GardenStep:
    """Build the step that archives one memory; it can be undone."""
    garden.taken.add(record.id)
    change = make_change(record, {"status": Status.ARCHIVED, "retired_at": garden.now}, "archive")
    return GardenStep(job, "archive", (record.id,), preview_texts((record,)), reason, (change,))


def verify_files(garden: GardenScope) -> list[GardenStep]:
    """Lower the confidence of facts whose source files changed or are gone.

    Each state of a file counts once.
    """
    steps: list[GardenStep] = []
    for _, record in garden.untouched():
        if len(steps) >= garden.settings.max_changes:
            break
        seen = {
            name: state for name in record.provenance.files if (state := _file_state(name, garden.settings.file_root, record.recorded_at))
        }
        if not seen or record.meta.get(STALE, {}).get("files") == seen:
            continue
        garden.taken.add(record.id)
        mark = {"files": seen, "at": garden.now.isoformat()}
        fields = {"confidence": round(record.confidence * garden.settings.missing_file_factor, 6), "meta": {**record.meta, STALE: mark}}
        reason = "; ".join(f"{name} {'is gone' if state == 'gone' else 'has changed'}" for name, state in seen.items())
        steps.append(
            GardenStep("verify", "doubt", (record.id,), preview_texts((record,)), reason[:240], (make_change(record, fields, "doubt"),))
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
