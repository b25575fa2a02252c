"""The plan of a purge: which memories are erased, which lose words, and which words go everywhere.

``plan_purge`` makes the plan before anything is erased. ``plan_late`` plans again for memories that
were derived while the purge ran. ``build_rewrites`` builds the new texts of shortened memories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engrams.core import CONFLICT_OF, MERGED, MESSAGE_KINDS, Edge, Evidence, Record, Scope, Status
from engrams.core.document_location import read_location
from engrams.forget.dependents import find_dependents, is_account
from engrams.forget.edits import diff_tag_edges
from engrams.forget.purge_words import (
    NOT_PURGED,
    PAGE,
    SUMMARY_KINDS,
    TEXT_FIELDS,
    find_repeats,
    find_saying,
    list_current_texts,
    list_fields,
    list_texts,
    locate_words,
    sort_longest_first,
)
from engrams.forget.source_effects import preview_change
from engrams.ports import (
    NOTE_PIECE,
    PurgeOrder,
    RecordChange,
    RecordQuery,
    RecordStore,
    ScopeReach,
    WriteBatch,
)
from engrams.text.redact import MIN_REDACTED_CHARS, holds_word, is_telling, redact, redact_values

_NAME_FIELDS = ("subject", "predicate", "object", "category", "speaker")
_LIST_FIELDS = ("steps", "triggers", "tags")
_ROUNDS = 4
"""Steps from a memory to what was derived from it, from that, and so on."""


@dataclass(frozen=True, slots=True)
class PurgeTarget:
    """Memories to purge, and how far the purge goes."""

    records: Sequence[Record]
    """The memories to erase, all of one owner."""
    owner: Scope
    min_words: int
    """Words that a message must have left to be worth keeping (``write.min_words``)."""
    git: bool = False
    """Also rewrite the git history of the files."""


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """An order that any process can carry out, and doubts about it to report."""

    order: PurgeOrder
    unsure_ids: tuple[str, ...]
    """Ids of messages in which the words to remove were not found."""
    repeating_ids: tuple[str, ...]
    """Ids of memories that say the same and stay."""


def plan_purge(
    target: PurgeTarget, store: RecordStore, earlier_words: Sequence[str] = ()
) -> PurgePlan:
    """Plan the erasure of memories, with what was derived from them alone, and of their words.

    ``earlier_words``: words of memories that were purged before, which git still holds.
    """
    owner = target.owner
    erased = _collect_erased(target, store)
    speaking = [
        record
        for record in _select_speaking(target.records, erased)
        if NOTE_PIECE not in record.meta
    ]
    quotes, unsure = _find_quotes(speaking, erased.keys(), owner, store)
    words = dict.fromkeys(text for record in speaking for text in list_texts(record, store))
    words |= dict.fromkeys(text for record in erased.values() for text in list_fields(record))
    words |= dict.fromkeys(earlier_words)
    words |= dict.fromkeys(quote for source_quotes in quotes.values() for quote in source_quotes)

    long_words = sort_longest_first(word for word in words if len(word) >= MIN_REDACTED_CHARS)
    repeats = find_repeats(long_words, owner, store, erased.keys() | quotes.keys())
    shortened = repeats.in_copies
    # A piece of a note is no memory of its own: the purge cleans the note, and the index follows.
    erased |= {
        record.id: record
        for record in store.get(owner, list(shortened))
        if NOTE_PIECE in record.meta
    }
    shared_words = {word for shared in repeats.in_others.values() for word in shared}

    short_words = [word for word in words if 0 < len(word) < MIN_REDACTED_CHARS]
    saying = {
        record.id: record
        for record in find_saying(short_words, owner, store)
        if record.id not in erased and record.id not in quotes
    }
    erased |= {
        record.id: record
        for record in saying.values()
        if NOTE_PIECE in record.meta and record.text in short_words
    }
    staying_texts = [
        text
        for record in saying.values()
        if record.id not in erased and record.kind not in SUMMARY_KINDS
        for text in list_current_texts(record)
    ]
    # A short word that a remaining memory holds too would be missing there.
    short_words = [
        word for word in short_words if not any(holds_word(text, word) for text in staying_texts)
    ]
    telling_words = tuple(filter(is_telling, short_words))
    if telling_words:
        for record in saying.values():
            if record.kind in SUMMARY_KINDS:
                shortened[record.id] = (*shortened.get(record.id, ()), *telling_words)

    order = PurgeOrder(
        owner=owner,
        ids=tuple(erased),
        quotes={
            **{
                record_id: texts
                for record_id, texts in shortened.items()
                if record_id not in erased
            },
            **quotes,
        },
        words=tuple(word for word in long_words if word not in shared_words),
        git=target.git,
        short=tuple(short_words),
        attachments=_list_attachments(erased.values()),
    )
    return PurgePlan(order, unsure, tuple(repeats.in_others))


def plan_late(
    order: PurgeOrder, unquoted_ids: Sequence[str], store: RecordStore
) -> PurgeOrder | None:
    """Plan the purge of everything that was derived while a purge ran; None: nothing was.

    ``unquoted_ids``: memories that quoted what the purge erased.
    """
    quoting = [
        record
        for record in store.get(order.owner, list(dict.fromkeys(unquoted_ids)))
        if record.status is not Status.PURGED
    ]
    erased = {record.id: record for record in quoting if not record.evidence or is_account(record)}
    repeats = find_repeats(list(list_removed_words(order)), order.owner, store, erased.keys())
    if not erased and not repeats.in_copies:
        return None
    texts = {text for record in erased.values() for text in list_fields(record)}
    words = {*order.words, *(text for text in texts if len(text) >= MIN_REDACTED_CHARS)}
    return replace(
        order,
        ids=tuple(erased),
        quotes=repeats.in_copies,
        words=tuple(sort_longest_first(words)),
    )


def list_removed_words(order: PurgeOrder) -> Iterator[str]:
    """List each text that an order removes from other memories, their history and jobs."""
    yield from dict.fromkeys(
        (
            *order.words,
            *filter(is_telling, order.short),
            *(quote for quotes in order.quotes.values() for quote in quotes),
        )
    )


def build_rewrites(
    order: PurgeOrder, store: RecordStore, batch: WriteBatch
) -> tuple[WriteBatch, tuple[Record, ...]]:
    """Add to a batch the new texts of shortened memories; also return those memories."""
    changes = []
    shortened = []
    added: list[Edge] = []
    removed: list[Edge] = []
    for record in store.get(order.owner, list(order.quotes)) if order.quotes else ():
        if record.status is Status.PURGED:
            continue
        fields = _redact_record(record, order.quotes[record.id])
        # Also without new values: earlier versions may hold the words, and lose them with the change.
        changes.append(RecordChange(order.owner, record.id, fields, "redact"))
        if not fields:
            continue
        shortened.append(replace(record, **fields))
        new_edges, old_edges = diff_tag_edges(record, fields.get("tags", record.tags))
        added += new_edges
        removed += old_edges
    rewrites = replace(batch, changes=tuple(changes), edges=tuple(added), unlink=tuple(removed))
    return rewrites, tuple(shortened)


def _list_attachments(records: Iterable[Record]) -> tuple[str, ...]:
    """List the hashes of the files that documents were made of."""
    locations = filter(None, map(read_location, records))
    return tuple(dict.fromkeys(item.version for item in locations if item.media))


def _collect_erased(target: PurgeTarget, store: RecordStore) -> dict[str, Record]:
    """Collect the memories to erase, with what was derived from them alone, by id."""
    erased = {record.id: record for record in target.records}
    asked_ids = set(erased)
    for _ in range(_ROUNDS):
        size_before = len(erased)
        report = preview_change(
            _select_speaking(target.records, erased), "purge", store, target.min_words
        )
        source_ids = [effect.id for effect in report.sources if effect.effect == "purged"]
        for record in (*erased.values(), *store.get(target.owner, source_ids)):
            # If an exchange goes with one of its messages, the other message stays.
            dependents = find_dependents(record, store, with_halves=record.id in asked_ids)
            erased |= {related.id: related for related in (record, *dependents)}
        if len(erased) == size_before:
            break
    return erased


def _select_speaking(
    requested: Sequence[Record], erased: Mapping[str, Record]
) -> tuple[Record, ...]:
    """Select the erased memories whose words must be removed from everywhere.

    A summary that goes because it quotes one of them also quotes memories that stay.
    """
    asked_ids = {record.id for record in requested}
    return tuple(
        record
        for record in erased.values()
        if record.id in asked_ids or record.kind not in SUMMARY_KINDS
    )


def _find_quotes(
    speaking: Sequence[Record], erased_ids: Collection[str], owner: Scope, store: RecordStore
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Find the words that remaining sources, and the memories that repeat those, have to lose.

    Returns the words by record id, longest first, and the ids of the messages in which they were
    not found.
    """
    cited = dict.fromkeys(
        (item.source, item.quote, record.object)
        for record in speaking
        if MERGED not in record.meta
        for item in record.evidence
        if item.source not in erased_ids
    )
    source_ids = list(dict.fromkeys(source_id for source_id, _, _ in cited))
    sources = {source.id: source for source in store.get(owner, source_ids)}
    words: dict[str, list[str]] = {}
    unsure: dict[str, None] = {}
    for source_id, quote, value in cited:
        source = sources.get(source_id)
        if source is None or source.status is Status.PURGED:
            continue
        located = [locate_words(getattr(source, name), quote, value) for name in TEXT_FIELDS]
        words.setdefault(source_id, []).extend(filter(None, located))
        if not any(located) and source.kind in MESSAGE_KINDS:
            unsure[source_id] = None
    for source_id in [source_id for source_id, located in words.items() if located]:
        _add_repeated(words, source_id, erased_ids, owner, store)
    for record in sources.values():
        _add_former(words, record, words.get(record.id, ()), erased_ids, store)
    for record in speaking:
        _add_former(words, record, tuple(list_current_texts(record)), erased_ids, store)
    quotes = {
        record_id: tuple(sort_longest_first(set(located)))
        for record_id, located in words.items()
        if located
    }
    return quotes, tuple(unsure)


