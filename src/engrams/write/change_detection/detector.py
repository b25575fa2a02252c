"""Earlier statements that a new message makes outdated: found, then closed or marked.

``ChangeDetector.detect`` compares each new message with earlier ones of the same speaker;
``apply`` carries out what it found. A job calls both after the messages were stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal, TypeAlias

from engrams.core import (
    BESIDE,
    FOREIGN,
    OWN_WORDS,
    STATEMENT_KINDS,
    UNSEARCHED,
    EdgeType,
    Json,
    Kind,
    Record,
    Scope,
    Status,
)
from engrams.core.meta_keys import last_said_at
from engrams.extract.predicate_slots import SINGLE, relate_predicate
from engrams.extract.rules.languages.unsettled import tells_other_time
from engrams.extract.rules.story_marks import find_story
from engrams.ports import CandidateSearchQuery, Embedder, RecordQuery, ScopeReach
from engrams.ports.read_ahead import ReadAhead
from engrams.text.foreign_parts import blank_foreign_parts, blank_quoted_words
from engrams.text.remainders import find_remainder
from engrams.text.terms import terms
from engrams.text.text_spans import find_span
from engrams.text.times import detect_language
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.explicit_endings import tells_end
from engrams.write.change_detection.fact_endings import (
    may_end,
    names_what_bears_it,
    says_object_over,
    shows_end_of_fact,
)
from engrams.write.change_detection.features import read_clause
from engrams.write.change_detection.message_judge import (
    JudgedMessage,
    MessageTask,
    NewsKind,
    find_news,
    judge_messages,
)
from engrams.write.change_detection.message_reader import Message, MessageReader
from engrams.write.change_detection.returned_values import find_return, may_return
from engrams.write.change_detection.shared_things import is_in_space, tell_of_shared_thing
from engrams.write.change_set import DigestChangeSet
from engrams.write.reconcile_rules import is_affirmative, is_ending
from engrams.write.related import find_highest, scopes_in_reach
from engrams.write.retracted_events import is_denial
from engrams.write.rule_corrections import RULE_KINDS
from engrams.write.write_deps import WriteDeps

_FactsBySource: TypeAlias = dict[str, list[Record]]
"""Facts by the id of the message that they came from."""
_MESSAGE_KINDS = (Kind.TURN, Kind.NOTE)
_ENDING = (EdgeType.SUPERSEDES, EdgeType.MAY_OUTDATE)
_FACT_STATUSES = (Status.ACTIVE, Status.SUPERSEDED)
_NEAREST = 10
_LATEST = 3
"""Earlier messages compared with a new one: nearest in words and meaning, latest of the session."""
_SPARE = 4
"""Messages taken beside the nearest: the new one itself, and others that are no earlier ones."""
_MANY = 12
"""Messages from which some resemble a new one by chance."""
_SEARCH_WIDTH = 40
_MOST_STEPS = 8
"""Values of one slot, each replaced by the next, that a return is compared with."""
_MAX_FACTS = 50
"""Facts of one message that are looked at."""
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_LONGEST_REASON = 200
"""Characters of the longest sentence that is told as the reason of a mark."""
_PROBABLE = 0.5
"""Probability from which the fact of a clause ends, or may end, with its clause."""
_PLAIN = 0.75
"""Probability from which a fact ends with its clause, whatever words tell it."""
_RETURNED = 0.8
"""Probability that a message is over whose speaker returned to what was before it."""
_DIGIT = re.compile(r"\d")
_NO = NAMES.index("no")
_NOT_YET = tuple(map(NAMES.index, ("if", "plan", "past")))
_IS = "is"
_HEALTH = "health"
_LONG_BEFORE = timedelta(days=731)
"""Age from which an event ends nothing that was said after it: a change may be told months later.
"""


@dataclass(frozen=True, slots=True)
class DetectedChange:
    """Earlier statement that a new one probably ends."""

    earlier: Record
    probability: float
    """0..1."""
    clause: str
    """The clause of the earlier statement that ends."""
    news: str
    """The clause of the new statement that ends it."""
    is_partial: bool
    """The earlier statement says something else besides."""
    is_return: bool = False
    """The new statement returns to what was before the earlier one, whatever slot it names."""
    left_fact_ids: frozenset[str] = frozenset()
    """Of a return: ids of the earlier statement's facts in the slots of what holds again."""


