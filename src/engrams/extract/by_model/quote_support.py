"""Support of a model's statement by the words that it quotes.

Enter at ``find_lack``. A quote that stands in a message proves nothing by itself: a model that
obeys a page quotes one letter and states what the page wants. So the quote must say something, the
statement must share words with it, names must have been said by somebody, and most words of an
instruction must stand in the message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.text.normalize import fold
from engrams.text.stems import differ_in_language
from engrams.text.stopwords import STOP
from engrams.text.terms import is_unspaced, terms
from engrams.text.times.language import detect_language

_FEWEST_CHARACTERS = 2
"""Characters of the shortest quote of a longer message."""
_BRIEF = 8
"""Words up to which a message is understood by what was said before it."""
_WHOLE = 0.6
"""Share of the message from which a quote of any length is all that it says."""
_INSTRUCTED_SHARE = 0.5
"""Share of an instruction's words that the message must say."""
_STEM = 4
"""Letters that two forms of a word share; a form of three letters is the beginning of the other."""
_SHORTEST_FORM = 3
_SHORTEST_TRIGGER = 3
_NAME = re.compile(
    r"(?<![.!?:\"“(] )(?<!^)(?<!^[\"“(])\b[A-Z][\w-]*\b|\b\w+[A-Z]\w*\b|\b\w+\.(?:com|org|net|io|example)\b"
)
_CALENDAR = frozenset(
    fold(
        "monday tuesday wednesday thursday friday saturday sunday january february march april may"
        " june july august september october november december user assistant i"
    ).split()
)


def find_lack(
    texts: Sequence[str], quote: str, message: str, shown: Sequence[str], *, instructs: bool
) -> str:
    """Return what a statement lacks to be supported; empty: nothing.

    ``texts``: the statement, its object and its steps. ``message``: the sender's own words.
    ``shown``: everything else that the model was shown. ``instructs``: it is a rule or a procedure.
    """
    if not _says_something(quote, message):
        return "its quote says nothing"
    if differ_in_language(texts[0], message):
        return ""  # such a statement is kept in the words of its quote
    if not is_unspaced(message):
        message_stems = set(terms(message))
        if len(message.split()) <= _BRIEF:
            # "The first one, please" is understood by the question before it.
            message_stems = message_stems.union(*map(terms, shown))
        words = set(terms(" ".join(texts)))
        if words and not any(_is_among(word, message_stems) for word in words):
            return "its quote says something else"
        supported = [word for word in words if _is_among(word, message_stems)]
        if instructs and len(supported) < _INSTRUCTED_SHARE * len(words):
            return "the message does not say this instruction"
    if detect_language(texts[0]) == "de":
        return ""  # Every noun is capitalised, so a capital tells no name.
    heard_text = fold(" ".join((message, *shown)))
    for text in texts:
        if name := _find_unsaid_name(text, heard_text):
            return f"nobody said {name}"
    return ""


def keep_telling(triggers: Sequence[str]) -> tuple[str, ...]:
    """Keep the triggers that tell a task: not one letter, and not a word of every sentence."""
    return tuple(trigger for trigger in triggers if _is_telling(trigger))


def _is_telling(trigger: str) -> bool:
    if is_unspaced(trigger):
        return len(trigger.strip()) > 1
    return any(
        len(word) >= _SHORTEST_TRIGGER and word not in STOP for word in fold(trigger).split()
    )


def _says_something(quote: str, message: str) -> bool:
    """True for a quote of one word with content at least, and for one of the whole message."""
    stripped = quote.strip()
    if len(stripped) >= _WHOLE * len(message.strip()):
        return True
    return len(stripped) >= _FEWEST_CHARACTERS and bool(_stems(stripped))


def _stems(text: str) -> set[str]:
    return {word for word in terms(text) if word not in _CALENDAR}


def _is_among(word: str, words: set[str]) -> bool:
    """True if a word, or another form of it, is among others."""
    return word in words or any(
        (word.startswith(stem[:_STEM]) or stem.startswith(word[:_STEM]))
        and min(len(word), len(stem)) >= _SHORTEST_FORM
        for stem in words
    )


def _find_unsaid_name(text: str, heard_text: str) -> str:
    """Return a name in a statement that nobody said; empty: there is none."""
    for match in _NAME.finditer(text):
        name = fold(match[0])
        if name in _CALENDAR or name[:_STEM] in heard_text or name.removesuffix("s") in heard_text:
            continue
        return match[0]
    return ""
