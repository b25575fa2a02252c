"""Memories as linked notes for Obsidian: notes of entities, memories and conversations.

``write`` is the entry; it may be repeated into the same folder. A manifest lists the notes written
last time, so that one which is not written any more is removed. What a reader adds below a mark in a
note is kept.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path

from engrams.core import Entity, EntityNet, Record, Status
from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.transfer.formats.pieces import TELLING_KINDS

_MANIFEST = ".engrams-vault.json"
_READERS_MARK = "%% Below this line is yours: it stays when this note is written anew. %%"
_FOLDERS = {
    "person": "People", "animal": "Animals", "place": "Places", "organisation": "Organisations", "project": "Projects", "work": "Works",
    "theme": "Topics",
}  # fmt: skip
_MEMORIES = "Memories"
_CONVERSATIONS = "Conversations"
_HOME = "Home"
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*#^\[\]%]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_MARKUP = re.compile(r"([\\`\[\]>#|$%^~*=!])")
_LINE_START = re.compile(r"^(\s*)([-+]|\d+[.)])(\s|$)|^(\s*)(---|\+\+\+)")
"""Beginning of a line that would be a list item or a rule."""
_NAME_BYTES = 80
_LEAD_CHARS = 50
"""Characters of a memory that name its note."""
_QUOTED_CHARS = 500
"""Characters of a memory that the notes of its entities show."""


@dataclass(frozen=True, slots=True)
class _VaultEntry:
    """A memory as the notes about entities show it."""

    link: str
    """Path of its note, without suffix."""
    text: str
    at: datetime
    until: datetime | None
    has_ended: bool


@dataclass(slots=True)
class _VaultWriter:
    """Writer of the notes of one vault."""

    folder: Path
    former_notes: dict[str, str]
    """Path of each note written last time to the hash of its content."""
    notes: dict[str, str] = field(default_factory=dict)
    """The same of the notes written now."""
    keys: dict[str, str] = field(default_factory=dict)
    """Folded path in use to the key of the note it is for."""

    def choose_path(self, folder: str, title: str, key: str) -> str:
        """Return a safe path without suffix that no other note has.

        ``key``: the same for the same note; two notes of one title get a hash of it.
        """
        path = f"{folder}/{_make_name(title)}" if folder else _make_name(title)
        if not self._is_free(path, key):
            path = f"{path} {hashlib.blake2b(key.encode(), digest_size=4).hexdigest()}"
        self.keys[path.casefold()] = key
        return path

    def _is_free(self, path: str, key: str) -> bool:
        file_name = f"{path}.md"
        is_foreign = file_name not in self.former_notes and (self.folder / file_name).exists()
        return not is_foreign and self.keys.get(path.casefold(), key) == key

    def write(self, path: str, lines: Iterable[str]) -> None:
        """Write a note; the text below the mark is kept."""
        target = self.folder / f"{path}.md"
        readers_text = _read_readers_text(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = "\n".join((*lines, "", _READERS_MARK, ""))
        part = target.with_name(f".{target.name[:60]}.part")
        part.write_text(content + readers_text, encoding="utf-8", errors="replace", newline="\n")
        part.replace(target)
        self.notes[f"{path}.md"] = hashlib.blake2b(
            content.encode("utf-8", "replace"), digest_size=8
        ).hexdigest()

    def finish(self) -> None:
        """Remove notes not written any more, but for those a reader wrote in; save the manifest."""
        for name in self.former_notes.keys() - self.notes.keys():
            path = self.folder / name
            is_note = path.is_file() and not path.is_symlink()
            if is_note and not _read_readers_text(path).strip():
                path.unlink()
        (self.folder / _MANIFEST).write_text(
            json.dumps({"notes": self.notes}, ensure_ascii=False, indent=0), encoding="utf-8"
        )


def write(folder: Path, records: Iterable[Record], net: EntityNet) -> int:
    """Write a vault, or write it anew; return the number of memories.

    InputError: the folder's list of notes is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vault = _VaultWriter(folder, _read_manifest(folder))
    links = {
        entity.id: vault.choose_path(_FOLDERS[entity.kind.value], entity.name, entity.id)
        for entity in net.entities
    }
    entries: dict[str, _VaultEntry] = {}
    conversations: dict[str, list[str]] = {}
    for record in records:
        about = [_link(links[id]) for id in net.by_memory.get(record.id, ()) if id in links]
        if record.kind in TELLING_KINDS:
            lead = f"{record.recorded_at:%Y-%m-%d} {record.text[:_LEAD_CHARS]} {record.id[-6:]}"
            path = vault.choose_path(_MEMORIES, lead, record.id)
            vault.write(path, _describe_memory(record, about))
        else:
            title = record.session or f"{record.recorded_at:%Y-%m-%d}"
            path = vault.choose_path(_CONVERSATIONS, title, f"{record.scope.key}|{title}")
            lines = conversations.setdefault(path, [f"# {_escape(title)}", ""])
            lines.append(_describe_turn(record, about))
        entries[record.id] = _VaultEntry(
            link=path,
            text=" ".join(record.text.split())[:_QUOTED_CHARS],
            at=record.recorded_at,
            until=record.valid_to,
            has_ended=record.status is not Status.ACTIVE,
        )
    for path, lines in conversations.items():
        vault.write(path, lines)
    for entity in net.entities:
        vault.write(links[entity.id], _describe_entity(entity, entries, net, links))
    home_lines = _describe_home(net, links, sorted(conversations), len(entries))
    vault.write(vault.choose_path("", _HOME, _HOME), home_lines)
    vault.finish()
    return len(entries)


