"""The words of a clause, as they stood in its message: where a quotation begins and ends.

Enter at ``quote_clause``. Nothing is rewritten: the quotation is a part of the message, with code,
links and quotations to the letter, and ``collapse_space`` makes one line of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from engrams.extract.rules.clause_end import find_clause_end
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.clause_subject import PRONOUN
from engrams.extract.rules.english_lexicon import DETERMINERS, PREPOSITIONS
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.extract.rules.word_classes import RELATIONS
from engrams.text.times import TimeSpan
from engrams.text.vocabulary import word_set

_SUBORDINATE = word_set(
    "where which who whose that when whenever while until till unless except if after before once"
    " since as than"
)
_JOINTS = frozenset((",", "and", "or", "but", "so", ";", ":", "(", ")", "...", "because"))
_LONGEST_PARENTHESIS = 9
"""Tokens of the longest bracket that belongs to a clause: "Emil (9)"."""
_DATED = word_set("on in at since until by during around after before from for")
_BEFORE_SUBJECT = word_set(", ; : . and but so because since when while that if yeah right")
_OWNERS = word_set("my our best close old romantic dear good former")
_NO_COMPANIONS = word_set("and but so then well yes yeah no ok okay also plus the this that now")
_OPENING_MARKS = " \t\r\n,;:-–—.!…"
_CLOSING_MARKS = " \t\r\n,，;:-–—(.!?。！？、"
_DANGLING = re.compile(
    r"\b(?:in|on|at|since|by|of|for|from|until|till|before|after|around|starting)\s+(?:the\s+)?(?=(?:in|on|at|for|with|to|by|from)\b)"
    r"|\s(?:in|on|at|since|by|of|for|from|until|till|before|after|around|starting)(?:\s+the)?\s*(?=,)|\s+(?=,)",
    re.IGNORECASE,
)
"""Prepositions whose time was taken out: "a party on , forty guests"."""
_PART_OF = re.compile(
    r"\b(?:days?|weeks?|months?|half|part|end|start|beginning|middle|rest)\s+of\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
"""Words before a time that is no time of the clause: "the first ten days of July"."""
_LOOSE_ENDS = PREPOSITIONS | DETERMINERS | {"and", "to", ",", "coming"}
_CLOSING_QUOTE = re.compile(r'[.,!?]*"')
_LAUGHTER = re.compile(r"[\s,]+(?:lol|haha+|hehe|btw|xd|:\)|tho)$", re.IGNORECASE)


def collapse_space(text: str) -> str:
    """Make one line of a text, with single spaces and without HTML entities."""
    return " ".join((unescape(text) if "&" in text else text).split())


def quote_clause(
    clause: EnglishClause, words: Sequence[ClauseToken], text: str, names: frozenset[str]
) -> str:
    """Return the words of a clause in ``text``, from its time or subject to its own end.

    ``words``: the tokens of its sentence.
    """
    index = next((i for i, word in enumerate(words) if word.start >= clause.end), len(words))
    index = _extend(words, index, names)
    if index < len(words):
        end = words[index].start
    else:
        end = find_sentence_end(text, max(clause.end, words[-1].end))
    quote = trim_quote(text[_find_start(clause, words) : end])
    close = _CLOSING_QUOTE.match(text, end)
    return quote + close[0] if close and quote.count('"') % 2 else quote


def trim_quote(text: str) -> str:
    """Cut marks and laughter from both ends of a quotation."""
    quote = text.lstrip(_OPENING_MARKS).rstrip(_CLOSING_MARKS)
    tag, bracket, following = quote.partition("]")
    if bracket and "[" not in tag:
        # The end of a mark before the clause, whose beginning was cut off: "[ops] we deploy".
        quote = following.lstrip(_OPENING_MARKS)
    return _LAUGHTER.sub("", quote).rstrip(_CLOSING_MARKS)


def find_sentence_end(text: str, begin: int) -> int:
    """Find the end of code, a link or a quotation that follows the last word of a sentence."""
    end = begin
    following = text[end:].lstrip(" ")
    if following[:1] in ("`", '"', "“", "„"):
        mark = {"“": "”", "„": "“"}.get(following[0], following[0])
        start = end + len(text[end:]) - len(following)
        close = text.find(mark, start + 1)
        line = text.find("\n", start)
        if close >= 0 and (line < 0 or close < line):
            end = close + 1
    while end < len(text) and text[end] in "\"'”’)%+#":
        end += 1
    return end


def _find_start(clause: EnglishClause, words: Sequence[ClauseToken]) -> int:
    start = min([clause.start, *(word.start for word in clause.lead if word.lower[0].isalnum())])
    before = [word for word in words if word.end <= start]
    if start < clause.start and before and before[-1].lower in _DATED:
        start = before[-1].start
    subject = next((word.lower for word in words if word.start >= start), "")
    return _find_companion(before, start) if subject in ("i", "we") else start


def _find_companion(before: Sequence[ClauseToken], start: int) -> int:
    """Find where the subject begins that is joined to "I": "my partner Stephen and I"."""
    if len(before) < 2 or before[-1].lower != "and":
        return start
    index = len(before) - 1
    if index == 1 and before[0].lower.isalpha() and before[0].lower not in _NO_COMPANIONS:
        return before[0].start
    while index and (before[index - 1].text[0].isupper() or before[index - 1].lower in RELATIONS):
        index -= 1
    has_name = index < len(before) - 1 and before[index].text not in (
        "I",
        "The",
        "And",
        "But",
        "So",
    )
    while index and has_name and before[index - 1].lower in _OWNERS:
        index -= 1
    opens = not index or before[index - 1].lower in _BEFORE_SUBJECT
    return before[index].start if has_name and opens else start


def _extend(words: Sequence[ClauseToken], index: int, names: frozenset[str]) -> int:
    """Extend a clause over brackets and clauses that depend on it."""
    while index < len(words):
        lower = words[index].lower
        following = words[index + 1].lower if index + 1 < len(words) else ""
        if lower == "(":
            close = next(
                (
                    i
                    for i in range(index, min(index + _LONGEST_PARENTHESIS, len(words)))
                    if words[i].lower == ")"
                ),
                None,
            )
            if close is None:
                return index
            index = find_clause_end(words, close + 1, names)
        elif lower in _SUBORDINATE and following:
            index = _find_dependent_end(words, index + 1)
        elif lower == "," and following in ("which", "who", "where", "whose"):
            index = _find_dependent_end(words, index + 2)
        else:
            return index
    return index


def _find_dependent_end(words: Sequence[ClauseToken], index: int) -> int:
    """Find the end of a dependent clause; its own subject stands at its head."""
    for place in range(index + 1, len(words)):
        lower = words[place].lower
        if lower in _JOINTS - {"and", "or"}:
            return place
        following = words[place + 1].lower if place + 1 < len(words) else ""
        if lower in ("and", "or") and (following in PRONOUN or following in ("my", "our", "the")):
            return place
    return len(words)


def quote_object(words: Sequence[ClauseToken], text: str, times: Sequence[TimeSpan]) -> str:
    """Return the words of an object without its article and without the times among them."""
    if not words:
        return ""
    position = words[0].start
    end = words[-1].end
    pieces: list[str] = []
    for span in times:
        if position <= span.at < end and not _PART_OF.search(text, position, span.at):
            pieces.append(text[position : span.at])
            position = min(end, span.at + len(span.text))
    pieces.append(text[position:end])
    joined = _DANGLING.sub("", " ".join(piece.strip() for piece in pieces if piece.strip()))
    object_words = unescape(joined).replace("’", "'").split()
    while len(object_words) > 1 and object_words[-1].lower() in _LOOSE_ENDS:
        object_words.pop()
    while len(object_words) > 1 and object_words[0].lower() in ("a", "an", "the", "to", "some"):
        object_words.pop(0)
    return " ".join(object_words).strip(" ,;:-")
