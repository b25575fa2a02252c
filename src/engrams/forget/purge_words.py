"""The words of erased memories, and the memories that repeat them.

A purge removes the words of a memory wherever they stand. Here they are collected from records and
looked for in records; the vault looks for them in the bytes of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from engrams.core import MERGED, OWN_WORDS, Kind, Record, Scope, Status
from engrams.core.document_location import read_location
from engrams.ports import NOTE_PIECE, RecordQuery, RecordStore, ScopeReach
from engrams.text.redact import MIN_REDACTED_CHARS, find_sentence, find_words, holds_word

TEXT_FIELDS = ("text", "caption", "summary")
SUMMARY_KINDS = (Kind.SUMMARY, Kind.EPISODE, Kind.GAP)
"""Kinds of records that are made of others: they lose words, and stay."""
NOT_PURGED = tuple(status for status in Status if status is not Status.PURGED)
PAGE = 1000
_WORDS = 100
"""Words that one query looks for."""


@dataclass(frozen=True, slots=True)
class RepeatedWords:
    """Words that remaining records repeat, by the record's id."""

    in_copies: dict[str, tuple[str, ...]]
    """In records made of others, and in the notes of pictures and sounds, which lose these words."""
    in_others: dict[str, tuple[str, ...]]
    """In memories of their own, which keep them."""


def list_current_texts(record: Record) -> Iterator[str]:
    """List everything that a memory says now."""
    yield from (getattr(record, name) for name in TEXT_FIELDS)
    if own_part := record.meta.get(OWN_WORDS):
        yield str(own_part)
    yield from record.steps
    if MERGED not in record.meta:
        # The facts that a merged one replaced are free again and stay, with their quotes.
        yield from (item.quote for item in record.evidence)


def list_fields(record: Record) -> Iterator[str]:
    """List the texts of a memory's fields; of a piece of a note each line that says something.

    Its headings are those of many notes, and tell nothing.
    """
    if NOTE_PIECE in record.meta:
        lines = (line.strip() for line in record.text.split("\n"))
        yield from (line.removeprefix("- ").strip() for line in lines if line[:1] not in ("#", ""))
    else:
        yield from (getattr(record, name).strip() for name in TEXT_FIELDS)


def list_texts(record: Record, store: RecordStore) -> Iterator[str]:
    """List everything that a memory says, or said before an edit."""
    yield from (text.strip() for text in list_current_texts(record))
    for entry in store.history(record.scope.owner, record.id):
        for values in (entry.before, entry.after):
            yield from (str(values[name]).strip() for name in TEXT_FIELDS if values.get(name))


def locate_words(text: str, quote: str, value: str) -> str:
    """Find the words of a text that a statement was taken from; empty: not found.

    They are the quote, or else the sentence that names the statement's object. ``value``: that
    object. A short one would be found by chance.
    """
    words = find_words(text, quote)
    if words or len(value) < MIN_REDACTED_CHARS // 2:
        return words
    return find_sentence(text, value)


def sort_longest_first(words: Iterable[str]) -> list[str]:
    """Sort words so that a longer one is removed before a part of it."""
    return sorted(words, key=len, reverse=True)


def find_repeats(
    words: Sequence[str], owner: Scope, store: RecordStore, ignored_ids: Set[str]
) -> RepeatedWords:
    """Find the words that remaining memories repeat. ``ignored_ids``: memories not looked at."""
    repeats = RepeatedWords({}, {})
    for record in find_saying(words, owner, store):
        if record.id in ignored_ids:
            continue
        repeated = tuple(
            word for word in words if any(word in text for text in list_current_texts(record))
        )
        if repeated:
            is_copy = record.kind in SUMMARY_KINDS or _has_note(record)
            (repeats.in_copies if is_copy else repeats.in_others)[record.id] = repeated
    return repeats


def _has_note(record: Record) -> bool:
    """True for the passage that begins with the note of a picture or sound: a message's own words."""
    location = read_location(record)
    return location is not None and bool(location.media) and location.part == 1


def find_saying(
    words: Sequence[str], owner: Scope, store: RecordStore, formerly: bool = False
) -> Iterator[Record]:
    """Yield the memories that hold any of the words letter by letter.

    A memory may come several times. ``formerly``: also those whose history holds a word.
    """
    for start in range(0, len(words), _WORDS):
        query = RecordQuery(
            ScopeReach.of_owner(owner),
            statuses=NOT_PURGED,
            saying=tuple(words[start : start + _WORDS]),
            formerly=formerly,
            limit=PAGE,
        )
        while True:
            page = store.find(query)
            yield from page.records
            if not page.next:
                break
            query = replace(query, after=page.next)


def find_words_in_use(
    words: Sequence[str], purged_words: Sequence[str], store: RecordStore
) -> frozenset[str]:
    """Find which of the words remaining memories of any owner hold too, now or formerly.

    ``purged_words``: a text that holds one of these does not count, since the purge missed it.
    """
    if not words:
        return frozenset()
    owners = dict.fromkeys(scope.owner for scope in store.scopes(None))
    in_use = {
        word
        for word in words
        if len(word) >= MIN_REDACTED_CHARS and any(_is_said(word, owner, store) for owner in owners)
    }
    unclear = [word for word in words if word not in in_use]
    for owner in owners:
        for record in find_saying(unclear, owner, store, formerly=True):
            for text in list_texts(record, store):
                if not any(word in text for word in purged_words):
                    in_use |= {word for word in unclear if _holds(text, word)}
    return frozenset(in_use)


def _is_said(word: str, owner: Scope, store: RecordStore) -> bool:
    """Return True if a remaining memory of an owner says a word, in any case or form."""
    query = RecordQuery(ScopeReach.of_owner(owner), statuses=NOT_PURGED, text=word, limit=1)
    return bool(store.find(query).records)


def _holds(text: str, word: str) -> bool:
    """Return True if a text holds a word; a short one only as a whole word."""
    return word in text if len(word) >= MIN_REDACTED_CHARS else holds_word(text, word)
