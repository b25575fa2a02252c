"""Stems of words in the languages of Latin script.

A text's frequent words and its letters choose the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING

from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary

if TYPE_CHECKING:
    from Stemmer import Stemmer

_ENGLISH = read_vocabulary(__file__, "english")
_FREQUENT = {
    "german": read_vocabulary(__file__, "frequent_german"),
    "french": read_vocabulary(__file__, "frequent_french"),
    "spanish": read_vocabulary(__file__, "frequent_spanish"),
    "italian": read_vocabulary(__file__, "frequent_italian"),
    "portuguese": read_vocabulary(__file__, "frequent_portuguese"),
    "dutch": read_vocabulary(__file__, "frequent_dutch"),
    "swedish": read_vocabulary(__file__, "frequent_swedish"),
    "norwegian": read_vocabulary(__file__, "frequent_norwegian"),
    "danish": read_vocabulary(__file__, "frequent_danish"),
    "finnish": read_vocabulary(__file__, "frequent_finnish"),
    "turkish": read_vocabulary(__file__, "frequent_turkish"),
    "hungarian": (
        """
        a az egy es vagy de hogy nem is van vannak volt voltak lesz en te o mi ti ok engem teged nekem neked neki ez ezt azt ha mert mit mi
        hol mikor ki hogyan miert melyik ami aki meg mar csak nagyon tegnap ma holnap mindig soha
        """
    ),
    "romanian": read_vocabulary(__file__, "frequent_romanian"),
    "polish": read_vocabulary(__file__, "frequent_polish"),
    "czech": read_vocabulary(__file__, "frequent_czech"),
    "catalan": read_vocabulary(__file__, "frequent_catalan"),
    "indonesian": read_vocabulary(__file__, "frequent_indonesian"),
    "estonian": (
        """
        ja voi aga on oli olen oled oleme mina sina tema meie teie nemad ma sa ta minu sinu mul sul see ei kui et sest mis kus millal kes
        kuidas miks ka veel vaga eile tana homme alati kunagi
        """
    ),
    "lithuanian": (
        """
        ir ar bet yra buvo esu esi as tu jis ji mes jus jie mano tavo savo jo jos man tau tai sis ta ne nera kad kai nes ka kas kur kada
        kodel kuris kuri labai jau dar tik su be is i nuo iki vakar siandien rytoj visada
        """
    ),
    "irish": (
        "agus ach is ta bhi me tu se si sinn mo do ar an na leis le ag i go nach ce cad cathain"
        " conas inniu inne amarach"
    ),
    "basque": (
        "eta edo baina da dira zen naiz zara gara dut duzu du ni zu gu nire zure bere ez bai zer"
        " nor non noiz nola atzo gaur bihar"
    ),
    "esperanto": (
        "la kaj au sed estas estis mi vi li si ni ili mia via lia ne jes kio kiu kie kiam kiel"
        " hierau hodiau morgau en al de kun"
    ),
}
_LETTERS = {
    "german": "äöüß",
    "french": "éèêàçùœîôû",
    "spanish": "ñ¿¡áéíóú",
    "italian": "èàùìò",
    "portuguese": "ãõçáéêóâ",
    "dutch": "ëĳ",
    "swedish": "åäö",
    "norwegian": "åøæ",
    "danish": "åøæ",
    "finnish": "äö",
    "turkish": "ğışçöü",
    "hungarian": "őűáéíóú",
    "romanian": "ăâîșțşţ",
    "polish": "ąćęłńśźż",
    "czech": "ěščřžýůáíé",
    "catalan": "ŀçàèéíïòóú",
    "estonian": "õäöü",
    "lithuanian": "ąčęėįšųūž",
    "irish": "áéíóú",
    "esperanto": "ĉĝĥĵŝŭ",
}
_WORDS = re.compile(r"[^\W\d_]+")
_LONGEST = 4000
"""Characters of a text that tell its language."""
_TELLING = 24
"""Characters below which a message does not tell its language."""
_LATIN_END = "\u0250"
_MAX_LANGUAGES = 3
"""Languages of one text."""

LANGUAGES: tuple[str, ...] = tuple(_FREQUENT)
"""Languages of Latin script, other than English, that have a stemmer."""


_stemmers: dict[str, Stemmer] = {}
_lock = Lock()


def _invert(table: dict[str, str], split: bool) -> dict[str, frozenset[str]]:
    names_of: dict[str, set[str]] = {}
    for name, symbols in table.items():
        for symbol in symbols.split() if split else symbols:
            names_of.setdefault(symbol, set()).add(name)
    return {symbol: frozenset(names) for symbol, names in names_of.items()}


_VOTED = _invert({"english": _ENGLISH, **_FREQUENT}, split=True)
_LETTER_VOTED = _invert(_LETTERS, split=False)


def find_languages(text: str) -> tuple[str, ...] | None:
    """Name the likeliest languages of a text's Latin words.

    The equally likely ones, three at most; empty: English; None: no hint at all.
    """
    text = text[:_LONGEST]
    counts: dict[str, int] = {}
    for word in set(_WORDS.findall(fold(text))):
        for name in _VOTED.get(word, ()):
            counts[name] = counts.get(name, 0) + 1
    if not text.isascii():
        for letter in set(text.lower()):
            for name in _LETTER_VOTED.get(letter, ()):
                counts[name] = counts.get(name, 0) + 1
    if not counts:
        return None
    top_count = max(counts.values())
    return (
        ()
        if counts.get("english", 0) == top_count
        else tuple(name for name in LANGUAGES if counts.get(name) == top_count)[:_MAX_LANGUAGES]
    )


def differ_in_language(text: str, message: str) -> bool:
    """Check if one text is English and the other clearly is not.

    Also True for a text in Latin letters and a message in other letters; False for short messages,
    which show no language.
    """
    latin_of_text = _share_latin(text)
    latin_of_message = _share_latin(message)
    if latin_of_text is None or latin_of_message is None or len(message) < _TELLING:
        return False
    if (latin_of_text > 1 / 2) != (latin_of_message > 1 / 2):
        return True
    languages = find_languages(text)
    message_languages = find_languages(message)
    return (
        languages is not None
        and message_languages is not None
        and (languages == ()) != (message_languages == ())
    )


def _share_latin(text: str) -> float | None:
    letters = [letter for word in _WORDS.findall(text[:_LONGEST]) for letter in word]
    return sum(letter < _LATIN_END for letter in letters) / len(letters) if letters else None


def is_frequent(word: str, languages: Iterable[str]) -> bool:
    """Check if a folded word is frequent in a language."""
    return not _VOTED.get(word, frozenset()).isdisjoint(languages)


@text_cache(1 << 16)
def stem_word(word: str, language: str) -> str:
    """Stem a folded word, or return it where nothing would remain."""
    # A stemmer is not thread-safe; the lock is taken only for new words.
    with _lock:
        return _get_stemmer(language).stemWord(word) or word


def stem_all(word: str, languages: Iterable[str]) -> tuple[str, ...]:
    """Stem a folded word in each language; each stem once."""
    return tuple(dict.fromkeys(stem_word(word, name) for name in languages))


def _get_stemmer(name: str) -> Stemmer:
    if name not in _stemmers:
        from Stemmer import Stemmer

        _stemmers[name] = Stemmer(name, 0)
    return _stemmers[name]
