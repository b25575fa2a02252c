"""Gate of derived statements: no markup, no halves, no exhortations."""

from __future__ import annotations

import re

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.conventions import is_technical

_MARKUP = re.compile(
    r"[-=]+>|<[-=/a-z]|&\w+;?$|&(?:gt|lt|amp|quot|nbsp)\b|[{}|\\]|^\W*$", re.IGNORECASE
)
_NUMBERS = {
    word: number
    for number, word in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight", "nine"), 2
    )
}
_LISTED = re.compile(
    rf"\b({'|'.join(_NUMBERS)}|[2-9]) [a-z]+(?: [a-z]+)?,\s*((?:[A-Z][\w'-]+(?:,? and |, |$))+)$"
)
_WISHES = re.compile(
    r"^(?:always |never |don't (?:you )?ever |do not ever )?"
    r"(?:keep (?:up|going|it"
    r" up|on|shining|smiling|pushing|being|rocking|doing|believing|chasing)|quit on|have"
    r" (?:a|fun)|take care"
    r"|stay (?:safe|strong|positive|true|well)"
    r"|be (?:yourself|safe|happy|kind|proud)|give up|stop (?:dreaming|believing|smiling|being)|say"
    r" never"
    r"|remember (?:to be|that you)|lose (?:hope|faith|sight))\b",
    re.IGNORECASE,
)


_SUBORDINATE = re.compile(
    r"(?:since|considering|especially|because|like|including|whereas|than) (?:I|we|he|she|they|my|our|the)\b(?!.{6,}\b(?:I|we)\b)",
    re.IGNORECASE,
)
"""Head of a clause that depends on another: "since I just met him at the fair"."""
_BARE = re.compile(
    r"(?:i|we|he|she|they) (?:go(?:es)?|meets?|comes?|met|came)(?: |$)", re.IGNORECASE
)
_TIMES = re.compile(
    r"(?:(?:on|in|at|every|each|most|some|other|second|the|days?|weeks?|weekends?|months?|years?|nights?|mornings?|evenings?|afternoons?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|and|,)(?:\s|$))+",
    re.IGNORECASE,
)


def is_sound(candidate: CandidateStatement) -> bool:
    """Check that a statement is a whole one, free of markup."""
    text = candidate.text.strip()
    value = candidate.object.strip()
    if _MARKUP.search(text) or (value and _MARKUP.search(value)):
        return False
    if candidate.kind in (Kind.RULE, Kind.NEGATIVE) and candidate.subject == "assistant":
        return not _WISHES.match(text)
    if candidate.predicate == "lives_in" and is_technical(value):
        # "We moved from pnpm to bun": a tool is no home.
        return False
    return candidate.kind not in (Kind.FACT, Kind.PREFERENCE) or not _is_cut(text)


def _is_cut(text: str) -> bool:
    """True for a piece of a quotation, bracket or list."""
    if (
        text.count('"') % 2
        or text.count("“") != text.count("”")
        or text.count("(") != text.count(")")
    ):
        return True
    return (text.count("'") == 1 and text.endswith("'")) or (
        _is_cut_list(text) or _is_bare(text) or _SUBORDINATE.match(text) is not None
    )


def _is_bare(text: str) -> bool:
    """True for "the user goes every weekend": not where, nor with whom."""
    found = _BARE.match(text)
    return found is not None and _TIMES.fullmatch(text, found.end()) is not None


def _is_cut_list(text: str) -> bool:
    """True for "three kids, Emma": fewer names than announced."""
    found = _LISTED.search(text)
    if found is None:
        return False
    names = [name for name in re.split(r",? and |, ", found[2]) if name]
    return len(names) < (_NUMBERS.get(found[1]) or int(found[1]))
