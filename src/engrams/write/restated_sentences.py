"""Corrections that say a sentence anew: "Pablo vive en Granada, me equivoqué".

``read_restatement`` recognises one by the words that announce it. ``find_replaced_value`` compares it
with a sentence that was said earlier: it corrects that one if they differ in one value. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from engrams.extract.command_languages import strip_accents
from engrams.frozen_data import dataclass
from engrams.text.late_patterns import holds_any
from engrams.text.normalize import fold
from engrams.text.questions import is_asking
from engrams.text.stopwords import STOP
from engrams.text.vocabulary import read_rows
from engrams.write.correction_announcements import strip_announcement
from engrams.write.value_corrections import ValueSort, is_exact_word, sort_value

_LONGEST = 160
"""Characters of the longest correction."""
_MOST_WORDS = 3
"""Words of the longest value."""
_MOST_CHARACTERS = 8
"""Characters of the longest value in a script without spaces."""
_FEWEST_COMMON = 2
"""Characters without particles that two sentences of such a script have in common."""
_SHORT_REST = 2
"""Characters behind a value of such a script that still belong to it: 苏州, 6歳."""

_SIGNS = tuple(sign for row in read_rows(__file__, "correction_signs") for sign in row.split("|"))
_EXACT_SORTS: frozenset[ValueSort] = frozenset(("clock", "number", "listed"))
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(r"\d+(?:[.,:h]\d+)*(?:st|nd|rd|th|am|pm|h)?(?!\w)|[^\W\d_]+|\d+")
_CHARACTER = re.compile(r"\d+(?:[.:]\d+)*|[a-z]+|[\u30a0-\u30ff]+|\w", re.IGNORECASE)
_PARTICLES = frozenset("はがをにでのもと的了是在")
_ENDS = re.compile(
    r"(?:[てで]い?(?:る|ます|た|ました)|です|でした|だった|だよ|だ|である|よ|ね|[\s.!?。！？…])+$"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?=.)|\n+")
_NAMING_WORDS = frozenset(
    "name names called named heisst heissen llama llaman appelle appellent s nombre nom".split()
)
"""Words that say no more than that a name follows."""
_BEFORE_TRAIT = re.compile(
    r"(?:\b(?:is|are|was|were|'s|'re|'m|am|very|so|too|really|quite|ist|sind|war|bin|sehr|zu|ganz|es|son|esta|estan|era"
    r"|muy|est|sont|suis|etait|tres|trop)\s+|[很太真])$",
    re.IGNORECASE,
)
"""Copula or adverb right before a value."""
_FIRST_PERSON = re.compile(
    r"(?:i|i'm|im|my|we|our|ich|mein\w*|wir|unser\w*|yo|mi|mis|nosotr[oa]s|nuestr[oa]s?|je|j'|mon|ma|mes|nous"
    r"|notre|nos)(?!\w)|我|私|僕|俺|わたし|うち",
    re.IGNORECASE,
)


_DENIAL = re.compile(r"\b(?:not|nicht|no|pas)\b|n't|不|[じで][ゃは]?", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not|never|nicht|nie|kein\w*|pas|jamais|nunca)\b|n't|[不没]", re.IGNORECASE
)
_MOST_DENIALS = 4
"""Most denials of a sentence that is read: each multiplies the ways in which it can be split."""
_DENIALS = (
    re.compile(
        r"(?P<opening>[^,;.!?\n]*?)\s*(?:\bnot|\bnicht|\bno|\bpas|(?<=is)n't|(?<=are)n't|(?<=was)n't|(?<=does)n't|(?<=do)n't)\s+(?P<denied>[^,;.!?\n]{1,60}?)"
        r"(?:\s*[,;.]\s*(?:but |sondern |sino |mais |pero |aber )?|\s+(?:but|sondern|sino|mais)\s+)"
        r"(?P<right>[^,;!?\n]{1,80})",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<opening>\S+)\s+(?:not|nicht|no|pas)\s+(?P<denied>[^,;.!?\n]{1,60}?)\s+(?P<right>(?P=opening)\s[^,;!?\n]{1,80})",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<opening>[^,;.!?\n]+?),?\s+(?:and |und |y |et )?(?:not|nicht|no|non pas|pas|rather than|instead of|statt)"
        r"\s+(?P<denied>[^,;.!?\n]{1,40})(?P<right>)[.!]*",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<opening>[^，,。！]+?)[，,]?而?不是(?P<denied>[^，,。！]{1,12})(?P<right>)[。！]*"
    ),
    re.compile(
        r"(?P<opening>[^，,。！]*?)不(?=[是在叫住姓])(?P<denied>[^，,。！]{1,14})[，,]\s*(?:而是)?(?P<right>[^，,。！]{1,20})[。！]*"
    ),
    re.compile(
        r"(?P<opening>[^、。！]*?[はがも])?(?P<denied>[^、。！はがも]{1,12}?)(?:に|で|を)?"
        r"(?:じゃ|では|で)(?:なく(?:て)?|ない(?:よ|です)?[。、])、?(?P<right>[^、。！]{1,20})[。！]*"
    ),
)
"""Ways to say a wrong value with the right one: what stands before, what is denied, what is right."""


@dataclass(frozen=True, slots=True)
class RestatedSentence:
    """Sentence that is said anew, because what was said before is wrong."""

    sentence: str
    denied: str = ""
    """Words that hold the wrong value; empty: it is not named."""


@dataclass(frozen=True, slots=True)
class _MeaningfulWord:
    folded: str
    start: int
    end: int


def read_restatement(text: str) -> RestatedSentence | None:
    """Read the sentence that a message says anew because it was wrong; None: it says none."""
    if len(text) > _LONGEST or "?" in text or "？" in text:
        return None
    plain_words = strip_accents(text).lower().split()
    if not holds_any(f" {' '.join(plain_words)} ", _SIGNS):
        return None  # most messages: their patterns need not be tried
    announced = strip_announcement(text)
    sentence, denied = _split_denied(announced.text.rstrip(" .!…！"))
    if not (announced.is_strong or denied) or len(_SENTENCE_END.split(sentence)) > 1:
        return None
    if len(_read_tokens(sentence)) < 2 or is_asking(sentence):
        return None
    return RestatedSentence(sentence, denied)


def _split_denied(text: str) -> tuple[str, str]:
    """Split a sentence with the right value from what it denies: "X is B, not A", "X is not A but B"."""
    if len(_DENIAL.findall(text)) > _MOST_DENIALS:
        return text, ""
    for pattern in _DENIALS:
        if match := pattern.fullmatch(text):
            opening = match["opening"] or ""
            right = (match["right"] or "").removeprefix("是")
            is_whole = right and fold(right).startswith(fold(opening.strip()))
            between = "" if _UNSPACED.search(text) else " "
            sentence = right if is_whole else f"{opening}{between}{right}"
            return sentence.strip(), match["denied"].strip()
    return text, ""


def find_replaced_value(
    restated: RestatedSentence, earlier: str
) -> tuple[tuple[int, int], str] | None:
    """Find the value of an earlier message in whose place a sentence said anew has another.

    Returns its span in the earlier message, and the right value. None: they differ otherwise.
    """
    start = 0
    for part in _SENTENCE_END.split(earlier):
        start = earlier.index(part, start)
        replaced = _compare(restated, part)
        if replaced is not None:
            (first, last), value = replaced
            return (start + first, start + last), value
        start += len(part)
    return None


def _opens_with_oneself(sentence: str) -> bool:
    """True for a sentence whose first word means the speaker: "I …", "mein …"."""
    return _FIRST_PERSON.match(sentence.lstrip()) is not None


def _compare(restated: RestatedSentence, earlier: str) -> tuple[tuple[int, int], str] | None:
    earlier_words = _read_tokens(earlier)
    right = _read_tokens(restated.sentence)
    difference = _find_only_difference(earlier_words, right)
    if difference is None:
        return None
    old, new = difference
    if _UNSPACED.search(restated.sentence):
        old, new = _complete_words(earlier_words, right, old, new)
        if fold(_cut(earlier, earlier_words[old])) not in fold(restated.denied):
            old, new = difference
        longest = _MOST_CHARACTERS
    else:
        longest = _MOST_WORDS
    old = _narrow_to_exact(earlier_words, old, restated.sentence[right[new.start].start :])
    if max(old.stop - old.start, new.stop - new.start) > longest:
        return None
    span = (earlier_words[old.start].start, earlier_words[old.stop - 1].end)
    value = _cut(restated.sentence, right[new])
    if _NEGATION.search(value):
        return None  # "I didn't get the job" gives no other value
    wrong = earlier[slice(*span)]
    if restated.denied:
        is_meant = fold(wrong) in fold(restated.denied)
    else:
        is_meant = not _is_trait(restated.sentence[: right[new.start].start], value)
    # "I'm allergic to hazelnuts" is not about Ben, who is allergic to walnuts.
    same_first = old.start == new.start == 0 or earlier_words[0].folded == right[0].folded
    if not same_first and _opens_with_oneself(restated.sentence):
        return None
    is_meant = is_meant and _have_enough_in_common(restated.sentence, earlier_words, right)
    return (span, value) if is_meant and _are_alike(wrong, value) else None


def _find_only_difference(
    earlier_words: Sequence[_MeaningfulWord], right: Sequence[_MeaningfulWord]
) -> tuple[slice, slice] | None:
    """Find the words in whose place a sentence has others; None: it differs otherwise, too.

    The earlier sentence may say more: "My sister Clara lives in Leeds", "Clara lives in Bristol".
    """
    matcher = SequenceMatcher(
        None,
        [token.folded for token in earlier_words],
        [token.folded for token in right],
        autojunk=False,
    )
    changes = [operation for operation in matcher.get_opcodes() if operation[0] != "equal"]
    replacements = [operation for operation in changes if operation[0] == "replace"]
    if len(replacements) != 1 or any(operation[0] == "insert" for operation in changes):
        return None
    _, first, last, right_first, right_last = replacements[0]
    return slice(first, last), slice(right_first, right_last)


def _have_enough_in_common(
    sentence: str, earlier_words: Sequence[_MeaningfulWord], right: Sequence[_MeaningfulWord]
) -> bool:
    words = {token.folded for token in right}
    common = [token.folded for token in earlier_words if token.folded in words]
    if _UNSPACED.search(sentence):
        return sum(len(word) for word in common if word not in _PARTICLES) >= _FEWEST_COMMON
    return bool(common)


def _is_trait(before: str, value: str) -> bool:
    """True for a word of many that may hold together: a friendly dog may be old."""
    return sort_value(value) == "words" and _BEFORE_TRAIT.search(strip_accents(before)) is not None


def _complete_words(
    earlier_words: Sequence[_MeaningfulWord],
    right: Sequence[_MeaningfulWord],
    old: slice,
    new: slice,
) -> tuple[slice, slice]:
    """Add the last characters of a value that two sentences have in common: 苏州 and 杭州, 6歳."""
    common_end = len(earlier_words) - old.stop
    if common_end > _SHORT_REST or common_end != len(right) - new.stop:
        return old, new
    return slice(old.start, len(earlier_words)), slice(new.start, len(right))


def _narrow_to_exact(earlier_words: Sequence[_MeaningfulWord], old: slice, value: str) -> slice:
    """Cut the words beside an exact value: of "4 years old", "6" replaces the number."""
    sort = sort_value(value.split(maxsplit=1)[0])
    if sort not in _EXACT_SORTS:
        return old
    exact = [
        number
        for number in range(old.start, old.stop)
        if sort_value(earlier_words[number].folded) == sort
    ]
    return slice(exact[0], exact[0] + 1) if len(exact) == 1 else old


def _cut(text: str, tokens: Sequence[_MeaningfulWord]) -> str:
    return text[tokens[0].start : tokens[-1].end]


def _are_alike(old: str, new: str) -> bool:
    """True for values of one sort: a time of day stands for another, and no name for it."""
    sorts = {sort_value(old), sort_value(new)}
    return len(sorts) == 1 or not sorts & _EXACT_SORTS


def _read_tokens(text: str) -> Sequence[_MeaningfulWord]:
    """Read the words of a sentence that carry its meaning."""
    plain = strip_accents(text)
    is_unspaced = _UNSPACED.search(text) is not None
    start = len(text) - len(text.removeprefix("是"))
    ending = _ENDS.search(plain) if is_unspaced else None
    end = ending.start() if ending else len(plain)
    pattern = _CHARACTER if is_unspaced else _WORD
    tokens = [
        _MeaningfulWord(fold(match[0]), match.start(), match.end())
        for match in pattern.finditer(plain, start, end)
    ]
    if is_unspaced:
        return tokens
    return [
        token
        for token in tokens
        if token.folded not in _NAMING_WORDS
        and (len(token.folded) > 1 or token.folded.isdigit())
        and (token.folded not in STOP or is_exact_word(token.folded))
    ]
