"""Corrections of a value within minutes: "4417 i mean", "wait no, 8", "Emil is seven, not six".

``read_value_correction`` recognises one; ``find_corrected_value`` finds the value of the same sort
in an earlier message of its speaker. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import timedelta
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal, TypeAlias

from engrams.frozen_data import dataclass
from engrams.text.comparison.language_tables import LANGUAGES, detect_language, load_table
from engrams.text.normalize import fold
from engrams.text.questions import is_asking
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.write.correction_announcements import strip_announcement

ValueSort: TypeAlias = Literal["clock", "number", "listed", "name", "words"]
"""A time of day, a number or ordinal, a word of a list of the tables (weekdays, colours), a name,
or other words."""

WEAK_WINDOW = timedelta(minutes=10)
"""Time after a message in which "no", "sorry" or "wait" with a value corrects it."""
STRONG_WINDOW = timedelta(hours=24)
"""The same for words that can only mean a slip: "i mean", "typo", "misheard"."""
_LONGEST = 120
"""Characters of the longest correction."""
_LONGEST_BARE = 40
"""Characters of the longest message that is a correction by nothing but a name like the last one."""
_MOST_WORDS = 5
"""Words of the longest value."""
_MOST_OTHER_WORDS = 3
"""Words of the longest value that is no time, number, name or listed word. Longer ones are clauses."""
_LIKE = 0.5
"""Likeness from which one name is a misspelling of another: Jonas, Jannis."""
_SHARED_END = 4
"""Letters of a common end from which two words are of one sort: peanuts, hazelnuts."""

_STRONG_WORDS = (
    # "I meant to buy bread" tells what somebody wanted to do.
    r"i (?:meant|mean)(?! to\b)|i misspelled(?: that)?|typo|misheard(?: (?:him|her|them|it))?(?: on the phone)?",
    r"misread(?: (?:it|that))?|mistyped|fat fingers|correction|scratch that|my (?:bad|mistake)|make that",
    r"(?:(?:that|it) )?should (?:be|say|read)|i got (?:that|it) wrong|(?:(?:it|s?he) is |(?:it|s?he)['’]s )spel(?:led|t)",
    r"(?:with an?|mit(?: einem)?|con(?: una?)?|avec(?: une?)?) [b-xz]",
    r"ich mein(?:t)?e|(?:ich hab(?:e)? mich )?(?:vertippt|verrechnet|verlesen|verhört|versprochen|verschrieben|vertan|geirrt)",
    r"quatsch|korrektur|besser gesagt|muss heißen",
    r"quise decir|quería decir|quiero decir|me equivoqué|me he equivocado|me confundí|me he confundido|corrección|mejor dicho",
    r"je voulais dire|je veux dire|je me suis trompée?|erreur|faute de frappe",
)
_STRONG_CHARACTERS = (
    r"と言いたかった(?:んです|のです|の)?|のつもり(?:でした|だった)",
    r"我是说|我说的是|[说打写搞弄记]错了|口误|更正|应该是",
    r"じゃなくて|ではなくて|間違えました|間違えた",
    r"間違い|訂正|正しくは|打ち間違い",
)
_WEAK_WORDS = (
    r"no|nope|wait|sorry|oops|actually|hang on|hold on|rather|it'?s|it is",
    r"nein|nee|warte|halt|moment|ups|entschuldigung|verzeihung|doch nicht|(?:das )?stimmt nicht|eigentlich",
    r"perdón|perdona|espera|digo|en realidad|non|pardon|désolée?|oups|attends|plutôt|en fait",
)
_WEAK_CHARACTERS = r"不对|错了|抱歉|不是|ごめん|すみません|失礼(?:しました)?|違う|違った|いや"
_STRONG = re.compile(
    rf"\b(?:{'|'.join(_STRONG_WORDS)})(?!\w)|{'|'.join(_STRONG_CHARACTERS)}", re.IGNORECASE
)
_WEAK = re.compile(rf"\b(?:{'|'.join(_WEAK_WORDS)})(?!\w)|{_WEAK_CHARACTERS}", re.IGNORECASE)
_OPENING = re.compile(rf"^(?:{_WEAK.pattern}|{_STRONG.pattern})\s*[,.:;…、，。]+\s*", re.IGNORECASE)
"""Words that only announce a correction: "Sorry, not Kassel but Fulda"."""
_CLOSING = re.compile(rf"[,.;，、]\s*(?:{_WEAK.pattern}|{_STRONG.pattern})$", re.IGNORECASE)
_FRAME = re.compile(
    r"^(?:it'?s|its|it is|it was|that'?s|thats|the|a|an|is|was|on|at|for|to|with|of course|natürlich|es ist|es sind"
    r"|das ist|ist|sind|der|die|das|den|dem|am|um|auf|für|el|la|los|las|es|son|a|le|les|l'|c'est|ce sont|des|du|de|à|aux?"
    r"|the name is|se llama|s'appelle|heißt|是|は|の|が|name is|called)(?!\w)[\s:]*|^是|^[、,]",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s*(?:natürlich|of course|though|please|bitte|(?:ist|sind) (?:er|sie|es)|(?:s?he|it|they) (?:is|are)|です|だ|の|よ|啦|的)$",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？].*\S")
"""A question with more after it: "Wow, did you make that? It looks so real!"."""
_WRONG = re.compile(
    r"(?:\bnot|\bnicht|\binstead of|\bpas|\bstatt)(?!\w)\s*(?P<wrong>[^,.;!?，。；！？、]{1,60})$",
    re.IGNORECASE,
)
_NAMED_PAIR = re.compile(
    r"(?P<clause>[^.,;:!?\n]*(?:\b(?:Mr|Mrs|Ms|Dr)\.[^.,;:!?\n]*)*?),?\s+(?:and |und |y |et )?"
    r"(?:not|nicht|no|non pas|pas|rather than|instead of)\s+"
    r"(?P<wrong>(?:(?:Mr|Mrs|Ms|Dr)\. )?[^.,;:!?\n]{1,40})",
    re.IGNORECASE,
)
"""A clause that ends with the right value, and the wrong one: "Emil is seven, not six"."""
_PREPOSITION = re.compile(
    r"^(?:gegen|im?|bei|nach|aus|en|à|con|contra|contre|chez|from|in|to|by|with)\s+", re.IGNORECASE
)
"""Preposition before the wrong value of a pair: "nicht gegen Erdnüsse"."""
_WRONG_FIRST = re.compile(
    r"(?P<clause>[^.,;:!?\n]*)"
    r"(?:\b(?:not|nicht|no|pas)(?!\w)|\b(?:i|ich|yo) (?:said|wrote|typed|sagte|schrieb|dije|escribí)|\bj'ai (?:dit|écrit))\s+"
    r"(?P<wrong>(?!only|just|nur|bloß|seulement|s[oó]lo|solamente)[^.,;:!?\n]{1,40}?)"
    r"(?:\s*,?\s+(?:but|sondern|aber|mais|sino|pero|rather)|\s*[,;])\s+(?P<right>[^.,;:!?\n]{1,40})",
    re.IGNORECASE,
)
"""The wrong value, and then the right one: "not Leeds but Sheffield", "Sie heißt nicht Lea, sondern Lena"."""
_LONGEST_RIGHT = 2
"""Words of the right value behind a wrong one. More of them tell something new: "not 3 but 4 of my friends"."""
_UNSPACED_PAIRS = (
    re.compile(
        r"(?P<clause>.*[是在叫])(?P<right>(?!的(?:[，,]|不))[^是，,]{1,12})[，,]?而?不(?:是|在|叫)(?P<wrong>.{1,12})"
    ),
    re.compile(r"(?P<clause>.*)不是(?P<wrong>[^是，,]{1,12})[，,]?而?是(?P<right>.{1,12})"),
    re.compile(
        r"(?P<clause>.*[はがも])?(?P<wrong>[^はがも、]{1,12}?)(?:じゃなく(?:て)?|ではなく(?:て)?|でなく(?:て)?)、?"
        r"(?P<right>.{1,12}?)(?:です|だ|だよ|ですよ)?"
    ),
)
_COPULA_ALONE = re.compile(r"^(?:应该|應該|其实|其實|就)?[是在叫]$")
"""Clause of a named pair that says nothing but "is": "是成都，不是厦门"."""
_PAIR_FRAME_SHARE = 0.6
"""Share of the words of a named pair's clause that the corrected message has."""
_NOT_BEFORE = re.compile(r"(?:no|non)\s+(?P<wrong>.+)", re.IGNORECASE)
"""Spanish and French "not", which also open a correction."""
_POSSESSIVE_END = re.compile(r"['’]s?$")
"""End by which a name owns something, and stays the same name: Emma's, Jonas'."""
_SPELLED = re.compile(r"(?:\w-)+\w")
"""Name spelled letter by letter."""
_CLAUSE_WORDS = frozenset(
    "i we you he she they it never didn't don't doesn't isn't wasn't haven't hasn't won't can't"
    " ich wir du er sie man nie nicht yo nosotros nunca je nous tu il elle jamais".split()
)
"""Words that stand in clauses and in no value."""
_ARTICLES = frozenset(("the", "a", "der", "die", "das", "el", "la", "le", "of", "am", "um"))
_TITLES = frozenset(("mr", "mrs", "ms", "dr", "herr", "frau", "madame", "monsieur"))
_PIECES = re.compile(r"[;!?，。；！？、()…–—]+|(?<!\d)[,:]|[,:](?!\d)|\.(?!\w)")
"""Ends of the pieces of a message. "16:30" and "1,5" are one value each."""
_CLOCK = re.compile(
    r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2}\s?(?:am|pm|uhr|h)\b"
    r"|\b(?:half past|quarter (?:past|to)|halb) \w+\b"
    r"|(?<=\bat )(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b"
    r"|\d{1,2}[点時](?:半|\d{1,2}分)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.])\d+(?:[.,:/-]\d+)*(?:st|nd|rd|th|\.(?= \w))?(?!\w)|\d+(?:[.,]\d+)?", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w'’-]+")
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr)\. (?P<name>[A-ZÀ-ÖØ-Þ][\w'’-]+)")
_CALLED = re.compile(
    r"\b(?:called|named|is|spel(?:led|t)|heißt|llama|appelle|叫)\s+(?P<name>[A-ZÀ-ÖØ-Þ][\w'’-]+)"
)
_APOSTROPHE_WORD = re.compile(r"\b\w['’]")
"""A letter before the next word, which is no word of its own: "elle s'appelle"."""
_NAMING = frozenset(("name", "nombre", "nom", "spelled", "written"))
_SAID_TO_BE = re.compile(r"(?:的是|なのは)(?P<name>[^是は]{1,12})$")
"""Value of an unspaced clause: "过敏的是菠萝"."""


@dataclass(frozen=True, slots=True)
class ValueCorrection:
    """Message that only sets a value right."""

    value: str
    """The right value, as it was written."""
    wrong_value: str = ""
    """The wrong value, where it is named."""
    unit: tuple[str, ...] = ()
    """Words beside an exact value, folded, which the corrected message must have too."""
    frame: tuple[str, ...] = ()
    """Terms of the clause around a named pair of values; most of them are in the corrected message."""
    is_strong: bool = False
    """It can only mean a slip, and not an answer or another wish."""

    @property
    def window(self) -> timedelta:
        """Time after the corrected message in which it counts."""
        return STRONG_WINDOW if self.is_strong else WEAK_WINDOW


_OWN_CLAUSE = re.compile(
    r"(?:i|we)(?:['’]\w+)? (?:never|did|didn['’]t|do|don['’]t|have|haven['’]t|am|was|won['’]t)\b",
    re.IGNORECASE,
)
"""A clause of the speaker, which is no value: "scratch that, I never moved"."""


_POINTS_ELSEWHERE = re.compile(r"(?:other|others|second|last|next|previous|same)\b", re.IGNORECASE)
"""A thing of the conversation, which is no value: "no, I meant the other file"."""


@text_cache(256)
def read_value_correction(text: str) -> ValueCorrection | None:
    """Read a message that sets a value right; None: it is none.

    Cached: the gate asks it, extraction, and reconciliation.
    """
    if len(text) > _LONGEST or _ASKS.search(text):
        return None
    named_pair = _read_named_pair(text)
    if named_pair is not None:
        return named_pair
    strong = _STRONG.search(text)
    if strong is None and is_asking(text):
        return None  # "When is Emma's play?" names Emma, and corrects nobody's name
    is_bare = strong is None and _WEAK.search(text) is None
    if is_bare and (len(text) > _LONGEST_BARE or not any(map(str.isupper, text))):
        return None
    value, wrong_value, pieces = _read_pieces(text)
    if not value or _OWN_CLAUSE.match(value) or _POINTS_ELSEWHERE.match(value):
        return None
    sort = sort_value(value)
    if strong is None and (len(pieces) > 1 + is_bare or sort == "words"):
        return None
    subject = _read_subject(text)
    if is_bare and (sort != "name" or subject):
        return None
    if sort == "words" and _is_clause(value):
        return None
    exact = _find_exact(value, sort)
    beside = value.replace(exact, " ", 1) if exact else ""
    unit = tuple(fold(word) for word in _WORD.findall(beside) if fold(word) not in _ARTICLES)
    return ValueCorrection(exact or value, wrong_value, unit, subject, strong is not None)


def _read_subject(text: str) -> tuple[str, ...]:
    """Return the terms of whom a naming is about: of the sister in "My sister is called Ines"."""
    naming = _CALLED.search(_STRONG.sub(" ", _WEAK.sub(" ", text)))
    if naming is None:
        return ()
    said_before = _APOSTROPHE_WORD.sub(" ", naming.string[: naming.start()])
    words = [
        word
        for word in _WORD.findall(said_before)
        if fold(word) not in STOP | _NAMING | _CLAUSE_WORDS
    ]
    return tuple(terms(" ".join(words)))


def _read_pieces(text: str) -> tuple[str, str, Sequence[str]]:
    """Read the right value of a correction, the wrong one where it is named, and its pieces."""
    pieces: list[str] = []
    named_values: list[str] = []
    wrong_value = ""
    for piece in _PIECES.split(text):
        remainder = _STRONG.sub(" ", piece)
        if match := _WRONG.search(remainder):
            wrong_value = _strip_frame(match["wrong"])
            remainder = remainder[: match.start()]
        value = _strip_frame(_WEAK.sub(" ", remainder))
        if naming := _CALLED.search(value) or _SAID_TO_BE.search(value):
            named_values.append(naming["name"])
        if value and pieces and (match := _NOT_BEFORE.match(piece.strip())):
            wrong_value = _strip_frame(match["wrong"])
        elif value and not _SPELLED.fullmatch(value):
            pieces.append(value)
    return _choose_value(named_values or pieces), wrong_value, pieces


def find_corrected_value(
    correction: ValueCorrection, text: str, objects: Sequence[str] = ()
) -> tuple[int, int] | None:
    """Find the value of an earlier message that a correction sets right; None: it has none.

    Returns where it begins and ends in the text. ``objects``: of the statements learned from it.
    """
    if not _shares_frame(correction.frame, text):
        return None
    if correction.wrong_value:
        return _find_folded(text, correction.wrong_value)
    sort = sort_value(correction.value)
    units = {_cut_plural(fold(word)) for word in _WORD.findall(text)}
    if not units.issuperset(map(_cut_plural, correction.unit)):
        return None
    spans = [
        span
        for span in _find_values(sort, correction.value, text)
        if fold(text[slice(*span)]) != fold(correction.value)
    ]
    if sort == "words" or (sort == "name" and not spans):
        return _find_words(correction, text, objects)
    if sort == "name" and not correction.is_strong:
        spans = [span for span in spans if _is_slip(text[slice(*span)], correction.value)]
    if not spans:
        return None
    return max(spans, key=lambda span: (_rate(text[slice(*span)], correction.value), span))


def _cut_plural(word: str) -> str:
    """Cut the ending by which a unit is counted: "2 kilos", "1 kilo"."""
    return word.removesuffix("s")


def _find_folded(text: str, value: str) -> tuple[int, int] | None:
    """Find a value as it may be written otherwise: "zurich" in "Ich wohne in Zürich"."""
    folded = fold(text)
    folded_value = fold(value)
    start = folded.find(folded_value)
    if start < 0:
        return None
    end = start + len(folded_value)
    if len(folded) == len(text):
        return start, end
    # A folded letter may be longer: ß is ss.
    starts = [0, *accumulate(len(fold(letter)) for letter in text)]
    return bisect_right(starts, start) - 1, bisect_left(starts, end)


def is_reversed(correction: ValueCorrection, text: str) -> bool:
    """True if an earlier message chose the other one of two values: "tabs, not spaces".

    With the right value in the place of the wrong one alone it would name the right one twice.
    """
    earlier = _read_named_pair(text) if correction.wrong_value else None
    return earlier is not None and fold(earlier.wrong_value) == fold(correction.value)


def exchange_values(text: str, value: str, other_value: str) -> str:
    """Write each of two values in the place of the other."""
    replacements = {fold(value): other_value, fold(other_value): value}
    longest_first = sorted((value, other_value), key=len, reverse=True)
    value_pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    return value_pattern.sub(lambda match: replacements.get(fold(match[0]), match[0]), text)


def _read_named_pair(text: str) -> ValueCorrection | None:
    """Read a clause that names the right and the wrong value, of one sort; None: it is none."""
    announced = strip_announcement(text)
    sentence = _OPENING.sub("", _CLOSING.sub("", announced.text.strip(" .!。！")))
    for pattern in _UNSPACED_PAIRS:
        if match := pattern.fullmatch(sentence):
            frame = tuple(terms(_COPULA_ALONE.sub("", match["clause"] or "")))
            return ValueCorrection(match["right"], match["wrong"], frame=frame, is_strong=True)
    if _ASKS.search(sentence) or "?" in sentence:
        return None
    if match := _WRONG_FIRST.fullmatch(sentence):
        return _read_wrong_first(match)
    match = _NAMED_PAIR.fullmatch(text.strip(" .!。！")) or _NAMED_PAIR.fullmatch(sentence)
    if match is None:
        return None
    wrong = _strip_title(_PREPOSITION.sub("", _strip_frame(match["wrong"])))
    span = _find_last_value(match["clause"], sort_value(wrong), wrong)
    if span is None:
        return None
    beside = f"{match['clause'][: span[0]]} {match['clause'][span[1] :]}"
    clause = _STRONG.sub(" ", _WEAK.sub(" ", beside))
    frame = tuple(term for term in terms(clause) if term not in STOP | _TITLES)
    value = match["clause"][slice(*span)]
    if value.islower() and not frame and sort_value(value) == "words":
        return None
    return ValueCorrection(value, _find_number(wrong) or wrong, frame=frame, is_strong=True)


def _read_wrong_first(match: re.Match[str]) -> ValueCorrection | None:
    """Read the wrong value and the right one behind it; None: they are not of one sort."""
    wrong = _strip_title(_strip_pair_value(match["wrong"]))
    right = _strip_title(_strip_pair_value(match["right"]))
    sort = sort_value(right)
    if not wrong or not right or sort != sort_value(wrong):
        return None
    if max(len(wrong.split()), len(right.split())) > _LONGEST_RIGHT:
        return None
    if sort == "listed" and _find_group(wrong) != _find_group(right):
        return None
    clause = _STRONG.sub(" ", _WEAK.sub(" ", match["clause"]))
    frame = tuple(term for term in terms(clause) if term not in STOP | _TITLES)
    if sort == "words" and frame:
        return None
    return ValueCorrection(right, wrong, frame=frame, is_strong=True)


def _strip_pair_value(text: str) -> str:
    """Cut what a value of a pair stands in: "à Angers", "I meant Bosch"."""
    value = _strip_frame(_STRONG.sub(" ", text))
    return _strip_frame(_PREPOSITION.sub("", value))


def _find_last_value(clause: str, sort: ValueSort, wrong: str) -> tuple[int, int] | None:
    """Find the value of a sort that ends a clause, as a span; None: it ends otherwise."""
    words = [match.span() for match in _WORD.finditer(clause)]
    if sort == "name":
        end = len(words)
        while end > 1 and len(words) - end < 2 and clause[words[end - 1][0]].islower():
            end -= 1
        start = end
        while start > 1 and clause[words[start - 1][0]].isupper() and end - start < 2:
            start -= 1
        while start < end and fold(clause[slice(*words[start])]) in _TITLES:
            start += 1
        return (words[start][0], words[end - 1][1]) if start < end else None
    if sort == "words":
        is_word = bool(words) and words[-1][1] == len(clause) and _WORD.fullmatch(wrong)
        return words[-1] if is_word else None
    group_of = wrong if sort == "listed" else ""
    spans = sorted(_find_values(sort, group_of, clause))
    if not spans or len(_WORD.findall(clause[spans[-1][1] :])) > _MOST_OTHER_WORDS:
        return None
    return spans[-1]


def _find_number(value: str) -> str:
    """Return the number in a value, as digits or as a word; empty: there is none."""
    if match := _CLOCK.search(value) or _NUMBER.search(value):
        return match[0]
    return next((word for word in _WORD.findall(value) if _read_number_word(word)), "")


def _strip_title(name: str) -> str:
    first, _, last = name.partition(" ")
    return last if last and fold(first.strip(".")) in _TITLES else name


def _shares_frame(frame: Sequence[str], text: str) -> bool:
    """Tell whether a message speaks of what the clause of a named pair speaks of."""
    shared = len(set(frame) & set(terms(text)))
    return shared >= _PAIR_FRAME_SHARE * len(set(frame))


def _strip_frame(text: str) -> str:
    """Cut the words around a value: "it's the 15th"."""
    value = text.strip(" \t\n\"'„“”’-.!")
    while match := _FRAME.match(value):
        if match.end() == 0:
            break
        value = value[match.end() :].strip()
    return _TAIL.sub("", value).strip()


def _choose_value(pieces: Sequence[str]) -> str:
    """Choose the value among the pieces of a correction: the last one of an exact sort."""
    short = [piece for piece in pieces if len(piece.split()) <= _MOST_WORDS]
    exact = [piece for piece in short if sort_value(piece) != "words"]
    return (exact or short or [""])[-1] if len(short) > 1 else (short or [""])[0]


def _is_clause(value: str) -> bool:
    """True for a clause of its own: its statement meets the earlier ones like any other."""
    words = value.lower().replace("’", "'").split()
    return len(words) > _MOST_OTHER_WORDS or not _CLAUSE_WORDS.isdisjoint(words)


def is_exact_word(word: str) -> bool:
    """True for a number written as a word, and for a word that excludes others, such as a weekday."""
    return _read_number_word(word) or _find_group(word) is not None


def sort_value(value: str) -> ValueSort:
    """Tell the sort of a value."""
    if _CLOCK.search(value):
        return "clock"
    if _NUMBER.search(value) or _read_number_word(value):
        return "number"
    if _find_group(value) is not None:
        return "listed"
    words = value.split()
    is_name = len(words) <= 2 and all(word[:1].isupper() for word in words)
    return "name" if is_name else "words"


def _find_exact(value: str, sort: ValueSort) -> str:
    """Return the number or time of day in a value; empty: it is of another sort."""
    patterns = {"clock": (_CLOCK,), "number": (_NUMBER,)}.get(sort, ())
    for pattern in patterns:
        if match := pattern.search(value):
            return match[0]
    return ""


def _find_values(sort: ValueSort, value: str, text: str) -> Iterator[tuple[int, int]]:
    """Find the values of a sort in a text, as spans."""
    match sort:
        case "clock":
            yield from (match.span() for match in _CLOCK.finditer(text))
            yield from (match.span() for match in _NUMBER.finditer(text))
        case "number":
            yield from (match.span() for match in _NUMBER.finditer(text))
            yield from (
                match.span() for match in _WORD.finditer(text) if _read_number_word(match[0])
            )
        case "listed":
            yield from _find_listed(value, text)
        case "name":
            yield from (
                span
                for span in _find_names(text)
                if _find_group(text[slice(*span)]) is None
                and fold(text[slice(*span)]) not in _TITLES
            )
        case "words":
            return


def _find_listed(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Find the words of a text that stand in one list with a value."""
    group = _find_group(value)
    if group is None:
        return
    language, number = group
    table = load_table(language)
    if table.is_spaced:
        yield from (
            match.span() for match in _WORD.finditer(text) if _find_group(match[0]) == group
        )
        return
    for tokens, word in table.words.items():
        start = text.find("".join(tokens)) if word.group == number else -1
        if start >= 0:
            yield start, start + len(tokens)


def _find_names(text: str) -> Iterator[tuple[int, int]]:
    yield from (match.span() for match in _NAME.finditer(text))
    for pattern in (_CALLED, _TITLED):
        yield from (match.span("name") for match in pattern.finditer(text))


def _find_words(
    correction: ValueCorrection, text: str, objects: Sequence[str]
) -> tuple[int, int] | None:
    """Find the word that another word corrects: of like end, or the object of a statement."""
    if not correction.is_strong:
        return None
    last_word = fold(correction.value.split()[-1])
    words = [match.span() for match in _WORD.finditer(text)]
    alike = [
        span
        for span in words
        if _shares_end(fold(text[slice(*span)]), last_word) and len(correction.value.split()) == 1
    ]
    if alike:
        return alike[-1]
    for value in objects:
        # "I mean every word" is no other day than Friday.
        is_alike = " " not in correction.value or (value and sort_value(value) == "words")
        start = text.find(value) if value and is_alike else -1
        if start >= 0:
            return start, start + len(value)
    return None


def _shares_end(word: str, other_word: str) -> bool:
    return (
        word != other_word
        and min(len(word), len(other_word)) > _SHARED_END
        and word[-_SHARED_END:] == other_word[-_SHARED_END:]
    )


def _rate(old: str, new: str) -> float:
    """Rate how likely one value is a slip for another: of like length and letters."""
    likeness = SequenceMatcher(None, fold(old), fold(new)).ratio()
    return likeness + (len(old) == len(new))


def _is_slip(name: str, right_name: str) -> bool:
    """True if a name may be another one, misheard or mistyped."""
    old = _POSSESSIVE_END.sub("", fold(name))
    new = _POSSESSIVE_END.sub("", fold(right_name))
    return old != new and old[:1] == new[:1] and SequenceMatcher(None, old, new).ratio() >= _LIKE


def _read_number_word(word: str) -> bool:
    """True for a number written as a word in a language with a table."""
    language = detect_language(word)
    entry = load_table(language).words.get((fold(word),)) if language else None
    return entry is not None and entry.role == "number"


def _find_group(value: str) -> tuple[str, int] | None:
    """Return the language and list of a word that excludes others; None: it is in none."""
    folded = fold(value)
    for language in LANGUAGES:
        table = load_table(language)
        key = (folded,) if table.is_spaced else tuple(folded)
        word = table.words.get(key)
        if word is not None and word.group >= 0:
            return language, word.group
    return None
