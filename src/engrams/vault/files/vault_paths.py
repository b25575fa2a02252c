"""Map memories and notes to file paths, and paths to scopes.

A memory's file is ``entries/<scope>/<folder>/<time>__<slug>__<id tail>.md``. Paths are relative to
the vault, with ``/``. Every part is safe on Windows, macOS and Linux: two labels, or two ids, that
differ only in case or Unicode form, or share a slug, have different names.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import unicodedata
from collections.abc import Collection
from datetime import date

from engrams.core import RUNNING, Kind, Record, Scope, Status
from engrams.frozen_data import dataclass

ENTRIES = "entries"
DELETED = "deleted"
CONFLICTS = "conflicts"
DOCUMENTS = "documents"
TOPS = (ENTRIES, DELETED, CONFLICTS, DOCUMENTS, "memory", "dreams")
"""Top folders of a vault."""

FOLDERS = (
    "facts",
    "turns/user",
    "turns/assistant",
    "turns/other",
    "summaries",
    "episodes",
    "rules",
)
_WORDS = frozenset(folder.partition("/")[0] for folder in FOLDERS)
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_LONGEST = 60
EVICTED = "eviction"
"""``superseded_by`` of a memory that was over the limit of its scope."""

_SLUG = 48
_MARK = "~"
_TAIL = re.compile(r"__([0-9a-z]{4,32})\.md$")
_ULID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")


_DAY = re.compile(r"(\d{4}-\d\d-\d\d)\.md")
SHARED = "shared"


@dataclass(frozen=True, slots=True)
class VaultFileLocation:
    """Folder parts of a file's path: scope, kind, deleted or not."""

    scope: str
    folder: str
    deleted: bool


def kind_folder(record: Record) -> str:
    """Return the folder of a record's kind and role."""
    match record.kind:
        case Kind.TURN | Kind.EXCHANGE:
            return f"turns/{record.role}" if record.role in ("user", "assistant") else "turns/other"
        case Kind.SUMMARY:
            return "summaries"
        case Kind.EPISODE:
            return "episodes"
        case Kind.RULE | Kind.PROCEDURE | Kind.NEGATIVE:
            return "rules"
        case _:
            return "facts"


def scope_folder(scope: Scope) -> str:
    """Return a scope's folder, unique on every file system."""
    return "/".join(_label_folder(label) for label in scope.labels)


def find_scope(folder: str, known: Collection[Scope]) -> Scope | None:
    """Find a folder's scope; None: its labels were shortened there."""
    wanted = path_key(folder)
    found = next((scope for scope in known if path_key(scope_folder(scope)) == wanted), None)
    if found is not None:
        return found
    labels = [unicodedata.normalize("NFC", part) for part in folder.split("/")]
    if not folder or any(
        _MARK in label or not label.strip() or label in (".", "..") for label in labels
    ):
        return None
    return Scope(tuple(labels))


def parse_place(path: str) -> VaultFileLocation | None:
    """Parse a path; None where no memory's file belongs there."""
    top, _, rest = path.partition("/")
    if top not in (ENTRIES, DELETED):
        return None
    parts = posixpath.dirname(rest).split("/")
    for end in range(len(parts), 0, -1):
        for size in (2, 1):
            folder = "/".join(parts[max(0, end - size) : end])
            if end > size and folder in FOLDERS:
                return VaultFileLocation("/".join(parts[: end - size]), folder, top == DELETED)
    return None


