"""Parser of English verb groups: auxiliaries, adverbs, negation, main verb."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.extract.rules.english_lexicon import (
    ADVERBS,
    BE,
    DETERMINERS,
    FORMS,
    FREQUENCY,
    HEDGES,
    MODALS,
    PREPOSITIONS,
    find_lemma,
)
from engrams.extract.rules.sentence_segmenter import ClauseToken, Tense
from engrams.frozen_data import dataclass, replace

_NOT = frozenset(("not", "n't", "never"))
_JUST = frozenset(("already", "finally", "just", "once", "recently"))
_REPEATED = frozenset(("daily", "each", "every", "lot", "news", "newspaper", "paper"))
_AGO = frozenset(("ago", "last", "yesterday"))
_GO = frozenset(("going", "gonna"))
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

    def skip_adverbs(self) -> None:
        while self.at < len(self.words):
            word = self.lower
            if word in _NOT:
                self.negated = not self.negated or word == "never"
            elif word in HEDGES or (
                word in ("almost", "nearly") and not self.following[:1].isdigit()
            ):
                self.hedged = True
            elif word == "no" and self.following == "longer":
                self.adverbs = (*self.adverbs, "no longer")
                self.at = self.at + 2
                continue
            elif not self._is_adverb(word):
                return
            self.adverbs = (*self.adverbs, word)
            self.at += 1

    def _is_adverb(self, word: str) -> bool:
        if word in ("kind", "sort"):
            return self.following == "of"
        return word in ADVERBS or (word == "of" and self.adverbs[-1:] in (("kind",), ("sort",)))

    def build_group(self, verb: str, tense: Tense) -> VerbGroup:
        surface = self.words[self.at].text
        self.at += 1
        infinitive = ""
        if (
            self.lower == "to"
            and self.following
            and (known := find_lemma(self.following))
            and "base" in known[1]
        ):
            infinitive = known[0]
        return VerbGroup(
            verb=verb,
            surface=surface,
            tense=tense,
            negated=self.negated,
            hedged=self.hedged,
            adverbs=self.adverbs,
            after=self.at,
            infinitive=infinitive,
        )


def parse_verb_group(
    words: Sequence[ClauseToken], at: int, like: Tense | None = None
) -> VerbGroup | None:
    """Parse the verb group that begins at ``at``.

    ``like``: the tense of a verb it is joined to (and sold, and studying).
    """
    read = _VerbReader(words, at)
    read.skip_adverbs()
    word = read.lower
    if not word:
        return None
    if word in BE and not (word == "'s" and not read.following):
        read.at += 1
        return _parse_be(read, BE[word])
    if word == "'s":
        read.at += 1
        return _parse_be(read, "present")
    if word in ("have", "'ve", "has", "had"):
        return _parse_have(read)
    if word == "'d" and (
        read.following in ("been", "had") or (read.following == "never" and _has_participle(read))
    ):
        read.at += 1
        return _parse_have(read, moved=True)
    tense = "would" if read.hedged and word == "can" else _AUXILIARIES.get(word)
    if tense is not None:
        read.at += 1
        return _parse_bare(read, tense)
    if word in ("do", "does", "did") and (
        read.following in _NOT or read.following in ADVERBS or _is_base(read.following)
    ):
        if (
            read.following in ADVERBS
            and (whole := _parse_main(replace(read), like))
            and _is_determined(read)
        ):
            return whole  # "does all the cooking"
        read.at += 1
        return _parse_bare(read, "past" if word == "did" else "present")
    if word == "been":
        return _parse_been(read)
    if word == "used" and read.following == "to":
        read.at += 2
        return _parse_bare(read, "used")
    return _parse_main(read, like)


def _reads_once(read: _VerbReader) -> bool:
    """True for ``I read the first scene``, not ``I read the news``."""
    rest = [one.lower for one in read.words[read.at + 1 :]]
    if (
        len(rest) < 2
        or rest[0] not in ("a", "an", "my", "that", "the", "this")
        or FREQUENCY.intersection(read.adverbs)
    ):
        return False
    return not read.words[read.at + 2].text[0].isupper() and not _REPEATED.intersection(rest)


def _is_determined(read: _VerbReader) -> bool:
    """True for ``all the cooking`` behind the verb."""
    return read.at + 2 < len(read.words) and read.words[read.at + 2].lower in DETERMINERS


def _is_base(word: str) -> bool:
    known = find_lemma(word)
    return bool(known and "base" in known[1])


def _parse_bare(read: _VerbReader, tense: Tense) -> VerbGroup | None:
    read.skip_adverbs()
    if tense == "used" and read.lower == "to":
        read.at += 1
        read.skip_adverbs()
    if read.lower == "be" or (read.lower == "have" and read.following == "been"):
        read.at += 1
        read.skip_adverbs()
        if (known := find_lemma(read.lower)) and known[1] & {"ing"}:
            return read.build_group(known[0], tense)
        return VerbGroup(
            verb="be",
            surface="be",
            tense=tense,
            negated=read.negated,
            hedged=read.hedged,
            adverbs=read.adverbs,
            after=read.at,
        )
    known = find_lemma(read.lower)
    if known is None:
        return (
            read.build_group(read.lower, tense)
            if read.lower.isalpha() and read.lower not in PREPOSITIONS | DETERMINERS
            else None
        )
    return read.build_group(known[0], tense) if "base" in known[1] else None


def _parse_be(read: _VerbReader, tense: str) -> VerbGroup | None:
    """Parse what follows be: progressive, going to, or a complement."""
    read.skip_adverbs()
    word = read.lower
    if not word:
        return None
    if word in _GO and (word == "gonna" or (read.following == "to" and _has_infinitive(read))):
        read.at += 1 if word == "gonna" else 2
        return _parse_bare(read, "future" if tense == "present" else "would")
    if word == "used" and read.following == "to":
        return None
    known = find_lemma(word)
    if (
        known
        and "ing" in known[1]
        and (word in FORMS or read.following)
        and word
        not in ("interesting", "amazing", "exciting", "boring", "willing", "outgoing", "living")
    ) or word == "living":
        return read.build_group(
            known[0] if known else "live", "progressive" if tense == "present" else "was"
        )
    return VerbGroup(
        verb="be",
        surface="is" if tense == "present" else "was",
        tense="present" if tense == "present" else "past",
        negated=read.negated,
        hedged=read.hedged,
        adverbs=read.adverbs,
        after=read.at,
    )


def _has_infinitive(read: _VerbReader) -> bool:
    """True for ``going to move``, not ``going to church``."""
    after = read.words[read.at + 2].lower if read.at + 2 < len(read.words) else ""
    while after in ADVERBS and read.at + 3 < len(read.words):
        return True
    known = find_lemma(after)
    third = read.words[read.at + 3].lower if read.at + 3 < len(read.words) else ""
    return bool(
        after == "be"
        or (
            (
                known
                and "base" in known[1]
                and after not in ("school", "church", "work", "camp", "dance", "practice", "bed")
            )
            or (after == "work" and third in PREPOSITIONS)
        )
    )


def _has_participle(read: _VerbReader) -> bool:
    """True for ``I'd never seen``, not ``I'd never sell``."""
    known = find_lemma(read.words[read.at + 2].lower) if read.at + 2 < len(read.words) else None
    return bool(known and "part" in known[1] and "base" not in known[1])


def _parse_have(read: _VerbReader, *, moved: bool = False) -> VerbGroup | None:
    """Parse what follows have: perfect, having to, or a possession."""
    word = "had" if moved else read.lower
    at = read.at
    if not moved:
        read.at += 1
    read.skip_adverbs()
    if read.lower == "been":
        return _parse_been(read)
    if read.lower == "got" and word in ("have", "'ve", "has"):
        if read.following == "to":
            read.at += 2
            return _parse_bare(read, "must")
        return read.build_group("have", "present")
    if read.lower == "to" and _is_base(read.following):
        read.at += 1
        return _parse_bare(read, "must")
    known = find_lemma(read.lower)
    if (
        known
        and "part" in known[1]
        and word != "'s"
        and read.lower not in ("cost", "cast")
        and not (word == "had" and known[1] & {"base"})
    ):
        return read.build_group(known[0], "perfect")
    if word == "'ve":
        return None
    return VerbGroup(
        verb="have",
        surface=read.words[at].text,
        tense="past" if word == "had" else "present",
        negated=read.negated,
        hedged=read.hedged,
        adverbs=read.adverbs,
        after=read.at,
    )


def _parse_been(read: _VerbReader) -> VerbGroup | None:
    read.at += 1
    read.skip_adverbs()
    known = find_lemma(read.lower)
    if known and "ing" in known[1]:
        return read.build_group(known[0], "been")
    if not read.lower:
        return None
    return VerbGroup(
        verb="be",
        surface="been",
        tense="perfect",
        negated=read.negated,
        hedged=read.hedged,
        adverbs=read.adverbs,
        after=read.at,
    )


def _parse_main(read: _VerbReader, like: Tense | None) -> VerbGroup | None:
    word = read.lower
    known = find_lemma(word)
    if word == "wanna":
        read.at += 1
        if (inner := find_lemma(read.lower)) and "base" in inner[1]:
            return VerbGroup(
                verb="want",
                surface="want",
                tense="present",
                negated=read.negated,
                hedged=read.hedged,
                adverbs=read.adverbs,
                after=read.at,
                infinitive=inner[0],
            )
        return None
    if known is None:
        return None
    verb, forms = known
    if like in ("progressive", "been", "was", "perfect", "past", "used") and like is not None:
        return read.build_group(verb, like)
    if "past" in forms and ("base" not in forms):
        return read.build_group(verb, "past")
    if forms == {"ing"}:
        return read.build_group(verb, "progressive")
    if "past" in forms and word in (
        "quit",
        "set",
        "put",
        "cut",
        "hit",
        "shut",
        "split",
        "hurt",
        "spread",
        "burst",
        "beat",
    ):
        return read.build_group(verb, "past")
    if word == "read" and (
        _reads_once(read)
        or _JUST.intersection(read.adverbs)
        or any(one.lower in _AGO for one in read.words[read.at :])
    ):
        return read.build_group(verb, "past")
    if forms & {"base", "s"}:
        return read.build_group(verb, "present")
    return read.build_group(verb, "past") if "past" in forms else None
