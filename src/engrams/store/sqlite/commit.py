"""One write: everything in a batch, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import apsw

from engrams.clock import micros
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.ports import Batch, Change, Committed, Put
from engrams.store.sqlite import graph, jobs, lexicon, sessions, transitions, vectors
from engrams.store.sqlite.errors import code
from engrams.store.sqlite.lexicon import Lexicon
from engrams.store.sqlite.rows import FIELDS, coerce, decode, encode, encode_json, plain
from engrams.store.sqlite.sql import first, one, query, run
from engrams.text.terms import terms
from engrams.types import Edge, HistoryEntry, Record, Scope, Status, Vector, content_hash

BOOKKEEPING = frozenset({"access_count", "last_accessed"})
"""Fields that reading changes: no new version, no history, nothing for a search index to catch up with."""

_FIXED = frozenset({"id", "version"})
_BY_ID = " WHERE id = ? AND owner = ?"


_ANY_TIME = datetime(2020, 1, 1, tzinfo=UTC)
"""Whether a text speaks of a time does not depend on when it is read."""
_READ = 6000
"""Characters that are looked through for one: nobody else can write meanwhile."""


class Commit:
    """One batch on its way into the database, inside the caller's transaction."""

    def __init__(self, connection: apsw.Connection, batch: Batch, terms: Lexicon, epoch: object) -> None:
        self._connection = connection
        self._batch = batch
        self._at = micros(batch.at)
        self._existing: dict[str, str] = {}
        self._versions: dict[int, int] = {}
        changed, erasures = one(self._connection, "counters")
        self._changed = self._first = int(changed)
        self._lexicon = terms
        self._lexicon.begin((epoch, erasures))

    def run(self) -> Committed:
        """Carry it out. ConflictError: a lost lease, another version, an id that exists. NotFoundError: no such record."""
        batch = self._batch
        for lease in batch.finish:
            if not jobs.finish(self._connection, lease, batch.at):
                raise ConflictError("The job was taken over by another worker.", hint="Drop this result; the other worker's counts.")
        for put in batch.puts:
            self._put(put)
        for change in batch.changes:
            self._change(change)
        for owner, vector in batch.vectors:
            self._vector(owner, vector)
        for node in batch.topics:
            graph.save(self._connection, node)
        for edge in batch.unlink:
            run(self._connection, "drop_edge", *self._edge(edge))
        for edge in batch.edges:
            run(self._connection, "add_edge", *self._edge(edge), edge.weight, edge.count)
        made = tuple(jobs.enqueue(self._connection, spec, batch.at) for spec in batch.jobs)
        for topic, owner, record, payload in batch.outbox:
            run(self._connection, "add_outbox", topic, owner.key, self._real(record), encode_json(payload))
        for row in batch.sessions:
            sessions.settle(self._connection, row)
        if self._changed != self._first:
            run(self._connection, "set_changes", self._changed)
        return Committed(existing=self._existing, jobs=made)

    # ------------------------------------------------------------------------------------------------------ new ones

    def _put(self, put: Put) -> None:
        record = self._sourced(put.record)
        owner, scope, digest = record.scope.owner.key, record.scope.key, bytes.fromhex(record.hash)
        if record.external_id:
            found = first(self._connection, "find_external", owner, scope, record.external_id)
            if found is not None:
                self._existing[record.id] = found[0]
                return
        if put.dedup:
            found = first(self._connection, "find_twin", owner, digest, scope, str(record.kind))
            if found is not None:
                self._existing[record.id] = found[0]
                self._bump(record.scope.owner, found[0])
                return
        number = self._insert(replace(put, record=record), owner, digest)
        if put.vector is not None:
            vectors.store(self._connection, number, put.vector)

    def _insert(self, put: Put, owner: str, digest: bytes) -> int:
        record = put.record
        if record.status is Status.PURGED:
            raise InputError("A purged record cannot be added.")
        text = record.search_text
        words = terms(text)
        lexemes = self._lexicon.encode(self._connection, words)
        values = [encode(name, getattr(record, name)) for name in FIELDS]
        try:
            number = int(one(self._connection, "add_record", owner, self._next(), *_shape(text).values(), digest, lexemes, *values)[0])
        except apsw.ConstraintError as problem:
            if code(problem) != apsw.SQLITE_CONSTRAINT_UNIQUE:
                raise
            raise ConflictError(f"The id {record.id!r} exists already.", hint="Give a new record a new id.") from None
        if words:
            run(self._connection, "add_postings", number, " ".join(words))
        if put.history:
            self._recount(number, owner, put.history)
        else:
            self._log((number, record.version), "add", None, None)
        self._quote(number, owner, record)
        self._versions[number] = record.version
        return number

    def _recount(self, number: int, owner: str, history: Sequence[HistoryEntry]) -> None:
        """The history that a record brings along, and whom its evidence quoted in the course of it: a purge must find that."""
        for place, entry in enumerate(history):
            # What a record began with follows from the later entries, as for every other record.
            began = place == 0 and not entry.before
            told = (None, None) if began else (encode_json(entry.before), encode_json(entry.after))
            what = (micros(entry.at), entry.action, entry.actor, entry.reason)
            run(self._connection, "add_history", number, entry.version, *what, *told)
            for item in (item for part in (entry.before, entry.after) for item in part.get("evidence", ())):
                if item.get("source"):
                    run(self._connection, "add_quote", owner, item["source"], number)
        run(self._connection, "age_quotes", number)

    def _bump(self, owner: Scope, id: str) -> None:
        number, record = self._fetch(owner, id)
        self._versions.setdefault(number, record.version)
        self._apply(number, record, {"strength": record.strength + 1}, "bump")

    # ------------------------------------------------------------------------------------------------------ changes

    def _change(self, change: Change) -> None:
        number, record = self._fetch(change.owner, self._real(change.id))
        version = self._versions.setdefault(number, record.version)
        if change.expect is not None and change.expect not in (version, record.version):
            raise ConflictError(f"{change.id} is at version {record.version}, not {change.expect}.")
        fields = {name: self._value(record, name, value) for name, value in change.fields.items()}
        moved = transitions.transition(record, fields, self._batch.at)
        fresh = {name: value for name, value in moved.items() if value != getattr(record, name)}
        if fresh.keys() <= BOOKKEEPING:
            self._update(number, {name: encode(name, value) for name, value in fresh.items()})
        else:
            self._apply(number, record, fresh, change.action)

    def _value(self, record: Record, name: str, value: Any) -> Any:
        if name in _FIXED:
            raise InputError(f"A record's {name} cannot be changed.")
        found = coerce(name, value)
        if name == "scope" and found.owner != record.scope.owner:
            raise InputError("A record cannot move to another owner.", hint="Add it there and purge it here.")
        return self._real(found) if name == "superseded_by" else found

    def _fetch(self, owner: Scope, id: str) -> tuple[int, Record]:
        found = first(self._connection, "number_of", id, owner.key)
        if found is None or found[1] == Status.PURGED:
            raise NotFoundError(f"There is no record {id!r} here.")
        (row,) = self._connection.execute(query("select_records") + _BY_ID, (id, owner.key))
        return found[0], decode(row)

    def _apply(self, number: int, record: Record, fresh: Mapping[str, Any], action: str) -> None:
        """Write new values, one version up, and everything that follows from them."""
        after = replace(record, **fresh, version=record.version + 1)
        columns = {name: encode(name, value) for name, value in fresh.items()}
        if after.search_text != record.search_text:
            columns |= self._reindex(number, after.search_text)
        self._update(number, {**columns, "version": after.version, "changed": self._next()})
        if "evidence" in fresh:
            run(self._connection, "age_quotes", number)
            self._quote(number, after.scope.owner.key, after)
        before = {name: plain(name, getattr(record, name)) for name in fresh}
        self._log((number, after.version), action, before, {name: plain(name, value) for name, value in fresh.items()})

    def _reindex(self, number: int, text: str) -> dict[str, Any]:
        """Replace what the indexes hold of a text; its vectors meant the old one."""
        unindex(self._connection, number)
        words = terms(text)
        if words:
            run(self._connection, "add_postings", number, " ".join(words))
        run(self._connection, "drop_vectors", number)
        return {
            "hash": bytes.fromhex(content_hash(text)),
            **_shape(text),
            "lexemes": self._lexicon.encode(self._connection, words),
        }

    def _update(self, number: int, columns: Mapping[str, Any]) -> None:
        if columns:
            given = ", ".join(f"{name} = ?" for name in columns)
            # Names of columns come from the fields of Record, never from outside.
            self._connection.execute(f"UPDATE records SET {given} WHERE number = ?", (*columns.values(), number))  # noqa: S608

    # ------------------------------------------------------------------------------------------------------ the rest

    def _vector(self, owner: Scope, vector: Vector) -> None:
        found = first(self._connection, "number_of", self._real(vector.record), owner.key)
        if found is None:
            raise NotFoundError(f"There is no record {vector.record!r} here.")
        # A record may be purged while its text is being embedded; that vector must not come in afterwards.
        if found[1] != Status.PURGED:
            vectors.store(self._connection, found[0], vector)
            run(self._connection, "touch_record", self._next(), found[0])

    def _edge(self, edge: Edge) -> tuple[str, str, str, str]:
        return edge.owner.key, self._real(edge.source), self._real(edge.target), str(edge.type)

    def _real(self, id: str) -> str:
        """The id under which a put is stored: the one that was there, where it stored nothing new."""
        return self._existing.get(id, id)

    def _sourced(self, record: Record) -> Record:
        """The record with its evidence pointing at what is really there."""
        if not self._existing or not record.evidence:
            return record
        return replace(record, evidence=tuple(replace(item, source=self._real(item.source)) for item in record.evidence))

    def _quote(self, number: int, owner: str, record: Record) -> None:
        for source in {item.source for item in record.evidence if item.source}:
            run(self._connection, "add_quote", owner, source, number)

    def _log(self, key: tuple[int, int], action: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
        batch = self._batch
        told = (None if before is None else encode_json(before), None if after is None else encode_json(after))
        run(self._connection, "add_history", *key, self._at, action, batch.actor, batch.reason, *told)

    def _next(self) -> int:
        self._changed += 1
        return self._changed


def unindex(connection: apsw.Connection, number: int) -> None:
    """Take a record's terms out of the full-text index, which must be told what it held."""
    lexemes = one(connection, "lexemes_of", number)[0]
    if lexemes:
        run(connection, "drop_posting", number, " ".join(lexicon.decode(connection, lexemes)))


def _shape(text: str) -> dict[str, int | bool]:
    """What searches ask of a text. What reads texts is not loaded by a process that only counts which of them were used."""
    from engrams.text.features import is_question, word_count
    from engrams.text.when import find

    return {"words": word_count(text), "question": is_question(text), "dated": bool(find(text[:_READ], _ANY_TIME))}
