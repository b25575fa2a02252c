"""Durable jobs: coalescing, leases, retries and dead letters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any

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

_MERGED_LISTS = frozenset({"items", "signals"})
_ID_BREAKS = re.compile(r"[^\w-]+")


def enqueue(connection: SqlConnection, spec: JobSpec, at: datetime) -> str:
    """Add a job, or merge it into a waiting one; its id."""
    if not spec.kind or spec.attempts < 1:
        raise InputError("A job needs a kind and at least one attempt.")
    due = micros(spec.due or at)
    now = micros(at)
    lease = spec.lease
    found = None if lease else fetch_first(connection, "waiting_job", spec.kind, spec.key)
    if found is None:
        job = new_id(at)
        given = (
            job,
            spec.kind,
            spec.key,
            encode_json(spec.payload),
            spec.attempts,
            due,
            spec.priority,
        )
        if lease:
            execute(
                connection,
                "add_leased_job",
                *given,
                lease.worker,
                lease.token,
                micros(lease.until),
                now,
                now,
            )
        else:
            execute(connection, "add_job", *given, now, now)
        return job
    job, payload, earlier, priority, attempts = found
    due = due if spec.debounce else min(due, earlier)
    merged = encode_json(merge_payloads(decode_json(payload), spec.payload))
    execute(
        connection,
        "merge_job",
        merged,
        due,
        max(priority, spec.priority),
        max(attempts, spec.attempts),
        now,
        job,
    )
    return str(job)


def merge_payloads(old: Meta, new: Meta) -> dict[str, Json]:
    """Merge two payloads; the newer values win.

    The lists ``items`` and ``signals`` are joined, each entry once and in order.
    """
    merged = {**old, **new}
    for name in _MERGED_LISTS & old.keys() & new.keys():
        both = [*old[name], *new[name]]
        keys = (
            both
            if {*map(type, both)} <= {str}
            else [item if isinstance(item, str) else (encode_json(item),) for item in both]
        )
        merged[name] = list(dict(zip(keys, both, strict=True)).values())
    return merged


def claim(connection: SqlConnection, ask: JobClaim) -> Job | None:
    """Lease the next due job; one at a time by key."""
    now = micros(ask.now)
    while True:
        found = _find_due(connection, ask)
        if found is None:
            return None
        job, attempt, attempts, state = found
        # Where workers claim at once, another one may have taken a job of the same key meanwhile.
        if (
            not fetch_one(connection, "hold_key", job)[0]
            or fetch_first(connection, "named_job", now, job) is None
        ):
            return None
        if state == "running" and attempt >= attempts:
            # Its workers died each time: leasing it again would take more of them down.
            execute(connection, "bury_job", "The worker went silent on the last attempt.", now, job)
            continue
        lease = f"{job}.{os.urandom(8).hex()}"
        until = micros(ask.now + timedelta(seconds=ask.lease_seconds))
        execute(connection, "claim_job", ask.worker, lease, until, now, job)
        return _decode_job(fetch_one(connection, "get_job", job))


def renew(connection: SqlConnection, lease: str, until: datetime) -> bool:
    return fetch_first(connection, "renew_lease", micros(until), lease) is not None


def keep(connection: SqlConnection, lease: str, payload: Meta) -> bool:
    """Save a running job's payload; False if the lease was lost."""
    return fetch_first(connection, "keep_progress", encode_json(payload), lease) is not None


def finish(connection: SqlConnection, lease: str, at: datetime) -> bool:
    """Finish a job, prune old ones; False if the lease was lost."""
    done = fetch_first(connection, "finish_job", micros(at), lease) is not None
    execute(connection, "prune_jobs", micros(at - KEEP_DONE))
    return done


def fail(connection: SqlConnection, failure: JobFailure) -> bool:
    """Record a failure; False if the lease was lost.

    The job is dead without ``retry_at``, or when its attempts are used up.
    """
    found = fetch_first(connection, "leased_job", failure.lease)
    if found is None:
        return False
    job, kind, key, payload, attempt, attempts, _, _ = found
    attempt -= not failure.counts
    if failure.retry_at is None or attempt >= attempts:
        execute(connection, "bury_job", failure.error, micros(failure.at), job)
    else:
        _requeue(
            connection,
            (job, kind, key, payload),
            (attempt, micros(failure.retry_at), failure.error),
            failure.at,
        )
    return True


def retry(connection: SqlConnection, ids: Sequence[str], at: datetime) -> int:
    """Return dead jobs to the queue with all their attempts."""
    dead = fetch_all(connection, "dead_jobs", encode_json(list(ids)))
    for job, kind, key, payload, _, error in dead:
        _requeue(connection, (job, kind, key, payload), (0, micros(at), error), at)
    return len(dead)


