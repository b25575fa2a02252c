"""English clauses: who, what they do, and the rest of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engrams.write.rules.lexicon import ADVERBS, BE, DETERMINERS, HEDGES, MODALS, PREPOSITIONS, Form, lemma

Tense: TypeAlias = Literal["present", "past", "perfect", "progressive", "was", "been", "future", "used", "can", "must", "would"]
Person: TypeAlias = Literal["self", "group", "other"]

_TOKEN = re.compile(
    r"n't\b|'(?:m|s|ve|re|d|ll|em|cause|til)\b|[$€£¥]?\d+(?:[.,:/-]\d+)*%?\w*|[^\W\d_]\w*?(?=n't\b)|\w+(?:[-.+/&@]\w+)*[+#]*|\.\.\.|[^\w\s]"
)
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is", "'cause": "because", "cuz": "because", "coz": "because", "'em": "them", "u": "you"}
_SPLIT = {"im": ("i", "'m"), "ive": ("i", "'ve"), "dont": ("do", "n't"), "didnt": ("did", "n't"), "doesnt": ("does", "n't"), "cant": ("can", "n't"), "wont": ("will", "n't")}

_MARKERS = frozenset(
    """
    yeah yes yep yup no nope nah oh ooh wow hey hi hello well so and but plus also btw anyway anyways okay ok sure thanks thank right
    haha lol hmm um uh ah man dude like honestly actually basically fun fact guess what remember note fyi speaking update correction sorry
    then now today yesterday tomorrow tonight recently lately finally currently luckily unfortunately sadly fortunately personally
    great good nice cool awesome amazing totally absolutely definitely exactly true agreed same
    because or yet
    """.split()
)
_LEAD = frozenset(
    """
    last next this past on in at the other a an few couple of some days day week weeks weekend month months year years morning afternoon
    evening night summer winter spring fall autumn ago earlier later before after since during for by around about time times back then once
    two three four five six seven eight nine ten many monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec
    first second third end beginning start half hour hours minute minutes every each now today yesterday tomorrow tonight age lunch dinner
    """.split()
)
_SUBORDINATE = frozenset("when while where how what why if that which who whom whose as than whenever wherever whether until till after before once since unless like".split())
_CUT = frozenset("because although though but which whereas if unless when while whenever until till except so:".split())
_PRONOUN = frozenset("i we he she it they you this that there it's these those what who everyone everybody".split())
_FINITE = frozenset("is 's was are were makes make helps help brings bring has means can will keeps gives allows feels takes would could sounds".split())


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    lower: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Clause:
    """``rest``: the tokens after the verb. ``verb``: its lemma; ``surface``: as it stood. ``owner``: tokens of a subject other than the speaker."""

    person: Person
    owner: tuple[Token, ...]
    verb: str
    surface: str
    tense: Tense
    negated: bool
    hedged: bool
    adverbs: tuple[str, ...]
    rest: tuple[Token, ...]
    start: int
    end: int
    lead: tuple[Token, ...] = ()
    infinitive: str = ""


def tokens(text: str, at: int = 0) -> list[Token]:
    """Words and punctuation with their places in the whole text; contractions are taken apart."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        word, lower = match[0], match[0].lower()
        start, end = match.start() + at, match.end() + at
        if lower in _SPLIT:
            first, second = _SPLIT[lower]
            cut = start + (1 if first == "i" else len(word) - 2)
            found += [Token(word[: cut - start], first, start, cut), Token(word[cut - start :], second, cut, end)]
        else:
            found.append(Token(word, _WHOLE.get(lower, lower), start, end))
    return found


