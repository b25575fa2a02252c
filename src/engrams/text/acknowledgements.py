"""Detection of messages that only thank or agree. Pure."""

from __future__ import annotations

import re

from engrams.text.terms import tokens
from engrams.text.vocabulary import read_vocabulary

_LONGEST = 60
"""Characters of the longest text that is looked at."""

_ASSENT = read_vocabulary(__file__, "assent")
_FILLING = read_vocabulary(__file__, "filling")
_THANKS = "thanks thank thx ty tysm cheers danke dank gracias merci grazie obrigado obrigada 谢 謝"
_GOING_ON = "go continue proceed carry next again do makes mach weiter sigue hazlo continuez 继 繼"
_ANSWER = "yes yeah yep yup no nope nah ja nein doch si oui non 是 对 對 不"

ASSENT = frozenset(_ASSENT.split())
"""Words of thanks and assent; a text made of nothing else says nothing."""
_WORDS = ASSENT | frozenset(_FILLING.split())
_ANSWERS = frozenset(_ANSWER.split())
_OPEN = _ANSWERS | frozenset(_GOING_ON.split())
_OPENING = re.compile(
    r"^\W*(?:(?:no,? wait|no|nope|wait|oh|ok(?:ay)?|well|sorry|btw|by the way)\s*[,:–-]\s*|(?:no,? wait|oh|btw) )+",
    re.IGNORECASE,
)


def is_acknowledgement(text: str) -> bool:
    """True for thanks and assent up to 60 characters, in six languages.

    "thanks", "ok do it", "yes please", "Understood.", "Great, done."; a question is none.
    """
    if len(text) > _LONGEST or "?" in text or "？" in text or not text.strip():
        return False
    return all(word in _WORDS or not any(map(str.isalnum, word)) for word in tokens(text))


def is_assent(text: str) -> bool:
    """True for thanks and assent alone, which say nothing: "okay, sure", "muchas gracias"."""
    return is_acknowledgement(text) and not ASSENT.isdisjoint(tokens(text))


def is_answer(text: str) -> bool:
    """True for a yes or no, which means something beside its question."""
    return not _ANSWERS.isdisjoint(tokens(text))


def is_thanks(text: str) -> bool:
    """True for thanks that neither answer nor let somebody go on."""
    words = set(tokens(text))
    return (
        is_acknowledgement(text)
        and not words.isdisjoint(_THANKS.split())
        and words.isdisjoint(_OPEN)
    )


def cut_opening(text: str) -> str:
    """Cut the words that only turn against what was done before: "No wait, …"."""
    return _OPENING.sub("", text)
