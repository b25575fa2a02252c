"""Whom a query names, and whom it asks about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from engrams.text.fold import fold
from engrams.text.words import STOP

Role: TypeAlias = Literal["", "user", "assistant"]

ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant", "system": "", "tool": ""}
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_SENTENCE = re.compile(r"(?:^|[.!?¿¡:\n\"“«])[\s\"“«¿¡]*\Z")
# Names that are also words: these want a capital inside a sentence, or an 's, to be a person.
_ALSO_WORDS = frozenset(
    "will may mark grace hope rose june april bill art faith joy sky dean drew chase chance frank grant jack jay lance max pat rich rob "
    "skip sue ray dawn ivy ruby amber iris daisy violet penny page reed rusty summer autumn melody harmony destiny angel prince hunter".split()
)
_COMMON = frozenset(
    "what when where who whom whose which why how did does do is are was were am be been being has have had can could will would shall "
    "should may might must the a an and or but if then than that this these those there here it its in on at by for of to from with about "
    "as into tell list describe name give show explain summarize summarise find please remind according based did how's what's who's where's "
    "any some many much not no yes also let let's i i'm i've i'd i'll my me mine we us our you your he she his her hers him they them their "
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november "
    "december christmas easter halloween thanksgiving was hat haben ist sind wer wann warum wie wo welche welcher welches wurde kann que "
    "quel quelle quels quelles qui quand ou pourquoi comment est-ce combien quien quienes cuando donde como cual cuales cuantos cuantas "
    "por cuanto hace ha han es son era".split()
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a query: from ``at`` to ``end``, without its possessive ending. ``speaker`` empty: nobody known."""

    at: int
    end: int
    speaker: str
    possessive: bool


