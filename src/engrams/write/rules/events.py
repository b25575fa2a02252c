"""What changes a life: jobs begun and lost, people married and left, habits taken up and given up."""

from __future__ import annotations

from engrams.write.rules.clauses import Clause
from engrams.write.rules.lexicon import PREPOSITIONS, lemma, third
from engrams.write.rules.predicates import CHATTER, JOBS, VAGUE
from engrams.write.rules.reading import Reading, Speech, concrete, head, proper, weighty
from engrams.write.rules.tokens import Token


def until(words: tuple[Token, ...]) -> tuple[Token, ...]:
    """Up to the first preposition or clause word: a role, not what is done in it."""
    end = next(
        (
            i
            for i, word in enumerate(words)
            if i and (word.lower in ("at", "for", "in", "with", "on", "since", "and", "but", "who", "where") or word.lower == ",")
        ),
        len(words),
    )
    return words[:end]


def stopping(clause: Clause, words: tuple[Token, ...]) -> Reading | None:
    """``I stopped smoking``, ``I gave up coffee``: what was a habit is none."""
    if clause.verb == "give":
        if not words or words[0].lower != "up" or not concrete(words[1:]):
            return None
        words = words[1:]
    elif not words or not (known := lemma(words[0].lower)) or "ing" not in known[1]:
        return None
    if clause.tense not in ("past", "perfect") or clause.negated:
        return None
    known = lemma(words[0].lower)
    if known and "ing" in known[1]:
        return Reading(third(known[0]), "activity", words[1:], effect="ends", confidence=0.85, event=True, importance=0.6)
    return Reading("likes", "preference", words, effect="ends", confidence=0.75, event=True, importance=0.6)


def employed(words: tuple[Token, ...], speech: Speech) -> Reading | None:
    """``a new job at X (as Y)``: where somebody works from now on."""
    at = next(
        (
            i
            for i, word in enumerate(words[:5])
            if word.lower in ("job", "position", "role", "gig", "internship", "offer", "work", "working")
        ),
        None,
    )
    if at is None or at + 2 >= len(words):
        return None
    prep = at + 1
    if words[prep].lower == "as" and len(words) > prep + 2:
        role = until(words[prep + 2 :] if words[prep + 1].lower in ("a", "an", "the") else words[prep + 1 :])
        later = next((i for i in range(prep, len(words)) if words[i].lower in ("at", "for", "with")), None)
        extra = Reading("job", "work", role, effect="changes", confidence=0.85, importance=0.8, text="works as")
        if later is not None and (firm := proper(words[later + 1 :], speech.lower)):
            return Reading("works_at", "work", firm, "", "changes", True, 0.9, 0.8, event=True, extra=(extra,))
        return Reading("job", "work", role, "", "changes", True, 0.85, 0.8, event=True) if role else None
    if words[prep].lower not in ("at", "with", "for", "from") or not (firm := proper(words[prep + 1 :], speech.lower)):
        return None
    return Reading("works_at", "work", firm, "", "changes", True, 0.9, 0.8, event=True)


def joining(clause: Clause, words: tuple[Token, ...], speech: Speech) -> Reading | None:
    """``I joined Netflix as a data scientist``: an employer; joining a gym or a call is not."""
    at = next((i for i, word in enumerate(words) if word.lower == "as"), None)
    firm = proper(words, speech.lower)
    if clause.tense not in ("past", "perfect") or clause.negated or at is None or not firm or at + 2 >= len(words):
        return None
    role = until(words[at + 2 :] if words[at + 1].lower in ("a", "an", "the", "their") else words[at + 1 :])
    extra = (Reading("job", "work", role, effect="changes", confidence=0.85, importance=0.8),) if role else ()
    return Reading("works_at", "work", firm, "", "changes", True, 0.9, 0.8, event=True, extra=extra)


def losing(clause: Clause, words: tuple[Token, ...], speech: Speech) -> Reading | None:
    """``I quit my job (at X)``: where somebody works no longer."""
    at = next((i for i, word in enumerate(words[:4]) if word.lower in ("job", "position", "gig", "internship")), None)
    if at is None or clause.tense not in ("past", "perfect") or clause.negated or words[0].lower in ("a", "the"):
        return None
    firm = proper(words[at + 2 :], speech.lower) if at + 2 < len(words) and words[at + 1].lower in ("at", "with", "for") else ()
    return Reading("works_at", "work", firm, "", "ends", True, 0.9, 0.8, event=True)


