"""Evidence in words that one fact ends, where a change is probable but not certain.

Two messages may share a name or a thing and both hold: "we use Jira", "we replaced the Jira logo".
Enter at ``shows_end_of_fact``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.core import Kind, Record
from engrams.extract.predicate_slots import is_single
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.vocabulary import word_pattern
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.explicit_endings import tells_end
from engrams.write.change_detection.features import read_clause
from engrams.write.change_detection.replacement_evidence import (
    ends_circumstance,
    gives_other_value,
    shows_common_ground,
)

_OVER = tuple(map(NAMES.index, ("end", "no_more", "switch")))
_TELLS_CHANGE = tuple(
    map(NAMES.index, ("end", "no_more", "switch", "no", "now", "since", "from_now"))
)
_TEMPORARY = NAMES.index("temporary")
_HOME = "lives_in"
_INSTRUCTION_KINDS = (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE)
_LEAST_COMMON = 0.3
"""Share of the words of a rule that the news about it names at least."""
_NEAR_WORDS = 2
"""Words before the name of a thing among which the word that ends it stands."""
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"\b[A-ZÄÖÜÉ][\w.-]{2,}")
_WORD = re.compile(r"\s*([\w'’-]+)")


def shows_end_of_fact(
    fact: Record, clause: str, news: str, new_facts: Sequence[Record], minutes: float
) -> bool:
    """Test whether words of a newer clause end a fact of an older one.

    They give another value of what the fact tells, or say that its object is over. Of a fact
    without a predicate nobody knows what it tells: a word of change is enough.

    ``minutes``: between the two messages. ``new_facts``: of the newer message.
    """
    if not fact.predicate or fact.kind in _INSTRUCTION_KINDS:
        tells_change = any(read_clause(news).cues[cue] for cue in _TELLS_CHANGE)
        return tells_change or shows_common_ground(clause, news, minutes)
    if any(_fills_slot(new_fact, fact) for new_fact in new_facts):
        return True
    if fact.predicate == _HOME and _lives_elsewhere(fact, news):
        return True
    if gives_other_value(clause, news) or ends_circumstance(clause, news):
        return True
    object_names = (fact.object, *_NAME.findall(fact.object))
    return any(_says_over(object_name, news) for object_name in object_names) or _ends_habit(
        fact.predicate, news
    )


def may_end(fact: Record, news: str) -> bool:
    """True but for a rule that the news names too little of, and gives no other value for.

    "From now on bun instead of pnpm" leaves "never touch `generated/`, run `pnpm gen`" as it is;
    "I upgraded prod to 3.12" ends "prod is on 3.8, nothing newer please".
    """
    if fact.kind not in _INSTRUCTION_KINDS or gives_other_value(fact.text, news):
        return True
    rule_terms = set(terms(fact.text))
    return len(rule_terms & set(terms(news))) >= _LEAST_COMMON * len(rule_terms)


def _fills_slot(new_fact: Record, fact: Record) -> bool:
    """True for another value of a slot of one value; a number gives way to a number only."""
    if (new_fact.subject, new_fact.predicate) != (fact.subject, fact.predicate):
        return False
    if not is_single(fact.predicate, fact.subject, fact.object):
        return False
    has_number = _DIGIT.search(fact.object) is not None
    return fold(new_fact.object) != fold(fact.object) and (
        not has_number or _DIGIT.search(new_fact.object) is not None
    )


def _lives_elsewhere(fact: Record, news: str) -> bool:
    """True for a clause that tells where its speaker is for good: "we're in Porto since May"."""
    match = word_pattern(__file__, "at_home").search(fold(news))
    new = read_clause(news)
    return match is not None and not new.cues[_TEMPORARY] and fold(fact.object) not in fold(news)


def _says_over(object_name: str, news: str) -> bool:
    """True for a word of an end beside the name of a thing: "we ditched Jira", "Jira is history".

    Not for what only bears its name, as "the Jira logo" does.
    """
    folded_news = fold(news)
    match = (
        re.search(rf"\b{re.escape(fold(object_name))}(?!\w)", folded_news) if object_name else None
    )
    if match is None:
        return False
    behind = folded_news[match.end() :]
    next_word = _WORD.match(behind)
    if next_word and terms(next_word[1]) and not _tells_over(next_word[1]):
        return False
    before = " ".join(folded_news[: match.start()].split()[-_NEAR_WORDS:])
    return tells_end(news) or _tells_over(before) or _tells_over(behind)


def _ends_habit(predicate: str, news: str) -> bool:
    """True for a clause that names what somebody does, and an end of it, and nothing else."""
    news_words = _WORD.findall(fold(news))
    words = [word for word in news_words if not _tells_over(word)]
    topics = set(terms(" ".join(words)))
    return len(words) < len(news_words) and topics == set(terms(predicate.replace("_", " ")))


def _tells_over(words: str) -> bool:
    cues = read_clause(words).cues
    return any(cues[cue] for cue in _OVER)
