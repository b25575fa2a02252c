"""Resolve hand-written links, by path or file name, to memories."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from engrams.types import Json, Scope
from engrams.vault.entry import FileLink, VaultEntry
from engrams.vault.path import id_tail, path_key
from engrams.vault.state import VaultState


def resolve_links(entry: VaultEntry, path: str, owner: Scope, state: VaultState) -> tuple[FileLink, ...]:
    """Return a file's links with ids, without those that lead nowhere."""
    found = []
    for link in entry.links:
        target = link.target or _find_target(link.path, path, owner, state)
        if target:
            found.append(link if link.target else replace(link, target=target))
    return tuple({(link.type, link.target): link for link in found}.values())


def find_loose(entry: VaultEntry, path: str, owner: Scope, state: VaultState) -> dict[str, tuple[Json, ...]]:
    """Find what stands among the links but leads nowhere."""
    found: dict[str, tuple[Json, ...]] = dict(entry.loose)
    for link in entry.links:
        if not link.target and not _find_target(link.path, path, owner, state):
            found[link.type] = (*found.get(link.type, ()), f"[[{link.path}]]")
    return found


def _find_target(link: str, path: str, owner: Scope, state: VaultState) -> str:
    """Find by id, path from this file, path from the vault, name."""
    if state.get(owner, [link]):
        return link
    wanted = link if link.endswith(".md") else f"{link}.md"
    below = posixpath.normpath(posixpath.join(posixpath.dirname(path), wanted))
    known = state.find_paths([below, wanted])
    for name in (below, wanted):
        row = known.get(path_key(name))
        if row is not None and row.owner == owner:
            return row.id
    tail = id_tail(wanted)
    rows = (
        [row for row in state.all_rows() if row.owner == owner and posixpath.basename(row.path) == posixpath.basename(wanted)]
        if tail
        else []
    )
    return rows[0].id if len(rows) == 1 else ""
