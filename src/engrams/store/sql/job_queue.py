"""Durable jobs: coalescing, leases, retries and dead letters.

Every function works in the caller's transaction. A job of one kind and key waits once: another one
of them is merged into it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from engrams.core import Json, Meta
from engrams.core.clock import micros
from engrams.core.ids import new_id
from engrams.errors import InputError
from engrams.ports import KEPT, Job, JobClaim, JobFailure, JobSpec
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_first,
    fetch_one,
)
from engrams.store.sql.row_conversion import decode_json, decode_time, encode_json, to_datetime

KEEP_DONE = timedelta(days=1)
"""Time that a finished job stays in the list."""

_MERGED_LISTS = frozenset({"items", "late", "signals"})
"""Lists in payloads that are joined; of other keys the newer value wins."""
_ID_BREAKS = re.compile(r"[^\w-]+")
"""Characters between ids in a job's key or error."""
_AFTER_ALL = "\U0010ffff"
"""Last character: added to a prefix, it sorts behind every text with that prefix."""


def enqueue(connection: SqlConnection, spec: JobSpec, at: datetime) -> str:
    """Add a job, or merge it into a waiting one; return its id."""
    if not spec.kind or spec.attempts < 1:
        raise InputError("A job needs a kind and at least one attempt.")
    if spec.lease:
        # It is running already, so nobody else may add to it.
        return _add(connection, spec, at)
    waiting = fetch_first(connection, "waiting_job", spec.kind, spec.key)
    if waiting is None:
        return _add(connection, spec, at)
    job_id, payload, due, priority, attempts = waiting
    new_due = micros(spec.due or at)
    execute(
        connection,
        "merge_job",
        encode_json(merge_payloads(decode_json(payload), spec.payload)),
        # A debounced job is due when nothing was added for a while.
        new_due if spec.debounce else min(new_due, due),
        max(priority, spec.priority),
        max(attempts, spec.attempts),
        micros(at),
        job_id,
    )
    return str(job_id)


def _add(connection: SqlConnection, spec: JobSpec, at: datetime) -> str:
    """Add a job, which waits or has a lease; return its id."""
    job_id = new_id(at)
    due = micros(spec.due or at)
    now = micros(at)
    payload = encode_json(spec.payload)
    values = (job_id, spec.kind, spec.key, payload, spec.attempts, due, spec.priority)
    if spec.lease:
        lease = (spec.lease.worker, spec.lease.token, micros(spec.lease.until))
        execute(connection, "add_leased_job", *values, *lease, now, now)
    else:
        execute(connection, "add_job", *values, now, now)
    return job_id


def merge_payloads(older: Meta, newer: Meta) -> dict[str, Json]:
    """Merge two payloads; the newer values win.

    The lists ``items``, ``late`` and ``signals`` are joined, each entry once and in order.
    """
    merged = {**older, **newer}
    for name in _MERGED_LISTS & older.keys() & newer.keys():
        items = [*older[name], *newer[name]]
        # Entries that are no texts are compared as JSON; a tuple of it equals no text.
        keys = [item if isinstance(item, str) else (encode_json(item),) for item in items]
        merged[name] = list(dict(zip(keys, items, strict=True)).values())
    return merged


def claim(connection: SqlConnection, request: JobClaim) -> Job | None:
    """Lease the next due job; of one key, one at a time."""
    now = micros(request.now)
    while True:
        due_job = _find_due(connection, request)
        if due_job is None:
            return None
        job_id, attempt, attempts, state = due_job
        # Where workers claim at once, another one may have taken a job of the same key meanwhile.
        if (
            not fetch_one(connection, "hold_key", job_id)[0]
            or fetch_first(connection, "named_job", now, job_id) is None
        ):
            return None
        if state == "running" and attempt >= attempts:
            # Its workers died each time: leasing it again would take more of them down.
            error = "The worker went silent on the last attempt."
            execute(connection, "bury_job", error, now, job_id)
            continue
        lease = f"{job_id}.{os.urandom(8).hex()}"
        until = micros(request.now + timedelta(seconds=request.lease_seconds))
        execute(connection, "claim_job", request.worker, lease, until, now, job_id)
        return _decode_job(fetch_one(connection, "get_job", job_id))


