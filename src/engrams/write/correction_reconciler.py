"""Reconciliation of corrections of a value with the last messages of their speaker, by rules.

``CorrectionReconciler.reconcile`` applies "4417 i mean" to the message and the statements that hold
the wrong value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from engrams.core import ENDING, STATEMENT_KINDS, EdgeType, Evidence, Kind, Record
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import classify_value, is_single
from engrams.frozen_data import dataclass, replace
from engrams.ports import CandidateSearchQuery, RecordQuery
from engrams.text.measures import is_question
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.write.change_set import DigestChangeSet
from engrams.write.reconcile_rules import ReconciliationResult, find_conflict, is_affirmative
from engrams.write.related import OPEN, find_highest, scopes_in_reach
from engrams.write.restated_sentences import (
    RestatedSentence,
    find_replaced_value,
    read_restatement,
)
from engrams.write.value_corrections import (
    ValueCorrection,
    exchange_values,
    find_corrected_value,
    is_reversed,
    read_value_correction,
)
from engrams.write.write_deps import WriteDeps

_MESSAGE_KINDS = (Kind.TURN, Kind.NOTE)
_LATEST = 6
"""Messages of a conversation that are looked at."""
_LATEST_FOR_NAMED = 40
"""The same where the correction names the wrong value: it tells by itself what it corrects."""
_NEAREST = 8
"""Messages and statements nearest in words to a sentence that is said anew."""
_RESTATED_WINDOW = timedelta(days=31)
"""Time in which such a sentence corrects one of another conversation."""
_CONFIDENCE = 0.85
_SENTENCE_END = re.compile(
    r"(?<!\bMr\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bMrs\.)(?<=[.!?])\s+|(?<=[。！？])(?=.)|\n+"
)
_TOLD_SHARE = 0.5
"""Share of the words of a corrected sentence from which another text tells the same thing."""
_REASON = "corrected"


@dataclass(frozen=True, slots=True)
class _CorrectedMessage:
    """Message with a wrong value, and what was learned from it."""

    message: Record
    span: tuple[int, int]
    """Start and end of the wrong value in its text."""
    correction: ValueCorrection
    facts: Sequence[Record]

    @property
    def wrong_value(self) -> str:
        return self.message.text[slice(*self.span)]

    @property
    def is_reversal(self) -> bool:
        return is_reversed(self.correction, self.message.text)

    @property
    def sentence(self) -> str:
        """The sentence of the message with the right value."""
        return _correct_sentence(
            self.message.text, self.span, self.correction, is_reversal=self.is_reversal
        )

    def is_told_by(self, text: str) -> bool:
        """True if a text speaks of what the sentence speaks of, whatever the value is."""
        beside = set(terms(self.sentence)) - set(terms(self.correction.value)) - STOP
        return len(beside & set(terms(text))) >= _TOLD_SHARE * len(beside)


class CorrectionReconciler:
    """Applies corrections of a value to what their speaker said just before."""

    def __init__(
        self, deps: WriteDeps, changes: DigestChangeSet, messages: Sequence[Record]
    ) -> None:
        """Set up the reconciliation of one digest. ``messages``: those that are learned from."""
        self._store = deps.store
        self._embedder = deps.embedder
        self._reach = deps.settings.write.reach
        self._changes = changes
        self._messages = messages

    def reconcile(
        self, record: Record, candidates: Sequence[CandidateStatement] = ()
    ) -> list[ReconciliationResult]:
        """Reconcile a message that only sets a value right; empty: it is none, or corrects nothing.

        The message that held the wrong value is linked as outdated by this one. ``candidates``: what
        rules read in it; one of the same slot takes the place of the wrong statement in its own words.
        """
        corrected = self._find_corrected(record)
        if corrected is None:
            return []
        self._link(record, corrected.message)
        return self._correct(record, corrected, candidates)

    def tells_correction(self, record: Record, text: str) -> bool:
        """False for a statement that does not say of what a message sets the value right."""
        corrected = self._find_corrected(record)
        return corrected is None or corrected.is_told_by(text)

    def reconcile_remaining(self, record: Record) -> list[ReconciliationResult]:
        """Reconcile the statements that still hold a value that a message sets right.

        A model saw the message. Where it learned the right statement, that takes their place; what
        it did not learn at all is not added.
        """
        corrected = self._find_corrected(record)
        if corrected is None:
            return []
        self._link(record, corrected.message)
        right = next(
            (fact for fact in self._find_facts(record) if corrected.is_told_by(fact.text)), None
        )
        outcomes = [outcome for outcome in self._correct(record, corrected) if outcome.targets]
        if right is None:
            return outcomes
        for outcome in outcomes:
            for wrong in outcome.targets:
                if outcome.verdict == "replace" and wrong.id != right.id:
                    self._changes.retract_for(wrong, right, _REASON)
        return []

    def _find_corrected(self, record: Record) -> _CorrectedMessage | None:
        """Find the message whose value a message sets right; None: it corrects nothing."""
        if record.role != "user":
            return None
        restated = read_restatement(record.text)
        corrected = self._find_restated(record, restated) if restated is not None else None
        if corrected is not None:
            return corrected
        correction = read_value_correction(record.text)
        if correction is None or (
            restated is not None and fold(correction.value) in fold(restated.denied)
        ):
            return None
        for earlier in self._find_earlier(record, correction):
            facts = self._find_facts(earlier)
            span = find_corrected_value(
                correction, earlier.text, [fact.object for fact in facts if fact.object]
            )
            if span is not None:
                return _CorrectedMessage(earlier, span, correction, facts)
        return None

    def _find_restated(
        self, record: Record, restated: RestatedSentence
    ) -> _CorrectedMessage | None:
        """Find the latest message or statement, of any conversation, that a sentence sets right."""
        for earlier in self._find_restatable(record, restated):
            replaced = find_replaced_value(restated, earlier.text)
            if replaced is None:
                continue
            span, value = replaced
            correction = ValueCorrection(value, earlier.text[slice(*span)], is_strong=True)
            is_message = earlier.kind in _MESSAGE_KINDS
            facts = self._find_facts(earlier) if is_message else [earlier]
            return _CorrectedMessage(earlier, span, correction, facts)
        return None

    def _find_restatable(self, record: Record, restated: RestatedSentence) -> list[Record]:
        """Find what the speaker told that shares words with a sentence, the latest first.

        Without their questions, and without what something later ended. Messages come before
        statements: a statement counts alone where its message has another value by now.
        """
        query = CandidateSearchQuery(
            scopes_in_reach(record.scope, self._reach),
            record.recorded_at,
            tuple((word, 1.0) for word in dict.fromkeys(terms(restated.sentence))),
            model=self._embedder.card.id,
            width=4 * _NEAREST,
            kinds=(*_MESSAGE_KINDS, *STATEMENT_KINDS),
            alone=True,
        )
        (pool,) = self._store.seek_all([query])
        ids = pool.ids.at(find_highest(pool.bm, _NEAREST))
        owner = record.scope.owner
        records = {message.id: message for message in self._messages}
        records |= {earlier.id: earlier for earlier in (self._store.get(owner, ids) if ids else ())}
        self._changes.add_stored(
            [earlier for earlier in records.values() if earlier.kind in STATEMENT_KINDS]
        )
        records |= {
            statement_id: statement
            for statement_id, statement in self._changes.current.items()
            if statement_id in records
        }
        candidates = [
            earlier
            for earlier in records.values()
            if earlier.story_key < record.story_key
            and earlier.scope.durable == record.scope.durable
            and (earlier.role, earlier.speaker) == (record.role, record.speaker)
            and earlier.status in OPEN
            and record.recorded_at - earlier.recorded_at <= _RESTATED_WINDOW
            and not is_question(earlier.text)
        ]
        ended = {
            edge.target
            for edge in self._store.edges(owner, [earlier.id for earlier in candidates], ENDING)
        }
        return sorted(
            (earlier for earlier in candidates if earlier.id not in ended),
            key=lambda earlier: (earlier.kind in _MESSAGE_KINDS, earlier.story_key),
            reverse=True,
        )

    def _find_earlier(self, record: Record, correction: ValueCorrection) -> list[Record]:
        """Find the speaker's messages shortly before, the latest first, without their questions."""
        limit = _LATEST_FOR_NAMED if correction.wrong_value else _LATEST
        query = RecordQuery(
            scopes_in_reach(record.scope, self._reach),
            _MESSAGE_KINDS,
            session=record.session,
            limit=limit,
        )
        messages = {message.id: message for message in self._messages}
        messages |= {message.id: message for message in self._store.find(query).records}
        before = sorted(
            (
                message
                for message in messages.values()
                if message.story_key < record.story_key
                and message.scope == record.scope
                and message.session == record.session
                and record.recorded_at - message.recorded_at <= correction.window
            ),
            key=lambda message: message.story_key,
            reverse=True,
        )
        if before and before[0].role != record.role and not correction.is_strong:
            # "No, 4" answers "Do you have 3?"; it corrects nothing that its speaker said.
            answers = is_question(before[0].text)
            before = [] if answers else before
        return [
            message
            for message in before
            if (message.role, message.speaker) == (record.role, record.speaker)
            and not is_question(message.text)
        ][:limit]

    def _find_facts(self, message: Record) -> list[Record]:
        """Find the open statements that were learned from a message."""
        query = RecordQuery(
            scopes_in_reach(message.scope, self._reach),
            STATEMENT_KINDS,
            OPEN,
            sources=(message.id,),
        )
        self._changes.add_stored(self._store.find(query).records)
        return [
            fact
            for fact in self._changes.current.values()
            if fact.status in OPEN
            and fact.kind in STATEMENT_KINDS
            and message.id in {item.source for item in fact.evidence}
        ]

    def _link(self, record: Record, earlier: Record) -> None:
        """Mark the earlier message as outdated; as over, if it says nothing else."""
        if earlier.kind in STATEMENT_KINDS:
            return
        is_single_sentence = len(_SENTENCE_END.split(earlier.text.strip())) == 1
        edge_type = EdgeType.SUPERSEDES if is_single_sentence else EdgeType.MAY_OUTDATE
        self._changes.link(record.id, earlier.id, edge_type, 1.0)

    def _correct(
        self,
        record: Record,
        corrected: _CorrectedMessage,
        candidates: Sequence[CandidateStatement] = (),
    ) -> list[ReconciliationResult]:
        """Correct the statements that hold the wrong value, or state the corrected sentence."""
        wrong = corrected.wrong_value
        candidate = CandidateStatement(
            corrected.sentence,
            effect="corrects",
            wrong_value=wrong,
            evidence=(Evidence(record.text[:200], record.id, record.speaker),),
            confidence=_CONFIDENCE,
            importance=0.7,
            trust=record.trust,
            said_at=record.recorded_at,
            effective_at=record.recorded_at,
            extractor="rules",
            reason=_REASON,
        )
        outcomes = []
        for fact in corrected.facts:
            statement = _find_right(fact, candidates, corrected) or _state_anew(
                fact, candidate, corrected
            )
            if statement is None:
                continue
            statement = replace(statement, effect="corrects", wrong_value=wrong, reason=_REASON)
            outcomes.append(
                find_conflict(statement, [fact])
                or ReconciliationResult(
                    "replace",
                    statement,
                    (fact,),
                    retract=True,
                    reason=_REASON,
                )
            )
        return outcomes or [ReconciliationResult("add", candidate, reason=_REASON)]