Detection: TypeAlias = Sequence[tuple[Record, Sequence[DetectedChange]]]
"""New messages, each with the earlier ones that it ends."""


class ChangeDetector:
    """Detector of earlier statements that a new one ends. It caches the messages it has read."""

    def __init__(self, deps: WriteDeps, plain_embedder: Embedder, read_ahead: ReadAhead) -> None:
        """Set up the detector.

        ``plain_embedder``: the weights were trained with it. ``read_ahead``: reads and judges
        messages, in other processes if that pays.
        """
        card = deps.embedder.card
        self._store = deps.store
        self._model_id = card.id if card.dimension else ""
        self._settings = deps.settings.write.changes
        self._reach = deps.settings.write.reach
        self._read_ahead = read_ahead
        self._reader = MessageReader(plain_embedder)

    def detect(self, parts: Iterable[Sequence[Record]], size: int) -> Iterator[Detection]:
        """Find what new statements end, part by part; ``size``: records in all.

        The parts may be read some steps ahead: applying one changes facts, and those are not looked
        at to detect the next.
        """
        news = self._read_ahead(find_news, map(self._make_news_task, parts), size, apart=True)
        judge_tasks = (self._make_judge_task(records, kinds) for records, kinds in news)
        for pairs, verdicts in self._read_ahead(judge_messages, judge_tasks, size, apart=True):
            yield [
                (record, self._add_return(record, earlier, _list_changes(earlier, record_verdicts)))
                for (record, earlier), record_verdicts in zip(pairs, verdicts, strict=True)
            ]

    def apply(self, detection: Detection, changes: DigestChangeSet) -> None:
        """Close or mark what new statements end, in their order.

        A statement that says something else besides is only marked; of its facts, those in the
        clause that ends are closed or marked too. If a rule has ended one of its facts already, the
        others still hold, and nothing is marked. A denial that something happened ends nothing but
        what told of it, and takes back the marks that this had set; a past that was over ends
        nothing.
        """
        sources = [
            source
            for record, detected in detection
            if detected or _may_deny(record)
            for source in (record, *(change.earlier for change in detected))
        ]
        facts = self._find_facts(sources)
        for record, detected in detection:
            new_facts = facts.get(record.id, ())
            self._take_back_marks([fact for fact in new_facts if is_denial(fact)], changes)
            if detected:
                self._end_statements(record, detected, changes, facts)

    # ----------------------------------------------------------------------------------------------
    # ending

    def _take_back_marks(self, denials: Sequence[Record], changes: DigestChangeSet) -> None:
        """Remove the marks set by messages that told of what did not happen."""
        if not denials:
            return
        owner = denials[0].scope.owner
        denial_ids = {fact.id for fact in denials}
        denied_ids = {
            edge.target
            for edge in self._store.edges(owner, sorted(denial_ids), (EdgeType.SUPERSEDES,))
            if edge.source in denial_ids
        }
        message_ids = {
            item.source
            for fact in self._store.get(owner, sorted(denied_ids))
            if fact.retired_at is not None
            for item in fact.evidence
        }
        marks = self._store.edges(owner, sorted(message_ids), (EdgeType.MAY_OUTDATE,))
        for edge in (*marks, *changes.edges.values()):
            if edge.type is EdgeType.MAY_OUTDATE and edge.source in message_ids:
                changes.unlink(edge)

    def _end_statements(
        self,
        record: Record,
        detected: Sequence[DetectedChange],
        changes: DigestChangeSet,
        facts: _FactsBySource,
    ) -> None:
        """Close or mark the earlier statements that a new one ends."""
        if UNSEARCHED in record.meta:
            return  # an order of the moment: "move the helper into src/price.ts"
        new_facts = facts[record.id]
        if new_facts and all(is_denial(fact) or _was_over(fact, record) for fact in new_facts):
            return
        for change in detected:
            earlier_facts = changes.add_stored(facts[change.earlier.id])
            # What was said again since the news holds, whatever order they are looked at in.
            open_facts = [
                fact
                for fact in earlier_facts
                if fact.status is Status.ACTIVE and last_said_at(fact) <= record.recorded_at
            ]
            if not self._may_end(record, change, new_facts, open_facts):
                continue
            ended_by = {fact.superseded_by for fact in earlier_facts}
            is_ended_by_rule = not ended_by.isdisjoint(
                {record.id, *(fact.id for fact in new_facts)}
            )
            if is_ended_by_rule and (open_facts or _tells_besides(earlier_facts, change.earlier)):
                continue
            self._end_statement(record, change, changes, (open_facts, new_facts))

    def _may_end(
        self,
        record: Record,
        change: DetectedChange,
        new_facts: Sequence[Record],
        open_facts: Sequence[Record],
    ) -> bool:
        """Return whether rules allow that a message ends an earlier one.

        A correction that is a rule was compared with each rule before it: it replaces one, or none.
        """
        if change.is_return:
            return True
        if _ends_other_values(new_facts, open_facts):
            return False
        is_correction = any(
            fact.kind in RULE_KINDS and fact.meta.get("effect") == "corrects" for fact in new_facts
        )
        is_certain = change.probability >= self._settings.close_at
        are_rules = bool(open_facts) and all(fact.kind in RULE_KINDS for fact in open_facts)
        if is_correction and are_rules and not is_certain:
            return False
        if not is_certain and _is_of_other_slot(open_facts, new_facts, record.text):
            return False
        is_long_past = _is_long_past(new_facts, change.earlier)
        return not is_long_past or _names_object(record.text, open_facts)

    def _end_statement(
        self,
        record: Record,
        change: DetectedChange,
        changes: DigestChangeSet,
        facts: tuple[Sequence[Record], Sequence[Record]],
    ) -> None:
        """Close one earlier statement and its facts, or mark what may be outdated.

        ``facts``: those of the earlier statement that hold, and those of the new one.
        """
        open_facts, new_facts = facts
        reason = f"a later statement ends it, probability {change.probability:.2f}"
        is_certain = change.probability >= self._settings.close_at
        likely_facts = self._find_ended_facts(record, change, open_facts)
        closable_facts = [fact for fact in likely_facts if may_end(fact, record.text)]
        # An order that the news names too little of is in as much doubt as its message, and stays.
        # What must never be done is not doubted.
        is_probable = change.probability >= _PROBABLE
        ended_facts = [
            fact
            for fact in likely_facts
            if fact in closable_facts or (is_probable and fact.kind is Kind.RULE)
        ]
        ended_quotes = {_find_quote(fact, change.earlier) for fact in ended_facts}
        closes_fact = (
            len(ended_quotes) == 1
            and ended_facts == closable_facts
            and self._closes_facts(ended_facts, record, change, new_facts)
        )
        for fact in open_facts:
            if fact.id in change.left_fact_ids:
                changes.end_by_turn(fact, record, reason)
        for fact in ended_facts:
            if fact.id in change.left_fact_ids:
                continue
            if closes_fact:
                changes.end_by_turn(fact, record, reason)
            else:
                changes.link(record.id, fact.id, EdgeType.MAY_OUTDATE, change.probability)
        has_no_other_fact = not open_facts or (closes_fact and len(open_facts) == len(ended_facts))
        closes_statement = (
            is_certain
            and not change.is_partial
            and has_no_other_fact
            and not _tells_besides(open_facts, change.earlier)
        )
        changes.link(
            record.id,
            change.earlier.id,
            EdgeType.SUPERSEDES if closes_statement else EdgeType.MAY_OUTDATE,
            change.probability,
        )
        changes.note_ending(record, _describe_ending(record, change, is_over=is_certain))

    def _closes_facts(
        self,
        facts: Sequence[Record],
        record: Record,
        change: DetectedChange,
        new_facts: Sequence[Record],
    ) -> bool:
        """True if a change is probable enough to end the facts of its clause, health more than others.

        A fact may end where its message is only marked: a false fact costs more than a missing one, and the
        message still tells it. Words must show its end then. News of a plan or of former days must
        be certain.
        """
        settings = self._settings
        if any(fact.category == _HEALTH and _says_more(fact, change) for fact in facts):
            return False
        if change.probability >= settings.close_at:
            return True
        if change.probability < settings.close_fact_at:
            return False
        if any(fact.category == _HEALTH for fact in facts):
            return False
        if _is_of_other_time(record.text, change.news):
            return False
        is_of_other = any(names_what_bears_it(fact, change.news) for fact in facts)
        if (
            change.probability >= _PLAIN
            and _says_plainly(change.clause, change.news)
            and not is_of_other
        ):
            return True
        minutes = (record.recorded_at - change.earlier.recorded_at).total_seconds() / 60
        sentence = _find_sentence(record.text, change.news)
        return all(
            shows_end_of_fact(fact, change.clause, change.news, new_facts, minutes)
            or says_object_over(fact, sentence)
            for fact in facts
        )

    def _find_ended_facts(
        self, record: Record, change: DetectedChange, open_facts: Sequence[Record]
    ) -> list[Record]:
        """Find the facts in the words that end; none if unclear.

        They stand in the clause that ends, or the clause in their words. If that says much more, or
        several things, the words of each are judged beside the rest of it: the likeliest are meant,
        and those half as likely. The only fact of a clause that ends more probably than not ends
        with it.
        """
        clause_terms = set(terms(change.clause))
        open_facts = [fact for fact in open_facts if not _is_of_other_part(fact, change)]
        quotes = {fact.id: _find_quote(fact, change.earlier) for fact in open_facts}
        inside = [
            quote
            for quote in dict.fromkeys(quotes.values())
            if quote and _says_the_same(set(terms(quote)), clause_terms)
        ]
        if len(inside) == 1 and change.probability >= _PROBABLE:
            return [fact for fact in open_facts if quotes[fact.id] in inside]
        remainder = _remove_quotes(change.clause, inside)
        if len(inside) > 1 or 2 * len(terms(remainder)) > len(clause_terms):
            likely_quotes = self._find_likely(record, change.earlier, (*inside, remainder))
            inside = [quote for quote in inside if any(likely in quote for likely in likely_quotes)]
        return [fact for fact in open_facts if quotes[fact.id] in inside]

    def _find_likely(self, record: Record, earlier: Record, quotes: Sequence[str]) -> list[str]:
        """Return the parts of an earlier message that a new one most likely ends.

        None, if together they are not likely enough to be marked.
        """
        chances = self._judge_parts(record, earlier, quotes)
        likely = {
            quote: chance
            for quote, chance in zip(quotes, chances, strict=True)
            if 2 * chance >= max(chances)
        }
        if sum(likely.values()) < self._settings.mark_at:
            return []
        return [quote for quote in likely if quote]

    def _judge_parts(self, record: Record, earlier: Record, parts: Sequence[str]) -> list[float]:
        """Return the probability that a new message ends each of some parts of an earlier one."""
        _, speaker, said_at = _to_message(earlier)
        messages = [(part, speaker, said_at) for part in parts]
        (verdicts,) = judge_messages(MessageTask(self._reader, [(_to_message(record), messages)]))
        return [verdict.probability if verdict else 0.0 for verdict in verdicts]

    # ----------------------------------------------------------------------------------------------
    # messages to compare

    def _add_return(
        self, record: Record, earlier: Sequence[Record], detected: Sequence[DetectedChange]
    ) -> Sequence[DetectedChange]:
        """Add what a return to a former value ends. It ends nothing that has that value.

        The value may stand in a note that is over.
        """
        if not earlier or not may_return(record.text):
            return detected
        earlier = [*earlier, *self._find_replaced_notes(record, earlier)]
        ids = sorted(message.id for message in earlier)
        edges = self._store.edges(record.scope.owner, ids, _ENDING)
        facts = self._find_facts(earlier)
        ended_by = {(edge.source, edge.target) for edge in edges} | _list_replaced(facts)
        value_return = find_return(record, earlier, ended_by)
        settled_ids = value_return.regained_ids | {message.id for message in value_return.ended}
        regained_slots = {
            _name_slot(fact) for former_id in value_return.regained_ids for fact in facts[former_id]
        }
        return [
            *(change for change in detected if change.earlier.id not in settled_ids),
            *(
                DetectedChange(
                    message,
                    _RETURNED,
                    message.text,
                    record.text,
                    is_partial=False,
                    is_return=True,
                    left_fact_ids=frozenset(
                        fact.id for fact in facts[message.id] if _name_slot(fact) in regained_slots
                    ),
                )
                for message in value_return.ended
                if message.status is Status.ACTIVE
            ),
        ]

    def _find_replaced_notes(self, record: Record, earlier: Sequence[Record]) -> list[Record]:
        """Find the notes whose only statement was replaced by those of earlier messages, step by step.

        Unlike turns, they are over with their statement, and no search finds them.
        """
        owner = record.scope.owner
        notes: dict[str, Record] = {}
        front = earlier
        for _ in range(_MOST_STEPS):
            fact_ids = {fact.id for facts in self._find_facts(front).values() for fact in facts}
            edges = self._store.edges(owner, sorted(fact_ids), (EdgeType.SUPERSEDES,))
            replaced_ids = {edge.target for edge in edges if edge.source in fact_ids}
            note_ids = {
                item.source
                for fact in self._store.get(owner, sorted(replaced_ids))
                for item in fact.evidence
            }
            front = [
                note
                for note in self._store.get(owner, sorted(note_ids - notes.keys()))
                if note.kind is Kind.NOTE
                and note.status is Status.SUPERSEDED
                and note.retired_at is None
                and _is_before(note, record)
            ]
            if not front:
                break
            notes |= {note.id: note for note in front}
        return [*notes.values()]

    def _make_news_task(self, records: Sequence[Record]) -> tuple[Sequence[Record], MessageTask]:
        """Make the task that finds the messages that may be news.

        Neither an assistant's words nor a tale end anything, nor does what a message only pastes.
        """
        own_words = (
            replace(record, text=blank_quoted_words(blank_foreign_parts(record.text)))
            for record in records
            if record.meta.keys().isdisjoint((FOREIGN, OWN_WORDS))
        )
        messages = [
            record
            for record in own_words
            if record.kind in _MESSAGE_KINDS
            and record.role != "assistant"
            and record.status in (Status.ACTIVE, Status.ARCHIVED)
            and record.text.strip()
            and not any(find_story(record.text))
        ]
        pairs = [(_to_message(record), ()) for record in messages]
        return messages, MessageTask(self._reader, pairs)

    def _make_judge_task(
        self, records: Sequence[Record], kinds: Sequence[NewsKind]
    ) -> tuple[Sequence[tuple[Record, Sequence[Record]]], MessageTask]:
        """Make the task that judges what the news among messages end."""
        kind_by_id = {record.id: kind for record, kind in zip(records, kinds, strict=True)}
        news = [record for record in records if kind_by_id[record.id]]
        pairs: list[tuple[Record, Sequence[Record]]] = []
        crowded: list[bool] = []
        for record, (earlier, nearest) in zip(news, self._find_earlier(news), strict=True):
            pairs.append((record, earlier))
            crowded.append(nearest >= _MANY)
        message_pairs = [
            (_to_message(record), [*map(_to_message, earlier)]) for record, earlier in pairs
        ]
        contrary = [kind_by_id[record.id] == "contrary" for record, _ in pairs]
        task = MessageTask(self._reader, message_pairs, self._settings.mark_at, crowded, contrary)
        return pairs, task

    def _find_earlier(self, records: Sequence[Record]) -> list[tuple[list[Record], int]]:
        """Find what the speakers said before, for each record.

        The nearest in words and meaning, and the latest of the session; and the number of messages,
        whoever said them, among which the nearest were found.
        """
        id_lists, near_by_id = self._load_nearest(records)
        of_sessions: dict[tuple[Scope, str], Sequence[Record]] = {}
        earlier_lists: list[tuple[list[Record], int]] = []
        for record, ids in zip(records, id_lists, strict=True):
            session_key = (record.scope, record.session)
            if record.session and session_key not in of_sessions:
                query = RecordQuery(
                    _scopes_of_earlier(record.scope, self._reach),
                    _MESSAGE_KINDS,
                    session=record.session,
                    limit=2 * _LATEST,
                )
                of_sessions[session_key] = self._store.find(query).records
            nearest = [
                near_by_id[record_id]
                for record_id in ids
                if record_id in near_by_id and _is_earlier(near_by_id[record_id], record)
            ][:_NEAREST]
            latest = [
                turn
                for turn in of_sessions.get(session_key, ())
                if _is_earlier(turn, record) and turn not in nearest
            ][:_LATEST]
            earlier_lists.append(([*nearest, *latest], len(ids)))
        return earlier_lists

    def _load_nearest(
        self, records: Sequence[Record]
    ) -> tuple[list[list[str]], Mapping[str, Record]]:
        """Load the messages nearest to each record: their ids, nearest first, and all of them by id."""
        if not records:
            return [], {}
        owner = records[0].scope.owner
        id_lists = self._find_nearest_ids(owner, records)
        near_ids = [*dict.fromkeys(record_id for ids in id_lists for record_id in ids)]
        return id_lists, {record.id: record for record in self._store.get(owner, near_ids)}

    def _find_nearest_ids(self, owner: Scope, records: Sequence[Record]) -> list[list[str]]:
        """Find the ids of the messages nearest to each record, nearest first."""
        record_ids = [record.id for record in records]
        rows = self._store.vectors(owner, record_ids, self._model_id) if self._model_id else None
        queries = [
            CandidateSearchQuery(
                reach=_scopes_of_earlier(record.scope, self._reach),
                now=record.recorded_at,
                terms=tuple((word, 1.0) for word in dict.fromkeys(terms(record.text))),
                vector=None if rows is None or not rows[position].any() else rows[position],
                model=self._model_id,
                width=_SEARCH_WIDTH,
                kinds=_MESSAGE_KINDS,
                alone=True,
            )
            for position, record in enumerate(records)
        ]
        return [
            pool.ids.at(find_highest(pool.bm + pool.cos, _NEAREST + _SPARE))
            for pool in self._store.seek_all(queries)
        ]

    def find_later_news(self, late: Sequence[Record]) -> list[str]:
        """Find the ids of messages that were said after some late ones and may end what these say.

        They are the nearest in words and meaning, of the same speaker.
        """
        id_lists, near_by_id = self._load_nearest(late)
        return [
            *dict.fromkeys(
                record_id
                for record, ids in zip(late, id_lists, strict=True)
                for record_id in ids
                if record_id in near_by_id and _is_earlier(record, near_by_id[record_id])
            )
        ]

    def _find_facts(self, sources: Sequence[Record]) -> _FactsBySource:
        """Find the facts that came from each of some messages."""
        facts: _FactsBySource = {source.id: [] for source in sources}
        if not facts:
            return facts
        query = RecordQuery(
            scopes_in_reach(sources[0].scope.owner),
            STATEMENT_KINDS,
            _FACT_STATUSES,
            sources=tuple(facts),
            limit=_MAX_FACTS * len(facts),
        )
        for fact in self._store.find(query).records:
            for source_id in {item.source for item in fact.evidence} & facts.keys():
                if len(facts[source_id]) < _MAX_FACTS:
                    facts[source_id].append(fact)
        return facts