def _add_repeated(
    words: dict[str, list[str]],
    source_id: str,
    erased_ids: Collection[str],
    owner: Scope,
    store: RecordStore,
) -> None:
    """Add the words of one source for each remaining memory that quotes it and repeats them."""
    query = RecordQuery(
        ScopeReach.of_owner(owner), statuses=NOT_PURGED, sources=(source_id,), limit=PAGE
    )
    for record in store.find(query).records:
        if record.id in erased_ids:
            continue
        repeated = [
            word
            for word in words[source_id]
            if any(word in text for text in list_current_texts(record))
        ]
        if repeated:
            words.setdefault(record.id, []).extend(repeated)


def _add_former(
    words: dict[str, list[str]],
    record: Record,
    lost_words: Sequence[str],
    erased_ids: Collection[str],
    store: RecordStore,
) -> None:
    """Add the words of a text that lost a conflict for the memory that had this text before.

    Only its earlier versions hold them.
    """
    origin_id = record.meta.get(CONFLICT_OF)
    if not isinstance(origin_id, str) or origin_id in erased_ids:
        return
    for origin in store.get(record.scope.owner, [origin_id]):
        texts = list(list_current_texts(origin))
        words.setdefault(origin.id, []).extend(
            word for word in lost_words if word and not any(word in text for text in texts)
        )


def _redact_record(record: Record, words: Sequence[str]) -> dict[str, Any]:
    """Build the fields of a memory that change when it loses words."""
    fields: dict[str, Any] = {
        name: redact(getattr(record, name), words) for name in (*TEXT_FIELDS, *_NAME_FIELDS)
    }
    for name in _LIST_FIELDS:
        redacted = [redact(text, words) for text in getattr(record, name)]
        fields[name] = tuple(dict.fromkeys(redacted))
    fields["evidence"] = tuple(
        Evidence(redact(item.quote, words), item.source, item.speaker) for item in record.evidence
    )
    keys = [word for word in words if is_telling(word)]
    meta = redact_values(dict(record.meta), words)
    fields["meta"] = {redact(key, keys): value for key, value in meta.items()}
    return {name: value for name, value in fields.items() if value != getattr(record, name)}
