"""Close or mark what a new statement makes outdated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from engrams.ports import CandidateSearchQuery, Embedder, RecordQuery, Store
from engrams.settings import WriteSettings
from engrams.text.terms import terms
from engrams.text.textcaches import text_cache
from engrams.types import BESIDE, EdgeType, Kind, Record, Status
from engrams.write.changedetection.boostedtrees import load_model, nearest_clause
from engrams.write.changedetection.distinctthings import is_about_another
from engrams.write.changedetection.pairfeatures import read_message
from engrams.write.changeset import DigestChangeSet
from engrams.write.predicateslots import SINGLE
from engrams.write.relatedstatements import STATEMENTS, scopes_in_reach

if TYPE_CHECKING:
    from engrams.write.changedetection.pairfeatures import MessageFeatures

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


class ChangeDetector:
    """Detector of earlier statements that a new one ends.
    Messages it has read are cached."""

    def __init__(self, store: Store, model: str, plain: Embedder, settings: WriteSettings) -> None:
        """Set up the detector.

        ``model``: whose vectors the store holds, empty for none; ``plain``: the embedder that the weights were trained with."""
        self._store, self._model, self._settings, self._reach = store, model, settings.changes, settings.reach
        self._embed = partial(plain.embed, purpose="query")
        self._read_text = text_cache(_MOST_READ)(self._read_message)

    def apply(self, record: Record, changes: DigestChangeSet) -> None:
        """Close or mark what a new statement ends.

        A statement that says something else besides is only marked; of its facts, that of the clause that ends is closed or marked too."""
        detected = self._detect(record)
        told = self._find_facts(record) if detected else ()
        for found in detected:
            if found.probability < self._settings.close_at and _is_other_slot(self._find_facts(found.old), told, record.text):
                continue
            reason = f"a later statement ends it, probability {found.probability:.2f}"
            certain = found.probability >= self._settings.close_at
            ended, others = self._split_facts(found, changes)
            whole = certain and not (found.partly or others)
            for fact in ended:
                if certain:
                    changes.end_by_turn(fact, record, reason)
                else:
                    changes.link(record.id, fact.id, EdgeType.MAY_OUTDATE, found.probability)
            changes.link(record.id, found.old.id, EdgeType.SUPERSEDES if whole else EdgeType.MAY_OUTDATE, found.probability)

    def _detect(self, record: Record) -> list[DetectedChange]:
        """Find earlier statements that a new one ends, most probable first.
        What an assistant says ends nothing."""
        if record.kind not in _SAID or record.role == "assistant" or record.status not in (Status.ACTIVE, Status.ARCHIVED):
            return []
        new, model = self._read(record), load_model()
        if not model.is_news(new) or not (earlier := self._find_earlier(record)):
            return []
        read = [self._read(old) for old in earlier]
        found = [
            DetectedChange(old, chance, nearest_clause(message, new), len(message.clauses) > 1)
            for old, message, chance in zip(earlier, read, model.judge(read, new), strict=True)
            if chance >= self._settings.mark_at and not is_about_another(message, new)
        ]
        return sorted(found, key=lambda one: (-one.probability, one.old.id))

    def _read(self, record: Record) -> MessageFeatures:
        return self._read_text(record.text, record.speaker or record.role, record.recorded_at)

    def _read_message(self, text: str, speaker: str, at: datetime) -> MessageFeatures:
        return read_message(text, speaker, at, self._embed)

    def _find_earlier(self, record: Record) -> list[Record]:
        """Find what the speaker said before.
        The nearest in words and meaning, and the latest of the session."""
        reach = scopes_in_reach(record.scope, self._reach)
        words = tuple((word, 1.0) for word in dict.fromkeys(terms(record.text)))
        rows = self._store.vectors(record.scope.owner, [record.id], self._model) if self._model else None
        vector = rows[0] if rows is not None and rows[0].any() else None
        pool = self._store.seek(CandidateSearchQuery(reach, record.recorded_at, words, vector, self._model, _WIDTH, kinds=_SAID))
        places = (-(pool.bm + pool.cos)).argsort(kind="stable")[: _NEAREST + _SPARE]
        near = self._store.get(record.scope.owner, [pool.ids[place] for place in places])
        latest: Sequence[Record] = ()
        if record.session:
            latest = self._store.find(RecordQuery(reach, _SAID, session=record.session, limit=2 * _LATEST)).records
        found = [one for one in near if _is_earlier(one, record)][:_NEAREST]
        just = [one for one in latest if _is_earlier(one, record) and one not in found][:_LATEST]
        return [*found, *just]

    def _split_facts(self, found: DetectedChange, changes: DigestChangeSet) -> tuple[Sequence[Record], Sequence[Record]]:
        """Split the open facts into those that end and those that stay.
        All stay where it is not clear which one is meant."""
        open_ = [fact for fact in changes.add_stored(self._find_facts(found.old)) if fact.status is Status.ACTIVE]
        own = set(terms(found.clause))
        meant = [fact for fact in open_ if any(set(terms(quote.quote)) <= own for quote in fact.evidence if quote.source == found.old.id)]
        return (meant, [fact for fact in open_ if fact not in meant]) if len(meant) == 1 else ((), open_)

    def _find_facts(self, source: Record) -> Sequence[Record]:
        return self._store.find(
            RecordQuery(scopes_in_reach(source.scope.owner), STATEMENTS, sources=(source.id,), limit=_MOST_FACTS)
        ).records


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
