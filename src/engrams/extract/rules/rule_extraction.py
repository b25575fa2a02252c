"""Extraction by rules: facts, standing rules, procedures and corrections.

Enter at ``extract_statements``; ``read_clauses`` gives every clause, for training the judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.extract.rules.answer_rules import asks_for_good
from engrams.extract.rules.clause_judge import ClauseView, is_kept, tells_illness
from engrams.extract.rules.clause_quote import collapse_space, trim_quote
from engrams.extract.rules.clause_times import date_statement
from engrams.extract.rules.conventions import holds_from_now, tells_status
from engrams.extract.rules.corrections import extract_correction
from engrams.extract.rules.english_reader import read_english
from engrams.extract.rules.fact_gate import is_sound
from engrams.extract.rules.grave_news import find_grave_news, is_medical_report
from engrams.extract.rules.home_address import find_home_address
from engrams.extract.rules.instructions import (
    cut_request_behind,
    extract_command,
    extract_procedure,
    parse_remember,
)
from engrams.extract.rules.languages.other_words import find_others
from engrams.extract.rules.languages.sentence_matcher import extract_foreign, is_imagined
from engrams.extract.rules.loose_clauses import (
    find_allergic,
    find_habit_of,
    is_of_the_moment,
    is_piece_of_list,
    is_without_self,
    points_outside,
    quote_loosely,
    split_loosely,
    tells_habit,
)
from engrams.extract.rules.named_people import list_people
from engrams.extract.rules.problem_reports import reports_problem
from engrams.extract.rules.read_clause import ReadClause
from engrams.extract.rules.sentence_segmenter import TextSentence, split_sentences
from engrams.extract.rules.standing_sentences import tells_moment
from engrams.extract.rules.thing_facts import extract_thing, split_thing
from engrams.extract.rules.utterance import UtteranceContext
from engrams.frozen_data import replace
from engrams.text.times import detect_language
from engrams.text.vocabulary import word_pattern

_MOST = 24
_SHORTEST = 6
_SHORTEST_UNSPACED = 4
"""Characters of the shortest piece of a sentence that is looked at; the second of Chinese and Japanese."""
_OWN = re.compile(r"\b(?:I|my|me|we|our|us)\b|\d|(?<![.!] )(?<!  )\b[A-Z]")
_NOT_VERBATIM = (
    "to ", "me ", "when ", "how ", "what ", "the time", "my request", "you ",
)  # fmt: skip
_DIED = re.compile(
    r"\b(?:died|dead|passed away|gestorben|verstorben|tot|falleci\w*|muri[oó]|muert[oa]|décédée?|mort|morte)\b|去世|过世|亡くな",
    re.IGNORECASE,
)
"""Somebody who died is nobody's husband or wife any more."""
_OF_WORK = frozenset(("knowledge", "preference", "possession", "context"))
"""Categories of what a person says of the work on a project: "I prefer the second version"."""
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n")
_WIDE_CATEGORIES = frozenset(("knowledge", "identity"))
"""Categories that say little about what is said in a fact."""
_WHOLE = 0.75
"""Share of a sentence that a fact quotes, from which the fact says all of it."""


def extract_statements(text: str, speech: UtteranceContext) -> tuple[CandidateStatement, ...]:
    """Extract the distinct statements of ``text`` in order, at most 24.

    Never raises for any text; under 1 ms for an ordinary turn.
    """
    request = parse_remember(text)
    if not any(map(str.isupper, text)):
        speech = replace(speech, is_lowercase=True)
    kept: list[ReadClause] = []
    for clause in read_clauses(text, speech, request.at):
        is_told = any(clause.start < one.end and one.start < clause.end for one in kept)
        is_doubled = clause.view.is_grave and is_told
        if not is_doubled and (clause.is_sure or is_kept(clause.view)) and clause.candidates:
            kept.append(clause)
    facts = [
        candidate
        for clause in kept
        for candidate in _name_people(clause.candidates, speech)
        if is_sound(candidate)
        and (request.explicit or not _is_passing_state(candidate, speech, text))
    ]
    candidates = _read_sentence_rules(text, speech, request.at, facts)
    procedure = extract_procedure(text, speech)
    if procedure is not None:
        # Its steps and warnings hold while it is followed. Alone they are no rules.
        instructions = procedure.evidence[0].quote
        candidates = [
            candidate for candidate in candidates if candidate.evidence[0].quote not in instructions
        ]
        candidates.insert(0, procedure)
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
        date_statement(_mark_goal(candidate), text, speech.local_time)
        for candidate in [*distinct.values()][:_MOST]
    )


