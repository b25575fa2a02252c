"""Map notes to file paths, and paths to their owners and days.

An owner's notes are ``MEMORY.md``, a daily note for each day and a diary of dreams. Those of users
lie in ``memory/users``, those that are shared at the top of the vault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from engrams.core import Scope
from engrams.vault.files.vault_paths import DOCUMENTS, find_scope, path_key, scope_folder

SHARED = "shared"
"""First label of the owner whose notes stand at the top of the vault."""
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)\.md")


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
    """Return the path of an owner's diary of dreams (consolidations)."""
    base = notes_folder(owner)
    return f"{base}/dreams/{day:%Y-%m-%d}.md" if base else f"dreams/{day:%Y-%m-%d}.md"


def has_notes(path: str, owner: Scope) -> bool:
    """Return True for an owner's MEMORY.md, daily notes and diaries."""
    folder = path.rpartition("/")[0]
    base = notes_folder(owner)
    return path == memory_path(owner) or folder in (base or "memory", f"{base}/dreams".lstrip("/"))


def is_diary(path: str) -> bool:
    """Return True for a diary of dreams."""
    return "/dreams/" in f"/{path}"


def parse_day(path: str) -> date | None:
    """Return the day of a daily note's path, else None."""
    day_name = _DAY.fullmatch(path.rpartition("/")[2])
    if day_name is None or not path.startswith("memory/") or is_diary(path):
        return None
    try:
        return date.fromisoformat(day_name[1])
    except ValueError:
        return None


def is_note(path: str) -> bool:
    """Return True for files that search indexes: MEMORY.md and daily notes."""
    return (
        path == "MEMORY.md"
        or (path.startswith("memory/") and path.endswith("/MEMORY.md"))
        or parse_day(path) is not None
    )


def find_owner(path: str, owners: Sequence[Scope]) -> Scope | None:
    """Find the owner of a note or document by its path; None: the path names nobody.

    ``owners``: the known owners. If none of them has the folder, its name gives the labels.
    """
    if path.startswith(f"{DOCUMENTS}/"):
        return _find_document_owner(path.removeprefix(f"{DOCUMENTS}/"), owners)
    is_shared = path == "MEMORY.md" or path.count("/") == 1  # memory/2026-05-30.md
    if is_shared:
        return next((owner for owner in owners if owner.labels[0] == SHARED), Scope((SHARED,)))
    folder = path.rpartition("/")[0]
    for owner in owners:
        if path_key(notes_folder(owner)) == path_key(folder):
            return owner
    labels = folder.removeprefix("memory/")
    if labels.startswith("users/"):
        labels = f"user/{labels.removeprefix('users/')}"
    return find_scope(labels, ())


def _find_document_owner(path: str, owners: Sequence[Scope]) -> Scope | None:
    """Find the owner in whose folder a document lies; of several, the deepest."""
    candidates = [
        owner for owner in owners if path_key(path).startswith(path_key(scope_folder(owner)) + "/")
    ]
    if candidates:
        return max(candidates, key=lambda owner: len(owner.labels))
    return find_scope("/".join(path.split("/")[:2]), ())