def _list_replaced(facts: _FactsBySource) -> set[tuple[str, str]]:
    """List the messages one of whose facts replaced one of another, each with that other, by id.

    Also what replaced that one in its turn.
    """
    facts_by_id = {
        fact.id: (source_id, fact)
        for source_id, source_facts in facts.items()
        for fact in source_facts
    }
    replaced: set[tuple[str, str]] = set()
    for source_id, fact in facts_by_id.values():
        successor = fact
        for _ in range(_MOST_STEPS):
            if successor.superseded_by not in facts_by_id:
                break
            successor_source, successor = facts_by_id[successor.superseded_by]
            replaced.add((successor_source, source_id))
    return replaced


def _says_plainly(clause: str, news: str) -> bool:
    """Return True unless the newer words limit the end, or leave out the number that would change.

    "Not after five any more" limits it; "standup moved to Zoom" says nothing of "at 9".
    """
    if tells_end(news):
        return False
    return not _DIGIT.search(clause) or bool(_DIGIT.search(news))


def _scopes_of_earlier(scope: Scope, reach: Literal["owner", "conversation"]) -> ScopeReach:
    """Return the scopes in which an earlier statement may stand that one of this scope ends.

    Its own and those above it; siblings, such as another customer, are left out. Where it has
    conversations, they are only found with everything below: ``_is_within_scope`` sorts them out.
    """
    durable = scope.durable
    if reach == "conversation" or scope.is_owner or durable != scope:
        return scopes_in_reach(scope, reach)
    return ScopeReach(scope.owner, scope.chain())


