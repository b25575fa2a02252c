"""Hits that a later message makes outdated, though no change was certain when it came.

``mark_replaced`` is the way in. Two messages that answer the same prompt are mostly about the same
matter, and so are those between which a change seemed possible; a later one that says that a thing
is gone, or names another day, time or amount for it, puts the earlier one in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta

from engrams.core import Hit, Kind, OutdatedMark, Record
from engrams.core.tellers_clock import told_at
from engrams.frozen_data import dataclass
from engrams.read.excerpts import cut_sentences
from engrams.read.relevance.text_traits import describe_memory
from engrams.text.choosers import tells_choice_of_another
from engrams.text.clause_kinds import is_joke, is_of_years_before, may_end
from engrams.text.foreign_parts import blank_quoted_words
from engrams.text.introduced_values import introduces_known_value
from engrams.text.late_patterns import holds_any
from engrams.text.normalize import fold
from engrams.text.people import leaves_out_other_person, tells_of_companions_own
from engrams.text.stopwords import STOP
from engrams.text.terms import terms, tokens
from engrams.text.text_caches import text_cache
from engrams.text.told_apart import are_told_apart

_COMPARED = 12
"""Hits, best first, that are compared with each other."""
_ENDED_PROBABILITY = 0.7
"""Doubt where the later message says that what the earlier one names is gone."""
_VALUE_PROBABILITY = 0.55
"""Doubt where it only names another value for what seems to be the same."""
_FEWEST_COMMON = 2
"""Words that two messages about another value of one thing share at least."""
_MOST_WORDS = 30
"""Words of the longest text that is compared: longer ones share words and amounts by chance."""
_REPLY_WITHIN = timedelta(minutes=30)
_WORDS_BEFORE = 4
_WORDS_AFTER = 2
_WORDS_CHARACTERS = 200
_LONGEST = 1200
_SPOKEN_KINDS = (Kind.TURN, Kind.NOTE)

_GONE = re.compile(
    r"\b(?:(?:is|are|was|were|has|have|been|'s|hat|ist|sind|wird|wurde|wurden|est|sont|esta|fue|ha sido|se ha)\s+)"
    r"(?:\w+\s+){0,2}?(?:gone|removed|cancelled|canceled|retired|dropped|deprecated|deleted|dead|out of"
    r"|abgesagt|entfernt|abgeschafft|raus|weg|gekundigt|abgeloest|ersetzt|supprime\w*|annule\w*|termine\w*"
    r"|cancelad\w|eliminad\w|quitad\w|anulad\w)\b"
    r"|\bfliegt raus\b|\bfliegen raus\b|\bfallt weg\b|\bkilling me\b|\bgibt es nicht mehr\b|\bn'existe plus\b|\bya no existe\b"
)
"""Words that end the thing named before them."""
_AWAY = re.compile(
    r"\b(?:stopped|stopping|dropp(?:ed|ing)(?! \w+ (?:off|at|by|in)\b)|ditch(?:ed|ing)?|removed|replac(?:e|ed|es|ing)(?! by)|instead of"
    r"|rid of|rather than|mov(?:e|ed|ing) (?:away |over )?from|switch(?:ed|ing)? (?:away )?from|no longer (?:use|on|with|at)"
    r"|quit|cancelled|canceled|anstatt|anstelle|statt|ersetz(?:t|en)(?! durch)|abgesetzt|weg von|en vez de|en lugar de"
    r"|au lieu d[eu']|a la place d[eu']|remplac\w+(?! par)|sustitu\w+(?! por)|reemplaz\w+(?! por)|dej(?:o|e|ado) de|arrete\w*)\s+"
)
"""Words that end the thing named after them."""
_DOING = re.compile(r"(?:(?!thing|ring|king|string|spring)\w{2,}ing|\w{2,}[aei]r)\b")
"""Activity in front of the thing that it is done with: "drinking", "beber"."""
_DENIED = re.compile(r"(?:\bnot|n't|\bnever|\bnicht|\bnie|\bno|\bnunca|\bpas|\bjamais)\s+$")
"""Denial right before a word of an end: nothing ended."""
_CHANGED = re.compile(
    r"\b(?:now|nowadays|from now on|as of|chang(?:e|ed|es)|mov(?:e|ed|es|ing)|switch(?:ed|es|ing)?|instead|any ?more|no longer"
    r"|new|from \w+ \w+ on|since|rang|put (?:\w+ )?(?:up|down)|went (?:up|down)"
    r"|jetzt|ab sofort|neu\w*|verlegt\w*|verschoben\w*|geandert\w*|andert"
    r"|umgestellt|gewechselt|nunmehr|abgeschlossen|desormais|maintenant|deplac\w+|change\w*|pass(?:e|ee|es|ons) (?:a|au|en)|nouve\w+"
    r"|ahora|ya no|cambi\w+|nuev\w+|pas(?:a|o|amos|ado) a|traslad\w+)\b"
)
_CHANGE_WORDS = (
    "gone", "remov", "cancel", "retired", "drop", "deprecated", "deleted", "dead", "out of", "abgesagt", "entfernt",
    "abgeschafft", "raus", "weg", "gekundigt", "abgeloest", "ersetz", "supprim", "annul", "termine", "eliminad", "quit", "anulad",
    "fallt", "killing", "gibt es nicht", "n'existe", "existe", "stop", "ditch", "replac", "instead", "rid of", "rather than",
    "mov", "switch", "no longer", "anst", "statt", "abgesetzt", "en vez", "en lugar", "au lieu", "a la place", "remplac", "sustitu",
    "reemplaz", "dej", "arrete", "now", "as of", "chang", "any more", "anymore", "new", "from ", "since", "rang", "put ", "went ",
    "jetzt", "ab sofort", "neu", "verlegt", "verschoben", "andert", "umgestellt", "gewechselt", "nunmehr", "abgeschlossen",
    "desormais", "maintenant", "deplac", "pas", "nouve", "ahora", "ya no", "cambi", "nuev", "traslad",
)  # fmt: skip
"""Each match of the patterns of ends and changes holds one of these."""
_CAPITALISED = re.compile(r"\b[A-ZÀ-Þ]\w+")
_CLAUSE = re.compile(r"[.!?;:,\n]+\s+|\s[–—-]\s")
_SENTENCE = re.compile(r"[.!?;\n]+\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?;\n])\s+")
_WEEKDAYS: Mapping[str, str] = {
    word: day
    for day, words in {
        "mon": "monday mondays montag montags lundi lundis lunes",
        "tue": "tuesday tuesdays dienstag dienstags mardi mardis martes",
        "wed": "wednesday wednesdays mittwoch mittwochs mercredi mercredis miercoles",
        "thu": "thursday thursdays donnerstag donnerstags jeudi jeudis jueves",
        "fri": "friday fridays freitag freitags vendredi vendredis viernes",
        "sat": "saturday saturdays samstag samstags sonnabend samedi samedis sabado sabados",
        "sun": "sunday sundays sonntag sonntags dimanche dimanches domingo domingos",
    }.items()
    for word in words.split()
}
_NUMBERS: Mapping[str, str] = {
    word: str(number)
    for number, words in enumerate(
        (
            "one eins ein une un uno una",
            "two zwei deux dos",
            "three drei trois tres",
            "four vier quatre cuatro",
            "five funf cinq cinco",
            "six sechs seis",
            "seven sieben sept siete",
            "eight acht huit ocho",
            "nine neun neuf nueve",
            "ten zehn dix diez",
            "eleven elf onze",
            "twelve zwolf douze doce",
        ),
        1,
    )
    for word in words.split()
}
_NUMBER_WORD = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_CLOCK = re.compile(
    rf"\b(\d{{1,2}}|{_NUMBER_WORD})\s?(?:[:.h]\s?\d{{2}}|am\b|pm\b|uhr\b|h\b|o'clock)"
    rf"|\b(?:at|um|a las?)\s+({_NUMBER_WORD})\b(?!\s+(?:of|uhr|am|pm|h|o'clock)\b)(?=(?:\s+([a-z]+))?)"
)
"""Times of the day: "9:30", "drei Uhr", and "at five" with the word that follows."""
_AMOUNT = re.compile(
    rf"([£$€])\s?(\d[\d.,]*)|\b(\d[\d.,]*|{_NUMBER_WORD})\s+(?!am\b|pm\b|uhr\b)([a-z€£$%]{{1,12}})\b"
    r"|\b(\d[\d.,]*)(mg|kg|km|kwh|gb|mb|ms|cm|mm|ml)\b"
)
_FRAME = re.compile(
    rf"\b([a-z]+)\s+(?:\d[\d.,]*|{_NUMBER_WORD})\s+([a-z]+)\b((?:\s+[a-z]+){{0,2}})"
)
"""An amount with the words around it: "has four people in" and "has six people in" are one matter."""
_REASON = re.compile(r"\b(?:because|weil|parce que|porque|perche)\b.*")
"""Reason of a change: its days and amounts are not those that hold now."""
_COMMON_CLASSES = frozenset(
    "day clock £ $ € eur euro euros pounds quid dollars cent cents ct percent prozent km kg g m cm mm l ml mb gb minute minutes"
    " min hour hours day days week weeks month months year years people times minuten stunde stunden tag tage tagen woche wochen"
    " monat monate jahr jahre jahren personen heure heures jour jours semaine semaines mois an ans annee annees personnes fois"
    " hora horas dia dias semana semanas mes meses ano anos personas veces minuto minutos".split()
)
"""Classes of values of many different things: they say nothing of what two messages are about."""
_UNIT_TERMS = frozenset(terms(" ".join(_COMMON_CLASSES)))
_EVERYDAY = frozenset(
    terms(
        "system library key package file folder thing way time people place day week month year work works half does need"
        " want still take make get one good new old ding sache zeit leute ort chose temps gens lieu cosa tiempo gente lugar"
    )
)
"""Words that two messages may share without being about the same."""
_MONTHS = frozenset(
    "january february march april may june july august september october november december januar februar marz mai juni"
    " juli oktober dezember janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre enero febrero"
    " marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()
)


@dataclass(frozen=True, slots=True)
class _ToldChange:
    """Ends and changes that a message tells."""

    ended: frozenset[str]
    """Terms of what it says is over."""
    changed: Mapping[str, frozenset[str]]
    """Values of the sentences that tell of a change, as ``_read_values`` gives them."""


_NO_CHANGE = _ToldChange(frozenset(), {})


def mark_replaced(
    hits: Sequence[Hit],
    doubts: Mapping[str, Sequence[Record]],
    query_terms: AbstractSet[str] = frozenset(),
) -> list[Hit]:
    """Mark hits that a later message seems to end; those that have a mark keep it.

    A reply of the assistant to a message that is over, or may be, is in as much doubt. ``doubts``:
    later messages that may end a hit, by its id; they need not be hits themselves.
    """
    best = [hit for hit in hits[:_COMPARED] if hit.record.kind in _SPOKEN_KINDS]
    changes = [hit.record for hit in best if _may_tell_change(hit.record)]
    marks = dict(_find_marks(best, changes, doubts, query_terms))
    if marks:
        hits = [
            replace(hit, outdated=marks[hit.record.id]) if hit.record.id in marks else hit
            for hit in hits
        ]
    return _mark_replies(hits)


def _may_tell_change(record: Record) -> bool:
    return _is_short(record.search_text) and _tells_change(_read_change(_cut_text(record)))


def _list_compared(record: Record) -> tuple[str, ...]:
    """List what of a message is compared: all of it, or each sentence of a longer one.

    None of one that tells no state or plan: a question cannot be outdated.
    """
    return _read_compared(_cut_text(record))


@text_cache(4096)
def _read_compared(text: str) -> tuple[str, ...]:
    sentences = [sentence for sentence in _SENTENCE_END.split(text) if may_end(sentence)]
    if sentences and _is_short(text):
        return (" ".join(sentences),)
    return tuple(sentence for sentence in sentences if _is_short(sentence))


def _is_short(text: str) -> bool:
    """True for a text that is compared as a whole; of a longer one only the head is split."""
    return len(text.split(None, _MOST_WORDS)) <= _MOST_WORDS


def _tells_change(change: _ToldChange) -> bool:
    return bool(change.ended or change.changed)


def _cut_text(record: Record) -> str:
    return record.search_text[:_LONGEST]


def _find_marks(
    hits: Sequence[Hit],
    changes: Sequence[Record],
    doubts: Mapping[str, Sequence[Record]],
    query_terms: AbstractSet[str],
) -> Iterator[tuple[str, OutdatedMark]]:
    """Find the marks of hits, by their ids. ``changes``: hits that tell of a change."""
    for hit in hits:
        earlier = hit.record
        if hit.outdated is not None and hit.outdated.is_told:
            continue
        doubting = [
            record
            for record in doubts.get(earlier.id, ())
            if _is_short(record.search_text) and _read_change(_cut_text(record)) is not _NO_CHANGE
        ]
        by_id = {record.id: record for record in (*changes, *doubting)}
        for later in sorted(by_id.values(), key=_by_time, reverse=True):
            if not _may_end(later, earlier):
                continue
            later_text = _cut_text(later)
            if _tells_diet(earlier) and not (
                _ends_named_thing(_cut_text(earlier), later_text)
                or _names_other_dose(earlier, later_text)
            ):
                continue
            compared = _list_compared(earlier)
            probability = max((_rate(text, later_text) for text in compared), default=0.0)
            if compared and later in doubting and _share_asked(earlier, later, query_terms):
                probability = max(probability, _VALUE_PROBABILITY)
            if probability and not _tells_of_other(_cut_text(earlier), later_text):
                yield earlier.id, _make_mark(earlier, later, probability)
                break


def _tells_of_other(earlier_text: str, later_text: str) -> bool:
    """True if a later text tells of somebody or something else than the earlier one."""
    return (
        leaves_out_other_person(earlier_text, later_text)
        or tells_of_companions_own(earlier_text, later_text)
        or are_told_apart(earlier_text, later_text)
        or tells_choice_of_another(earlier_text, later_text)
    )


def _tells_diet(record: Record) -> bool:
    """True for what somebody may not eat: a doubt about that is graver than an old line."""
    return bool(describe_memory(record.search_text).text.has("diet"))


def _ends_named_thing(earlier_text: str, later_text: str) -> bool:
    """True if what a later text ends is a thing of the earlier, and not only somebody it names."""
    people = frozenset(terms(" ".join(_CAPITALISED.findall(earlier_text))))
    return bool(_read_change(later_text).ended & _read_subjects(earlier_text) - people)


def _names_other_dose(earlier: Record, later_text: str) -> bool:
    """True if a later text names another amount of what an earlier one measures: of insulin, say."""
    return any(
        not _COMMON_CLASSES.issuperset(_list_replaced(text, later_text))
        for text in _list_compared(earlier)
    )


def _by_time(record: Record) -> datetime:
    return record.recorded_at


def _share_asked(earlier: Record, later: Record, query_terms: AbstractSet[str]) -> bool:
    """True if both messages name what the query asks about, which is more than a person."""
    shared = _list_shared(earlier, later) & query_terms
    if not shared:
        return False
    memory = describe_memory(earlier.search_text)
    # German writes all nouns as it writes names.
    if "german" in (memory.languages or ()):
        return True
    return not shared.issubset(memory.names)


def share_subject(earlier: Record, later: Record) -> bool:
    """True if two messages have a word in common that tells what they are about; no unit does."""
    return not _list_shared(earlier, later).issubset(_UNIT_TERMS)


def _list_shared(earlier: Record, later: Record) -> frozenset[str]:
    """List the terms that tell what both messages are about."""
    return _read_subjects(_cut_text(earlier)) & _read_subjects(_cut_text(later))


def _may_end(later: Record, earlier: Record) -> bool:
    """True for a later message of another moment, where both stand in one scope.

    Not if it tells of years before the earlier one.
    """
    is_later = later.recorded_at - earlier.recorded_at > _REPLY_WITHIN
    if not is_later or later.scope != earlier.scope:
        return False
    return not is_of_years_before(_cut_text(later), earlier.recorded_at.year)


def _rate(earlier_text: str, later_text: str) -> float:
    """Rate how probably a later message ends an earlier one; 0: nothing says so."""
    if introduces_known_value(earlier_text, later_text):
        return 0.0
    change = _read_change(later_text)
    if change.ended:
        gone = change.ended & _read_subjects(earlier_text)
        if gone - _read_change(earlier_text).ended:
            return _ENDED_PROBABILITY
    replaced = _list_replaced(earlier_text, later_text)
    if not replaced:
        return 0.0
    shared = _read_subjects(earlier_text) & _read_subjects(later_text)
    is_near = len(shared) >= _FEWEST_COMMON
    is_told = is_near or not _COMMON_CLASSES.issuperset(replaced)
    if is_told or (shared and _share_frame(earlier_text, later_text, replaced)):
        return _VALUE_PROBABILITY
    return 0.0


def _list_replaced(earlier_text: str, later_text: str) -> list[str]:
    """List the classes of which a later text, where it tells of a change, names other values."""
    new_values = _read_change(later_text).changed
    if not new_values:
        return []
    return [
        name
        for name, values in _read_values(earlier_text).items()
        if not values.intersection(new_values.get(name, values))
    ]


def _share_frame(earlier_text: str, later_text: str, units: Collection[str]) -> bool:
    """True if both texts say the same around an amount of one of the units."""
    frames = set(_FRAME.findall(fold(earlier_text))).intersection(_FRAME.findall(fold(later_text)))
    return any(unit in units for _, unit, _ in frames)


def _make_mark(earlier: Record, later: Record, probability: float) -> OutdatedMark:
    words = later.search_text
    if len(words) > _WORDS_CHARACTERS:
        words = cut_sentences(words, frozenset(terms(earlier.text)), _WORDS_CHARACTERS)
    return OutdatedMark(
        by=later.id,
        said_at=later.recorded_at,
        said_on=told_at(later).date(),
        probability=probability,
        closed=False,
        words=" ".join(words.split()),
    )


def _mark_replies(hits: Sequence[Hit]) -> list[Hit]:
    """Mark the assistant's replies that only repeat what is over, or may be."""
    ended_hits = [hit for hit in hits if hit.outdated is not None and hit.outdated.is_told]
    return [_mark_reply(hit, ended_hits) for hit in hits] if ended_hits else list(hits)


