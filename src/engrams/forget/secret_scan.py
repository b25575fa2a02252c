"""Secrets in what is stored already: found again, and removed with their earlier versions.

``find_stored_secrets`` lists them without repeating them. ``plan_redaction`` makes the order of a
purge that erases no memory: each memory loses its secrets, and so do its history and all files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engrams.core import Record, Scope
from engrams.extract.redaction import find_secret_words, name_kind, redact_text
from engrams.forget.purge_plan import PurgePlan
from engrams.forget.purge_words import sort_longest_first
from engrams.ports import PurgeOrder, RecordStore
from engrams.settings import WriteSettings
from engrams.text.redact import MIN_REDACTED_CHARS

_FIELDS = (
    *("text", "caption", "summary", "subject", "predicate", "object", "category", "speaker"),
    *("steps", "triggers", "tags", "meta"),
)
_STRICT = WriteSettings(secrets="redact", pii="redact")
_AROUND = 40
"""Characters of the text that are shown on each side of a mark."""


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """Secret that a memory holds, described without it."""

    id: str
    """Id of the memory."""
    field: str
    """Field that holds it, such as ``text`` or ``tags``; ``history``: an earlier version does."""
    kind: str
    """Kind as ``write.secrets_of`` names it, such as ``password``."""
    masked: str
    """The words around it, with a mark in its place."""


def find_stored_secrets(
    records: Sequence[Record], store: RecordStore, settings: WriteSettings
) -> tuple[StoredSecret, ...]:
    """Find the secrets in memories and in their earlier versions.

    Kinds that the settings allow are left out.
    """
    stored_secrets: dict[StoredSecret, None] = {}
    for record in records:
        said_now: set[str] = set()
        for field, value in _list_values(record, store):
            for family, words, text in find_secret_words(value, settings):
                # History repeats the fields of now.
                if field == "history" and not said_now.isdisjoint(words):
                    continue
                said_now.update(words)
                masked = _mask(text, settings)
                stored_secrets[StoredSecret(record.id, field, name_kind(family), masked)] = None
    return tuple(stored_secrets)


def plan_redaction(
    records: Sequence[Record], owner: Scope, store: RecordStore, settings: WriteSettings
) -> PurgePlan:
    """Plan the removal of the secrets in memories of one owner.

    The history of files is rewritten too: a key that it holds opens as much.
    """
    words_by_id = {
        record.id: _collect_words(_list_values(record, store), settings) for record in records
    }
    return _make_plan(words_by_id, owner)


def plan_history_redaction(
    records: Sequence[Record], owner: Scope, store: RecordStore
) -> PurgePlan:
    """Plan the removal of secrets that memories had in earlier versions and lost since.

    Another device redacted them, by its own settings: so all kinds are looked for.
    """
    words_by_id = {
        record.id: _collect_words(_list_values(record, store), _STRICT)
        - _collect_words(_list_current_values(record), _STRICT)
        for record in records
    }
    return _make_plan(words_by_id, owner)


def holds_secret(record: Record, settings: WriteSettings) -> bool:
    """Return True for a memory that holds, as it is now, a secret that the settings do not allow."""
    return any(
        True
        for _, value in _list_current_values(record)
        for _ in find_secret_words(value, settings)
    )


def _collect_words(values: Iterable[tuple[str, Any]], settings: WriteSettings) -> set[str]:
    return {
        word
        for _, value in values
        for _, secret_words, _ in find_secret_words(value, settings)
        for word in secret_words
    }


def _make_plan(words_by_id: Mapping[str, Collection[str]], owner: Scope) -> PurgePlan:
    """Plan to remove words from memories, their history and all files."""
    quotes = {
        record_id: tuple(sort_longest_first(words))
        for record_id, words in words_by_id.items()
        if words
    }
    words = {word for record_words in quotes.values() for word in record_words}
    order = PurgeOrder(
        owner=owner,
        ids=(),
        quotes=quotes,
        words=tuple(sort_longest_first(word for word in words if len(word) >= MIN_REDACTED_CHARS)),
        git=True,
        short=tuple(word for word in words if len(word) < MIN_REDACTED_CHARS),
    )
    return PurgePlan(order, (), ())


def _list_values(record: Record, store: RecordStore) -> Iterator[tuple[str, Any]]:
    """List the values of a memory by field, and those of its earlier versions."""
    yield from _list_current_values(record)
    for entry in store.history(record.scope.owner, record.id):
        yield "history", [entry.reason, dict(entry.before), dict(entry.after)]


def _list_current_values(record: Record) -> Iterator[tuple[str, Any]]:
    for name in _FIELDS:
        value = getattr(record, name)
        yield name, list(value) if isinstance(value, tuple) else value
    yield "evidence", [item.quote for item in record.evidence]
    yield "files", list(record.provenance.files)


def _mask(text: str, settings: WriteSettings) -> str:
    """Return the words around the first secret of a text, with marks in place of secrets."""
    redacted = " ".join(redact_text(text, settings)[0].split())
    start = max(redacted.find("[redacted:") - _AROUND, 0)
    shown = redacted[start : start + 3 * _AROUND]
    return f"…{shown}" if start else shown
