"""Facts as standalone sentences, and the test that drops fragments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from engrams.text.timephrases import TimeSpan
from engrams.types import Kind
from engrams.write.candidatestatement import CandidateStatement
from engrams.write.rules.clausedates import spell_out
from engrams.write.rules.clauseparser import EnglishClause
from engrams.write.rules.englishlexicon import (
    DETERMINERS,
    FREQUENCY,
    PREPOSITIONS,
    find_lemma,
    gerund,
    participle,
    past_tense,
    third_person,
)
from engrams.write.rules.sentencesegmenter import ClauseToken

_SELF = re.compile(
    r"\b(?:I'm|I am|I was|I've|I'd|I'll|we're|we are|we were|we've|we'd|we'll|myself|ourselves|mine|ours|my|our|me|us|I|we)\b",
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
_DANGLING = re.compile(r"\b(?:in|on|at|since|by|of)\s+(?=(?:in|on|at|for|with|to|by|from)\b)", re.IGNORECASE)
_AGREE = {"is": "are", "was": "were", "has": "have"}
_FULL = {"'em": "them", "'cause": "because", "gonna": "going to", "wanna": "want to", "gotta": "have to"}
_COLLOQUIAL = re.compile(r"(?<!\w)(?:'em|'cause|gonna|wanna|gotta)(?!\w)", re.IGNORECASE)


def to_third_person(text: str, start: int, end: int, found: Sequence[TimeSpan], name: str = "") -> str:
    """Rewrite ``text[start:end]`` in the third person, times spelled out.
    ``name``: of the speaker, where the sentence is about somebody else; empty: the sentence is about the speaker (they)."""
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


def render_value(words: Sequence[ClauseToken], text: str, found: Sequence[TimeSpan], name: str) -> str:
    """Render the object's words without the times among them."""
    if not words:
        return ""
    start, end = words[0].start, words[-1].end
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
        pieces[-1].lower() in PREPOSITIONS or pieces[-1].lower() in DETERMINERS or pieces[-1].lower() in ("and", "to", ",")
    ):
        pieces.pop()
    while len(pieces) > 1 and pieces[0].lower() in ("a", "an", "the", "to", "some"):
        pieces.pop(0)
    return " ".join(pieces).strip(" ,")


def render_verb(clause: EnglishClause) -> str:
    """Render the verb group for he or she: ``does not eat``."""
    word, surface = clause.verb, clause.surface.lower()
    often = next((f"{adverb} " for adverb in clause.adverbs if adverb in FREQUENCY and adverb != "never"), "")
    never = "never" in clause.adverbs
    no_longer = "no longer" in clause.adverbs or ("anymore" in (token.lower for token in clause.rest) and clause.negated)
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


def _render_past_verb(clause: EnglishClause, surface: str, often: str, no: str, negated: bool) -> str:
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
    return (noun.endswith("s") and not noun.endswith(("ss", "us", "is")) and clause.owner[-1].text.islower()) or noun in _MANY


def _agree_in_number(group: str, clause: EnglishClause) -> str:
    """Turn ``is``, ``was`` and ``has`` into the plural where needed."""
    head, _, rest = group.partition(" ")
    return " ".join(part for part in (_AGREE.get(head, head), rest) if part) if _is_plural(clause) else group


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


def _replace_pronoun(word: str, name: str) -> str:
    lower = word.lower()
    if not name:
        return _THEY[lower]
    if lower in ("my", "our", "mine", "ours"):
        return f"{name}'s"
    if lower in ("me", "us", "i", "we", "myself", "ourselves"):
        return name
    head, _, tail = lower.replace("'", " '").partition(" ")
    verbs = {"'m": "is", "am": "is", "was": "was", "'ve": "has", "'d": "would", "'ll": "will", "'re": "is", "are": "is", "were": "was"}
    return f"{name} {verbs.get(tail, tail)}" if head in ("i", "we") else word