def _mark_reply(hit: Hit, ended_hits: Sequence[Hit]) -> Hit:
    record = hit.record
    if record.role != "assistant" or hit.outdated is not None or _tells_diet(record):
        return hit
    for ended_hit in ended_hits:
        mark = ended_hit.outdated
        if (
            mark is not None
            and _is_ended_before(record, ended_hit)
            and _restates(record, _read_ended_text(ended_hit), mark.words)
        ):
            probability = min(mark.probability, _ENDED_PROBABILITY)
            return replace(
                hit, outdated=replace(mark, probability=probability, closed=False, clause="")
            )
    return hit


def answers_ended(hit: Hit, hits: Sequence[Hit]) -> bool:
    """True for an assistant's reply about what a message among the hits says that may be over."""
    reply = hit.record
    if reply.role != "assistant" or hit.outdated is not None:
        return False
    ended_hits = [ended_hit for ended_hit in hits if _is_ended_before(reply, ended_hit)]
    subjects = _read_subjects(_cut_text(reply)) if ended_hits else frozenset[str]()
    return any(
        not subjects.isdisjoint(_read_subjects(_read_ended_text(ended_hit)))
        for ended_hit in ended_hits
    )


def _is_ended_before(reply: Record, ended_hit: Hit) -> bool:
    """True if a reply is one to a message of somebody that was over later, or may be."""
    record = ended_hit.record
    mark = ended_hit.outdated
    return (
        mark is not None
        and mark.is_told
        and record.role != "assistant"
        and bool(record.session)
        and record.session == reply.session
        and timedelta(0) <= reply.recorded_at - record.recorded_at <= _REPLY_WITHIN
        and mark.said_at > reply.recorded_at
    )


