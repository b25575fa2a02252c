"""Permanent erasure of records, and its verification."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from engrams.core import Scope, Status
from engrams.core.clock import micros
from engrams.frozen_data import dataclass
from engrams.store.sql import job_queue
from engrams.store.sql.dialect import SqlDialect
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    execute_counting,
    fetch_all,
    fetch_first,
    fetch_one,
)
from engrams.store.sql.row_conversion import decode_json, encode_json
from engrams.text.redact import redact, redact_values
from engrams.text.terms import index_terms

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
"""Places where a record leaves traces.

Its row, its embeddings, its index terms, the list of words, links, its topics (a label may quote it, a centroid is a mean of
it), its history, quotes in other records' evidence, jobs that name it, pending outbox entries, words of it in sessions, states, jobs and
the history of others, the write-ahead log, which holds earlier pages, and the file of the owner's search index.
"""


_TEXTS = (
    ("session_data", "rewrite_session", True),
    ("state_data", "rewrite_state", True),
    ("job_data", "rewrite_job", False),
)
"""Statements that read and rewrite JSON with texts in it; True: by owner."""


@dataclass(frozen=True, slots=True)
class PurgeVerificationData:
    """Purged ids, row numbers, words and topics, for verification.

    ``words``: those that no other record uses. ``unquoted``: ids of the records that quoted them.
    """

    owner: Scope
    records: tuple[tuple[str, int], ...]
    words: tuple[str, ...]
    topics: tuple[str, ...]
    unquoted: tuple[str, ...]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.records)


@dataclass(frozen=True, slots=True)
class PurgeRewritePlan:
    """Records that a purge keeps, with fewer words.

    ``write`` stores their new texts. ``words``: removed wherever else they stand.
    """

    ids: Sequence[str]
    write: Callable[[SqlConnection], object]
    words: Sequence[str]


def erase_records(
    connection: SqlConnection,
    dialect: SqlDialect,
    owner: Scope,
    ids: Sequence[str],
    at: datetime,
    rewrites: PurgeRewritePlan,
) -> tuple[Mapping[str, int], PurgeVerificationData]:
    """Erase inside the caller's transaction.

    Returns counts by place, and the traces to look for afterwards. An id that is missing or purged
    counts nothing.
    """
    removed: Counter[str] = Counter()
    unquoted: dict[str, None] = {}
    records = []
    fetch_one(connection, "lock_owner")
    known = _rewrite_records(connection, dialect, owner, rewrites, at)
    for name in dict.fromkeys(ids):
        row = fetch_first(connection, "number_of", name, owner.key)
        if row is not None and row[1] != Status.PURGED:
            records.append((name, int(row[0])))
            terms = dialect.read_terms(connection, row[0])
            removed["terms"] += len(terms)
            known |= terms | _former_terms(connection, dialect, row[0])
    topics = tuple(
        sorted(
            {
                topic
                for name, _ in records
                for (topic,) in fetch_all(connection, "topics_over", owner.key, name)
            }
        )
    )
    for topic in topics:
        # Its other members are clustered again.
        removed["topics"] += execute_counting(connection, "drop_topic", owner.key, topic)
        execute(connection, "drop_edges", owner.key, topic)
    removed["jobs"] = job_queue.remove_records(
        connection, frozenset(name for name, _ in records), at
    )
    changes = int(fetch_one(connection, "lock_owner")[0])
    for place, (name, number) in enumerate(records, 1):
        unquoted |= dict.fromkeys(
            _blank_record(connection, (owner, name, number), removed, (changes + place, at))
        )
    if records:
        execute(connection, "set_changes", changes + len(records))
    words = dialect.drop_unused(connection, known)
    removed["words"] = len(words)
    removed["traces"] = _redact_traces(connection, owner, rewrites.ids, rewrites.words)
    return removed, PurgeVerificationData(
        owner=owner, records=tuple(records), words=words, topics=topics, unquoted=tuple(unquoted)
    )


def _rewrite_records(
    connection: SqlConnection,
    dialect: SqlDialect,
    owner: Scope,
    rewrites: PurgeRewritePlan,
    at: datetime,
) -> dict[int, str]:
    """Store new texts; return the terms that records lost, by number."""
    known: dict[int, str] = {}
    for name in rewrites.ids:
        row = fetch_first(connection, "number_of", name, owner.key)
        if row is not None:
            known |= dialect.read_terms(connection, row[0]) | _former_terms(
                connection, dialect, row[0]
            )
    rewrites.write(connection)
    # A worker that read the old text must not store what it makes of it.
    job_queue.release_running(connection, frozenset(rewrites.ids), at)
    return known


def _former_terms(connection: SqlConnection, dialect: SqlDialect, number: int) -> dict[int, str]:
    """Terms of a record's former texts."""
    changes = [
        decode_json(part)
        for row in fetch_all(connection, "history", number)
        for part in row[5:]
        if part
    ]
    words = {
        word
        for change in changes
        for name in ("text", "caption")
        if name in change
        for word in index_terms(change[name])
    }
    return dialect.number_terms(connection, words)


