"""Statements of the clauses of an English text.

Enter at ``read_english``. The parser finds clauses, ``meaning_table`` and ``attribute_facts`` what
they say; a clause that neither knows stands as a quotation without a triple.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.extract.rules import clause_dates
from engrams.extract.rules.announcements import blank_announcements
from engrams.extract.rules.attribute_facts import read_attribute
from engrams.extract.rules.clause_judge import ClauseView
from engrams.extract.rules.clause_parser import EnglishClause, drop_addressee, parse_clauses
from engrams.extract.rules.clause_quote import (
    collapse_space,
    quote_clause,
    quote_object,
    trim_quote,
)
from engrams.extract.rules.clause_times import find_clause_spans, find_text_spans
from engrams.extract.rules.denied_events import (
    drop_emphasis,
    is_joke_over,
    is_plain_denial,
    reword_denial,
)
from engrams.extract.rules.english_lexicon import DETERMINERS, PREPOSITIONS, find_lemma
from engrams.extract.rules.meaning_table import ClauseMeaning, read_meanings, says_nothing
from engrams.extract.rules.read_clause import ReadClause
from engrams.extract.rules.sentence_segmenter import ClauseToken, Tense, TextSentence, tokens
from engrams.extract.rules.utterance import UtteranceContext
from engrams.extract.rules.word_classes import RELATIONS
from engrams.frozen_data import dataclass, replace
from engrams.text.line_voice import asks_for_work
from engrams.text.times import TimeSpan
from engrams.text.vocabulary import word_set

_LASTING = word_set("present future progressive")
_DONE = word_set("past perfect was")
_AS_IF: tuple[Tense, ...] = ("past", "present")
_STATES_TO_COME = word_set("lives_in works_at studies_at")
_HEALTH = word_set("has_condition allergic_to takes diet")
_ASKS_FOR = re.compile(r"to (?:ask|inquire|enquire|find out|check|request)\b")
"""Words behind a verb of a request: "I'm writing to ask"."""
_DOUBTED = re.compile(r"\b(?:i (?:think|guess|believe|suppose|reckon)|not sure|or so)$")
"""Words behind a guess: "my blood type is A positive i think"."""
_CONDITION = re.compile(r"\A\W*(?:\w+ )?(?:when|whenever|if|unless|except)\b", re.IGNORECASE)
"""Words behind a clause that say when alone it holds: "I eat fish when I'm in Japan"."""
_MOODS = word_set("stop wait believe imagine complain thank help remember")
_AFTER_ALL = re.compile(r",? after all\b", re.IGNORECASE)
_GUESSED = re.compile(
    r"\b(?:I (?:assume|bet|guess|suppose|suspect|think)|it"
    r" seems|may|maybe|might|perhaps|probably)\b[^.]{0,60}\bbecause\s*$",
    re.IGNORECASE,
)
_COMING = re.compile(r"\b(?:as soon as|before|by the time|once|until)\s+$", re.IGNORECASE)
_PURPOSE = re.compile(r"\S\s+so(?:\s+that)?\s+$", re.IGNORECASE)
_EXAGGERATIONS = word_set("apparently basically practically")
_NO_VALUE = word_set(
    "bad because even happy just only really so sure that too yet me you him her us them"
)
"""Words behind ", not" that reject no value: "I got an offer, not sure yet"."""
_PLAIN_NAME = re.compile(r"[A-ZÀ-ÖØ-Þ][^\W\d_]+(?: [A-ZÀ-ÖØ-Þ][^\W\d_]+)?")
_PARENTS = word_set(
    "mum mom mother mummy mommy dad father daddy grandma grandmother granny grandpa grandfather"
)
"""Relations of whom one speaks as such, although they have a name."""
_MOST_REJECTED = 4
"""Words of the longest value that ", not" rejects."""
_ORDER_LEAD = re.compile(
    r"\W*(?:(?:please|pls|hey|hi|hello|ok|okay|now|also|and|then|so|just|quickly|first|next|kindly|let's|go ahead and"
    r"|(?:can|could|would|will) you|i (?:want|need|would like) you to|i'd like you to)\b\W*)*",
    re.IGNORECASE,
)
"""Words before the verb of an order."""
_SEVERAL = re.compile(r"(?:we|they|it)\b", re.IGNORECASE)
"""Who has no age: "we're 5 now" counts."""


@dataclass(frozen=True, slots=True)
class ClauseSubject:
    """Subject of a clause: speaker, named person, relation or thing."""

    key: str
    """Canonical."""
    is_hearsay: bool = False
    """Another speaker of the conversation."""
    relation: tuple[str, str] = ("", "")
    """Relation and name that the subject tells too: "my sister Anna"."""


def read_english(
    text: str, speech: UtteranceContext, sentences: Sequence[TextSentence]
) -> list[ReadClause]:
    """Read the clauses of an English text in order."""
    return _EnglishReader(text, speech, sentences).read()


class _EnglishReader:
    """Reads clauses in order; "she" is the person of the clause before."""

    def __init__(
        self, text: str, speech: UtteranceContext, sentences: Sequence[TextSentence]
    ) -> None:
        self._text = text
        self._speech = speech
        self._sentences = sentences
        self._has_times = bool(find_text_spans(text, speech.local_time))
        self._last: ClauseSubject | None = None
        self._names_of_relations: dict[str, str] = {}
        """Names by the key of the relation who is called so: "user's son" is Tim."""
        self._clauses: list[ReadClause] = []
        self._orders = tuple(_is_order(sentence.text) for sentence in sentences)
        """Sentences that order something, which do not count for the position of a statement."""

    def read(self) -> list[ReadClause]:
        for index, sentence in enumerate(self._sentences):
            if sentence.modality == "asserted":
                self._read_sentence(index, sentence)
            elif is_joke_over(sentence):
                self._read_clauses(index, sentence, is_joke=True)
        return self._clauses

    def _read_sentence(self, index: int, sentence: TextSentence) -> None:
        end = sentence.start + len(sentence.text)
        planned = self._read_planned(sentence)
        if planned:
            self._add_sure(index, planned, sentence.start, end)
            return
        given_up = self._read_given_up(sentence)
        if given_up:
            self._add_sure(index, given_up, sentence.start, sentence.start)
        self._read_clauses(index, sentence, is_joke=False)

    def _read_clauses(self, index: int, sentence: TextSentence, *, is_joke: bool) -> None:
        names = self._speech.names
        said = blank_announcements(sentence.text)
        words = reword_denial(said, tokens(said, sentence.start))
        for clause in parse_clauses(words, names):
            if _is_not_stated(clause, self._text[sentence.start : clause.start]):
                self._add_sure(index, [], clause.start, clause.end)
                continue
            rest = drop_emphasis(drop_addressee(clause.rest, names), clause)
            self._read_clause(index, replace(clause, rest=rest), words, is_joke=is_joke)

    def _read_clause(
        self, index: int, clause: EnglishClause, words: Sequence[ClauseToken], *, is_joke: bool
    ) -> None:
        subject = self._resolve_subject(clause)
        if subject is None:
            return
        if clause.person == "other":
            self._last = subject
        quote = quote_clause(clause, words, self._text, self._speech.names)
        statements = self._read_meaning(clause, subject, quote)
        self._learn_name(subject, statements)
        if clause.tense == "present" and _CONDITION.search(quote[clause.end - clause.start :]):
            statements = []
        denials = [
            _reject_value(statement, clause, words, self._text)
            for statement in statements
            if statement.denies_event
        ]
        if denials:
            is_past = clause.tense in ("past", "perfect")
            times = self._list_times(clause)
            is_sure = not is_past or is_plain_denial(clause, self._text, times)
            self._add_sure(index, denials if is_sure else [], clause.start, clause.end)
            return
        is_bare = not statements
        starts_sentence = clause.start == self._sentences[index].start
        is_thing = bool(clause.subject_words) and clause.subject_words[0].lower == "the"
        is_given_up = clause.negated and _AFTER_ALL.search(self._sentences[index].text)
        # "I love rye bread, the crust is so dark"
        is_aside = is_thing and not starts_sentence
        if is_joke or (is_bare and (is_given_up or is_aside)):
            self._add_sure(index, [], clause.start, clause.end)
            return
        candidates = statements or [self._quote_clause(clause, subject, quote)]
        is_own_attribute = (
            candidates[0].reason.startswith("rule attribute")
            and not is_thing
            and clause.subject_words[0].lower in ("my", "our")
        )
        # What illness is called comes from a closed table: "I have arthritis in both thumbs".
        is_health = candidates[0].predicate in _HEALTH and clause.tense == "present"
        is_dislike = candidates[0].predicate == "likes" and clause.tense == "can"
        self._clauses.append(
            ReadClause(
                self._view(index, clause, candidates[0], quote),
                tuple(
                    _reject_value(statement, clause, words, self._text) for statement in candidates
                ),
                clause.start,
                clause.start + len(quote),
                is_sure=is_own_attribute or is_health or is_dislike,
            )
        )

    def _read_meaning(
        self, clause: EnglishClause, subject: ClauseSubject, quote: str, *, is_dated: bool = True
    ) -> list[CandidateStatement]:
        """Read what a clause says, as statements of the words ``quote``."""
        times = self._list_times(clause) if is_dated else ()
        attribute = None
        if clause.person == "other":
            attribute = read_attribute(clause, self._text, self._speech, times)
        if attribute is not None:
            statements = [attribute]
        elif clause.person == "other" and clause.subject_words[0].lower == "the":
            statements = []
        else:
            statements = self._read_table(clause, subject, times)
        evidence = (self._speech.evidence(quote),)
        return [
            replace(statement, text=collapse_space(quote), evidence=evidence)
            for statement in statements
        ]

    def _learn_name(self, subject: ClauseSubject, statements: Sequence[CandidateStatement]) -> None:
        """Keep the name of a relation that a clause tells, for the clauses after it."""
        relation = subject.key.removeprefix(f"{self._speech.subject}'s ")
        for statement in statements:
            is_called_by_name = relation in RELATIONS and relation not in _PARENTS
            is_naming = statement.reason == "rule attribute" and is_called_by_name
            if is_naming and _PLAIN_NAME.fullmatch(statement.object):
                self._names_of_relations[subject.key] = statement.object
                if self._last == subject:
                    self._last = replace(subject, key=statement.object)

    def _read_table(
        self, clause: EnglishClause, subject: ClauseSubject, times: Sequence[TimeSpan]
    ) -> list[CandidateStatement]:
        is_lasting = any(word.lower in ("since", "for") for word in clause.rest)
        bare = replace(clause, rest=_drop_times(clause.rest, times), lasting=is_lasting)
        within = clause_dates.filter_within(times, clause.start, clause.end)
        is_coming = any(span.start > self._speech.said_at for span in within)
        statements = []
        for meaning in read_meanings(bare, is_lowercase=self._speech.is_lowercase):
            if meaning.predicate == "age" and _SEVERAL.match(self._text, clause.start):
                continue
            turns = meaning.predicate == "age" and is_coming
            told = replace(meaning, predicate="turns", effect="states") if turns else meaning
            statements.append(self._make_statement(told, clause, subject, times))
        relation, name = subject.relation
        if statements and relation and not clause.is_coordinated:
            statements.append(
                self._speech.make_statement(
                    self._text[clause.start : clause.end],
                    predicate=relation,
                    object=name,
                    category="family",
                    confidence=0.8,
                    effective_at=None,
                    reason="rule relation",
                )
            )
        return statements

    def _make_statement(
        self,
        meaning: ClauseMeaning,
        clause: EnglishClause,
        subject: ClauseSubject,
        times: Sequence[TimeSpan],
    ) -> CandidateStatement:
        said_at = self._speech.said_at
        spans = clause_dates.filter_within(times, _find_lead(clause), clause.end)
        if meaning.kind is Kind.PREFERENCE:  # "I love the sea in June" is of every June
            spans = tuple(span for span in spans if clause_dates.names_year(span))
        quote = self._text[clause.start : clause.end]
        when = clause_dates.pick_most_exact(spans)
        begun, settled = clause_dates.resolve_validity(
            spans, quote, said_at, clause.tense, effect=meaning.effect, is_event=meaning.is_event
        )
        is_change = meaning.effect == "changes"
        predicate = canonical_predicate(meaning.predicate)
        return self._speech.make_statement(
            quote,
            kind=meaning.kind,
            subject=subject.key,
            predicate=predicate,
            object=meaning.value or quote_object(meaning.object, self._text, spans),
            category=meaning.category,
            polarity=meaning.polarity,
            modality="wish" if meaning.is_wish else "asserted",
            effect=meaning.effect,
            single=is_single(predicate, subject.key),
            hearsay=subject.is_hearsay,
            confidence=meaning.confidence,
            importance=meaning.importance,
            valid_from=begun,
            valid_to=clause_dates.find_end(quote, when, said_at) if is_change else None,
            effective_at=settled,
            reason=f"rule {clause.verb}",
        )

    def _quote_clause(
        self, clause: EnglishClause, subject: ClauseSubject, quote: str
    ) -> CandidateStatement:
        """Make a statement without a triple: only the clause and its times are certain."""
        is_event = clause.tense in _DONE
        meaning = ClauseMeaning("", is_event=is_event)
        bare = self._make_statement(meaning, clause, subject, self._list_times(clause))
        return replace(
            bare,
            text=collapse_space(quote),
            category="event" if is_event else "knowledge",
            confidence=0.7,
            evidence=(self._speech.evidence(quote),),
        )

    def _list_times(self, clause: EnglishClause) -> tuple[TimeSpan, ...]:
        if not self._has_times:
            return ()
        bounds = (_find_lead(clause), clause.end)
        return find_clause_spans(
            self._text, bounds, self._speech.local_time, clause.tense, clause.verb
        )

    def _resolve_subject(self, clause: EnglishClause) -> ClauseSubject | None:
        """Resolve a clause's subject; None where only the talk tells it."""
        speech = self._speech
        if clause.person != "other":
            return ClauseSubject(speech.group if clause.person == "group" else speech.subject)
        first = clause.subject_words[0].lower
        if first in ("he", "she"):
            return self._last and replace(self._last, relation=("", ""))
        shown = collapse_space(
            self._text[clause.subject_words[0].start : clause.subject_words[-1].end]
        )
        if first == "the":
            return ClauseSubject(" ".join(word.text for word in clause.subject_words[1:]))
        if first not in ("my", "our"):
            is_speaker = shown.lower() in speech.names and shown.lower() != speech.speaker.lower()
            return ClauseSubject(shown, is_hearsay=is_speaker)
        words = clause.subject_words[1:]
        mark = next((i for i, word in enumerate(words) if word.lower == "'s"), len(words))
        if mark and words[mark - 1].lower in RELATIONS:  # "my mum's name is Ana, she …" is of mum
            words = words[:mark]
        at = next((i for i, word in enumerate(words) if word.lower in RELATIONS), len(words))
        names = [word.text for word in words[at + 1 : at + 3] if word.text[0].isupper()]
        if names and words[at + 1].text.isalpha() and words[at + 1].text[0].isupper():
            name = " ".join(names)
            return ClauseSubject(name, relation=(words[at].lower, name))
        owner = speech.group if first == "our" else speech.subject
        key = f"{owner}'s {' '.join(word.lower for word in words)}"
        return ClauseSubject(self._names_of_relations.get(key, key))

    def _read_planned(self, sentence: TextSentence) -> list[CandidateStatement]:
        """Read a planned state, which begins on its day: ``from March I work at Globex``."""
        planned = clause_dates.find_planned_start(sentence.text, self._speech.said_at)
        if planned is None:
            return []
        when, begin, end = planned
        bare = f"{sentence.text[:begin]}{' ' * (end - begin)}{sentence.text[end:]}"
        quote = _quote_sentence(sentence, self._text)
        statements: list[CandidateStatement] = []
        for clause in parse_clauses(tokens(bare, sentence.start), self._speech.names):
            if clause.hedged or clause.tense not in _LASTING:
                continue
            subject = self._resolve_subject(clause)
            if subject is not None:
                state = replace(clause, tense="present")
                statements += self._read_meaning(state, subject, quote, is_dated=False)
        is_state = all(
            statement.single and statement.effect == "states" and statement.modality == "asserted"
            for statement in statements
        )
        if not is_state:
            return []
        return [
            replace(statement, valid_from=when.start, effective_at=when.start)
            for statement in statements
        ]

    def _read_given_up(self, sentence: TextSentence) -> list[CandidateStatement]:
        """Read denials of a plan, and of the state it would have brought.

        ``I won't move to Rome after all``.
        """
        may_give_up = "after all" in sentence.text.lower()
        given_up = _AFTER_ALL.search(sentence.text) if may_give_up else None
        if given_up is None:
            return []
        quote = _quote_sentence(sentence, self._text)
        words = tokens(sentence.text[: given_up.start()], sentence.start)
        statements: list[CandidateStatement] = []
        for clause in parse_clauses(words, self._speech.names):
            is_plan = clause.negated and not clause.hedged
            if not is_plan or clause.tense not in ("future", "progressive"):
                continue
            subject = self._resolve_subject(clause)
            if subject is None:
                continue
            if clause.tense == "future":
                plans = self._read_meaning(clause, subject, quote, is_dated=False)
                statements += [
                    statement for statement in plans if statement.predicate == "plans_to"
                ]
            states = [
                statement
                for tense in _AS_IF
                for statement in self._read_meaning(
                    replace(clause, tense=tense, negated=False), subject, quote, is_dated=False
                )
                if statement.predicate in _STATES_TO_COME
            ]
            statements += [
                replace(
                    statement,
                    category="plan",
                    polarity=False,
                    effect="states",
                    valid_from=None,
                    effective_at=self._speech.said_at,
                )
                for statement in states[:1]
            ]
        return statements

    def _view(
        self, index: int, clause: EnglishClause, candidate: CandidateStatement, quote: str
    ) -> ClauseView:
        sentence = self._sentences[index]
        return ClauseView(
            quote=candidate.text,
            before=self._text[sentence.start : clause.start],
            mark=self._text[clause.start + len(quote) :][:1].strip(),
            index=index - sum(self._orders[:index]),
            sentences=len(self._sentences) - sum(self._orders) + self._orders[index],
            language="en",
            predicate=candidate.predicate,
            category=candidate.category,
            effect=candidate.effect,
            is_single=candidate.single,
        )

    def _add_sure(
        self, index: int, candidates: Sequence[CandidateStatement], start: int, end: int
    ) -> None:
        """Add a clause whose statements the judge of clauses need not weigh.

        Without candidates, the clause is only marked as read, so that no other rule reads it.
        """
        view = ClauseView("", "", "", index, len(self._sentences), "en")
        self._clauses.append(ReadClause(view, tuple(candidates), start, end, True))