def _read_ended_text(hit: Hit) -> str:
    """Read the clause of a marked message that is over: all of it, where none is known."""
    clause = hit.outdated.clause if hit.outdated else ""
    return clause or _cut_text(hit.record)


def _restates(reply: Record, ended: str, news: str) -> bool:
    """True if a sentence of a reply says little besides the words that end: "Dark mode it is.".

    Where another value takes the place of one, the reply must name the one that ends.
    """
    new_values = _read_values(news)
    replaced = {
        (name, value)
        for name, values in _read_values(ended).items()
        if values.isdisjoint(new_values.get(name, values))
        for value in values
    }
    text = reply.search_text[:_LONGEST]
    reply_values = {
        (name, value) for name, values in _read_values(text).items() for value in values
    }
    if replaced and reply_values.isdisjoint(replaced):
        return False
    ended_terms = set(terms(ended))
    return any(
        2 * len(ended_terms.intersection(sentence_terms)) > len(sentence_terms)
        for sentence in _SENTENCE_END.split(text)
        if (sentence_terms := set(terms(sentence)))
    )


@text_cache(4096)
def _read_change(text: str) -> _ToldChange:
    # Most texts tell of no change: each is searched as a whole before it is split.
    if not holds_any(fold(text), _CHANGE_WORDS):
        return _NO_CHANGE
    folded = fold(blank_quoted_words(text))
    ends = _GONE.search(folded) or _AWAY.search(folded)
    changes = _CHANGED.search(folded)
    if not (ends or changes) or is_joke(text):
        return _NO_CHANGE
    ended: set[str] = set()
    if ends:
        ended.update(*map(_find_ended, _CLAUSE.split(folded)))
    values: dict[str, frozenset[str]] = {}
    if changes:
        sentences = [
            _REASON.sub("", sentence)
            for sentence in _SENTENCE.split(folded)
            if _CHANGED.search(sentence)
        ]
        values = _find_values(". ".join(sentences)) if sentences else {}
    return _ToldChange(frozenset(ended), values)


