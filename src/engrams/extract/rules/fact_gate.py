"""Gate of derived statements: no markup, no halves, no exhortations."""

from __future__ import annotations

import re

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.conventions import is_technical
from engrams.text.late_patterns import late_pattern

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
    r"(?:i|we|he|she|they) (?:go(?:es)?|meets?|comes?|met|came|joined|planned|started|finished|attended|signed up)(?: |$)",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"(?:(?:on|in|at|for|by|every|each|most|some|other|second|the|days?|weeks?|weekends?|months?|years?|nights?|mornings?|evenings?"
    r"|afternoons?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|jan\w*|feb\w*|march|april|may|june|july|aug\w*|sep\w*|oct\w*"
    r"|nov\w*|dec\w*|\d+|and|,)(?:\s|$))+",
    re.IGNORECASE,
)


_MOOD = late_pattern(
    r"(?:i(?:'m| am| was|'ve been| have been| feel| felt) )(?:feeling |getting |still |just |also |now |really |so |very |pretty |kinda "
    r"|kind of |sort of |a bit |a little |quite |super |too |somewhat |definitely )*"
    r"(?:worried|worrying|anxious|nervous|excited|stressed|frustrated|overwhelmed|struggling|stuck|hoping|confident|motivated"
    r"|curious|unsure|confused|concerned|hesitant|torn|thrilled|relieved|proud|glad|disappointed|tempted|intrigued|inspired"
    r"|grateful|eager"
    r"|having (?:some |a few |a bit of )?(?:trouble|difficulties|difficulty|issues|problems|a hard time)"
    r"|trying to (?:understand|figure out|wrap my head))\b",
    re.IGNORECASE,
)
_HAPPENED = late_pattern(
    r"\b[Ii](?:'ve|'d| have| had)? (?:\w+ed|met|got|sent|took|made|had|chose|gave|won|lost|sold|bought|went|began|quit|left|found)\b"
    r"|\b(?:being|been|was|were|got) \w+(?:ed|en)\b|\bafter \w+ing\b|\bat (?:the )?[A-Z]\w+"
)
"""Something that happened or a place, beside which a mood is more than that."""
_THOUGHT = late_pattern(
    r"(?:i|we) (?:think|guess|suppose|feel like|believe) .*\b(?:would|will|could|should|sounds?|might|perfect)\b"
    r"|(?:i|we)(?:'ve| have)? (?:just )?(?:dropped|picked|collected|fetched) (?:my )?\w+ (?:up |off )?(?:at|from|by)\b"
    r"|i(?:'m| am) wondering\b|i wonder\b|(?:i|we) (?:can|could) (?:start|begin|try)\b"
    r"|(?:i|we)(?:'ve| have)? (?:also )?(?:need to|got to|have to|should) (?:consider|think about|figure out|keep in mind)\b"
    r"|i(?:'m| am) looking for (?:[\w-]+ ){0,4}(?:recommendations?|suggestions?|ideas|tips|advice|help|ways|tricks)\b",
    re.IGNORECASE,
)
_EXERCISE = late_pattern(
    r"\d\s?[+*×÷]\s?\d|\b(?:triangles?|hypotenuse|congruen\w+|equations?|theorem|polynomial\w*|derivative|integral)\b.*\d"
    r"|^(?:the|a) (?:height|base|area|side|sum|difference|angle|radius|width|length|perimeter|slope) (?:is|=) [\d.]+$",
    re.IGNORECASE,
)
_DONE = late_pattern(
    r"(?:[a-z]+ed|including|made|held|built|written|taken) (?:by|via|with|using|in|on|at|from)\b"
)
"""A piece without whoever did it."""
_HANGING = late_pattern(
    r".*(?<!back )(?<!since )(?<!by )(?<!until )(?<!and )\bthen$"
    r"|(?:my|our|his|her|their) [\w ]{1,30}['’]s (?:is|are|was|were)\b|(?:mine|hers|theirs|ours) (?:is|are|was|were)\b"
    r"|"
    r"[Ii](?:'ve| have|'m| am)? (?:just |already |also |\w+ing )?(?:\w+ ){1,2}?(?:them|those)\b(?! who)"
    r"|(?:starting|beginning|until|since|from) (?:\w+ ){0,2}\w+$"
    r"|[Ii](?:'ve| have)? (?:made up for|got over|dealt with|finished|scheduled|changed|fixed) (?:it|this|that)\b"
)
"""A piece about something that only the words before it name."""


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
    if candidate.kind not in (Kind.FACT, Kind.PREFERENCE):
        return True
    is_empty = _is_mood(candidate) or _is_passing_thought(text) or _is_exercise(text)
    return not (is_empty or _lacks_doer(candidate) or _is_cut(text))


def _lacks_doer(candidate: CandidateStatement) -> bool:
    """True for a piece of which nobody knows who did it.

    "Migrated from MySQL to Postgres" is understood: it has a predicate, whose subject wrote it.
    """
    return not candidate.predicate and _DONE.match(candidate.text) is not None


def _is_mood(candidate: CandidateStatement) -> bool:
    """True for how somebody feels about something, if it tells nothing that happened, and no illness."""
    if candidate.category == "health" or not _MOOD.match(candidate.text):
        return False
    return not _HAPPENED.search(candidate.text)


def _is_passing_thought(text: str) -> bool:
    """True for an errand, and for what somebody would like now or looks for help with."""
    return _THOUGHT.match(text) is not None and not any(map(str.isdigit, text))


def _is_exercise(text: str) -> bool:
    """True for a piece of a sum or a proof, which is no state of anybody: "the height is 6"."""
    return _EXERCISE.search(text) is not None


def _is_cut(text: str) -> bool:
    """True for a piece of a quotation, bracket or list."""
    if (
        text.count('"') % 2
        or text.count("“") != text.count("”")
        or text.count("(") != text.count(")")
    ):
        return True
    return (text.count("'") == 1 and text.endswith("'")) or (
        _HANGING.match(text) is not None
        or _is_cut_list(text)
        or _is_bare(text)
        or _SUBORDINATE.match(text) is not None
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