def clauses(words: Sequence[Token], names: frozenset[str] = frozenset(), *, elide: bool = True) -> list[Clause]:
    """The clauses of one sentence whose subject is the speaker, something of the speaker's, or one of ``names``.

    ``elide``: whether a verb at the head may lack its "I" (Went to the gym).
    """
    found: list[Clause] = []
    at = 0
    elided = _elided(words) if elide else _NONE
    if elided != _NONE:
        clause, at = _verb_phrase(words, elided, "self", (), words[elided].start, names)
        found += [clause] if clause else []
        at = _coordinate(words, at, found, names)
    while at < len(words):
        subject = _subject(words, at, names)
        if subject is None:
            at += 1
            continue
        person, owner, after = subject
        clause, end = _verb_phrase(words, after, person, owner, words[at].start, names)
        if clause is None:
            at += 1
            continue
        found.append(_with_lead(clause, words, at))
        at = _coordinate(words, max(end, at + 1), found, names)
    return found


def _with_lead(clause: Clause, words: Sequence[Token], at: int) -> Clause:
    first = at
    while first > 0 and (words[first - 1].lower in _LEAD or words[first - 1].lower == "," or words[first - 1].text[0].isdigit()):
        first -= 1
    from dataclasses import replace

    return replace(clause, lead=tuple(words[first:at]))


def _subject(words: Sequence[Token], at: int, names: frozenset[str]) -> tuple[Person, tuple[Token, ...], int] | None:
    """Who or what a clause that begins here is about: person, its tokens, and where the verb group begins."""
    word = words[at]
    if not _opens(words, at, names):
        return None
    if word.lower in ("i", "we") and word.text in ("I", "i", "We", "we", "Im", "im", "Ive", "ive", "I'm"):
        return ("self" if word.lower == "i" else "group"), (), at + 1
    if word.lower in ("my", "our"):
        return _possessed(words, at)
    if word.lower in ("he", "she"):
        return "other", (word,), at + 1
    if word.lower == "the":
        return _possessed(words, at)
    if word.text[0].isupper() and (word.lower in names or at == 0 or words[at - 1].lower in (",", "and", "but")):
        return _named(words, at, names)
    return None


def _opens(words: Sequence[Token], at: int, names: frozenset[str]) -> bool:
    """Whether a main clause can begin here: nothing but markers, times and names stands between it and a boundary."""
    place = at - 1
    while place >= 0:
        lower = words[place].lower
        if lower in (",", ":", ";", "(", "-", "and", "but", "so", "because", "plus", "or", "then"):
            return place == at - 1 or not any(words[i].lower in _SUBORDINATE and words[i].lower not in _LEAD for i in range(place, at))
        if lower in _SUBORDINATE and lower not in _LEAD:
            return False
        if not (lower in _MARKERS or lower in _LEAD or lower in ADVERBS or lower in names or words[place].text[0].isdigit() or not lower[0].isalnum()):
            return False
        place -= 1
    return True


def _possessed(words: Sequence[Token], at: int) -> tuple[Person, tuple[Token, ...], int] | None:
    """``my sister Anna lives``: the noun phrase up to its verb, at most six words."""
    for end in range(at + 2, min(at + 8, len(words))):
        lower = words[end].lower
        if lower == "'s" and not (end + 1 < len(words) and _after_is(words[end + 1])):
            continue
        if lower in BE or lower in MODALS or lower in ("has", "have", "had", "will", "does", "did", "'ll", "can", "do", "'s"):
            return "other", tuple(words[at:end]), end
        known = lemma(lower) if words[end].text.islower() else None
        if known and known[1] & {"s", "past"} and not (end + 1 < len(words) and words[end + 1].lower in BE):
            return "other", tuple(words[at:end]), end
        if lower in ADVERBS and end + 1 < len(words):
            following = lemma(words[end + 1].lower)
            if words[end + 1].lower in BE or (following and following[1] & {"s", "past"}):
                return "other", tuple(words[at:end]), end
        if not words[end].text[0].isalnum() or lower in _CUT or lower in _PRONOUN or lower == "and":
            return None
        if known and "base" in known[1] and words[end - 1].lower.endswith("s") and end + 1 < len(words) and words[end + 1].lower in DETERMINERS | PREPOSITIONS:
            return "other", tuple(words[at:end]), end
    return None


