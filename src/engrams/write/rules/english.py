"""English statements to candidates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from engrams.text.when import Span
from engrams.types import Evidence, Kind
from engrams.write.candidate import Candidate
from engrams.write.rules import dates, render
from engrams.write.rules.actions import doing
from engrams.write.rules.attribute import attribute, holder, moved
from engrams.write.rules.clauses import Clause, clauses
from engrams.write.rules.copula import being
from engrams.write.rules.lexicon import DETERMINERS, PREPOSITIONS
from engrams.write.rules.predicates import RELATIONS
from engrams.write.rules.reading import Reading, Speech, trimmed
from engrams.write.rules.segment import Sentence, sentences
from engrams.write.rules.tokens import Token, tokens
from engrams.write.slots import is_single, same

_PRAISE = ("that's", "that is", "it's", "sounds", "what a", "is ")
_RECENT = timedelta(days=62)
_BEFORE = re.compile(r"\b(on|in|at|since|until|by|during|around|after|before)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Subject:
    """``key``: canonical; ``shown``: as it stands at the head of a sentence; ``hearsay``: another speaker."""

    key: str
    shown: str
    hearsay: bool = False
    extra: tuple[Candidate, ...] = ()


def english(text: str, speech: Speech, begin: int = 0) -> list[Candidate]:
    """The statements of one English text from ``begin`` on, in order."""
    found: list[Candidate] = []
    times = dates.spans(text, speech.said)
    names = speech.names
    last: Subject | None = None
    said = list(sentences(text, begin))
    for sentence, following in zip(said, [*said, None][1:], strict=True):
        if sentence.modality != "asserted":
            continue
        words = tokens(sentence.text, sentence.start)
        for whole in clauses(words, names, elide=_may_elide(sentence, following, speech)):
            if whole.hedged:
                continue
            clause = replace(whole, rest=_unnamed(whole.rest, names))
            subject = _subject(clause, text, speech, last)
            if subject is None:
                continue
            if clause.person == "other":
                last = subject
            found += [_corrected(candidate, clause, words, text) for candidate in _read(clause, text, subject, speech, times)]
    return found


def _read(clause: Clause, text: str, subject: Subject, speech: Speech, times: Sequence[Span]) -> list[Candidate]:
    if (
        clause.person == "other"
        and clause.owner[0].lower in ("my", "our", "the")
        and clause.verb == "be"
        and (owned := attribute(clause, text, speech, times))
    ):
        return [owned]
    if clause.person == "other" and (renewed := moved(clause, text, speech, times)):
        return [renewed]
    if clause.person == "other" and clause.owner[0].lower == "the":
        return []
    if clause.person == "other" and clause.verb == "be" and (held := holder(clause, text, speech)):
        return [held]
    times = dates.ahead(times, speech.said) if clause.tense in ("present", "future", "progressive", "must") else times
    lasting = any(word.lower in ("since", "for") for word in clause.rest)
    untimed = replace(clause, rest=_untimed(clause.rest, times), lasting=lasting)
    reading = being(untimed, speech) if clause.verb == "be" else doing(untimed, speech)
    if reading is None:
        return []
    main = _candidate(reading, clause, text, subject, speech, times)
    extra = [_aside(more, clause, subject, main) for more in reading.extra]
    return [main, *extra, *subject.extra]


def _may_elide(sentence: Sentence, following: Sentence | None, speech: Speech) -> bool:
    """Whether a sentence may leave out its "I": not in the middle of one, and not where it is what the next one praises."""
    if sentence.text[:1].islower() and sentence.start > 0 and not speech.lower:
        return False
    return following is None or not following.text.lower().startswith(_PRAISE)


def _unnamed(words: tuple[Token, ...], names: frozenset[str]) -> tuple[Token, ...]:
    """Without the person spoken to at the end: ``I love the thought Nate``."""
    if (
        len(words) > 2
        and words[-1].lower in names
        and words[-2].lower not in PREPOSITIONS | DETERMINERS
        and words[-2].lower not in ("and", "to")
    ):
        return words[:-1]
    return words


def _untimed(words: tuple[Token, ...], times: Sequence[Span]) -> tuple[Token, ...]:
    """The tokens outside every time expression; a verb's object is not a date."""
    if not times:
        return words
    return tuple(word for word in words if not any(span.at <= word.start < span.at + len(span.text) for span in times))


def _candidate(reading: Reading, clause: Clause, text: str, subject: Subject, speech: Speech, times: Sequence[Span]) -> Candidate:
    rest = trimmed(clause.rest)
    start = min([clause.start, *(word.start for word in clause.lead)])
    found = dates.within(times, start, clause.end)
    name = "" if clause.person != "other" else speech.speaker
    words = render.speak(text, rest[0].start, rest[-1].end, found, name) if rest else ""
    if clause.infinitive and rest and rest[0].lower != "to":
        words = f"to {words}"
    when = dates.dated(found)
    late = _late(text, when) if when and when.at < clause.start else ""
    verb = render.verb(clause)
    effect = reading.effect
    value = reading.value or render.value(reading.object, text, found, name)
    begun, settled = _validity(reading, found, when, text[clause.start : clause.end], speech.said)
    predicate = same(reading.predicate)
    if reading.predicate == "nationality_is":
        predicate = "nationality_is"
    return Candidate(
        text=render.sentence(subject.shown, verb, words, late),
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
        evidence=(speech.evidence(text[clause.start : clause.end].strip()),),
        confidence=reading.confidence,
        importance=reading.importance,
        trust=speech.trust,
        said_at=speech.said,
        valid_from=begun,
        settled=settled,
        reason=f"rule {clause.verb}",
    )


