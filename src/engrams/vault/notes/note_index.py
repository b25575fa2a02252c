"""Index MEMORY.md, daily notes and documents for search.

``NoteSearchIndexer`` cuts them into overlapping chunks. Each chunk is a record that names its file
and lines, and has no file of its own. Dream diaries are not indexed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from itertools import chain
from typing import Any

from engrams.core import Kind, Layer, Provenance, Record, Scope, Status
from engrams.core.ids import new_id
from engrams.errors import EngramsError
from engrams.ports import CORE_PIECE, NOTE_PIECE, NewRecord, RecordQuery, ScopeReach, WriteBatch
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import hash_bytes
from engrams.vault.files.vault_paths import DOCUMENTS
from engrams.vault.notes.note_lines import NoteLineLedger, blank_lines, hash_line
from engrams.vault.notes.note_paths import find_owner, is_note, parse_day
from engrams.vault.notes.text_chunks import TextChunk, split_chunks

BEGUN = "begun"
"""Key, in a note's state, of the ids of chunks whose storing has begun."""
_INDEXED = "notes"
"""Name of the fact that tells the state of each indexed note, by path: its ``hash``, the ``ids`` of
its chunks by their own hashes, its ``owner``, and ``BEGUN``.
"""
_SUFFIXES = (".md", ".txt", ".markdown")
_MAX_BYTES = 4 << 20
"""Bytes of the largest document that is indexed."""
_PAGE = 500
_NOT_PURGED = tuple(status for status in Status if status is not Status.PURGED)
_TRUST = 0.95
"""Trust in what a note says."""


@dataclass(frozen=True, slots=True)
class NotePieces:
    """Chunks of a note as they are to be stored."""

    ids: Mapping[str, str]
    """Ids of all chunks, by their hashes."""
    puts: tuple[NewRecord, ...]
    """Records of new chunks."""
    old_ids: tuple[str, ...]
    """Ids of the chunks that the note no longer has."""