def renew(connection: SqlConnection, lease: str, until: datetime) -> bool:
    """Extend a lease; False if it was lost."""
    return fetch_first(connection, "renew_lease", micros(until), lease) is not None


def keep(connection: SqlConnection, lease: str, payload: Meta) -> bool:
    """Save a running job's payload; False if the lease was lost."""
    return fetch_first(connection, "keep_progress", encode_json(payload), lease) is not None


def finish(connection: SqlConnection, lease: str, at: datetime) -> bool:
    """Finish a job, prune old ones; False if the lease was lost."""
    is_finished = fetch_first(connection, "finish_job", micros(at), lease) is not None
    execute(connection, "prune_jobs", micros(at - KEEP_DONE))
    return is_finished


def fail(connection: SqlConnection, failure: JobFailure) -> bool:
    """Record a failure; False if the lease was lost.

    The job runs again at ``failure.retry_at``. It is dead if that is None, or if its attempts are used
    up.
    """
    row = fetch_first(connection, "leased_job", failure.lease)
    if row is None:
        return False
    job_id, kind, key, payload, attempt, attempts, _, _ = row
    if not failure.counts:
        attempt -= 1
    if failure.retry_at is None or attempt >= attempts:
        execute(connection, "bury_job", failure.error, micros(failure.at), job_id)
    else:
        job = _RequeuedJob(
            job_id, kind, key, payload, attempt, micros(failure.retry_at), failure.error
        )
        _requeue(connection, job, failure.at)
    return True


def retry(connection: SqlConnection, job_ids: Sequence[str], at: datetime) -> int:
    """Return dead jobs to the queue with all their attempts; return their number."""
    dead = fetch_all(connection, "dead_jobs", encode_json(list(job_ids)))
    for job_id, kind, key, payload, _, error in dead:
        _requeue(connection, _RequeuedJob(job_id, kind, key, payload, 0, micros(at), error), at)
    return len(dead)


class _RequeuedJob(NamedTuple):
    """Job that is to wait again."""

    job_id: str
    kind: str
    key: str
    payload: str
    """JSON."""
    attempt: int
    """Attempts that count so far."""
    due: int
    """Microseconds since 1970."""
    error: str = ""


def _requeue(connection: SqlConnection, job: _RequeuedJob, at: datetime) -> None:
    """Requeue a job, merging one of the same kind and key that has been added since."""
    payload = job.payload
    added = fetch_first(connection, "waiting_job", job.kind, job.key)
    if added is not None:
        added_id, added_payload, _, _, _ = added
        payload = encode_json(merge_payloads(decode_json(payload), decode_json(added_payload)))
        execute(connection, "drop_job", added_id)
    values = (payload, job.attempt, job.due, job.error, micros(at), job.job_id)
    execute(connection, "requeue_job", *values)


def list_jobs(connection: SqlConnection, states: Sequence[str], limit: int) -> tuple[Job, ...]:
    """List jobs in these states, last changed first; no states: all."""
    return tuple(
        _decode_job(row)
        for row in fetch_all(connection, "list_jobs", encode_json(list(states)), limit)
    )


def find_waiting(connection: SqlConnection, kind: str, prefix: str) -> tuple[Job, ...]:
    """Find the waiting jobs of one kind whose keys start with ``prefix``."""
    return tuple(
        _decode_job(row)
        for row in fetch_all(connection, "waiting_jobs", kind, prefix, prefix + _AFTER_ALL)
    )


