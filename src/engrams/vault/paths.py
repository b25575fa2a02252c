"""Locate an owner's notes: MEMORY.md, daily notes and dream diaries."""

from __future__ import annotations

import re
from datetime import date

from engrams.types import Scope
from engrams.vault.path import DOCUMENTS, find_scope, path_key, scope_folder

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)\.md")
SHARED = "shared"


def notes_folder(owner: Scope) -> str:
    """Return an owner's folder of notes; "" for what is shared."""
    if owner.labels[0] == SHARED:
        return ""
    if owner.labels[0] == "user" and len(owner.labels) == 2:
        return f"memory/users/{scope_folder(owner).partition('/')[2]}"
    return f"memory/{scope_folder(owner)}"


def memory_path(owner: Scope) -> str:
    """Return the path of an owner's MEMORY.md."""
    base = notes_folder(owner)
    return f"{base}/MEMORY.md" if base else "MEMORY.md"


def daily_path(owner: Scope, day: date) -> str:
    """Return the path of an owner's daily note."""
    return f"{notes_folder(owner) or 'memory'}/{day:%Y-%m-%d}.md"


def diary_path(owner: Scope, day: date) -> str:
    """Return the path of an owner's dream diary."""
    base = notes_folder(owner)
    return f"{base}/dreams/{day:%Y-%m-%d}.md" if base else f"dreams/{day:%Y-%m-%d}.md"


def parse_day(path: str) -> date | None:
    """Return the day of a daily note's path, else None."""
    found = _DAY.fullmatch(path.rpartition("/")[2])
    if found is None or not path.startswith("memory/") or "/dreams/" in f"/{path}":
        return None
    try:
        return date.fromisoformat(found[1])
    except ValueError:
        return None


def is_note(path: str) -> bool:
    """Return True for files that search indexes: MEMORY.md and daily notes."""
    return path == "MEMORY.md" or (path.startswith("memory/") and path.endswith("/MEMORY.md")) or parse_day(path) is not None


def find_owner(path: str, owners: tuple[Scope, ...]) -> Scope | None:
    """Find the owner of a note's path."""
    top, _, rest = path.partition("/")
    if top == DOCUMENTS:
        known = [owner for owner in owners if path_key(rest).startswith(path_key(scope_folder(owner)) + "/")]
        return max(known, key=lambda owner: len(owner.labels)) if known else find_scope("/".join(rest.split("/")[:2]), ())
    if path == "MEMORY.md" or path.count("/") == 1:
        return next((owner for owner in owners if owner.labels[0] == SHARED), Scope((SHARED,)))
    place = path.rpartition("/")[0]
    found = next((owner for owner in owners if path_key(notes_folder(owner)) == path_key(place)), None)
    if found is not None:
        return found
    below = place.removeprefix("memory/")
    return find_scope(f"user/{below.removeprefix('users/')}" if below.startswith("users/") else below, ())
