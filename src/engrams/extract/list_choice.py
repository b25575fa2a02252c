"""Choice of one entry of a numbered list: "the second one", "die letzte", "二番目".

Enter at ``read_choice``. Every word must be a number or stand around one.
"""

from __future__ import annotations

import re
from functools import cache

from engrams.frozen_data import dataclass
from engrams.text.normalize import fold
from engrams.text.vocabulary import read_rows

_WORD = re.compile(r"-?[^\s.,!#)(-]+")
_DIGITS = re.compile(r"(-?\d{1,9})(?:st|nd|rd|th|[aeo]|er|re|eme|[dr][ao])?")
"""A number, and the ending that makes it an ordinal: "2nd", "2e", "2º"."""


@dataclass(frozen=True, slots=True)
class ChoiceWords:
    """Words of a choice, folded."""

    numbers: dict[str, int]
    """By word; 0: the last entry."""
    around: frozenset[str]
    """Words that may stand around the number."""
    unspaced: re.Pattern[str]
    """A choice in a script without blanks; the group is the number."""


def read_choice(text: str, count: int) -> int | None:
    """Read the number that is chosen, also one that no list has; None: it is no choice.

    ``text``: without polite words. ``count``: entries of the list, which the last one has for its
    number.
    """
    words = _load_words()
    folded = fold(text)
    if match := words.unspaced.fullmatch(folded.strip(" .!。！")):
        return _read_number(match[1], words, count)
    tokens = _WORD.findall(folded)
    if len(tokens) > 1 and tokens[-1] in words.around:
        # "One" is a number, too: "the second one".
        tokens = tokens[:-1]
    numbers = [_read_number(token, words, count) for token in tokens]
    chosen = [number for number in numbers if number is not None]
    other_tokens = [
        token
        for token, number in zip(tokens, numbers, strict=True)
        if number is None and token not in words.around
    ]
    return chosen[0] if len(chosen) == 1 and not other_tokens else None


def _read_number(word: str, words: ChoiceWords, count: int) -> int | None:
    if match := _DIGITS.fullmatch(word):
        return int(match[1])
    number = words.numbers.get(word)
    return count if number == 0 else number


@cache
def _load_words() -> ChoiceWords:
    rows: dict[str, list[list[str]]] = {}
    for row in read_rows(__file__, "list_choice"):
        name, _, words = row.partition(":")
        rows.setdefault(name, []).append(fold(words).split())
    unspaced_rows = rows["unspaced-number"]
    unspaced_last = rows["unspaced-last"][0]
    numbers = dict.fromkeys((*rows["last"][0], *unspaced_last), 0) | {
        word: number
        for row in (*rows["number"], *unspaced_rows)
        for number, word in enumerate(row, 1)
    }
    unspaced = [word for row in unspaced_rows for word in row]
    number = "|".join((r"\d{1,9}", *unspaced, *unspaced_last))
    before = "|".join(rows["unspaced-before"][0])
    after = "|".join(rows["unspaced-after"][0])
    return ChoiceWords(
        numbers, frozenset(rows["around"][0]), re.compile(f"(?:{before})*({number})(?:{after})*")
    )
