"""Plan a purge: erased memories, shortened ones, words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engrams.core import MERGED, Evidence, Kind, Record, Scope, Status
from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.ports import (
    NOTE_PIECE,
    PurgeOrder,
    RecordChange,
    RecordQuery,
    RecordStore,
    ScopeReach,
    WriteBatch,
)
from engrams.text.normalize import fold
from engrams.text.redact import (
    LEAST,
    find_sentence,
    find_words,
    holds_word,
    is_telling,
    redact,
    redact_values,
)
from engrams.write import manual_edits
from engrams.write.source_changes import SourceChangeReport, preview_change, preview_each

_FIELDS = ("text", "caption", "summary")
_SAID = (Kind.NOTE, Kind.TURN, Kind.EXCHANGE)
_SUMMARIES = (Kind.SUMMARY, Kind.EPISODE, Kind.GAP)
_PAGE = 1000
_ROUNDS = 4
_WORDS = 100
"""Words that one query looks for."""
_ACTIVE = tuple(status for status in Status if status is not Status.PURGED)


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """Plan of a purge.

    ``gone``: memories to erase. ``unsure``: ids of sources in which the words were not found.
    ``also``: ids of memories that say the same and stay.
    """

    gone: tuple[Record, ...]
    order: PurgeOrder
    unsure: tuple[str, ...]
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PurgeCandidate:
    """Memory that a purge of everything about something may erase.

    ``certain``: it names it; else a search found it. ``report``: what goes with it.
    """

    record: Record
    certain: bool
    report: SourceChangeReport


def find_candidates(
    about: str, scope: Scope, store: RecordStore, found: Sequence[Record], min_words: int
) -> tuple[PurgeCandidate, ...]:
    """Find memories that mention something or were found by search."""
    if not about.strip():
        raise InputError("It must be told what about.", hint="Name a person, a place or a thing.")
    reach = ScopeReach(scope.owner, (scope,), tree=True)
    named = store.find(RecordQuery(reach, statuses=_ACTIVE, text=about, limit=_PAGE)).records
    stated = store.find(
        RecordQuery(reach, statuses=_ACTIVE, about=(fold(about),), limit=_PAGE)
    ).records
    words = re.compile(r"(?<!\w)" + re.escape(fold(about)) + r"(?!\w)")
    certain = {
        one.id: one
        for one in (*named, *stated)
        if words.search(fold(" ".join((one.subject, one.object, *_texts_of(one)))))
    }
    every = {
        **certain,
        **{
            one.id: one
            for one in found
            if one.status is not Status.PURGED and one.scope.owner == scope.owner
        },
    }
    reports = preview_each([*every.values()], "purge", store, min_words)
    return tuple(
        PurgeCandidate(one, one.id in certain, report)
        for one, report in zip(every.values(), reports, strict=True)
    )


def plan_purge(
    records: Sequence[Record],
    owner: Scope,
    store: RecordStore,
    min_words: int,
    git: bool = False,
    known: Sequence[str] = (),
) -> PurgePlan:
    """Plan the erasure of memories, their derivations and sources.

    ``known``: words of memories that were purged before.
    """
    gone = {record.id: record for record in records}
    asked = set(gone)
    for _ in range(_ROUNDS):
        before = len(gone)
        report = preview_change(_list_speaking(records, gone), "purge", store, min_words)
        sources = store.get(owner, [one.id for one in report.sources if one.effect == "purged"])
        # Of an exchange that goes with one message the other message stays.
        found = [
            (record, *manual_edits.find_dependents(record, store, record.id in asked))
            for record in (*gone.values(), *sources)
        ]
        gone |= {one.id: one for some in found for one in some}
        if len(gone) == before:
            break
    speaking = _list_speaking(records, gone)
    quotes, unsure = _find_quotes(speaking, gone.keys(), owner, store)
    words = dict.fromkeys(word for record in speaking for word in list_texts(record, store))
    words |= dict.fromkeys(
        getattr(record, name).strip() for record in gone.values() for name in _FIELDS
    )
    words |= dict.fromkeys((*known, *(word for some in quotes.values() for word in some)))
    told = sorted((word for word in words if len(word) >= LEAST), key=len, reverse=True)
    derived, others = _find_repeats(told, owner, store, gone.keys() | quotes.keys())
    pieces = store.get(owner, list(derived))
    gone |= {one.id: one for one in pieces if NOTE_PIECE in one.meta}
    derived = {name: some for name, some in derived.items() if name not in gone}
    shared = {word for some in others.values() for word in some}
    few = [word for word in words if 0 < len(word) < LEAST]
    saying = {
        one.id: one for one in find_saying(few, owner, store) if one.id not in {*gone, *quotes}
    }
    gone |= {one.id: one for one in saying.values() if NOTE_PIECE in one.meta and one.text in few}
    stay = [
        text
        for one in saying.values()
        if one.id not in gone and one.kind not in _SUMMARIES
        for text in _texts_of(one)
    ]
    short = tuple(word for word in few if not any(holds_word(text, word) for text in stay))
    telling = tuple(filter(is_telling, short))
    summaries = [
        name
        for name, one in saying.items()
        if telling and name not in gone and one.kind in _SUMMARIES
    ]
    derived |= {name: (*derived.get(name, ()), *telling) for name in summaries}
    order = PurgeOrder(
        owner=owner,
        ids=tuple(gone),
        quotes={**derived, **quotes},
        words=tuple(word for word in told if word not in shared),
        git=git,
        short=short,
    )
    return PurgePlan(tuple(gone.values()), order, unsure, tuple(others))


def plan_late(order: PurgeOrder, unquoted: Sequence[str], store: RecordStore) -> PurgeOrder | None:
    """Plan what was derived while a purge ran; None: nothing.

    ``unquoted``: memories that quoted what it erased.
    """
    cited = [
        one
        for one in store.get(order.owner, list(dict.fromkeys(unquoted)))
        if one.status is not Status.PURGED
    ]
    gone = {one.id: one for one in cited if not one.evidence or manual_edits.is_account(one)}
    told = dict.fromkeys(
        (
            *order.words,
            *filter(is_telling, order.short),
            *(word for some in order.quotes.values() for word in some),
        )
    )
    derived, _ = _find_repeats([*told], order.owner, store, set(gone))
    if not gone and not derived:
        return None
    own = dict.fromkeys(getattr(one, name).strip() for one in gone.values() for name in _FIELDS)
    words = sorted(
        {*order.words, *(word for word in own if len(word) >= LEAST)}, key=len, reverse=True
    )
    return replace(order, ids=tuple(gone), quotes=derived, words=tuple(words))


def build_rewrites(
    order: PurgeOrder, store: RecordStore, batch: WriteBatch
) -> tuple[WriteBatch, tuple[Record, ...]]:
    """Complete a batch with shortened texts; return those records."""
    changes = []
    made = []
    for record in store.get(order.owner, list(order.quotes)) if order.quotes else ():
        fields = (
            _redact_record(record, order.quotes[record.id])
            if record.status is not Status.PURGED
            else {}
        )
        if fields:
            changes.append(RecordChange(order.owner, record.id, fields, "redact"))
            made.append(replace(record, **fields))
    return replace(batch, changes=tuple(changes)), tuple(made)


def _redact_record(record: Record, words: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        name: redact(getattr(record, name), words) for name in (*_FIELDS, "object")
    }
    fields["steps"] = tuple(redact(step, words) for step in record.steps)
    fields["triggers"] = tuple(redact(trigger, words) for trigger in record.triggers)
    fields["evidence"] = tuple(
        Evidence(redact(item.quote, words), item.source, item.speaker) for item in record.evidence
    )
    fields["meta"] = redact_values(dict(record.meta), words)
    return {name: value for name, value in fields.items() if value != getattr(record, name)}


def _list_speaking(asked: Sequence[Record], gone: Mapping[str, Record]) -> tuple[Record, ...]:
    """List erased memories whose words must be removed from everywhere.

    A summary that goes because it quotes one of them also quotes what stays.
    """
    named = {record.id for record in asked}
    return tuple(
        record for record in gone.values() if record.id in named or record.kind not in _SUMMARIES
    )


def _find_quotes(
    speaking: Sequence[Record], ids: Collection[str], owner: Scope, store: RecordStore
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Find the words that sources, and what repeats those, have to lose."""
    made = [record for record in speaking if MERGED not in record.meta]
    asked = dict.fromkeys(
        (item.source, item.quote, record.object)
        for record in made
        for item in record.evidence
        if item.source not in ids
    )
    held = {
        one.id: one
        for one in store.get(owner, list(dict.fromkeys(source for source, _, _ in asked)))
    }
    found: dict[str, list[str]] = {}
    missed: dict[str, None] = {}
    for source, quote, value in asked:
        record = held.get(source)
        if record is None or record.status is Status.PURGED:
            continue
        said = [
            words for name in _FIELDS if (words := _locate(getattr(record, name), quote, value))
        ]
        found.setdefault(source, []).extend(said)
        if not said and record.kind in _SAID:
            missed[source] = None
    for source in [name for name, some in found.items() if some]:
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True), statuses=_ACTIVE, sources=(source,), limit=_PAGE
        )
        for one in (record for record in store.find(query).records if record.id not in ids):
            repeated = [
                words for words in found[source] if any(words in text for text in _texts_of(one))
            ]
            if repeated:
                found.setdefault(one.id, []).extend(repeated)
    return {
        name: tuple(sorted(set(some), key=len, reverse=True))
        for name, some in found.items()
        if some
    }, tuple(missed)


