"""Messages and authors of commits, made from the notes of what changed each file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

_MAX_LINES = 40
"""Memories that a message names, and sessions, at most."""
_LINE_CHARS = 200
_NAME_CHARS = 60


def group_by_author(notes: Mapping[str, Any], paths: set[str]) -> dict[str, list[str]]:
    """Group paths by author: an agent, or "" for a hand.

    ``notes``: what changed each file, by path (``vault.change_notes``).
    """
    groups: dict[str, list[str]] = {}
    for path in sorted(notes):
        note = notes[path]
        is_by_hand = note.get("actor") in ("hand", "") and note.get("does") not in (None, "purge")
        author = "" if is_by_hand else make_author_name(note.get("agent") or "engrams")
        groups.setdefault(author, []).append(path)
    # Paths without a note, such as the ignore file, go with the first author.
    next(iter(groups.values()), []).extend(sorted(paths - notes.keys()))
    return groups


def make_message(notes: Mapping[str, Any], paths: Sequence[str], title: str = "") -> str:
    """Make the message of a commit: a title with counts, a line for each memory, its sessions.

    ``title``: instead of the counts.
    """
    named_notes = {
        _name_subject(path, notes[path]): notes[path] for path in paths if notes.get(path)
    }
    counts = Counter(str(note.get("does", "change")) for note in named_notes.values())
    summary = ", ".join(f"{_to_line(action)} {count}" for action, count in counts.items())
    scopes = sorted({str(note["scope"]) for note in named_notes.values() if note.get("scope")})
    suffix = ""
    if scopes:
        suffix = f" ({scopes[0]}{' and others' if len(scopes) > 1 else ''})"
    lines = list(
        dict.fromkeys(
            f"{_to_line(note.get('does', 'change'))} {name}: {_to_line(note.get('why', ''))}"
            for name, note in named_notes.items()
        )
    )
    body = lines[:_MAX_LINES]
    if len(lines) > _MAX_LINES:
        body.append(f"and {len(lines) - _MAX_LINES} more")
    sessions = sorted(
        {_to_line(note["session"]) for note in named_notes.values() if note.get("session")}
    )
    trailers = [f"Session: {session}" for session in sessions[:_MAX_LINES]]
    parts = ((title or summary or "Begin") + suffix, "\n".join(body), "\n".join(trailers))
    return "\n\n".join(filter(None, parts)) + "\n"


def make_author_name(text: str) -> str:
    """Make the name of an author that git can hold."""
    name = "".join(char for char in _to_line(text) if char not in "<>\0")
    return name[:_NAME_CHARS].strip() or "engrams"


def make_author_mail(name: str) -> str:
    """Make a mail address for an author, as git wants one."""
    local_part = "".join(
        char if char.isascii() and char.isalnum() else "-" for char in name.lower()
    )
    return local_part.strip("-")[:40] + "@engrams"


def _name_subject(path: str, note: Mapping[str, Any]) -> str:
    """Name what a note is about: a memory's id, else the file.

    Not the path of a purged file, which is made of its words.
    """
    if note.get("id"):
        return str(note["id"])
    return "a file" if note.get("does") == "purge" else path


def _to_line(text: Any) -> str:
    return " ".join(str(text).split())[:_LINE_CHARS]
