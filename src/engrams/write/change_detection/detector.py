"""Close or mark what a new statement makes outdated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TypeAlias

from engrams.core import BESIDE, STATEMENT_KINDS, EdgeType, Kind, Record, Scope, Status
from engrams.extract.predicate_slots import SINGLE
from engrams.extract.rules.story_marks import find_story
from engrams.frozen_data import dataclass
from engrams.ports import CandidateSearchQuery, Embedder, RecordQuery, Store
from engrams.ports.read_ahead import ReadAhead
from engrams.settings import WriteSettings
from engrams.text.terms import terms
from engrams.write.change_detection.message_judge import (
    JudgedMessage,
    Message,
    MessageReader,
    MessageTask,
    find_news,
    judge_messages,
)
from engrams.write.change_set import DigestChangeSet
from engrams.write.related import find_highest, scopes_in_reach
from engrams.write.retracted_events import is_denial

_Facts: TypeAlias = dict[str, list[Record]]
"""Facts by the id of the message that they came from."""
_SAID = (Kind.TURN, Kind.NOTE)
_HEARD = (Status.ACTIVE, Status.SUPERSEDED)
_NEAREST = 10
_LATEST = 3
# Taken beside the nearest: the message itself and what is no candidate are among them.
_SPARE = 4
_WIDTH = 40
_MOST_FACTS = 50
_YEARS = timedelta(days=731)
"""Age from which an event does not end what was said to be so: a change may be told months later.
"""


@dataclass(frozen=True, slots=True)
class DetectedChange:
    """Earlier statement that a new one probably ends.

    ``probability``: 0..1. ``clause``: what ends of it; ``partly``: it says something else besides.
    """

    old: Record
    probability: float
    clause: str
    partly: bool


Detection: TypeAlias = Sequence[tuple[Record, Sequence[DetectedChange]]]
"""New messages, each with what it ends."""


class ChangeDetector:
    """Detector of earlier statements that a new one ends.

    Messages it has read are cached.
    """

    def __init__(
        self, store: Store, model: str, plain: Embedder, settings: WriteSettings, ahead: ReadAhead
    ) -> None:
        """Set up the detector.

        ``model``: whose vectors the store holds, empty for none; ``plain``: the embedder that the
        weights were trained with. ``ahead``: reads and judges messages.
        """
        self._store = store
        self._model = model
        self._settings = settings.changes
        self._reach = settings.reach
        self._ahead = ahead
        self._messages = MessageReader(plain)

    def detect(self, parts: Iterable[Sequence[Record]], size: int) -> Iterator[Detection]:
        """Find what new statements end, part by part; ``size``: records in all.

        The parts may be read some steps ahead: what one changes, facts, is nothing that the next
        ones look at.
        """
        news = self._ahead(find_news, map(self._ask_news, parts), size, apart=True)
        asked = (self._ask_judge(said, flags) for said, flags in news)
        for pairs, judged in self._ahead(judge_messages, asked, size, apart=True):
            yield [
                (record, _name_changes(some, each))
                for (record, some), each in zip(pairs, judged, strict=True)
            ]

    def apply(self, detection: Detection, changes: DigestChangeSet) -> None:
        """Close or mark what new statements end, in their order.

        A statement that says something else besides is only marked; of its facts, those of the
        words that end are closed or marked too. Where a rule has ended one of its facts already,
        the others still hold, and nothing is marked. That something did not happen ends nothing but
        what told of it, and a past that was over ends nothing.
        """
        facts = self._find_facts(
            [
                one
                for record, detected in detection
                if detected
                for one in (record, *(each.old for each in detected))
            ]
        )
        for record, detected in detection:
            self._end(record, detected, changes, facts)

    def _end(
        self,
        record: Record,
        detected: Sequence[DetectedChange],
        changes: DigestChangeSet,
        facts: _Facts,
    ) -> None:
        told = facts[record.id] if detected else ()
        if told and all(is_denial(fact) or _was_over(fact, record) for fact in told):
            return
        for found in detected:
            said = changes.add_stored(facts[found.old.id])
            open_ = [fact for fact in said if fact.status is Status.ACTIVE]
            if found.probability < self._settings.close_at and _is_other_slot(
                open_, told, record.text
            ):
                continue
            if _is_long_past(told, found.old) and not _names_object(record.text, open_):
                continue
            if open_ and not {record.id, *(fact.id for fact in told)}.isdisjoint(
                fact.superseded_by for fact in said
            ):
                continue
            reason = f"a later statement ends it, probability {found.probability:.2f}"
            certain = found.probability >= self._settings.close_at
            meant = self._find_meant(record, found, open_)
            closes = certain and len(meant) == 1
            for fact in meant:
                if closes:
                    changes.end_by_turn(fact, record, reason)
                else:
                    changes.link(record.id, fact.id, EdgeType.MAY_OUTDATE, found.probability)
            whole = certain and not found.partly and (not open_ or (closes and len(open_) == 1))
            changes.link(
                record.id,
                found.old.id,
                EdgeType.SUPERSEDES if whole else EdgeType.MAY_OUTDATE,
                found.probability,
            )

    def _find_meant(
        self, record: Record, found: DetectedChange, open_: Sequence[Record]
    ) -> list[Record]:
        """Find the facts in the words that end; none if unclear.

        They stand in the clause that ends. Where that says much more, or several things, the words
        of each are judged beside the rest of it: the likeliest are meant, and those half as likely.
        """
        clause = set(terms(found.clause))
        quotes = {fact.id: _find_quote(fact, found.old) for fact in open_}
        inside = [
            quote
            for quote in dict.fromkeys(quotes.values())
            if quote and set(terms(quote)) <= clause
        ]
        rest = _remove_quotes(found.clause, inside)
        if len(inside) > 1 or 2 * len(terms(rest)) > len(clause):
            _, speaker, said_at = _to_message(found.old)
            parts = [(words, speaker, said_at) for words in (*inside, rest)]
            asked = MessageTask(self._messages, [(_to_message(record), parts)])
            chances = [judged.probability if judged else 0.0 for judged in judge_messages(asked)[0]]
            likely = {
                words: chance
                for words, chance in zip((*inside, rest), chances, strict=True)
                if 2 * chance >= max(chances)
            }
            sure = sum(likely.values()) >= self._settings.mark_at
            inside = [
                quote for quote in inside if sure and any(one in quote for one in likely if one)
            ]
        return [fact for fact in open_ if quotes[fact.id] in inside]

    def _ask_news(self, records: Sequence[Record]) -> tuple[Sequence[Record], MessageTask]:
        """Ask which messages may be news.

        Neither an assistant's words nor a tale end anything.
        """
        said = [
            one
            for one in records
            if one.kind in _SAID
            and one.role != "assistant"
            and one.status in (Status.ACTIVE, Status.ARCHIVED)
            and not any(find_story(one.text))
        ]
        return said, MessageTask(self._messages, [(_to_message(one), ()) for one in said])

    def _ask_judge(
        self, said: Sequence[Record], flags: Sequence[bool]
    ) -> tuple[Sequence[tuple[Record, Sequence[Record]]], MessageTask]:
        """Ask what the news among the messages end."""
        news = [record for record, is_news in zip(said, flags, strict=True) if is_news]
        pairs = [*zip(news, self._find_earlier(news), strict=True)]
        return pairs, MessageTask(
            self._messages,
            [(_to_message(new), [*map(_to_message, earlier)]) for new, earlier in pairs],
            self._settings.mark_at,
        )

    def _find_earlier(self, records: Sequence[Record]) -> list[list[Record]]:
        """Find what the speakers said before, for each record.

        The nearest in words and meaning, and the latest of the session.
        """
        if not records:
            return []
        owner = records[0].scope.owner
        near = self._find_nearest(owner, records)
        known = {
            one.id: one
            for one in self._store.get(
                owner, [*dict.fromkeys(name for names in near for name in names)]
            )
        }
        sessions: dict[tuple[Scope, str], Sequence[Record]] = {}
        earlier: list[list[Record]] = []
        for record, names in zip(records, near, strict=True):
            place = (record.scope, record.session)
            if record.session and place not in sessions:
                query = RecordQuery(
                    scopes_in_reach(record.scope, self._reach),
                    _SAID,
                    session=record.session,
                    limit=2 * _LATEST,
                )
                sessions[place] = self._store.find(query).records
            found = [
                known[name] for name in names if name in known and _is_earlier(known[name], record)
            ][:_NEAREST]
            just = [
                one
                for one in sessions.get(place, ())
                if _is_earlier(one, record) and one not in found
            ][:_LATEST]
            earlier.append([*found, *just])
        return earlier

    def _find_nearest(self, owner: Scope, records: Sequence[Record]) -> list[list[str]]:
        """Find the ids of the messages nearest to each record, nearest first."""
        rows = (
            self._store.vectors(owner, [record.id for record in records], self._model)
            if self._model
            else None
        )
        queries = [
            CandidateSearchQuery(
                reach=scopes_in_reach(record.scope, self._reach),
                now=record.recorded_at,
                terms=tuple((word, 1.0) for word in dict.fromkeys(terms(record.text))),
                vector=None if rows is None or not rows[place].any() else rows[place],
                model=self._model,
                width=_WIDTH,
                kinds=_SAID,
                alone=True,
            )
            for place, record in enumerate(records)
        ]
        return [
            pool.ids.at(find_highest(pool.bm + pool.cos, _NEAREST + _SPARE))
            for pool in self._store.seek_all(queries)
        ]

    def _find_facts(self, sources: Sequence[Record]) -> _Facts:
        """Find the facts that came from each of some messages."""
        facts: _Facts = {one.id: [] for one in sources}
        if not facts:
            return facts
        reach = scopes_in_reach(sources[0].scope.owner)
        most = _MOST_FACTS * len(facts)
        for fact in self._store.find(
            RecordQuery(reach, STATEMENT_KINDS, _HEARD, sources=tuple(facts), limit=most)
        ).records:
            for source in {quote.source for quote in fact.evidence} & facts.keys():
                if len(facts[source]) < _MOST_FACTS:
                    facts[source].append(fact)
        return facts


def _find_quote(fact: Record, source: Record) -> str:
    return next((quote.quote for quote in fact.evidence if quote.source == source.id), "")


def _remove_quotes(text: str, quotes: Sequence[str]) -> str:
    for quote in quotes:
        text = text.replace(quote, " ")
    return text.strip()


def _to_message(record: Record) -> Message:
    return record.text, record.speaker or record.role, record.recorded_at


def _name_changes(
    earlier: Sequence[Record], judged: Sequence[JudgedMessage | None]
) -> list[DetectedChange]:
    """Name the earlier statements that end, most probable first."""
    found = [
        DetectedChange(old, *one)
        for old, one in zip(earlier, judged, strict=True)
        if one is not None
    ]
    return sorted(found, key=lambda one: (-one.probability, one.old.id))


def _is_other_slot(old: Sequence[Record], new: Sequence[Record], text: str) -> bool:
    """True where both are understood, and share no single-valued slot.

    Not where the newer text names an older value.
    """
    slots, told = ({(fact.subject, fact.predicate) for fact in facts} for facts in (old, new))
    if (
        not (slots and told)
        or slots & told
        or not all(predicate in SINGLE for _, predicate in slots)
    ):
        return False
    return not _names_object(text, old)


def _names_object(text: str, facts: Sequence[Record]) -> bool:
    return not set(terms(text)).isdisjoint(word for fact in facts for word in terms(fact.object))


def _is_long_past(told: Sequence[Record], old: Record) -> bool:
    """True where all that is told are events of years before."""
    return bool(told) and all(
        (fact.meta.get("event") or fact.meta.get("effect") == "ends")
        and fact.valid_from is not None
        and fact.valid_from < old.recorded_at - _YEARS
        for fact in told
    )


def _was_over(fact: Record, said: Record) -> bool:
    """True for a value that ended before it was told."""
    return (
        fact.status is Status.SUPERSEDED
        and fact.valid_to is not None
        and fact.valid_to <= said.recorded_at
        and not fact.superseded_by
    )


def _is_earlier(old: Record, new: Record) -> bool:
    """True for an earlier open statement of the same speaker.

    Not if it was set right beside the new one.
    """
    return (
        old.id != new.id
        and old.status is Status.ACTIVE
        and old.story_key < new.story_key
        and (old.speaker, old.role) == (new.speaker, new.role)
        and new.id not in old.meta.get(BESIDE, ())
    )
