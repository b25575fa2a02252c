"""Close or mark what a new statement makes outdated."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from engrams.ports import CandidateSearchQuery, Embedder, RecordQuery, Store
from engrams.settings import WriteSettings
from engrams.text.terms import terms
from engrams.text.textcaches import register_cache
from engrams.types import BESIDE, EdgeType, Kind, Record, Scope, Status
from engrams.write.changedetection.boostedtrees import ScoredMessage, load_model, nearest_clause
from engrams.write.changedetection.distinctthings import is_about_another
from engrams.write.changedetection.pairfeatures import read_messages
from engrams.write.changeset import DigestChangeSet
from engrams.write.predicateslots import SINGLE
from engrams.write.relatedstatements import STATEMENTS, find_highest, scopes_in_reach

if TYPE_CHECKING:
    from engrams.write.changedetection.pairfeatures import Embed

_Said: TypeAlias = tuple[str, str, datetime]
_Facts: TypeAlias = dict[str, Sequence[Record]]
"""Facts by the id of the message that they came from."""
_SAID = (Kind.TURN, Kind.NOTE)
_NEAREST = 10
_LATEST = 3
# Taken beside the nearest: the message itself and what is no candidate are among them.
_SPARE = 4
_WIDTH = 40
_MOST_FACTS = 50
_MOST_READ = 512


@dataclass(frozen=True, slots=True)
class DetectedChange:
    """Earlier statement that a new one probably ends.
    ``probability``: 0..1. ``clause``: what ends of it; ``partly``: it says something else besides."""

    old: Record
    probability: float
    clause: str
    partly: bool


class MessageReader:
    """Reader of messages for the detector; caches the last ones."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._read: OrderedDict[_Said, ScoredMessage] = OrderedDict()
        self._lock = Lock()
        register_cache(self)

    def read(self, records: Iterable[Record]) -> dict[str, ScoredMessage]:
        """Read messages, by id; new ones are embedded all at once."""
        said = {one.id: (one.text, one.speaker or one.role, one.recorded_at) for one in records}
        with self._lock:
            found = {each: self._read[each] for each in said.values() if each in self._read}
        fresh = [each for each in dict.fromkeys(said.values()) if each not in found]
        if fresh:
            found |= zip(fresh, map(load_model().weigh, read_messages(fresh, self._embed)), strict=True)
        with self._lock:
            self._read |= {each: found[each] for each in fresh}
            for each in found.keys() & self._read.keys():
                self._read.move_to_end(each)
            while len(self._read) > _MOST_READ:
                self._read.popitem(last=False)
        return {name: found[each] for name, each in said.items()}

    def cache_clear(self) -> None:
        """Forget every message."""
        with self._lock:
            self._read.clear()


