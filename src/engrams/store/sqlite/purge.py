"""Erasing records for good, and looking again."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import apsw

from engrams.clock import micros
from engrams.store.sqlite import jobs
from engrams.store.sqlite.rows import decode_json, encode_json
from engrams.store.sqlite.sql import every, first, one, run
from engrams.types import Scope, Status

PLACES = ("records", "vectors", "terms", "words", "edges", "history", "quotes", "jobs", "outbox")
"""Where a record leaves traces: its row, its embeddings, the full-text index, the list of words, links, the log of its
changes, quotes of it in other records' evidence, work that names it, and file-side effects that wait."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A purged record: what is needed to look for it again."""

    id: str
    number: int
    words: tuple[str, ...]


def erase(connection: apsw.Connection, owner: Scope, ids: Sequence[str], at: datetime) -> tuple[Mapping[str, int], tuple[Trace, ...]]:
    """Erase inside the caller's transaction: how much from each place, and what to look for afterwards. An id that is
    not there, or was purged before, counts nothing."""
    removed: Counter[str] = Counter(dict.fromkeys(PLACES, 0))
    change = int(one(connection, "counters")[0])
    traces = []
    for name in dict.fromkeys(ids):
        row = first(connection, "number_of", name, owner.key)
        if row is not None and row[1] != Status.PURGED:
            change += 1
            traces.append(_erase(connection, owner, (name, row[0]), removed, (change, at)))
    if traces:
        run(connection, "set_changes", change)
        run(connection, "add_erasure")
    return dict(removed), tuple(traces)


def _erase(connection: apsw.Connection, owner: Scope, record: tuple[str, int], removed: Counter[str], step: tuple[int, datetime]) -> Trace:
    name, number = record
    change, at = step
    lexemes = one(connection, "lexemes_of", number)[0]
    numbers = array("I", lexemes)
    terms = dict(every(connection, "terms_by_number", json.dumps(sorted(set(numbers)))))
    if lexemes:
        run(connection, "drop_posting", number, " ".join(terms[word] for word in numbers))
        removed["terms"] += len(terms)
    words = []
    for key, term in terms.items():
        if first(connection, "holds_term", term) is None:
            removed["words"] += run(connection, "drop_term", key)
            words.append(term)
    removed["records"] += 1
    removed["vectors"] += run(connection, "drop_vectors", number)
    removed["edges"] += run(connection, "drop_edges", owner.key, name)
    removed["outbox"] += run(connection, "drop_outbox", owner.key, name)
    removed["history"] += run(connection, "blank_history", number)
    removed["jobs"] += jobs.forget(connection, name, at)
    removed["quotes"] += _unquote(connection, owner, name, at)
    run(connection, "drop_quotes", number)
    version = one(connection, "blank_record", change, number)[0]
    _log(connection, (number, version), "purge", at)
    return Trace(name, number, tuple(words))


def _unquote(connection: apsw.Connection, owner: Scope, id: str, at: datetime) -> int:
    """Remove literal quotes of a purged record from the evidence of others, and from the log of their changes."""
    citing = every(connection, "quoting", owner.key, id)
    for number, evidence, version in citing:
        kept = [item for item in decode_json(evidence) if item[1] != id]
        run(connection, "set_evidence", encode_json(kept), number)
        run(connection, "unquote_history", number)
        run(connection, "drop_quote", owner.key, id, number)
        _log(connection, (number, version + 1), "unquote", at)
    return len(citing)


def remaining(connection: apsw.Connection, owner: Scope, traces: Sequence[Trace]) -> dict[str, int]:
    """What a second look finds in each place."""
    found = dict.fromkeys(PLACES, 0)
    for trace in traces:
        number = trace.number
        found["records"] += _count(connection, "left_record", number)
        found["vectors"] += _count(connection, "left_vectors", number)
        found["history"] += _count(connection, "left_history", number)
        found["edges"] += _count(connection, "left_edges", owner.key, trace.id)
        found["quotes"] += _count(connection, "left_quotes", owner.key, trace.id)
        found["outbox"] += _count(connection, "left_outbox", owner.key, trace.id)
        found["jobs"] += len(jobs.naming(connection, trace.id))
        words = json.dumps(trace.words, ensure_ascii=False)
        found["terms"] += _count(connection, "left_terms", words)
        found["words"] += _count(connection, "left_words", words)
    return found


def _log(connection: apsw.Connection, key: tuple[int, int], action: str, at: datetime) -> None:
    run(connection, "add_history", *key, micros(at), action, "", "", None, None)


def _count(connection: apsw.Connection, name: str, *values: object) -> int:
    return int(one(connection, name, *values)[0])
