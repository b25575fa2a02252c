"""Columns for the judge of pairs: the news of a clause, beside the topic of an older one.

Enter at ``describe_change``. Two clauses that share a word are often about two things: "Emil has
football", "I dropped Emil at the station". The judge sees where the words of a change stand, which
thing they are about, whom both clauses tell of, and which values differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engrams.text.clause_kinds import may_end, may_tell_change
from engrams.text.normalize import fold
from engrams.text.people import PEOPLE
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_set
from engrams.write.change_detection.cue_words import NAMES, TOPIC_NAMES, find_cue_words
from engrams.write.change_detection.explicit_endings import tells_end
from engrams.write.change_detection.features import read_clause, read_values
from engrams.write.change_detection.replacement_evidence import (
    gives_other_value,
    is_long,
    list_general_words,
    list_other_values,
    read_changed_things,
    shows_common_ground,
)
from engrams.write.change_detection.typed_values import compare_typed_values, read_typed_values

if TYPE_CHECKING:
    from engrams.write.change_detection.features import MessageFeatures

_ENDS = frozenset(map(NAMES.index, ("no_more", "end", "switch", "instead")))
_STARTS = frozenset(map(NAMES.index, ("begin", "new", "finally", "back", "now", "from_now")))
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[\u3040-\u30ff\u4e00-\u9fff]")
_MOST_WORDS = 60
_FAR = 9
"""Words between a word of change and a shared word, beyond which they are far apart."""
_JOB = 1 << TOPIC_NAMES.index("job")
_I = 0
_WE = 1
_FIRST_WORDS = (
    word_set("i i'm i've i'd i'll ich yo je j'ai eu 我 私 僕 俺"),
    word_set("we we're we've we'd we'll wir nosotros nous on 我们 うち"),
    word_set(
        "my our mein meine meiner unser unsere mi mis nuestro nuestra mon ma mes notre nos meu minha"
    ),
    word_set("the a an der die das ein eine el la los las un una le les une o os"),
    word_set("he she they it that this er sie es el ella ellos il elle ils ce c'est"),
)
"""Kinds of the first word of a clause: I, we, my, an article, a pronoun."""


@dataclass(frozen=True, slots=True)
class _PlacedWords:
    """Words of a clause in their order, and where the words of a change stand."""

    words: tuple[frozenset[str], ...]
    """Terms of each word."""
    ends: tuple[int, ...]
    """Places of words of an end."""
    starts: tuple[int, ...]
    """Places of words of a start."""
    first: tuple[bool, ...]
    """Kind of the first word, in the order of ``_FIRST_WORDS``."""


@dataclass(frozen=True, slots=True)
class ComparedClauses:
    """A clause that may end, the one that may end it, and what the trees said of them."""

    old: MessageFeatures
    new: MessageFeatures
    ending: str
    news: str
    of_messages: float
    """Probability of the messages as wholes, 0..1."""
    of_clauses: float
    """Probability of the two clauses by themselves, 0..1."""
    signs: Sequence[bool]
    """Verdicts of the rules: a value put right, a thing placed anew, another value told."""


@text_cache(1 << 12)
def _place_words(text: str) -> _PlacedWords:
    folded = fold(text)
    matches = list(_WORD.finditer(folded))[:_MOST_WORDS]
    places = {match.start(): index for index, match in enumerate(matches)}
    first = matches[0][0] if matches else ""
    return _PlacedWords(
        words=tuple(frozenset(terms(match[0])) for match in matches),
        ends=tuple(places[start] for start, _ in find_cue_words(folded, _ENDS) if start in places),
        starts=tuple(
            places[start] for start, _ in find_cue_words(folded, _STARTS) if start in places
        ),
        first=tuple(first in words for words in _FIRST_WORDS),
    )


def describe_change(compared: ComparedClauses) -> list[float]:
    """Describe by numbers what a newer clause changes of an older one."""
    ending = compared.ending
    news = compared.news
    old = read_clause(ending)
    new = read_clause(news)
    minutes = max((compared.new.at - compared.old.at).total_seconds() / 60, 0.0)
    old_odds = _to_odds(compared.of_messages)
    new_odds = _to_odds(compared.of_clauses)
    return [
        old_odds,
        new_odds,
        min(old_odds, new_odds),
        old_odds + new_odds,
        *compared.signs,
        math.log1p(minutes),
        minutes < 60,
        is_long(compared.old.text),
        is_long(compared.new.text),
        len(ending) / len(compared.old.text),
        len(news) / len(compared.new.text),
        *_describe_places(ending, news),
        *_describe_things(ending, news),
        shows_common_ground(ending, news, minutes),
        gives_other_value(ending, news),
        len(list_other_values(ending, news)),
        tells_end(news),
        may_end(news),
        may_tell_change(ending),
        *_describe_values(ending, news),
        *_describe_people(ending, news),
        *old.present,
        *new.present,
        *compared.new.whole.present,
        float(len(compared.old.whole.words & compared.new.whole.words)),
        float(len(new.words - old.words)),
        float(len(compared.new.clauses)),
        float(compared.new.rows[0] @ compared.old.rows[0]),
        "?" in compared.new.text,
        *[bool(old.topics >> bit & 1) for bit in range(len(TOPIC_NAMES))],
        *[bool(new.topics & old.topics >> bit & 1) for bit in range(len(TOPIC_NAMES))],
        (old.topics & new.topics).bit_count(),
        bool(old.topics and not old.topics & new.topics),
    ]


def tells_of_others_work(ending: str, news: str) -> bool:
    """True for work that "we" have done by somebody, beside the speaker's own: "we hired a cleaner".

    Nothing but the topic joins the two.
    """
    old = read_clause(ending)
    new = read_clause(news)
    is_work = (old.topics & new.topics) == _JOB
    is_other = _place_words(ending).first[_I] and _place_words(news).first[_WE]
    return bool(is_work and is_other and old.words.isdisjoint(new.words))


def _to_odds(chance: float) -> float:
    return math.log(chance / (1 - chance))


def _describe_places(ending: str, news: str) -> list[float]:
    """Describe where the shared words and the words of a change stand."""
    shared = (read_clause(ending).words & read_clause(news).words) - list_general_words()
    old = _place_words(ending)
    new = _place_words(news)
    at_old = [index for index, words in enumerate(old.words) if words & shared]
    at_new = [index for index, words in enumerate(new.words) if words & shared]
    return [
        float(len(shared)),
        len(at_old) / max(len(old.words), 1),
        len(at_new) / max(len(new.words), 1),
        float(min(at_old, default=_FAR)),
        float(min(at_new, default=_FAR)),
        float(len(old.words) - at_old[-1] if at_old else _FAR),
        float(len(new.words) - at_new[-1] if at_new else _FAR),
        float(min(len(old.words), 2 * _FAR)),
        float(min(len(new.words), 2 * _FAR)),
        _measure_distance(new.ends, at_new),
        _measure_distance(new.starts, at_new),
        bool(new.ends and at_new and new.ends[0] < at_new[-1]),
        float(min(new.ends, default=_FAR)),
        *old.first,
        *new.first,
    ]


def _measure_distance(changes: tuple[int, ...], shared: list[int]) -> float:
    """Count the words from the nearest word of change to the nearest shared word."""
    apart = [abs(change - index) for change in changes for index in shared]
    return float(min([*apart, _FAR]))


def _describe_things(ending: str, news: str) -> list[float]:
    """Describe which things the words of a change are about."""
    old = read_clause(ending)
    names = read_changed_things(news)
    words = {term for name in names for term in terms(name)}
    topics = 0
    for name in names:
        topics |= read_clause(name).topics
    return [
        float(len(names)),
        float(len(words & old.words)),
        bool(words) and words.isdisjoint(old.words),
        float((topics & old.topics).bit_count()),
        bool(topics & ~old.topics),
    ]


def _describe_values(ending: str, news: str) -> list[float]:
    """Describe the days, times, months, dates, numbers and names that both clauses have."""
    old_typed = read_typed_values(fold(ending))
    new_typed = read_typed_values(fold(news))
    old_values = read_values(ending)
    new_values = read_values(news)
    return [
        *compare_typed_values(old_typed, new_typed),
        *map(bool, old_typed),
        *map(bool, new_typed),
        *[bool(old & new) for old, new in zip(old_typed, new_typed, strict=True)],
        float(len(old_values)),
        float(len(new_values)),
        float(len(old_values.keys() & new_values.keys())),
    ]


def _describe_people(ending: str, news: str) -> list[float]:
    """Describe whom both clauses tell of."""
    old_people = {match[0] for match in PEOPLE.finditer(fold(ending))}
    new_people = {match[0] for match in PEOPLE.finditer(fold(news))}
    return [
        bool(old_people),
        bool(new_people),
        bool(old_people & new_people),
        bool(new_people - old_people),
    ]