class ChangeDetector:
    """Detector of earlier statements that a new one ends.
    Messages it has read are cached."""

    def __init__(self, store: Store, model: str, plain: Embedder, settings: WriteSettings) -> None:
        """Set up the detector.

        ``model``: whose vectors the store holds, empty for none; ``plain``: the embedder that the weights were trained with."""
        self._store, self._model, self._settings, self._reach = store, model, settings.changes, settings.reach
        self._messages = MessageReader(partial(plain.embed, purpose="query"))

    def apply(self, records: Sequence[Record], changes: DigestChangeSet) -> None:
        """Close or mark what new statements end, in their order.

        A statement that says something else besides is only marked; of its facts, that of the clause that ends is closed or marked too."""
        facts: _Facts = {}
        for record, detected in self._detect(records):
            self._end(record, detected, changes, facts)

    def _end(self, record: Record, detected: Sequence[DetectedChange], changes: DigestChangeSet, facts: _Facts) -> None:
        told = self._find_facts(record, facts) if detected else ()
        for found in detected:
            if found.probability < self._settings.close_at and _is_other_slot(self._find_facts(found.old, facts), told, record.text):
                continue
            reason = f"a later statement ends it, probability {found.probability:.2f}"
            certain = found.probability >= self._settings.close_at
            ended, others = self._split_facts(found, changes, facts)
            whole = certain and not (found.partly or others)
            for fact in ended:
                if certain:
                    changes.end_by_turn(fact, record, reason)
                else:
                    changes.link(record.id, fact.id, EdgeType.MAY_OUTDATE, found.probability)
            changes.link(record.id, found.old.id, EdgeType.SUPERSEDES if whole else EdgeType.MAY_OUTDATE, found.probability)

    def _detect(self, records: Sequence[Record]) -> Iterator[tuple[Record, list[DetectedChange]]]:
        """Find earlier statements that new ones end, most probable first.
        What an assistant says ends nothing."""
        said = [
            one for one in records
            if one.kind in _SAID and one.role != "assistant" and one.status in (Status.ACTIVE, Status.ARCHIVED)
        ]  # fmt: skip
        model = load_model()
        read = self._messages.read(said)
        news = [record for record in said if model.is_news(read[record.id])]
        earlier = self._find_earlier(news)
        read |= self._messages.read([old for some in earlier for old in some])
        chances = model.judge([([read[old.id] for old in some], read[record.id]) for record, some in zip(news, earlier, strict=True)])
        for record, some, each in zip(news, earlier, chances, strict=True):
            new = read[record.id].features
            found = [
                DetectedChange(old, chance, nearest_clause(message, new), len(message.clauses) > 1)
                for old, chance in zip(some, each, strict=True)
                if chance >= self._settings.mark_at and not is_about_another(message := read[old.id].features, new)
            ]
            yield record, sorted(found, key=lambda one: (-one.probability, one.old.id))

    def _find_earlier(self, records: Sequence[Record]) -> list[list[Record]]:
        """Find what the speakers said before, for each record.
        The nearest in words and meaning, and the latest of the session."""
        if not records:
            return []
        owner = records[0].scope.owner
        near = self._find_nearest(owner, records)
        known = {one.id: one for one in self._store.get(owner, [*dict.fromkeys(name for names in near for name in names)])}
        sessions: dict[tuple[Scope, str], Sequence[Record]] = {}
        earlier: list[list[Record]] = []
        for record, names in zip(records, near, strict=True):
            place = (record.scope, record.session)
            if record.session and place not in sessions:
                query = RecordQuery(scopes_in_reach(record.scope, self._reach), _SAID, session=record.session, limit=2 * _LATEST)
                sessions[place] = self._store.find(query).records
            found = [known[name] for name in names if name in known and _is_earlier(known[name], record)][:_NEAREST]
            just = [one for one in sessions.get(place, ()) if _is_earlier(one, record) and one not in found][:_LATEST]
            earlier.append([*found, *just])
        return earlier

    def _find_nearest(self, owner: Scope, records: Sequence[Record]) -> list[list[str]]:
        """Find the ids of the messages nearest to each record, nearest first."""
        rows = self._store.vectors(owner, [record.id for record in records], self._model) if self._model else None
        queries = [
            CandidateSearchQuery(
                scopes_in_reach(record.scope, self._reach),
                record.recorded_at,
                tuple((word, 1.0) for word in dict.fromkeys(terms(record.text))),
                None if rows is None or not rows[place].any() else rows[place],
                self._model,
                _WIDTH,
                kinds=_SAID,
                alone=True,
            )
            for place, record in enumerate(records)
        ]
        pools = self._store.seek_all(queries)
        return [[pool.ids[place] for place in find_highest(pool.bm + pool.cos, _NEAREST + _SPARE)] for pool in pools]

    def _split_facts(self, found: DetectedChange, changes: DigestChangeSet, facts: _Facts) -> tuple[Sequence[Record], Sequence[Record]]:
        """Split the open facts into those that end and those that stay.
        All stay where it is not clear which one is meant."""
        open_ = [fact for fact in changes.add_stored(self._find_facts(found.old, facts)) if fact.status is Status.ACTIVE]
        own = set(terms(found.clause))
        meant = [fact for fact in open_ if any(set(terms(quote.quote)) <= own for quote in fact.evidence if quote.source == found.old.id)]
        return (meant, [fact for fact in open_ if fact not in meant]) if len(meant) == 1 else ((), open_)

    def _find_facts(self, source: Record, known: _Facts) -> Sequence[Record]:
        if source.id not in known:
            query = RecordQuery(scopes_in_reach(source.scope.owner), STATEMENTS, sources=(source.id,), limit=_MOST_FACTS)
            known[source.id] = self._store.find(query).records
        return known[source.id]


def _is_other_slot(old: Sequence[Record], new: Sequence[Record], text: str) -> bool:
    """True where both are understood, and share no single-valued slot.
    Not where the newer text names an older value."""
    slots, told = ({(fact.subject, fact.predicate) for fact in facts} for facts in (old, new))
    if not (slots and told) or slots & told or not all(predicate in SINGLE for _, predicate in slots):
        return False
    return set(terms(text)).isdisjoint(word for fact in old for word in terms(fact.object))


def _is_earlier(old: Record, new: Record) -> bool:
    """True for an earlier open statement of the same speaker.
    Not if it was set right beside the new one."""
    return (
        old.id != new.id
        and old.status is Status.ACTIVE
        and (old.recorded_at, old.id) < (new.recorded_at, new.id)
        and (old.speaker, old.role) == (new.speaker, new.role)
        and new.id not in old.meta.get(BESIDE, ())
    )