@text_cache(4096)
def _read_subjects(text: str) -> frozenset[str]:
    """Read the terms that tell what a message is about: no numbers, no everyday words."""
    return _list_subjects(fold(text))


@text_cache(4096)
def _read_values(text: str) -> Mapping[str, frozenset[str]]:
    """Read the values that a message names, by class: ``day``, ``clock``, or the unit of amounts."""
    return _find_values(fold(text))


def _list_subjects(folded: str) -> frozenset[str]:
    """List the terms of what a text is about."""
    return frozenset(
        term
        for term in terms(folded)
        if len(term) > 2 and term.isalpha() and term not in _WEEKDAYS and term not in _EVERYDAY
    )


def _find_ended(clause: str) -> frozenset[str]:
    """Find the terms of what a clause says is over."""
    words: list[str] = []
    gone = _GONE.search(clause)
    if gone:
        words += tokens(clause[: gone.start()])[-_WORDS_BEFORE:]
    for match in _AWAY.finditer(clause):
        if _DENIED.search(clause[: match.start()]):
            continue
        words += _read_thing_after(clause[match.end() :])
    return _list_subjects(" ".join(words)) if words else frozenset()


def _read_thing_after(rest: str) -> list[str]:
    """Read the words of what ends: of "drinking beer" the beer, of "running" the running."""
    words = tokens(rest)
    if _DOING.match(rest):
        thing_words = words[1 : _WORDS_AFTER + 1]
        if _list_subjects(" ".join(thing_words)):
            return thing_words
    return words[:_WORDS_AFTER]


