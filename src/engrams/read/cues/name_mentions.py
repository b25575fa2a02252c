"""Names in a query, and the speakers it asks about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from engrams.frozen_data import dataclass
from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary

Role: TypeAlias = Literal["", "user", "assistant"]

ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
}
_NOBODY = frozenset((*ROLES, "system", "tool"))
_WORD = late_pattern("[a-zA-Z]+(?:-[a-zA-Z]+)*")
# Compiled on first use: large ranges take milliseconds.
_CJK = "\u3040-\u9fff\uac00-\ud7af"
_ANY_WORD = rf"[^\W\d_{_CJK}]+(?:-[^\W\d_{_CJK}]+)*"
_UNSPACED = f"[{_CJK}]"
_OPENING = late_pattern('(?:^|[.!?¿¡:\n"“«])[\\s"“«¿¡]*\\Z')
_LOOK = 6

_VIEW = late_pattern(
    r"\b(?:according\s+to|laut|segun|selon|d'apres|in\s+the\s+(?:opinion|view|words)\s+of)\s+\Z"
)
_OBJECT = late_pattern(
    r"\b(?:to|with|for|from|about|of|by|on|at|than|like|towards?|and|mit|fur|von|uber|zu|an|con|para|sobre|de|a|avec|pour|sur|chez|et|y|und)"
    r"\s+(?:his\s+|her\s+|their\s+)?\Z"
)
_JOINS = late_pattern(r"\s*(?:,|&|and|und|y|et|和|跟|与|と)\s*(?:both\s+)?\Z")


def _find_words(text: str) -> list[re.Match[str]]:
    """Words of letters between blanks."""
    return list(_WORD.finditer(text) if text.isascii() else re.finditer(_ANY_WORD, text))


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names that are also words: a person only with a capital inside a sentence, or an 's.
_ALSO_WORDS = _word_set(read_vocabulary(__file__, "also_words"))
_COMMON = _word_set(read_vocabulary(__file__, "common"))


@dataclass(frozen=True, slots=True)
class NameMention:
    """Name in a query, from ``at`` to ``end`` without possessive ending.

    ``speaker``: empty for an unknown name.
    """

    at: int
    end: int
    speaker: str
    possessive: bool


@dataclass(frozen=True, slots=True)
class SpeakerNameIndex:
    """Lookup of speakers by full and single names; ``longest``: in words."""

    full: Mapping[str, str]
    single: Mapping[str, str]
    longest: int


@text_cache(64)
def _speaker_names(speakers: tuple[str, ...]) -> SpeakerNameIndex:
    """Ignore name parts shared by two speakers: ambiguous."""
    full: dict[str, str] = {}
    single: dict[str, set[str]] = {}
    for speaker in speakers:
        folded = fold(speaker).strip().split("@")[0]
        if not folded or folded in _NOBODY:
            continue
        full[folded] = speaker
        words = [word for word in re.split(r"[\s._,-]+", folded) if len(word) > 1]
        for word in dict.fromkeys((words[0], words[-1]) if words else ()):
            single.setdefault(word, set()).add(speaker)
    alone = {word: next(iter(owners)) for word, owners in single.items() if len(owners) == 1}
    return SpeakerNameIndex(full, alone, max((len(_find_words(name)) for name in full), default=0))


def find_mentions(
    query: str, speakers: Mapping[str, int], language: str = "en"
) -> tuple[NameMention, ...]:
    """Find names in a query, in order ("Anna Maria Lopez" is one)."""
    names = _speaker_names(tuple(sorted(speakers)))
    found: list[NameMention] = []
    taken = 0
    words = _find_words(query)
    for index, word in enumerate(words):
        if word.start() < taken:
            continue
        mention = _match_speaker(query, words, index, names)
        if mention is None and language != "de":  # in German every noun has a capital
            mention = _match_unknown(query, words, index)
        if mention is not None:
            found.append(mention)
            taken = mention.end
    known = [
        (name, speaker)
        for name, speaker in names.full.items()
        if not name.isascii() and re.search(_UNSPACED, name)
    ]
    return tuple(_find_unspaced(query, known, found)) if known else tuple(found)


def _starts_sentence(query: str, at: int) -> bool:
    """Test for a sentence start, where a capital means nothing."""
    return _OPENING.search(query[max(0, at - _LOOK) : at]) is not None if at else True


def _match_speaker(
    query: str, words: Sequence[re.Match[str]], index: int, names: SpeakerNameIndex
) -> NameMention | None:
    first = words[index]
    full = names.full
    single = names.single
    longest = names.longest
    for count in (4, 3, 2):
        if count <= longest and index + count <= len(words):
            last = words[index + count - 1]
            if (speaker := full.get(fold(query[first.start() : last.end()]))) is not None:
                return NameMention(
                    first.start(), last.end(), speaker, _is_possessive(query, last.end())
                )
    word = fold(first[0])
    capital = first[0][0].isupper()
    if not capital and word not in full and word not in single:
        return None
    owns = _is_possessive(query, first.end())
    for name, end in ((word, first.end()), (word.removesuffix("s"), first.end() - 1)):
        speaker = full.get(name) or single.get(name)
        if speaker is None or (name != word and not capital):
            continue
        common = name in _ALSO_WORDS or name in STOP or name in _COMMON
        if common and not (capital and (owns or not _starts_sentence(query, first.start()))):
            continue
        return _reject_other_surname(
            query, words, index, NameMention(first.start(), end, speaker, owns or name != word)
        )
    if (
        capital
        and len(word) >= 3
        and word not in _COMMON
        and word not in STOP
        and (speaker := _match_short_name(word, single)) is not None
    ):
        return NameMention(first.start(), first.end(), speaker, owns)
    return None


def _reject_other_surname(
    query: str, words: Sequence[re.Match[str]], index: int, mention: NameMention
) -> NameMention | None:
    if mention.possessive or index + 1 >= len(words) or " " not in mention.speaker:
        return mention
    following = words[index + 1]
    surname = (
        query[mention.end : following.start()] == " "
        and following[0][0].isupper()
        and fold(following[0]) not in _COMMON
    )
    return None if surname and fold(following[0]) not in fold(mention.speaker) else mention


def _match_short_name(word: str, single: Mapping[str, str]) -> str | None:
    """Match Mel to Melanie or the reverse, if unambiguous."""
    owners = {
        speaker
        for name, speaker in single.items()
        if len(name) >= 3 and (name.startswith(word) or word.startswith(name))
    }
    return owners.pop() if len(owners) == 1 else None


def _match_unknown(query: str, words: Sequence[re.Match[str]], index: int) -> NameMention | None:
    first = words[index]
    if not first[0][0].isupper() or len(first[0]) < 2 or fold(first[0]) in _COMMON:
        return None
    if _starts_sentence(query, first.start()) and (
        fold(first[0]) in STOP or not _is_possessive(query, first.end())
    ):
        return None
    last = first
    for following in words[index + 1 :]:
        if (
            query[last.end() : following.start()] != " "
            or not following[0][0].isupper()
            or fold(following[0]) in _COMMON
        ):
            break
        last = following
    return NameMention(first.start(), last.end(), "", _is_possessive(query, last.end()))


def _is_possessive(query: str, end: int) -> bool:
    return (
        query[end : end + 1] in ("'", "’")
        and query[end + 1 : end + 2].lower() in ("s", " ", "")
        and not query[end + 2 : end + 3].isalpha()
    )


def _find_unspaced(
    query: str, known: Sequence[tuple[str, str]], found: Sequence[NameMention]
) -> list[NameMention]:
    """Add names in scripts without blanks, found inside longer runs."""
    kept = list(found)
    for name, speaker in sorted(known, key=lambda pair: -len(pair[0])):
        for place in re.finditer(re.escape(name), query):
            if any(
                place.start() < other.end and other.at < place.end() and other.speaker
                for other in kept
            ):
                continue
            kept = [
                other
                for other in kept
                if not (place.start() < other.end and other.at < place.end())
            ]
            kept.append(
                NameMention(
                    place.start(),
                    place.end(),
                    speaker,
                    query[place.end() : place.end() + 1] in ("的", "の"),
                )
            )
    return sorted(kept, key=lambda mention: mention.at)


_ASK = "|".join(
    sorted(
        _word_set("""
            did does do is are was were has have had will would can could should might may shall must hat hatte hast ist war wird wurde kann
            konnte mag macht sagte ha tiene es era fue dijo est etait avait aime fait
            """)
    )
)
_SUBJECT = late_pattern(
    rf"\b(?:{_ASK})\s+(?:both\s+|not\s+|also\s+|still\s+|ever\s+|usually\s+|often\s+)?\Z"
)


def asked_speakers(query: str, named: Sequence[NameMention]) -> tuple[str, ...]:
    """Speakers a query asks about, with those joined by "and".

    Those whose view it wants, else the subject of its question, else the first one that is not
    merely an object ("to Ann").
    """
    known = [mention for mention in named if mention.speaker]
    if len({mention.speaker for mention in known}) < 2:
        return (known[0].speaker,) if known else ()
    before = [fold(query[max(0, mention.at - 60) : mention.at]) for mention in known]
    subject = next(
        (
            index
            for sort in (_VIEW.search, _SUBJECT.search, lambda text: not _OBJECT.search(text))
            for index, text in enumerate(before)
            if sort(text)
        ),
        0,
    )
    chosen = [known[subject]]
    for following in known[subject + 1 :]:
        if chosen[-1].possessive or not _JOINS.fullmatch(
            fold(query[chosen[-1].end : following.at])
        ):
            break
        chosen.append(following)
    return tuple(dict.fromkeys(mention.speaker for mention in chosen))
