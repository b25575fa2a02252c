"""Ids of memories, grouped by their owners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engrams.core import Scope


def group_by_owner(pairs: Iterable[tuple[Scope, str]]) -> Mapping[Scope, list[str]]:
    """Group ids by owner, each once, in order."""
    groups: dict[Scope, dict[str, None]] = {}
    for owner, record_id in pairs:
        groups.setdefault(owner, {})[record_id] = None
    return {owner: list(record_ids) for owner, record_ids in groups.items()}
