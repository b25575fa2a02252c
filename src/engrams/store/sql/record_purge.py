"""Permanent erasure of records, and its verification.

Enter at ``RecordPurger.purge``: ``erase_records`` in one transaction, then, once that is committed,
``count_remaining``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engrams.core import Scope, Status
from engrams.core.clock import micros
from engrams.ports import PurgeReport, WriteBatch
from engrams.store.sql import job_queue
from engrams.store.sql.batch_commit import commit_batch
from engrams.store.sql.dialect import SqlDatabase, SqlDialect
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    execute_counting,
    fetch_all,
    fetch_first,
    fetch_one,
)
from engrams.store.sql.row_conversion import decode_json, encode_json
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sql.sealing import is_row_sound, seal_counted
from engrams.text.redact import redact, redact_values
from engrams.text.terms import index_terms
from engrams.text.text_caches import clear_caches

if TYPE_CHECKING:
    from engrams.store.sql.index_cache import OwnerIndexCache

PLACES = (
    "records",
    "vectors",
    "terms",
    "words",
    "edges",
    "topics",
    "history",
    "quotes",
    "jobs",
    "outbox",
    "traces",
    "log",
    "index",
)
"""Places where a record leaves traces:

its row; its embeddings; its index terms; the list of words; links; its topics, as a label may quote it
and a centroid is a mean of it; its history; quotes in other records' evidence; jobs that name it; pending
outbox entries; words of it in sessions, states, jobs and the history of others; the write-ahead log,
which holds earlier pages; the file of the owner's search index.
"""
_JSON_QUERIES = (
    ("session_data", "rewrite_session", True),
    ("state_data", "rewrite_state", True),
    ("job_data", "rewrite_job", False),
)
"""Queries that read and rewrite JSON with texts in it; True: the rows name their owner."""


@dataclass(frozen=True, slots=True)
class PurgeVerificationData:
    """Traces of purged records to look for afterwards."""

    owner: Scope
    records: tuple[tuple[str, int], ...]
    """Ids and row numbers."""
    words: tuple[str, ...]
    """Words that no other record uses."""
    topics: tuple[str, ...]
    """Ids of the topics that held them."""
    unquoted: tuple[str, ...]
    """Ids of the records that quoted them."""

    @property
    def ids(self) -> frozenset[str]:
        """Ids of the purged records."""
        return frozenset(record_id for record_id, _ in self.records)


@dataclass(frozen=True, slots=True)
class PurgeRewritePlan:
    """Records that a purge keeps, with fewer words."""

    ids: Sequence[str]
    write: Callable[[SqlConnection], object]
    """Stores their new texts."""
    words: Sequence[str]
    """Removed wherever else they stand."""


class RecordPurger:
    """Purge of records from a store: their erasure, and the look at what is left."""

    def __init__(
        self, database: SqlDatabase, dialect: SqlDialect, index_cache: OwnerIndexCache
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._index_cache = index_cache

    def purge(
        self,
        owner: Scope,
        record_ids: Sequence[str],
        at: datetime,
        rewrites: WriteBatch | None,
        words: Sequence[str],
    ) -> PurgeReport:
        """Erase records and ``words``, store ``rewrites`` of others; report what is left."""
        nothing = dict.fromkeys(PLACES, 0)
        if not self._database.exists:
            return PurgeReport(removed=nothing, remaining=nothing)

        def rewrite(connection: SqlConnection) -> None:
            if rewrites is not None:
                commit_batch(connection, rewrites, self._dialect)

        rewritten_ids = [change.id for change in rewrites.changes] if rewrites else []
        plan = PurgeRewritePlan(rewritten_ids, rewrite, words)

        def erase(
            connection: SqlConnection,
        ) -> tuple[Mapping[str, int], PurgeVerificationData]:
            self._index_cache.unmark(connection, owner)
            return erase_records(connection, self._dialect, owner, record_ids, at, plan)

        removed, traces = self._database.write(owner, erase)
        files_left = self._index_cache.drop(owner)
        clear_caches()
        # The log still holds earlier pages; a reader may keep it.
        is_log_empty = self._database.checkpoint()
        with self._database.reading(owner) as connection:
            remaining = count_remaining(connection, self._dialect, traces)
        return PurgeReport(
            {**nothing, **removed, "log": int(is_log_empty)},
            {**nothing, **remaining, "log": int(not is_log_empty), "index": files_left},
            unquoted=traces.unquoted,
        )


def erase_records(
    connection: SqlConnection,
    dialect: SqlDialect,
    owner: Scope,
    record_ids: Sequence[str],
    at: datetime,
    rewrites: PurgeRewritePlan,
) -> tuple[Mapping[str, int], PurgeVerificationData]:
    """Erase inside the caller's transaction.

    Returns counts by place, and the traces to look for afterwards. An id that is missing or purged
    counts nothing.
    """
    removed: Counter[str] = Counter()
    unquoted: dict[str, None] = {}
    records: list[tuple[str, int]] = []
    fetch_one(connection, "lock_owner")
    terms = _rewrite_records(connection, dialect, owner, rewrites, at)
    for record_id in dict.fromkeys(record_ids):
        row = fetch_first(connection, "number_of", record_id, owner.key)
        if row is None or row[1] == Status.PURGED:
            continue
        number = int(row[0])
        records.append((record_id, number))
        record_terms = dialect.read_terms(connection, number)
        removed["terms"] += len(record_terms)
        terms |= record_terms | _former_terms(connection, dialect, number)
    topics = _drop_topics(connection, owner, records, removed)
    purged_ids = frozenset(record_id for record_id, _ in records)
    removed["jobs"] = job_queue.remove_records(connection, purged_ids, at)
    last_change = int(fetch_one(connection, "lock_owner")[0])
    for change, (record_id, number) in enumerate(records, last_change + 1):
        citing_ids = _blank_record(
            connection, dialect.seals, (owner, record_id, number), removed, (change, at)
        )
        unquoted |= dict.fromkeys(citing_ids)
    if records:
        execute(connection, "set_changes", last_change + len(records))
    words = dialect.drop_unused(connection, terms)
    removed["words"] = len(words)
    removed["traces"] = _redact_traces(connection, owner, rewrites.ids, rewrites.words)
    traces = PurgeVerificationData(owner, tuple(records), words, topics, tuple(unquoted))
    return removed, traces


def _drop_topics(
    connection: SqlConnection,
    owner: Scope,
    records: Sequence[tuple[str, int]],
    removed: Counter[str],
) -> tuple[str, ...]:
    """Drop the topics that hold any of the records; return their ids."""
    topic_ids = {
        topic_id
        for record_id, _ in records
        for (topic_id,) in fetch_all(connection, "topics_over", owner.key, record_id)
    }
    for topic_id in sorted(topic_ids):
        # Its other members are clustered again.
        removed["topics"] += execute_counting(connection, "drop_topic", owner.key, topic_id)
        execute(connection, "drop_edges", owner.key, topic_id)
    return tuple(sorted(topic_ids))


def _rewrite_records(
    connection: SqlConnection,
    dialect: SqlDialect,
    owner: Scope,
    rewrites: PurgeRewritePlan,
    at: datetime,
) -> dict[int, str]:
    """Store new texts; return the terms that their records had before, by number."""
    terms: dict[int, str] = {}
    for record_id in rewrites.ids:
        row = fetch_first(connection, "number_of", record_id, owner.key)
        if row is not None:
            terms |= dialect.read_terms(connection, row[0])
            terms |= _former_terms(connection, dialect, row[0])
    rewrites.write(connection)
    # A worker that read the old text must not store what it makes of it.
    job_queue.release_running(connection, frozenset(rewrites.ids), at)
    return terms


def _former_terms(connection: SqlConnection, dialect: SqlDialect, number: int) -> dict[int, str]:
    """Return the terms of a record's former texts, by number."""
    changes = [
        decode_json(values)
        for *_, before, after in fetch_all(connection, "history", number)
        for values in (before, after)
        if values
    ]
    words = {
        word
        for change in changes
        for field in ("text", "caption")
        if field in change
        for word in index_terms(change[field])
    }
    return dialect.number_terms(connection, words)