def getting(clause: Clause, words: tuple[Token, ...], speech: Speech) -> Reading | None:
    if not words or clause.tense not in ("past", "perfect", "progressive") or clause.negated:
        return None
    word = words[0].lower
    if job := employed(words, speech):
        return job
    if word in ("married", "hitched"):
        who = words[2:] if len(words) > 2 and words[1].lower == "to" else ()
        name = proper(who)
        if name or clause.tense != "progressive":
            return Reading(
                "married_to" if name else "got_married",
                "family",
                name or words[1:],
                "",
                "changes" if name else "states",
                True,
                0.9,
                0.8,
                event=True,
            )
        return Reading("plans_to", "plan", words, confidence=0.8)
    if word in (
        "engaged",
        "divorced",
        "promoted",
        "accepted",
        "hired",
        "diagnosed",
        "admitted",
        "injured",
        "invited",
        "published",
        "certified",
        "licensed",
    ):
        if word == "promoted" and len(words) > 2 and words[1].lower == "to":
            return Reading("job", "work", words[2:], "", "changes", True, 0.9, 0.8, event=True)
        return Reading(f"got_{word}", "event", words[1:], confidence=0.85, event=True, importance=0.7)
    if word in ("fired", "laid", "sacked"):
        at = next((i for i, one in enumerate(words) if one.lower in ("from", "by")), None)
        return Reading("works_at", "work", proper(words[at + 1 :]) if at else (), "", "ends", True, 0.9, 0.8, event=True)
    if word == "into" and concrete(words[1:]) and clause.tense in ("past", "perfect", "progressive"):
        return Reading("got_into", "activity", words[1:], confidence=0.7, event=True)
    if word == "back" and len(words) > 2 and words[1].lower == "from" and concrete(words[2:]):
        return Reading("got_back_from", "event", words[2:], confidence=0.8, event=True)
    noun = head(words)
    if (
        clause.tense == "progressive"
        or not concrete(words)
        or noun in VAGUE
        or word in PREPOSITIONS | {"to"}
        or (lemma(word) and "ing" in (lemma(word) or ("", ()))[1])
    ):
        return None
    if word in ("a", "an", "my", "our", "some", "two", "three", "new", "tickets", "the") or word.isdigit():
        return Reading("got", "possession", words, confidence=0.72, event=True)
    return None


def becoming(clause: Clause, words: tuple[Token, ...], _: Speech) -> Reading | None:
    body = words[1:] if words and words[0].lower in ("a", "an", "the") else words
    if clause.tense not in ("past", "perfect") or clause.negated or not concrete(body):
        return None
    if head(body) in JOBS:
        return Reading("job", "work", until(body), "", "changes", True, 0.85, 0.8, event=True)
    return Reading("became", "event", body, confidence=0.75, event=True)


def parting(clause: Clause, words: tuple[Token, ...], _: Speech) -> Reading | None:
    """``I broke up with Laura``."""
    if (
        len(words) > 2
        and words[0].lower == "up"
        and words[1].lower == "with"
        and clause.tense in ("past", "perfect")
        and not clause.negated
    ):
        return Reading("dating", "family", proper(words[2:]), "", "ends", True, 0.9, 0.7, event=True)
    return None


def switching(clause: Clause, words: tuple[Token, ...], _: Speech) -> Reading | None:
    """``I switched from Vim to Emacs``, ``I moved from Excel to Sheets``: one thing in use is over, another begins."""
    start = next((i for i, word in enumerate(words) if word.lower == "from"), None)
    end = next((i for i, word in enumerate(words) if word.lower == "to"), None)
    if clause.tense not in ("past", "perfect") or clause.negated or (clause.verb != "switch" and clause.verb != "change"):
        return None
    new = until(words[end + 1 :]) if end is not None and end + 1 < len(words) else ()
    old = words[start + 1 : end if end and end > start else None] if start is not None else ()
    if not concrete(new) or (words and words[0].lower not in ("from", "to", "over", "back")):
        return None
    begun = Reading("uses", "technical", new, "", "changes", True, 0.85, 0.6, event=True)
    if not concrete(old):
        return begun
    return Reading("uses", "technical", old, "", "ends", True, 0.85, 0.6, event=True, extra=(begun,))


def retiring(clause: Clause, words: tuple[Token, ...], _: Speech) -> Reading | None:
    if clause.tense not in ("past", "perfect") or clause.negated or clause.person != "self":
        return None
    if not words or words[0].lower in ("from", "in", "at", "early"):
        firm = proper(words[1:]) if words and words[0].lower == "from" else ()
        return Reading("works_at", "work", firm, "", "ends", True, 0.85, 0.8, event=True)
    return None


def turning(clause: Clause, words: tuple[Token, ...], _: Speech) -> Reading | None:
    if clause.tense in ("past", "perfect") and words and words[0].text.isdigit() and int(words[0].text) <= 120:
        return Reading("age", "identity", words[:1], words[0].text, "changes", confidence=0.9, importance=0.7, event=True)
    return None


def beginning(clause: Clause, words: tuple[Token, ...], speech: Speech) -> Reading | None:
    """``I started a job at X``, ``I started painting``, ``I started learning to cook``."""
    if clause.tense not in ("past", "perfect", "progressive") or not words:
        return None
    if job := employed(words, speech):
        return job
    if words[0].lower in ("at", "with") and len(words) > 1 and (firm := proper(words[1:], speech.lower)):
        return Reading("works_at", "work", firm, "", "changes", True, 0.85, 0.8, event=True)
    known = lemma(words[0].lower)
    body = words[1:] if words[0].lower == "to" else words
    if known and "ing" in known[1]:
        if known[0] in CHATTER and known[0] not in ("make", "get"):
            return None
        return Reading("started", "activity", body, confidence=0.8, event=True)
    if words[0].lower == "to":
        return None
    if not concrete(body) or (head(body) in VAGUE and not weighty(body)):
        return None
    return Reading("started", "event", body, confidence=0.8, event=True)
