"""Evidence in words that one fact ends, where a change is probable but not certain.

Two messages may share a name or a thing and both hold: "we use Jira", "we replaced the Jira logo".
Enter at ``shows_end_of_fact``, ``says_object_over``, ``may_end`` and ``names_what_bears_it``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.core import Kind, Record
from engrams.extract.predicate_slots import is_single
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.text.vocabulary import word_pattern
from engrams.write.change_detection.abandoned_things import find_abandoned_use
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
_WORD = re.compile(r"[\w'’-]+")
_NEXT_WORDS = re.compile(r"\s*([\w'’-]+)(?:\s+([\w'’-]+))?")
_OBJECT_END = re.compile(
    r"[,;:(]|\s(?:here|for|from|with|in|on|at|as|to|because|and|which|that|für|mit|bei|in|para|con|en|pour|avec|dans)\s?\b"
)
"""End of the words that name an object, before what is said of it."""
_NUMBER_END = re.compile(r"[\s-]+\d+$")


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
    return says_object_over(fact, news) or _ends_habit(fact.predicate, news)


def says_object_over(fact: Record, news: str) -> bool:
    """True for a word of an end beside the name of what a fact tells: "Jira is history"."""
    return any(_says_over(name, news) for name in _list_names(fact.object))


def may_end(fact: Record, news: str) -> bool:
    """True but for a rule that the news names too little of, and gives no other value for.

    "From now on bun instead of pnpm" leaves "never touch `generated/`, run `pnpm gen`" as it is;
    "I upgraded prod to 3.12" ends "prod is on 3.8, nothing newer please". "We no longer use yarn"
    ends "wir nutzen yarn, nie npm".
    """
    if fact.kind not in _INSTRUCTION_KINDS or gives_other_value(fact.text, news):
        return True
    if fact.kind is Kind.RULE and find_abandoned_use(fact.text, news) is not None:
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


def _list_names(object: str) -> tuple[str, ...]:
    """List the names by which news may call an object: of "pnpm here, never npm" also "pnpm".

    A thing with a number is known without it: "the Pixel", of "Pixel 6".
    """
    head = _OBJECT_END.split(object, maxsplit=1)[0]
    return (*dict.fromkeys((object, head, *_NAME.findall(object), _NUMBER_END.sub("", head))),)


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
    if _tells_of_its_own(behind):
        return False
    before = " ".join(folded_news[: match.start()].split()[-_NEAR_WORDS:])
    if word_pattern(__file__, "in_place_of").search(before):
        return True
    return tells_end(news) or _tells_over(before) or _tells_over(behind)


def _tells_of_its_own(behind: str) -> bool:
    """True if the words behind a name are of something that bears it: "logo is gone"."""
    words = _NEXT_WORDS.match(behind)
    if words is None or words[1] in STOP or _tells_over(words[1]):
        return False
    first, second = words[1], words[2] or ""
    # "went to my nephew": two words that tell an end together.
    return _tells_over(second) or not _tells_over(f"{first} {second}")


def names_what_bears_it(fact: Record, news: str) -> bool:
    """True if news tells of something that only bears the name of a fact's object: "the Jira logo"."""
    folded_news = fold(news)
    names = [fold(name) for name in _list_names(fact.object) if name]
    return any(
        re.search(
            rf"\b{re.escape(name)}\s+\w+\s+(?:is|are|was|were|has|have|got|gets)\b", folded_news
        )
        for name in names
    )


def _ends_habit(predicate: str, news: str) -> bool:
    """True for a clause that names what somebody does, and an end of it, and nothing else."""
    news_words = _WORD.findall(fold(news))
    words = [word for word in news_words if not _tells_over(word)]
    topics = set(terms(" ".join(words)))
    return len(words) < len(news_words) and topics == set(terms(predicate.replace("_", " ")))


def _tells_over(words: str) -> bool:
    cues = read_clause(words).cues
    return any(cues[cue] for cue in _OVER)
