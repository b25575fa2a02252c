"""Subjects of clauses: the speaker, their relations, named people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from engrams.extract.rules.english_lexicon import (
    ADVERBS,
    BE,
    DETERMINERS,
    MODALS,
    PREPOSITIONS,
    find_lemma,
)
from engrams.extract.rules.sentence_segmenter import ClauseToken, Person
from engrams.text.vocabulary import read_vocabulary, word_set

CUT = word_set(
    "because although though but which whereas if unless when while whenever until till except so:"
)
PRONOUN = word_set(
    "i we he she it they you this that there it's these those what who everyone everybody"
)
MARKERS = word_set(read_vocabulary(__file__, "markers"))
LEAD = word_set(read_vocabulary(__file__, "lead"))
_SUBORDINATE = word_set(
    "when while where how what why if that which who whom whose as than whenever wherever whether"
    " until till after before once since unless like"
)
_PERSONAL = word_set(read_vocabulary(__file__, "personal"))

# In brief talk they stand without an article: "deadline got pushed to May 17".
_BARE = word_set(
    "appointment budget deadline exam fee interview launch meeting price release rent salary"
    " standup"
)
_MOVED = [[who, verb, "to"] for who in ("i", "we") for verb in ("moved", "relocated")]
_IS = frozenset(("is", "are", "'s"))
_PASSING = word_set("late left away ago early off today tonight tomorrow more degrees done")
"""Words behind a number that tell of the moment: "3 hours late"."""
_WEEKDAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
_MOST_NOUNS = 3
"""Words of the longest noun that stands without an article."""
_NEAR = 7
"""Words behind "is" among which one may tell that the value is of the moment."""
_MOST_LEAD = 60
"""Maximum words of markers, times and names before a clause."""


_NO_NOUNS = (
    ADVERBS
    | DETERMINERS
    | PREPOSITIONS
    | PRONOUN
    | _SUBORDINATE
    | word_set(
        "one two three four five none answer total sum result score something nothing let that who what"
    )
)
_NO_NAMES = MARKERS | LEAD | _NO_NOUNS


def find_subject(
    words: Sequence[ClauseToken], at: int, names: frozenset[str]
) -> tuple[Person, tuple[ClauseToken, ...], int] | None:
    """Find the subject of a clause that begins at ``at``.

    Returns the person, the subject's tokens and the place of the verb group; None: no clause begins
    here.
    """
    word = words[at]
    if not _can_begin(words, at, names):
        return None
    if word.lower in ("i", "we") and word.text in (
        "I",
        "i",
        "We",
        "we",
        "Im",
        "im",
        "Ive",
        "ive",
        "I'm",
    ):
        return ("self" if word.lower == "i" else "group"), (), at + 1
    if word.lower in ("my", "our"):
        return match_possessed(words, at)
    if word.lower in ("he", "she"):
        return "other", (word,), at + 1
    if word.lower == "the":
        return match_possessed(words, at)
    if word.lower in _BARE and _is_changed(words, at + 1):
        return "other", (ClauseToken("the", "the", word.start, word.start), word), at + 1
    valued = _find_valued(words, at)
    if valued:
        article = ClauseToken("the", "the", word.start, word.start)
        return "other", (article, *words[at:valued]), valued
    if word.text[0].isupper() and (
        word.lower in names or at == 0 or words[at - 1].lower in (",", "and", "but")
    ):
        return _match_named(words, at, names)
    return None


def _tells_move(words: Sequence[ClauseToken], at: int) -> bool:
    """True for "we moved to" behind a "when", which tells a change by the way."""
    return [word.lower for word in words[at : at + 3]] in _MOVED


def _find_valued(words: Sequence[ClauseToken], at: int) -> int:
    """Find the verb of ``bin day is Wednesday``: a noun without article, and a day or number; 0: none."""
    end = at
    while end < len(words) and end < at + _MOST_NOUNS and words[end].lower not in _IS:
        word = words[end]
        is_noun = word.text.isalpha() and word.lower not in (_NO_NAMES if end == at else _NO_NOUNS)
        if not is_noun:
            return 0
        end += 1
    if end == at or end >= len(words) or words[end].lower not in _IS:
        return 0
    value = words[end + 1 : end + 1 + _MOST_NOUNS]
    is_valued = any(
        word.text[0].isdigit() or word.lower.removesuffix("s") in _WEEKDAYS for word in value
    )
    is_passing = any(word.lower in _PASSING for word in words[end + 1 : end + _NEAR])
    return end if is_valued and not is_passing else 0


def _is_changed(words: Sequence[ClauseToken], at: int) -> bool:
    """True for ``was moved``, ``got pushed``, ``is now``."""
    said = " ".join(word.lower for word in words[at : at + 2])
    return said.partition(" ")[0] in ("moved", "changed", "was", "got", "has") or said in (
        "is now",
        "'s now",
        "went up",
        "went down",
    )


def _can_begin(words: Sequence[ClauseToken], at: int, names: frozenset[str]) -> bool:
    """True if only markers, times and names precede the clause."""
    place = at - 1
    first = max(0, at - _MOST_LEAD)
    while place >= first:
        lower = words[place].lower
        if lower in (",", ":", ";", "(", "-", "and", "but", "so", "because", "plus", "or", "then"):
            return place == at - 1 or not any(
                words[i].lower in _SUBORDINATE and words[i].lower not in LEAD
                for i in range(place, at)
            )
        if lower in _SUBORDINATE and lower not in LEAD:
            return place == at - 1 and _tells_move(words, at)
        if not (
            lower in MARKERS
            or lower in LEAD
            or lower in ADVERBS
            or lower in names
            or words[place].text[0].isdigit()
            or not lower[0].isalnum()
        ):
            return False
        place -= 1
    return not first


def match_possessed(
    words: Sequence[ClauseToken], at: int
) -> tuple[Person, tuple[ClauseToken, ...], int] | None:
    """Match ``my sister Anna`` up to its verb, within six words."""
    for end in range(at + 2, min(at + 8, len(words))):
        lower = words[end].lower
        if lower == "'s" and not (end + 1 < len(words) and _is_verb_after(words[end + 1])):
            continue
        if (
            lower in BE
            or lower in MODALS
            or lower in ("has", "have", "had", "will", "does", "did", "'ll", "can", "do", "'s")
        ):
            return "other", tuple(words[at:end]), end
        reading = find_lemma(lower) if words[end].text.islower() else None
        if (
            reading
            and reading.forms & {"s", "past"}
            and not (end + 1 < len(words) and words[end + 1].lower in BE)
        ):
            return "other", tuple(words[at:end]), end
        if lower in ADVERBS and end + 1 < len(words):
            following = find_lemma(words[end + 1].lower)
            if words[end + 1].lower in BE or (following and following.forms & {"s", "past"}):
                return "other", tuple(words[at:end]), end
        is_new_noun = lower == "the" and words[end - 1].lower not in PREPOSITIONS
        is_other_subject = lower in PRONOUN or lower == "and" or is_new_noun
        if not words[end].text[0].isalnum() or lower in CUT or is_other_subject:
            return None
        if (
            reading
            and "base" in reading.forms
            and words[end - 1].lower.endswith("s")
            and end + 1 < len(words)
            and (words[end + 1].lower in DETERMINERS or words[end + 1].lower in PREPOSITIONS)
        ):
            return "other", tuple(words[at:end]), end
    return None


def _is_verb_after(word: ClauseToken) -> bool:
    """True if ``'s`` before this word is a verb."""
    return (
        word.lower in DETERMINERS
        or word.lower in ADVERBS
        or word.lower.endswith(("ing", "ed"))
        or word.lower in ("not", "n't", "in", "at", "from")
    )


