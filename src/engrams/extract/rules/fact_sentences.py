"""Facts as standalone sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from engrams.extract.rules.clause_dates import spell_out
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.english_lexicon import (
    DETERMINERS,
    FREQUENCY,
    PREPOSITIONS,
    find_lemma,
    gerund,
    participle,
    past_tense,
    third_person,
)
from engrams.extract.rules.predicate_table import OPINIONS
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.text.times import TimeSpan
from engrams.text.word_list import word_set

_SELF = re.compile(
    r"\b(?:I'm|I am|I was|I've|I'd|I'll|we're|we are|we"
    r" were|we've|we'd|we'll|myself|ourselves|mine|ours|my|our|me|us|I|we)\b(?!-)",
    re.IGNORECASE,
)
_THEY = {
    "i'm": "they are", "i am": "they are", "i was": "they were", "i've": "they have", "i'd": "they would", "i'll": "they will",
    "we're": "they are",
    "we are": "they are", "we were": "they were", "we've": "they have", "we'd": "they would", "we'll": "they will", "myself": "themselves",
    "ourselves": "themselves", "mine": "theirs", "ours": "theirs", "my": "their", "our": "their", "me": "them", "us": "them", "i": "they",
    "we": "they",
}  # fmt: skip
_ABOUT = re.compile(r"\babout in (?=(?:\w+ )?\d{4}\b)")
_MANY = frozenset(("kids", "children", "people", "parents", "twins", "folks", "family"))
_DANGLING = re.compile(
    r"\b(?:in|on|at|since|by|of)\s+(?=(?:in|on|at|for|with|to|by|from)\b)", re.IGNORECASE
)
_AGREE = {"is": "are", "was": "were", "has": "have"}
_FULL = {
    "'em": "them",
    "'cause": "because",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "have to",
}
_COLLOQUIAL = re.compile(r"(?<!\w)(?:'em|'cause|gonna|wanna|gotta)(?!\w)", re.IGNORECASE)


_TAKEN = re.compile(
    r"\b(sp(?:en[dt]|ending|ends)|t(?:ake|akes|aking|ook)) (?:in|on) (?=\d|the week)"
)


_DOUBLED = re.compile(r" the (?=the )|(?<= on) the (?=\d{1,2} [A-Z])")


_STOP = "a|an|and|as|at|by|called|for|from|in|is|like|named|of|on|or|so|that|the|they|to|we|where|which|while|who|with"
_POINTER = re.compile(
    rf"\b(this|these)\s+((?:(?!(?:{_STOP})\b)[\w'-]+\s+){{0,5}}?(?!(?:{_STOP})\b)[\w'-]+)(?=\s+(?:{_STOP})\b|\s+[\"\d]|[,;]|$)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r" (?:at|for|in|on) (?:this|these) (?:\w+ )?"
    r"(?:app|case|chapter|context|journey|process|project|purpose|regard|stage|task|times?|world)\b",
    re.IGNORECASE,
)
_MAKES = word_set(
    "adopt bake bring build buy cook create design discover draw find finish get make paint play"
    " read see sew take watch whip write"
)
_MAKING = re.compile(
    r"\b(?:bak|build|cook|creat|draw|mak|paint|play|read|watch|writ)ing $", re.IGNORECASE
)
_EXACT = frozenset(
    (
        "current",
        "entire",
        "exact",
        "first",
        "last",
        "next",
        "particular",
        "past",
        "same",
        "specific",
        "whole",
    )
)
_PLACED = word_set(
    "app approach area bug case city code component country error feature file function issue"
    " journey method module page place problem project purpose query script setup spot state step"
    " table task topic town way website"
)


def to_third_person(
    text: str, start: int, end: int, found: Sequence[TimeSpan], name: str = ""
) -> str:
    """Rewrite ``text[start:end]`` in the third person, times spelled out.

    ``name``: of the speaker, where the sentence is about somebody else; empty: the sentence is
    about the speaker (they).
    """
    parts: list[str] = []
    at = start
    for span in found:
        stop = span.at + len(span.text)
        if span.at >= at and stop <= end:
            parts.extend((text[at : span.at], spell_out(span, text[start : span.at])))
            at = stop
    whole = unescape("".join((*parts, text[at:end]))).replace("’", "'")
    whole = _ABOUT.sub("around ", whole)
    whole = _COLLOQUIAL.sub(lambda match: _FULL[match[0].lower()], whole)
    whole = _SELF.sub(lambda match: _replace_pronoun(match[0], name), whole)
    return " ".join(whole.split()).strip(" ,;:-")


def render_value(
    words: Sequence[ClauseToken], text: str, found: Sequence[TimeSpan], name: str
) -> str:
    """Render the object's words without the times among them."""
    if not words:
        return ""
    start = words[0].start
    end = words[-1].end
    parts: list[str] = []
    at = start
    for span in found:
        if at <= span.at < end:
            parts.append(text[at : span.at])
            at = max(at, min(end, span.at + len(span.text)))
    parts.append(text[at:end])
    joined = _DANGLING.sub("", " ".join(part.strip() for part in parts if part.strip()))
    bare = to_third_person(joined, 0, len(joined), (), name)
    pieces = bare.split()
    while len(pieces) > 1 and (
        pieces[-1].lower() in PREPOSITIONS
        or pieces[-1].lower() in DETERMINERS
        or pieces[-1].lower() in ("and", "to", ",")
    ):
        pieces.pop()
    while len(pieces) > 1 and pieces[0].lower() in ("a", "an", "the", "to", "some"):
        pieces.pop(0)
    return " ".join(pieces).strip(" ,")


