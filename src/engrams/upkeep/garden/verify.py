"""Job ``verify``: doubts facts whose source files have changed or are gone, and those that the code of
their project contradicts.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from engrams.upkeep.garden.steps import (
    GardenJobInput,
    PlannedGardenStep,
    make_change,
    preview_texts,
)

STALE = "stale"
"""Metadata key of facts with changed or missing files: which, and when seen."""

_GONE = "gone"
_CODE = "code:"
"""Name of the entry for code; no file is called so."""
_MAX_REASON = 240


def verify_files(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Lower the confidence of facts by ``garden.missing_file_factor``.

    Each state of a file counts once: a file that is still gone in the next cycle lowers nothing.
    """
    steps: list[PlannedGardenStep] = []
    for _, record in garden.iter_unplanned():
        if len(steps) >= garden.settings.max_changes:
            break
        stale_files: dict[str, str] = {}
        for name in record.provenance.files:
            state = _check_file(name, garden.settings.file_root, record.recorded_at)
            if state:
                stale_files[name] = state
        code_note = garden.code_notes.get(record.id, "")
        if code_note:
            stale_files[_CODE] = code_note
        if not stale_files or record.meta.get(STALE, {}).get("files") == stale_files:
            continue
        garden.planned_ids.add(record.id)
        mark = {"files": stale_files, "at": garden.now.isoformat()}
        fields = {
            "confidence": round(record.confidence * garden.settings.missing_file_factor, 6),
            "meta": {**record.meta, STALE: mark},
        }
        reason = "; ".join(_tell(name, state) for name, state in stale_files.items())
        steps.append(
            PlannedGardenStep(
                job="verify",
                verb="doubt",
                ids=(record.id,),
                texts=preview_texts((record,)),
                reason=reason[:_MAX_REASON],
                changes=(make_change(record, fields, "doubt"),),
            )
        )
    return steps


def _tell(name: str, state: str) -> str:
    if name == _CODE:
        return state
    return f"{name} {'is gone' if state == _GONE else 'has changed'}"


def _check_file(name: str, root: str, since: datetime) -> str:
    """Return ``gone``, the time of a later change (seconds), or empty (unchanged, unreachable)."""
    folder = Path(root).expanduser().resolve()
    path = folder / name if "\0" not in name else folder
    if not root or folder not in path.resolve().parents:
        return ""  # memory must not reveal files outside the root
    try:
        changed_at = path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return _GONE
    except OSError:
        return ""  # unreadable, or no file name
    return str(int(changed_at)) if changed_at > since.timestamp() else ""