def _is_within_scope(earlier: Scope, scope: Scope) -> bool:
    """True if a statement of ``scope`` may end one of ``earlier``: conversations count as one."""
    return earlier.durable in scope.durable.chain()


def _describe_ending(record: Record, change: DetectedChange, *, is_over: bool) -> dict[str, Json]:
    """Describe for the reader which words end which; see ``OUTDATES``."""
    ending: dict[str, Json] = {
        "id": change.earlier.id,
        "words": find_span(record.text, _find_sentence(record.text, change.news)),
    }
    if change.is_partial and (span := find_span(change.earlier.text, change.clause)):
        ending |= {"clause": span, "over": is_over}
    return ending


def _may_deny(record: Record) -> bool:
    """True for a message with a word of negation."""
    return read_clause(record.text).cues[_NO] > 0


def _find_sentence(text: str, clause: str) -> str:
    """Find the sentence of a clause, which tells more of its reason; of a long one the clause."""
    sentence = next((part for part in _SENTENCE.findall(text) if clause in part), clause).strip()
    return sentence if len(sentence) <= _LONGEST_REASON else clause


def _is_of_other_part(fact: Record, change: DetectedChange) -> bool:
    """True if only a part of a list ends, and a fact is of another: "peanuts" of "peanuts and kiwi"."""
    quote = _find_quote(fact, change.earlier)
    if not change.is_partial or change.clause not in quote or change.clause == quote:
        return False
    return bool(fact.object) and set(terms(fact.object)).isdisjoint(terms(change.clause))


