"""Write memories as linked notes for Obsidian."""

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
from engrams.transfer.formats.statement_export import STATEMENTS

_MANIFEST = ".engrams-vault.json"
_YOURS = "%% Below this line is yours: it stays when this note is written anew. %%"
_FOLDERS = {
    "person": "People", "animal": "Animals", "place": "Places", "organisation": "Organisations", "project": "Projects", "work": "Works",
    "theme": "Topics",
}  # fmt: skip
_MEMORIES = "Memories"
_TALKS = "Conversations"
_HOME = "Home"
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*#^\[\]%]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\`\[\]>#|$%^~*=!])")
_NAME_BYTES = 80
_LEAD_CHARS = 50
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class _VaultEntry:
    """A memory as the notes about entities show it."""

    link: str
    text: str
    at: datetime
    until: datetime | None
    over: bool


@dataclass(slots=True)
class _VaultWriter:
    """Writer of one vault, which lists its notes in a manifest.

    ``known``: path to the hash of each note written before; ``written``: those of now; ``taken``:
    folded paths in use.
    """

    folder: Path
    known: dict[str, str]
    written: dict[str, str] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)

    def name(self, folder: str, title: str, key: str) -> str:
        """Return a safe path without suffix, of no other note."""
        wanted = f"{folder}/{make_name(title)}" if folder else make_name(title)
        path = (
            wanted
            if self._is_free(wanted, key)
            else f"{wanted} {hashlib.blake2b(key.encode(), digest_size=4).hexdigest()}"
        )
        self.taken[path.casefold()] = key
        return path

    def _is_free(self, path: str, key: str) -> bool:
        foreign = f"{path}.md" not in self.known and (self.folder / f"{path}.md").exists()
        return not foreign and self.taken.get(path.casefold(), key) == key

    def write(self, path: str, lines: Iterable[str]) -> None:
        """Write a note; what its reader wrote below the mark is kept."""
        target = self.folder / f"{path}.md"
        own = _read_own(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = "\n".join((*lines, "", _YOURS, ""))
        part = target.with_name(f".{target.name[:60]}.part")
        part.write_text(content + own, encoding="utf-8", errors="replace", newline="\n")
        part.replace(target)
        self.written[f"{path}.md"] = hashlib.blake2b(
            content.encode("utf-8", "replace"), digest_size=8
        ).hexdigest()

    def finish(self) -> None:
        """Remove notes not written any more, without a reader's own words."""
        for name in self.known.keys() - self.written.keys():
            path = self.folder / name
            if path.is_file() and not path.is_symlink() and not _read_own(path).strip():
                path.unlink()
        (self.folder / _MANIFEST).write_text(
            json.dumps({"notes": self.written}, ensure_ascii=False, indent=0), encoding="utf-8"
        )


def write(folder: Path, records: Iterable[Record], net: EntityNet) -> int:
    """Write a vault, or write it anew; return the number of memories.

    InputError: the folder's list of notes is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vault = _VaultWriter(folder, _read_manifest(folder))
    links = {
        entity.id: vault.name(_FOLDERS[entity.kind.value], entity.name, entity.id)
        for entity in net.entities
    }
    entries: dict[str, _VaultEntry] = {}
    talks: dict[str, list[str]] = {}
    count = 0
    for record in records:
        about = [_link(links[id]) for id in net.by_memory.get(record.id, ()) if id in links]
        if record.kind in STATEMENTS:
            path = vault.name(
                _MEMORIES,
                f"{record.recorded_at:%Y-%m-%d} {record.text[:_LEAD_CHARS]} {record.id[-6:]}",
                record.id,
            )
            vault.write(path, _describe_memory(record, about))
        else:
            title = record.session or f"{record.recorded_at:%Y-%m-%d}"
            path = vault.name(_TALKS, title, f"{record.scope.key}|{title}")
            talks.setdefault(path, [f"# {_escape(title)}", ""]).append(
                _describe_turn(record, about)
            )
        over = record.status is not Status.ACTIVE
        entries[record.id] = _VaultEntry(
            link=path,
            text=" ".join(record.text.split())[:_SHOWN],
            at=record.recorded_at,
            until=record.valid_to,
            over=over,
        )
        count += 1
    for path, lines in talks.items():
        vault.write(path, lines)
    for entity in net.entities:
        vault.write(links[entity.id], _describe_entity(entity, entries, net, links))
    vault.write(vault.name("", _HOME, _HOME), _describe_home(net, links, sorted(talks), count))
    vault.finish()
    return count


def is_vault(folder: Path) -> bool:
    """Tell a folder that holds a vault written here."""
    return (folder / _MANIFEST).is_file()


def make_name(title: str) -> str:
    """Make a safe file name of a title, also for a link."""
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
        "tags": [
            tag
            for each in record.tags
            if (tag := re.sub(r"[^\w/-]+", "-", each).strip("-")) and not tag.isdigit()
        ],
    }
    yield from _format_front(fields)
    yield from (_escape(line) for line in record.text.splitlines())
    if record.caption:
        yield f"\n_{_escape(record.caption)}_"
    if about:
        yield f"\nAbout: {', '.join(about)}"


def _describe_turn(record: Record, about: list[str]) -> str:
    who = record.speaker or record.role
    text = "\n  ".join(_escape(line) for line in record.text.splitlines())
    lead = f"**{_escape(who)}:** " if who else ""
    links = f" ({', '.join(about)})" if about else ""
    return f"- {record.recorded_at:%Y-%m-%d %H:%M} {lead}{text}{links}"


def _describe_entity(
    entity: Entity, entries: Mapping[str, _VaultEntry], net: EntityNet, links: Mapping[str, str]
) -> Iterator[str]:
    """Yield what is known, what has ended, who comes with it."""
    yield from _format_front({"kind": entity.kind.value, "aliases": list(entity.aliases)})
    yield f"# {_escape(entity.name)}"
    found = [entries[id] for id in entity.memories if id in entries]
    for title, over in (("Known", False), ("Ended", True)):
        some = [entry for entry in found if entry.over is over]
        if some:
            yield f"\n## {title}\n"
            yield from (
                f"- {_escape(entry.text)}{_until(entry)}"
                f" {_link(entry.link, f'{entry.at:%Y-%m-%d}')}"
                for entry in some
            )
    beside = {
        (link.target if link.source == entity.id else link.source): link.memories
        for link in net.links
        if entity.id in (link.source, link.target)
    }
    near = sorted(((number, id) for id, number in beside.items() if id in links), reverse=True)
    if near:
        yield "\n## With\n"
        yield from (f"- {_link(links[id])} ({number})" for number, id in near)


def _describe_home(
    net: EntityNet, links: Mapping[str, str], talks: list[str], count: int
) -> Iterator[str]:
    yield "# Memory"
    yield f"\n{count} memories, written by `engrams export --format obsidian`."
    for kind, title in _FOLDERS.items():
        some = [entity for entity in net.entities if entity.kind.value == kind]
        if some:
            yield f"\n## {title}\n"
            yield from (f"- {_link(links[entity.id])} ({len(entity.memories)})" for entity in some)
    if talks:
        yield f"\n## {_TALKS}\n"
        yield from (f"- {_link(path)}" for path in talks)


def _format_front(fields: Mapping[str, object]) -> Iterator[str]:
    """Yield front matter; JSON values are YAML."""
    yield "---"
    yield from (
        f"{name}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in fields.items()
        if value not in (None, "", [])
    )
    yield "---"


def _link(path: str, shown: str = "") -> str:
    return f"[[{path}|{shown or path.rpartition('/')[2]}]]"


def _until(entry: _VaultEntry) -> str:
    return f" (until {entry.until:%Y-%m-%d})" if entry.until else ""


def _escape(text: str) -> str:
    """Escape links, tags, code, HTML and formulas, lest Obsidian run them."""
    plain = (
        "".join(char for char in text if char.isprintable() or char == "\t")
        .replace("&", "&amp;")
        .replace("<", "&lt;")
    )
    escaped = _SPECIAL.sub(r"\\\1", plain)
    return re.sub(
        r"^(\s*)([-+]|\d+[.)])(\s|$)|^(\s*)(---|\+\+\+)",
        lambda found: f"\\{found[0].lstrip()}",
        escaped,
    )


def _read_own(path: Path) -> str:
    """Return what stands below the mark in a note."""
    try:
        return path.read_text(encoding="utf-8").partition(_YOURS + "\n")[2]
    except FileNotFoundError:
        return ""
    except ValueError:
        raise InputError(
            f"{path} is no text any more.", hint="Move it away, then export again."
        ) from None


def _read_manifest(folder: Path) -> dict[str, str]:
    try:
        held = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))["notes"]
        return {
            name: mark
            for name, mark in held.items()
            if ".." not in Path(name).parts and not Path(name).is_absolute()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{folder / _MANIFEST} is damaged.", hint="Export into another folder."
        ) from None