def _is_order(sentence: str) -> bool:
    """True for an order to the assistant: "please fix the bug".

    Not if it asks for work on a text: what follows may be the text.
    """
    lead = _ORDER_LEAD.match(sentence)
    words = sentence[lead.end() if lead else 0 :].split(maxsplit=1)
    first_word = words[0].strip(",.!:").lower() if words else ""
    verb = find_lemma(first_word)
    is_imperative = verb is not None and verb.base == first_word
    return is_imperative and not asks_for_work(sentence)


def _quote_sentence(sentence: TextSentence, text: str) -> str:
    return trim_quote(text[sentence.start : sentence.start + len(sentence.text)])


def _is_cut_short(clause: EnglishClause) -> bool:
    """True for "my brother does not", and for moods: "I can't stop smiling"."""
    is_bare = not clause.rest and clause.verb in ("do", "be", "have", "can", "will")
    is_mood = clause.tense == "can" and clause.negated and clause.verb in _MOODS
    return is_bare or is_mood


def _is_not_stated(clause: EnglishClause, before: str) -> bool:
    """True for a guess, a wish, and what is only supposed."""
    is_wish = clause.tense == "would" and clause.verb not in ("like", "love", "prefer")
    is_exaggerated = any(word.lower in _EXAGGERATIONS for word in clause.rest)
    is_others_thought = clause.person == "other" and clause.verb in ("think", "reckon", "guess")
    is_unreal = clause.hedged or is_exaggerated or is_wish or clause.verb == "wish"
    is_unreal = is_unreal or is_others_thought or _is_cut_short(clause)
    words = " ".join(word.lower for word in clause.rest)
    is_unreal = is_unreal or bool(_ASKS_FOR.match(words) or _DOUBTED.search(words))
    return is_unreal or says_nothing(clause) or _is_supposed(before, clause)