def _says_more(fact: Record, change: DetectedChange) -> bool:
    """True if a fact's words tell another thing beside the one that ends: "peanuts and kiwi"."""
    quote = _find_quote(fact, change.earlier)
    return change.clause in quote and bool(terms(quote.replace(change.clause, " ")))


def _tells_besides(facts: Sequence[Record], source: Record) -> bool:
    """True if a message says something besides the values of its facts: "with my dog Rex"."""
    return any(find_remainder(_find_quote(fact, source), fact.object) for fact in facts)


def _says_the_same(quote_terms: set[str], clause_terms: set[str]) -> bool:
    """True if a fact's words stand in a clause, or most of the clause in the fact's words."""
    shared = quote_terms & clause_terms
    return bool(shared) and (quote_terms <= clause_terms or 2 * len(shared) > len(clause_terms))


def _find_quote(fact: Record, source: Record) -> str:
    return next((item.quote for item in fact.evidence if item.source == source.id), "")


def _remove_quotes(text: str, quotes: Sequence[str]) -> str:
    for quote in quotes:
        text = text.replace(quote, " ")
    return text.strip()


def _to_message(record: Record) -> Message:
    # Only what one voice may end is compared: in a space that is the space's.
    voice = record.scope.owner.key if is_in_space(record) else record.speaker or record.role
    return record.text, voice, record.recorded_at