def _late(text: str, when: Span) -> str:
    """A time that stood before the subject, as it stands at the end: ``In 2015 I moved`` gives ``in 2015``."""
    before = _BEFORE.search(text[: when.at])
    spelled = render.speak(text, when.at, when.at + len(when.text), (when,))
    return f"{before[1].lower()} {spelled}" if before and not spelled.split(" ")[0].islower() else spelled


def _aside(reading: Reading, clause: Clause, subject: Subject, main: Candidate) -> Candidate:
    """A second fact of the same words: ``works at Acme as an engineer`` is also a job."""
    value = " ".join(word.text for word in reading.object)
    article = "an" if value[:1].lower() in "aeiou" else "a"
    words = (
        f"works as {article} {value}"
        if reading.predicate == "job"
        else (f"{'works at' if reading.predicate == 'works_at' else 'uses'} {value}")
    )
    return replace(
        main,
        text=render.sentence(subject.shown, words),
        predicate=reading.predicate,
        object=value,
        category=reading.category,
        effect=reading.effect if reading.effect != "states" else "states",
        single=is_single(reading.predicate),
        confidence=reading.confidence,
        reason=f"rule {clause.verb} aside",
    )


def _validity(
    reading: Reading, found: Sequence[Span], when: Span | None, quote: str, said: datetime
) -> tuple[datetime | None, datetime | None]:
    """When it began to be so, and the end of the span that says so: an event has a date, a state may have lasted for years."""
    lasting = next((span for span in found if span.text.lower().startswith("since") and span.start <= said), None)
    if lasting:
        return lasting.start, said
    if reading.event or reading.effect in ("changes", "ends"):
        if when is not None and when.start <= said:
            # Whoever moved last month lives there now, whatever was said in the same month.
            recent = when.grain in ("week", "weekend", "month") and said - when.end < _RECENT
            return when.start, said if recent else min(when.end, said)
        return (said, said) if reading.effect in ("changes", "ends") else (None, said)
    return dates.since(quote, said), said


def _subject(clause: Clause, text: str, speech: Speech, last: Subject | None) -> Subject | None:
    if clause.person != "other":
        return Subject(speech.subject, speech.speaker)
    first = clause.owner[0].lower
    if first in ("he", "she"):
        return replace(last, extra=()) if last and not last.key.startswith("the ") else None
    shown = render.speak(text, clause.owner[0].start, clause.owner[-1].end, (), speech.speaker)
    if first == "the":
        return Subject(shown.partition(" ")[2], shown)
    if first not in ("my", "our"):
        other = shown.lower() in speech.names and shown.lower() != speech.speaker.lower()
        return Subject(shown, shown, hearsay=other)
    words = clause.owner[1:]
    at = next((i for i, word in enumerate(words) if word.lower in RELATIONS), None)
    owner = "user" if speech.subject == "user" else speech.subject
    if at is not None and at + 1 < len(words) and words[at + 1].text[0].isupper() and words[at + 1].text.isalpha():
        name = " ".join(word.text for word in words[at + 1 : at + 3] if word.text[0].isupper())
        relation = words[at].lower
        known = Candidate(
            text=render.sentence(speech.speaker + "'s", relation, "is", name), subject=speech.subject, predicate=relation, object=name,
            category="family",
            evidence=(Evidence(text[clause.owner[0].start : clause.owner[-1].end], speech.source, ""),), confidence=0.8, importance=0.7,
            trust=speech.trust, said_at=speech.said, reason="rule relation",
        )  # fmt: skip
        return Subject(name, shown, extra=(known,))
    noun = " ".join(word.lower for word in words)
    return Subject(f"{owner}'s {noun}", shown)


def _corrected(candidate: Candidate, clause: Clause, words: Sequence[Token], text: str) -> Candidate:
    """``I live in Berlin, not Paris``: the value that was wrong."""
    after = [word for word in words if word.start >= clause.end]
    if len(after) > 2 and after[0].lower == "," and after[1].lower == "not" and candidate.object:
        body = after[2:]
        if body and body[0].lower in PREPOSITIONS | DETERMINERS:
            body = body[1:]
        end = next((i for i, word in enumerate(body) if not word.text[0].isalnum()), len(body))
        if 0 < end <= 4:
            wrong = text[body[0].start : body[end - 1].end]
            return replace(
                candidate, effect="corrects", instead=wrong, kind=Kind.CORRECTION if candidate.kind is Kind.FACT else candidate.kind
            )
    return candidate
