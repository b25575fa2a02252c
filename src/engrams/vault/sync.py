"""What two places did to the files since they were last alike, as one: memory by memory, whatever their files are called.

A tombstone on either side wins over whatever the other side did to the memory, and what was purged here stays away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from engrams.types import Record, Scope, Status
from engrams.vault import entry, threeway
from engrams.vault.frontmatter import FrontError
from engrams.vault.git import Version
from engrams.vault.parts import Parts, decoded
from engrams.vault.path import DELETED, ENTRIES, is_away, key

Name: TypeAlias = tuple[str, str]
"""The owner and the id of a memory."""

_HOLDS = "changed here and in another place; the other's words hold"


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory's file as one side has it."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Side:
    """What one side did to a memory's file; None where there was none."""

    before: Kept | None = None
    after: Kept | None = None


@dataclass(slots=True)
class United:
    """``files``: what is to be there afterwards, by path (None: nothing). ``conflicts``: paths where words of ours were put aside."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)


def united(parts: Parts, came: Iterable[Version], mine: Iterable[Version]) -> United:
    """The files after both sides' changes."""
    done = United()
    here = list(mine)
    theirs, plain = _memories(came)
    ours, _ = _memories(here)
    placed: list[tuple[Name, str, Kept]] = []
    leaving: set[Name] = set()
    for name, side in theirs.items():
        own = ours.get(name, Side(side.before, side.before))
        was = own.after.path if own.after is not None else ""
        result = _memory(parts, side, own, done)
        if was and (result is None or result.path != was):
            done.files[was] = None
            leaving.add(name)
        if result is not None:
            placed.append((name, was, result))
    taken: set[str] = set()
    for name, was, result in sorted(placed, key=lambda item: item[1] != item[2].path):
        held = _named(parts.disk.read(result.path))
        free = was == result.path or held in (None, name) or held in leaving
        path = result.path if free and key(result.path) not in taken else _beside(result.path, name)
        done.files[path] = result.data
        taken.add(key(path))
    known = {version.path: version for version in here}
    for version in plain:
        done.files[version.path] = _plain(parts, version, known.get(version.path), done)
    return done


def _memory(parts: Parts, theirs: Side, ours: Side, done: United) -> Kept | None:
    """One memory's file; None: it is to have none."""
    base, now, other = theirs.before or ours.before, ours.after, theirs.after
    if other is None:
        # Gone without a tombstone, as after a purge; what was changed here is kept.
        return None if now == base else now
    if _purged(parts, other.data):
        return None
    if now is None or now == base or now.data == other.data:
        return other
    if other == base:
        return now
    joined = _joined(base, now, other)
    data, away, lost = joined if joined is not None else (other.data, other.path.startswith(f"{DELETED}/"), True)
    if lost:
        done.conflicts.append(other.path)
        parts.keep(other.path, now.data, _HOLDS)
    moved = other.path if base is None or other.path != base.path else now.path
    return Kept(_below(DELETED if away else ENTRIES, moved), data)


def _joined(base: Kept | None, now: Kept, other: Kept) -> tuple[bytes, bool, bool] | None:
    """Two versions of one memory as one; whether it is put away, and whether words of ours were lost."""
    told = [entry.read(decoded(kept.data)) for kept in (base or now, now, other)]
    try:
        was, mine, new = (one.record({}) for one in told)
    except (TypeError, KeyError):
        return None
    found = threeway.merge(was, mine, new)
    record = replace(mine, **found.fields, version=max(mine.version, new.version) + 1)
    gone = [side for side in (mine, new) if side.status is Status.FORGOTTEN]
    if gone and (base is None or was.status is not Status.FORGOTTEN):
        record = replace(record, status=Status.FORGOTTEN, retired_at=gone[0].retired_at, meta={**record.meta, **gone[0].meta})
    were = {(link.type, link.target) for link in told[0].links}
    links = {(link.type, link.target): link for link in (*told[1].links, *told[2].links)}
    kept = [link for name, link in links.items() if name not in were or all(name in _names(side.links) for side in told[1:])]
    # With nothing in common nobody knows which words are newer.
    lost = any(name in found.lost for name in ("text", "caption", "summary")) or (base is None and _words(mine) != _words(new))
    return entry.render(record, kept, decoded(now.data)).encode(), is_away(record), lost


def _plain(parts: Parts, theirs: Version, ours: Version | None, done: United) -> bytes | None:
    """A file that is no memory's: a note, a document, or one that cannot be read."""
    if ours is None or ours.after == theirs.after:
        return theirs.after
    if theirs.after is None or ours.after is None:
        return ours.after if theirs.after is None else theirs.after
    try:
        text = threeway.lines(*(decoded(data or b"") for data in (theirs.before, ours.after, theirs.after)))
    except FrontError:
        text = None
    if text is not None:
        return text.encode()
    done.conflicts.append(theirs.path)
    parts.keep(theirs.path, ours.after, _HOLDS)
    return theirs.after


def _memories(versions: Iterable[Version]) -> tuple[dict[Name, Side], list[Version]]:
    """What was done to each memory, wherever its file went; and the files that are none's."""
    found: dict[Name, Side] = {}
    plain: list[Version] = []
    for version in versions:
        before, after = _named(version.before), _named(version.after)
        readable = (before is None) == (version.before is None) and (after is None) == (version.after is None)
        if not readable or version.path.partition("/")[0] not in (ENTRIES, DELETED):
            plain.append(version)
            continue
        if before is not None:
            found[before] = replace(found.get(before, Side()), before=Kept(version.path, version.before or b""))
        if after is not None:
            found[after] = replace(found.get(after, Side()), after=Kept(version.path, version.after or b""))
    return found, plain


def _named(data: bytes | None) -> Name | None:
    """Whose file it is; None where it is no memory's."""
    try:
        told = entry.read(decoded(data or b""))
    except FrontError:
        return None
    scope = told.fields.get("scope")
    return (scope.owner.key, told.id) if isinstance(scope, Scope) and told.id else None


def _beside(path: str, name: Name) -> str:
    """Another name, where two places gave two memories the same."""
    return f"{path.removesuffix('.md')}__{''.join(char for char in key(name[1]) if char.isascii() and char.isalnum())[-8:]}.md"


def _below(top: str, path: str) -> str:
    return f"{top}/{path.partition('/')[2]}"


def _purged(parts: Parts, data: bytes) -> bool:
    name = _named(data)
    return name is not None and any(record.status is Status.PURGED for record in parts.store.get(Scope.parse(name[0]), [name[1]]))


def _names(links: tuple[entry.Link, ...]) -> set[tuple[str, str]]:
    return {(link.type, link.target) for link in links}


def _words(record: Record) -> tuple[str, str, str]:
    return record.text, record.caption, record.summary
