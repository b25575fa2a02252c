"""Other people, as somebody tells of them: "my brother", "Ana's", "mein Chef", "我妈".

Enter at ``PEOPLE``, ``leaves_out_other_person`` and ``tells_of_companions_own``.
"""

from __future__ import annotations

import re

from engrams.text.normalize import fold
from engrams.text.terms import terms

PEOPLE = re.compile(
    r"\b(?:my|our|his|her|mein\w{0,2}|unser\w{0,2}|mis?|mon|ma|mes|nuestr[oa]s?|notre|nos|mi[oae]i?|nostr[oaie])"
    r" (?:\w{3,8} )?"
    r"(?P<who>brother|sister|mother|mum|mom|father|dad"
    r"|parents|son|daughter|kids?|children|little"
    r" one|wife|husband|girlfriend|boyfriend|partner|friend|neighbou?r|colleague|coworker"
    r"|flatmate|roommate|cousin|aunt|uncle|grand\w+|niece|nephew|boss|mates?\b|bruder|schwester|mutter|vater|eltern|sohn|tochter|kinder|frau|mann|freund|nachbar"
    r"|kolleg|mitbewohner|oma|opa|onkel|tante|cousine|chef|schwager|schwagerin|schwieger\w+|nichte|neffe|herman|madre|padre|padres|hij|mujer|marido|novi|amig|vecin|prim|jef|abuel"
    r"|suegr|cunad|sobrin|companer|ti[oa]\b|freres?"
    r"|soeurs?|mere|pere|parents|fils|fille|enfants|femme|mari|copine?|ami|voisin|collegue|oncle|patron|pote|beaux?|belle|neveu"
    r"|fratell|sorell|marito|moglie|figli|zi[oa]\b|cugin|suocer|collegh|nonn|capo\b)\w{0,3}\b"
    r"|(?<!\w)(?!it's|that|there|here|what|who|how|where|he's|she's|let's)(?P<whose>[^\W\d]{3,14})'s"
    # "The demo's off" and "lunch's been moved" are no things of a demo's.
    r" (?=[a-z])(?!(?:off|on|at|in|from|to|with|for|of|over|out|up|down|back|going|gone|been|being|got|now|not|no|just|only|still"
    r"|already|also|the|an?|our|my|so|very|too|done|finished|here|there|\w+ed)\b)"
    r"|(?:我|我的|我们)(?P<han>哥|姐|弟|妹|妈|爸|朋友|同事|老公|老婆|儿子|女儿|邻居|叔|舅|姑|姨|室友|同学|老板|爷|奶)"
    r"|(?P<kana>妹|姉|兄|弟|母|父|夫|妻|友達|友人|同僚|息子|娘|上司|叔父|叔母|祖父|祖母)[はがのも]"
)
"""Mentions of other people, matched in folded text."""
_PARTNER_WORDS = """
    husband wife girlfriend boyfriend partner frau mann freund mujer marido novi femme mari copin copine marito moglie 老公 老婆 夫 妻
"""
PARTNERS = frozenset(_PARTNER_WORDS.split())
"""Of these something may change whenever something of the speaker does: "I'm single now"."""
_POSSESSED = re.compile(
    r"\W*(?:(?i:and|but|oh|so|also) )*(?P<name>[A-ZÄÖÜÉ][a-zäöüéèáíóúñ]+)['’]s "
    # "Choir's been moved" is no choir's own, but a choir that has been.
    r"(?!(?:been|being|got|gone|going|now|not|no|just|only|still|already|also|back|off|over|\w+ed)\b)"
    # Somebody's last day tells that they leave what they did.
    r"(?P<thing>(?!last (?:day|week|shift)\b)[a-z]+(?: [a-z]+)?) "
    r"(?:[a-z]+ed|got|was|is now|has|quit|does|left|lives|works|is)\b"
)
_NO_OWNERS = frozenset("it that there here what who she he let today".split())
_PARENT = re.compile(
    r"\b(?:mum|mom|mam|dad|mother|father|grandma|grandpa|granny|gran|nan|oma|opa|mama|papa|maman|mamie|papi|abuela|abuelo|nonna|nonno)\b"
)
"""Relatives as they are called, without "my"."""
_CAPITALISED = re.compile(r"[A-ZÄÖÜÉÁÍÓÚÑÇ][a-zäöüéèßáíóúñç]+")
_FIRST_PERSON = frozenset(
    "My Our Mein Meine Unser Unsere Mi Mis Nuestro Nuestra Mon Ma Mes Notre We Ich Wir Yo Je On".split()
)
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
    if _PARENT.search(folded) or _begins_with_name(later, earlier):
        return False
    return not (PEOPLE.search(folded) or _THIRD_PERSON.search(folded))


def _begins_with_name(later: str, earlier: str) -> bool:
    """Test if a text begins with a name of another: "Harriet moved", "my boss is Harriet"."""
    name = _CAPITALISED.match(later)
    if name is None or name[0] in _FIRST_PERSON:
        return False
    return re.search(rf"\b{re.escape(name[0])}\b", earlier) is not None


def tells_of_companions_own(old: str, new: str) -> bool:
    """Test if a sentence is about somebody or something of a person, of whom the older says nothing of it.

    "Ottilie's best friend dropped chemistry", "Teo's swimming lesson got moved".
    """
    match = _POSSESSED.match(new)
    if match is None or match["name"].lower() in _NO_OWNERS:
        return False
    words = set(terms(match["thing"]))
    return bool(words) and words.isdisjoint(terms(old))
