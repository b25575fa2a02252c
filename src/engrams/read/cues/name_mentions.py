"""Names in a query, and the speakers it asks about.

``find_mentions`` finds the names, ``asked_speakers`` chooses among them.
"""

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
_LOOK_BEHIND = 6
"""Characters before a word that tell whether a sentence begins with it."""
_CONTEXT = 60
"""Characters before a name that tell its part in the sentence."""
_LEAST_SHORT_NAME = 3
_LONGEST_NAME = 4
"""Words of the longest name that is looked for whole."""

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


_AUXILIARIES = "|".join(
    sorted(
        _word_set("""
            did does do is are was were has have had will would can could should might may shall must hat hatte hast ist war wird wurde kann
            konnte mag macht sagte ha tiene es era fue dijo est etait avait aime fait
            """)
    )
)
_SUBJECT = late_pattern(
    rf"\b(?:{_AUXILIARIES})\s+(?:both\s+|not\s+|also\s+|still\s+|ever\s+|usually\s+|often\s+)?\Z"
)


@dataclass(frozen=True, slots=True)
class NameMention:
    """Name in a query."""

    start: int
    end: int
    """Position behind the name, without a possessive ending."""
    speaker: str
    """Speaker of that name; empty for an unknown name."""
    possessive: bool

    def overlaps(self, start: int, end: int) -> bool:
        """True if some character from ``start`` to ``end`` is part of the name."""
        return start < self.end and self.start < end


@dataclass(frozen=True, slots=True)
class SpeakerNameIndex:
    """Lookup of speakers by folded names."""

    full: Mapping[str, str]
    """Speakers by their whole names."""
    single: Mapping[str, str]
    """Speakers by a first or last name that nobody else has."""
    longest: int
    """Words of the longest whole name."""


@text_cache(64)
def _index_names(speakers: tuple[str, ...]) -> SpeakerNameIndex:
    """Index speakers by their names; parts that two speakers share are ambiguous, and left out."""
    full: dict[str, str] = {}
    owners: dict[str, set[str]] = {}
    for speaker in speakers:
        folded = fold(speaker).strip().split("@")[0]
        if not folded or folded in _NOBODY:
            continue
        full[folded] = speaker
        words = [word for word in re.split(r"[\s._,-]+", folded) if len(word) > 1]
        for word in dict.fromkeys((words[0], words[-1]) if words else ()):
            owners.setdefault(word, set()).add(speaker)
    single = {word: next(iter(names)) for word, names in owners.items() if len(names) == 1}
    longest = max((len(_find_words(name)) for name in full), default=0)
    return SpeakerNameIndex(full, single, longest)


def find_mentions(
    query: str, speakers: Mapping[str, int], language: str = "en"
) -> tuple[NameMention, ...]:
    """Find names in a query, in order ("Anna Maria Lopez" is one)."""
    names = _index_names(tuple(sorted(speakers)))
    mentions: list[NameMention] = []
    end = 0
    words = _find_words(query)
    for index, word in enumerate(words):
        if word.start() < end:
            continue
        mention = _match_speaker(query, words, index, names)
        if mention is None and language != "de":  # in German every noun has a capital
            mention = _match_unknown(query, words, index)
        if mention is not None:
            mentions.append(mention)
            end = mention.end
    unspaced_names = [
        (name, speaker)
        for name, speaker in names.full.items()
        if not name.isascii() and re.search(_UNSPACED, name)
    ]
    if unspaced_names:
        return tuple(_add_unspaced(query, unspaced_names, mentions))
    return tuple(mentions)


def _starts_sentence(query: str, start: int) -> bool:
    """Test for a sentence start, where a capital means nothing."""
    if not start:
        return True
    return _OPENING.search(query[max(0, start - _LOOK_BEHIND) : start]) is not None