def render_verb(clause: EnglishClause) -> str:
    """Render the verb group for he or she: ``does not eat``."""
    word = clause.verb
    surface = clause.surface.lower()
    often = next(
        (f"{adverb} " for adverb in clause.adverbs if adverb in FREQUENCY and adverb != "never"), ""
    )
    never = "never" in clause.adverbs
    no_longer = "no longer" in clause.adverbs or (
        "anymore" in (token.lower for token in clause.rest) and clause.negated
    )
    no = "never " if never else ""
    negated = clause.negated and not never and not no_longer
    if no_longer:
        often = "no longer "
    if word == "be":
        return _agree_in_number(_render_be(clause, often + no, negated), clause)
    if clause.tense in ("past", "perfect", "used"):
        return _agree_in_number(_render_past_verb(clause, surface, often, no, negated), clause)
    if clause.tense == "present" and _is_plural(clause):
        return f"{often}do not {word}" if negated else f"{often}{no}{word}"
    return _agree_in_number(_render_other(clause, word, often, no, negated), clause)


def _render_other(clause: EnglishClause, word: str, often: str, no: str, negated: bool) -> str:
    """Render other tenses: ``is painting``, ``can swim``."""
    not_ = "not " if negated else ""
    match clause.tense:
        case "progressive":
            return f"is {not_}{often}{_spell_gerund(clause)}"
        case "was":
            return f"was {not_}{often}{_spell_gerund(clause)}"
        case "been":
            return f"has {not_}{often}been {_spell_gerund(clause)}"
        case "future":
            return f"will {not_}{often}{no}{word}"
        case "can":
            return f"can{'not' if negated else ''} {often}{word}"
        case "must":
            return f"{'does not have' if negated else 'has'} to {word}"
        case "would":
            return f"would {not_}{often}{word}"
        case _:
            return f"{often}does not {word}" if negated else f"{often}{no}{third_person(word)}"


def _spell_gerund(clause: EnglishClause) -> str:
    """Keep the gerund that was said: staring, not starring."""
    said = clause.surface.lower()
    return said if said.endswith("ing") else gerund(clause.verb)