_POINTS = r"(?:it|this|that|these|those|them|one|so|something|the following|following)"
_DANGLING_END = re.compile(
    rf"^(?:of \w+ing |(?:to )?(?:(?!out|\w+ing\b)\w+ )?)(?:up |out |on |about |with |to |for )?{_POINTS}$"
    r"|\bto make (?:it|this|that) (?:happen|work)$"
    r"|^(?:the )?(?:following|above|below)\b|\b(?:looks?|look) (?:something )?(?:like (?:this|that))?$|\bsomething like this$",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\b(?:an?|the|my|our|their|his|her|its) (?:on|in|at|of|to|for|by|with|is|are|and|or|but)\b"
    r"|\b(?:on|in|at|to|for|by|with) of\b|\bused to(?: when\b|$)|\b(?:is|are|was|were) as \w+$"
    r"|\bwhat(?:'s| is) going$"
    r"|\b(?:using|like|than|with|via|by|through|from|into|onto|called|named|because|and|or|but|the|an?|of|for|to|is|are)$",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[-=]+>|<[-=/a-z]|&\w+;?$|&(?:gt|lt|amp|quot|nbsp)\b|[{}|\\]|^\W*$", re.IGNORECASE)
_NUMBERS = {word: number for number, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine"), 2)}
_LISTED = re.compile(rf"\b({'|'.join(_NUMBERS)}|[2-9]) [a-z]+(?: [a-z]+)?,\s*((?:[A-Z][\w'-]+(?:,? and |, |$))+)$")
_ELSEWHERE = re.compile(
    r"\beach other\b|\btheir shared\b|\b(?:on|with|for) one\b(?! (?:another|of)\b)|\bsimilar \w+$"
    r"|\bthe whole (?:collection|lot|series|set|thing)$|\ba (?:digital|hard|paper|physical|signed) copy$|\bfingers\b"
    r"|\bthose (?!in\b|of\b|that\b|who\b|with\b)|\bthat other\b|\banother one\b|\bthis (?:place|spot)\b|\bhow to \w+ it$|\?"
    r"|\b(?:hit|reached) \d[\d.,]*%(?! of\b)|\bas (?!possible|usual|well)\w+$"
    r"|\b(?:about|into|of|for|with|on) (?:it|that|this)$|\b(?:do|does|did|doing) (?:this|that|it|so)$"
    r"|\b(?:over|under|within|beyond|like) (?:this|that|these|those)\b(?= near\b|(?: \w+)?$)"
    r"|^\S+ (?:goes|went) (?:(?:once|twice|a few times|\w+ times) (?:an?|every|per)\b|every )",
    re.IGNORECASE,
)
_TOGETHER = re.compile(r"(?<![-\w])together(?= (?:at|for|in|last|on|this)\b|$)", re.IGNORECASE)
_COMPANY = re.compile(
    r"\b(?:with|and|band|couple|family|folks|friends|group|kids|parents|team)\b|\b(?:br(?:ing|ought)|c[ao]me|g[eo]t|piec\w+|pull\w*|put)\b",
    re.IGNORECASE,
)
_BACKWARD = re.compile(
    r"\b(?:(?<!for )it(?!'s| (?:is|takes?|was|will|would)\b)|her(?= (?:in|on|to|at|\w+ing)\b|$)|here|him|them"
    r"|there(?! for\b| (?:is|are|was|were)\b))\b",
    re.IGNORECASE,
)
_ANTECEDENT = re.compile(
    r"\b(?:an?|and|children|her|his|its|my|our|people|some|the|their|this|three|two)\b|\b[a-z]{3,}[^\Ws]s\b| [A-Z]|[\"\d]"
)
_NAMED = re.compile(r"(?:^| )[A-Z]|\band\b")
_WISHES = re.compile(
    r"^(?:always |never )?"
    r"(?:keep (?:up|going|it up|on|shining|smiling|pushing|being|rocking|doing|believing|chasing)|have (?:a|fun)|take care"
    r"|stay (?:safe|strong|positive|true|well)"
    r"|be (?:yourself|safe|happy|kind|proud)|give up|stop (?:dreaming|believing|smiling|being)|say never"
    r"|remember (?:to be|that you)|lose (?:hope|faith|sight))\b",
    re.IGNORECASE,
)
_TALKED = frozenset(("whenned", "is_whenned"))


def is_sound(candidate: CandidateStatement) -> bool:
    """Check that a statement stands by itself: right or absent."""
    text, value = candidate.text.strip(), candidate.object.strip()
    if _MARKUP.search(text) or (value and _MARKUP.search(value)):
        return False
    if candidate.kind in (Kind.RULE, Kind.NEGATIVE) and candidate.subject == "assistant":
        return not _WISHES.match(text)
    if candidate.kind not in (Kind.FACT, Kind.PREFERENCE):
        return True
    if candidate.predicate in _TALKED or _CUT.search(text) or (text.count("'") == 1 and text.endswith("'")):
        return False
    if candidate.evidence and _points_elsewhere(text, candidate.evidence[0].quote):
        return False
    return not (_DANGLING_END.search(value) or _DANGLING_END.search(text) or _is_cut_list(text))


def _points_elsewhere(text: str, quote: str) -> bool:
    """True where a word means something that the sentence lacks."""
    first = quote.partition(" ")[0].lower()
    if first.endswith("ing") and f" is {first} " in text:
        return True  # "Writing and hanging with friends!" has no subject
    if _ELSEWHERE.search(text) or (_TOGETHER.search(text) and not _COMPANY.search(text)):
        return True
    said = {one.lower() for one in _BACKWARD.findall(quote)}  # "them" may stand for the speaker's "me"
    found = next((one for one in _BACKWARD.finditer(text) if one[0].lower() in said), None)
    if found is None:
        return False
    before = text[: found.start()].removeprefix("The ").split(" ", 2)[-1]  # behind the subject and its verb
    return not (_ANTECEDENT if found[0].lower() in ("it", "them") else _NAMED).search(before)


def _is_cut_list(text: str) -> bool:
    """True for "three kids, Emma": fewer names than announced."""
    found = _LISTED.search(text)
    if found is None:
        return False
    names = [name for name in re.split(r",? and |, ", found[2]) if name]
    return len(names) < (_NUMBERS.get(found[1]) or int(found[1]))