class NoteSearchIndexer:
    """Indexes notes in the store. Call with the vault's lock held."""

    def __init__(self, deps: VaultDeps, lines: NoteLineLedger) -> None:
        self._deps = deps
        self._lines = lines

    def follow(self, owner: Scope, actions: Mapping[str, str]) -> None:
        """Index the notes anew whose lines changed memories end or bring back.

        ``actions``: what was done to each memory.
        """
        line_hashes = self._lines.find_lines(owner, actions)
        if not line_hashes:
            return
        notes = self._load_notes()
        for path, note in notes.items():
            if note["owner"] != owner.key or not is_note(path):
                continue
            text = (self._deps.disk.read(path) or b"").decode("utf-8", "replace")
            if any(hash_line(line) in line_hashes for line in text.split("\n") if line.strip()):
                note["hash"] = ""
        if any(not note["hash"] for note in notes.values()):
            self._save_notes(notes)
            self.sync()

    def sync(self) -> int:
        """Index changed notes; return their number; failures are tried again."""
        deps = self._deps
        if not deps.is_there:
            return 0
        notes = self._load_notes()
        owners = tuple(dict.fromkeys(scope.owner for scope in deps.store.scopes(None)))
        touched = deps.state.touched_notes()
        present: set[str] = set()
        count = 0
        for path in self._list_paths():
            data = deps.disk.read(path)
            owner = find_owner(path, owners)
            if data is None or owner is None:
                continue
            present.add(path)
            note = notes.get(path)
            if note is not None and note.get("hash") == hash_bytes(data) and BEGUN not in note:
                continue
            indexed = note or {"hash": None, "ids": {}, "owner": owner.key}
            try:
                pieces = self._index_note(notes, path, owner, data)
            except EngramsError as problem:
                deps.state.report_problems({path: problem.message}, (path,))
                continue
            deps.state.report_problems({}, (path,))
            if path not in touched and indexed["hash"] != "":
                change = {"does": "edit", "actor": "hand", "why": "edited by hand"}
                deps.state.touch([(path, {**change, "scope": owner.key})])
            notes[path] = {"hash": hash_bytes(data), "ids": pieces.ids, "owner": owner.key}
            self._save_notes(notes)
            count += 1
        for path in [path for path in notes if path not in present]:
            removed_note = notes.pop(path)
            ids = [*removed_note["ids"].values(), *removed_note.get(BEGUN, ())]
            self._purge_pieces(Scope.parse(removed_note["owner"]), ids)
            self._save_notes(notes)
        return count

    def drop_unnoted(self) -> int:
        """Remove chunks that belong to no file; return their number."""
        deps = self._deps
        noted_ids = {
            piece_id
            for note in self._load_notes().values()
            for piece_id in (*note["ids"].values(), *note.get(BEGUN, ()))
        }
        count = 0
        for owner in dict.fromkeys(scope.owner for scope in deps.store.scopes(None)):
            query = RecordQuery(
                ScopeReach.of_owner(owner), (Kind.SUMMARY,), _NOT_PURGED, limit=_PAGE
            )
            while True:
                page = deps.plain_store.find(query)
                unnoted = [
                    record.id
                    for record in page.records
                    if NOTE_PIECE in record.meta and record.id not in noted_ids
                ]
                self._purge_pieces(owner, unnoted)
                count += len(unnoted)
                if not page.next:
                    break
                query = replace(query, after=page.next)
        return count

    def _index_note(
        self, notes: dict[str, Any], path: str, owner: Scope, data: bytes
    ) -> NotePieces:
        """Store the chunks of one note, and erase those that it no longer has."""
        indexed = notes.get(path, {"hash": None, "ids": {}, "owner": owner.key})
        stored_ids = indexed["ids"]
        if BEGUN in indexed:
            stored_ids = self._drop_begun(owner, indexed)
        pieces = self._make_pieces(path, owner, data.decode("utf-8", "replace"), stored_ids)
        if pieces.puts:
            # Noted before: chunks that a kill leaves unnoted would tell for ever what they hold.
            new_ids = [put.record.id for put in pieces.puts]
            notes[path] = {**indexed, "ids": stored_ids, BEGUN: new_ids}
            self._save_notes(notes)
        self._store_pieces(path, owner, pieces)
        return pieces

    def _list_paths(self) -> list[str]:
        """List the notes and documents that are indexed."""
        disk = self._deps.disk
        documents = [
            path
            for path, stat in disk.walk(DOCUMENTS, every=True)
            if path.endswith(_SUFFIXES) and stat.size < _MAX_BYTES
        ]
        notes = [
            path
            for path in ["MEMORY.md", *(path for path, _ in disk.walk("memory"))]
            if is_note(path) and disk.stat(path)
        ]
        return sorted([*notes, *documents])

    def _drop_begun(self, owner: Scope, note: Mapping[str, Any]) -> dict[str, str]:
        """Remove chunks whose storing was cut off; return those that stand, by hash."""
        self._purge_pieces(owner, note[BEGUN])
        standing = self._find_standing(owner, [*note["ids"].values()])
        return {
            piece_hash: piece_id
            for piece_hash, piece_id in note["ids"].items()
            if piece_id in standing
        }

    def _make_pieces(
        self, path: str, owner: Scope, text: str, stored_ids: Mapping[str, str]
    ) -> NotePieces:
        """Cut a note into chunks, and make the records of new ones.

        Lines that no longer hold are left out.
        """
        deps = self._deps
        day = parse_day(path)
        written_at = datetime.combine(day, time(12), UTC) if day else deps.clock()
        texts = self._split_by_readers(owner, text) if is_note(path) else {owner: text}
        chunks = {
            _hash_chunk(scope, chunk): (scope, chunk)
            for scope, scope_text in texts.items()
            for chunk in split_chunks(scope_text)
            if _says_something(chunk)
        }
        ids = {
            chunk_hash: stored_ids.get(chunk_hash) or new_id(written_at) for chunk_hash in chunks
        }
        puts = []
        for chunk_hash in chunks.keys() - stored_ids.keys():
            scope, chunk = chunks[chunk_hash]
            record = _make_record(path, scope, chunk, written_at, ids[chunk_hash])
            values, vectors = deps.callbacks.prepare(record, {"text": record.text})
            record = replace(record, text=values["text"])
            puts.append(NewRecord(record, vector=vectors[0] if vectors else None))
        old_ids = tuple(
            piece_id for chunk_hash, piece_id in stored_ids.items() if chunk_hash not in chunks
        )
        return NotePieces(ids, tuple(puts), old_ids)

    def _split_by_readers(self, owner: Scope, text: str) -> dict[Scope, str]:
        """Split a note by who reads its lines: the whole owner, or a project or agent alone.

        Each text has its own lines and all headings, with their numbers.
        """
        lines = text.split("\n")
        text = blank_lines(text, self._lines.find_gone(owner, lines))
        parts = self._lines.find_parts(owner, lines)
        texts = {owner: blank_lines(text, parts)}
        said_hashes = {
            hash_line(line) for line in lines if line.strip() and not line.startswith("#")
        }
        for scope in dict.fromkeys(chain.from_iterable(parts.values())):
            own_hashes = {line_hash for line_hash, scopes in parts.items() if scope in scopes}
            texts[scope] = blank_lines(text, said_hashes - own_hashes)
        return texts

    def _store_pieces(self, path: str, owner: Scope, pieces: NotePieces) -> None:
        deps = self._deps
        puts = pieces.puts
        embed = deps.callbacks.embed
        jobs = (embed,) if embed and any(put.vector is None for put in puts) else ()
        if puts:
            deps.plain_store.commit(
                WriteBatch("engrams", f"read from {path}", deps.clock(), puts, jobs=jobs)
            )
        self._purge_pieces(owner, pieces.old_ids)

    def _purge_pieces(self, owner: Scope, ids: Sequence[str]) -> None:
        standing = self._find_standing(owner, ids)
        if standing:
            self._deps.plain_store.purge(owner, standing, self._deps.clock())

    def _find_standing(self, owner: Scope, ids: Sequence[str]) -> list[str]:
        """Find which chunks are there and not purged."""
        if not ids:
            return []
        return [
            record.id
            for record in self._deps.plain_store.get(owner, ids)
            if record.status is not Status.PURGED
        ]

    def _load_notes(self) -> dict[str, Any]:
        notes: dict[str, Any] = json.loads(self._deps.state.get_fact(_INDEXED) or "{}")
        return notes

    def _save_notes(self, notes: Mapping[str, Any]) -> None:
        self._deps.state.set_fact(_INDEXED, json.dumps(notes))


def _make_record(
    path: str, scope: Scope, chunk: TextChunk, written_at: datetime, record_id: str
) -> Record:
    is_daily = parse_day(path) is not None
    return Record(
        id=record_id,
        scope=scope,
        kind=Kind.SUMMARY,
        text=chunk.text.strip(),
        recorded_at=written_at,
        # Only the note of a day fades with its age.
        layer=Layer.EPISODIC if is_daily else Layer.SEMANTIC,
        category=CORE_PIECE if is_note(path) and not is_daily else "note",
        provenance=Provenance("file", reason="a note", files=(path,)),
        trust=_TRUST,
        meta={NOTE_PIECE: path, "lines": [chunk.first, chunk.last]},
    )


def _hash_chunk(scope: Scope, chunk: TextChunk) -> str:
    content = f"{scope.key}\x1f{chunk.first}\x1f{chunk.last}\x1f{chunk.text}"
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _says_something(chunk: TextChunk) -> bool:
    """Return True for a chunk that has more than headings."""
    return any(line.strip() and not line.startswith("#") for line in chunk.text.split("\n"))