def _blank_record(
    connection: SqlConnection,
    record: tuple[Scope, str, int],
    removed: Counter[str],
    step: tuple[int, datetime],
) -> Sequence[str]:
    """Blank a record's row and traces; return the ids that quoted it."""
    owner, name, number = record
    change, at = step
    removed["records"] += 1
    removed["vectors"] += execute_counting(connection, "drop_vectors", number)
    removed["edges"] += execute_counting(connection, "drop_edges", owner.key, name)
    removed["outbox"] += execute_counting(connection, "drop_outbox", owner.key, name)
    removed["history"] += execute_counting(connection, "blank_history", number)
    cited, citing = _remove_quotes(connection, owner, name, at)
    removed["quotes"] += cited
    execute(connection, "drop_quotes", number)
    version = fetch_one(connection, "blank_record", change, number)[0]
    _log_change(connection, (number, version), "purge", at)
    return citing


def _remove_quotes(
    connection: SqlConnection, owner: Scope, name: str, at: datetime
) -> tuple[int, list[str]]:
    """Remove quotes of a record.

    Returns how many ever quoted it, and the ids of those that do.
    """
    citing = fetch_all(connection, "quoting", owner.key, name)
    current = []
    for number, evidence, version, id in citing:
        items = decode_json(evidence)
        kept = [item for item in items if item[1] != name]
        current += [id] if len(kept) < len(items) else []
        execute(connection, "set_evidence", encode_json(kept), number)
        execute(connection, "unquote_history", number)
        execute(connection, "drop_quote", owner.key, name, number)
        _log_change(connection, (number, version + 1), "unquote", at)
    return len(citing), current


def count_remaining(
    connection: SqlConnection, dialect: SqlDialect, traces: PurgeVerificationData
) -> dict[str, int]:
    """Count what is left of purged records, by place."""
    owner = traces.owner.key
    found: Counter[str] = Counter()
    for name, number in traces.records:
        found["records"] += _count(connection, "left_record", number)
        found["terms"] += _count(connection, "left_terms", number)
        found["vectors"] += _count(connection, "left_vectors", number)
        found["history"] += _count(connection, "left_history", number)
        found["edges"] += _count(connection, "left_edges", owner, name)
        found["quotes"] += _count(connection, "left_quotes", owner, name)
        found["outbox"] += _count(connection, "left_outbox", owner, name)
    found["topics"] = _count(connection, "left_topics", owner, json.dumps(traces.topics))
    found["jobs"] = job_queue.count_naming(connection, traces.ids)
    found["words"] = dialect.count_words(connection, traces.words)
    return found


def _redact_traces(
    connection: SqlConnection, owner: Scope, ids: Sequence[str], words: Sequence[str]
) -> int:
    """Remove words from histories, sessions, states and jobs.

    Returns the number of changed rows.
    """
    changed = 0
    numbers = [
        row[0]
        for name in ids
        if (row := fetch_first(connection, "number_of", name, owner.key)) is not None
    ]
    for number in numbers:
        for version, _, _, _, reason, *values in fetch_all(connection, "history", number):
            new = [redact(reason, words), *(part and _redact_json(part, words) for part in values)]
            if new != [reason, *values]:
                changed += execute_counting(connection, "rewrite_history", *new, number, version)
    for read, write, key in _TEXTS if words else ():
        given = (owner.key,) if key else ()
        for name, data in fetch_all(connection, read, *given):
            told = _redact_json(data, words)
            if told != data:
                changed += execute_counting(connection, write, told, *given, name)
    return changed


def _redact_json(data: str, words: Sequence[str]) -> str:
    return encode_json(redact_values(decode_json(data), words))


def _log_change(connection: SqlConnection, key: tuple[int, int], action: str, at: datetime) -> None:
    execute(connection, "add_history", *key, micros(at), action, "", "", None, None)


def _count(connection: SqlConnection, name: str, *values: object) -> int:
    return int(fetch_one(connection, name, *values)[0])
