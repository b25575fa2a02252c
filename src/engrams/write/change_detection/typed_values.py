"""Values of one type in a text: days of the week, times of day, months, days of a month.

Another day for the same thing shows a change, though no word is shared: "podcast mondays", then "pod
is thursdays". Enter at ``read_typed_values`` and ``compare_typed_values``.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from engrams.text.late_patterns import late_pattern
from engrams.text.vocabulary import read_vocabulary

TypedValues: TypeAlias = tuple[frozenset[str], ...]
"""Values by type, in the order of ``TYPES``."""
TYPES = 4
_MOST_LIKE = 6
"""Names and numbers of each message that are compared letter by letter."""


_AMBIGUOUS = frozenset(("mon", "sat", "sun", "may", "marche"))
"""Words of days and months that are others as well: "mon train"."""


def _map_words(table: str) -> dict[str, str]:
    lines = read_vocabulary(__file__, table).strip().splitlines()
    return {
        word: words[0]
        for words in map(str.split, lines)
        for word in words
        if word not in _AMBIGUOUS
    }


_DAYS = _map_words("members_days")
_MONTHS = _map_words("members_months")
_WORD = re.compile(r"[^\W\d_]{3,}")
_HAN_DAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])|([月火水木金土日])曜")
_HAN_DAYS = {
    character: day
    for characters, day in (
        ("一月", "mon"),
        ("二火", "tue"),
        ("三水", "wed"),
        ("四木", "thu"),
        ("五金", "fri"),
        ("六土", "sat"),
        ("日天", "sun"),
    )
    for character in characters
}
_CLOCK = late_pattern(
    r"(?<![\d.:])(\d{1,2}(?:[:h]\d{2})?)(?:\s?(?:am|pm|uhr|h|o'clock)\b|(?<=[:h]\d\d)(?!\d))|(\d{1,2})[点時时]"
)
_HOUR_WORD = late_pattern(
    r"\b(?:at|till|until|half past|um|halb|a las?|a la)\s("
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|eins|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf"
    r"|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)\b"
)
_DAY_OF_MONTH = late_pattern(
    r"\b(?:the|am|le|el|del?|du|vom|zum)\s(\d{1,2})(?:st|nd|rd|th)?\b(?!\s?(?:uhr|h\b|am\b|pm\b|%|[:.]\d))"
    r"|\b(\d{1,2})(?:st|nd|rd|th)\b|(?<!\d)(\d{1,2})[日号]"
)


def read_typed_values(folded: str) -> TypedValues:
    """Read the values of each type in a folded text."""
    words = _WORD.findall(folded)
    days = {_DAYS[word] for word in map(_singular, words) if word in _DAYS}
    months = {_MONTHS[word] for word in words if word in _MONTHS}
    if not folded.isascii():
        days.update(_HAN_DAYS[day or weekday] for day, weekday in _HAN_DAY.findall(folded))
    clocks = set(_HOUR_WORD.findall(folded))
    if not any(map(str.isdigit, folded)):
        return frozenset(days), frozenset(clocks), frozenset(months), frozenset()
    clocks.update(hour or han for hour, han in _CLOCK.findall(folded))
    dates = {next(filter(None, groups)) for groups in _DAY_OF_MONTH.findall(folded)}
    return frozenset(days), frozenset(clocks), frozenset(months), frozenset(dates)


def compare_typed_values(old: TypedValues, new: TypedValues) -> tuple[bool, ...]:
    """Tell of each type if both messages have values, and none in common."""
    return tuple(
        bool(old_values) and bool(new_values) and old_values.isdisjoint(new_values)
        for old_values, new_values in zip(old, new, strict=True)
    )


def are_misspelt(old_words: AbstractSet[str], new_words: AbstractSet[str]) -> bool:
    """True if a name or number of a newer message is one of the older with a slip of the keys."""
    added_words = sorted(new_words - old_words)[:_MOST_LIKE]
    dropped_words = sorted(old_words - new_words)[:_MOST_LIKE]
    return any(
        _is_slip(old_word, new_word) for old_word in dropped_words for new_word in added_words
    )


def _singular(word: str) -> str:
    return word if word in _DAYS else word.removesuffix("s")


def _is_slip(word_a: str, word_b: str) -> bool:
    """True for two words of the same letters in another order, or with one more or another one."""
    longer, shorter = sorted((word_a, word_b), key=len, reverse=True)
    if len(shorter) < 3 or len(longer) - len(shorter) > 1:
        return False
    if sorted(longer) == sorted(shorter):
        return True
    start = 0
    while start < len(shorter) and shorter[start] == longer[start]:
        start += 1
    return shorter[start:] == longer[start + 1 :] or shorter[start + 1 :] == longer[start + 1 :]