def _mark_goal(candidate: CandidateStatement) -> CandidateStatement:
    """Return a fact with the category of goals if it names one: "my goal is to learn Danish"."""
    if candidate.kind is not Kind.FACT or candidate.category not in _WIDE_CATEGORIES:
        return candidate
    is_goal = word_pattern(__file__, "goals").search(candidate.text.lower()) is not None
    return replace(candidate, category="goal") if is_goal else candidate


def _is_passing_state(
    candidate: CandidateStatement, speech: UtteranceContext, message: str
) -> bool:
    """True for what is so with a project's things at the moment: "the invoice tests fail in CI"."""
    if not speech.project or candidate.effect != "states" or candidate.valid_from is not None:
        return False
    quote = candidate.evidence[0].quote if candidate.evidence else ""
    following = _SENTENCE_END.split(message.partition(quote)[2], maxsplit=1)[0] if quote else ""
    if following and reports_problem(f"{quote}{following}", needs_defect=True):
        return True
    is_of_person = candidate.subject.split("'s ")[0] == speech.subject
    if is_of_person:
        return candidate.category in _OF_WORK and tells_moment(candidate.text, is_choice=True)
    return tells_status(candidate.text) or tells_moment(candidate.text, is_choice=True)


def is_explicit(text: str) -> bool:
    """True if the text asks for something to be remembered."""
    return parse_remember(text).explicit


def read_clauses(text: str, speech: UtteranceContext, begin: int = 0) -> list[ReadClause]:
    """Read the clauses of a text from ``begin`` on, in order, whatever they are worth."""
    language = detect_language(text)
    sentences = split_sentences(text, begin)
    clauses = read_english(text, speech, sentences) if language == "en" else []
    for candidate in extract_foreign(text, speech):
        start = text.find(candidate.evidence[0].quote)
        view = ClauseView(candidate.text, "", "", 0, 1, language)
        if candidate.category == "event" and is_of_the_moment(candidate.text, language):
            continue
        # Who a relative is, or how: a job, or a remark.
        is_sure = candidate.category != "event" and candidate.predicate != "is"
        clauses.append(ReadClause(view, (candidate,), start, start + len(candidate.text), is_sure))
    home = _read_home(text, speech, sentences, language)
    if home is not None and not any(_tells_address(clause, home) for clause in clauses):
        clauses = [clause for clause in clauses if not _repeats(clause, home)]
        clauses.append(home)
    clauses += _read_loose(text, speech, sentences, clauses, language)
    return clauses + _read_grave(text, speech, sentences, language)


def _repeats(clause: ReadClause, home: ReadClause) -> bool:
    """True for a clause about an address of which only the words were understood."""
    is_told = any(candidate.predicate not in ("", "is") for candidate in clause.candidates)
    return not is_told and clause.start < home.end and home.start < clause.end


def _read_home(
    text: str, speech: UtteranceContext, sentences: Sequence[TextSentence], language: str
) -> ReadClause | None:
    """Read the address of the speaker's home."""
    home = find_home_address(text, sentences)
    if home is None:
        return None
    address, start, end = home
    quote = trim_quote(text[start:end])
    statement = speech.make_statement(
        quote,
        predicate="address",
        object=address,
        category="identity",
        single=True,
        reason="home address",
    )
    view = ClauseView(collapse_space(quote), "", "", 0, len(sentences), language)
    return ReadClause(view, (statement,), start, end, is_sure=True)