def count_workload(connection: SqlConnection) -> Mapping[str, Mapping[str, int]]:
    """Count jobs by kind and state."""
    counts: dict[str, dict[str, int]] = {}
    for kind, state, total in fetch_all(connection, "workload"):
        counts.setdefault(kind, {})[state] = total
    return counts


def find_next_due(connection: SqlConnection, kinds: Sequence[str] = ()) -> datetime | None:
    """Find when the next job of some kinds can be claimed; no kinds: of any."""
    return decode_time(fetch_one(connection, "next_due", encode_json(list(kinds)))[0])


def is_claimable(connection: SqlConnection, request: JobClaim) -> bool:
    """Test for a claimable job without the write lock."""
    return _find_due(connection, request) is not None


def _find_due(connection: SqlConnection, request: JobClaim) -> tuple[Any, ...] | None:
    now = micros(request.now)
    if request.id:
        return fetch_first(connection, "named_job", now, request.id)
    kinds = encode_json(request.kinds)
    return fetch_first(connection, "due_job", now, kinds, encode_json(request.crowded))


def remove_records(connection: SqlConnection, record_ids: Set[str], at: datetime) -> int:
    """Remove purged records from every job; return the number of jobs changed.

    Their items go, and what a model answered about them; a job that names one otherwise, or has
    nothing left to do, is dropped. A worker that runs one loses its lease, so nothing it made of
    the record can be stored.
    """
    if not record_ids:
        return 0
    changed = 0
    for job_id, kind, key, payload, state, error in fetch_all(connection, "live_jobs"):
        data: dict[str, Any] = decode_json(payload)
        if not _names_any(key, data, error, record_ids):
            continue
        changed += 1
        items = data.get("items", [])
        remaining_items = [item for item in items if not record_ids & set(_iter_texts(item))]
        remaining = {name: value for name, value in data.items() if name != KEPT}
        if items:
            remaining["items"] = remaining_items
        if _names_any(key, remaining, "", record_ids) or (items and not remaining_items):
            execute(connection, "drop_job", job_id)
        elif state == "running":
            job = _RequeuedJob(job_id, kind, key, encode_json(remaining), 0, micros(at))
            _requeue(connection, job, at)
        else:
            execute(connection, "strip_job", encode_json(remaining), job_id)
    return changed


def release_running(connection: SqlConnection, record_ids: Set[str], at: datetime) -> None:
    """Take running jobs that name these records from their workers."""
    if not record_ids:
        return
    for job_id, kind, key, payload, state, error in fetch_all(connection, "live_jobs"):
        if state == "running" and _names_any(key, decode_json(payload), error, record_ids):
            _requeue(connection, _RequeuedJob(job_id, kind, key, payload, 0, micros(at)), at)


def count_naming(connection: SqlConnection, record_ids: Set[str]) -> int:
    """Count jobs that name any of these records."""
    rows = fetch_all(connection, "live_jobs") if record_ids else []
    return sum(
        _names_any(key, decode_json(payload), error, record_ids)
        for _, _, key, payload, _, error in rows
    )


def _names_any(key: str, payload: Json, error: str, record_ids: Set[str]) -> bool:
    names = {*_ID_BREAKS.split(key), *_ID_BREAKS.split(error), *_iter_texts(payload)}
    return bool(record_ids & names)


def _iter_texts(value: Json) -> Iterator[str]:
    """Yield all texts in JSON, keys included."""
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield key
                yield from _iter_texts(item)
        case list():
            for item in value:
                yield from _iter_texts(item)


def _decode_job(row: tuple[Any, ...]) -> Job:
    job_id, kind, key, payload, state, attempt, due, priority, error, lease, until, created = row
    return Job(
        id=job_id,
        kind=kind,
        key=key,
        payload=decode_json(payload),
        state=state,
        attempt=attempt,
        due=to_datetime(due),
        priority=priority,
        error=error,
        lease=lease,
        lease_until=decode_time(until),
        created_at=decode_time(created),
    )