def _list_changes(
    earlier: Sequence[Record], verdicts: Sequence[JudgedMessage | None]
) -> list[DetectedChange]:
    """List the earlier statements that end, most probable first."""
    changes = [
        DetectedChange(record, *verdict)
        for record, verdict in zip(earlier, verdicts, strict=True)
        if verdict is not None
    ]
    return sorted(changes, key=lambda change: (-change.probability, change.earlier.id))


def _is_of_other_slot(
    earlier_facts: Sequence[Record], new_facts: Sequence[Record], new_text: str
) -> bool:
    """True if both messages are understood, and share no slot of one value.

    A statement without a predicate is not understood: it may be about anything. Not if the newer
    text names an older value.
    """
    earlier_slots = {_name_slot(fact) for fact in earlier_facts}
    new_slots = {_name_slot(fact) for fact in new_facts}
    if not earlier_slots or not new_slots or earlier_slots & new_slots:
        return False
    if not all(predicate for _, predicate in new_slots):
        return False
    if any(_gives_value(fact, earlier) for fact in new_facts for earlier in earlier_facts):
        return False
    if not all(fact.predicate in SINGLE for fact in earlier_facts):
        return False
    return not _names_object(new_text, earlier_facts)


def _ends_other_values(new_facts: Sequence[Record], earlier_facts: Sequence[Record]) -> bool:
    """True if a message only ends values of the slots of an earlier one, and none of its own.

    Who no longer likes tea may still like coffee. A slot of one value is none of these.
    """
    if not new_facts or not earlier_facts:
        return False
    ended_terms: dict[tuple[str, str], set[str]] = {}
    for fact in new_facts:
        if not fact.object or not (is_ending(fact) or not is_affirmative(fact)):
            return False
        ended_terms.setdefault(_name_slot(fact), set()).update(terms(fact.object))
    return all(
        fact.predicate not in SINGLE
        and bool(fact.object)
        and _name_slot(fact) in ended_terms
        and ended_terms[_name_slot(fact)].isdisjoint(terms(fact.object))
        for fact in earlier_facts
    )


