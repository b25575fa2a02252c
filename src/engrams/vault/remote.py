"""Keep in step with another place through a git remote: fetch, merge memory by memory, push. Needs the git program.

Conflicts of text never reach git: two versions of one memory are merged field by field, and a tombstone on either side
wins over whatever the other side did to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engrams.errors import ExtraError, StoreError
from engrams.types import Scope, Status
from engrams.vault import entry, merge
from engrams.vault.disk import File
from engrams.vault.front import FrontError
from engrams.vault.git import Git, Version, versions
from engrams.vault.parts import Parts, decoded

_REF = "refs/engrams/remote"
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Exchange:
    """What came and went. ``conflicts``: paths where both sides' words are kept, ours in ``conflicts``."""

    pulled: int = 0
    pushed: bool = False
    conflicts: tuple[str, ...] = ()


def fetch(parts: Parts, git: Git) -> str:
    """The remote's newest commit, fetched; empty where the remote is empty."""
    url, branch = parts.settings.remote, _branch(git)
    heads = _git(parts, "ls-remote", "--heads", "--", url, f"refs/heads/{branch}")
    if not heads.strip():
        return ""
    _git(parts, "fetch", "--quiet", "--no-tags", "--", url, f"+refs/heads/{branch}:{_REF}")
    return heads.split()[0]


def merged(parts: Parts, git: Git, theirs: str) -> tuple[dict[str, Any], tuple[str, ...], bool]:
    """Bring the remote's changes into the files, with the lock held: notes for the commit, conflicts, whether there is a
    merge to commit."""
    with git.repository() as repo:
        from dulwich.graph import find_merge_base
        from dulwich.objects import ObjectID

        ours = repo.head()
        other = ObjectID(theirs.encode())
        bases = find_merge_base(repo, [ours, other])
        if other in bases:
            return {}, (), False
        base = repo[bases[0]].tree if bases else None
        came = versions(repo, base, repo[other].tree)
        mine = {version.path: version for version in versions(repo, base, repo[ours].tree)}
    notes: dict[str, Any] = {}
    conflicts: list[str] = []
    tombs = {_id(version.after) for version in mine.values() if _gone(version.after) and not _gone(version.before)}
    for version in came:
        if version.path.startswith(".git"):
            continue
        data = _merge(parts, version, mine.get(version.path), tombs, conflicts)
        if data != parts.disk.read(version.path):
            if data is None:
                parts.disk.remove(version.path)
            else:
                parts.disk.write([File(version.path, data)])
            notes[version.path] = {"does": "pull", "actor": "remote", "why": "came from another place"}
    return notes, tuple(conflicts), True


def push(parts: Parts, git: Git) -> bool:
    """Give ours to the remote. False: it has moved on meanwhile."""
    branch = _branch(git)
    try:
        _git(parts, "push", "--quiet", "--", parts.settings.remote, f"HEAD:refs/heads/{branch}")
    except StoreError as problem:
        if "fetch first" in problem.message or "non-fast-forward" in problem.message or "rejected" in problem.message:
            return False
        raise
    return True


def _merge(parts: Parts, theirs: Version, ours: Version | None, tombs: set[str], conflicts: list[str]) -> bytes | None:
    """What the file is to hold."""
    now = parts.disk.read(theirs.path)
    if _purged(parts, theirs.after):
        return None
    if theirs.after is not None and _id(theirs.after) in tombs and not _gone(theirs.after):
        # Put away here, changed there.
        return now
    if ours is None or ours.after == theirs.after:
        return theirs.after
    if theirs.after is None or ours.after is None:
        # Moved or removed on one side, changed on the other: what was put away stays so, what was changed is kept.
        return now if theirs.after is None else None if _id(theirs.after) in tombs else theirs.after
    joined = _records(theirs.before, ours.after, theirs.after)
    if joined is not None:
        data, lost = joined
        if lost:
            conflicts.append(theirs.path)
            parts.keep(theirs.path, ours.after, "changed here and in another place; the other's words hold")
        return data
    try:
        text = merge.lines(*(decoded(data or b"") for data in (theirs.before, ours.after, theirs.after)))
    except FrontError:
        text = None
    if text is not None:
        return text.encode()
    conflicts.append(theirs.path)
    parts.keep(theirs.path, ours.after, "changed here and in another place; the other's words hold")
    return theirs.after


def _records(before: bytes | None, ours: bytes, theirs: bytes) -> tuple[bytes, bool] | None:
    """Two versions of one memory as one; None where these are no memories."""
    try:
        told = [entry.read(decoded(data)) for data in (before or ours, ours, theirs)]
        if any(not one.id for one in told):
            return None
        base, mine, other = (one.record({}) for one in told)
    except (FrontError, TypeError, KeyError):
        return None
    found = merge.merge(base, mine, other)
    record = replace(mine, **found.fields, version=max(mine.version, other.version) + 1)
    if Status.FORGOTTEN in (mine.status, other.status) and base.status is not Status.FORGOTTEN:
        tomb = mine if mine.status is Status.FORGOTTEN else other
        record = replace(record, status=Status.FORGOTTEN, retired_at=tomb.retired_at, meta={**record.meta, **tomb.meta})
    were = {(link.type, link.target) for link in told[0].links}
    links = {(link.type, link.target): link for link in (*told[1].links, *told[2].links)}
    kept = [link for name, link in links.items() if name not in were or all(name in _names(side.links) for side in told[1:])]
    return entry.render(record, kept, decoded(ours)).encode(), any(name in found.lost for name in ("text", "caption", "summary"))


def _names(links: tuple[entry.Link, ...]) -> set[tuple[str, str]]:
    return {(link.type, link.target) for link in links}


def _id(data: bytes | None) -> str:
    try:
        return entry.read(decoded(data)).id if data else ""
    except FrontError:
        return ""


def _purged(parts: Parts, data: bytes | None) -> bool:
    try:
        told = entry.read(decoded(data or b""))
    except FrontError:
        return False
    scope = told.fields.get("scope")
    if not isinstance(scope, Scope) or not told.id:
        return False
    return any(record.status is Status.PURGED for record in parts.store.get(scope.owner, [told.id]))


def _gone(data: bytes | None) -> bool:
    try:
        return bool(data) and entry.read(decoded(data or b"")).fields.get("status") is Status.FORGOTTEN
    except FrontError:
        return False


def _branch(git: Git) -> str:
    with git.repository() as repo:
        names, _ = repo.refs.follow(b"HEAD")
        return str(names[-1].decode().removeprefix("refs/heads/"))


def _git(parts: Parts, *given: str) -> str:
    program = shutil.which("git")
    if program is None:
        raise ExtraError("A remote needs the git program.", hint="Install git, or set `vault.remote` to nothing.")
    environment: Mapping[str, str] = {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
        "LC_ALL": "C",
    }
    try:
        # The program is git, its arguments are ours; the remote is the owner's own setting and comes after `--`.
        done = subprocess.run(  # noqa: S603
            [program, *given], cwd=parts.disk.root, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise StoreError(f"git {given[0]} took longer than {_SECONDS} seconds.", hint="See whether the remote can be reached.") from None
    if done.returncode:
        told = " ".join(done.stderr.split())[-300:]
        raise StoreError(f"git {given[0]}: {told}", hint="See whether the remote exists and can be reached without a password.")
    return done.stdout
