"""Interpretations of life events: jobs, partners, habits."""

from __future__ import annotations

from dataclasses import replace

from engrams.extract.rules.clause_meaning import (
    ClauseMeaning,
    UtteranceContext,
    has_leading_content,
    head_noun,
    is_concrete,
    match_proper_name,
)
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.clause_subject import LEAD
from engrams.extract.rules.english_lexicon import ADVERBS, PREPOSITIONS, find_lemma, third_person
from engrams.extract.rules.predicate_table import CHATTER, DIETS, JOBS, TOOLS, VAGUE
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.text.word_list import word_set

_AFTER_NAME = (
    LEAD
    | PREPOSITIONS
    | ADVERBS
    | word_set("and to as because when while but so due though although too voluntarily")
)
_ERRANDS = word_set("buy catch collect eat fetch get grab meet pick see")
_PAUSES = word_set(
    "day weekend night lunch dinner breakfast meeting appointment holiday holidays vacation break"
)


_GOT = word_set(
    "engaged divorced promoted accepted hired diagnosed admitted injured invited published"
    " certified licensed"
)


_REPLACING = frozenset(("ditch", "drop", "replace", "swap"))


_TOOLED = frozenset(("build", "bundle", "compile", "format", "lint", "manage", "test"))


def cut_at_preposition(words: tuple[ClauseToken, ...]) -> tuple[ClauseToken, ...]:
    """Cut at the first preposition or clause word."""
    end = next(
        (
            i
            for i, word in enumerate(words)
            if i
            and (
                word.lower
                in (
                    "at",
                    "for",
                    "in",
                    "with",
                    "on",
                    "since",
                    "and",
                    "but",
                    "who",
                    "where",
                )
                or word.lower == ","
            )
        ),
        len(words),
    )
    return words[:end]


def interpret_stopping(
    clause: EnglishClause, words: tuple[ClauseToken, ...]
) -> ClauseMeaning | None:
    """Interpret an ended habit: ``I stopped smoking``, ``I gave up coffee``."""
    if clause.verb == "give":
        if not words or words[0].lower != "up" or not is_concrete(words[1:]):
            return None
        words = words[1:]
    elif not words or not (known := find_lemma(words[0].lower)) or "ing" not in known[1]:
        return None
    if clause.tense not in ("past", "perfect") or clause.negated:
        return None
    known = find_lemma(words[0].lower)
    if known and "ing" in known[1]:
        return ClauseMeaning(
            third_person(known[0]),
            "activity",
            words[1:],
            effect="ends",
            confidence=0.85,
            event=True,
            importance=0.6,
        )
    return ClauseMeaning(
        "likes", "preference", words, effect="ends", confidence=0.75, event=True, importance=0.6
    )


def interpret_employment(
    words: tuple[ClauseToken, ...], speech: UtteranceContext, *, accepted: bool = False
) -> ClauseMeaning | None:
    """Interpret a new job: ``a new job at X (as Y)``.

    ``accepted``: an offer is one too.
    """
    at = next(
        (
            i
            for i, word in enumerate(words[:5])
            if word.lower in ("job", "position", "role", "gig", "internship", "work", "working")
            or (accepted and word.lower == "offer")
        ),
        None,
    )
    if at is None or at + 2 >= len(words):
        return None
    prep = at + 1
    if words[prep].lower == "as" and len(words) > prep + 2:
        role = cut_at_preposition(
            words[prep + 2 :] if words[prep + 1].lower in ("a", "an", "the") else words[prep + 1 :]
        )
        later = next(
            (i for i in range(prep, len(words)) if words[i].lower in ("at", "for", "with")), None
        )
        extra = ClauseMeaning(
            "job", "work", role, effect="changes", confidence=0.85, importance=0.8, text="works as"
        )
        if later is not None and (
            firm := match_proper_name(words[later + 1 :], speech.is_lowercase)
        ):
            return ClauseMeaning(
                predicate="works_at",
                category="work",
                object=firm,
                value="",
                effect="changes",
                polarity=True,
                confidence=0.9,
                importance=0.8,
                event=True,
                extra=(extra,),
            )
        return (
            ClauseMeaning(
                predicate="job",
                category="work",
                object=role,
                value="",
                effect="changes",
                polarity=True,
                confidence=0.85,
                importance=0.8,
                event=True,
            )
            if role
            else None
        )
    if words[prep].lower not in ("at", "with", "for", "from") or not (
        firm := match_proper_name(words[prep + 1 :], speech.is_lowercase)
    ):
        return None
    return ClauseMeaning(
        predicate="works_at",
        category="work",
        object=firm,
        value="",
        effect="changes",
        polarity=True,
        confidence=0.9,
        importance=0.8,
        event=True,
    )


