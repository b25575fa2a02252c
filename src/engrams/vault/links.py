"""Links that a hand wrote: a path, or a file's name, to the memory that is meant."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from engrams.types import Json, Scope
from engrams.vault.entry import Entry, Link
from engrams.vault.path import key, tail_of
from engrams.vault.state import State


def resolved(entry: Entry, path: str, owner: Scope, state: State) -> tuple[Link, ...]:
    """The links of a file with the ids they mean; one that leads nowhere is left out here and stays in the file."""
    found = []
    for link in entry.links:
        target = link.target or _target(link.path, path, owner, state)
        if target:
            found.append(link if link.target else replace(link, target=target))
    return tuple({(link.type, link.target): link for link in found}.values())


def loose(entry: Entry, path: str, owner: Scope, state: State) -> dict[str, tuple[Json, ...]]:
    """What stands among the links and is none, or leads nowhere: it stays as it is."""
    found: dict[str, tuple[Json, ...]] = dict(entry.loose)
    for link in entry.links:
        if not link.target and not _target(link.path, path, owner, state):
            found[link.type] = (*found.get(link.type, ()), f"[[{link.path}]]")
    return found


def _target(link: str, path: str, owner: Scope, state: State) -> str:
    """By the id, by the path from this file, by the path from the vault, and by the name alone."""
    if state.get(owner, [link]):
        return link
    wanted = link if link.endswith(".md") else f"{link}.md"
    below = posixpath.normpath(posixpath.join(posixpath.dirname(path), wanted))
    known = state.paths([below, wanted])
    for name in (below, wanted):
        row = known.get(key(name))
        if row is not None and row.owner == owner:
            return row.id
    tail = tail_of(wanted)
    rows = (
        [row for row in state.every() if row.owner == owner and posixpath.basename(row.path) == posixpath.basename(wanted)] if tail else []
    )
    return rows[0].id if len(rows) == 1 else ""
