"""Extraction by rules: facts, standing rules, procedures and corrections."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.extract.rules import clause_dates
from engrams.extract.rules.action_verbs import interpret_action
from engrams.extract.rules.announcements import blank_announcements
from engrams.extract.rules.attribute_facts import (
    extract_attribute,
    extract_changed_attribute,
    extract_inverse_attribute,
)
from engrams.extract.rules.clause_judge import ClauseView, is_kept
from engrams.extract.rules.clause_meaning import ClauseMeaning, UtteranceContext
from engrams.extract.rules.clause_parser import EnglishClause, drop_addressee, parse_clauses
from engrams.extract.rules.clause_quote import (
    collapse_space,
    quote_clause,
    quote_object,
    trim_quote,
)
from engrams.extract.rules.clause_times import (
    date_statement,
    find_clause_spans,
    find_text_spans,
)
from engrams.extract.rules.copula_verbs import interpret_copula
from engrams.extract.rules.corrections import extract_correction
from engrams.extract.rules.denied_events import (
    drop_emphasis,
    is_joke_over,
    is_plain_denial,
    reword_denial,
)
from engrams.extract.rules.english_lexicon import DETERMINERS, PREPOSITIONS
from engrams.extract.rules.fact_gate import is_sound
from engrams.extract.rules.instructions import extract_command, extract_procedure, parse_remember
from engrams.extract.rules.languages.other_words import find_others
from engrams.extract.rules.languages.sentence_matcher import extract_foreign, is_imagined
from engrams.extract.rules.life_events import is_brief_leave, name_tool
from engrams.extract.rules.loose_clauses import quote_loosely, split_loosely
from engrams.extract.rules.predicate_table import is_known_predicate
from engrams.extract.rules.sentence_segmenter import (
    ClauseToken,
    Tense,
    TextSentence,
    split_sentences,
    tokens,
)
from engrams.extract.rules.subject_lookup import ClauseSubject, resolve_subject
from engrams.extract.rules.thing_facts import extract_thing, split_thing
from engrams.frozen_data import dataclass
from engrams.text.times import TimeSpan, detect_language

_MOST = 24
_SHORTEST = 6
"""Characters of the shortest piece of a sentence that is looked at."""


_OWN = re.compile(r"\b(?:I|my|me|we|our|us)\b|\d|(?<![.!] )(?<!  )\b[A-Z]")
_PRAISE = ("that's", "that is", "it's", "sounds", "what a", "is ")
_RECENT = timedelta(days=62)


_LASTING = frozenset(("present", "future", "progressive"))
_AS_IF: tuple[Tense, ...] = ("past", "present")
_STATES_TO_COME = {"lives_in": "live in", "works_at": "work at", "studies_at": "study at"}
_AFTER_ALL = re.compile(r",? after all\b", re.IGNORECASE)


_GUESSED = re.compile(
    r"\b(?:I (?:assume|bet|guess|suppose|suspect|think)|it"
    r" seems|may|maybe|might|perhaps|probably)\b[^.]{0,60}\bbecause\s*$",
    re.IGNORECASE,
)
_COMING = re.compile(r"\b(?:as soon as|before|by the time|once|until)\s+$", re.IGNORECASE)
_PURPOSE = re.compile(r"\S\s+so(?:\s+that)?\s+$", re.IGNORECASE)


_EXAGGERATIONS = frozenset(("apparently", "basically", "practically"))
_CLOSING = frozenset((",", "lately", "now", "today", "too"))
_CLAUSAL = frozenset(("he", "i", "she", "that", "they", "we", "what", "which", "who"))


# "I got an offer, not sure yet": rejects no value.
_NO_VALUE = frozenset(
    (
        "bad",
        "because",
        "even",
        "happy",
        "just",
        "only",
        "really",
        "so",
        "sure",
        "that",
        "too",
        "yet",
    )
)


def extract_statements(text: str, speech: UtteranceContext) -> tuple[CandidateStatement, ...]:
    """Extract the distinct statements of ``text`` in order, at most 24.

    Never raises for any text; under 1 ms for an ordinary turn.
    """
    request = parse_remember(text)
    if not any(char.isupper() for char in text):
        speech = replace(speech, is_lowercase=True)
    facts = [
        candidate
        for clause in read_clauses(text, speech, request.at)
        if clause.is_sure or is_kept(clause.view)
        for candidate in clause.candidates
    ]
    steps = extract_procedure(text, speech)
    candidates = [] if steps is None else [steps]
    candidates += _read_sentence_rules(text, speech, request.at, facts)
    # A rule or a correction stands for the facts that its words also make.
    quotes = [item.quote for candidate in candidates for item in candidate.evidence]
    candidates += [
        fact for fact in facts if not any(fact.evidence[0].quote in quote for quote in quotes)
    ]
    candidates = [candidate for candidate in candidates if is_sound(candidate)]
    if request.explicit:
        candidates = [_strengthen_requested(candidate, speech) for candidate in candidates]
        candidates = candidates or _build_verbatim(request.text, speech)
    distinct = {
        (candidate.key, candidate.predicate, candidate.object): candidate
        for candidate in candidates
    }
    return tuple(
        date_statement(candidate, text, speech.local_time)
        for candidate in [*distinct.values()][:_MOST]
    )


def _read_sentence_rules(
    text: str, speech: UtteranceContext, begin: int, facts: Sequence[CandidateStatement]
) -> list[CandidateStatement]:
    """Read commands, facts about things and corrections, at most one of each sentence.

    ``begin``: position from which the text says something. ``facts``: made of its clauses.
    """
    candidates = []
    for sentence in split_sentences(text):
        if sentence.modality not in ("asserted", "hypothetical") or sentence.is_question:
            continue
        candidate = extract_command(sentence, text, speech)
        if candidate is None and sentence.modality == "asserted":
            has_triple = any(
                fact.predicate and fact.evidence[0].quote in sentence.text for fact in facts
            )
            candidate = extract_thing(
                sentence, text, speech, begin, has_triple
            ) or extract_correction(sentence, text, speech)
        if candidate is not None:
            candidates.append(candidate)
    return candidates


def is_explicit(text: str) -> bool:
    """True if the text asks for something to be remembered."""
    return parse_remember(text).explicit


def _strengthen_requested(
    candidate: CandidateStatement, speech: UtteranceContext
) -> CandidateStatement:
    """Raise what somebody asks to be remembered, with the triple of a thing where it has none."""
    candidate = replace(
        candidate,
        confidence=min(1.0, candidate.confidence + 0.1),
        importance=max(candidate.importance, 0.8),
    )
    if candidate.predicate or candidate.kind is not Kind.FACT:
        return candidate
    subject, predicate, thing = split_thing(candidate.text, speech)
    if not predicate:
        return candidate
    return replace(candidate, subject=subject, predicate=predicate, object=thing)


def _build_verbatim(text: str, speech: UtteranceContext) -> list[CandidateStatement]:
    """Keep an explicit request verbatim where no rule matches."""
    line = text.strip().split("\n")[0].strip(" .!")
    if (
        len(line.split()) < 2
        or line.endswith("?")
        or line.lower().startswith(
            ("to ", "me ", "when ", "how ", "what ", "the time", "my request", "you ")
        )
    ):
        return []
    if speech.speaker != "the user" and not _OWN.search(line[1:]):
        return []  # advice to the other speaker
    head, addressed, _ = line.partition(",")
    if addressed and head.lower() in speech.names:
        return []
    evidence = (speech.evidence(line),)
    subject, predicate, thing = split_thing(line, speech)
    return [
        CandidateStatement(
            text=collapse_space(line),
            kind=Kind.FACT,
            subject=subject,
            predicate=predicate,
            object=thing,
            evidence=evidence,
            confidence=0.9,
            importance=0.8,
            trust=speech.trust,
            said_at=speech.said_at,
            effective_at=speech.said_at,
            reason="asked to remember",
        )
    ]


@dataclass(frozen=True, slots=True)
class ReadClause:
    """A clause, as the judge sees it, with the statements that it makes if it is kept."""

    view: ClauseView
    candidates: tuple[CandidateStatement, ...]
    start: int
    end: int
    is_sure: bool = False
    """It needs no judge: a set form of a language, or the denial of an event."""


def read_clauses(text: str, speech: UtteranceContext, begin: int = 0) -> list[ReadClause]:
    """Read the clauses of a text from ``begin`` on, in order, whatever they are worth."""
    language = detect_language(text)
    sentences = split_sentences(text, begin)
    clauses = _EnglishReader(text, speech, sentences).read() if language == "en" else []
    for candidate in extract_foreign(text, speech):
        start = text.find(candidate.evidence[0].quote)
        view = ClauseView(candidate.text, "", "", 0, 1, language)
        clauses.append(ReadClause(view, (candidate,), start, start + len(candidate.text), True))
    return clauses + _read_loose(text, speech, sentences, clauses, language)


class _EnglishReader:
    """Reads the clauses of an English text in order; "she" is the person of the clause before."""

    def __init__(
        self, text: str, speech: UtteranceContext, sentences: Sequence[TextSentence]
    ) -> None:
        self._text = text
        self._speech = speech
        self._sentences = sentences
        self._times = find_text_spans(text, speech.local_time)
        self._last: ClauseSubject | None = None
        self.clauses: list[ReadClause] = []

    def read(self) -> list[ReadClause]:
        for index, sentence in enumerate(self._sentences):
            if sentence.modality == "asserted":
                self._read_sentence(index, sentence)
            elif is_joke_over(sentence):
                self._read_clauses(index, sentence, is_joke=True)
        return self.clauses

    def _read_sentence(self, index: int, sentence: TextSentence) -> None:
        planned = clause_dates.find_planned_start(sentence.text, self._speech.said_at)
        coming = (
            _read_planned(sentence, planned, self._text, self._speech)
            if planned is not None
            else []
        )
        end = sentence.start + len(sentence.text)
        if coming:
            self._add_sure(index, coming, sentence.start, end)
            return
        given_up = _read_given_up(sentence, self._text, self._speech)
        if given_up:
            self._add_sure(index, given_up, sentence.start, sentence.start)
        self._read_clauses(index, sentence, is_joke=False)

    def _read_clauses(self, index: int, sentence: TextSentence, *, is_joke: bool) -> None:
        following = self._sentences[index + 1] if index + 1 < len(self._sentences) else None
        names = self._speech.names
        words = reword_denial(tokens(blank_announcements(sentence.text), sentence.start))
        may_elide = _may_elide(sentence, following, self._speech)
        for whole in parse_clauses(words, names, elide=may_elide):
            if _is_not_stated(whole, self._text[sentence.start : whole.start]):
                self._add_sure(index, [], whole.start, whole.end)
                continue
            rest = drop_emphasis(drop_addressee(whole.rest, names), whole)
            self._read_clause(index, name_tool(replace(whole, rest=rest)), words, is_joke=is_joke)

    def _read_clause(
        self, index: int, clause: EnglishClause, words: Sequence[ClauseToken], *, is_joke: bool
    ) -> None:
        subject = resolve_subject(clause, self._text, self._speech, self._last)
        if subject is None:
            return
        if clause.person == "other":
            self._last = subject
        quote = quote_clause(clause, words, self._text, self._speech.names)
        made = [
            replace(one, text=collapse_space(quote), evidence=(self._speech.evidence(quote),))
            for one in _read_clause(clause, self._text, subject, self._speech, self._times)
        ]
        denials = [one for one in made if one.denies_event]
        if denials:
            is_past = clause.tense in ("past", "perfect")
            if not is_past or is_plain_denial(clause, self._text, self._times):
                denied = [_apply_correction(one, clause, words, self._text) for one in denials]
                self._add_sure(index, denied, clause.start, clause.end)
            else:
                self._add_sure(index, [], clause.start, clause.end)
            return
        if is_joke:
            self._add_sure(index, [], clause.start, clause.end)
            return
        given_up = clause.negated and _AFTER_ALL.search(self._sentences[index].text)
        candidates = [
            one
            for one in made
            if is_known_predicate(one.predicate)
            or one.effect != "states"
            or one.reason.startswith("rule attribute")
        ] or [self._quote_clause(clause, subject, quote)]
        if given_up and not candidates[0].predicate:
            self._add_sure(index, [], clause.start, clause.end)
            return
        is_aside = clause.start > self._sentences[index].start and not candidates[0].predicate
        if is_aside and clause.owner and clause.owner[0].lower == "the":
            self._add_sure(index, [], clause.start, clause.end)
            return  # "I love rye bread, the crust is so dark"
        self.clauses.append(
            ReadClause(
                self._view(index, clause, candidates[0], quote),
                tuple(_apply_correction(one, clause, words, self._text) for one in candidates),
                clause.start,
                clause.start + len(quote),
                is_sure=candidates[0].reason.startswith("rule attribute")
                and clause.owner[0].lower in ("my", "our"),
            )
        )

    def _quote_clause(
        self, clause: EnglishClause, subject: ClauseSubject, quote: str
    ) -> CandidateStatement:
        """Build a statement without a triple: only the clause and its times are certain."""
        is_event = clause.tense in ("past", "perfect", "was")
        category = "event" if is_event else "knowledge"
        reading = ClauseMeaning("", category, confidence=0.7, event=is_event)
        bounds = (_find_lead(clause), clause.end)
        times = (
            find_clause_spans(
                self._text, bounds, self._speech.local_time, clause.tense, clause.verb
            )
            if self._times
            else ()
        )
        bare = _to_candidate(reading, clause, self._text, subject, self._speech, times)
        return replace(bare, text=collapse_space(quote), evidence=(self._speech.evidence(quote),))

    def _view(
        self, index: int, clause: EnglishClause, candidate: CandidateStatement, quote: str
    ) -> ClauseView:
        sentence = self._sentences[index]
        return ClauseView(
            quote=candidate.text,
            before=self._text[sentence.start : clause.start],
            mark=self._text[clause.start + len(quote) :][:1].strip(),
            index=index,
            sentences=len(self._sentences),
            language="en",
            clause=clause,
            predicate=candidate.predicate,
            category=candidate.category,
            effect=candidate.effect,
            is_single=candidate.single,
        )

    def _add_sure(
        self, index: int, candidates: Sequence[CandidateStatement], start: int, end: int
    ) -> None:
        view = ClauseView("", "", "", index, len(self._sentences), "en")
        self.clauses.append(ReadClause(view, tuple(candidates), start, end, True))


def _read_loose(
    text: str,
    speech: UtteranceContext,
    sentences: Sequence[TextSentence],
    clauses: Sequence[ReadClause],
    language: str,
) -> list[ReadClause]:
    """Read the pieces of sentences that say "I" and that nothing else has read."""
    loose: list[ReadClause] = []
    others = find_others(text)
    for index, sentence in enumerate(sentences):
        if sentence.modality != "asserted":
            continue
        for start, end in split_loosely(sentence, language):
            quote = quote_loosely(text, start, end)
            is_read = any(start < clause.end and clause.start < end for clause in clauses)
            stop = sentence.start + len(sentence.text)
            is_other = any(begin < stop and sentence.start < end_ for begin, end_ in others)
            if is_read or is_other or len(quote) < _SHORTEST or is_imagined(quote, language):
                continue
            view = ClauseView(
                quote=collapse_space(quote),
                before=text[sentence.start : start],
                mark=text[end : end + 1].strip(),
                index=index,
                sentences=len(sentences),
                language=language,
            )
            loose.append(ReadClause(view, (_quote_only(quote, speech),), start, end))
    return loose


def _is_not_stated(clause: EnglishClause, before: str) -> bool:
    """True for a guess, a wish, a brief leave, and what is only supposed."""
    is_wish = clause.tense == "would" and clause.verb not in ("like", "love", "prefer")
    is_exaggerated = any(word.lower in _EXAGGERATIONS for word in clause.rest)
    return (
        clause.hedged
        or is_exaggerated
        or is_wish
        or clause.verb == "wish"
        or is_brief_leave(clause)
        or _is_supposed(before, clause)
    )


def _quote_only(quote: str, speech: UtteranceContext) -> CandidateStatement:
    """Build a statement of a piece that no parser read."""
    return CandidateStatement(
        text=collapse_space(quote),
        subject=speech.subject,
        evidence=(speech.evidence(quote),),
        confidence=0.7,
        trust=speech.trust,
        said_at=speech.said_at,
        effective_at=speech.said_at,
        reason="clause",
    )


def _find_lead(clause: EnglishClause) -> int:
    """Find where a clause begins with its time: "last Tuesday, I"."""
    return min([clause.start, *(word.start for word in clause.lead)])


def _is_supposed(before: str, clause: EnglishClause) -> bool:
    """True for a guess, purpose or later time: ``so I can draw``."""
    if clause.tense in ("present", "perfect", "progressive", "future") and _COMING.search(before):
        return True
    return _GUESSED.search(before) is not None or (
        clause.tense == "can" and _PURPOSE.search(before) is not None
    )


def _read_planned(
    sentence: TextSentence, planned: tuple[TimeSpan, int, int], text: str, speech: UtteranceContext
) -> list[CandidateStatement]:
    """Extract a planned state: ``from March I work at Globex``."""
    when, begin, end = planned
    bare = f"{sentence.text[:begin]}{' ' * (end - begin)}{sentence.text[end:]}"
    found: list[CandidateStatement] = []
    for clause in parse_clauses(tokens(bare, sentence.start), speech.names):
        subject = (
            None
            if clause.hedged or clause.tense not in _LASTING
            else resolve_subject(clause, text, speech, None)
        )
        if subject is not None:
            # "I will work there from March" is a state, which begins then.
            found += _read_clause(replace(clause, tense="present"), text, subject, speech, ())
    if not found or not all(
        one.single and one.effect == "states" and one.modality == "asserted" for one in found
    ):
        return []
    quote = trim_quote(text[sentence.start : sentence.start + len(sentence.text)])
    return [
        replace(
            one,
            text=collapse_space(quote),
            valid_from=when.start,
            effective_at=when.start,
            evidence=(speech.evidence(quote),),
        )
        for one in found
    ]


def _read_given_up(
    sentence: TextSentence, text: str, speech: UtteranceContext
) -> list[CandidateStatement]:
    """Extract denials of a plan: ``I won't move to Rome after all``.

    Of the plan itself, and of the state that it would have brought.
    """
    given_up = _AFTER_ALL.search(sentence.text)
    found: list[CandidateStatement] = []
    for clause in (
        parse_clauses(tokens(sentence.text[: given_up.start()], sentence.start), speech.names)
        if given_up
        else ()
    ):
        subject = (
            resolve_subject(clause, text, speech, None)
            if clause.negated and not clause.hedged
            else None
        )
        if subject is None or clause.tense not in ("future", "progressive"):
            continue
        if clause.tense == "future":
            found += [
                one
                for one in _read_clause(clause, text, subject, speech, ())
                if one.predicate == "plans_to"
            ]
        states = [
            one
            for tense in _AS_IF
            for one in _read_clause(
                replace(clause, tense=tense, negated=False), text, subject, speech, ()
            )
            if one.predicate in _STATES_TO_COME
        ]
        for one in states[:1]:
            quote = trim_quote(text[sentence.start : sentence.start + len(sentence.text)])
            denied = replace(
                one, text=collapse_space(quote), category="plan", polarity=False, effect="states"
            )
            found.append(replace(denied, valid_from=None, effective_at=speech.said_at))
    return found


def _read_clause(
    clause: EnglishClause,
    text: str,
    subject: ClauseSubject,
    speech: UtteranceContext,
    times: Sequence[TimeSpan],
) -> list[CandidateStatement]:
    told = times
    start = _find_lead(clause)
    times = (
        find_clause_spans(text, (start, clause.end), speech.local_time, clause.tense, clause.verb)
        if times
        else ()
    )
    if (
        clause.person == "other"
        and clause.owner[0].lower in ("my", "our", "the")
        and clause.verb == "be"
        and (owned := extract_attribute(clause, text, speech, times))
    ):
        return [owned]
    if clause.person == "other" and (
        renewed := extract_changed_attribute(clause, text, speech, told)
    ):
        return [renewed]
    if clause.person == "other" and clause.owner[0].lower == "the":
        return []
    if (
        clause.person == "other"
        and clause.verb == "be"
        and (held := extract_inverse_attribute(clause, text, speech))
    ):
        return [held]
    lasting = any(word.lower in ("since", "for") for word in clause.rest)
    untimed = replace(clause, rest=_drop_times(clause.rest, times), lasting=lasting)
    reading = (
        interpret_copula(untimed, speech)
        if clause.verb == "be"
        else interpret_action(untimed, speech)
    )
    if reading is None:
        return []
    within = clause_dates.filter_within(times, clause.start, clause.end)
    if reading.predicate == "age" and any(span.start > speech.said_at for span in within):
        reading = replace(reading, predicate="turns", effect="states")
    main = _to_candidate(reading, clause, text, subject, speech, times)
    extra = [
        _build_secondary(more, clause, quote_object(more.object, text, ()), main)
        for more in reading.extra
    ]
    return [main, *extra, *subject.extra]


def _may_elide(
    sentence: TextSentence, following: TextSentence | None, speech: UtteranceContext
) -> bool:
    if sentence.text[:1].islower() and sentence.start > 0 and not speech.is_lowercase:
        return False
    return following is None or not following.text.lower().startswith(_PRAISE)


def _drop_times(
    words: tuple[ClauseToken, ...], times: Sequence[TimeSpan]
) -> tuple[ClauseToken, ...]:
    if not times:
        return words
    return tuple(
        word
        for word in words
        if not any(span.at <= word.start < span.at + len(span.text) for span in times)
    )


def _to_candidate(
    reading: ClauseMeaning,
    clause: EnglishClause,
    text: str,
    subject: ClauseSubject,
    speech: UtteranceContext,
    times: Sequence[TimeSpan],
) -> CandidateStatement:
    start = _find_lead(clause)
    found = clause_dates.filter_within(times, start, clause.end)
    if reading.kind is Kind.PREFERENCE:
        found = tuple(
            span for span in found if clause_dates.names_year(span)
        )  # "I love the sea in June" is of every June
    when = clause_dates.pick_most_exact(found)
    effect = reading.effect
    value = reading.value or quote_object(reading.object, text, found)
    quote = text[clause.start : clause.end]
    begun, settled = _resolve_validity(reading, found, when, quote, speech.said_at, clause.tense)
    ended = (
        clause_dates.find_end(quote, when, speech.said_at) if reading.effect == "changes" else None
    )
    predicate = canonical_predicate(reading.predicate)
    if reading.predicate == "nationality_is":
        predicate = "nationality_is"
    return CandidateStatement(
        text=trim_quote(quote),
        kind=reading.kind,
        subject=subject.key,
        predicate=predicate,
        object=value,
        category=reading.category,
        polarity=reading.polarity,
        modality="wish" if reading.modality_wish else "asserted",
        effect=effect,
        single=is_single(predicate, subject.key),
        hearsay=subject.hearsay,
        evidence=(speech.evidence(quote.strip()),),
        confidence=reading.confidence,
        importance=reading.importance,
        trust=speech.trust,
        said_at=speech.said_at,
        valid_from=begun,
        valid_to=ended,
        effective_at=settled,
        reason=f"rule {clause.verb}",
    )


def _build_secondary(
    reading: ClauseMeaning, clause: EnglishClause, value: str, main: CandidateStatement
) -> CandidateStatement:
    """Build a second triple of the same words: ``I'm an engineer at Acme``."""
    return replace(
        main,
        predicate=reading.predicate,
        object=value,
        category=reading.category,
        effect=reading.effect if reading.effect != "states" else "states",
        single=is_single(reading.predicate),
        confidence=reading.confidence,
        reason=f"rule {clause.verb} aside",
    )


