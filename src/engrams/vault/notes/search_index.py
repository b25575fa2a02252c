"""Index MEMORY.md, daily notes and documents for search.

They are cut into overlapping pieces, each a record that names its file and lines and has no file of
its own. Dream diaries are not indexed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import Any

from engrams.core import Kind, Layer, Provenance, Record, Scope, Status, content_hash
from engrams.core.ids import new_id
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.ports import (
    CORE_PIECE,
    NOTE_PIECE,
    NewRecord,
    RecordQuery,
    ScopeReach,
    WriteBatch,
)
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import hash_bytes
from engrams.vault.files.vault_paths import DOCUMENTS, find_owner, is_note, parse_day
from engrams.vault.notes.note_lines import NoteLineLedger, keep_lines, strip_mark

_TOKENS = 500
_OVERLAP = 50
_READ = (".md", ".txt", ".markdown")
_LARGEST = 4 << 20
_PAGE = 500
_KEPT = tuple(status for status in Status if status is not Status.PURGED)
BEGUN = "begun"
"""Name of the ids of a note's pieces whose storing has begun."""


@dataclass(frozen=True, slots=True)
class NoteChunk:
    """Lines of a file, from 1, ``first`` and ``last`` included."""

    first: int
    last: int
    text: str


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a quarter of its bytes."""
    return max(1, len(text.encode("utf-8", "replace")) // 4)


def split_pieces(
    text: str,
    count: Callable[[str], int] = estimate_tokens,
    size: int = _TOKENS,
    overlap: int = _OVERLAP,
) -> Iterator[NoteChunk]:
    """Split a text into pieces of at most ``size`` tokens.

    Each begins with about the last ``overlap`` tokens of the one before. A line that is longer by
    itself is split.
    """
    held: list[tuple[int, str, int]] = []
    fresh = False
    for number, line in enumerate(text.split("\n"), 1):
        for part in _split_line(line, count, size):
            cost = count(part)
            if held and sum(item[2] for item in held) + cost > size:
                if fresh:
                    yield _join_piece(held)
                while held and (
                    sum(item[2] for item in held) > overlap
                    or sum(item[2] for item in held) + cost > size
                ):
                    held.pop(0)
            held.append((number, part, cost))
            fresh = True
    if fresh and any(item[1].strip() for item in held):
        yield _join_piece(held)


@dataclass(frozen=True, slots=True)
class NotePieces:
    """Pieces of a note: ids by hash, new records, old ids."""

    ids: Mapping[str, str]
    puts: tuple[NewRecord, ...]
    old: tuple[str, ...]


class NoteSearchIndexer:
    """Index of notes in the store. Call with the vault's lock held."""

    def __init__(self, parts: VaultDeps, lines: NoteLineLedger) -> None:
        self._parts = parts
        self._lines = lines

    def follow(self, owner: Scope, does: Mapping[str, str]) -> None:
        """Index the notes anew whose lines changed memories end or bring back."""
        lines = self._lines.find_lines(owner, does)
        known = json.loads(self._parts.state.get_fact("notes") or "{}")
        if not lines:
            return
        for path, told in known.items():
            text = (
                (self._parts.disk.read(path) or b"").decode("utf-8", "replace")
                if told["owner"] == owner.key and is_note(path)
                else ""
            )
            if any(
                content_hash(strip_mark(line)) in lines for line in text.split("\n") if line.strip()
            ):
                told["hash"] = ""
        if any(not told["hash"] for told in known.values()):
            self._parts.state.set_fact("notes", json.dumps(known))
            self.sync()

    def sync(self) -> int:
        """Index changed notes; return their number; failures are tried again."""
        parts = self._parts
        if not parts.is_there:
            return 0
        known = json.loads(parts.state.get_fact("notes") or "{}")
        owners = tuple(dict.fromkeys(scope.owner for scope in parts.store.scopes(None)))
        seen: dict[str, str] = {}
        told = parts.state.touched_notes()
        count = 0
        for path in self._find_paths():
            data = parts.disk.read(path)
            owner = find_owner(path, owners)
            if data is None or owner is None:
                continue
            seen[path] = owner.key
            if known.get(path, {}).get("hash") == hash_bytes(data) and BEGUN not in known[path]:
                continue
            earlier = known.get(path, {"hash": None, "ids": {}, "owner": owner.key})
            try:
                held = self._drop_begun(owner, earlier) if BEGUN in earlier else earlier["ids"]
                pieces = self._read_pieces(path, owner, data.decode("utf-8", "replace"), held)
                if pieces.puts:
                    # Noted before: pieces that a kill leaves unnoted would tell for ever what they
                    # hold.
                    known[path] = {
                        **earlier,
                        "ids": held,
                        BEGUN: [put.record.id for put in pieces.puts],
                    }
                    parts.state.set_fact("notes", json.dumps(known))
                self._store_pieces(path, owner, pieces)
            except EngramsError as problem:
                parts.state.report_problems({path: problem.message}, (path,))
                continue
            parts.state.report_problems({}, (path,))
            if path not in told and earlier["hash"] != "":
                parts.state.touch(
                    [
                        (
                            path,
                            {
                                "does": "edit",
                                "actor": "hand",
                                "why": "edited by hand",
                                "scope": owner.key,
                            },
                        )
                    ]
                )
            known[path] = {"hash": hash_bytes(data), "ids": pieces.ids, "owner": owner.key}
            count += 1
            parts.state.set_fact("notes", json.dumps(known))
        for path in [path for path in known if path not in seen]:
            gone = known.pop(path)
            self._purge_pieces(
                Scope.parse(gone["owner"]), [*gone["ids"].values(), *gone.get(BEGUN, ())]
            )
            parts.state.set_fact("notes", json.dumps(known))
        return count

    def _find_paths(self) -> list[str]:
        disk = self._parts.disk
        documents = [
            path
            for path, stat in disk.walk(DOCUMENTS, every=True)
            if path.endswith(_READ) and stat.size < _LARGEST
        ]
        found = [path for path, _ in disk.walk("memory")]
        return sorted(
            [
                *(path for path in ["MEMORY.md", *found] if is_note(path) and disk.stat(path)),
                *documents,
            ]
        )

    def _drop_begun(self, owner: Scope, earlier: Mapping[str, Any]) -> dict[str, str]:
        """Remove pieces whose storing was cut off; return those that stand."""
        self._purge_pieces(owner, earlier[BEGUN])
        there = self._find_there(owner, [*earlier["ids"].values()])
        return {mark: name for mark, name in earlier["ids"].items() if name in there}

    def _read_pieces(
        self, path: str, owner: Scope, text: str, held: Mapping[str, str]
    ) -> NotePieces:
        parts = self._parts
        day = parse_day(path)
        at = datetime.combine(day, time(12), UTC) if day else parts.clock()
        if is_note(path):
            text = keep_lines(text, self._lines.find_gone(owner, text.split("\n")))
        made = {_hash_piece(piece): piece for piece in split_pieces(text) if _says_something(piece)}
        ids = {mark: held.get(mark) or new_id(at) for mark in made}
        puts = []
        for mark in made.keys() - held.keys():
            record = self._to_record(path, owner, made[mark], at, ids[mark])
            values, vectors = parts.rules.prepare(record, {"text": record.text})
            puts.append(
                NewRecord(
                    replace(record, text=values["text"]), vector=vectors[0] if vectors else None
                )
            )
        return NotePieces(
            ids, tuple(puts), tuple(name for mark, name in held.items() if mark not in made)
        )

    def _store_pieces(self, path: str, owner: Scope, pieces: NotePieces) -> None:
        parts = self._parts
        puts = pieces.puts
        jobs = (
            (parts.rules.embed,)
            if parts.rules.embed and any(put.vector is None for put in puts)
            else ()
        )
        if puts:
            parts.plain_store.commit(
                WriteBatch("engrams", f"read from {path}", parts.clock(), puts, jobs=jobs)
            )
        self._purge_pieces(owner, pieces.old)

    def _to_record(
        self, path: str, owner: Scope, piece: NoteChunk, at: datetime, name: str
    ) -> Record:
        text = piece.text.strip()
        return Record(
            id=name,
            scope=owner,
            kind=Kind.SUMMARY,
            text=text,
            recorded_at=at,
            # Only the note of a day fades with its age.
            layer=Layer.EPISODIC if parse_day(path) else Layer.SEMANTIC,
            category=CORE_PIECE if is_note(path) and not parse_day(path) else "note",
            provenance=Provenance("file", reason="a note", files=(path,)),
            trust=0.95,
            meta={NOTE_PIECE: path, "lines": [piece.first, piece.last]},
        )

    def drop_unnoted(self) -> int:
        """Remove pieces that belong to no file; return their number."""
        parts = self._parts
        known = json.loads(parts.state.get_fact("notes") or "{}")
        noted = {
            name
            for told in known.values()
            for name in (*told["ids"].values(), *told.get(BEGUN, ()))
        }
        count = 0
        for owner in dict.fromkeys(scope.owner for scope in parts.store.scopes(None)):
            query = RecordQuery(
                ScopeReach(owner, (owner,), tree=True), (Kind.SUMMARY,), _KEPT, limit=_PAGE
            )
            while True:
                page = parts.plain_store.find(query)
                gone = [
                    one.id for one in page.records if NOTE_PIECE in one.meta and one.id not in noted
                ]
                self._purge_pieces(owner, gone)
                count += len(gone)
                if not page.next:
                    break
                query = replace(query, after=page.next)
        return count

    def _purge_pieces(self, owner: Scope, ids: Sequence[str]) -> None:
        if there := self._find_there(owner, ids):
            self._parts.plain_store.purge(owner, there, self._parts.clock())

    def _find_there(self, owner: Scope, ids: Sequence[str]) -> list[str]:
        return (
            [
                one.id
                for one in self._parts.plain_store.get(owner, ids)
                if one.status is not Status.PURGED
            ]
            if ids
            else []
        )


def _hash_piece(piece: NoteChunk) -> str:
    return hashlib.blake2b(
        f"{piece.first}\x1f{piece.last}\x1f{piece.text}".encode("utf-8", "replace"), digest_size=8
    ).hexdigest()


def _says_something(piece: NoteChunk) -> bool:
    return any(line.strip() and not line.startswith("#") for line in piece.text.split("\n"))


def _join_piece(held: Sequence[tuple[int, str, int]]) -> NoteChunk:
    return NoteChunk(held[0][0], held[-1][0], "\n".join(part for _, part, _ in held))


def _split_line(line: str, count: Callable[[str], int], size: int) -> Iterator[str]:
    """Split a line into parts of at most ``size`` tokens, at blanks."""
    while count(line) > size:
        cut = max(1, len(line) * size // count(line))
        while cut > 1 and count(line[:cut]) > size:
            cut = cut * 9 // 10
        blank = line.rfind(" ", cut // 2, cut)
        cut = blank if blank > 0 else cut
        yield line[:cut]
        line = line[cut:]
    yield line