def is_vault(folder: Path) -> bool:
    """Check for a folder that holds a vault written here."""
    return (folder / _MANIFEST).is_file()


def _make_name(title: str) -> str:
    """Make a file name of a title that is safe on every system, and within a link."""
    name = " ".join(_UNSAFE.sub(" ", unicodedata.normalize("NFC", title)).split()).strip(". ")
    name = "".join(
        char for char in name if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    name = name.encode("utf-8", "ignore")[:_NAME_BYTES].decode("utf-8", "ignore").strip(". ")
    return f"_{name}" if not name or _RESERVED.fullmatch(name) else name


def _describe_memory(record: Record, about: list[str]) -> Iterator[str]:
    fields = {
        "id": record.id,
        "kind": record.kind.value,
        "status": record.status.value,
        "recorded": record.recorded_at.isoformat(),
        "valid_from": record.valid_from and record.valid_from.isoformat(),
        "valid_to": record.valid_to and record.valid_to.isoformat(),
        "scope": record.scope.key,
        "tags": [tag for tag in map(_make_tag, record.tags) if tag],
    }
    yield from _format_front(fields)
    yield from (_escape(line) for line in record.text.splitlines())
    if record.caption:
        yield f"\n_{_escape(record.caption)}_"
    if about:
        yield f"\nAbout: {', '.join(about)}"


def _make_tag(name: str) -> str:
    """Make a tag of a name; empty: Obsidian takes no such tag."""
    tag = re.sub(r"[^\w/-]+", "-", name).strip("-")
    return "" if tag.isdigit() else tag


def _describe_turn(record: Record, about: list[str]) -> str:
    speaker = record.speaker or record.role
    text = "\n  ".join(_escape(line) for line in record.text.splitlines())
    lead = f"**{_escape(speaker)}:** " if speaker else ""
    links = f" ({', '.join(about)})" if about else ""
    return f"- {record.recorded_at:%Y-%m-%d %H:%M} {lead}{text}{links}"


def _describe_entity(
    entity: Entity, entries: Mapping[str, _VaultEntry], net: EntityNet, links: Mapping[str, str]
) -> Iterator[str]:
    """Yield the current memories of an entity, those that have ended, and entities beside it."""
    yield from _format_front({"kind": entity.kind.value, "aliases": list(entity.aliases)})
    yield f"# {_escape(entity.name)}"
    entity_entries = [entries[id] for id in entity.memories if id in entries]
    for title, has_ended in (("Known", False), ("Ended", True)):
        section = [entry for entry in entity_entries if entry.has_ended is has_ended]
        if section:
            yield f"\n## {title}\n"
            yield from map(_describe_entry, section)
    shared_counts = {
        (link.target if link.source == entity.id else link.source): link.memories
        for link in net.links
        if entity.id in (link.source, link.target)
    }
    neighbours = sorted(
        ((count, id) for id, count in shared_counts.items() if id in links), reverse=True
    )
    if neighbours:
        yield "\n## With\n"
        yield from (f"- {_link(links[id])} ({count})" for count, id in neighbours)


def _describe_entry(entry: _VaultEntry) -> str:
    until = f" (until {entry.until:%Y-%m-%d})" if entry.until else ""
    return f"- {_escape(entry.text)}{until} {_link(entry.link, f'{entry.at:%Y-%m-%d}')}"


def _describe_home(
    net: EntityNet, links: Mapping[str, str], conversations: list[str], count: int
) -> Iterator[str]:
    """Yield the lines of the note that links to all others but those of memories."""
    yield "# Memory"
    yield f"\n{count} memories, written by `engrams export --format obsidian`."
    for kind, title in _FOLDERS.items():
        entities = [entity for entity in net.entities if entity.kind.value == kind]
        if entities:
            yield f"\n## {title}\n"
            yield from (
                f"- {_link(links[entity.id])} ({len(entity.memories)})" for entity in entities
            )
    if conversations:
        yield f"\n## {_CONVERSATIONS}\n"
        yield from (f"- {_link(path)}" for path in conversations)


def _format_front(fields: Mapping[str, object]) -> Iterator[str]:
    """Yield front matter; JSON values are YAML."""
    yield "---"
    yield from (
        f"{name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in fields.items()
        if value not in (None, "", [])
    )
    yield "---"


def _link(path: str, text: str = "") -> str:
    return f"[[{path}|{text or path.rpartition('/')[2]}]]"


def _escape(text: str) -> str:
    """Escape links, tags, code, HTML and formulas, lest Obsidian run them."""
    printable = "".join(char for char in text if char.isprintable() or char == "\t")
    without_html = printable.replace("&", "&amp;").replace("<", "&lt;")
    escaped = _MARKUP.sub(r"\\\1", without_html)
    return _LINE_START.sub(lambda match: f"\\{match[0].lstrip()}", escaped)


def _read_readers_text(path: Path) -> str:
    """Return the text below the mark in a note, which a reader wrote."""
    try:
        return path.read_text(encoding="utf-8").partition(_READERS_MARK + "\n")[2]
    except FileNotFoundError:
        return ""
    except ValueError:
        raise InputError(
            f"{path} is not text any more.", hint="Move it away, then export again."
        ) from None


def _read_manifest(folder: Path) -> dict[str, str]:
    try:
        notes = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))["notes"]
        # A manifest that somebody edited must not lead out of the folder.
        return {
            name: digest
            for name, digest in notes.items()
            if ".." not in Path(name).parts and not Path(name).is_absolute()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{folder / _MANIFEST} is damaged.", hint="Export into another folder."
        ) from None
