"""Interpretations of clauses whose verb is be."""

from __future__ import annotations

from dataclasses import replace

from engrams.core import Kind
from engrams.extract.rules.clause_meaning import (
    ClauseMeaning,
    UtteranceContext,
    head_noun,
    is_concrete,
    match_proper_name,
    trim_trailing,
)
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.english_lexicon import ADVERBS, find_lemma
from engrams.extract.rules.life_events import is_dismissal
from engrams.extract.rules.predicate_table import (
    CONDITIONS,
    DIETS,
    FAITHS,
    JOBS,
    MARITAL,
    NATIONS,
    WORDS_OF_SELF,
)
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.text.vocabulary import read_vocabulary
from engrams.text.word_list import word_set

# "I am X prep Y": predicate, category, polarity, confidence.
_WITH = {
    ("allergic", "to"): ("allergic_to", "health", True, 0.95),
    ("intolerant", "to"): ("allergic_to", "health", True, 0.9),
    ("diagnosed", "with"): ("diagnosed_with", "health", True, 0.95),
    ("interested", "in"): ("interested_in", "preference", True, 0.85),
    ("keen", "on"): ("interested_in", "preference", True, 0.85),
    ("into", ""): ("likes", "preference", True, 0.85),
    ("fond", "of"): ("likes", "preference", True, 0.85),
    ("crazy", "about"): ("likes", "preference", True, 0.8),
    ("obsessed", "with"): ("likes", "preference", True, 0.8),
    ("hooked", "on"): ("likes", "preference", True, 0.75),
    ("passionate", "about"): ("passionate_about", "preference", True, 0.9),
    ("afraid", "of"): ("fears", "preference", True, 0.85),
    ("scared", "of"): ("fears", "preference", True, 0.85),
    ("terrified", "of"): ("fears", "preference", True, 0.85),
    ("good", "at"): ("good_at", "skill", True, 0.75),
    ("great", "at"): ("good_at", "skill", True, 0.7),
    ("bad", "at"): ("bad_at", "skill", True, 0.75),
    ("terrible", "at"): ("bad_at", "skill", True, 0.75),
    ("fluent", "in"): ("speaks", "language", True, 0.9),
    ("responsible", "for"): ("responsible_for", "work", True, 0.8),
    ("married", "to"): ("married_to", "family", True, 0.95),
    ("engaged", "to"): ("engaged_to", "family", True, 0.95),
    ("based", "in"): ("lives_in", "home", True, 0.85),
    ("located", "in"): ("lives_in", "home", True, 0.8),
    ("employed", "at"): ("works_at", "work", True, 0.9),
    ("employed", "by"): ("works_at", "work", True, 0.9),
    ("born", "in"): ("born_in", "identity", True, 0.9),
    ("born", "on"): ("birthday", "identity", True, 0.9),
    ("raised", "in"): ("grew_up_in", "identity", True, 0.9),
    ("inspired", "by"): ("inspired_by", "preference", True, 0.7),
    ("named", ""): ("is_named", "identity", True, 0.9),
    ("called", ""): ("is_named", "identity", True, 0.9),
    ("enrolled", "in"): ("enrolled_in", "education", True, 0.85),
    ("enrolled", "at"): ("studies_at", "education", True, 0.85),
    ("involved", "in"): ("involved_in", "activity", True, 0.75),
    ("promoted", "to"): ("job", "work", True, 0.9),
    ("hired", "by"): ("works_at", "work", True, 0.9),
    ("hired", "at"): ("works_at", "work", True, 0.9),
    ("accepted", "to"): ("accepted_to", "event", True, 0.85),
    ("accepted", "into"): ("accepted_to", "event", True, 0.85),
    ("committed", "to"): ("committed_to", "preference", True, 0.65),
}

_PASSIVE = word_set(
    "invited diagnosed promoted hired fired accepted admitted awarded selected chosen nominated"
    " offered elected injured featured published robbed rejected approved sponsored evicted"
)
_ONE_VALUED = {"lives_in", "works_at", "from", "born_in", "grew_up_in", "studies_at"}
# Of these somebody has another later: in the past they are no value of today.
_PASSING = word_set(
    "job lives_in works_at studies_at is_a is_named diet marital_status married_to engaged_to trait"
)
_PRAISE = word_set(
    "good great terrible bad decent amazing awful lousy pretty natural born huge big fast slow"
    " picky heavy light early"
)
_ROLES = ("a", "an", "the", "my", "our", "this", "that")
_EMPTY_HEADS = word_set(read_vocabulary(__file__, "empty_heads"))