def _after_is(word: Token) -> bool:
    """Whether ``'s`` before this word is a verb rather than a possessive."""
    return word.lower in DETERMINERS or word.lower in ADVERBS or word.lower.endswith(("ing", "ed")) or word.lower in ("not", "n't", "in", "at", "from")


def _named(words: Sequence[Token], at: int, names: frozenset[str]) -> tuple[Person, tuple[Token, ...], int] | None:
    end = at + 1
    while end < len(words) and end < at + 3 and words[end].text[0].isupper() and words[end].text.isalpha():
        end += 1
    head = words[at].lower
    if end >= len(words) or head in _MARKERS | _LEAD | ADVERBS | DETERMINERS | PREPOSITIONS | _PRONOUN | _SUBORDINATE or not words[at].text.isalpha():
        return None
    if (known := lemma(head)) and (head.endswith("ing") or known[1] & {"base", "past"}) and head not in names:
        return None
    verb = end
    while verb < len(words) and words[verb].lower in ADVERBS:
        verb += 1
    if verb >= len(words):
        return None
    lower = words[verb].lower
    mine = lower in ("is", "'s") and verb + 1 < len(words) and words[verb + 1].lower in ("my", "our")
    if head not in names and not (lower in _PERSONAL or mine or (lower in ("is", "was", "has", "'s") and end - at > 1)):
        return None
    form = lemma(lower)
    if lower in BE or lower in ("has", "had", "will", "'ll", "does", "did") or (form and form[1] & {"s", "past"}):
        return "other", tuple(words[at:end]), end
    return None


_PERSONAL = frozenset(
    """
    lives lived works worked moved married studies studied loves loved likes liked hates plays played adopted bought graduated joined quit retired
    speaks teaches taught drives prefers enjoys owns started runs manages leads reports wants plans lost got divorced visited sold built wrote
    """.split()
)


def _elided(words: Sequence[Token]) -> int:
    """Where the verb stands in a sentence that leaves out "I": Went to the gym; Just got a job; Planning to move. -1: nowhere."""
    at = 0
    while at < len(words) and (words[at].lower in _MARKERS or words[at].lower in (",", "just", "been", "still", "already", "only")) and words[at].lower not in ("like",):
        if words[at].lower == "been":
            break
        at += 1
    if at >= len(words) or len(words) - at < 3:
        return _NONE
    lower = words[at].lower
    if lower == "been":
        nxt = words[at + 1].lower
        return at if nxt.endswith("ing") or nxt == "to" or nxt in ADVERBS else _NONE
    if lower in ("gonna", "gotta"):
        return at
    known = lemma(lower)
    if known is None or lower in ADVERBS or lower in ("used", "based", "left", "thought", "saw", "heard", "said", "put", "let", "cut", "set", "read", "shut"):
        return at if lower == "used" and words[at + 1].lower == "to" else _NONE
    if "past" in known[1] and "base" not in known[1] and words[at + 1].lower not in ("by", "to", "on", "in", "at") | BE.keys() or lower in ("went", "moved"):
        return at
    if known[1] == {"ing"} and not any(word.lower in _FINITE for word in words[at + 1 :]):
        return at
    return _NONE


_NONE = -1


def _coordinate(words: Sequence[Token], at: int, found: list[Clause], names: frozenset[str]) -> int:
    """``… and sold my bike``: further verbs of the same subject."""
    while found and at + 2 < len(words) and words[at].lower in ("and", "then", "but", ","):
        if words[at].lower == "," and words[at + 1].lower == "like":
            return at
        after = at + 1
        while after < len(words) - 1 and (words[after].lower in ("and", "then", "also") or words[after].lower in ADVERBS):
            after += 1
        known = lemma(words[after].lower)
        if known is None or not _parallel(found[-1], known[1], words, after):
            return at
        last = found[-1]
        clause, end = _verb_phrase(words, after, last.person, last.owner, words[after].start, names, like=last.tense)
        if clause is None:
            return at
        found.append(clause)
        at = max(end, after + 1)
    return at