def _tells_address(clause: ReadClause, home: ReadClause) -> bool:
    """True for a clause from which the address was understood already."""
    address = home.candidates[0].object
    return any(
        address in candidate.object and candidate.predicate != "is"
        for candidate in clause.candidates
    )


def _read_sentence_rules(
    text: str, speech: UtteranceContext, begin: int, facts: Sequence[CandidateStatement]
) -> list[CandidateStatement]:
    """Read commands, facts about things and corrections, at most one of each sentence.

    ``begin``: position from which the text says something. ``facts``: made of its clauses.
    """
    candidates: list[CandidateStatement] = []
    for sentence, is_requested in _list_requested(split_sentences(text)):
        if sentence.is_question and asks_for_good(sentence.text):
            candidates += filter(None, [extract_command(sentence, text, speech)])
            continue
        if sentence.modality not in ("asserted", "hypothetical") or sentence.is_question:
            continue
        candidate = _read_sentence_rule(sentence, text, speech, begin, facts)
        if not is_requested:
            candidates += filter(None, [candidate])
            continue
        quote = text[sentence.start : sentence.start + len(sentence.text)]
        if candidate is not None:
            candidates.append(_strengthen_requested(candidate, speech))
        elif not any(fact.evidence[0].quote in quote for fact in facts):
            candidates += _build_verbatim(quote, speech)
    return candidates


def _list_requested(sentences: Sequence[TextSentence]) -> list[tuple[TextSentence, bool]]:
    """List sentences and whether a request behind them asks to remember them, without that request.

    "Remember that." as a sentence of its own is about the one before it.
    """
    listed: list[tuple[TextSentence, bool]] = []
    for sentence in sentences:
        words = cut_request_behind(sentence.text)
        if words is None:
            listed.append((sentence, False))
        elif words.strip():
            listed.append((replace(sentence, text=words), True))
        elif listed:
            listed[-1] = (listed[-1][0], True)
    return listed


def _read_sentence_rule(
    sentence: TextSentence,
    text: str,
    speech: UtteranceContext,
    begin: int,
    facts: Sequence[CandidateStatement],
) -> CandidateStatement | None:
    """Read a command, a fact about a thing or a correction from a sentence."""
    has_triple = any(fact.predicate and fact.evidence[0].quote in sentence.text for fact in facts)
    has_fact = any(
        (fact.predicate or fact.subject != "user")
        and (quote := fact.evidence[0].quote) in sentence.text
        and len(quote) >= _WHOLE * len(sentence.text)
        for fact in facts
    )
    thing = None
    if sentence.modality == "asserted":
        thing = extract_thing(sentence, text, speech, begin, has_triple) or extract_correction(
            sentence, text, speech
        )
    # "The staging DB is on port 5544" has a slot, by which a later value ends it.
    # "No, the cart uses Zustand from now on" is a convention, whatever it corrects.
    is_replaced = (
        thing is not None and thing.kind is Kind.CORRECTION and holds_from_now(sentence.text)
    )
    has_fact = has_fact or (thing is not None and bool(thing.predicate) and not is_replaced)
    return extract_command(sentence, text, speech, has_fact=has_fact) or thing


def _read_grave(
    text: str, speech: UtteranceContext, sentences: Sequence[TextSentence], language: str
) -> list[ReadClause]:
    """Read losses and illness, which need no judge."""
    news = find_grave_news(sentences, language)
    others = find_others(text) if news else ()
    read = []
    for index, start, end in news:
        quote = trim_quote(text[start:end])
        is_other = any(begin < end and start < stop for begin, stop in others)
        if (is_other or is_imagined(quote, language)) and not is_medical_report(quote):
            continue
        view = ClauseView(
            collapse_space(quote), "", "", index, len(sentences), language, is_grave=True
        )
        statement = speech.make_statement(quote, category="health", reason="loss or illness")
        read.append(ReadClause(view, (statement,), start, end, is_sure=True))
    return read


