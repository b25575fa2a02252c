"""Sources of derived memories, and what a correction does to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, TypeAlias

from engrams.core import CORRECTED, Kind, Record, Scope, Status, bury, revive
from engrams.errors import RefusedError
from engrams.extract.gate import gate_text
from engrams.frozen_data import dataclass
from engrams.ports import RecordChange, RecordQuery, RecordStore, ScopeReach, Store, WriteBatch
from engrams.text.normalize import fold
from engrams.text.redact import find_sentence
from engrams.write import manual_edits
from engrams.write.manual_edits import WENT_WITH

ChangeAction: TypeAlias = Literal["edit", "forget", "purge"]

_GONE = {"edit": "superseded", "forget": "forgotten", "purge": "purged"}
_DERIVED = (Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE)
_SAID = (Kind.NOTE, Kind.TURN, Kind.EXCHANGE)
_LOOKED_UP = 20
_PAGE = 1000
_OUT_OF_REACH: Mapping[ChangeAction, frozenset[Status]] = {
    "edit": frozenset(Status) - {Status.ACTIVE},
    "forget": frozenset({Status.FORGOTTEN, Status.PURGED}),
    "purge": frozenset({Status.PURGED}),
}
"""Statuses of messages that an action leaves as they are.

Reads of the past show superseded ones, so that a forget reaches them.
"""
_CURRENT = {
    Status.ACTIVE: "Searches find it already.",
    Status.CANDIDATE: "It is held until more supports it.",
    Status.SUPERSEDED: (
        "Another memory took its place: edit that one, or forget it and restore this one."
    ),
    Status.PURGED: "What was purged is gone for good: add it anew.",
}
"""Hints by status, where there is nothing to restore."""
_RESTED = "it rests on a memory that was forgotten"
_REASONS = {"edit": "what it said was corrected", "forget": "what it said was forgotten"}


@dataclass(frozen=True, slots=True)
class SourceChangeEffect:
    """Effect on one source message, or on a session's episode.

    ``effect``: superseded, forgotten, purged, shortened or kept.
    """

    id: str
    effect: str
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceChangeReport:
    """Effects of a change on memories and on their sources.

    ``also_said_in``: ids of other messages that say the same; they stay.
    """

    action: ChangeAction
    effects: Mapping[str, str]
    sources: tuple[SourceChangeEffect, ...] = ()
    also_said_in: tuple[str, ...] = ()


class SourceLookup:
    """Sources of facts, and the facts that rest on each."""

    def __init__(self, records: Sequence[Record], store: RecordStore) -> None:
        """Read those of all facts among ``records`` together."""
        self._store = store
        self.sources: dict[str, Record] = {}
        self._resting: dict[str, list[Record]] = {}
        for owner in {record.scope.owner for record in records}:
            facts = (one for one in records if one.kind in _DERIVED and one.scope.owner == owner)
            names = list(
                dict.fromkeys(item.source for fact in facts for item in fact.evidence if item.quote)
            )
            self.sources.update((one.id, one) for one in store.get(owner, names))
            self._read_resting(owner, names)

    def find_resting(self, source: Record) -> Sequence[Record]:
        """Find the active facts that quote a message."""
        if source.id not in self._resting:
            self._read_resting(source.scope.owner, [source.id])
        return self._resting[source.id]

    def _read_resting(self, owner: Scope, names: Sequence[str]) -> None:
        self._resting.update((name, []) for name in names)
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            _DERIVED,
            (Status.ACTIVE,),
            sources=tuple(names),
            limit=_PAGE,
        )
        more = bool(names)
        while more:
            page = self._store.find(query)
            for fact in page.records:
                for name in {item.source for item in fact.evidence} & self._resting.keys():
                    self._resting[name].append(fact)
            query = replace(query, after=page.next)
            more = bool(page.next)


def preview_each(
    records: Sequence[Record], action: ChangeAction, store: RecordStore, min_words: int
) -> list[SourceChangeReport]:
    """Report on each memory what changing it alone would reach.

    Other messages that say the same are looked up for the first twenty.
    """
    lookup = SourceLookup(records, store)
    return [
        _report([one], action, store, min_words, lookup, repeats=place < _LOOKED_UP)
        for place, one in enumerate(records)
    ]


def preview_change(
    records: Sequence[Record], action: ChangeAction, store: RecordStore, min_words: int
) -> SourceChangeReport:
    """Report which source messages an edit, forget or purge changes."""
    return _report(records, action, store, min_words, SourceLookup(records, store), repeats=True)


def _report(
    records: Sequence[Record],
    action: ChangeAction,
    store: RecordStore,
    min_words: int,
    lookup: SourceLookup,
    repeats: bool,
) -> SourceChangeReport:
    effects = _find_effects(records, action, store, min_words, lookup)
    known = {record.id for record in records} | {effect.id for effect in effects}
    also = dict.fromkeys(
        id
        for record in records[: _LOOKED_UP * repeats]
        for id in _find_repeats(record, store)
        if id not in known
    )
    told = dict.fromkeys(
        (record.id for record in records), "edited" if action == "edit" else _GONE[action]
    )
    return SourceChangeReport(action, told, effects, tuple(also)[:_LOOKED_UP])


def _find_effects(
    records: Sequence[Record],
    action: ChangeAction,
    store: RecordStore,
    min_words: int,
    lookup: SourceLookup,
) -> tuple[SourceChangeEffect, ...]:
    gone = {record.id for record in records}
    quotes: dict[str, list[str]] = {}
    for record in records:
        for item in record.evidence if record.kind in _DERIVED else ():
            if item.quote and item.source not in gone:
                quotes.setdefault(item.source, []).append(item.quote)
    effects = []
    for source in (lookup.sources[name] for name in quotes if name in lookup.sources):
        some = tuple(dict.fromkeys(quotes[source.id]))
        effects.append(
            SourceChangeEffect(
                source.id, _find_effect(source, some, action, lookup, gone, min_words), some
            )
        )
    if action != "purge":  # which looks for its words everywhere
        effects += _find_episode_effects(records, action, store, lookup, gone, min_words)
    return tuple(effects)


def _find_effect(
    source: Record,
    quotes: tuple[str, ...],
    action: ChangeAction,
    lookup: SourceLookup,
    gone: set[str],
    min_words: int,
) -> str:
    left = source.text
    if source.kind not in (*_SAID, Kind.EPISODE) or source.status in _OUT_OF_REACH[action]:
        return "kept"
    for quote in quotes:
        left = left.replace(quote, " ")
    if left == source.text:
        return "kept"
    for item in source.meta.get(CORRECTED, ()):
        left = left.replace(item["quote"], " ")
    others = any(one.id not in gone for one in lookup.find_resting(source))
    alone = not others and gate_text(left, min_words=min_words) is not None
    return _GONE[action] if alone else "shortened"


def _find_episode_effects(
    records: Sequence[Record],
    action: ChangeAction,
    store: RecordStore,
    lookup: SourceLookup,
    gone: set[str],
    min_words: int,
) -> list[SourceChangeEffect]:
    """Find episodes that repeat statements or messages, and their words."""
    told: dict[str, dict[str, None]] = {}
    held: dict[str, Record] = {}
    for record in records:
        derived = record.kind in _DERIVED
        if derived:
            names = tuple(item.source for item in record.evidence)
        elif record.kind in _SAID:
            names = (record.id,)
        else:
            names = ()
        query = RecordQuery(
            ScopeReach(record.scope.owner, (record.scope.owner,), tree=True),
            (Kind.EPISODE,),
            sources=names,
            limit=1000,
        )
        for episode in store.find(query).records if names else ():
            held[episode.id] = episode
            some = [
                item.quote
                for item in (record if derived else episode).evidence
                if derived or item.source == record.id
            ]
            said = [quote for quote in some if quote and quote in episode.text]
            # A model tells in its own words.
            said = said or [
                sentence
                for sentence in [find_sentence(episode.text, record.object)]
                if derived and sentence
            ]
            told.setdefault(episode.id, {}).update(dict.fromkeys(said))
    return [
        SourceChangeEffect(
            name,
            _find_effect(held[name], tuple(said), action, lookup, gone, min_words),
            tuple(said),
        )
        for name, said in told.items()
        if said
    ]


def _find_repeats(record: Record, store: RecordStore) -> list[str]:
    """Find messages with the same quote or the same subject and object."""
    owner = record.scope.owner
    found = dict[str, Record]()
    for words in (
        {*(item.quote for item in record.evidence), record.object} - {""}
        if record.kind in _DERIVED
        else ()
    ):
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True), _SAID, text=words, limit=_LOOKED_UP
        )
        found.update((one.id, one) for one in store.find(query).records)
    who = "" if record.subject in ("user", "") else fold(record.subject)
    return [one.id for one in found.values() if who in fold(one.text)]


def with_sources(
    batch: WriteBatch, by: Record, action: ChangeAction, store: RecordStore, min_words: int
) -> WriteBatch:
    """Add the changes of source messages to an edit or forget."""
    owner = by.scope.owner
    changes = list[RecordChange]()
    known = {change.id for change in batch.changes}
    for effect in (
        one
        for one in _find_effects([by], action, store, min_words, SourceLookup([by], store))
        if one.effect != "kept"
    ):
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            (Kind.EXCHANGE,),
            sources=(effect.id,),
            limit=1000,
        )
        for source in (*store.get(owner, [effect.id]), *store.find(query).records):
            # Of an exchange the other half stays.
            whole = effect.effect != "shortened" and source.id == effect.id
            if source.id not in known:
                fields = (
                    _put_away(source, action, by, batch.at)
                    if whole
                    else _mark_corrected(source, effect, action, by, batch.at)
                )
                verb = "supersede" if whole and action == "edit" else action
                changes.append(
                    RecordChange(owner, source.id, fields, verb, reason=_REASONS[action])
                )
    return replace(
        batch, changes=(*batch.changes, *(change for change in changes if change.fields))
    )


def forget_records(
    records: Sequence[Record], store: RecordStore, asked: WriteBatch, min_words: int
) -> list[str]:
    """Forget memories with those derived from them alone; return changed ids.

    ``asked``: who wants it, why, when, and the jobs to come with the first write. Those that quote
    nothing go in one write, before the others, each alone: they may quote one message.
    """
    plain = [one for one in records if not one.evidence]
    changed = dict[str, bool]()
    for some in (plain, *([one] for one in records if one.evidence)):
        if left := [one for one in some if not changed.get(one.id)]:
            batch = build_forgetting(left, store, asked.at, asked.reason, min_words)
            store.commit(
                replace(batch, actor=asked.actor or batch.actor, jobs=() if changed else asked.jobs)
            )
            changed |= {
                change.id: change.fields.get("status") is Status.FORGOTTEN
                for change in batch.changes
            }
    return list(changed)


def build_forgetting(
    records: Sequence[Record], store: RecordStore, at: datetime, reason: str, min_words: int
) -> WriteBatch:
    """Build the batch that forgets memories, with all that follows from it.

    At most one of them quotes a message.
    """
    asked = {one.id: one for one in records}
    gone = asked | {
        one.id: one for record in records for one in manual_edits.find_dependents(record, store)
    }
    batch = manual_edits.build_forget(list(gone.values()), at, reason)
    batch = replace(
        batch,
        changes=tuple(
            one if one.id in asked else replace(one, reason=_RESTED) for one in batch.changes
        ),
    )
    batch = with_sources(batch, records[0], "forget", store, min_words)
    return replace(
        batch,
        changes=(
            *batch.changes,
            *manual_edits.build_release(list(gone.values()), store, at).changes,
        ),
    )


def _put_away(source: Record, action: ChangeAction, by: Record, at: datetime) -> dict[str, Any]:
    if action == "edit":
        return {"status": Status.SUPERSEDED, "superseded_by": by.id, "valid_to": at}
    fields = bury(source, at)
    return {**fields, "meta": {**fields["meta"], WENT_WITH: by.id}}


def _mark_corrected(
    source: Record, effect: SourceChangeEffect, action: ChangeAction, by: Record, at: datetime
) -> dict[str, Any]:
    known = list(source.meta.get(CORRECTED, ()))
    said = {item["quote"] for item in known}
    fresh = [
        {"quote": quote, "at": at.isoformat(), "action": action, "by": by.id}
        for quote in effect.quotes
        if quote not in said
    ]
    return {"meta": {**source.meta, CORRECTED: [*known, *fresh]}} if fresh else {}


def build_restoration(record: Record, store: Store, at: datetime) -> WriteBatch:
    """Build the batch that restores a forgotten, archived or outdated record.

    Also a superseded one, where what took its place is gone. RefusedError: it is none of these.
    """
    if (batch := manual_edits.build_unmark(record, store, store, at)) is not None:
        return batch
    if (batch := manual_edits.build_return(record, store, at)) is not None:
        return batch
    if record.status is Status.ARCHIVED:
        change = RecordChange(
            record.scope.owner,
            record.id,
            {"status": Status.ACTIVE, "superseded_by": "", "retired_at": None},
            "restore",
        )
        return WriteBatch("user", "restored", at, changes=(change,))
    if record.status is not Status.FORGOTTEN:
        raise RefusedError(
            f"It is not forgotten: its status is {record.status}.",
            hint=_CURRENT.get(record.status, ""),
        )
    return with_restored_sources(
        manual_edits.build_restore([record, *manual_edits.find_returning(record, store)], at),
        record,
        store,
    )


def with_restored_sources(batch: WriteBatch, record: Record, store: RecordStore) -> WriteBatch:
    """Add to a batch the source messages that return with a memory."""
    owner = record.scope.owner
    changes = list[RecordChange]()
    names = tuple(item.source for item in record.evidence)
    query = RecordQuery(
        ScopeReach(owner, (owner,), tree=True),
        (Kind.EXCHANGE, Kind.EPISODE),
        sources=names,
        limit=1000,
    )
    for source in (
        (*store.get(owner, names), *store.find(query).records)
        if names and record.kind in _DERIVED
        else ()
    ):
        if fields := _bring_back(source, record, store):
            changes.append(RecordChange(owner, source.id, fields, "restore"))
    return replace(batch, changes=(*batch.changes, *changes))


def _bring_back(source: Record, record: Record, store: RecordStore) -> dict[str, Any]:
    """Build the fields that restore a source message, or its words."""
    known = source.meta.get(CORRECTED, ())
    by = source.meta.get(WENT_WITH, "")
    marks = [item for item in known if (item["by"], item["action"]) != (record.id, "forget")]
    away = source.status is Status.FORGOTTEN and by
    if len(marks) == len(known) and not (away and by == record.id):
        return {}
    fields: dict[str, Any] = revive(source) if away else {"meta": source.meta}
    meta = {
        name: value
        for name, value in fields["meta"].items()
        if name not in ((WENT_WITH, CORRECTED) if away else (CORRECTED,))
    }
    if away and by != record.id:
        # Another memory took the whole message along: of that one the words stay out.
        for other in store.get(source.scope.owner, [by]):
            at = (other.retired_at or source.recorded_at).isoformat()
            quotes = (
                item.quote for item in other.evidence if item.source == source.id and item.quote
            )
            marks += [{"quote": quote, "at": at, "action": "forget", "by": by} for quote in quotes]
    return {**fields, "meta": {**meta, CORRECTED: marks} if marks else meta}
