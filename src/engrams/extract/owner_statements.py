"""Statements about the user, told as the user would: "the user lives" becomes "I live".

Enter at ``tell_as_owner``. Agents store what they learn in the third person; rules read what people
say of themselves.
"""

from __future__ import annotations

import re
from functools import cache

from engrams.frozen_data import dataclass
from engrams.text.vocabulary import read_forms

_ENGLISH_OWNER = re.compile(r"\bthe user(?P<own>['’]s\b)?(?: (?P<verb>\w+))?", re.IGNORECASE)
_ENGLISH_FIRST_PERSON = {"is": "am", "has": "have", "does": "do"}
_VOWELS = "aàâeéèêëiîïoôuûh"
"""Letters before which French says "j'"."""


@dataclass(frozen=True, slots=True)
class OwnerForms:
    """Forms in which one language tells of the user, and the user of themselves."""

    opening: re.Pattern[str]
    """Who it is about, at the beginning, with the word that follows in the group ``word``."""
    speaker: str
    words: dict[str, str]
    endings: tuple[tuple[str, str], ...]

    def tell(self, match: re.Match[str]) -> str:
        """Return the opening as the user says it."""
        if "word" not in match.groupdict():
            return self.speaker
        word = self._turn(match["word"])
        if self.speaker == "je" and word[0].casefold() in _VOWELS:
            return f"j'{word}"
        return f"{self.speaker} {word}"

    def _turn(self, word: str) -> str:
        lowered = word.casefold()
        own_word = self.words.get(lowered)
        if own_word is not None:
            return own_word
        if lowered.startswith("s'"):
            return f"m'{word[2:]}"
        for ending, own_ending in self.endings:
            if lowered.endswith(ending):
                return word[: -len(ending)] + own_ending
        return word


def tell_as_owner(text: str) -> str:
    """Return a statement as the user would say it; one about others stays as it is."""
    for forms in _load_forms():
        own_text, count = forms.opening.subn(forms.tell, text, count=1)
        if count:
            return own_text
    return _ENGLISH_OWNER.sub(_tell_in_english, text)


def _tell_in_english(match: re.Match[str]) -> str:
    from engrams.extract.rules.english_lexicon import find_lemma

    verb = match["verb"] or ""
    if match["own"]:
        return f"my {verb}"
    if verb in _ENGLISH_FIRST_PERSON:
        return f"I {_ENGLISH_FIRST_PERSON[verb]}"
    lemma = find_lemma(verb)
    is_third_person = lemma is not None and "s" in lemma.forms
    return f"I {lemma.base if lemma is not None and is_third_person else verb}"


@cache
def _load_forms() -> tuple[OwnerForms, ...]:
    return tuple(
        _build_forms(dict(rows)) for rows in read_forms(__file__, "owner_statements").values()
    )


def _build_forms(rows: dict[str, str]) -> OwnerForms:
    is_spaced = "word" in rows
    following = r" (?P<word>[\w'’]+)" if is_spaced else ""
    return OwnerForms(
        re.compile(rf"\A\s*(?:{rows['owner']}){following}", re.IGNORECASE),
        rows["speaker"],
        dict(_split_pairs(rows.get("word", ""))),
        _split_pairs(rows.get("ending", "")),
    )


def _split_pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (pair.partition("=") for pair in text.split())
    return tuple((spelling, own_spelling) for spelling, _, own_spelling in pairs)