def _blank_record(
    connection: SqlConnection,
    seals: RowSeals,
    record: tuple[Scope, str, int],
    removed: Counter[str],
    step: tuple[int, datetime],
) -> Sequence[str]:
    """Blank a record's row and traces; return the ids of those that quoted it.

    ``record``: owner, id, number. ``step``: number of the change, and its time.
    """
    owner, record_id, number = record
    change, at = step
    removed["records"] += 1
    removed["vectors"] += execute_counting(connection, "drop_vectors", number)
    removed["edges"] += execute_counting(connection, "drop_edges", owner.key, record_id)
    removed["outbox"] += execute_counting(connection, "drop_outbox", owner.key, record_id)
    removed["history"] += execute_counting(connection, "blank_history", number)
    quote_count, citing_ids = _remove_quotes(connection, seals, (owner, record_id), at)
    removed["quotes"] += quote_count
    execute(connection, "drop_quotes", number)
    version = fetch_one(connection, "blank_record", change, number)[0]
    seal_counted(connection, seals, owner.key, (number,))
    _log_change(connection, (number, version), "purge", at)
    return citing_ids


def _remove_quotes(
    connection: SqlConnection, seals: RowSeals, record: tuple[Scope, str], at: datetime
) -> tuple[int, list[str]]:
    """Remove quotes of a record; ``record``: owner and id.

    Returns how many records ever quoted it, and the ids of those that do.
    """
    owner, record_id = record
    rows = fetch_all(connection, "quoting", owner.key, record_id)
    citing_ids = []
    for number, evidence, version, citing_id in rows:
        quotes = decode_json(evidence)
        # A quote is a list: its text, its source, its speaker.
        remaining_quotes = [quote for quote in quotes if quote[1] != record_id]
        if len(remaining_quotes) < len(quotes):
            citing_ids.append(citing_id)
        is_sound = is_row_sound(connection, seals, number)
        execute(connection, "set_evidence", encode_json(remaining_quotes), number)
        if is_sound:
            seal_counted(connection, seals, owner.key, (number,))
        execute(connection, "unquote_history", number)
        execute(connection, "drop_quote", owner.key, record_id, number)
        _log_change(connection, (number, version + 1), "unquote", at)
    return len(rows), citing_ids