def _find_values(folded: str) -> dict[str, frozenset[str]]:
    days = frozenset(_WEEKDAYS[word] for word in tokens(folded) if word in _WEEKDAYS)
    values = {
        "day": days,
        "clock": _find_clock_times(folded),
        **_find_amounts(folded),
    }
    return {name: members for name, members in values.items() if members}


def _find_clock_times(folded: str) -> frozenset[str]:
    """Find the hours of the times of day that a text names; "at five pounds" names none."""
    hours = [
        unit_hour or plain_hour
        for unit_hour, plain_hour, next_word in _CLOCK.findall(folded)
        if unit_hour or not next_word or next_word in STOP
    ]
    return frozenset(_NUMBERS.get(hour, hour) for hour in hours)


def _find_amounts(folded: str) -> dict[str, frozenset[str]]:
    """Find numbers by their units: ``3 km`` and ``£27``."""
    amounts: dict[str, set[str]] = {}
    for sign, amount, number, spaced_unit, glued, glued_unit in _AMOUNT.findall(folded):
        value = amount or glued or _NUMBERS.get(number, number)
        unit = spaced_unit or glued_unit
        if not value[0].isdigit() or unit in STOP or unit in _MONTHS:
            continue
        amounts.setdefault(sign or unit, set()).add(value.strip(".,"))
    return {unit: frozenset(values) for unit, values in amounts.items()}
