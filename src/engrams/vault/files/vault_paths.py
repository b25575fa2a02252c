"""Map memories to file paths, and paths to scopes.

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
from dataclasses import dataclass

from engrams.core import GLOBAL, RUNNING, Kind, Record, Scope, Status

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
    "passages",
)
_KIND_WORDS = frozenset(folder.partition("/")[0] for folder in FOLDERS)
"""Labels that would be taken for the folder of a kind."""
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_LABEL_CHARS = 60
"""Characters of the longest folder of a label."""
REPLACED_BY_EVICTION = "eviction"
"""``superseded_by`` of a memory that was over the limit of its scope."""

_SLUG_CHARS = 48
"""Characters of the longest slug, the first words of a memory in its file's name."""
_HASH_MARK = "~"
"""Character before the hash in the folder of a label that cannot be a folder's name itself."""
_TAIL = re.compile(r"__([0-9a-z]{4,32})\.md$")
_ULID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")


@dataclass(frozen=True, slots=True)
class VaultFileLocation:
    """Parts of a memory's path."""

    scope: str
    """Folder of the scope."""
    folder: str
    """Folder of the kind, one of ``FOLDERS``."""
    deleted: bool
    """The file lies below ``deleted``."""


def kind_folder(record: Record) -> str:
    """Return the folder of a record's kind and role."""
    match record.kind:
        case Kind.TURN | Kind.EXCHANGE:
            return f"turns/{record.role}" if record.role in ("user", "assistant") else "turns/other"
        case Kind.SUMMARY:
            return "summaries"
        case Kind.EPISODE:
            return "episodes"
        case Kind.PASSAGE:
            return "passages"
        case Kind.RULE | Kind.PROCEDURE | Kind.NEGATIVE:
            return "rules"
        case _:
            return "facts"


def scope_folder(scope: Scope) -> str:
    """Return a scope's folder, unique on every file system."""
    return "/".join(_label_folder(label) for label in scope.labels)


def find_scope(folder: str, scopes: Collection[Scope]) -> Scope | None:
    """Find a folder's scope; None: its labels were shortened there.

    ``scopes``: those that are known, which are looked through first.
    """
    folder_key = path_key(folder)
    for scope in scopes:
        if path_key(scope_folder(scope)) == folder_key:
            return scope
    labels = [unicodedata.normalize("NFC", part) for part in folder.split("/")]
    if not folder or any(
        _HASH_MARK in label or not label.strip() or label in (".", "..") for label in labels
    ):
        return None
    return Scope(tuple(labels))


def parse_location(path: str) -> VaultFileLocation | None:
    """Parse a path; None where no memory's file belongs there."""
    top, _, below = path.partition("/")
    if top not in (ENTRIES, DELETED):
        return None
    parts = posixpath.dirname(below).split("/")
    for end in range(len(parts), 0, -1):
        for size in (2, 1):
            folder = "/".join(parts[max(0, end - size) : end])
            if end > size and folder in FOLDERS:
                return VaultFileLocation("/".join(parts[: end - size]), folder, top == DELETED)
    return None


def new_path(record: Record, taken_keys: Collection[str]) -> str:
    """Return a free path for a new file.

    ``taken_keys``: keys of the paths that are in use.
    """
    folder = posixpath.join(top_folder(record), scope_folder(record.scope), kind_folder(record))
    if (
        record.kind is Kind.SUMMARY
        and RUNNING in record.meta
        and record.session in ("", GLOBAL)
        and path_key(f"{folder}/summary.md") not in taken_keys
    ):
        return f"{folder}/summary.md"
    stamp = f"{record.recorded_at:%Y-%m-%dT%H%M}"
    digest = hashlib.blake2b(record.id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    # The end of a ULID is random; any other id may hold characters that no file name may.
    is_ulid = _ULID.fullmatch(record.id) is not None
    tails = [record.id[-4:], record.id[-8:], record.id] if is_ulid else [digest[:8], digest]
    slug = make_slug(record.text or record.caption)
    for tail in tails:
        path = f"{folder}/{'__'.join(part for part in (stamp, slug, tail) if part)}.md"
        if path_key(path) not in taken_keys:
            return path
    return f"{folder}/{stamp}__{digest}{len(taken_keys)}.md"


def moved_path(path: str, record: Record, old_scope: Scope) -> str:
    """Return a file's path after its record moved to another scope or was deleted."""
    top, _, below = path.partition("/")
    location = parse_location(path)
    if location is not None and old_scope != record.scope:
        below = scope_folder(record.scope) + below[len(location.scope) :]
    return f"{top_folder(record)}/{below}" if top in (ENTRIES, DELETED) else path


def top_folder(record: Record) -> str:
    return DELETED if is_away(record) else ENTRIES


def is_away(record: Record) -> bool:
    """True for forgotten, replaced or evicted memories, filed in ``deleted``."""
    replaced = record.status is Status.SUPERSEDED and record.kind not in (Kind.TURN, Kind.EXCHANGE)
    return (
        replaced
        or record.status is Status.FORGOTTEN
        or (record.status is Status.ARCHIVED and record.superseded_by == REPLACED_BY_EVICTION)
    )


def id_tail(path: str) -> str:
    """Return the end of the id in a file's name, or ""."""
    tail = _TAIL.search(path)
    return tail[1] if tail else ""


def path_key(path: str) -> str:
    """Fold a path as a case- and Unicode-insensitive file system does."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def make_slug(text: str) -> str:
    """Make a file name of a text's first words, lower case."""
    folded = unicodedata.normalize(
        "NFC", unicodedata.normalize("NFKC", text[: _SLUG_CHARS * 4]).casefold()
    )
    words = re.findall(
        r"[^\W_]+", "".join(char for char in folded if not unicodedata.combining(char))
    )
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word
        if len(longer) > _SLUG_CHARS or len(longer.encode()) > 2 * _SLUG_CHARS:
            break
        slug = longer
    return slug or (words[0][: _SLUG_CHARS // 3] if words else "")


def relative_link(target: str, source: str) -> str:
    """Return the link from ``source`` to ``target``, without ``.md``."""
    return posixpath.relpath(target.removesuffix(".md"), posixpath.dirname(source))


def _label_folder(label: str) -> str:
    if (
        _PLAIN.fullmatch(label)
        and len(label) <= _LABEL_CHARS
        and label not in _KIND_WORDS
        and not _DEVICE.fullmatch(label.partition(".")[0])
    ):
        return label
    # The hash keeps labels apart that a file system would take for one, such as "Ann" and "ann".
    name = (
        re.sub(r"[^\w.-]", "_", unicodedata.normalize("NFC", label))
        .strip("._-")[: _LABEL_CHARS - 10]
        .rstrip("._-")
        or "default"
    )
    digest = hashlib.blake2b(label.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{name}{_HASH_MARK}{digest}"