def _locate(text: str, quote: str, value: str) -> str:
    """Find the words of a text that a statement was taken from."""
    return find_words(text, quote) or (
        find_sentence(text, value) if len(value) >= LEAST // 2 else ""
    )


def _texts_of(record: Record) -> Iterator[str]:
    yield from (getattr(record, name) for name in _FIELDS)
    # What a merged fact was made of is free again, and stays.
    yield from (
        *record.steps,
        *(item.quote for item in record.evidence if MERGED not in record.meta),
    )


def list_texts(record: Record, store: RecordStore) -> Iterator[str]:
    """List everything that a memory says or said."""
    yield from (text.strip() for text in _texts_of(record))
    for entry in store.history(record.scope.owner, record.id):
        for values in (entry.before, entry.after):
            yield from (str(values[name]).strip() for name in _FIELDS if values.get(name))


def _find_repeats(
    words: Sequence[str], owner: Scope, store: RecordStore, ignored: set[str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Find words held by memories that stay: summaries, and others."""
    derived: dict[str, tuple[str, ...]] = {}
    others: dict[str, tuple[str, ...]] = {}
    for record in find_saying(words, owner, store):
        held = (
            tuple(word for word in words if any(word in text for text in _texts_of(record)))
            if record.id not in ignored
            else ()
        )
        if held:
            (derived if record.kind in _SUMMARIES else others)[record.id] = held
    return derived, others


def find_saying(
    words: Sequence[str], owner: Scope, store: RecordStore, formerly: bool = False
) -> Iterator[Record]:
    """Yield memories that hold any of the words letter by letter.

    A memory may come again. ``formerly``: also those whose history holds them.
    """
    reach = ScopeReach(owner, (owner,), tree=True)
    for start in range(0, len(words), _WORDS):
        query = RecordQuery(
            reach,
            statuses=_ACTIVE,
            saying=tuple(words[start : start + _WORDS]),
            formerly=formerly,
            limit=_PAGE,
        )
        while True:
            page = store.find(query)
            yield from page.records
            if not page.next:
                break
            query = replace(query, after=page.next)