def interpret_copula(clause: EnglishClause, speech: UtteranceContext) -> ClauseMeaning | None:
    """Interpret ``I am …``.

    None for moods, praise and whatever is no lasting fact.
    """
    words = trim_trailing(clause.rest)
    if not words:
        return None
    first = words[0].lower
    past = clause.tense == "past"
    reading = (
        _interpret_age(words, clause)
        or _interpret_relation(words, clause, speech)
        or _interpret_origin(words, speech)
        or _interpret_trait(words, clause)
        or _interpret_passive(words, clause)
        or (_interpret_noun(words, clause, speech) if first in _ROLES else None)
        or _interpret_name(words, clause)
    )
    if reading is None:
        return None
    if (
        clause.tense == "used"
        or "no longer" in clause.adverbs
        or (
            clause.negated
            and (
                any(word.lower in ("anymore", "longer") for word in clause.rest)
                or [word.lower for word in clause.rest[-2:]] == ["any", "more"]
            )
        )
    ):
        return replace(reading, effect="ends", polarity=True)
    if past and reading.predicate in _PASSING and not reading.event:
        return ClauseMeaning(
            predicate=f"was_{reading.predicate}",
            category=reading.category,
            object=reading.object,
            value=reading.value,
            effect="states",
            polarity=reading.polarity,
            confidence=0.7,
        )
    return reading


def _interpret_age(words: tuple[ClauseToken, ...], clause: EnglishClause) -> ClauseMeaning | None:
    number = words[0].text
    if not number.isdigit() or not 1 <= int(number) <= 120 or clause.tense != "present":
        return None
    following = words[1].lower if len(words) > 1 else ""
    if (
        following not in ("", "years", "year", "now", "yo", "and", ",", "today")
        and words[1].text[0].isalnum()
    ):
        return None
    return ClauseMeaning("age", "identity", words[:1], number, confidence=0.95, importance=0.7)