def _find_lead(clause: EnglishClause) -> int:
    """Find where a clause begins with its time: "last Tuesday, I"."""
    return min([clause.start, *(word.start for word in clause.lead)])


def _is_supposed(before: str, clause: EnglishClause) -> bool:
    """True for a guess, purpose or later time: ``so I can draw``."""
    if clause.tense in _LASTING | {"perfect"} and _COMING.search(before):
        return True
    is_purpose = clause.tense == "can" and _PURPOSE.search(before) is not None
    return is_purpose or _GUESSED.search(before) is not None


def _drop_times(
    words: tuple[ClauseToken, ...], times: Sequence[TimeSpan]
) -> tuple[ClauseToken, ...]:
    return tuple(
        word
        for word in words
        if not any(span.at <= word.start < span.at + len(span.text) for span in times)
    )


def _reject_value(
    candidate: CandidateStatement, clause: EnglishClause, words: Sequence[ClauseToken], text: str
) -> CandidateStatement:
    """Read the rejected value of ``I live in Berlin, not Paris``."""
    after = [word for word in words if word.start >= clause.end]
    if candidate.denies_event or not candidate.object or len(after) <= 2:
        return candidate
    body = after[2:]
    if [word.lower for word in after[:2]] != [",", "not"] or body[0].lower in _NO_VALUE:
        return candidate
    if body[0].lower in PREPOSITIONS | DETERMINERS:
        body = body[1:]
    end = next((i for i, word in enumerate(body) if not word.text[0].isalnum()), len(body))
    if not 0 < end <= _MOST_REJECTED:
        return candidate
    quote_start = text.rfind(candidate.evidence[0].quote, 0, body[0].start)
    quote = text[quote_start : body[end - 1].end] if quote_start >= 0 else candidate.text
    return replace(
        candidate,
        text=collapse_space(quote),
        effect="corrects",
        wrong_value=text[body[0].start : body[end - 1].end],
        kind=Kind.CORRECTION if candidate.kind is Kind.FACT else candidate.kind,
    )