def count_remaining(
    connection: SqlConnection, dialect: SqlDialect, traces: PurgeVerificationData
) -> dict[str, int]:
    """Count what is left of purged records, by place."""
    owner_key = traces.owner.key
    remaining: Counter[str] = Counter()
    for record_id, number in traces.records:
        remaining["records"] += _count(connection, "left_record", number)
        remaining["terms"] += _count(connection, "left_terms", number)
        remaining["vectors"] += _count(connection, "left_vectors", number)
        remaining["history"] += _count(connection, "left_history", number)
        remaining["edges"] += _count(connection, "left_edges", owner_key, record_id)
        remaining["quotes"] += _count(connection, "left_quotes", owner_key, record_id)
        remaining["outbox"] += _count(connection, "left_outbox", owner_key, record_id)
    remaining["topics"] = _count(connection, "left_topics", owner_key, json.dumps(traces.topics))
    remaining["jobs"] = job_queue.count_naming(connection, traces.ids)
    remaining["words"] = dialect.count_words(connection, traces.words)
    return remaining


def _redact_traces(
    connection: SqlConnection, owner: Scope, record_ids: Sequence[str], words: Sequence[str]
) -> int:
    """Remove words from histories of records, and from sessions, states and jobs.

    Returns the number of changed rows.
    """
    changed = 0
    for record_id in record_ids:
        row = fetch_first(connection, "number_of", record_id, owner.key)
        if row is not None:
            changed += _redact_history(connection, row[0], words)
    for read_query, rewrite_query, has_owner in _JSON_QUERIES if words else ():
        owner_key = (owner.key,) if has_owner else ()
        for name, data in fetch_all(connection, read_query, *owner_key):
            redacted = _redact_json(data, words)
            if redacted != data:
                parameters = (redacted, *owner_key, name)
                changed += execute_counting(connection, rewrite_query, *parameters)
    return changed


def _redact_history(connection: SqlConnection, number: int, words: Sequence[str]) -> int:
    changed = 0
    for version, _, _, _, *values in fetch_all(connection, "history", number):
        reason, before, after = values
        redacted = [
            redact(reason, words),
            before and _redact_json(before, words),
            after and _redact_json(after, words),
        ]
        if redacted != values:
            changed += execute_counting(connection, "rewrite_history", *redacted, number, version)
    return changed


def _redact_json(data: str, words: Sequence[str]) -> str:
    return encode_json(redact_values(decode_json(data), words))


def _log_change(connection: SqlConnection, key: tuple[int, int], action: str, at: datetime) -> None:
    """Add an entry to a history; ``key``: the record's number and its new version."""
    execute(connection, "add_history", *key, micros(at), action, "", "", None, None)


def _count(connection: SqlConnection, name: str, *values: object) -> int:
    return int(fetch_one(connection, name, *values)[0])
