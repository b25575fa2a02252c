"""Identifiers of letters and digits, by which two things of one kind are told apart.

Such as bookings, tickets and parcels. Enter at ``tell_apart``.
"""

from __future__ import annotations

from engrams.text.identifiers import WORD, count_digits, is_code
from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_set

_COPULAS = word_set(
    "is are was were am m s be isn aren ist sind war bin es son esta estan soy est sont suis"
)
# "PROJ-17 is our main task": the identifier is the value.
_OWN = word_set(
    "my our mine ours your yours the a an mein meine unser unsere mi nuestro nuestra mon ma notre"
    " le la el der die das ein eine"
)
# Of these a later one takes the place of the one before; of places, where somebody is.
_FOLLOWING = word_set("version release draft update build edition entwurf fassung borrador")
_PLACES = word_set("gate room seat platform desk locker raum platz salle sala")
_SPEAKERS = word_set("i we he she they you ich wir er sie yo nosotros je nous il elle on")
_DONE = word_set(
    "paid sent got bought sold made met wrote found built shut took gave read cut hit began saw"
    " spent"
)
_ABOUT = word_set("on for about of um uber sobre de sur")
_TO = word_set("to into at in with by as zu nach auf a en")
_MOST_WORDS = 16
_MOST_BEFORE = 4
_LEAST_DIGITS = 2


def tell_apart(old: str, new: str, *, changes: bool) -> bool:
    """True if two brief sentences name different things by identifiers.

    "Booking LH454 is paid", "booking LH456 is paid". Not if the newer one names the older
    identifier too, nor if the identifier is the value: "my locker code is A17". ``changes``: the
    newer one speaks of a change, so that only an identifier before the verb tells.
    """
    old_code = _find_code(fold(old))
    new_code = _find_code(fold(new))
    if old_code is None or new_code is None:
        return False
    old_identifier, old_position = old_code
    new_identifier, new_position = new_code
    if old_identifier == new_identifier or old_position != new_position:
        return False
    return (old_position == "subject" or not changes) and old_identifier not in fold(new)


@text_cache(1 << 12)
def _find_code(text: str) -> tuple[str, str] | None:
    """Find a sentence's identifier, and whether it is part of the subject or the object.

    None without one, with several, and if it is a value.
    """
    words = WORD.findall(text)
    codes = [index for index, word in enumerate(words) if is_code(word)]
    if not codes or len(words) > _MOST_WORDS or len({words[index] for index in codes}) > 1:
        return None
    index = codes[0]
    before = words[:index]
    after = words[index + 1 :]
    if before[-1:] and before[-1] in _FOLLOWING:
        return None
    if (
        index < _MOST_BEFORE
        and not _has_verb(before)
        and not (_COPULAS.intersection(after[:1]) and _OWN.intersection(after[1:2]))
    ):
        return words[index], "subject"
    return (words[index], "object") if _is_object(words, index) else None


def _is_done(before: list[str]) -> bool:
    return any(
        word in _DONE or (len(word) > _MOST_BEFORE and word.endswith("ed")) for word in before
    )


def _has_verb(before: list[str]) -> bool:
    """True for words that are more than a thing's name: "Mina drives"."""
    from engrams.extract.rules.english_lexicon import find_lemma

    if not (_COPULAS.isdisjoint(before) and _SPEAKERS.isdisjoint(before)) or _is_done(before):
        return True
    lemmas = (find_lemma(word) for word in before)
    return any(lemma is not None and not lemma[1].isdisjoint(("s", "past")) for lemma in lemmas)


def _is_object(words: list[str], index: int) -> bool:
    """True for "I paid invoice INV-17", "Mina works on PROJ-17"."""
    before = words[:index]
    if (
        count_digits(words[index]) < _LEAST_DIGITS
        or not _COPULAS.isdisjoint(before)
        or not _TO.isdisjoint(before[-2:])
    ):
        return False
    if before[-1:] and before[-1] in _PLACES:
        return False
    return _is_done(before) or not _ABOUT.isdisjoint(before[-2:])
