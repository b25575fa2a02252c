"""Parser of English verb groups: auxiliaries, adverbs, negation, main verb."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.extract.rules.english_lexicon import (
    ADVERBS,
    BE,
    DETERMINERS,
    FORMS,
    HEDGES,
    MODALS,
    PREPOSITIONS,
    find_lemma,
)
from engrams.extract.rules.sentence_segmenter import ClauseToken, Tense
from engrams.frozen_data import dataclass, replace
from engrams.text.vocabulary import word_set

_NOT = frozenset(("not", "n't", "never"))
_HAVE = frozenset(("have", "'ve", "has", "had"))
_NO_PROGRESSIVE = word_set("interesting amazing exciting boring willing outgoing")
_NO_PARTICIPLE = frozenset(("cost", "cast"))
_UNCHANGED = word_set("quit set put cut hit shut split hurt spread burst beat")
"""Verbs whose past tense looks like the present and is the more frequent one."""
_AUXILIARIES: dict[str, Tense] = {
    **dict.fromkeys(MODALS, "would"),
    **dict.fromkeys(("will", "'ll", "shall", "gonna"), "future"),
    "gotta": "must",
    "can": "can",
}


@dataclass(frozen=True, slots=True)
class VerbGroup:
    """Auxiliaries, negation, tense and main verb of a clause.

    ``after``: the place behind the verb. ``infinitive``: the verb that follows want to, plan to and
    the like.
    """

    verb: str
    surface: str
    tense: Tense
    negated: bool
    hedged: bool
    adverbs: tuple[str, ...]
    after: int
    infinitive: str = ""


@dataclass(slots=True)
class _VerbReader:
    words: Sequence[ClauseToken]
    at: int
    negated: bool = False
    hedged: bool = False
    adverbs: tuple[str, ...] = ()

    @property
    def lower(self) -> str:
        return self.words[self.at].lower if self.at < len(self.words) else ""

    @property
    def following(self) -> str:
        return self.words[self.at + 1].lower if self.at + 1 < len(self.words) else ""

    def skip(self, count: int) -> None:
        self.at += count
        self.skip_adverbs()

    def skip_adverbs(self) -> None:
        while word := self.lower:
            if word in _NOT:
                self.negated = not self.negated or word == "never"
            elif word in HEDGES or (
                word in ("almost", "nearly") and not self.following[:1].isdigit()
            ):
                self.hedged = True
            elif word == "no" and self.following == "longer":
                word = "no longer"
                self.at += 1
            elif not self._is_adverb(word):
                return
            self.adverbs = (*self.adverbs, word)
            self.at += 1

    def _is_adverb(self, word: str) -> bool:
        if word in ("kind", "sort"):
            return self.following == "of"
        return word in ADVERBS or (word == "of" and self.adverbs[-1:] in (("kind",), ("sort",)))

    def build_group(self, verb: str, tense: Tense, surface: str = "") -> VerbGroup:
        """Make the group whose main verb stands here; with ``surface``, before this place."""
        if not surface:
            surface = self.words[self.at].text
            self.at += 1
        return VerbGroup(
            verb=verb,
            surface=surface,
            tense=tense,
            negated=self.negated,
            hedged=self.hedged,
            adverbs=self.adverbs,
            after=self.at,
            infinitive=find_base(self.following) if self.lower == "to" else "",
        )


def find_base(word: str) -> str:
    """Return the verb whose base form this is; empty: it is none."""
    reading = find_lemma(word)
    return reading.base if reading and "base" in reading.forms else ""


def parse_verb_group(
    words: Sequence[ClauseToken], at: int, like: Tense | None = None
) -> VerbGroup | None:
    """Parse the verb group that begins at ``at``.

    ``like``: the tense of a verb it is joined to (and sold, and studying).
    """
    read = _VerbReader(words, at)
    read.skip(0)
    word = read.lower
    if word in BE or (word == "'s" and read.following):
        read.skip(1)
        return _parse_be(read, BE.get(word, "present"))
    if word in _HAVE or (word == "'d" and read.following in ("been", "had")):
        return _parse_have(read)
    tense = "would" if read.hedged and word == "can" else _AUXILIARIES.get(word)
    if tense is not None:
        read.skip(1)
        return _parse_bare(read, tense)
    following = read.following
    if word in ("do", "does", "did") and (
        following in _NOT or following in ADVERBS or find_base(following)
    ):
        read.skip(1)
        return _parse_bare(read, "past" if word == "did" else "present")
    if word == "been":
        return _parse_been(read)
    if word == "used" and following == "to":
        read.skip(2)
        return _parse_bare(read, "used")
    if word == "wanna" and (inner := find_base(following)):
        read.at += 2
        group = read.build_group("want", "present", "want")
        return replace(group, infinitive=inner)
    return _parse_main(read, like)


def _parse_bare(read: _VerbReader, tense: Tense) -> VerbGroup | None:
    if read.lower == "be" or (read.lower == "have" and read.following == "been"):
        read.skip(1)
        reading = find_lemma(read.lower)
        if reading and "ing" in reading.forms:
            return read.build_group(reading.base, tense)
        return read.build_group("be", tense, "be")
    reading = find_lemma(read.lower)
    if reading is not None:
        return read.build_group(reading.base, tense) if "base" in reading.forms else None
    is_verb = read.lower.isalpha() and read.lower not in PREPOSITIONS | DETERMINERS
    return read.build_group(read.lower, tense) if is_verb else None


def _parse_be(read: _VerbReader, tense: str) -> VerbGroup | None:
    """Parse what follows be: progressive, going to, or a complement."""
    word = read.lower
    is_present = tense == "present"
    if word == "gonna" or (word == "going" and read.following == "to" and _has_infinitive(read)):
        read.skip(1 if word == "gonna" else 2)
        return _parse_bare(read, "future" if is_present else "would")
    reading = find_lemma(word)
    is_progressive = reading and "ing" in reading.forms and (word in FORMS or read.following)
    if reading and is_progressive and word not in _NO_PROGRESSIVE:
        return read.build_group(reading.base, "progressive" if is_present else "was")
    if not word:
        return None
    surface = "is" if is_present else "was"
    return read.build_group("be", "present" if is_present else "past", surface)


def _has_infinitive(read: _VerbReader) -> bool:
    """True for ``going to move``, not ``going to church``."""
    place = read.at + 2
    after = read.words[place].lower if place < len(read.words) else ""
    return after in ADVERBS or after == "be" or bool(find_base(after))


def _parse_have(read: _VerbReader) -> VerbGroup | None:
    """Parse what follows have: perfect, having to, or a possession."""
    word = read.lower
    surface = read.words[read.at].text
    read.skip(1)
    if read.lower == "been":
        return _parse_been(read)
    if read.lower == "got" and word in ("have", "'ve", "has"):
        if read.following != "to":
            return read.build_group("have", "present")
        read.at += 1
    if read.lower == "to" and find_base(read.following):
        read.skip(1)
        return _parse_bare(read, "must")
    reading = find_lemma(read.lower)
    forms = reading.forms if reading and read.lower not in _NO_PARTICIPLE else frozenset()
    if reading and "part" in forms and (word != "had" or "base" not in forms):
        return read.build_group(reading.base, "perfect")
    if word == "'ve":
        return None
    return read.build_group("have", "past" if word in ("had", "'d") else "present", surface)


def _parse_been(read: _VerbReader) -> VerbGroup | None:
    read.skip(1)
    reading = find_lemma(read.lower)
    if reading and "ing" in reading.forms:
        return read.build_group(reading.base, "been")
    return read.build_group("be", "perfect", "been") if read.lower else None


def _parse_main(read: _VerbReader, like: Tense | None) -> VerbGroup | None:
    word = read.lower
    reading = find_lemma(word)
    if reading is None:
        return None
    verb, forms = reading
    if like in ("progressive", "been", "was", "perfect", "past", "used"):
        return read.build_group(verb, like)
    if "past" in forms and ("base" not in forms or word in _UNCHANGED):
        return read.build_group(verb, "past")
    if forms == {"ing"}:
        return read.build_group(verb, "progressive")
    return read.build_group(verb, "present") if forms & {"base", "s"} else None
