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
from engrams.write.rules.being import being
from engrams.write.rules.clauses import Sentence, sentences
from engrams.write.rules.doing import doing
from engrams.write.rules.grammar import Clause, Token, clauses, tokens
from engrams.write.rules.lexicon import DETERMINERS, PREPOSITIONS, lemma
from engrams.write.rules.predicates import RELATIONS
from engrams.write.rules.speech import Reading, Speech, concrete, proper, trimmed
from engrams.write.slots import ATTRIBUTES, is_single, same

_PRAISE = ("that's", "that is", "it's", "sounds", "what a", "is ")
_RECENT = timedelta(days=62)
_BEFORE = re.compile(r"\b(on|in|at|since|until|by|during|around|after|before)\s+$", re.IGNORECASE)
_PLAIN_BE = frozenset(("present", "past"))
_MOODS = frozenset(
    """
    great good nice cool awesome amazing fine ok okay happy sad excited proud glad sorry tired busy sure ready lucky grateful thankful done gone here there
    hard tough easy fun cute sweet adorable beautiful wonderful fantastic perfect important special true right wrong over so really very pretty too all just doing going
    also always still not important key crucial essential worth way such like about what how why when where
    """.split()
)


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
    for sentence, following in zip(said, [*said[1:], None], strict=True):
        if sentence.modality != "asserted":
            continue
        words = tokens(sentence.text, sentence.start)
        for clause in clauses(words, names, elide=_may_elide(sentence, following, speech)):
            if clause.hedged:
                continue
            clause = replace(clause, rest=_unnamed(clause.rest, names))
            subject = _subject(clause, text, speech, last)
            if subject is None:
                continue
            if clause.person == "other":
                last = subject
            for candidate in _read(clause, text, subject, speech, times):
                found.append(_corrected(candidate, clause, words, text))
    return found


def _read(clause: Clause, text: str, subject: Subject, speech: Speech, times: Sequence[Span]) -> list[Candidate]:
    if clause.person == "other" and clause.owner[0].lower in ("my", "our", "the") and clause.verb == "be" and (attribute := _attribute(clause, text, speech, times)):
        return [attribute]
    if clause.person == "other" and (moved := _moved(clause, text, speech, times)):
        return [moved]
    if clause.person == "other" and clause.owner[0].lower == "the":
        return []
    if clause.person == "other" and clause.verb == "be" and (held := _holder(clause, text, speech)):
        return [held]
    untimed = replace(clause, rest=_untimed(clause.rest, times))
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
    if len(words) > 2 and words[-1].lower in names and words[-2].lower not in PREPOSITIONS | DETERMINERS and words[-2].lower not in ("and", "to"):
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
    value = reading.value or _value(reading.object, text, found, name)
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
        evidence=(Evidence(text[clause.start : clause.end].strip(), speech.source, "" if speech.speaker == "the user" else speech.speaker),),
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
    verb = "works as" if reading.predicate == "job" else "works at"
    words = f"{verb} {article} {value}" if reading.predicate == "job" else f"{verb} {value}"
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


def _validity(reading: Reading, found: Sequence[Span], when: Span | None, quote: str, said: datetime) -> tuple[datetime | None, datetime | None]:
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


def _value(words: Sequence[Token], text: str, found: Sequence[Span], name: str) -> str:
    """The object's words without the times among them."""
    if not words:
        return ""
    start, end = words[0].start, words[-1].end
    parts: list[str] = []
    at = start
    for span in found:
        if at <= span.at < end:
            parts.append(text[at : span.at])
            at = max(at, min(end, span.at + len(span.text)))
    parts.append(text[at:end])
    joined = " ".join(part.strip() for part in parts if part.strip())
    bare = render.speak(joined, 0, len(joined), (), name)
    pieces = bare.split()
    while len(pieces) > 1 and (pieces[-1].lower() in PREPOSITIONS or pieces[-1].lower() in DETERMINERS or pieces[-1].lower() in ("and", "to", ",")):
        pieces.pop()
    while len(pieces) > 1 and pieces[0].lower() in ("a", "an", "the", "to", "some"):
        pieces.pop(0)
    return " ".join(pieces).strip(" ,")


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
            text=render.sentence(speech.speaker + "'s", relation, "is", name), subject=speech.subject, predicate=relation, object=name, category="family",
            evidence=(Evidence(text[clause.owner[0].start : clause.owner[-1].end], speech.source, ""),), confidence=0.8, importance=0.7,
            trust=speech.trust, said_at=speech.said, reason="rule relation",
        )  # fmt: skip
        return Subject(name, shown, extra=(known,))
    noun = " ".join(word.lower for word in words)
    return Subject(f"{owner}'s {noun}", shown)