def _render_past_verb(
    clause: EnglishClause, surface: str, often: str, no: str, negated: bool
) -> str:
    """Render a past verb group: ``did not move``, ``used to live``."""
    known = find_lemma(surface)
    if clause.tense == "perfect":
        done = surface if known and "part" in known[1] else participle(clause.verb)
        return f"has {'not ' if negated else ''}{often}{no}{done}"
    if negated:
        return f"{often}did not {clause.verb}"
    if clause.tense == "used":
        return f"{often}{no}used to {clause.verb}"
    return f"{often}{no}{surface if known and 'past' in known[1] else past_tense(clause.verb)}"


def _is_plural(clause: EnglishClause) -> bool:
    if clause.person != "other" or not clause.owner or clause.owner[0].lower in ("he", "she"):
        return False
    noun = clause.owner[-1].lower
    return (
        noun.endswith("s")
        and not noun.endswith(("ss", "us", "is"))
        and clause.owner[-1].text.islower()
    ) or noun in _MANY


def _agree_in_number(group: str, clause: EnglishClause) -> str:
    """Turn ``is``, ``was`` and ``has`` into the plural where needed."""
    head, _, rest = group.partition(" ")
    return (
        " ".join(part for part in (_AGREE.get(head, head), rest) if part)
        if _is_plural(clause)
        else group
    )


def build_sentence(subject: str, *parts: str) -> str:
    """Join words to a sentence: leading capital, no full stop."""
    whole = " ".join(part for part in (subject, *parts) if part).strip()
    return whole[:1].upper() + whole[1:]


def _render_be(clause: EnglishClause, often: str, negated: bool) -> str:
    no = "not " if negated else ""
    match clause.tense:
        case "past":
            return f"was {no}{often}".rstrip()
        case "perfect":
            return f"has {no}{often}been"
        case "future":
            return f"will {no}{often}be"
        case "used":
            return "used to be"
        case "can":
            return f"can{'not' if negated else ''} be"
        case _:
            return f"is {no}{often}".rstrip()


def smooth(sentence: str) -> str:
    """Mend a time that is the object: ``took on 10 May off``."""
    return _DOUBLED.sub(" ", _TAKEN.sub(r"\1 ", sentence))


def _replace_pronoun(word: str, name: str) -> str:
    lower = word.lower()
    if not name:
        return _THEY[lower]
    if lower in ("my", "our", "mine", "ours"):
        return f"{name}'s"
    if lower in ("me", "us", "i", "we", "myself", "ourselves"):
        return name
    head, _, tail = lower.replace("'", " '").partition(" ")
    verbs = {
        "'m": "is",
        "am": "is",
        "was": "was",
        "'ve": "has",
        "'d": "would",
        "'ll": "will",
        "'re": "is",
        "are": "is",
        "were": "was",
    }
    return f"{name} {verbs.get(tail, tail)}" if head in ("i", "we") else word


def loosen_pointers(said: str, verb: str) -> str:
    """Say "a bowl" for "this bowl", and drop "for this purpose".

    ``said``: what follows ``verb`` (a lemma) in a positive statement.
    """
    return _POINTER.sub(lambda match: _loosen(match, verb), _ASIDE.sub("", said))


def _loosen(match: re.Match[str], verb: str) -> str:
    thing = match[2]
    first = match.start() == 0
    names = thing.split()
    made = _MAKING.search(match.string[: match.start()]) or (first and verb in _MAKES)
    if (
        names[0].lower() in _EXACT
        or names[-1].lower() in _PLACED
        or (first and verb in OPINIONS)
        or (len(names) == 1 and not made)
    ):
        return match[0]
    if match[1].lower() == "these":
        return thing
    if names[0].islower() and names[-1][0].isupper():
        return f"the {thing}"  # "this game Catan"
    return f"{'an' if thing[0].lower() in 'aeiou' else 'a'} {thing}"