def _name_people(
    candidates: Sequence[CandidateStatement], speech: UtteranceContext
) -> list[CandidateStatement]:
    """Add a statement for each of the people whom a clause names, with their age."""
    people = list_people(candidates[0].text) if candidates else []
    if people and _DIED.search(candidates[0].text):
        return list(candidates)
    is_told = bool(candidates) and candidates[0].predicate not in ("", "has")
    if not people or (is_told and len(people) == 1 and not people[0].age):
        return list(candidates)
    names = {person.name for person in people}
    relations = {person.relation for person in people}
    told = [
        candidate
        for candidate in candidates
        if candidate.predicate not in ("", "has")
        and not any(name in candidate.object for name in names)
        and candidate.predicate not in relations
    ]
    for person in people:
        quote = candidates[0].evidence[0].quote
        relation = canonical_predicate(person.relation)
        triples = [(speech.subject, relation, person.name, "family")]
        if person.age:
            triples.append((person.name, "age", person.age, "identity"))
        told += [
            replace(
                speech.make_statement(quote, reason="named"),
                text=candidates[0].text,
                subject=subject,
                predicate=predicate,
                object=value,
                category=category,
                single=is_single(predicate),
            )
            for subject, predicate, value, category in triples
        ]
    return told


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
    is_sentence = " " in line and not line.endswith("?")
    if not is_sentence or line.lower().startswith(_NOT_VERBATIM):
        return []
    if speech.speaker != "the user" and not _OWN.search(line[1:]):
        return []  # advice to the other speaker
    head, addressed, _ = line.partition(",")
    if addressed and head.lower() in speech.names:
        return []
    subject, predicate, thing = split_thing(line, speech)
    return [
        speech.make_statement(
            line,
            text=collapse_space(line),
            subject=subject,
            predicate=predicate,
            object=thing,
            confidence=0.9,
            importance=0.8,
            reason="asked to remember",
        )
    ]


def _read_loose(
    text: str,
    speech: UtteranceContext,
    sentences: Sequence[TextSentence],
    clauses: Sequence[ReadClause],
    language: str,
) -> list[ReadClause]:
    """Read the pieces of sentences that say "I" and that no other rule has read.

    Each piece becomes a statement about its speaker, without predicate and object. Pieces of a task,
    a quotation or a fiction are left out.
    """
    loose: list[ReadClause] = []
    foreign_spans: Sequence[tuple[int, int]] | None = None
    for index, sentence in enumerate(sentences):
        if sentence.modality != "asserted":
            continue
        stop = sentence.start + len(sentence.text)
        for start, end in split_loosely(sentence, language, is_private=not speech.project):
            if any(start < clause.end and clause.start < end for clause in clauses):
                continue
            quote = quote_loosely(text, start, end)
            shortest = _SHORTEST_UNSPACED if language in ("zh", "ja") else _SHORTEST
            is_cut = len(quote) < shortest or points_outside(quote, language)
            if is_cut or is_imagined(quote, language) or is_of_the_moment(quote, language):
                continue
            if is_piece_of_list(quote, language):
                continue
            # Looked for last: few messages have a piece that nothing has read.
            if foreign_spans is None:
                foreign_spans = find_others(text)
            if any(
                span_start < stop and sentence.start < span_end
                for span_start, span_end in foreign_spans
            ):
                continue
            view = ClauseView(
                quote=collapse_space(quote),
                before=text[sentence.start : start],
                mark=text[end : end + 1].strip(),
                index=index,
                sentences=len(sentences),
                language=language,
                is_dated=is_without_self(quote, language),
            )
            allergic = find_allergic(quote)
            habit_of = find_habit_of(quote, language)
            person, allergen = allergic or (habit_of or speech.subject, "")
            statement = speech.make_statement(
                quote,
                text=collapse_space(quote),
                subject=person,
                predicate="allergic_to" if allergen else "",
                object=allergen,
                category="health" if allergic or tells_illness(quote) else "knowledge",
                confidence=0.7,
                importance=0.5,
                reason="clause",
            )
            is_about_named = allergic or habit_of or list_people(quote)
            is_sure = bool(is_about_named) or tells_habit(quote, language)
            loose.append(ReadClause(view, (statement,), start, end, is_sure))
    return loose
