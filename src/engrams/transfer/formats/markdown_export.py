"""Write memories as Markdown to read, a file per day."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from engrams.core import Kind, Record, Scope, Status
from engrams.transfer.formats.parsed_items import ExportedEdge, ExportedRecord

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*%]|^[.\s]|[.\s]$')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_MAX_NAME_BYTES = 80


def write(folder: Path, items: Iterable[ExportedRecord | ExportedEdge | Record]) -> int:
    """Write (or replace) the day files; return the number of records."""
    count = 0
    started: set[Path] = set()
    sessions: dict[Path, str] = {}
    open_path: Path | None = None
    file: TextIO | None = None
    try:
        for item in items:
            if isinstance(item, ExportedEdge):
                continue
            record = item.record if isinstance(item, ExportedRecord) else item
            path = folder.joinpath(
                *scope_folders(record.scope), f"{record.recorded_at:%Y-%m-%d}.md"
            )
            if path != open_path or file is None:
                if file:
                    file.close()
                path.parent.mkdir(parents=True, exist_ok=True)
                file = path.open(
                    "a" if path in started else "w", encoding="utf-8", errors="replace"
                )
                open_path = path
                if path not in started:
                    file.write(f"# {record.recorded_at:%Y-%m-%d}\n")
                    started.add(path)
            if sessions.get(path) != record.session:
                file.write(f"\n## {_escape(record.session) or 'Memories'}\n\n")
                sessions[path] = record.session
            file.write(to_list_item(record))
            count += 1
    finally:
        if file:
            file.close()
    return count


def scope_folders(scope: Scope) -> tuple[str, ...]:
    """Map a scope to safe folder names, different for different labels."""
    return tuple(_safe_name(label) for label in scope.labels)


def to_list_item(record: Record) -> str:
    """Format one record as a list item."""
    who = record.speaker or record.role
    if record.kind is not Kind.TURN:
        lead = f"_{record.kind}_ "
    elif who:
        lead = f"**{_escape(who)}:** "
    else:
        lead = ""
    caption = f" _[{_escape(record.caption)}]_" if record.caption else ""
    until = f" _(until {record.valid_to:%Y-%m-%d})_" if record.valid_to else ""
    status = "" if record.status is Status.ACTIVE else f" _({record.status})_"
    text = "\n  ".join(_escape(line) for line in record.text.splitlines())
    return f"- {record.recorded_at:%H:%M} {lead}{text}{caption}{until}{status}\n"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _safe_name(label: str) -> str:
    name = _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), label)
    if _RESERVED.fullmatch(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name.encode()) > _MAX_NAME_BYTES:
        cut = name.encode()[: _MAX_NAME_BYTES - 17].decode(errors="ignore")
        name = f"{cut}~{hashlib.blake2b(label.encode(), digest_size=8).hexdigest()}"
    return name
