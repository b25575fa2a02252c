"""Features of messages, and of pairs of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass
from engrams.text.normalize import fold
from engrams.text.terms import is_unspaced, terms
from engrams.text.text_caches import text_cache
from engrams.write.change_detection.cue_words import LONGEST, NAMES, count_cues

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from engrams.ports.models import Floats

    Embed = Callable[[list[str]], Floats]

_CLAUSE = re.compile(
    r"(?<=[.!?;…])(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\bSra\.)(?<!\bDra\.)(?<!\bNr\.)(?<!\bProf\.)\s+|\n+|(?<=[。"
    r"！？；])|(?<!\s)\s+[–—-]\s+|,\s+(?=(?:and|but|so|und|aber|y|pero|et|mais)\b)"
)
_NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")
_NAME = re.compile(r"(?<![.!?…:]\s)(?<!^)(?<!\w)[A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+")
_QUOTE = re.compile(r"[\"“”„«»「『]([^\"“”„«»」』]+)[\"“”»«」』]")
_QUESTION = re.compile(r"[?？]|か。?$|吗$")
_LAUGH = re.compile("[😂🤣😅😜😆🙃]|:\\)|;\\)|xd\\b|lol|haha|mdr|jaja|哈哈|笑|ｗｗ|/s\\b")
_JOY = re.compile("[🎉😭🥳💪🙌😢💔]|!{2,}|！{2,}")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TASK = re.compile(
    r"\b(?:can|could|would) you (?:please |also"
    r" )?(?:help|show|explain|review|check|give|suggest|provide|recommend|write)\b"
    r"|\bi'?m (?:trying|working on|having (?:some )?(?:trouble|issues|difficulties)|getting"
    r" an?|encountering|considering|wondering)\b"
    r"|\bhow (?:can|do|would|should) i\b|\bi(?:'d| would) like (?:to|some)\b|\bi want to (?:make"
    r" sure|improve|know)\b",
    re.IGNORECASE,
)
# Other people, as somebody tells of them; matched in folded text.
PEOPLE = re.compile(
    r"\b(?:my|our|his|her|mein\w{0,2}|unser\w{0,2}|mis?|mon|ma|mes|nuestr[oa]s?|notre)"
    r" (?:\w{3,8} )?"
    r"(?P<who>brother|sister|mother|mum|mom|father|dad"
    r"|parents|son|daughter|kids?|children|little"
    r" one|wife|husband|girlfriend|boyfriend|partner|friend|neighbou?r|colleague|coworker"
    r"|flatmate|roommate|cousin|aunt|uncle|grand\w+|niece|nephew|boss|bruder|schwester|mutter|vater|eltern|sohn|tochter|kinder|frau|mann|freund|nachbar"
    r"|kolleg|mitbewohner|oma|opa|onkel|tante|cousine|chef|herman|madre|padre|padres|hij|mujer|marido|novi|amig|vecin|prim|jef|abuel|freres?"
    r"|soeurs?|mere|pere|parents|fils|fille|enfants|femme|mari|copine?|ami|voisin|collegue)\w{0,3}\b"
    r"|(?<!\w)(?!it's|that|there|here|what|who|how|where|he's|she's|let's)(?P<whose>[^\W\d]{3,14})'s"
    r" (?=[a-z])"
    r"|(?:我|我的|我们)(?P<han>哥|姐|弟|妹|妈|爸|朋友|同事|老公|老婆|儿子|女儿|邻居)|(?P<kana>妹|姉|兄|弟|母|父|夫|妻|友達|同僚|息子|娘)[はがのも]"
)
_MOST_CLAUSES = 6
_FEW_WORDS = 3
# Beside a unit vector: so that a cue counts about as much as a few columns.
_MOST_CUES = 2
_CUE_WEIGHT = 0.3


_MAY = tuple(
    NAMES.index(name)
    for name in (
        "end",
        "begin",
        "switch",
        "no_more",
        "now",
        "correction",
        "new",
        "instead",
        "from_now",
        "finally",
        "back",
        "old",
    )
)


_ECHOED = tuple(
    NAMES.index(name)
    for name in (
        "still",
        "almost",
        "temporary",
        "also",
        "end",
        "no_more",
        "switch",
        "old",
        "no",
        "past",
        "report",
        "now",
    )
)
_SELF = NAMES.index("self")
_OTHER = NAMES.index("other")
_SHOUT = re.compile(r"\b(?:NOT|NO|NEVER|STILL|NICHT|PAS|STAYS|ONLY)\b")
_VALUE = re.compile(
    r"(?:(?<![^\W\d])([^\W\d]++)[\s:#-]*+)?(?<!\w)[$€£¥]?(\d+(?:[.:,h]\d+)*)\s*([^\W\d]+|[%€$£°])?"
)
_NAMED = re.compile(r"(?<![^\W\d])([^\W\d]++)\.?\s++([A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+)")
_HAN_VALUE = re.compile(
    r"((?<!\d)\d++(?:[.:,]\d++)*+|(?<![一二三四五六七八九十百两半])[一二三四五六七八九十百两半]++)\s*+([\u4e00-\u9fff\u3040-\u30ff%])"
)


# Who fills how many columns of a pair, in their order: the earlier message, the later one, both, or
# the clause of each that is nearest.
_FILLED = (
    ("pair", 29), ("older", 12), ("newer", 14), ("older", 2), ("newer", 2), ("older", 1), ("pair", 4), ("newer", len(NAMES)),
    ("told", len(NAMES)), ("older", len(NAMES)), ("near", len(NAMES)), ("newer", 6), ("pair", 1), ("newer", 7),
    ("pair", len(_ECHOED) + 4), ("newer", 2), ("pair", 5), ("older", 1), ("newer", 1),
    ("pair", 7),
)  # fmt: skip
COLUMNS = sum(count for _, count in _FILLED)


@dataclass(frozen=True, slots=True)
class MessageClause:
    """One clause with what is read from it.

    ``heads``: first letters of its longer words. ``cues``: counts; ``present``: 1 for each that is
    there, else 0. ``topics``, ``echoed``: bits.
    """

    text: str
    words: frozenset[str]
    heads: frozenset[str]
    cues: tuple[int, ...]
    present: npt.NDArray[np.float64]
    topics: int
    echoed: int


@dataclass(frozen=True, slots=True)
class MessageFeatures:
    """Words, numbers, names, cues and vectors read from one message.

    ``people``: whom it tells of; ``quoted``: words of its quotations; ``values``: numbers and names
    by what stands beside them; ``rows``: unit vectors of the message and of its clauses. ``older``,
    ``newer``: columns of a pair that it alone fills, as the earlier or the later message.
    """

    text: str
    speaker: str
    at: datetime
    clauses: tuple[MessageClause, ...]
    whole: MessageClause
    numbers: frozenset[str]
    names: frozenset[str]
    people: frozenset[str]
    quoted: frozenset[str]
    values: Mapping[tuple[str, str], set[str]]
    rows: Floats
    older: npt.NDArray[np.float64]
    newer: npt.NDArray[np.float64]

    @property
    def words_once(self) -> frozenset[str]:
        """Words of the message that are names or numbers."""
        return self.names | self.numbers


def may_change(text: str) -> bool:
    """True unless a message has nothing that could speak of a change.

    A plain statement could: "so we're henless now".
    """
    text = text[:LONGEST]
    if _NUMBER.search(text) or (not _QUESTION.search(text[-3:]) and len(terms(text)) > _FEW_WORDS):
        return True
    counts = count_cues(fold(text))
    return any(counts[place] for place in _MAY)


def read_messages(said: Sequence[tuple[str, str, datetime]], embed: Embed) -> list[MessageFeatures]:
    """Read clauses, cues, names and vectors of messages (text, speaker, time).

    Blocks of code say nothing about anybody.
    """
    texts = [(_strip_code(text[: 2 * LONGEST]).strip() or text)[:LONGEST] for text, _, _ in said]
    pieces = [
        [piece for piece in _CLAUSE.split(text) if piece and piece.strip()][:_MOST_CLAUSES]
        or [text]
        for text in texts
    ]
    parts = [part for text, some in zip(texts, pieces, strict=True) for part in (text, *some)]
    # A message of one clause is embedded once.
    places = {part: place for place, part in enumerate(dict.fromkeys(parts))}
    rows = embed([*places])[[places[part] for part in parts]]
    read: list[MessageFeatures] = []
    place = 0
    for text, some, (_, speaker, at) in zip(texts, pieces, said, strict=True):
        own = rows[place : place + 1 + len(some)]
        place = place + 1 + len(some)
        read.append(_read_parts(text, some, speaker, at, own))
    return read


def _strip_code(text: str) -> str:
    return _CODE.sub(" ", text) if "```" in text else text


def _read_parts(
    text: str, pieces: Sequence[str], speaker: str, at: datetime, rows: Floats
) -> MessageFeatures:
    clauses = tuple(map(_read_clause, pieces))
    whole = clauses[0] if len(clauses) == 1 else _read_clause(text)
    quoted = " ".join(
        found
        for found in _QUOTE.findall(text)
        if len(found) > 12 or (not found.isascii() and len(found) > 5)
    )
    numbers = frozenset(_NUMBER.findall(text))
    names = frozenset(fold(name) for name in _NAME.findall(text))
    said = frozenset(terms(quoted)) if quoted else frozenset()
    shape = _shape(text)
    tasks = float(min(len(_TASK.findall(text)), 3))
    older = _fill_older(text, quoted, clauses, whole, shape, tasks)
    newer = _fill_newer(text, quoted, clauses, whole, shape, tasks)
    values = _read_values(text, numbered=bool(numbers))
    people = frozenset(found[found.lastgroup or 0] for found in PEOPLE.finditer(fold(text)))
    return MessageFeatures(
        text=text,
        speaker=speaker,
        at=at,
        clauses=clauses,
        whole=whole,
        numbers=numbers,
        names=names,
        people=people,
        quoted=said,
        values=values,
        rows=rows,
        older=older,
        newer=newer,
    )


@text_cache(1 << 13)
def _read_clause(text: str) -> MessageClause:
    import numpy as np

    counts = count_cues(fold(text))
    words = frozenset(terms(text))
    cues = counts[: len(NAMES)]
    about = counts[len(NAMES) :]
    present = np.array([float(count > 0) for count in cues])
    topics = sum(1 << place for place, count in enumerate(about) if count)
    echoed = sum(1 << at for at, place in enumerate(_ECHOED) if counts[place])
    return MessageClause(
        text=text,
        words=words,
        heads=_find_heads(words),
        cues=tuple(cues),
        present=present,
        topics=topics,
        echoed=echoed,
    )


def describe_message(message: MessageFeatures) -> tuple[Floats, Floats]:
    """Return vectors and cues of a message.

    Of the whole and of its clauses [1 + clauses, columns].
    """
    import numpy as np

    cues = np.array([message.whole.cues, *(clause.cues for clause in message.clauses)])
    return message.rows, (np.minimum(cues, _MOST_CUES) * _CUE_WEIGHT).astype(np.float32)


def describe_pairs(
    pairs: Sequence[tuple[MessageFeatures, MessageFeatures]], rarity: Mapping[str, float]
) -> npt.NDArray[np.float64]:
    """Compute the features of older and newer messages [pairs, columns]."""
    import numpy as np

    weights: dict[int, float] = {}
    compared = [_compare(old, new, rarity, weights) for old, new in pairs]
    values = {
        "pair": np.array([one for one, _, _ in compared]),
        "older": np.array([old.older for old, _ in pairs]),
        "newer": np.array([new.newer for _, new in pairs]),
        "near": np.array([near.present for _, near, _ in compared]),
        "told": np.array([told.present for _, _, told in compared]),
    }
    rows = np.empty((len(pairs), COLUMNS))
    begun = dict.fromkeys(values, 0)
    at = 0
    for side, count in _FILLED:
        first = begun[side]
        rows[:, at : at + count] = values[side][:, first : first + count]
        at = at + count
        begun[side] = first + count
    return rows


def _fill_older(
    text: str,
    quoted: str,
    clauses: Sequence[MessageClause],
    whole: MessageClause,
    shape: Sequence[float],
    tasks: float,
) -> npt.NDArray[np.float64]:
    """Fill the columns of a pair that its older message alone tells."""
    import numpy as np

    return np.array(
        [*shape, float(bool(quoted)), math.log1p(len(text)), len(clauses), *whole.present, tasks]
    )


def _fill_newer(
    text: str,
    quoted: str,
    clauses: Sequence[MessageClause],
    whole: MessageClause,
    shape: Sequence[float],
    tasks: float,
) -> npt.NDArray[np.float64]:
    """Fill the columns of a pair that its newer message alone tells."""
    import numpy as np

    said = (float(bool(quoted)), len(quoted) / (len(text) + 1), math.log1p(len(text)), len(clauses))
    cues = [float(min(count, 3)) for count in whole.cues]
    last = float(clauses[-1].cues[_ECHOED[0]] > 0)
    return np.array(
        [
            *shape,
            *said,
            *cues,
            *_combine(text, whole),
            last,
            float(bool(_SHOUT.search(text))),
            tasks,
        ]
    )


def _compare(
    old: MessageFeatures,
    new: MessageFeatures,
    rarity: Mapping[str, float],
    weights: dict[int, float],
) -> tuple[list[float], MessageClause, MessageClause]:
    """Compute the columns that both messages fill; the clauses that are nearest.

    ``weights``: of clauses by identity, filled on the way.
    """
    whole, *cosines = (old.rows @ new.rows.T).tolist()
    best = [max(row[1:]) for row in cosines]
    highest = max(best)
    at_old = best.index(highest)
    at_new = cosines[at_old].index(highest, 1) - 1
    near = old.clauses[at_old]
    told = new.clauses[at_new]
    minutes = max((new.at - old.at).total_seconds() / 60, 0.0)
    shared_names = old.names & new.names
    fresh_names = new.names - old.names
    shared_numbers = old.numbers & new.numbers
    fresh_numbers = new.numbers - old.numbers
    repeating = [clause for clause in new.clauses if not clause.words.isdisjoint(old.whole.words)]
    echoed = reduce(or_, [clause.echoed for clause in repeating], 0)
    was = old.whole.topics
    now = new.whole.topics
    common = was & now
    return (
        [
            whole[0],
            highest,
            max(whole[1:]),
            max(row[0] for row in cosines),
            *_overlap(old.whole, new.whole, rarity, weights),
            *_overlap(near, told, rarity, weights),
            math.log1p(minutes),
            minutes < 3,
            minutes < 60,
            minutes > 60 * 24 * 7,
            old.speaker == new.speaker,
            bool(fresh_names),
            bool(shared_names),
            bool(old.names and fresh_names and not shared_names),
            bool(shared_names and fresh_names),
            bool(fresh_numbers),
            bool(shared_numbers),
            bool(old.numbers and fresh_numbers),
            bool(old.numbers and fresh_numbers and not shared_numbers),
            at_new,
            at_new == 0,
            math.log(len(told.text) / (len(near.text) + 1) + 0.1),
            not new.quoted.isdisjoint(old.whole.words),
            old.whole.cues[_SELF] > 0 and new.whole.cues[_OTHER] > 0 and new.whole.cues[_SELF] == 0,
            *[echoed >> at & 1 for at in range(len(_ECHOED))],
            len(repeating),
            len(new.clauses) - len(repeating),
            len(old.words_once & new.whole.words),
            len(near.words & new.whole.words),
            *_replaced_values(old.values, new.values),
            common.bit_count(),
            (near.topics & told.topics).bit_count(),
            bool(was and not common),
            bool(now and not common),
            bool(now & ~was),
            not (new.people <= old.people | old.names),
            bool(new.people & old.people),
        ],
        near,
        told,
    )


def _replaced_values(
    was: Mapping[tuple[str, str], set[str]], now: Mapping[tuple[str, str], set[str]]
) -> tuple[float, ...]:
    """Return signs that a number or a name was replaced."""
    shared = was.keys() & now.keys()
    if not shared:
        return (0, 0, 0, 0, 0)
    other = [key[0] for key in shared if was[key].isdisjoint(now[key])]
    return (
        "unit" in other,
        "before" in other,
        "name" in other,
        len(other) < len(shared),
        len(other),
    )


def _read_values(text: str, *, numbered: bool) -> dict[tuple[str, str], set[str]]:
    """Read numbers and names by what stands beside them.

    ``numbered``: there are any numbers.
    """
    found: dict[tuple[str, str], set[str]] = {}
    for before, value, unit in _VALUE.findall(text) if numbered else ():
        for key in (("unit", fold(unit)[:4]), ("before", fold(before)[:5])):
            if key[1]:
                found.setdefault(key, set()).add(value)
    for value, unit in _HAN_VALUE.findall(text) if "%" in text or not text.isascii() else ():
        found.setdefault(("unit", unit), set()).add(value)
    for before, name in _NAMED.findall(text):
        found.setdefault(("name", fold(before)), set()).add(fold(name))
    return found


def _overlap(
    old: MessageClause, new: MessageClause, rarity: Mapping[str, float], weights: dict[int, float]
) -> tuple[float, ...]:
    """Weigh the words that two clauses share.

    Their weight, its shares, count, the rarest, and words of one beginning.
    """
    mine = _weigh_words(old, rarity, weights)
    theirs = _weigh_words(new, rarity, weights)
    both = old.words & new.words
    heads = old.heads & new.heads
    if not both:
        return (0, 0, 0, 0, 0, len(heads))
    if heads:
        heads = _find_heads(old.words - both) & _find_heads(new.words - both)
    each = [rarity.get(word, rarity[""]) for word in both]
    shared = sum(each)
    return shared, shared / (1 + mine), shared / (1 + theirs), len(both), max(each), len(heads)


def _find_heads(words: frozenset[str]) -> frozenset[str]:
    """Return the first letters of the longer words."""
    return frozenset([word[:4] for word in words if len(word) > 3])


def _weigh_words(
    clause: MessageClause, rarity: Mapping[str, float], weights: dict[int, float]
) -> float:
    if (known := weights.get(id(clause))) is None:
        highest = rarity[""]
        known = weights[id(clause)] = sum([rarity.get(word, highest) for word in clause.words])
    return known


def _shape(text: str) -> tuple[float, ...]:
    end = text.rstrip()[-3:]
    unspaced = not text.isascii() and any(is_unspaced(char) for char in text[:6])
    return (
        float(bool(_QUESTION.search(text))),
        float(bool(_QUESTION.search(end))),
        float(bool(_LAUGH.search(text.lower()))),
        float(bool(_JOY.search(text))),
        float(unspaced),
        float(text[:1].isupper()),
        float(text.count(":") > 0),
        float(text.count("!") > 0),
        float("..." in text or "…" in text),
        float("(" in text),
        float(text.isascii()),
        float(text.count(",")),
    )


def _combine(text: str, whole: MessageClause) -> tuple[float, ...]:
    """Combine cues of a newer message."""
    cue = dict(zip(NAMES, whole.cues, strict=True))
    change = sum(cue[name] for name in ("end", "begin", "switch", "no_more", "now", "correction"))
    doubt = sum(
        cue[name]
        for name in (
            "if",
            "plan",
            "report",
            "fiction",
            "joke",
            "temporary",
            "past",
            "still",
            "almost",
        )
    )
    asks = bool(_QUESTION.search(text[-3:]))
    return (
        float(change > 0),
        float(doubt > 0),
        float(change > 0 and doubt == 0),
        float(change - doubt),
        float(change == 0 and doubt == 0),
        float(cue["other"] > 0 and cue["self"] == 0),
        float(cue["end"] > 0 and cue["begin"] > 0),
        float(cue["now"] > 0 and cue["new"] > 0),
        float(cue["switch"] > 0 and cue["new"] > 0),
        float(asks and change == 0),
        float(asks and change > 0),
        float(cue["also"] > 0 and cue["end"] + cue["no_more"] == 0),
        float(cue["correction"] > 0 and cue["no"] > 0),
    )
