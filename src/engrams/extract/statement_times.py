"""Annotation of statements with the times that their words name.

Enter it by ``annotate_times``, for a statement that somebody gave or edited. Statements that are
extracted bring their times along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engrams.core import STATEMENT_KINDS, TIMES, UTC_OFFSET, Record
from engrams.core.clock import local_time
from engrams.frozen_data import replace


def annotate_times(record: Record) -> Record:
    """Annotate a statement that has no times yet; any other record is returned as it is."""
    if record.kind not in STATEMENT_KINDS or TIMES in record.meta:
        return record
    meta = restate_times(record, record.text)
    return replace(record, meta=meta) if TIMES in meta else record


def restate_times(record: Record, text: str) -> Mapping[str, Any]:
    """Return the metadata of a statement whose text is changed: with the times of the new one."""
    from engrams.extract.rules.clause_times import resolve_times

    said_at = local_time(record.recorded_at, record.meta.get(UTC_OFFSET))
    times = resolve_times(text, 0, len(text), said_at, "", "")
    meta = {key: value for key, value in record.meta.items() if key != TIMES}
    return {**meta, TIMES: [time.to_json() for time in times]} if times else meta