def _attribute(clause: Clause, text: str, speech: Speech, times: Sequence[Span]) -> Candidate | None:
    """``my favorite color is blue``, ``my sister's name is Anna``, ``the deadline is April 15``."""
    rest = trimmed(clause.rest)
    if clause.tense not in _PLAIN_BE or not rest or clause.negated:
        return None
    owner = [word for word in clause.owner if word.lower not in ("new", "current", "actual", "own", "official")]
    if any(word.lower in ("old", "former", "previous", "ex", "last", "first", "next") for word in owner) or len(owner) < 2:
        return None
    things = [word.lower for word in owner[1:] if word.lower != "'s"]
    noun = things[-1]
    named = proper(rest) if rest[0].text[0].isupper() and owner[0].lower in ("my", "our") else ()
    favorite = next((word for word in things[:-1] if word in ("favorite", "favourite", "fave", "fav")), "")
    relation = noun in RELATIONS and noun not in ("team", "crew", "family", "boss", "manager")
    if relation and not named and "'s" not in [word.lower for word in owner]:
        return None
    if not (favorite or noun in ATTRIBUTES or named) or (rest[0].lower in _MOODS and not rest[0].text[0].isdigit()) or not any(char.isalnum() for word in rest for char in word.text):
        return None
    if rest[0].lower.endswith("ing") and rest[0].text.islower() and not favorite:
        return None
    if clause.tense == "past" and not favorite:
        return None
    if not concrete(rest) and not any(word.text[0].isdigit() for word in rest):
        return None
    possessive = next((i for i, word in enumerate(owner) if word.lower == "'s"), 0)
    mine = owner[0].lower in ("my", "our")
    found = dates.within(times, clause.start, clause.end)
    if possessive:
        holder = " ".join(word.lower for word in owner[1:possessive])
        subject = f"{speech.subject if mine else ''}'s {holder}".removeprefix("'s ")
        predicate = same("_".join(word.lower for word in owner[possessive + 1 :]))
    elif mine and (favorite or named or _personal(things)):
        subject, predicate = speech.subject, same("_".join("favorite" if word == favorite else word for word in things))
    elif mine:
        subject, predicate = f"{speech.subject}'s {' '.join(things)}", "is"
    else:
        subject, predicate = " ".join(things), "is"
    shown = render.speak(text, owner[0].start, owner[-1].end, (), speech.speaker)
    words = render.speak(text, rest[0].start, rest[-1].end, found, speech.speaker)
    value = words.removeprefix("on ").removeprefix("in ") if found else _value(proper(rest) if predicate in ("is_named", "married_to", "dating") and proper(rest) else rest, text, (), speech.speaker)
    return Candidate(
        text=render.sentence(shown, "was" if clause.tense == "past" else "is", words),
        kind=Kind.PREFERENCE if favorite else Kind.FACT,
        subject=subject,
        predicate=predicate,
        object=value,
        category="preference" if favorite else "identity" if predicate != "is" else "knowledge",
        single=bool(favorite) or is_single(predicate, subject) or (bool(named) and not relation and not noun.endswith("s")),
        evidence=(Evidence(text[clause.start : clause.end].strip(), speech.source, "" if speech.speaker == "the user" else speech.speaker),),
        confidence=0.9,
        importance=0.7,
        trust=speech.trust,
        said_at=speech.said,
        settled=speech.said,
        reason="rule attribute",
    )


_MOVES = frozenset("change move extend push postpone reschedule update raise increase reduce shift delay switch bump drop".split())


def _moved(clause: Clause, text: str, speech: Speech, times: Sequence[Span]) -> Candidate | None:
    """``the deadline was moved to June 10``, ``the budget has changed to 7000``: a property has a new value."""
    rest = clause.rest
    if clause.owner[-1].lower in RELATIONS or clause.owner[-1].text[0].isupper():
        return None
    if rest and clause.verb == "be" and (known := lemma(rest[0].lower)) and known[0] in _MOVES:
        rest = rest[1:]
    elif clause.verb not in _MOVES or clause.tense not in ("past", "perfect"):
        return None
    at = max((i for i, word in enumerate(rest) if word.lower == "to"), default=None)
    if at is None or at + 1 >= len(rest) or clause.negated:
        return None
    made = _attribute(replace(clause, verb="be", tense="present", rest=rest[at + 1 :]), text, speech, times)
    if made is None:
        return None
    return replace(made, effect="changes", valid_from=speech.said, reason="rule attribute changed")


def _holder(clause: Clause, text: str, speech: Speech) -> Candidate | None:
    """``Kim is my manager now``: the attribute said the other way round."""
    rest = trimmed(clause.rest)
    noun = rest[-1].lower if rest else ""
    if clause.tense != "present" or clause.negated or not 1 < len(rest) <= 4 or rest[0].lower not in ("my", "our") or noun not in ATTRIBUTES | RELATIONS:
        return None
    if any(word.lower in ("old", "former", "ex", "favorite", "favourite", "best") for word in rest[1:-1]):
        return None
    name = text[clause.owner[0].start : clause.owner[-1].end]
    predicate = same(noun)
    return Candidate(
        text=render.sentence(name, "is", render.speak(text, rest[0].start, rest[-1].end, (), speech.speaker)), subject=speech.subject, predicate=predicate,
        object=name, category="identity", single=is_single(predicate),
        evidence=(Evidence(text[clause.start : clause.end].strip(), speech.source, "" if speech.speaker == "the user" else speech.speaker),),
        confidence=0.85, importance=0.7, trust=speech.trust, said_at=speech.said, settled=speech.said, reason="rule attribute",
    )  # fmt: skip


def _personal(things: list[str]) -> bool:
    """Whether the noun is an attribute of the person (my name, my job title) and not of a thing (my project deadline)."""
    return is_single("_".join(things)) or (len(things) == 1 and things[0] in ATTRIBUTES and things[0] not in ("car", "team", "plan", "project"))


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
            return replace(candidate, effect="corrects", instead=wrong, kind=Kind.CORRECTION if candidate.kind is Kind.FACT else candidate.kind)
    return candidate