def interpret_joining(
    clause: EnglishClause, words: tuple[ClauseToken, ...], speech: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret ``I joined Netflix as a data scientist``; needs a role."""
    at = next((i for i, word in enumerate(words) if word.lower == "as"), None)
    firm = match_proper_name(words, speech.is_lowercase)
    if (
        clause.tense not in ("past", "perfect")
        or clause.negated
        or at is None
        or not firm
        or at + 2 >= len(words)
    ):
        return None
    role = cut_at_preposition(
        words[at + 2 :] if words[at + 1].lower in ("a", "an", "the", "their") else words[at + 1 :]
    )
    extra = (
        (ClauseMeaning("job", "work", role, effect="changes", confidence=0.85, importance=0.8),)
        if role
        else ()
    )
    return ClauseMeaning(
        predicate="works_at",
        category="work",
        object=firm,
        value="",
        effect="changes",
        polarity=True,
        confidence=0.9,
        importance=0.8,
        event=True,
        extra=extra,
    )


def is_brief_leave(clause: EnglishClause) -> bool:
    """True for ``I left Acme's party`` and ``I quit the Acme choir``.

    Also for an hour's leave: ``I left Acme at 6 to catch the train``.
    """
    words = clause.rest
    if clause.verb == "quit" or (clause.verb == "leave" and clause.tense in ("past", "perfect")):
        at = next((i for i, word in enumerate(words) if word.text[0].isupper()), None)
        name = match_proper_name(words)
        behind = words[at + len(name) :] if name and at is not None else ()
        if not behind:
            return False
        first = behind[0].lower
        more = behind[1].lower if len(behind) > 1 else ""
        if first == "'s" or (
            first.isalpha()
            and behind[0].text.islower()
            and first not in _AFTER_NAME
            and not first.endswith("ly")
        ):
            return True
        timed = first in ("at", "around", "by") and (
            more[:1].isdigit() or more in ("noon", "midnight", "lunchtime")
        )
        paused = first == "for" and any(word.lower in _PAUSES for word in behind[1:4])
        return timed or paused or first in ("early", "late") or (first == "to" and more in _ERRANDS)
    return False


def is_dismissal(words: tuple[ClauseToken, ...]) -> bool:
    """True for ``fired from Acme`` and ``laid off``, not for ``fired up``."""
    following = words[1].lower if len(words) > 1 else ""
    return following == "off" if words[0].lower == "laid" else following not in ("up", "at", "upon")


def interpret_job_loss(
    clause: EnglishClause, words: tuple[ClauseToken, ...], speech: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret a lost job: ``I quit my job (at X)``."""
    at = next(
        (
            i
            for i, word in enumerate(words[:4])
            if word.lower in ("job", "position", "gig", "internship")
        ),
        None,
    )
    if at is None or clause.tense not in ("past", "perfect") or words[0].lower in ("a", "the"):
        return None
    firm = (
        match_proper_name(words[at + 2 :], speech.is_lowercase)
        if at + 2 < len(words) and words[at + 1].lower in ("at", "with", "for")
        else ()
    )
    return ClauseMeaning(
        predicate="works_at",
        category="work",
        object=firm,
        value="",
        effect="ends",
        polarity=True,
        confidence=0.9,
        importance=0.8,
        event=True,
    )


def _is_busy(words: tuple[ClauseToken, ...]) -> bool:
    """True for ``engaged in a debate``."""
    return (
        words[0].lower == "engaged"
        and len(words) > 2
        and words[1].lower in ("in", "with")
        and words[2].text[0].islower()
    )


def interpret_getting(
    clause: EnglishClause, words: tuple[ClauseToken, ...], speech: UtteranceContext
) -> ClauseMeaning | None:
    if not words or clause.tense not in ("past", "perfect", "progressive"):
        return None
    word = words[0].lower
    if (job := interpret_employment(words, speech)) or clause.negated:
        return job
    if word in ("married", "hitched"):
        who = words[2:] if len(words) > 2 and words[1].lower == "to" else ()
        name = match_proper_name(who)
        if name or clause.tense != "progressive":
            return ClauseMeaning(
                predicate="married_to" if name else "got_married",
                category="family",
                object=name or words[1:],
                value="",
                effect="changes" if name else "states",
                polarity=True,
                confidence=0.9,
                importance=0.8,
                event=True,
            )
        return ClauseMeaning("plans_to", "plan", words, confidence=0.8)
    if word in _GOT and not _is_busy(words):
        if word == "promoted" and len(words) > 2 and words[1].lower == "to":
            return ClauseMeaning(
                predicate="job",
                category="work",
                object=words[2:],
                value="",
                effect="changes",
                polarity=True,
                confidence=0.9,
                importance=0.8,
                event=True,
            )
        return ClauseMeaning(
            f"got_{word}", "event", words[1:], confidence=0.85, event=True, importance=0.7
        )
    if word in ("fired", "laid", "sacked") and is_dismissal(words):
        at = next((i for i, one in enumerate(words) if one.lower in ("from", "by")), None)
        return ClauseMeaning(
            predicate="works_at",
            category="work",
            object=match_proper_name(words[at + 1 :]) if at else (),
            value="",
            effect="ends",
            polarity=True,
            confidence=0.9,
            importance=0.8,
            event=True,
        )
    if (
        word == "into"
        and is_concrete(words[1:])
        and clause.tense in ("past", "perfect", "progressive")
    ):
        return ClauseMeaning("got_into", "activity", words[1:], confidence=0.7, event=True)
    if word == "back" and len(words) > 2 and words[1].lower == "from" and is_concrete(words[2:]):
        return ClauseMeaning("got_back_from", "event", words[2:], confidence=0.8, event=True)
    noun = head_noun(words)
    if (
        clause.tense == "progressive"
        or not is_concrete(words)
        or noun in VAGUE
        or word in PREPOSITIONS | {"to"}
        or (find_lemma(word) and "ing" in (find_lemma(word) or ("", ()))[1])
    ):
        return None
    if (
        word in ("a", "an", "my", "our", "some", "two", "three", "new", "tickets", "the")
        or word.isdigit()
    ):
        return ClauseMeaning("got", "possession", words, confidence=0.72, event=True)
    return None


def interpret_diet(clause: EnglishClause, words: tuple[ClauseToken, ...]) -> ClauseMeaning | None:
    """Interpret a new diet: ``I went vegan``, ``I became a vegetarian``."""
    if (
        clause.tense not in ("past", "perfect")
        or clause.negated
        or len(words) != 1
        or words[0].lower not in DIETS
    ):
        return None
    return ClauseMeaning(
        predicate="diet",
        category="health",
        object=words,
        value="",
        effect="changes",
        confidence=0.9,
        importance=0.8,
        event=True,
    )


def interpret_becoming(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    body = words[1:] if words and words[0].lower in ("a", "an", "the") else words
    if diet := interpret_diet(clause, body):
        return diet
    if clause.tense not in ("past", "perfect") or clause.negated or not is_concrete(body):
        return None
    if head_noun(body) in JOBS:
        return ClauseMeaning(
            predicate="job",
            category="work",
            object=cut_at_preposition(body),
            value="",
            effect="changes",
            polarity=True,
            confidence=0.85,
            importance=0.8,
            event=True,
        )
    return ClauseMeaning("became", "event", body, confidence=0.75, event=True)


def interpret_breakup(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret ``I broke up with Laura``."""
    if (
        len(words) > 2
        and words[0].lower == "up"
        and words[1].lower == "with"
        and clause.tense in ("past", "perfect")
        and not clause.negated
    ):
        return ClauseMeaning(
            predicate="dating",
            category="family",
            object=match_proper_name(words[2:]),
            value="",
            effect="ends",
            polarity=True,
            confidence=0.9,
            importance=0.7,
            event=True,
        )
    return None


def interpret_switch(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret a replaced tool: ``I switched from Vim to Emacs``.

    Also ``we replaced Jira with Linear``.
    """
    if (
        clause.negated
        and clause.verb == "move"
        and [word.lower for word in words] == ["after", "all"]
    ):
        return ClauseMeaning(
            predicate="lives_in",
            category="home",
            object=(),
            value="",
            effect="changes",
            confidence=0.9,
            importance=0.8,
            event=True,
        )
    if clause.tense not in ("past", "perfect") or clause.negated:
        return None
    old, new = _find_replaced(words) if clause.verb in _REPLACING else _find_switched(words)
    known = not TOOLS.isdisjoint(word.lower for word in (*old, *new))
    if (
        not is_concrete(new)
        or not (known or clause.verb in ("switch", "change"))
        or (clause.verb not in ("switch", "change") and not old)
    ):
        return None
    begun = ClauseMeaning(
        predicate="uses",
        category="technical",
        object=new,
        value="",
        effect="changes",
        polarity=True,
        confidence=0.85,
        importance=0.6,
        event=True,
    )
    if not is_concrete(old):
        return begun
    return ClauseMeaning(
        predicate="uses",
        category="technical",
        object=old,
        value="",
        effect="ends",
        polarity=True,
        confidence=0.85,
        importance=0.6,
        event=True,
        extra=(begun,),
    )


def _find_switched(
    words: tuple[ClauseToken, ...],
) -> tuple[tuple[ClauseToken, ...], tuple[ClauseToken, ...]]:
    """Find what stands behind "from" and "to"."""
    start = next((i for i, word in enumerate(words) if word.lower == "from"), None)
    end = next((i for i, word in enumerate(words) if word.lower == "to"), None)
    if words and words[0].lower not in ("from", "to", "over", "back"):
        return (), ()
    new = cut_at_preposition(words[end + 1 :]) if end is not None and end + 1 < len(words) else ()
    return words[start + 1 : end if end and end > start else None] if start is not None else (), new


def _find_replaced(
    words: tuple[ClauseToken, ...],
) -> tuple[tuple[ClauseToken, ...], tuple[ClauseToken, ...]]:
    """Find what stands before and behind "with" or "for"."""
    at = next(
        (i for i, word in enumerate(words) if word.lower in ("with", "for", "by")), len(words)
    )
    return words[:at], cut_at_preposition(words[at + 1 :])


def name_tool(clause: EnglishClause) -> EnglishClause:
    """Read ``we build this with Bazel`` as ``we use Bazel``."""
    at = next(
        (i for i, word in enumerate(clause.rest[:3]) if word.lower in ("with", "using")), None
    )
    tool = cut_at_preposition(clause.rest[at + 1 :]) if at is not None else ()
    if (
        clause.verb not in _TOOLED
        or clause.tense != "present"
        or clause.negated
        or len(tool) != 1
        or not is_concrete(tool)
    ):
        return clause
    return (
        clause
        if clause.person == "other"
        else replace(clause, verb="use", surface="use", rest=tool)
    )


def interpret_retirement(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    if clause.tense not in ("past", "perfect") or clause.negated or clause.person != "self":
        return None
    if not words or words[0].lower in ("from", "in", "at", "early"):
        firm = match_proper_name(words[1:]) if words and words[0].lower == "from" else ()
        return ClauseMeaning(
            predicate="works_at",
            category="work",
            object=firm,
            value="",
            effect="ends",
            polarity=True,
            confidence=0.85,
            importance=0.8,
            event=True,
        )
    return None


def interpret_age_reached(
    clause: EnglishClause, words: tuple[ClauseToken, ...], _: UtteranceContext
) -> ClauseMeaning | None:
    if (
        clause.tense in ("past", "perfect", "present", "progressive")
        and words
        and words[0].text.isdigit()
        and int(words[0].text) <= 120
    ):
        return ClauseMeaning(
            predicate="age",
            category="identity",
            object=words[:1],
            value=words[0].text,
            effect="changes",
            confidence=0.9,
            importance=0.7,
            event=True,
        )
    return interpret_diet(clause, words)


def interpret_beginning(
    clause: EnglishClause, words: tuple[ClauseToken, ...], speech: UtteranceContext
) -> ClauseMeaning | None:
    """Interpret ``I started a job at X``, ``I started painting``."""
    if clause.tense not in ("past", "perfect", "progressive") or not words:
        return None
    if job := interpret_employment(words, speech, accepted=clause.verb == "accept"):
        return job
    if (
        words[0].lower in ("at", "with")
        and len(words) > 1
        and (firm := match_proper_name(words[1:], speech.is_lowercase))
    ):
        return ClauseMeaning(
            predicate="works_at",
            category="work",
            object=firm,
            value="",
            effect="changes",
            polarity=True,
            confidence=0.85,
            importance=0.8,
            event=True,
        )
    known = find_lemma(words[0].lower)
    body = words[1:] if words[0].lower == "to" else words
    if known and "ing" in known[1]:
        if known[0] in CHATTER and known[0] not in ("make", "get"):
            return None
        return ClauseMeaning("started", "activity", body, confidence=0.8, event=True)
    if words[0].lower == "to":
        return None
    if not is_concrete(body) or (head_noun(body) in VAGUE and not has_leading_content(body)):
        return None
    return ClauseMeaning("started", "event", body, confidence=0.8, event=True)