@lru_cache(maxsize=64)
def _aliases(speakers: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Folded names to speakers: full and single ones; a part that two of them share names neither."""
    full: dict[str, str] = {}
    single: dict[str, set[str]] = {}
    for speaker in speakers:
        folded = fold(speaker).strip()
        if not folded or folded in ROLES:
            continue
        full[folded] = speaker
        words = [word for word in re.split(r"[\s._@,-]+", folded) if len(word) > 1]
        for word in dict.fromkeys((words[0], words[-1]) if words else ()):
            single.setdefault(word, set()).add(speaker)
    return full, {word: next(iter(owners)) for word, owners in single.items() if len(owners) == 1}


def mentions(query: str, speakers: Mapping[str, int], language: str = "en") -> tuple[Mention, ...]:
    """The names in a query, in order, each as far as it goes ("Anna Maria Lopez" is one)."""
    full, single = _aliases(tuple(sorted(speakers)))
    found: list[Mention] = []
    taken = 0
    words = list(_WORD.finditer(query))
    for index, word in enumerate(words):
        if word.start() < taken:
            continue
        mention = _known(query, words, index, full, single)
        if mention is None and language != "de":  # there every noun has a capital
            mention = _unknown(query, words, index)
        if mention is not None:
            found.append(mention)
            taken = mention.end
    known = [(name, speaker) for name, speaker in full.items() if _UNSPACED.search(name)]
    return tuple(_unspaced(query, known, found)) if known else tuple(found)


def _known(query: str, words: Sequence[re.Match[str]], index: int, full: Mapping[str, str], single: Mapping[str, str]) -> Mention | None:
    first = words[index]
    for count in (4, 3, 2):
        if index + count <= len(words):
            last = words[index + count - 1]
            if (speaker := full.get(fold(query[first.start() : last.end()]))) is not None:
                return Mention(first.start(), last.end(), speaker, _owns(query, last.end()))
    word = fold(first[0])
    capital, opens, owns = first[0][0].isupper(), _SENTENCE.search(query[: first.start()]) is not None, _owns(query, first.end())
    for name, end in ((word, first.end()), (word.removesuffix("s"), first.end() - 1)):
        speaker = full.get(name) or single.get(name)
        if speaker is None or (name != word and not capital):
            continue
        if (name in _ALSO_WORDS or name in STOP or name in _COMMON) and not (capital and (owns or not opens)):
            continue
        return _longer(query, words, index, speaker, Mention(first.start(), end, speaker, owns or name != word))
    if capital and len(word) >= 3 and word not in _COMMON and word not in STOP and (speaker := _short(word, single)) is not None:
        return Mention(first.start(), first.end(), speaker, owns)
    return None


def _longer(query: str, words: Sequence[re.Match[str]], index: int, speaker: str, mention: Mention) -> Mention | None:
    """A first name followed by another surname than the speaker's is somebody else."""
    if mention.possessive or index + 1 >= len(words):
        return mention
    following = words[index + 1]
    if query[mention.end : following.start()] != " " or not following[0][0].isupper() or fold(following[0]) in _COMMON:
        return mention
    return mention if " " not in speaker or fold(following[0]) in fold(speaker) else None


def _short(word: str, single: Mapping[str, str]) -> str | None:
    """Mel for Melanie, or Melanie for Mel, where only one speaker can be meant."""
    owners = {speaker for name, speaker in single.items() if len(name) >= 3 and (name.startswith(word) or word.startswith(name))}
    return owners.pop() if len(owners) == 1 else None


def _unknown(query: str, words: Sequence[re.Match[str]], index: int) -> Mention | None:
    first = words[index]
    if not first[0][0].isupper() or fold(first[0]) in _COMMON or len(first[0]) < 2:
        return None
    if _SENTENCE.search(query[: first.start()]) and (fold(first[0]) in STOP or not _owns(query, first.end())):
        return None
    last = first
    for following in words[index + 1 :]:
        if query[last.end() : following.start()] != " " or not following[0][0].isupper() or fold(following[0]) in _COMMON:
            break
        last = following
    return Mention(first.start(), last.end(), "", _owns(query, last.end()))


def _owns(query: str, end: int) -> bool:
    return (
        query[end : end + 1] in ("'", "’")
        and query[end + 1 : end + 2].lower() in ("s", " ", "")
        and query[end + 2 : end + 3].isalpha() is False
    )


def _unspaced(query: str, known: Sequence[tuple[str, str]], found: Sequence[Mention]) -> list[Mention]:
    """Names of scripts without blanks stand inside longer runs."""
    kept = list(found)
    for name, speaker in sorted(known, key=lambda pair: -len(pair[0])):
        for place in re.finditer(re.escape(name), query.casefold()):
            if place.end() <= len(query) and not any(
                place.start() < other.end and other.at < place.end() and other.speaker for other in kept
            ):
                kept = [other for other in kept if not (place.start() < other.end and other.at < place.end())]
                kept.append(Mention(place.start(), place.end(), speaker, query[place.end() : place.end() + 1] in ("的", "の")))
    return sorted(kept, key=lambda mention: mention.at)


_ASK = (
    "did does do is are was were has have had will would can could should might may shall must hat hatte hast ist war wird wurde kann "
    "konnte mag macht sagte ha tiene es era fue dijo est etait avait aime fait"
)
_SUBJECT = re.compile(rf"\b(?:{'|'.join(_ASK.split())})\s+(?:both\s+|not\s+|also\s+|still\s+|ever\s+|usually\s+|often\s+)?\Z")
_VIEW = re.compile(r"\b(?:according\s+to|laut|segun|selon|d'apres|in\s+the\s+(?:opinion|view|words)\s+of)\s+\Z")
_OBJECT = re.compile(
    r"\b(?:to|with|for|from|about|of|by|on|at|than|like|toward|towards|and|mit|fur|von|uber|zu|an|con|para|sobre|de|a|avec|pour|sur|chez|et|y|und)\s+"
    r"(?:his\s+|her\s+|their\s+)?\Z"
)
_JOINS = re.compile(r"\s*(?:,|&|and|und|y|et|和|跟|与|と)\s*(?:both\s+)?\Z")


def about(query: str, named: Sequence[Mention]) -> tuple[str, ...]:
    """The speakers a query asks about: the subject of its question, else an owner ("Ann's dog"), else the first one named."""
    known = [mention for mention in named if mention.speaker]
    if len({mention.speaker for mention in known}) < 2:
        return (known[0].speaker,) if known else ()
    folded = [fold(query[: mention.at]) for mention in known]
    subject = next((index for index, before in enumerate(folded) if _VIEW.search(before)), None)
    if subject is None:
        subject = next((index for index, before in enumerate(folded) if _SUBJECT.search(before)), None)
    if subject is None:
        subject = next((index for index, before in enumerate(folded) if not _OBJECT.search(before)), 0)
    chosen = [known[subject]]
    for following in known[subject + 1 :]:
        if not chosen[-1].possessive and _JOINS.fullmatch(fold(query[chosen[-1].end : following.at])):
            chosen.append(following)
        else:
            break
    return tuple(dict.fromkeys(mention.speaker for mention in chosen))


_USER = {
    "en": r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|myself|we|our|us)\b",
    "de": r"\b(?:ich|mein|meine|meinen|meinem|meiner|meines|mir|mich|wir|unser|unsere)\b",
    "es": r"\b(?:yo|mi|mis|me|mio|mia|conmigo|nosotros|nuestro|nuestra)\b|\b(?:hice|dije|fui|compre|tengo|vivo)\b",
    "fr": r"\b(?:je|j'|mon|ma|mes|moi|me|m'|nous|notre|nos)(?=\b|\w)",
    "zh": r"我们?|我的|咱们",
    "ja": r"私|僕|俺|わたし|ぼく|うち",
}
_YOU = {
    "en": r"\b(?:you|your|yours|yourself)\b",
    "de": r"\b(?:du|dein|deine|deinen|dir|dich|sie\s+mir)\b",
    "es": r"\b(?:tu|te|tus|usted|me\s+(?:recomendaste|dijiste|sugeriste|recomendo))\b",
    "fr": r"\b(?:tu|ton|ta|tes|toi|vous|votre|m'as|m'avez)\b",
    "zh": r"你们?|您",
    "ja": r"あなた|君",
}
_ASKED_YOU = re.compile(
    r"\b(?:did|have|had|do|were|are|would)\s+you\b(?!\s+(?:know|remember|recall|tell|think\s+i|remind))|\byour\s+(?:\w+\s+)?"
    r"(?:suggestion|recommendation|advice|answer|reply|response|opinion|explanation)s?\b|\byou\s+(?:said|suggested|recommended|told|gave|mentioned|wrote|explained|proposed)\b"
    r"|\bhast\s+du\b|\bhaben\s+sie\s+mir\b|\bme\s+(?:recomendaste|dijiste|sugeriste|recomendo)\b|\b(?:m'as|m'avez|as-tu|avez-vous)\b|你.{0,3}(?:说|推荐|建议|提)|あなた.{0,4}(?:言|勧|提案)"
)
_PATTERNS = {name: (re.compile(_USER[name]), re.compile(_YOU[name])) for name in _USER}


def role(query: str, language: str) -> Role:
    """Whom the pronouns mean: the assistant where the query asks what it said or did, else the asker."""
    folded = fold(query)
    user, you = _PATTERNS.get(language, _PATTERNS["en"])
    if _ASKED_YOU.search(folded) and you.search(folded) or _ASKED_YOU.search(folded) and language in ("es", "fr"):
        return "assistant"
    return "user" if user.search(folded) else ""