def _resolve_validity(
    reading: ClauseMeaning,
    found: Sequence[TimeSpan],
    when: TimeSpan | None,
    quote: str,
    said: datetime,
    tense: Tense,
) -> tuple[datetime | None, datetime | None]:
    """Return the start of validity, and the effective time."""
    lasting = next(
        (span for span in found if span.text.lower().startswith("since") and span.start <= said),
        None,
    )
    if lasting:
        return lasting.start, said
    if reading.event or reading.effect in ("changes", "ends"):
        if when is not None and when.start <= said:
            # A move of last month holds now, whatever else was said in that month.
            recent = when.grain in ("week", "weekend", "month") and said - when.end < _RECENT
            return when.start, said if recent else min(when.end, said)
        if tense == "used" or (reading.effect == "ends" and reading.event):
            return None, said
        return (said, said) if reading.effect in ("changes", "ends") else (None, said)
    return (
        None if tense in ("past", "was", "used") else clause_dates.duration_start(quote, said)
    ), said


def _apply_correction(
    candidate: CandidateStatement, clause: EnglishClause, words: Sequence[ClauseToken], text: str
) -> CandidateStatement:
    """Read the rejected value of ``I live in Berlin, not Paris``."""
    after = [] if candidate.denies_event else [word for word in words if word.start >= clause.end]
    if (
        len(after) > 2
        and after[0].lower == ","
        and after[1].lower == "not"
        and after[2].lower not in _NO_VALUE
        and candidate.object
    ):
        body = after[2:]
        if body and body[0].lower in PREPOSITIONS | DETERMINERS:
            body = body[1:]
        end = next((i for i, word in enumerate(body) if not word.text[0].isalnum()), len(body))
        if 0 < end <= 4:
            wrong = text[body[0].start : body[end - 1].end]
            begin = text.rfind(candidate.evidence[0].quote, 0, body[0].start)
            quote = text[max(begin, 0) : body[end - 1].end] if begin >= 0 else candidate.text
            return replace(
                candidate,
                text=collapse_space(quote),
                effect="corrects",
                wrong_value=wrong,
                kind=Kind.CORRECTION if candidate.kind is Kind.FACT else candidate.kind,
            )
    return candidate
