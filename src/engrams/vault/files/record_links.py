"""Links of a memory's file: read, written, and resolved to the memories that they lead to.

A link is an edge of the memory, listed in the front matter under the edge's type. People write it
as ``[[path]]``, ``[[path|id]]`` or as an id.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from engrams.core import Edge, EdgeType, Json, Scope
from engrams.vault.files.sync_state import VaultStateDatabase
from engrams.vault.files.vault_paths import id_tail, path_key

LooseLinks: TypeAlias = Mapping[str, tuple[Json, ...]]
"""Values under the name of an edge type that are no links, or lead nowhere; they are kept."""
LinkRow: TypeAlias = tuple[str, str, float, int]
"""Type, target, weight and count of a link, as the state of the files holds it."""

_WIKI_LINK = re.compile(r"\[\[([^\]|\n]*)(?:\|([^\]|\n]*))?\]\]")
_LINKABLE = re.compile(r"[^\s|\[\]#^\"\\](?:[^|\[\]#^\"\\\n\r]*[^\s|\[\]#^\"\\])?")
"""Ids and paths that need no quoting within a link."""


@dataclass(frozen=True, slots=True)
class RecordFileLink:
    """Outgoing edge of a memory, as its file tells it."""

    type: EdgeType
    target: str
    """Id of the other memory; empty where the file gives only a path."""
    weight: float = 1.0
    count: int = 1
    path: str = ""
    """Path of the other memory's file, relative to this one, without ``.md``."""


def to_link(edge: Edge, path: str = "") -> RecordFileLink:
    """Convert an edge to a link; ``path``: relative, of its target."""
    return RecordFileLink(
        type=edge.type, target=edge.target, weight=edge.weight, count=edge.count, path=path
    )


def render_links(links: Sequence[RecordFileLink], loose: LooseLinks) -> list[tuple[str, Json]]:
    """Render links as names and values of front matter, by type."""
    values_by_type: dict[str, list[Json]] = {}
    for link in sorted(links, key=lambda link: (link.type, link.target)):
        values_by_type.setdefault(link.type, []).append(_render_link(link))
    for name, values in loose.items():
        values_by_type.setdefault(name, []).extend(values)
    return [(str(type), values_by_type[type]) for type in EdgeType if type in values_by_type]


def parse_links(
    front: Mapping[str, Json],
) -> tuple[tuple[RecordFileLink, ...], dict[str, tuple[Json, ...]]]:
    """Parse the links of front matter; also return the values that are none."""
    links: list[RecordFileLink] = []
    loose: dict[str, tuple[Json, ...]] = {}
    for type in EdgeType:
        value = front.get(type)
        if value is None:
            continue
        values = value if isinstance(value, list) else [value]
        parsed = [_parse_link(type, item) for item in values]
        links += [link for link in parsed if link is not None]
        unreadable = tuple(item for item, link in zip(values, parsed, strict=True) if link is None)
        if unreadable:
            loose[type] = unreadable
    return tuple(links), loose


def resolve_links(
    links: Sequence[RecordFileLink], path: str, owner: Scope, state: VaultStateDatabase
) -> tuple[RecordFileLink, ...]:
    """Return the links of a file with ids, without those that lead nowhere."""
    resolved = []
    for link in links:
        target = link.target or _find_target(link.path, path, owner, state)
        if target:
            resolved.append(link if link.target else replace(link, target=target))
    return tuple({(link.type, link.target): link for link in resolved}.values())


def to_link_rows(
    links: Sequence[RecordFileLink], path: str, owner: Scope, state: VaultStateDatabase
) -> tuple[LinkRow, ...]:
    """Return the resolved links of a file as the state of the files holds them."""
    return tuple(
        (str(link.type), link.target, link.weight, link.count)
        for link in resolve_links(links, path, owner, state)
    )


def find_dangling(
    links: Sequence[RecordFileLink], path: str, owner: Scope, state: VaultStateDatabase
) -> dict[str, tuple[Json, ...]]:
    """Find the links of a file that lead nowhere, as they are written, by type."""
    dangling: dict[str, tuple[Json, ...]] = {}
    for link in links:
        if not link.target and not _find_target(link.path, path, owner, state):
            dangling[link.type] = (*dangling.get(link.type, ()), f"[[{link.path}]]")
    return dangling


def _render_link(link: RecordFileLink) -> Json:
    is_plain = _LINKABLE.fullmatch(link.target) is not None
    arrow = ""
    if is_plain and link.path and _LINKABLE.fullmatch(link.path):
        arrow = f"[[{link.path}|{link.target}]]"
    if link.weight == 1.0 and link.count == 1 and is_plain:
        return arrow or link.target
    fields: dict[str, Json] = {"link": arrow} if arrow else {}
    return {**fields, "to": link.target, "weight": link.weight, "count": link.count}


def _parse_link(type: EdgeType, value: Json) -> RecordFileLink | None:
    match value:
        case str() if wiki_link := _WIKI_LINK.fullmatch(value.strip()):
            return RecordFileLink(type, (wiki_link[2] or "").strip(), path=wiki_link[1])
        case str() if _LINKABLE.fullmatch(value):
            return RecordFileLink(type, value)
        case {"to": str(target)} if target:
            weight = value.get("weight", 1.0)
            count = value.get("count", 1)
            wiki_link = _WIKI_LINK.fullmatch(str(value.get("link", "")))
            if (
                isinstance(weight, int | float)
                and isinstance(count, int)
                and not isinstance(weight, bool)
                and not isinstance(count, bool)
            ):
                return RecordFileLink(
                    type=type,
                    target=target,
                    weight=float(weight),
                    count=count,
                    path=wiki_link[1] if wiki_link else "",
                )
    return None


def _find_target(link: str, path: str, owner: Scope, state: VaultStateDatabase) -> str:
    """Find the memory that a link means; empty: none, or several.

    It is an id, a path from the linking file, a path from the vault, or the name of a file.
    """
    if state.get(owner, [link]):
        return link
    target_path = link if link.endswith(".md") else f"{link}.md"
    from_file = posixpath.normpath(posixpath.join(posixpath.dirname(path), target_path))
    rows_by_key = state.find_paths([from_file, target_path])
    for candidate in (from_file, target_path):
        row = rows_by_key.get(path_key(candidate))
        if row is not None and row.owner == owner:
            return row.id
    if not id_tail(target_path):
        return ""
    file_name = posixpath.basename(target_path)
    rows = [
        row
        for row in state.all_rows()
        if row.owner == owner and posixpath.basename(row.path) == file_name
    ]
    return rows[0].id if len(rows) == 1 else ""