def _find_right(
    fact: Record, candidates: Sequence[CandidateStatement], corrected: _CorrectedMessage
) -> CandidateStatement | None:
    """Find the message's own statement of the right value in the slot of a wrong one; None: none."""
    slot = (fact.subject, fact.predicate, is_affirmative(fact))
    right = fold(corrected.correction.value)
    for candidate in candidates if fact.predicate else ():
        own_slot = (candidate.subject, candidate.predicate, candidate.polarity)
        if own_slot == slot and right in fold(candidate.object):
            return candidate
    return None


def _state_anew(
    fact: Record, candidate: CandidateStatement, corrected: _CorrectedMessage
) -> CandidateStatement | None:
    """State a wrong statement with the right value; None: it does not hold the wrong one."""
    wrong = corrected.wrong_value
    correction = corrected.correction
    if wrong in fact.text:
        text = _correct_values(fact.text, wrong, correction, is_reversal=corrected.is_reversal)
    elif _holds_spelled_out(fact, corrected.message, wrong):
        text = candidate.text
    else:
        return None
    value = _correct_values(fact.object, wrong, correction, is_reversal=corrected.is_reversal)
    return replace(
        candidate,
        text=text,
        kind=fact.kind,
        subject=correction.value if fold(fact.subject) == fold(wrong) else fact.subject,
        predicate=fact.predicate,
        object=correction.value if fold(fact.object) == fold(wrong) else value,
        category=fact.category,
        polarity=is_affirmative(fact),
        single=is_single(fact.predicate, fact.subject),
    )


def _holds_spelled_out(fact: Record, message: Record, wrong: str) -> bool:
    """True if a statement holds the wrong date or number in other words than its message."""
    quotes = [item.quote for item in fact.evidence if item.source == message.id]
    is_exact = classify_value(fact.object) in ("date", "clock", "number")
    return is_exact and any(wrong in quote for quote in quotes)


def _correct_values(
    text: str, wrong: str, correction: ValueCorrection, *, is_reversal: bool
) -> str:
    """Write the right value in the place of the wrong one; of a reversal, also the other way."""
    if is_reversal:
        return exchange_values(text, wrong, correction.value)
    return text.replace(wrong, correction.value)


def _correct_sentence(
    text: str, span: tuple[int, int], correction: ValueCorrection, *, is_reversal: bool
) -> str:
    """Return the sentence around a span with another value in its place."""
    start = max((match.end() for match in _SENTENCE_END.finditer(text, 0, span[0])), default=0)
    following = _SENTENCE_END.search(text, span[1])
    end = following.start() if following else len(text)
    if is_reversal:
        return exchange_values(text[start:end], text[slice(*span)], correction.value).strip()
    return f"{text[start : span[0]]}{correction.value}{text[span[1] : end]}".strip()
