"""Comparison of found memories with the code that they name.

A search marks its hits. A context leaves out what no longer holds, and says beside the others what
differs. Without a checkout nothing is compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Hit, Record
from engrams.core.code_anchors import CodeVerdict, read_anchors
from engrams.frozen_data import replace
from engrams.read.dependencies import ReadDeps
from engrams.read.render import CODE_NOTE
from engrams.read.request import ReadRequest


def mark_hits(hits: Sequence[Hit], request: ReadRequest, deps: ReadDeps) -> Sequence[Hit]:
    """Set the verdicts of hits that name code."""
    verdicts = _check([(hit.record, *hit.facts) for hit in hits], request, deps)
    return [
        hit if verdict is None else replace(hit, code=verdict)
        for hit, verdict in zip(hits, verdicts, strict=True)
    ]


def drop_untrue(hits: Sequence[Hit], request: ReadRequest, deps: ReadDeps) -> list[Hit]:
    """Leave out hits of which no claim about the code holds any more."""
    marked = mark_hits(hits, request, deps)
    return [hit for hit in marked if hit.code is None or not hit.code.keeps_out(hit.record.kind)]


def drop_untrue_statements(
    records: Sequence[Record], request: ReadRequest, deps: ReadDeps
) -> list[Record]:
    """Leave out a profile's statements that no longer hold, and note what differs of the others."""
    statements: list[Record] = []
    verdicts = _check([(record,) for record in records], request, deps)
    for record, verdict in zip(records, verdicts, strict=True):
        if verdict is None or not verdict.note:
            statements.append(record)
        elif not verdict.keeps_out(record.kind):
            statements.append(replace(record, meta={**record.meta, CODE_NOTE: verdict.note}))
    return statements


def _check(
    groups: Sequence[tuple[Record, ...]], request: ReadRequest, deps: ReadDeps
) -> Sequence[CodeVerdict | None]:
    if request.checkout is None or deps.code is None or request.as_of is not None:
        return [None] * len(groups)
    return deps.code.check([read_anchors(group) for group in groups], request.checkout)
