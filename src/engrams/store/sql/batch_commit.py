"""Atomic write of a batch; status transitions of a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from engrams.core import Edge, HistoryEntry, Record, Scope, Status, Vector, content_hash
from engrams.core.clock import micros
from engrams.errors import BudgetError, ConflictError, InputError, NotFoundError, StoreError
from engrams.ports import (
    CommitResult,
    NewRecord,
    RecordChange,
    SessionRow,
    StorageUse,
    WriteBatch,
)
from engrams.store.sql import job_queue, link_queries, record_queries, session_states
from engrams.store.sql.dialect import SqlDialect
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_composed,
    fetch_first,
    fetch_one,
    query,
)
from engrams.store.sql.row_conversion import (
    FIELDS,
    coerce_field,
    encode_field,
    encode_json,
    encode_record,
    to_history_value,
)
from engrams.text.terms import TERM_SCHEME, index_terms

BOOKKEEPING = frozenset({"access_count", "last_accessed"})
"""Fields that reads change: no new version, no history, no index update."""

_FIXED = frozenset({"id", "version"})


_ANY_TIME = datetime(2020, 1, 1, tzinfo=UTC)
"""Reference date of the search for times: whether there are any does not depend on it."""
_MAX_PARSED = 6000
"""Characters searched for times: other writers wait meanwhile."""


_FOLLOWS: Mapping[Status, frozenset[Status]] = {
    Status.CANDIDATE: frozenset(
        {Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED, Status.FORGOTTEN}
    ),
    Status.ACTIVE: frozenset({Status.SUPERSEDED, Status.ARCHIVED, Status.FORGOTTEN}),
    Status.SUPERSEDED: frozenset({Status.ACTIVE, Status.ARCHIVED, Status.FORGOTTEN}),
    Status.ARCHIVED: frozenset({Status.ACTIVE, Status.SUPERSEDED, Status.FORGOTTEN}),
    # A tombstone may be undone into its former status.
    Status.FORGOTTEN: frozenset(
        {Status.CANDIDATE, Status.ACTIVE, Status.SUPERSEDED, Status.ARCHIVED}
    ),
    # Only reached by a purge; final.
    Status.PURGED: frozenset(),
}


class BatchCommitter:
    """Writer of one batch inside the caller's transaction."""

    _connection: SqlConnection

    def __init__(self, batch: WriteBatch, dialect: SqlDialect) -> None:
        self._batch = batch
        self._dialect = dialect

    def run(self, connection: SqlConnection) -> CommitResult:
        """Write the batch; again after a rollback.

        ConflictError: a lost lease, another version, an id that exists. NotFoundError: no such
        record.
        """
        batch = self._batch
        self._connection = connection
        self._at = micros(batch.at)
        self._existing: dict[str, str] = {}
        self._versions: dict[int, int] = {}
        self._changes: dict[str, int] = {}
        self._used: dict[str, StorageUse] = {}
        self._externals: dict[tuple[str, str], str] = {}
        self._words: dict[str, list[str]] = {}
        self._read: dict[tuple[str, str], tuple[int, Record]] = {}
        self._dialect.begin(connection)
        kept = all(job_queue.keep(connection, lease, payload) for lease, payload in batch.progress)
        if not kept or not all(
            job_queue.finish(connection, lease, batch.at) for lease in batch.finish
        ):
            raise ConflictError(
                "The job was taken over by another worker.",
                hint="Drop this result; the other worker's counts.",
            )
        self._find_externals()
        self._number_terms()
        for put in batch.puts:
            self._put(put)
        self._read_changed()
        for change in batch.changes:
            self._change(change)
        for use in batch.uses:
            self._enter(use.owner)
            execute(
                connection,
                "count_use",
                use.times,
                micros(use.at),
                self._stored_id(use.id),
                use.owner.key,
            )
        if batch.uses:
            self._dialect.mark_uses(connection)
        for owner, vector in batch.vectors:
            self._save_vector(owner, vector)
        self._save_graph()
        for topic, owner, record, payload in batch.outbox:
            self._enter(owner)
            execute(
                self._connection,
                "add_outbox",
                topic,
                owner.key,
                self._stored_id(record),
                encode_json(payload),
            )
        touched = self._save_rows()
        for key, changed in self._changes.items():
            self._dialect.enter(connection, key)
            execute(connection, "set_changes", changed)
            self._check_quota(Scope.parse(key))
        known = bool(batch.puts) and len(self._existing) == len(batch.puts)
        crisis = any(row.is_in_crisis for row in touched)
        made = tuple(
            (
                ""
                if ((spec.lease or spec.fresh) and known) or (spec.calm and crisis)
                else job_queue.enqueue(self._connection, spec, batch.at)
            )
            for spec in batch.jobs
        )
        follows = batch.then is not None and not (known or crisis)
        if batch.then is not None and follows:
            BatchCommitter(batch.then, self._dialect).run(connection)
        return CommitResult(self._existing, made, crisis, follows)

    def _enter(self, owner: Scope) -> None:
        """Select an owner's rows, which nobody else writes from here on."""
        self._owner = owner.key
        self._dialect.enter(self._connection, self._owner)
        if self._owner not in self._changes:
            changed, *terms = fetch_one(self._connection, "lock_owner")
            if terms and terms[0] > TERM_SCHEME:
                raise StoreError(
                    "A newer engrams splits texts into other words here.",
                    hint="Upgrade engrams on this machine.",
                )
            self._changes[self._owner] = int(changed)
            if self._batch.quota != StorageUse():
                self._used[self._owner] = record_queries.measure_storage(self._connection, owner)

    def _check_quota(self, owner: Scope) -> None:
        """Refuse what makes an owner's memory larger than allowed; BudgetError."""
        if owner.key not in self._used:
            return
        before = self._used[owner.key]
        after = record_queries.measure_storage(self._connection, owner)
        for name, what in (("records", "memories"), ("bytes", "bytes of text")):
            most = getattr(self._batch.quota, name)
            grown = getattr(after, name)
            if most and grown > max(most, getattr(before, name)):
                raise BudgetError(
                    f"Memory is full: {getattr(before, name):,} of {most:,} {what} are used, and"
                    f" this would make {grown:,}.",
                    hint=f"Erase some for good (`engrams purge`), or raise `quota.{name}`.",
                    retry_after=math.inf,
                )

    # ----------------------------------------------------------------------------------------------
    # new ones

    def _find_externals(self) -> None:
        """Find the stored records that have external ids of the new ones."""
        asked: dict[Scope, list[str]] = {}
        for put in self._batch.puts:
            if put.record.external_id:
                asked.setdefault(put.record.scope, []).append(put.record.external_id)
        for scope, names in asked.items():
            self._enter(scope.owner)
            for name, id in fetch_all(
                self._connection, "find_externals", scope.owner.key, scope.key, encode_json(names)
            ):
                self._externals[scope.key, name] = id

    def _number_terms(self) -> None:
        """Number the terms of what is sure to be inserted."""
        named = set(self._externals)
        for put in self._batch.puts:
            record = put.record
            name = (record.scope.key, record.external_id)
            if not (put.dedup or (record.external_id and name in named)):
                named.add(name)
                self._words[record.id] = index_terms(record.search_text)
        if len(self._words) > 1:
            self._dialect.number_all(
                self._connection,
                [*dict.fromkeys(term for words in self._words.values() for term in words)],
            )

    def _put(self, put: NewRecord) -> None:
        record = self._with_stored_sources(put.record)
        self._enter(record.scope.owner)
        owner = record.scope.owner.key
        scope = record.scope.key
        digest = bytes.fromhex(record.hash)
        if (
            record.external_id
            and (known := self._externals.get((scope, record.external_id))) is not None
        ):
            self._existing[record.id] = known
            return
        if put.dedup:
            found = fetch_first(
                self._connection, "find_twin", owner, digest, scope, str(record.kind)
            )
            if found is not None:
                self._existing[record.id] = found[0]
                if found[0] != record.id:
                    self._bump(record.scope.owner, found[0])
                return
        number = self._insert(replace(put, record=record), owner, digest)
        if number is None:
            self._existing[record.id] = record.id
            return
        self._externals[scope, record.external_id] = record.id
        if put.vector is not None:
            record_queries.save_vector(self._connection, number, put.vector)

    def _insert(self, put: NewRecord, owner: str, digest: bytes) -> int | None:
        """Insert a record; None: it is there. ConflictError: its id is another's."""
        record = put.record
        if record.status is Status.PURGED:
            raise InputError("A purged record cannot be added.")
        text = record.search_text
        words = self._words.pop(record.id, None) or index_terms(text)
        given = {
            "owner": owner,
            "changed": self._next_change(),
            "hash": digest,
            "lexemes": self._dialect.encode(self._connection, words),
            **self._text_features(text),
            **dict(zip(FIELDS, encode_record(record), strict=True)),
        }
        # Column names come from the fields of Record, never from outside.
        insert = f"INSERT INTO records ({', '.join(given)}) VALUES ({', '.join('?' * len(given))}) {query('once')}"  # noqa: S608
        rows = fetch_composed(self._connection, insert, [*given.values()])
        if not rows:
            if (
                fetch_first(
                    self._connection, "find_same", owner, record.id, digest, record.scope.key
                )
                is not None
            ):
                return None
            raise ConflictError(
                f"The id {record.id!r} exists already.", hint="Give a new record a new id."
            )
        number = int(rows[0][0])
        if put.history:
            self._add_history(number, owner, put.history)
        else:
            self._log_change((number, record.version), "add", None, None)
        self._add_quotes(number, owner, record)
        self._versions[number] = record.version
        return number

    def _add_history(self, number: int, owner: str, history: Sequence[HistoryEntry]) -> None:
        for place, entry in enumerate(history):
            # The first values follow from the later entries, as for every other record.
            began = place == 0 and not entry.before
            values = (
                (None, None) if began else (encode_json(entry.before), encode_json(entry.after))
            )
            what = (micros(entry.at), entry.action, entry.actor, entry.reason)
            execute(self._connection, "add_history", number, entry.version, *what, *values)
            for item in (
                item for part in (entry.before, entry.after) for item in part.get("evidence", ())
            ):
                if item.get("source"):
                    execute(self._connection, "add_quote", owner, item["source"], number)
        execute(self._connection, "age_quotes", number)

    def _bump(self, owner: Scope, id: str) -> None:
        number, record = self._fetch_record(owner, id)
        self._versions.setdefault(number, record.version)
        self._apply_fields(number, record, {"strength": record.strength + 1}, "bump")

    # ----------------------------------------------------------------------------------------------
    # changes

    def _read_changed(self) -> None:
        """Read the records to be changed together, each for its first change."""
        asked: dict[Scope, dict[str, None]] = {}
        for change in self._batch.changes:
            asked.setdefault(change.owner, {})[self._stored_id(change.id)] = None
        for owner, ids in asked.items():
            self._enter(owner)
            found = record_queries.get_numbered(self._connection, owner, list(ids))
            self._read |= {(owner.key, record.id): (number, record) for number, record in found}

    def _change(self, change: RecordChange) -> None:
        self._enter(change.owner)
        id = self._stored_id(change.id)
        read = (self._owner, id)
        number, record = (
            self._read.pop(read) if read in self._read else self._fetch_record(change.owner, id)
        )
        version = self._versions.setdefault(number, record.version)
        if change.expect is not None and change.expect not in (version, record.version):
            raise ConflictError(f"{change.id} is at version {record.version}, not {change.expect}.")
        fields = {
            name: self._check_value(record, name, value) for name, value in change.fields.items()
        }
        moved = apply_transition(record, fields, self._batch.at)
        fresh = {name: value for name, value in moved.items() if value != getattr(record, name)}
        if fresh.keys() <= BOOKKEEPING:
            self._update_columns(
                number, {name: encode_field(name, value) for name, value in fresh.items()}
            )
            self._dialect.mark_uses(self._connection)
        else:
            self._apply_fields(number, record, fresh, change.action, change.reason)

    def _check_value(self, record: Record, name: str, value: Any) -> Any:
        if name in _FIXED:
            raise InputError(f"A record's {name} cannot be changed.")
        found = coerce_field(name, value)
        if name == "scope" and found.owner != record.scope.owner:
            raise InputError(
                "A record cannot move to another owner.", hint="Add it there and purge it here."
            )
        return self._stored_id(found) if name == "superseded_by" else found

    def _fetch_record(self, owner: Scope, id: str) -> tuple[int, Record]:
        for number, record in record_queries.get_numbered(self._connection, owner, [id]):
            return number, record
        raise NotFoundError(f"There is no record {id!r} here.")

    def _apply_fields(
        self, number: int, record: Record, fresh: Mapping[str, Any], action: str, reason: str = ""
    ) -> None:
        after = replace(record, **fresh, version=record.version + 1)
        columns = {name: encode_field(name, value) for name, value in fresh.items()}
        if after.search_text != record.search_text:
            columns |= self._reindex(number, after.search_text)
        self._update_columns(
            number, {**columns, "version": after.version, "changed": self._next_change()}
        )
        if "evidence" in fresh:
            execute(self._connection, "age_quotes", number)
            self._add_quotes(number, after.scope.owner.key, after)
        before = {name: to_history_value(name, getattr(record, name)) for name in fresh}
        told = {name: to_history_value(name, value) for name, value in fresh.items()}
        self._log_change((number, after.version), action, before, told, reason)

    def _reindex(self, number: int, text: str) -> dict[str, Any]:
        execute(self._connection, "drop_vectors", number)
        return {
            "hash": bytes.fromhex(content_hash(text)),
            **self._text_features(text),
            "lexemes": self._dialect.encode(self._connection, index_terms(text)),
        }

    def _update_columns(self, number: int, columns: Mapping[str, Any]) -> None:
        if columns:
            given = ", ".join(f"{name} = ?" for name in columns)
            # Column names come from the fields of Record, never from outside.
            self._connection.execute(
                f"UPDATE records SET {given} WHERE number = ?",  # noqa: S608
                (*columns.values(), number),
            )

    # ----------------------------------------------------------------------------------------------
    # the rest

    def _save_graph(self) -> None:
        for node in self._batch.topics:
            self._enter(node.scope.owner)
            link_queries.save_topic(self._connection, node)
        for edge in self._batch.unlink:
            self._enter(edge.owner)
            execute(self._connection, "drop_edge", *self._edge_key(edge))
        for edge in self._batch.edges:
            self._enter(edge.owner)
            execute(self._connection, "add_edge", *self._edge_key(edge), edge.weight, edge.count)

    def _save_rows(self) -> list[SessionRow]:
        """Save sessions and states; the sessions as they are then."""
        touched = []
        for row in self._batch.sessions:
            self._enter(row.scope.owner)
            touched.append(session_states.save_from_batch(self._connection, row))
        for state in self._batch.states:
            self._enter(state.owner)
            session_states.save_state(self._connection, state, state.token)
        return touched

    def _save_vector(self, owner: Scope, vector: Vector) -> None:
        self._enter(owner)
        found = fetch_first(
            self._connection, "number_of", self._stored_id(vector.record), owner.key
        )
        if found is None:
            raise NotFoundError(f"There is no record {vector.record!r} here.")
        # A record may have been purged while its text was embedded: drop that vector.
        if found[1] != Status.PURGED:
            record_queries.save_vector(self._connection, found[0], vector)
            execute(self._connection, "touch_record", self._next_change(), found[0])

    def _edge_key(self, edge: Edge) -> tuple[str, str, str, str]:
        return (
            edge.owner.key,
            self._stored_id(edge.source),
            self._stored_id(edge.target),
            str(edge.type),
        )

    def _stored_id(self, id: str) -> str:
        """Id under which a put is stored; for duplicates the existing one."""
        return self._existing.get(id, id)

    def _with_stored_sources(self, record: Record) -> Record:
        if not self._existing or not record.evidence:
            return record
        return replace(
            record,
            evidence=tuple(
                replace(item, source=self._stored_id(item.source)) for item in record.evidence
            ),
        )

    def _add_quotes(self, number: int, owner: str, record: Record) -> None:
        for source in {item.source for item in record.evidence if item.source}:
            execute(self._connection, "add_quote", owner, source, number)

    def _log_change(
        self,
        key: tuple[int, int],
        action: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        reason: str = "",
    ) -> None:
        batch = self._batch
        told = (
            None if before is None else encode_json(before),
            None if after is None else encode_json(after),
        )
        execute(
            self._connection,
            "add_history",
            *key,
            self._at,
            action,
            batch.actor,
            reason or batch.reason,
            *told,
        )

    def _next_change(self) -> int:
        self._changes[self._owner] += 1
        return self._changes[self._owner]

    def _text_features(self, text: str) -> dict[str, Any]:
        """Text features for searches; parsers are imported on use."""
        from engrams.text.measures import is_question, word_count
        from engrams.text.times import find_times

        dated = bool(find_times(text[:_MAX_PARSED], _ANY_TIME))
        return {
            "words": word_count(text),
            "question": is_question(text),
            "dated": dated,
            **self._dialect.describe(text),
        }


def apply_transition(record: Record, fields: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Complete ``fields`` by what a new status implies.

    InputError: that status cannot follow. A superseded record must end in one of the two times, or
    a read of the past would still find it true today: unless ``valid_to`` or ``retired_at`` is
    given it is retired now. An active one is no longer retired.
    """
    moved = dict(fields)
    status = moved.get("status", record.status)
    if status is record.status:
        return moved
    if status not in _FOLLOWS[record.status]:
        raise InputError(
            f"A record that is {record.status} cannot become {status}.",
            hint="Use purge to erase a record." if status is Status.PURGED else "",
        )
    if status is Status.SUPERSEDED and moved.get("valid_to", record.valid_to) is None:
        moved.setdefault("retired_at", record.retired_at or at)
    if status is Status.ACTIVE:
        moved.setdefault("retired_at", None)
    return moved
