"""Labels of what is about the person, where memories of a project stand beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engrams.core import Hit, Record, Scope
from engrams.frozen_data import replace
from engrams.read.render import PERSONAL
from engrams.read.request import ReadRequest


def label_personal(
    profile: Sequence[Record], hits: Sequence[Hit], request: ReadRequest
) -> tuple[list[Record], list[Hit]]:
    """Label the memories of the person, if the context also shows some of the project.

    Outside of a project nothing is labelled.
    """
    scopes = {record.scope for record in (*profile, *(hit.record for hit in hits))}
    if not _are_mixed(scopes, request.scope):
        return list(profile), list(hits)
    labelled_hits = [
        hit if _is_in_project(hit.record.scope) else replace(hit, record=_label(hit.record))
        for hit in hits
    ]
    labelled_profile = [
        record if _is_in_project(record.scope) else _label(record) for record in profile
    ]
    return labelled_profile, labelled_hits


def _are_mixed(scopes: Iterable[Scope], reader: Scope) -> bool:
    are_in_project = {_is_in_project(scope) for scope in scopes}
    return _is_in_project(reader) and len(are_in_project) > 1


def _is_in_project(scope: Scope) -> bool:
    return "project" in scope.labels[::2]


def _label(record: Record) -> Record:
    return replace(record, meta={**record.meta, PERSONAL: True})