def _match_speaker(
    query: str, words: Sequence[re.Match[str]], index: int, names: SpeakerNameIndex
) -> NameMention | None:
    """Match the words from ``index`` on with a speaker's whole, single or short name."""
    whole = _match_whole_name(query, words, index, names)
    if whole is not None:
        return whole
    first = words[index]
    word = fold(first[0])
    has_capital = first[0][0].isupper()
    if not has_capital and word not in names.full and word not in names.single:
        return None
    possessive = _is_possessive(query, first.end())
    # "Anns" may be Ann's, written with a capital.
    for name, end in ((word, first.end()), (word.removesuffix("s"), first.end() - 1)):
        speaker = names.full.get(name) or names.single.get(name)
        if speaker is None or (name != word and not has_capital):
            continue
        is_word = name in _ALSO_WORDS or name in STOP or name in _COMMON
        if is_word and not (
            has_capital and (possessive or not _starts_sentence(query, first.start()))
        ):
            continue
        mention = NameMention(first.start(), end, speaker, possessive or name != word)
        return _reject_other_surname(query, words, index, mention)
    if not has_capital or len(word) < _LEAST_SHORT_NAME or word in _COMMON or word in STOP:
        return None
    speaker = _match_short_name(word, names.single)
    return NameMention(first.start(), first.end(), speaker, possessive) if speaker else None


def _match_whole_name(
    query: str, words: Sequence[re.Match[str]], index: int, names: SpeakerNameIndex
) -> NameMention | None:
    """Match a speaker's name of two words or more, the longest first."""
    start = words[index].start()
    for count in range(min(_LONGEST_NAME, names.longest), 1, -1):
        if index + count > len(words):
            continue
        end = words[index + count - 1].end()
        speaker = names.full.get(fold(query[start:end]))
        if speaker is not None:
            return NameMention(start, end, speaker, _is_possessive(query, end))
    return None


def _reject_other_surname(
    query: str, words: Sequence[re.Match[str]], index: int, mention: NameMention
) -> NameMention | None:
    """Reject "Anna Meier" where the speaker is Anna Lopez."""
    if mention.possessive or index + 1 >= len(words) or " " not in mention.speaker:
        return mention
    following = words[index + 1]
    has_surname = (
        query[mention.end : following.start()] == " "
        and following[0][0].isupper()
        and fold(following[0]) not in _COMMON
    )
    if has_surname and fold(following[0]) not in fold(mention.speaker):
        return None
    return mention


def _match_short_name(word: str, single: Mapping[str, str]) -> str:
    """Match Mel to Melanie or the reverse, if unambiguous; else empty."""
    owners = {
        speaker
        for name, speaker in single.items()
        if len(name) >= _LEAST_SHORT_NAME and (name.startswith(word) or word.startswith(name))
    }
    return owners.pop() if len(owners) == 1 else ""


def _match_unknown(query: str, words: Sequence[re.Match[str]], index: int) -> NameMention | None:
    """Match capitalised words from ``index`` on with a name that no speaker has."""
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


def _add_unspaced(
    query: str, names: Sequence[tuple[str, str]], mentions: Sequence[NameMention]
) -> list[NameMention]:
    """Add names in scripts without blanks, found inside longer runs; they replace unknown ones."""
    merged = list(mentions)
    for name, speaker in sorted(names, key=lambda pair: -len(pair[0])):
        for match in re.finditer(re.escape(name), query):
            start, end = match.span()
            if any(mention.speaker and mention.overlaps(start, end) for mention in merged):
                continue
            merged = [mention for mention in merged if not mention.overlaps(start, end)]
            possessive = query[end : end + 1] in ("的", "の")
            merged.append(NameMention(start, end, speaker, possessive))
    return sorted(merged, key=lambda mention: mention.start)


def asked_speakers(query: str, mentions: Sequence[NameMention]) -> tuple[str, ...]:
    """Choose the speakers a query asks about, with those joined by "and".

    Those whose view it wants, else the subject of its question, else the first one that is not
    merely an object ("to Ann").
    """
    candidates = [mention for mention in mentions if mention.speaker]
    if len({mention.speaker for mention in candidates}) < 2:
        return (candidates[0].speaker,) if candidates else ()
    before = [
        fold(query[max(0, mention.start - _CONTEXT) : mention.start]) for mention in candidates
    ]
    first = _find_subject(before)
    chosen = [candidates[first]]
    for following in candidates[first + 1 :]:
        between = fold(query[chosen[-1].end : following.start])
        if chosen[-1].possessive or not _JOINS.fullmatch(between):
            break
        chosen.append(following)
    return tuple(dict.fromkeys(mention.speaker for mention in chosen))


def _find_subject(texts_before: Sequence[str]) -> int:
    """Find the number of the name that a question is about, by the texts before all names."""
    for matches in (_VIEW.search, _SUBJECT.search, lambda text: not _OBJECT.search(text)):
        for index, text in enumerate(texts_before):
            if matches(text):
                return index
    return 0
