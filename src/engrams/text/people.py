"""Other people, as somebody tells of them: "my brother", "Ana's", "mein Chef", "我妈".

Enter at ``PEOPLE``, ``leaves_out_other_person`` and ``tells_of_companions_own``.
"""

from __future__ import annotations

import re

from engrams.text.normalize import fold
from engrams.text.terms import terms

PEOPLE = re.compile(
    r"\b(?:my|our|his|her|mein\w{0,2}|unser\w{0,2}|mis?|mon|ma|mes|nuestr[oa]s?|notre)"
    r" (?:\w{3,8} )?"
    r"(?P<who>brother|sister|mother|mum|mom|father|dad"
    r"|parents|son|daughter|kids?|children|little"
    r" one|wife|husband|girlfriend|boyfriend|partner|friend|neighbou?r|colleague|coworker"
    r"|flatmate|roommate|cousin|aunt|uncle|grand\w+|niece|nephew|boss|bruder|schwester|mutter|vater|eltern|sohn|tochter|kinder|frau|mann|freund|nachbar"
    r"|kolleg|mitbewohner|oma|opa|onkel|tante|cousine|chef|herman|madre|padre|padres|hij|mujer|marido|novi|amig|vecin|prim|jef|abuel|freres?"
    r"|soeurs?|mere|pere|parents|fils|fille|enfants|femme|mari|copine?|ami|voisin|collegue)\w{0,3}\b"
    r"|(?<!\w)(?!it's|that|there|here|what|who|how|where|he's|she's|let's)(?P<whose>[^\W\d]{3,14})'s"
    r" (?=[a-z])"
    r"|(?:我|我的|我们)(?P<han>哥|姐|弟|妹|妈|爸|朋友|同事|老公|老婆|儿子|女儿|邻居)|(?P<kana>妹|姉|兄|弟|母|父|夫|妻|友達|同僚|息子|娘)[はがのも]"
)
"""Mentions of other people, matched in folded text."""
_PARTNER_WORDS = """
    husband wife girlfriend boyfriend partner frau mann freund mujer marido novi femme mari copin copine 老公 老婆 夫 妻
"""
PARTNERS = frozenset(_PARTNER_WORDS.split())
"""Of these something may change whenever something of the speaker does: "I'm single now"."""
_POSSESSED = re.compile(
    r"\W*(?:(?i:and|but|oh|so|also) )*(?P<name>[A-ZÄÖÜÉ][a-zäöüéèáíóúñ]+)['’]s "
    # "Choir's been moved" is no choir's own, but a choir that has been.
    r"(?!(?:been|being|got|gone|going|now|not|no|just|only|still|already|also|back|off|over|\w+ed)\b)"
    r"(?P<thing>[a-z]+(?: [a-z]+)?) "
    r"(?:[a-z]+ed|got|was|is now|has|quit|does|left|lives|works|is)\b"
)
_NO_OWNERS = frozenset("it that there here what who she he let today".split())
_THIRD_PERSON = re.compile(
    r"\b(?:he|she|they|him|her|them|er|sie|ihn|ihm|il|elle|ils|elles|lui|el|ella|ellos|ellas|ele|ela|lei|loro)\b"
    "|他|她|彼"
)


def leaves_out_other_person(earlier: str, later: str) -> bool:
    """Test if an earlier text opens with another person, whom a later one does not mention.

    "My brother lives in Porto", then "I moved from Porto to Ghent": True. A partner does not count:
    what changes for one of them may change for both.
    """
    opening = PEOPLE.match(fold(earlier))
    if opening is None or opening[opening.lastgroup or 0] in PARTNERS:
        return False
    folded = fold(later)
    return not (PEOPLE.search(folded) or _THIRD_PERSON.search(folded))


def tells_of_companions_own(old: str, new: str) -> bool:
    """Test if a sentence is about somebody or something of a person, of whom the older says nothing of it.

    "Ottilie's best friend dropped chemistry", "Teo's swimming lesson got moved".
    """
    match = _POSSESSED.match(new)
    if match is None or match["name"].lower() in _NO_OWNERS:
        return False
    words = set(terms(match["thing"]))
    return bool(words) and words.isdisjoint(terms(old))
