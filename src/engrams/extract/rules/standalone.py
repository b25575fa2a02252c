"""Test of clauses: only what a stranger understands is derived."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import ATTRIBUTES
from engrams.extract.rules import clause_dates
from engrams.extract.rules.clause_meaning import is_content, trim_trailing
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.clause_subject import LEAD, MARKERS, PRONOUN
from engrams.extract.rules.english_lexicon import (
    ADVERBS,
    BE,
    DETERMINERS,
    HEDGES,
    MODALS,
    PREPOSITIONS,
    find_lemma,
)
from engrams.extract.rules.predicate_table import (
    ACRONYMS,
    HOLLOW,
    KNOWN_THINGS,
    PROPER,
    RELATIONS,
    VERBS,
)
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.frozen_data import dataclass
from engrams.text.times import TimeSpan
from engrams.text.vocabulary import read_vocabulary
from engrams.text.word_list import word_set

_LASTING = frozenset(
    ("home", "family", "health", "identity", "language", "education", "preference")
)
_STATES = frozenset(
    sense.predicate
    for sense in (*PROPER.values(), *VERBS.values())
    if sense.category in ("technical", "activity", "work")
)
_OPEN = frozenset(
    (
        "works_on",
        "works_with",
        "focuses_on",
        "looking_for",
        "cares_for",
        "hangs_out",
        "organizes",
        "tries_out",
    )
)
_POINTERS = word_set(read_vocabulary(__file__, "pointers"))
_FILLERS = word_set(
    "too though lol haha btw well now lately recently ever either yet anymore longer really today"
    " currently already also just sorry right"
)
_TALKS = word_set("chat chats conversation conversations catchup message messages talk")
_OBJECTLESS = word_set(
    "celebrate check cover discuss explore get give handle help improve include make provide"
    " support use"
)
_DONE_TO = word_set("add adjust apply change fix include insert modify set update")
_UNFINISHED = word_set("even than like as since before after with of for to from because if")
_ENDS = word_set(
    "and but or so because since though although yet then plus also which who , ; ! ? )"
)
_CONDITIONS = word_set(
    "after although as before during if in on at for from of once since than that though until"
    " unless when whenever where while with without to by about despite like whether how why what"
    " who which"
)
_EDGES = word_set(
    "and or but , ( ) : ; to that which who where when while because so if as than i we"
)
_ASIDES = frozenset(
    ("when", "while", "because", "since", "as", "if", "where", "than", "that", "so")
)
_COMPLEMENTS = frozenset(("of", "for", "with", "between", "about"))
_BELONGS = frozenset(("of", "for"))
_PLACED = frozenset(("in", "at", "on", "to", "from", "by", "near", "behind", "between"))
_STARTERS = frozenset(("can", "had", "has", "have", "will"))
_INDEFINITE = word_set("a an another this these two three four five six seven eight nine ten dozen")
_HARMLESS = frozenset(
    (
        ("one", "of"),
        ("such", "as"),
        ("instead", "of"),
        ("each", "day"),
        ("each", "week"),
        ("each", "month"),
        ("each", "year"),
    )
)
_MAKING = frozenset(("make", "makes", "making", "keep", "keeping", "ensure"))
_PEOPLE = frozenset(("people", "children", "folks", "women", "men", "family", "team"))
_PLURAL = ("ts", "rs", "ns", "ds", "ls", "ms", "ks", "ps", "es", "hs", "ys")
_RELATIVE = frozenset(("that", "who", "which"))
_IDIOMS = re.compile(
    r"(?:by the way|on (?:another|a different) note|as for me|for me|in my (?:free|spare) time|what"
    r" can i say)\W*$",
    re.IGNORECASE,
)
_REGULAR = frozenset(("every", "daily", "weekly", "monthly"))
_PLANS = frozenset(("plan", "preference", "need"))
_GOING_ON = frozenset(("present", "progressive", "been"))
_CIRCUMSTANCES = word_set("when while as where before after until by once")
_QUOTED = re.compile(r"[`\"“”]")
_BROKEN = re.compile(r"\s*(?:[`\"“<(\[{]|https?:)")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """Words between two edges.

    ``link``: the preposition before them; ``opener``: their determiner, empty for none; ``start``:
    the place behind it.
    """

    link: str
    opener: str
    words: tuple[ClauseToken, ...]
    start: int


def stands_alone(
    candidate: CandidateStatement,
    clause: EnglishClause,
    sentence: Sequence[ClauseToken],
    text: str,
    times: Sequence[TimeSpan],
) -> bool:
    """Check that a clause is whole and names its things.

    A lasting state needs no more; an event also a name, number, date, own or new thing.
    """
    if candidate.kind not in (Kind.FACT, Kind.PREFERENCE) or candidate.reason.endswith(
        (" aside", " relation")
    ):
        return True
    if "`" in candidate.text and clause.tense in ("past", "perfect"):
        return False  # work of the day, not a convention
    rest = tuple(word for word in clause.rest if not _is_timed(word, times))
    if clause.owner and not _is_known_owner(clause):
        return False
    if _points_away((*clause.owner[1:], *rest), text):
        return False
    changed = candidate.reason.endswith(" changed")
    if (
        candidate.single and (changed or not (rest and rest[0].lower == "to"))
    ) or candidate.predicate == "turns":
        return True
    if clause.verb == "play" and len(rest) == 2 and rest[0].lower == "the":
        rest = rest[1:]  # the oboe
    phrases = tuple(_split_phrases(rest))
    dated = (
        clause_dates.pick_most_exact(clause_dates.filter_within(times, clause.start, clause.end))
        is not None
    )
    if not _is_whole(clause, sentence, text, times) or not _is_known(phrases, text, dated=dated):
        return False
    if candidate.kind is Kind.PREFERENCE:
        return True
    return not _hangs_on(clause, sentence) and _is_substantial(
        candidate, clause, phrases, text, dated=dated
    )


def _is_substantial(
    candidate: CandidateStatement,
    clause: EnglishClause,
    phrases: Sequence[NounPhrase],
    text: str,
    *,
    dated: bool,
) -> bool:
    """True for lasting states, anchored events, and plans in several words."""
    if clause.tense == "future":
        return dated
    anchored = dated or any(_is_anchor(phrase, text) for phrase in phrases)
    if clause.verb in _DONE_TO:  # something was done to a thing: it has to be told which
        anchored = any(
            phrase.opener in ("my", "our") or any(_is_proper(word) for word in phrase.words)
            for phrase in phrases
        )
    lasting = (
        candidate.category in _LASTING
        or candidate.predicate in _STATES - _OPEN
        or candidate.effect == "ends"
    )
    if anchored or lasting:
        return True
    told = sum(_is_telling(word) for phrase in phrases for word in phrase.words)
    if clause.person == "group" or clause.tense == "would":
        return False
    if candidate.category in _PLANS:
        return told > 1
    return told > 0 if clause.tense == "present" else told > 1 and clause.tense in _GOING_ON


def _is_known_owner(clause: EnglishClause) -> bool:
    """True unless only the talk tells the subject: ``the goal``, ``my dudes``."""
    head = clause.owner[-1].lower
    first = clause.owner[0].lower
    if first == "the":
        return head in ATTRIBUTES and any(word.lower not in HOLLOW for word in clause.owner[1:])
    related = any(word.lower in RELATIONS or word.text[0].isupper() for word in clause.owner[1:])
    return first not in ("my", "our") or clause.tense != "past" or related or head in ATTRIBUTES


def _is_timed(word: ClauseToken, times: Sequence[TimeSpan]) -> bool:
    return any(span.at <= word.start < span.at + len(span.text) for span in times)


def _points_away(words: Sequence[ClauseToken], text: str) -> bool:
    """True where a word means something that was said elsewhere."""
    for at, word in enumerate(words):
        before = words[at - 1].lower if at else ""
        if word.lower in _TALKS and before in ("last", "our", "previous"):
            return True
        following = words[at + 1].lower if at + 1 < len(words) else ""
        if word.lower in ("this", "these") and sum(map(_is_telling, words[at + 1 : at + 4])) > 1:
            continue
        if word.lower == "that" and not _begins_clause(before, following):
            return True
        if word.lower not in _POINTERS or (word.lower, following) in _HARMLESS or before == "every":
            continue
        if word.lower == "both" and any(one.lower == "and" for one in words[at:]):
            continue
        if not _names_before(words[:at], word.lower, text):
            return True
    return False


def _names_before(words: Sequence[ClauseToken], pointer: str, text: str) -> bool:
    """True for a pronoun explained before: ``my app to make it faster``."""
    before = words[-1].lower if words else ""
    if pointer in ("them", "their", "they"):
        return any(
            _is_telling(word) and (word.lower in _PEOPLE or word.lower.endswith(_PLURAL))
            for word in words
            if word.text.islower()
        )
    if pointer == "others":
        return find_lemma(before) is not None
    if pointer not in ("it", "its") or (pointer == "it" and before not in _MAKING):
        return False
    return any(_is_anchor(phrase, text) for phrase in _split_phrases(words))


def _begins_clause(before: str, word: str) -> bool:
    """True for a word behind a relative "that"."""
    if word in PRONOUN | {"my", "our"}:
        return before not in PREPOSITIONS
    known = find_lemma(word)
    said = find_lemma(before)
    if before in PREPOSITIONS or (said is not None and "base" in said[1]):
        return False
    return (
        word in BE
        or word in MODALS
        or word in ADVERBS
        or word in _STARTERS
        or (known is not None and "ing" not in known[1])
    )


def _is_whole(
    clause: EnglishClause, sentence: Sequence[ClauseToken], text: str, times: Sequence[TimeSpan]
) -> bool:
    """True if nothing of the clause was cut off or is missing."""
    kept = trim_trailing(clause.rest)
    lost = [
        word.lower
        for word in clause.rest[len(kept) :]
        if word.lower not in _FILLERS and word.text[0].isalnum()
    ]
    stranded = (
        len(lost) == 1
        and lost[0] in PREPOSITIONS
        and any(word.lower in ("i", "we") for word in kept)
    )
    if (lost and not stranded) or _is_broken(kept):
        return False
    behind = next((word.lower for word in sentence if word.start >= clause.end), "")
    ends = _ENDS | _FILLERS | (_CIRCUMSTANCES if clause.tense == "past" else frozenset())
    if _BROKEN.match(text, clause.end) or (behind and behind not in ends):
        return False
    last = clause.lead[-1] if clause.lead else None
    return (
        last is None or _is_timed(last, times) or last.lower not in _CONDITIONS | {"time", "times"}
    )


def _is_broken(words: Sequence[ClauseToken]) -> bool:
    """True for words that lack another: ``an on``, ``some to``, ``more than``."""
    if words and (
        words[-1].lower in _UNFINISHED
        or (len(words) > 2 and words[-2].lower == "to" and words[-1].lower in _OBJECTLESS)
    ):
        return True
    return any(
        (
            word.lower in DETERMINERS
            and (after.lower in PREPOSITIONS - {"like"} or after.lower in ("to", "and", ","))
        )
        or (
            word.lower in PREPOSITIONS
            and after.lower == "of"
            and word.lower not in ("out", "inside", "outside")
        )
        for word, after in pairwise(words)
    )


def _hangs_on(clause: EnglishClause, sentence: Sequence[ClauseToken]) -> bool:
    """True where words before are needed: ``During Thanksgiving, we``."""
    first = min([clause.start, *(word.start for word in clause.lead)])
    before = [word for word in sentence if word.end <= first]
    if _IDIOMS.search(" ".join(word.lower for word in before)):
        return False
    start = max(
        (i + 1 for i, word in enumerate(before[:-1]) if word.lower in (",", ";")), default=0
    )
    if any(word.lower in HEDGES for word in before[start:]):
        return True
    edge = max(
        (i + 1 for i, word in enumerate(before) if word.lower in (",", ";", "and", "but", "so")),
        default=0,
    )
    if any(word.lower in _CONDITIONS for word in before[edge:]):
        return True
    opening = [word.lower for word in before[start:-1] if word.lower not in MARKERS]
    if not opening or before[-1].lower != "," or LEAD.issuperset(opening):
        return False
    return opening[0] in _CONDITIONS - {"since"}


def _split_phrases(words: Sequence[ClauseToken]) -> Iterator[NounPhrase]:
    """Split at prepositions, determiners, conjunctions and marks."""
    link = opener = ""
    start = words[0].start if words else 0
    body: list[ClauseToken] = []
    for word in words:
        lower = word.lower
        known = find_lemma(lower) if link == "to" and not body and not opener else None
        edge = lower in PREPOSITIONS or lower in _EDGES or not lower[0].isalnum()
        if (
            not edge
            and lower not in DETERMINERS
            and lower not in _INDEFINITE
            and not (known and "base" in known[1])
        ):
            body.append(word)
            continue
        if body:
            yield NounPhrase(link, opener, tuple(body), start)
            link = ""
            body = []
        opener = lower if lower in DETERMINERS or lower in _INDEFINITE else ""
        start = word.end
        if edge:
            link = lower
        elif known:
            link = ""
    if body:
        yield NounPhrase(link, opener, tuple(body), start)


def _is_known(phrases: Sequence[NounPhrase], text: str, *, dated: bool) -> bool:
    """True unless only the talk tells what a phrase is: ``the setup``."""
    if not phrases or phrases[0].link in _ASIDES:
        return False
    named = False
    anchored = dated or any(_is_anchor(phrase, text) for phrase in phrases)
    for at, phrase in enumerate(phrases):
        following = phrases[at + 1] if at + 1 < len(phrases) else None
        if at == 0 and not _says_what(phrase, following):
            return False
        named = named or _has_name(phrase, text)
        if (
            phrase.opener == "the"
            and not named
            and not _is_definite(phrase, following, text, anchored=anchored)
        ):
            return False
    return True


def _says_what(phrase: NounPhrase, following: NounPhrase | None) -> bool:
    """True for an object with content: ``a chat with Anna``."""
    told = following is not None and _has_telling(following) and following.opener != "the"
    more = (
        told
        and following is not None
        and (
            following.link
            in (_COMPLEMENTS if phrase.opener else _COMPLEMENTS - {"with"}) | _RELATIVE
            or (following.link in _PLACED and following.opener in ("my", "our"))
        )
    )
    doing = next(
        (i for i, word in enumerate(phrase.words) if i and word.lower.endswith("ing")),
        len(phrase.words),
    )
    hollow = phrase.words[doing - 1].lower in HOLLOW and phrase.opener in _INDEFINITE
    return more or (_has_telling(phrase) and not hollow)


def _is_definite(
    phrase: NounPhrase, following: NounPhrase | None, text: str, *, anchored: bool
) -> bool:
    """True for "the …" described, completed or one of a kind."""
    if len(phrase.words) == 1 and phrase.words[0].lower in KNOWN_THINGS:
        return True
    if sum(_is_telling(word) for word in phrase.words) > (1 if anchored else 2):
        return True
    if following is None or following.opener == "the" or not _has_telling(following):
        return False
    owned = following.opener in ("my", "our") or _has_name(following, text)
    hollow = phrase.words[-1].lower in HOLLOW
    return (
        following.link in _BELONGS
        or (following.link in _PLACED and owned)
        or (following.link in ("i", "we") and not hollow)
    )


def _is_telling(word: ClauseToken) -> bool:
    """True for a name, and for a common word that says something."""
    if word.lower in HOLLOW | ADVERBS or word.text[0].isdigit():
        return False
    return is_content(word) and not (word.lower.endswith("ly") and word.text.islower())


def _has_telling(phrase: NounPhrase) -> bool:
    return any(_is_telling(word) for word in phrase.words)


def _has_name(phrase: NounPhrase, text: str) -> bool:
    """True for a proper name, number, title or piece of code."""
    return any(_is_name(word) for word in phrase.words) or bool(
        _QUOTED.search(text, phrase.start, phrase.words[-1].end + 1)
    )


def _is_name(word: ClauseToken) -> bool:
    if word.lower in ACRONYMS:
        return False
    return any(char.isupper() or char.isdigit() for char in word.text) or any(
        mark in word.text[1:-1] for mark in "._/@"
    )


def _is_proper(word: ClauseToken) -> bool:
    return word.lower not in ACRONYMS and word.text[0].isupper()


def _is_anchor(phrase: NounPhrase, text: str) -> bool:
    """True for a name, an own or new thing, or a relative."""
    if _has_name(phrase, text) or phrase.opener in _REGULAR:
        return True
    owned = phrase.opener in ("my", "our") or phrase.opener in _INDEFINITE
    return (owned and _has_telling(phrase)) or any(word.lower in RELATIONS for word in phrase.words)
