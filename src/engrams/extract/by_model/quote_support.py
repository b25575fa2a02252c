"""Support of a model's statement by the words that it quotes.

Enter at ``find_lack``. A quote that stands in a message proves nothing by itself: a model that
obeys a page quotes one letter and states what the page wants. So the quote must say something, the
statement must share words with it, names must have been said by somebody, and most words of an
instruction must stand in the message.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrams.text.normalize import fold
from engrams.text.stems import differ_in_language
from engrams.text.stopwords import STOP
from engrams.text.terms import is_unspaced, terms
from engrams.text.word_support import CALENDAR, find_unsaid_name, is_among

_FEWEST_CHARACTERS = 2
"""Characters of the shortest quote of a longer message."""
_BRIEF = 8
"""Words up to which a message is understood by what was said before it."""
_WHOLE = 0.6
"""Share of the message from which a quote of any length is all that it says."""
_INSTRUCTED_SHARE = 0.5
"""Share of an instruction's words that the message must say."""
_SHORTEST_TRIGGER = 3


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
        if words and not any(is_among(word, message_stems) for word in words):
            return "its quote says something else"
        supported = [word for word in words if is_among(word, message_stems)]
        if instructs and len(supported) < _INSTRUCTED_SHARE * len(words):
            return "the message does not say this instruction"
    if name := find_unsaid_name(texts, " ".join((message, *shown))):
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
    return {word for word in terms(text) if word not in CALENDAR}