def _interpret_relation(
    words: tuple[ClauseToken, ...], clause: EnglishClause, speech: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret be with a preposition: allergic to, interested in."""
    if fond := _interpret_membership(words, clause):
        return fond
    second = words[1].lower if len(words) > 1 else ""
    if _is_lucky(words) and is_concrete(words[3:]):
        return ClauseMeaning("has", "family", words[3:], confidence=0.75)
    if clause.tense == "perfect" and words[0].lower == "to" and is_concrete(words[1:]):
        return ClauseMeaning(
            "visited", "event", words[1:], polarity=not clause.negated, confidence=0.85, event=True
        )
    found = _WITH.get((words[0].lower, second))
    rest = words[2:]
    if found is None:
        found = _WITH.get((words[0].lower, ""))
        rest = words[1:]
    if found is None and words[0].lower == "in" and second in ("love", "charge") and len(words) > 3:
        found = (
            f"in_{second}_{words[2].lower}",
            "work" if second == "charge" else "family",
            True,
            0.75,
        )
        rest = words[3:]
    target = _find_target(found[0], rest, speech) if found is not None else ()
    if found is None or not target:
        return None
    predicate, category, polarity, confidence = found
    return ClauseMeaning(
        predicate,
        category,
        target,
        effect="changes" if words[0].lower in ("promoted", "hired") else "states",
        polarity=polarity != clause.negated,
        confidence=confidence,
        importance=0.8 if category in ("health", "home", "work", "family") else 0.6,
        kind=(
            Kind.PREFERENCE
            if predicate in ("likes", "interested_in", "passionate_about")
            else Kind.FACT
        ),
        event=words[0].lower in _PASSIVE,
    )


def _find_target(
    predicate: str, rest: tuple[ClauseToken, ...], speech: UtteranceContext
) -> tuple[ClauseToken, ...]:
    """Find the object that a predicate takes, or nothing."""
    if not is_concrete(rest) or (predicate == "is_named" and not rest[0].text[0].isupper()):
        return ()
    if predicate in _ONE_VALUED:
        return match_proper_name(rest, speech.is_lowercase)
    return rest[1:] if predicate == "job" and rest[0].lower in ("a", "an", "the") else rest


def _interpret_membership(
    words: tuple[ClauseToken, ...], clause: EnglishClause
) -> ClauseMeaning | None:
    """Interpret ``a big fan of jazz``, ``a member of the choir``."""
    at = next((i for i, word in enumerate(words[:4]) if word.lower in ("fan", "member")), None)
    if (
        words[0].lower not in ("a", "an", "the")
        or at is None
        or at + 2 >= len(words)
        or words[at + 1].lower != "of"
        or not is_concrete(words[at + 2 :])
    ):
        return None
    if words[at].lower == "fan":
        return ClauseMeaning(
            "likes",
            "preference",
            words[at + 2 :],
            polarity=not clause.negated,
            confidence=0.85,
            kind=Kind.PREFERENCE,
        )
    return ClauseMeaning(
        "member_of", "activity", words[at + 2 :], polarity=not clause.negated, confidence=0.85
    )


def _is_lucky(words: tuple[ClauseToken, ...]) -> bool:
    return (
        len(words) > 3
        and words[0].lower in ("lucky", "blessed", "grateful", "fortunate")
        and words[1].lower == "to"
        and words[2].lower == "have"
    )


def _interpret_origin(
    words: tuple[ClauseToken, ...], speech: UtteranceContext
) -> ClauseMeaning | None:
    if words[0].lower == "from":
        at = 1
    elif words[0].lower == "originally" and len(words) > 2 and words[1].lower == "from":
        at = 2
    else:
        at = 0
    if not at:
        return None
    place = match_proper_name(words[at:], speech.is_lowercase)
    return (
        ClauseMeaning("from", "identity", place, confidence=0.9, importance=0.7) if place else None
    )


def _interpret_trait(words: tuple[ClauseToken, ...], clause: EnglishClause) -> ClauseMeaning | None:
    """Interpret one known word: ``I'm vegan``, ``I'm German``."""
    at = 1 if words[0].lower in ("a", "an") and len(words) > 1 else 0
    while at < len(words) - 1 and words[at].lower in ADVERBS:
        at += 1
    word = words[at].lower
    after = words[at + 1].lower if at + 1 < len(words) else ""
    tables = (
        (DIETS, "diet", "health"),
        (CONDITIONS, "has_condition", "health"),
        (MARITAL, "marital_status", "family"),
        (FAITHS, "religion", "identity"),
        (NATIONS, "nationality_is", "identity"),
        (WORDS_OF_SELF, "trait", "identity"),
    )
    for known, predicate, category in tables:
        if word in known and (
            not after
            or after
            in (
                "anymore",
                "again",
                "any",
                "and",
                "but",
                ",",
                "since",
                "for",
                "so",
                "with",
                "by",
                "now",
                "with",
                "to",
                "person",
                "woman",
                "man",
                "in",
                "at",
                "as",
                "intolerant",
            )
        ):
            if word == "single" and at == 1:
                return None
            if word == "engaged" and after in ("in", "with", "to"):
                return None
            end = at + 2 if after in ("intolerant", "person", "woman", "man") else at + 1
            return ClauseMeaning(
                predicate,
                category,
                tuple(words[at:end]),
                polarity=not clause.negated,
                confidence=0.9,
                importance=0.8,
            )
    return None


def _interpret_passive(
    words: tuple[ClauseToken, ...], clause: EnglishClause
) -> ClauseMeaning | None:
    word = words[0].lower
    if word == "laid" and len(words) > 1 and words[1].lower == "off":
        return ClauseMeaning(
            "works_at",
            "work",
            words[3:] if len(words) > 3 and words[2].lower in ("from", "by") else (),
            effect="ends",
            confidence=0.9,
            importance=0.8,
        )
    if word == "fired" and is_dismissal(words):
        return ClauseMeaning(
            "works_at",
            "work",
            words[2:] if len(words) > 2 and words[1].lower in ("from", "by") else (),
            effect="ends",
            confidence=0.9,
            importance=0.8,
        )
    if word in _PASSIVE and clause.tense in ("past", "perfect") and is_concrete(words[1:]):
        return ClauseMeaning(
            f"was_{word}",
            "event",
            words[1:],
            confidence=0.8,
            event=True,
            polarity=not clause.negated,
        )
    return None


def _interpret_noun(
    words: tuple[ClauseToken, ...], clause: EnglishClause, speech: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret ``I'm a nurse``, ``I'm the lead engineer at X``."""
    if words[0].lower in ("this", "that", "my", "our") and clause.person != "other":
        return None
    body = words[1:] if words[0].lower in ("a", "an", "the", "my", "our") else words
    if not is_concrete(body):
        return None
    noun = head_noun(body)
    praised = any(word.lower in _PRAISE for word in body[:2])
    job = (not praised and noun in JOBS) or (
        noun.endswith(("ologist", "ographer", "ician", "tician")) and len(noun) > 6
    )
    if clause.person == "other" and not job:
        return None
    if job:
        at = next(
            (i for i, word in enumerate(body) if word.lower in ("at", "for", "with") and i), None
        )
        extra: tuple[ClauseMeaning, ...] = ()
        if at is not None and (firm := match_proper_name(body[at + 1 :], speech.is_lowercase)):
            extra = (ClauseMeaning("works_at", "work", firm, confidence=0.85, importance=0.8),)
        end = next((i for i, word in enumerate(body) if word.lower == noun), len(body) - 1) + 1
        return ClauseMeaning(
            "job",
            "work",
            tuple(body[:end]),
            polarity=not clause.negated,
            confidence=0.9,
            importance=0.8,
            extra=extra,
        )
    if noun in _EMPTY_HEADS or any(
        word.lower in ("good", "great", "huge", "big", "best", "lucky") for word in body[:2]
    ):
        return None
    return ClauseMeaning(
        "is_a", "identity", tuple(body), polarity=not clause.negated, confidence=0.65
    )


def _interpret_name(words: tuple[ClauseToken, ...], clause: EnglishClause) -> ClauseMeaning | None:
    if (
        clause.person != "self"
        or clause.tense != "present"
        or clause.negated
        or not words[0].text.istitle()
        or words[0].lower in ADVERBS
    ):
        return None
    name = match_proper_name(words)
    rest = words[len(name) :]
    if (
        len(name) > 3
        or (rest and rest[0].lower not in (",", "and", "from", "by", "here"))
        or find_lemma(name[0].lower)
    ):
        return None
    return ClauseMeaning("is_named", "identity", name, confidence=0.85, importance=0.9)
