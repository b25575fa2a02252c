"""What nobody believes and nobody repeats is put away; what a file no longer says is doubted (003)."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from engrams.read.confidence import believed
from engrams.settings.garden import GardenSettings
from engrams.tend.garden.plan import Bed, Step, changed, shown
from engrams.types import Kind, Record, Status

STALE = "stale"
"""The metadata of a fact whose files are gone or have changed: which, and when that was seen."""


def prune(bed: Bed) -> list[Step]:
    """Confidence below ``prune`` and strength of 1, a day old at least. Corrections and what a person said come last, so that
    they stay where there is more to put away than a cycle does."""
    section = bed.settings
    before = bed.now - timedelta(hours=section.prune_hours)
    weak = [one for _, one in bed.free() if one.strength <= 1 and one.recorded_at <= before]
    weak = [one for one in weak if worth(one, section, bed.now) < section.prune]
    weak.sort(key=lambda one: (guarded(one), worth(one, section, bed.now), one.recorded_at, one.id))
    return [archive(bed, one, "hardly believed, and never said again") for one in weak[: section.most]]


def worth(record: Record, section: GardenSettings, now: datetime) -> float:
    """How much it is believed, 0 to 1."""
    return believed(record, now) if section.fades else record.confidence


def guarded(record: Record) -> bool:
    """Whether it is a correction, or was put in by a person as it stands."""
    return record.kind is Kind.CORRECTION or (record.provenance.channel == "user" and not record.provenance.extractor)


def archive(bed: Bed, record: Record, reason: str, job: str = "prune") -> Step:
    """One memory is put away; no read finds it until it is taken back."""
    bed.taken.add(record.id)
    change = changed(record, {"status": Status.ARCHIVED, "retired_at": bed.now}, "archive")
    return Step(job, "archive", (record.id,), shown((record,)), reason, (change,))


def verify(bed: Bed) -> list[Step]:
    """Facts that rest on files: less is believed of those whose files are gone, or have changed since. Each state of a file counts once."""
    steps: list[Step] = []
    for _, record in bed.free():
        if len(steps) >= bed.settings.most:
            break
        seen = {name: state for name in record.provenance.files if (state := _state(name, bed.settings.root, record.recorded_at))}
        if not seen or record.meta.get(STALE, {}).get("files") == seen:
            continue
        bed.taken.add(record.id)
        mark = {"files": seen, "at": bed.now.isoformat()}
        fields = {"confidence": round(record.confidence * bed.settings.doubt, 6), "meta": {**record.meta, STALE: mark}}
        reason = "; ".join(f"{name} {'is gone' if state == 'gone' else 'has changed'}" for name, state in seen.items())
        steps.append(Step("verify", "doubt", (record.id,), shown((record,)), reason[:240], (changed(record, fields, "doubt"),)))
    return steps


def _state(name: str, root: str, since: datetime) -> str:
    """``gone``, or the time of a change after ``since``; empty: as it was, or out of reach."""
    folder = Path(root).expanduser().resolve()
    path = folder / name if "\0" not in name else folder
    if not root or folder not in path.resolve().parents:
        return ""  # nobody learns from memory which files there are elsewhere
    try:
        changed_at = path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError:
        return ""  # not ours to read, or no name of a file at all: nothing is known about it
    return str(int(changed_at)) if changed_at > since.timestamp() else ""