def _acts_too(words: Sequence[ClauseToken]) -> bool:
    """True if a sentence goes on with what only a person does: "Elena is vegan but eats honey"."""
    return any(
        joint.lower in ("and", "but") and verb.lower in _PERSONAL for joint, verb in pairwise(words)
    )


def _match_named(
    words: Sequence[ClauseToken], at: int, names: frozenset[str]
) -> tuple[Person, tuple[ClauseToken, ...], int] | None:
    end = at + 1
    while (
        end < len(words)
        and end < at + 3
        and words[end].text[0].isupper()
        and words[end].text.isalpha()
    ):
        end += 1
    head = words[at].lower
    if end >= len(words) or head in _NO_NAMES or not words[at].text.isalpha():
        return None
    if (
        (reading := find_lemma(head))
        and (head.endswith("ing") or reading.forms & {"base", "past"})
        and head not in names
    ):
        return None
    verb = end
    while verb < len(words) and words[verb].lower in ADVERBS:
        verb += 1
    if verb >= len(words):
        return None
    lower = words[verb].lower
    mine = (
        lower in ("is", "'s") and verb + 1 < len(words) and words[verb + 1].lower in ("my", "our")
    )
    if head not in names and not (
        lower in _PERSONAL
        or mine
        or (lower in ("is", "was", "has", "'s") and (end - at > 1 or _acts_too(words[verb:])))
    ):
        return None
    form = find_lemma(lower)
    if (
        lower in BE
        or lower in ("has", "had", "will", "'ll", "does", "did")
        or (form and form.forms & {"s", "past"})
    ):
        return "other", tuple(words[at:end]), end
    return None
