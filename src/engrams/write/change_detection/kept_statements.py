"""Earlier statements that still hold, because a newer message tells on with what they say.

The newer message names again all that the earlier statement is about, and no part of it that tells
an end does: "I'm now team lead at Siemens" after "I work at Siemens", "Zoom is gone, we have Jitsi
instead" after "we use Jitsi". Enter at ``tells_on``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from engrams.text.normalize import fold
from engrams.text.said_again import denies
from engrams.text.stopwords import HAN_FUNCTION, STOP
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary, word_pattern
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.explicit_endings import tells_end
from engrams.write.change_detection.features import read_clause
from engrams.write.change_detection.replacement_evidence import gives_other_value

if TYPE_CHECKING:
    from engrams.write.change_detection.features import MessageFeatures

_LONGEST = 300
"""Characters of a message that is read: a longer one tells of several things."""
_ENDS = tuple(map(NAMES.index, ("no_more", "end")))
_SWITCH = NAMES.index("switch")
_INSTEAD = NAMES.index("instead")
_PARTS = re.compile(r"[,;:!?…]\s+|\.\s+|\s[–—-]\s|[。，；！？、\n]")
_JOINT = re.compile(r"\s(?:and|und|et|y)\s")
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_RUNS = re.compile("[a-z0-9]+|[\u30a0-\u30fc]+|[\u4e00-\u9fff]+")
_HAN = re.compile("[\u4e00-\u9fff]")
_COPULA = re.compile(r"\s(?:is|are|ist|sind|es|est|son)\s|'s\s|是|は")
_ADJUNCT = re.compile(
    r"\s(?:for|at|in|on|to|with|by|fur|bei|im|zu|zum|zur|auf|pour|a|au|dans|para|en)\s"
)
_RAISED = re.compile(
    r"\b(?:bump\w*|upgrad\w*|updat\w*|promot\w*|actualiz\w*|aktualisier\w*|ascendi\w*|made me|befordert\w*)\b|升级"
)
"""Words of a change by which a thing stays what it is."""
_PLACE = r"(?:at|in|with|for|bei|beim|im|chez|au|dans|en|con)"
_HOLDER = re.compile(rf"\s{_PLACE}\s+(?P<holder>(?:\S+\s+){{0,2}}\S+?)\W*$")
"""Holder at the end of a clause, with or for whom something is done: "plays handball at TSV"."""
_PLACES = re.compile(rf"\b{_PLACE}\s")


class _Part(NamedTuple):
    """Part of a message between two commas or full stops."""

    text: str
    words: frozenset[str]
    tells_end: bool
    """It says that something is over, or denies something."""


def tells_on(ending: str, new: MessageFeatures, people: frozenset[str]) -> bool:
    """True if a newer message leaves what an older clause tells as it is, and names it again.

    ``people``: whom the older message names.
    """
    if max(len(ending), len(new.text)) > _LONGEST or denies(ending):
        return False
    if not new.people <= people:
        return False
    parts = _read_parts(new.text)
    lasting_parts = [part for part in parts if not part.tells_end]
    subject_words = _list_words(ending)
    if (
        not subject_words
        or not lasting_parts
        or any(part.words & subject_words for part in parts if part.tells_end)
    ):
        return False
    if any(gives_other_value(ending, part.text) for part in lasting_parts):
        return False
    repeated_words = frozenset().union(*(part.words for part in lasting_parts))
    if subject_words <= repeated_words:
        return not any(_is_led_by(part.text, ending, subject_words) for part in lasting_parts)
    if len(lasting_parts) < len(parts):
        return _list_core(ending) <= repeated_words
    return any(_takes_role(ending, part.text) for part in lasting_parts)


@text_cache(1 << 12)
def _read_parts(text: str) -> tuple[_Part, ...]:
    """Read the parts of a message. Cached: a message is compared with many.

    A change that follows on an end tells what took the place: "Zoom is gone, we switched to Jitsi".
    """
    parts: list[_Part] = []
    for piece in _PARTS.split(text):
        first_piece, *more_pieces = _JOINT.split(piece, maxsplit=1)
        pieces = (
            [first_piece, *more_pieces]
            if more_pieces and _tells_end(first_piece, follows=False)
            else [piece]
        )
        for words in filter(str.strip, pieces):
            follows = any(part.tells_end for part in parts)
            parts.append(_Part(words, _list_words(words), _tells_end(words, follows=follows)))
    return tuple(parts)


def _tells_end(text: str, *, follows: bool) -> bool:
    if denies(text) or tells_end(text):
        return True
    cues = read_clause(text).cues
    if any(cues[cue] for cue in _ENDS) or word_pattern(__file__, "kept/ends").search(fold(text)):
        return True
    if follows or (not cues[_SWITCH] and not cues[_INSTEAD]):
        return False
    remainder = read_clause(_RAISED.sub(" ", fold(text))).cues
    return bool(remainder[_SWITCH] or remainder[_INSTEAD])


@text_cache(1 << 12)
def _list_words(text: str) -> frozenset[str]:
    """List the words that tell what a text is about, without those of having, doing and of time."""
    folded = fold(text)
    if _UNSPACED.search(folded):
        idle = word_pattern(__file__, "kept/idle_unspaced")
        runs = _RUNS.findall(idle.sub(" ", folded))
        return frozenset(word for run in runs for word in _split_run(run)) - HAN_FUNCTION
    return frozenset(terms(text)) - _list_idle()


def _split_run(run: str) -> list[str]:
    """Split a run of Chinese characters into pairs: 杭州 and 苏州 have none in common."""
    if len(run) == 1 or not _HAN.match(run):
        return [run]
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _list_core(ending: str) -> frozenset[str]:
    """List the words of the value that a clause gives: "Jitsi" of "we use Jitsi for calls".

    Behind "is" stands the value; before a preposition stands that of another verb.
    """
    folded = fold(ending)
    sides = _COPULA.split(folded, maxsplit=1)
    value = sides[1] if len(sides) > 1 else _ADJUNCT.split(folded, maxsplit=1)[0]
    return _list_words(value) or _list_words(ending)


@cache
def _list_idle() -> frozenset[str]:
    return STOP | frozenset(terms(read_vocabulary(__file__, "kept/idle")))


def _is_led_by(part: str, ending: str, subject_words: frozenset[str]) -> bool:
    """True if a part begins with a bare name that the older clause has elsewhere.

    "Anna lives in Paris now" after "I live with Anna" tells of Anna, not of the speaker.
    """
    if _UNSPACED.search(part) or _RAISED.search(fold(part)):
        return False
    first = part.split(maxsplit=1)[0]
    words = set(terms(first))
    is_name = first[:1].isupper() and bool(words) and words <= subject_words
    return is_name and not words & set(terms(ending.split(maxsplit=1)[0]))


def _takes_role(ending: str, part: str) -> bool:
    """True if a part tells a role where the older clause tells what is done: "captain at TSV"."""
    folded = fold(ending)
    holder_match = _HOLDER.search(folded)
    activity = word_pattern(__file__, "kept/activities").search(folded)
    if holder_match is None or activity is None or activity.start() > holder_match.start():
        return False
    if activity[0] in fold(part) or not word_pattern(__file__, "kept/role_verbs").search(
        fold(part)
    ):
        return False
    holder = [word for word in terms(holder_match["holder"]) if word not in _list_idle()]
    words = _list_words(part)
    subject = _list_words(folded[: activity.start()])
    if not holder or not subject | {holder[0]} <= words:
        return False
    return words.issuperset(holder) or len(_PLACES.findall(fold(part))) == 1
