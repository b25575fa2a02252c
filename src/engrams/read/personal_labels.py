"""Labels of what is about the person, where memories of a project stand beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engrams.core import Hit, Record, Scope
from engrams.frozen_data import replace
from engrams.read.render import PERSONAL
from engrams.read.request import ReadRequest


def label_personal_records(records: Sequence[Record], request: ReadRequest) -> list[Record]:
    """Label the memories of the person, if some of the project are among the records.

    Outside of a project nothing is labelled.
    """
    if not _are_mixed((record.scope for record in records), request.scope):
        return list(records)
    return [record if _is_in_project(record.scope) else _label(record) for record in records]


def label_personal_hits(hits: Sequence[Hit], request: ReadRequest) -> list[Hit]:
    """Label the hits of the person, if some of the project are among them."""
    labelled = label_personal_records([hit.record for hit in hits], request)
    return [
        hit if hit.record is record else replace(hit, record=record)
        for hit, record in zip(hits, labelled, strict=True)
    ]


def _are_mixed(scopes: Iterable[Scope], reader: Scope) -> bool:
    are_in_project = {_is_in_project(scope) for scope in scopes}
    return _is_in_project(reader) and len(are_in_project) > 1


def _is_in_project(scope: Scope) -> bool:
    return "project" in scope.labels[::2]


def _label(record: Record) -> Record:
    return replace(record, meta={**record.meta, PERSONAL: True})
