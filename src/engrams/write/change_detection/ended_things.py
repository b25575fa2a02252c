"""Things that a message says to be over by what was done with them, without a word of an end.

"Siemens let me go", "we gave Minka to my aunt", "ING closed my account": the thing is named where
the words of the ending have their object, and an earlier clause tells that somebody has it, works
there or is together with them. Enter at ``names_ended`` and ``find_ended_thing``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from engrams.text.clause_kinds import is_joke, may_end, may_tell_change
from engrams.text.clause_split import split_clauses
from engrams.text.comparison.language_tables import detect_language
from engrams.text.late_patterns import split_alternatives
from engrams.text.normalize import fold
from engrams.text.said_again import denies
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.ended_part import narrow_to_part
from engrams.write.change_detection.features import read_clause
from engrams.write.change_detection.replacement_evidence import is_passing, is_supposed

_LONGEST = 300
"""Characters of a message that is read: a longer one tells of several things."""
_DOUBTS = tuple(map(NAMES.index, ("if", "plan", "report", "fiction", "joke", "temporary", "still")))
_THING = r"(?P<thing{number}>(?:[^\s,;:.!?]+ ){{0,4}}?[^\s,;:!?]+?)"
_UNSPACED_THING = r"(?P<thing{number}>[^\s，。；！？、,.;!?]{{1,14}}?)"
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_MEANINGFUL = re.compile("[a-z0-9]+|[\u30a0-\u30fc]+|[\u4e00-\u9fff]")
"""Word, or character of Chinese, of a text in a script without spaces."""
_LAST = (
    r"(?P<thing{number}>[^\s,;:.!?]+"
    r"(?: (?!(?:to|from|for|on|at|in|with|by|because|after|before|last|this|yesterday|today|and|a|al|para|con|por"
    r"|pour|par|avec|chez|ce|cette|hier|ayer|y|et|und|an|auf|im|am|beim|gestern|heute|letzte\w*|diese\w*)\b)"
    r"[^\s,;:.!?]+){{0,4}})"
)
"""A thing behind the words that end it, up to whom it went to, or when."""
_CONTRACT = re.compile(
    r"\b(?:accounts?|memberships?|subscriptions?|contracts?|plans?|polic(?:y|ies)"
    r"|(?:cuenta|suscripcion|abono|contrato|compte|abonnement|contrat|bail)(?: (?:de|del|du|en|chez|a)\b)?"
    r"|(?:konto|abo|vertrag)(?: (?:bei|beim)\b)?)(?!\w)"
)
"""Contract that binds somebody to the thing that is meant: "my Barclays account"."""
_OF = re.compile(r"\s(?:de|du|des|del)\s.*|\sd'.*")
"""In French and Spanish the words that say whose a thing is, or what for: "les clés de la voiture"."""

_LOOKAHEAD = re.compile(r"\(\?[!=](?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


class _EndedThing(NamedTuple):
    """A thing that is over."""

    kind: str
    """Way in which it was held: ``employer``, ``partner``, ``school`` or ``thing``."""
    words: tuple[str, ...]
    """Its words, in their order, as search terms; of scripts without spaces its characters."""
    clause: str
    """The clause that tells its end."""


def names_ended(text: str) -> bool:
    """True for a message that tells the end of something by what was done with it."""
    return bool(_list_ended(text))


def find_ended_thing(old_text: str, new_text: str) -> tuple[str, str] | None:
    """Find the clause of an older message that tells of a thing, and the one that ends it."""
    ended_things = _list_ended(new_text)
    if not ended_things or len(old_text) > _LONGEST:
        return None
    return next(
        (
            (narrow_to_part(clause, ended_thing.clause).strip(), ended_thing.clause)
            for ended_thing in ended_things
            for clause in split_clauses(old_text)
            if may_end(clause) and not denies(clause) and _tells_of(clause, ended_thing)
        ),
        None,
    )


@text_cache(1 << 12)
def _list_ended(text: str) -> tuple[_EndedThing, ...]:
    """List the things whose end a message tells. Cached: a message is compared with many."""
    if len(text) > _LONGEST or is_joke(text):
        return ()
    return tuple(
        ended_thing for clause in split_clauses(text) for ended_thing in _read_ended(clause)
    )


def _read_ended(clause: str) -> list[_EndedThing]:
    folded = fold(clause).replace("’", "'")
    if _compile_signs().search(folded) is None:
        return []
    matches = [(kind, match) for kind, form in _compile_forms() for match in form.finditer(folded)]
    if not matches or denies(clause) or not may_tell_change(clause):
        return []
    if is_passing(clause) or is_supposed(clause):
        return []
    if any(read_clause(_CONTRACT.sub(" ", folded)).cues[cue] for cue in _DOUBTS):
        return []
    ended_words = (
        (kind, _list_words(next(filter(None, match.groups())))) for kind, match in matches
    )
    return [_EndedThing(kind, words, clause) for kind, words in ended_words if words]


def _list_words(phrase: str) -> tuple[str, ...]:
    if _UNSPACED.search(phrase):
        return tuple(_MEANINGFUL.findall(phrase)) or (phrase,)
    bound = _CONTRACT.sub(" ", phrase)
    noun_phrase = _OF.sub("", bound if set(terms(bound)) - STOP else phrase)
    return tuple(word for word in terms(noun_phrase) if word not in STOP)


def _tells_of(clause: str, ended_thing: _EndedThing) -> bool:
    """True if a clause tells that a thing is held, and names what it is: of "car keys" the keys.

    A name beside it may be new: "Minka" of "the cat Minka".
    """
    folded = fold(clause)
    if _compile_holders()[ended_thing.kind].search(folded) is None:
        return False
    if _UNSPACED.search(folded):
        return all(word in folded for word in ended_thing.words[-2:])
    clause_terms = set(terms(clause))
    names = {word for name in _list_capitals(ended_thing.clause) for word in terms(name)}
    words = [word for word in ended_thing.words if word in clause_terms or word not in names]
    if detect_language(ended_thing.clause) in ("french", "spanish"):
        return not clause_terms.isdisjoint(words)
    return bool(words) and words[-1] in clause_terms


def _list_capitals(clause: str) -> list[str]:
    if detect_language(clause) == "german":
        return []
    return re.findall(r"(?<=\w )[A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+", clause)


@cache
def _compile_forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, _compile_form(form)) for kind, form in _read_forms())


@cache
def _compile_signs() -> re.Pattern[str]:
    """Compile the words beside the things: one search for them spares most clauses the forms."""
    signs = [
        max(alternative.split("{thing}"), key=_count_letters).strip()
        for _, form in _read_forms()
        for alternative in split_alternatives(form)
    ]
    spaced_signs = [sign for sign in signs if not _UNSPACED.search(sign)]
    unspaced_signs = [sign for sign in signs if _UNSPACED.search(sign)]
    return re.compile("|".join([rf"\b(?:{'|'.join(spaced_signs)})", *unspaced_signs]))


def _count_letters(words: str) -> int:
    """Count the letters of words, without those that only must not or must follow."""
    return len(re.findall(r"[^\W\d_]", _LOOKAHEAD.sub("", words)))


def _read_forms() -> list[tuple[str, str]]:
    """Read how a thing was held, and the form of words that tells its end."""
    lines = filter(None, read_vocabulary(__file__, "ended/forms").splitlines())
    return [(kind, form) for kind, _, form in (line.partition("\t") for line in lines)]


def _compile_form(form: str) -> re.Pattern[str]:
    """Compile a form; each place of a thing in it is a group of its own."""
    is_unspaced = _UNSPACED.search(form) is not None
    place_form = _UNSPACED_THING if is_unspaced else _THING
    first, *later_pieces = form.split("{thing}")
    pattern = first
    for number, words_behind in enumerate(later_pieces):
        is_last = not is_unspaced and (not words_behind or words_behind.startswith("|"))
        pattern += (_LAST if is_last else place_form).format(number=number) + words_behind
    return re.compile(pattern if is_unspaced else rf"\b(?:{pattern})")


@cache
def _compile_holders() -> dict[str, re.Pattern[str]]:
    patterns: dict[str, list[str]] = {}
    for line in read_vocabulary(__file__, "ended/holders").splitlines():
        kind, _, words = line.partition("\t")
        patterns.setdefault(kind, []).append(
            words if _UNSPACED.search(words) else rf"\b(?:{words})(?!\w)"
        )
    return {kind: re.compile("|".join(lines)) for kind, lines in patterns.items()}
