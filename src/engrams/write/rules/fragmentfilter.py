"""Test of extracted facts: cut, dangling or markup ones are dropped."""

from __future__ import annotations

import re

from engrams.types import Kind
from engrams.write.candidatestatement import CandidateStatement

_POINTS = r"(?:it|this|that|these|those|them|one|so|something|the following|following)"
_DANGLING = re.compile(
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
    return not (_DANGLING.search(value) or _DANGLING.search(text) or _is_cut_list(text))


def _is_cut_list(text: str) -> bool:
    """True for "three kids, Emma": fewer names than announced."""
    found = _LISTED.search(text)
    if found is None:
        return False
    names = [name for name in re.split(r",? and |, ", found[2]) if name]
    return len(names) < (_NUMBERS.get(found[1]) or int(found[1]))