def _requeue(
    connection: SqlConnection,
    job: tuple[str, str, str, str],
    again: tuple[int, int, str],
    at: datetime,
) -> None:
    """Requeue a job, merging a newer one of the same key."""
    number, kind, key, payload = job
    attempt, due, error = again
    newer = fetch_first(connection, "waiting_job", kind, key)
    if newer is not None:
        other, more, _, _, _ = newer
        payload = encode_json(merge_payloads(decode_json(payload), decode_json(more)))
        execute(connection, "drop_job", other)
    execute(connection, "requeue_job", payload, attempt, due, error, micros(at), number)


def list_jobs(connection: SqlConnection, states: Sequence[str], limit: int) -> tuple[Job, ...]:
    """Jobs in these states, last changed first."""
    return tuple(
        _decode_job(row)
        for row in fetch_all(connection, "list_jobs", encode_json(list(states)), limit)
    )


def find_waiting(connection: SqlConnection, kind: str, prefix: str) -> tuple[Job, ...]:
    """Waiting jobs of one kind whose keys start with ``prefix``."""
    return tuple(
        _decode_job(row)
        for row in fetch_all(connection, "waiting_jobs", kind, prefix, prefix + "\U0010ffff")
    )


def count_workload(connection: SqlConnection) -> Mapping[str, Mapping[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for kind, state, total in fetch_all(connection, "workload"):
        found.setdefault(kind, {})[state] = total
    return found


def find_next_due(connection: SqlConnection, kinds: Sequence[str] = ()) -> datetime | None:
    """Time at which the next job of some kinds can be claimed."""
    return decode_time(fetch_one(connection, "next_due", encode_json(list(kinds)))[0])


def is_claimable(connection: SqlConnection, ask: JobClaim) -> bool:
    """Test for a claimable job without the write lock."""
    return _find_due(connection, ask) is not None


def _find_due(connection: SqlConnection, ask: JobClaim) -> tuple[Any, ...] | None:
    if ask.id:
        return fetch_first(connection, "named_job", micros(ask.now), ask.id)
    return fetch_first(
        connection, "due_job", micros(ask.now), encode_json(ask.kinds), encode_json(ask.crowded)
    )


def remove_records(connection: SqlConnection, ids: Set[str], at: datetime) -> int:
    """Remove purged records from every job; number of jobs changed.

    Their items go, and what a model answered about them; a job that names one otherwise, or has
    nothing left to do, is dropped. A worker that runs one loses its lease, so nothing it made of
    the record can be stored.
    """
    touched = 0
    for job, kind, key, payload, state, error in fetch_all(connection, "live_jobs") if ids else ():
        data: dict[str, Any] = decode_json(payload)
        if not _names_any(key, data, error, ids):
            continue
        touched += 1
        items = data.get("items", [])
        kept = [item for item in items if not ids & set(_iter_texts(item))]
        rest = {name: value for name, value in data.items() if name != KEPT} | (
            {"items": kept} if items else {}
        )
        if _names_any(key, rest, "", ids) or (items and not kept):
            execute(connection, "drop_job", job)
        elif state == "running":
            _requeue(connection, (job, kind, key, encode_json(rest)), (0, micros(at), ""), at)
        else:
            execute(connection, "strip_job", encode_json(rest), job)
    return touched


def release_running(connection: SqlConnection, ids: Set[str], at: datetime) -> None:
    """Take running jobs that name these records from their workers."""
    for job, kind, key, payload, state, error in fetch_all(connection, "live_jobs") if ids else ():
        if state == "running" and _names_any(key, decode_json(payload), error, ids):
            _requeue(connection, (job, kind, key, payload), (0, micros(at), ""), at)


def count_naming(connection: SqlConnection, ids: Set[str]) -> int:
    """Count jobs that name any of these records."""
    rows = fetch_all(connection, "live_jobs") if ids else []
    return sum(
        _names_any(key, decode_json(payload), error, ids) for _, _, key, payload, _, error in rows
    )


def _names_any(key: str, payload: Json, error: str, ids: Set[str]) -> bool:
    return bool(ids & {*_ID_BREAKS.split(key), *_ID_BREAKS.split(error), *_iter_texts(payload)})


def _iter_texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, part in value.items():
                yield key
                yield from _iter_texts(part)
        case list():
            for part in value:
                yield from _iter_texts(part)


def _decode_job(row: tuple[Any, ...]) -> Job:
    number, kind, key, payload, state, attempt, due, priority, error, lease, until, created = row
    return Job(
        id=number,
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