def _name_slot(fact: Record) -> tuple[str, str]:
    return fact.subject, relate_predicate(fact.predicate)


def _gives_value(fact: Record, earlier: Record) -> bool:
    """True for "the new address is …", beside a fact of somebody's address or home."""
    return fact.predicate == _IS and relate_predicate(fact.subject) == relate_predicate(
        earlier.predicate
    )


def _names_object(text: str, facts: Sequence[Record]) -> bool:
    return not set(terms(text)).isdisjoint(word for fact in facts for word in terms(fact.object))


def _is_long_past(new_facts: Sequence[Record], earlier: Record) -> bool:
    """True if a new message tells only of events years before the earlier one was said."""
    return bool(new_facts) and all(
        (fact.meta.get("event") or fact.meta.get("effect") == "ends")
        and fact.valid_from is not None
        and fact.valid_from < earlier.recorded_at - _LONG_BEFORE
        for fact in new_facts
    )


def _is_of_other_time(text: str, news: str) -> bool:
    """True if news speaks of a plan, a condition or former days."""
    cues = read_clause(news).cues
    return any(cues[cue] for cue in _NOT_YET) or tells_other_time(text, detect_language(text))


def _was_over(fact: Record, source: Record) -> bool:
    """True for a value that had ended before its source was said."""
    return (
        fact.status is Status.SUPERSEDED
        and fact.valid_to is not None
        and fact.valid_to <= source.recorded_at
        and not fact.superseded_by
    )


def _is_earlier(earlier: Record, record: Record) -> bool:
    """True for an earlier open statement of the same speaker, in the same scope or one above.

    Not if it was set right beside the new one.
    """
    return earlier.status is Status.ACTIVE and _is_before(earlier, record)


def _is_before(earlier: Record, record: Record) -> bool:
    """True for an earlier statement of the same speaker, in the same scope or one above.

    In a space also for another member's about a thing that they share.
    """
    is_same_speaker = (earlier.speaker, earlier.role) == (record.speaker, record.role)
    return (
        earlier.id != record.id
        and earlier.story_key < record.story_key
        and _is_within_scope(earlier.scope, record.scope)
        and (is_same_speaker or tell_of_shared_thing(earlier, record))
        and record.id not in earlier.meta.get(BESIDE, ())
    )
