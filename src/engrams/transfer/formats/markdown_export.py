"""Memories as Markdown to read: a folder of each scope, in it a file of each day."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from engrams.core import Kind, Record, Scope, Status
from engrams.core.statement_form import form_statement
from engrams.transfer.formats.pieces import ExportedEdge, ExportedRecord

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*%]|^[.\s]|[.\s]$')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names of devices, which Windows gives to no file."""
_MAX_NAME_BYTES = 80


def write(folder: Path, items: Iterable[ExportedRecord | ExportedEdge | Record]) -> int:
    """Write (or replace) the day files; return the number of records."""
    count = 0
    sessions: dict[Path, str] = {}  # of each file, the session written last
    open_path: Path | None = None
    file: TextIO | None = None
    with ExitStack() as stack:
        for item in items:
            if isinstance(item, ExportedEdge):
                continue
            record = item.record if isinstance(item, ExportedRecord) else item
            day = f"{record.recorded_at:%Y-%m-%d}"
            path = folder.joinpath(*_scope_folders(record.scope), f"{day}.md")
            if path != open_path or file is None:
                stack.close()  # the file before
                file = stack.enter_context(_open_day(path, append=path in sessions))
                open_path = path
                if path not in sessions:
                    file.write(f"# {day}\n")
            if sessions.get(path) != record.session:
                file.write(f"\n## {_escape(record.session) or 'Memories'}\n\n")
                sessions[path] = record.session
            file.write(_to_list_item(record))
            count += 1
    return count


def _open_day(path: Path, *, append: bool) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a" if append else "w", encoding="utf-8", errors="replace")


def _scope_folders(scope: Scope) -> tuple[str, ...]:
    """Map a scope to safe folder names, different for different labels."""
    return tuple(_safe_name(label) for label in scope.labels)


def _to_list_item(record: Record) -> str:
    speaker = record.speaker or record.role
    if record.kind is not Kind.TURN:
        lead = f"_{record.kind}_ "
    elif speaker:
        lead = f"**{_escape(speaker)}:** "
    else:
        lead = ""
    caption = f" _[{_escape(record.caption)}]_" if record.caption else ""
    until = f" _(until {record.valid_to:%Y-%m-%d})_" if record.valid_to else ""
    status = "" if record.status is Status.ACTIVE else f" _({record.status})_"
    shown = form_statement(record).brief
    text = "\n  ".join(_escape(line) for line in shown.splitlines())
    return f"- {record.recorded_at:%H:%M} {lead}{text}{caption}{until}{status}\n"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _safe_name(label: str) -> str:
    """Escape a label to a name that every system takes: ``%`` and bytes, and a hash at its end."""
    name = _UNSAFE.sub(lambda char: "".join(f"%{byte:02X}" for byte in char[0].encode()), label)
    if _RESERVED.fullmatch(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name.encode()) > _MAX_NAME_BYTES:
        start = name.encode()[: _MAX_NAME_BYTES - 17].decode(errors="ignore")
        name = f"{start}~{hashlib.blake2b(label.encode(), digest_size=8).hexdigest()}"
    return name