def new_path(record: Record, taken: Collection[str]) -> str:
    """Return a free path for a new file; ``taken``: used keys."""
    folder = posixpath.join(top_folder(record), scope_folder(record.scope), kind_folder(record))
    if (
        record.kind is Kind.SUMMARY
        and RUNNING in record.meta
        and not record.session
        and path_key(f"{folder}/summary.md") not in taken
    ):
        return f"{folder}/summary.md"
    stamp = f"{record.recorded_at:%Y-%m-%dT%H%M}"
    digest = hashlib.blake2b(record.id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    ulid = _ULID.fullmatch(record.id) is not None
    tails = [record.id[-4:], record.id[-8:], record.id] if ulid else [digest[:8], digest]
    name = make_slug(record.text or record.caption)
    for tail in tails:
        path = f"{folder}/{'__'.join(part for part in (stamp, name, tail) if part)}.md"
        if path_key(path) not in taken:
            return path
    return f"{folder}/{stamp}__{digest}{len(taken)}.md"


def moved_path(path: str, record: Record, was: Scope) -> str:
    """Return a file's path after its record moved or was deleted."""
    top, _, rest = path.partition("/")
    place = parse_place(path)
    if place is not None and was != record.scope:
        rest = scope_folder(record.scope) + rest[len(place.scope) :]
    return f"{top_folder(record)}/{rest}" if top in (ENTRIES, DELETED) else path


def top_folder(record: Record) -> str:
    return DELETED if is_away(record) else ENTRIES


def is_away(record: Record) -> bool:
    """True for forgotten, replaced or evicted memories, filed in ``deleted``."""
    replaced = record.status is Status.SUPERSEDED and record.kind not in (Kind.TURN, Kind.EXCHANGE)
    return (
        replaced
        or record.status is Status.FORGOTTEN
        or (record.status is Status.ARCHIVED and record.superseded_by == EVICTED)
    )


def id_tail(path: str) -> str:
    """Return the end of the id in a file's name, or ""."""
    found = _TAIL.search(path)
    return found[1] if found else ""


def path_key(path: str) -> str:
    """Fold a path as a case- and Unicode-insensitive file system does."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def make_slug(text: str) -> str:
    """Make a file name of a text's first words, lower case."""
    folded = unicodedata.normalize(
        "NFC", unicodedata.normalize("NFKC", text[: _SLUG * 4]).casefold()
    )
    words = re.findall(
        r"[^\W_]+", "".join(char for char in folded if not unicodedata.combining(char))
    )
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer) > _SLUG or len(longer.encode()) > 2 * _SLUG:
            break
        name = longer
    return name or (words[0][: _SLUG // 3] if words else "")


def relative_link(target: str, source: str) -> str:
    """Return the link from ``source`` to ``target``, without ``.md``."""
    return posixpath.relpath(target.removesuffix(".md"), posixpath.dirname(source))


def _label_folder(label: str) -> str:
    if (
        _PLAIN.fullmatch(label)
        and len(label) <= _LONGEST
        and label not in _WORDS
        and not _DEVICE.fullmatch(label.partition(".")[0])
    ):
        return label
    name = (
        re.sub(r"[^A-Za-z0-9._-]", "_", label).strip("._-")[: _LONGEST - 10].rstrip("._-").lower()
        or "default"
    )
    digest = hashlib.blake2b(label.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{name}{_MARK}{digest}"


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
    return (
        path == "MEMORY.md"
        or (path.startswith("memory/") and path.endswith("/MEMORY.md"))
        or parse_day(path) is not None
    )


def find_owner(path: str, owners: tuple[Scope, ...]) -> Scope | None:
    """Find the owner of a note's path."""
    top, _, rest = path.partition("/")
    if top == DOCUMENTS:
        known = [
            owner
            for owner in owners
            if path_key(rest).startswith(path_key(scope_folder(owner)) + "/")
        ]
        return (
            max(known, key=lambda owner: len(owner.labels))
            if known
            else find_scope("/".join(rest.split("/")[:2]), ())
        )
    if path == "MEMORY.md" or path.count("/") == 1:
        return next((owner for owner in owners if owner.labels[0] == SHARED), Scope((SHARED,)))
    place = path.rpartition("/")[0]
    found = next(
        (owner for owner in owners if path_key(notes_folder(owner)) == path_key(place)), None
    )
    if found is not None:
        return found
    below = place.removeprefix("memory/")
    return find_scope(
        f"user/{below.removeprefix('users/')}" if below.startswith("users/") else below, ()
    )