def _parallel(last: Clause, forms: frozenset[Form], words: Sequence[Token], at: int) -> bool:
    following = words[at + 1].lower if at + 1 < len(words) else ""
    open_ended = following in DETERMINERS or following in PREPOSITIONS or following in ("to", "married", "engaged") or following[:1].isdigit()
    match last.tense:
        case "past" | "used":
            return "past" in forms and ("base" not in forms or following in DETERMINERS)
        case "perfect":
            return "part" in forms and "base" not in forms
        case "progressive" | "been" | "was":
            return "ing" in forms
        case "present" if last.person == "other":
            return "s" in forms and open_ended
        case "present":
            return "base" in forms and open_ended and not last.infinitive and not any(word.lower == "to" for word in last.rest)
        case _:
            return False


def _verb_phrase(
    words: Sequence[Token], at: int, person: Person, owner: tuple[Token, ...], start: int, names: frozenset[str], like: Tense | None = None
) -> tuple[Clause | None, int]:
    from engrams.write.rules.verbs import group

    read = group(words, at, like)
    if read is None:
        return None, at
    end = _end(words, read.after, names)
    rest = tuple(words[read.after : end])
    stop = rest[-1].end if rest else words[read.after - 1].end
    clause = Clause(
        person, owner, read.verb, read.surface, read.tense, read.negated, read.hedged, read.adverbs, rest, start, stop, (), read.infinitive
    )
    return clause, end


def _end(words: Sequence[Token], at: int, names: frozenset[str]) -> int:
    """Where the clause whose verb ends at ``at`` stops."""
    for place in range(at, len(words)):
        lower = words[place].lower
        following = words[place + 1].lower if place + 1 < len(words) else ""
        if lower in (":", "(", ")", ";", "...", "!", "?") or (lower in _CUT and place > at) or (lower == "because"):
            return place
        if lower == "," and (following in _PRONOUN or following in _STOPPERS or following in names or _verbal(words, place + 1) or not following):
            return place
        if lower == "," and following in ("and", "or") and place + 2 < len(words) and (words[place + 2].lower in _PRONOUN | {"my", "our"} or _verbal(words, place + 2)):
            return place
        if lower == "and" and (following in _PRONOUN or _clause_after(words, place + 1) or _verbal(words, place + 1)):
            return place
        if lower == "so" and place > at and (following in _PRONOUN or following in ("my", "our", "that", "then")):
            return place
        if lower in ("as", "where", "since", "after", "before", "once", "how", "then") and place > at and following in _PRONOUN | {"i", "we", "my"}:
            return place
        if lower in ("which", "who") and words[place - 1].lower == ",":
            return place - 1
        if place - at > 28:
            return place
    return len(words)


_STOPPERS = frozenset(
    """
    but so because which who where and? then my our can could would will what how why when if too though right lol haha btw please thanks
    especially although while since as with? not maybe hopefully so
    """.split()
)


def _clause_after(words: Sequence[Token], at: int) -> bool:
    """``and my boss is``: a new subject with a verb of its own."""
    return words[at].lower in ("my", "our", "the") and _possessed(words, at) is not None if at < len(words) else False


def _verbal(words: Sequence[Token], at: int) -> bool:
    """Whether a verb stands here that can only be another predicate: ``and sold``, ``and am``, ``, went``."""
    while at < len(words) and words[at].lower in ADVERBS:
        at += 1
    if at >= len(words):
        return False
    lower = words[at].lower
    if lower in BE or lower in ("have", "has", "had", "will", "did", "do", "does", "'ll", "'ve"):
        return True
    known = lemma(lower)
    if known is None or at + 1 >= len(words):
        return False
    following = words[at + 1].lower
    open_ended = following in DETERMINERS or following in PREPOSITIONS
    return ("past" in known[1] and ("base" not in known[1] or open_ended) and known[1] != {"part"}) or (bool(known[1] & {"base", "s"}) and following in DETERMINERS)


__all__ = ["Clause", "Person", "Tense", "Token", "clauses", "tokens", "HEDGES"]
