"""Write of a batch inside the caller's transaction.

Enter at ``commit_batch``; ``_BatchCommit.run`` lists the steps in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from engrams.core import (
    DERIVED_LINKS,
    Edge,
    EdgeType,
    HistoryEntry,
    Record,
    Scope,
    Status,
    Vector,
    content_hash,
)
from engrams.core.clock import micros
from engrams.core.meta_keys import note_reinforcement
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.frozen_data import replace
from engrams.ports import CommitResult, NewRecord, RecordChange, SessionRow, WriteBatch
from engrams.store.sql import job_queue, link_queries, record_queries, session_states
from engrams.store.sql.dialect import SqlDialect
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_composed,
    fetch_first,
    query,
)
from engrams.store.sql.owner_writes import OwnerWrites
from engrams.store.sql.record_queries import StoredRecord
from engrams.store.sql.row_conversion import (
    FIELDS,
    coerce_field,
    encode_field,
    encode_json,
    encode_record,
    to_history_value,
)
from engrams.store.sql.status_transitions import apply_transition
from engrams.store.sql.vector_rows import save_vector
from engrams.text.terms import index_terms

BOOKKEEPING = frozenset({"access_count", "last_accessed"})
"""Fields that reads change: no new version, no history, no index update."""
_FIXED_FIELDS = frozenset({"id", "version"})
_ANY_TIME = datetime(2020, 1, 1, tzinfo=UTC)
"""Reference date of the search for times: whether there are any does not depend on it."""
_MAX_PARSED = 6000
"""Characters searched for times: other writers wait meanwhile."""


def commit_batch(connection: SqlConnection, batch: WriteBatch, dialect: SqlDialect) -> CommitResult:
    """Write a batch inside the caller's transaction.

    ConflictError: a lost lease, another version, an id that exists. NotFoundError: no such record.
    """
    return _BatchCommit(connection, batch, dialect).run()


class _BatchCommit:
    """Write of one batch; used once."""

    def __init__(self, connection: SqlConnection, batch: WriteBatch, dialect: SqlDialect) -> None:
        self._connection = connection
        self._batch = batch
        self._dialect = dialect
        self._at = micros(batch.at)
        self._owners = OwnerWrites(connection, dialect, batch.quota)
        self._existing: dict[str, str] = {}
        """Id of a new record that stored nothing -> id of the one that was there."""
        self._external_ids: dict[tuple[str, str], str] = {}
        """Scope's key and external id -> id of the stored record."""
        self._terms: dict[str, list[str]] = {}
        """Terms of new records by id, until these are inserted."""
        self._versions: dict[int, int] = {}
        """Version with which each touched record came into this batch, by number."""
        self._written_ids = {
            *(put.record.id for put in batch.puts),
            *(change.id for change in batch.changes),
        }
        """Records with a new number of a change, or with none to come."""
        self._unchanged: dict[tuple[str, str], StoredRecord] = {}
        """Owner's key and id -> record as it is stored, of those that no change has reached yet."""

    def run(self) -> CommitResult:
        """Write everything, step by step."""
        batch = self._batch
        self._dialect.begin(self._connection)
        self._settle_jobs()
        self._find_external_ids()
        self._number_terms()
        for put in batch.puts:
            self._put(put)
        self._read_changed()
        for change in batch.changes:
            self._change(change)
        self._count_uses()
        for owner, vector in batch.vectors:
            self._save_vector(owner, vector)
        self._save_graph()
        self._add_outbox()
        sessions = self._save_states()
        self._owners.save()
        return self._start_followers(sessions)

    # ----------------------------------------------------------------------------------------------
    # jobs

    def _settle_jobs(self) -> None:
        """Finish the jobs of the batch, first of all: a lost lease ends it."""
        batch = self._batch
        is_held = all(
            job_queue.keep(self._connection, lease, payload) for lease, payload in batch.progress
        ) and all(job_queue.finish(self._connection, lease, batch.at) for lease in batch.finish)
        if not is_held:
            raise ConflictError(
                "The job was taken over by another worker.",
                hint="Drop this result; the other worker's counts.",
            )

    def _start_followers(self, sessions: Sequence[SessionRow]) -> CommitResult:
        """Enqueue the jobs of the batch, and write its consequences.

        ``sessions``: those that it touched, as they are now.
        """
        batch = self._batch
        stored_nothing = bool(batch.puts) and len(self._existing) == len(batch.puts)
        is_in_crisis = any(session.is_in_crisis for session in sessions)
        job_ids = []
        for spec in batch.jobs:
            needs_news = bool(spec.lease) or spec.fresh
            if (needs_news and stored_nothing) or (spec.calm and is_in_crisis):
                job_ids.append("")
            else:
                job_ids.append(job_queue.enqueue(self._connection, spec, batch.at))
        has_followed = batch.then is not None and not (stored_nothing or is_in_crisis)
        if batch.then is not None and has_followed:
            _BatchCommit(self._connection, batch.then, self._dialect).run()
        return CommitResult(self._existing, tuple(job_ids), is_in_crisis, has_followed)

    # ----------------------------------------------------------------------------------------------
    # new records

    def _find_external_ids(self) -> None:
        """Find the stored records that have external ids of the new ones."""
        by_scope: dict[Scope, list[str]] = {}
        for put in self._batch.puts:
            if put.record.external_id:
                by_scope.setdefault(put.record.scope, []).append(put.record.external_id)
        for scope, external_ids in by_scope.items():
            self._owners.enter(scope.owner)
            parameters = (scope.owner.key, scope.key, encode_json(external_ids))
            for external_id, record_id in fetch_all(
                self._connection, "find_externals", *parameters
            ):
                self._external_ids[scope.key, external_id] = record_id

    def _number_terms(self) -> None:
        """Number the terms of all that is sure to be inserted, at once."""
        external_keys = set(self._external_ids)
        for put in self._batch.puts:
            record = put.record
            external_key = (record.scope.key, record.external_id)
            if put.dedup or (record.external_id and external_key in external_keys):
                continue
            external_keys.add(external_key)
            self._terms[record.id] = index_terms(record.search_text)
        if len(self._terms) > 1:
            terms = dict.fromkeys(term for terms in self._terms.values() for term in terms)
            self._dialect.number_all(self._connection, [*terms])

    def _put(self, put: NewRecord) -> None:
        """Insert a record, or note which one is there already."""
        record = self._with_stored_sources(put.record)
        owner = record.scope.owner
        scope_key = record.scope.key
        self._owners.enter(owner)
        digest = bytes.fromhex(record.hash)
        if record.external_id:
            stored_id = self._external_ids.get((scope_key, record.external_id))
            if stored_id is not None:
                self._existing[record.id] = stored_id
                return
        if put.dedup and (twin := self._find_twin(record, digest)) is not None:
            self._existing[record.id] = twin.record.id
            if twin.record.id != record.id:
                self._reinforce(twin, record)
            return
        number = self._insert(replace(put, record=record), owner.key, digest)
        if number is None:
            self._existing[record.id] = record.id
            return
        self._external_ids[scope_key, record.external_id] = record.id
        if put.vector is not None:
            save_vector(self._connection, number, put.vector)

    def _insert(self, put: NewRecord, owner_key: str, digest: bytes) -> int | None:
        """Insert a record; return its number. None: it is there already.

        ConflictError: its id is another record's.
        """
        record = put.record
        if record.status is Status.PURGED:
            raise InputError("A purged record cannot be added.")
        text = record.search_text
        terms = self._terms.pop(record.id, None) or index_terms(text)
        columns = encode_record(record)
        values = {
            "owner": owner_key,
            "changed": self._owners.next_change(),
            "hash": digest,
            "lexemes": self._dialect.encode(self._connection, terms),
            **self._measure_text(text),
            **dict(zip(FIELDS, columns, strict=True)),
            "seal": self._dialect.seals.seal(columns, owner_key),
        }
        marks = ", ".join("?" * len(values))
        # Column names come from the fields of Record, never from outside.
        insert = f"INSERT INTO records ({', '.join(values)}) VALUES ({marks}) {query('once')}"  # noqa: S608
        rows = fetch_composed(self._connection, insert, [*values.values()])
        if not rows:
            same = (owner_key, record.id, digest, record.scope.key)
            if fetch_first(self._connection, "find_same", *same) is not None:
                return None
            raise ConflictError(
                f"The id {record.id!r} exists already.", hint="Give a new record a new id."
            )
        number = int(rows[0][0])
        self._owners.note_seal(record.id, b"", values["seal"])
        if put.history:
            self._add_history(number, owner_key, put.history)
        else:
            self._log_change((number, record.version), "add", None, None, put.reason)
        self._add_quotes(number, owner_key, record)
        self._versions[number] = record.version
        return number

    def _add_history(self, number: int, owner_key: str, history: Sequence[HistoryEntry]) -> None:
        """Store the history that a record had elsewhere, with what it once quoted."""
        for index, entry in enumerate(history):
            before: str | None = encode_json(entry.before)
            after: str | None = encode_json(entry.after)
            if index == 0 and not entry.before:
                # The first values follow from the later entries, as for every other record.
                before = after = None
            change = (entry.version, micros(entry.at), entry.action, entry.actor, entry.reason)
            execute(self._connection, "add_history", number, *change, before, after)
            for values in (entry.before, entry.after):
                for quote in values.get("evidence", ()):
                    if quote.get("source"):
                        execute(self._connection, "add_quote", owner_key, quote["source"], number)
        execute(self._connection, "age_quotes", number)

    def _find_twin(self, record: Record, digest: bytes) -> StoredRecord | None:
        """Find an active record that says the same; one that another program changed is none."""
        owner = record.scope.owner
        keys = (owner.key, digest, record.scope.key, str(record.kind))
        row = fetch_first(self._connection, "find_twin", *keys)
        if row is None:
            return None
        # Its hash has no seal: what it says counts.
        twins = record_queries.get_numbered(self._connection, self._dialect.seals, owner, row)
        return next((twin for twin in twins if twin.record.hash == record.hash), None)

    def _reinforce(self, stored: StoredRecord, twin: Record) -> None:
        """Strengthen a record of which a twin was given, and note when and where on it."""
        record = stored.record
        entry = {"session": twin.session, "at": twin.recorded_at.isoformat()}
        fields = {
            "strength": record.strength + 1,
            "meta": note_reinforcement(record.meta, entry),
        }
        self._versions.setdefault(stored.number, record.version)
        self._apply_fields(stored, fields, "bump")

    # ----------------------------------------------------------------------------------------------
    # changes of records

    def _read_changed(self) -> None:
        """Read the records to be changed together, each for its first change."""
        ids_by_owner: dict[Scope, dict[str, None]] = {}
        for change in self._batch.changes:
            ids_by_owner.setdefault(change.owner, {})[self._stored_id(change.id)] = None
        for owner, record_ids in ids_by_owner.items():
            self._owners.enter(owner)
            for stored in record_queries.get_numbered(
                self._connection, self._dialect.seals, owner, list(record_ids)
            ):
                self._unchanged[owner.key, stored.record.id] = stored

    def _change(self, change: RecordChange) -> None:
        """Apply one change to a record.

        It may expect the version before the batch, or the one that earlier changes of it made.
        """
        self._owners.enter(change.owner)
        record_id = self._stored_id(change.id)
        unchanged = self._unchanged.pop((change.owner.key, record_id), None)
        stored = unchanged or self._fetch_record(change.owner, record_id)
        number, record = stored.number, stored.record
        version = self._versions.setdefault(number, record.version)
        if change.expect is not None and change.expect not in (version, record.version):
            raise ConflictError(f"{change.id} is at version {record.version}, not {change.expect}.")
        fields = {
            name: self._check_value(record, name, value) for name, value in change.fields.items()
        }
        completed = apply_transition(record, fields, self._batch.at)
        differing = {
            name: value for name, value in completed.items() if value != getattr(record, name)
        }
        if differing.keys() <= BOOKKEEPING:
            columns = {name: encode_field(name, value) for name, value in differing.items()}
            self._update_columns(number, columns)
            self._dialect.mark_uses(self._connection)
        else:
            self._apply_fields(stored, differing, change.action, change.reason)

    def _check_value(self, record: Record, name: str, value: Any) -> Any:
        """Convert a new value of a field; InputError: it cannot be changed to that."""
        if name in _FIXED_FIELDS:
            raise InputError(f"A record's {name} cannot be changed.")
        converted = coerce_field(name, value)
        if name == "scope" and converted.owner != record.scope.owner:
            raise InputError(
                "A record cannot move to another owner.", hint="Add it there and purge it here."
            )
        return self._stored_id(converted) if name == "superseded_by" else converted

    def _fetch_record(self, owner: Scope, record_id: str) -> StoredRecord:
        for stored in record_queries.get_numbered(
            self._connection, self._dialect.seals, owner, [record_id]
        ):
            return stored
        raise NotFoundError(f"There is no record {record_id!r} here.")

    def _apply_fields(
        self,
        stored: StoredRecord,
        fields: Mapping[str, Any],
        action: str,
        reason: str = "",
    ) -> None:
        """Store new values of fields as a new version, with an entry of the history."""
        number, record = stored.number, stored.record
        after = replace(record, **fields, version=record.version + 1)
        columns = {name: encode_field(name, value) for name, value in fields.items()}
        if after.search_text != record.search_text:
            # They are vectors of the old text.
            execute(self._connection, "drop_vectors", number)
            columns |= self._index_text(after.search_text)
        columns["version"] = after.version
        # The columns that stay are sealed as they are stored.
        sealed = dict(zip(FIELDS, stored.columns, strict=True)) | columns
        columns["seal"] = self._dialect.seals.seal(
            [sealed[name] for name in FIELDS], record.scope.owner.key
        )
        columns["changed"] = self._owners.next_change()
        self._update_columns(number, columns)
        self._owners.note_seal(record.id, stored.seal, columns["seal"])
        if "evidence" in fields:
            execute(self._connection, "age_quotes", number)
            self._add_quotes(number, after.scope.owner.key, after)
        old_values = {name: to_history_value(name, getattr(record, name)) for name in fields}
        new_values = {name: to_history_value(name, value) for name, value in fields.items()}
        self._log_change((number, after.version), action, old_values, new_values, reason)

    def _index_text(self, text: str) -> dict[str, Any]:
        """Return the columns that follow from a new text."""
        return {
            "hash": bytes.fromhex(content_hash(text)),
            **self._measure_text(text),
            "lexemes": self._dialect.encode(self._connection, index_terms(text)),
        }

    def _measure_text(self, text: str) -> dict[str, Any]:
        """Return the columns that tell features of a text to a search."""
        # Parsers are imported on use.
        from engrams.text.measures import is_question, word_count
        from engrams.text.times import find_times

        return {
            "words": word_count(text),
            "question": is_question(text),
            "dated": bool(find_times(text[:_MAX_PARSED], _ANY_TIME)),
            **self._dialect.describe(text),
        }

    def _update_columns(self, number: int, columns: Mapping[str, Any]) -> None:
        if not columns:
            return
        # Column names come from the fields of Record, never from outside.
        assignments = ", ".join(f"{name} = ?" for name in columns)
        statement = f"UPDATE records SET {assignments} WHERE number = ?"  # noqa: S608
        self._connection.execute(statement, (*columns.values(), number))

    # ----------------------------------------------------------------------------------------------
    # uses, vectors, links, the outbox and states

    def _count_uses(self) -> None:
        for use in self._batch.uses:
            self._owners.enter(use.owner)
            parameters = (use.times, micros(use.at), self._stored_id(use.id), use.owner.key)
            execute(self._connection, "count_use", *parameters)
        if self._batch.uses:
            self._dialect.mark_uses(self._connection)

    def _save_vector(self, owner: Scope, vector: Vector) -> None:
        self._owners.enter(owner)
        row = fetch_first(self._connection, "number_of", self._stored_id(vector.record), owner.key)
        if row is None:
            raise NotFoundError(f"There is no record {vector.record!r} here.")
        number, status = row
        # A record may have been purged while its text was embedded: drop that vector.
        if status != Status.PURGED:
            save_vector(self._connection, number, vector)
            execute(self._connection, "touch_record", self._owners.next_change(), number)

    def _save_graph(self) -> None:
        """Save topics, remove edges, add edges, in this order."""
        for topic in self._batch.topics:
            self._owners.enter(topic.scope.owner)
            link_queries.save_topic(self._connection, topic)
        for edge in self._batch.unlink:
            self._owners.enter(edge.owner)
            self._note_link(edge)
            execute(self._connection, "drop_edge", *self._edge_key(edge))
        for edge in self._batch.edges:
            if edge.type is EdgeType.HAS_TAG and edge.source in self._existing:
                continue  # the record that was there has its own tags
            self._owners.enter(edge.owner)
            self._note_link(edge)
            execute(self._connection, "add_edge", *self._edge_key(edge), edge.weight, edge.count)

    def _note_link(self, edge: Edge) -> None:
        """Number a change of the record that a link leaves, if the batch numbered none for it."""
        source = self._stored_id(edge.source)
        if edge.type in DERIVED_LINKS or source in self._written_ids:
            return
        self._written_ids.add(source)
        row = fetch_first(self._connection, "number_of", source, edge.owner.key)
        if row is not None:
            execute(self._connection, "touch_record", self._owners.next_change(), row[0])

    def _edge_key(self, edge: Edge) -> tuple[str, str, str, str]:
        source = self._stored_id(edge.source)
        return edge.owner.key, source, self._stored_id(edge.target), str(edge.type)

    def _add_outbox(self) -> None:
        for topic, owner, record_id, payload in self._batch.outbox:
            self._owners.enter(owner)
            parameters = (topic, owner.key, self._stored_id(record_id), encode_json(payload))
            execute(self._connection, "add_outbox", *parameters)

    def _save_states(self) -> list[SessionRow]:
        """Save sessions and states; return the sessions as they are then."""
        sessions = []
        for session in self._batch.sessions:
            self._owners.enter(session.scope.owner)
            sessions.append(session_states.save_from_batch(self._connection, session))
        for state in self._batch.states:
            self._owners.enter(state.owner)
            session_states.save_state(self._connection, state, state.token)
        return sessions

    # ----------------------------------------------------------------------------------------------
    # shared

    def _stored_id(self, record_id: str) -> str:
        """Id under which a put is stored; for duplicates the existing one."""
        return self._existing.get(record_id, record_id)

    def _with_stored_sources(self, record: Record) -> Record:
        """Return a record whose evidence names the stored records, not duplicates of them."""
        if not self._existing or not record.evidence:
            return record
        return replace(
            record,
            evidence=tuple(
                replace(item, source=self._stored_id(item.source)) for item in record.evidence
            ),
        )

    def _add_quotes(self, number: int, owner_key: str, record: Record) -> None:
        """Note which records are quoted, so that a purge of one finds the quotes."""
        for source in {item.source for item in record.evidence if item.source}:
            execute(self._connection, "add_quote", owner_key, source, number)

    def _log_change(
        self,
        key: tuple[int, int],
        action: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        reason: str = "",
    ) -> None:
        """Add an entry to the history; ``key``: the record's number and its new version."""
        number, version = key
        execute(
            self._connection,
            "add_history",
            number,
            version,
            self._at,
            action,
            self._batch.actor,
            reason or self._batch.reason,
            None if before is None else encode_json(before),
            None if after is None else encode_json(after),
        )
