"""People and pets that a clause names, in six languages: "our kids are Emil (9) and Nora (6)".

Enter at ``list_people``. Each of them is a statement of the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from engrams.extract.rules.word_classes import CLASSES
from engrams.frozen_data import dataclass
from engrams.text.vocabulary import read_classes, word_set

RELATIVES = {
    word: relative
    for relative, words in read_classes(__file__, "relatives").items()
    for word in words
}
"""English of each word for a relative, a friend or a pet."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_AGE = r"(?:\s?[(（,]\s?\d{1,2}\s?(?:years? old|jahre(?: alt)?|años|ans|岁|歲|歳|ヶ月|months?)?\s?[)）]?)?"
_NAME = r"(?-i:[A-ZÀ-ÖØ-Þ])[^\W\d_]+(?:[-'’][^\W\d_]+)?"
_NO_NAME = r"(?:(?:I|We|My|Our|Ich|Wir|Mein\w*|Mi|Je|Mon|Ma|The|A|An)\b)"
_JOINT = r"(?:\s?,?\s(?:and|und|y|e|et|&)\s|\s?,\s)"
_OWNER = (
    r"\b(?:my|our|i(?:'ve| have)(?: got)?|we(?:'ve| have)(?: got)?|mein\w*|unser\w*|ich habe|wir haben|mis?|nuestr\w+|tengo"
    r"|tenemos|mon|ma|mes|notre|nos|j['’]ai|nous avons)\b"
)
_LINK = (
    r"(?:\s?[,:]\s|\s(?:(?:are|is|called|named|names are|'s names are|heißen|heißt|sind|son|es|se llaman?|s['’]appellent"
    r"|s['’]appelle|sont|est)\s)*(?:called\s|named\s)?)"
)
_COPULAS = word_set("are is son es sont est")
_NO_LINKS = word_set("sind ist 是 は")
"""Words after these are a name only beside an age: German nouns are capitalised, 是 and は tell jobs."""
_LISTING = word_set("： : ，")
_TRAITS = CLASSES["nation"] | CLASSES["faith"]
_CJK_OWNER = r"(?<=我)|(?<=我的)|(?<=我们的)|(?<=家的)|(?<=[个個只條条匹位名])|(?<=うちの)|(?<=私の)|(?<=僕の)|(?<=[、，。,：])|^"
"""Characters before a word that make it another relative in Chinese and Japanese: 舅妈 is no 妈."""
_MOST = 8
"""People of one clause."""


@dataclass(frozen=True, slots=True)
class NamedPerson:
    """Somebody whom a clause names."""

    relation: str
    """In English: daughter, dog."""
    name: str
    age: str = ""
    """Digits; empty: not told."""


def list_people(quote: str) -> list[NamedPerson]:
    """List the relatives, friends and pets that a clause of any of six languages names."""
    is_unspaced = _UNSPACED.search(quote) is not None
    people: list[NamedPerson] = []
    for match in _compile_lists(is_unspaced).finditer(quote):
        relation = RELATIVES[match["relation"].lower()]
        named = list(_split_names(match["names"], relation, is_unspaced))
        if _are_names(named, match["link"]):
            people += named
    return people[:_MOST]


def _are_names(people: Sequence[NamedPerson], link: str) -> bool:
    """True if the words are names: "are Emil (9) and Nora", not "are Catholic"."""
    if any(person.age for person in people):
        return True
    if link.strip() in _LISTING:
        return len(people) > 1
    if link.strip().lower() in _NO_LINKS:
        return False
    if not link.strip() and len(people) == 1:
        return False  # "I told my sister Paris is nice"
    words = link.lower().split()
    is_copula = not _COPULAS.isdisjoint(words) and words[-1] not in ("called", "named")
    has_trait = any(person.name.lower() in _TRAITS for person in people)
    return not (is_copula and (len(people) == 1 or has_trait))


def _split_names(names: str, relation: str, is_unspaced: bool) -> Iterator[NamedPerson]:
    pattern = r"[^、,，和与跟と・（）()\d岁歳歲\s]+" if is_unspaced else _NAME
    found = list(re.finditer(pattern, names))
    for person, following in zip(found, [*found[1:], None], strict=True):
        between = names[person.end() : following.start() if following else len(names)]
        age = re.search(r"\d{1,2}", between)
        yield NamedPerson(relation, person[0], age[0] if age else "")


@cache
def _compile_lists(is_unspaced: bool) -> re.Pattern[str]:
    words = [word for word in RELATIVES if bool(_UNSPACED.search(word)) == is_unspaced]
    relation = rf"(?P<relation>{'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})"
    if is_unspaced:
        name = r"(?:[\u30a1-\u30faー]{2,10}|[\u4e00-\u9fff]{1,4}?)(?:[（(]\d{1,2}[岁歲歳]?[)）])?"
        joint = "(?:、|和|与|跟|と|・)"
        end = r"(?=です|でした|だ|$|[。，,！!])"
        return re.compile(
            rf"(?<![舅姑姨伯婶叔岳干继后表堂外伯])(?:{_CJK_OWNER}){relation}(?:们|たち)?(?P<link>分别叫|名叫|叫|是|の名前は|は|が\w{{1,4}}います[：:、]|[：:，])"
            rf"(?P<names>{name}(?:{joint}{name}){{0,6}}){end}"
        )
    name = rf"(?!{_NO_NAME}){_NAME}{_AGE}"
    return re.compile(
        rf"{_OWNER}(?:\s(?-i:[^\W\d_A-ZÀ-ÖØ-Þ])+|\s\d){{0,3}}?\s{relation}\b(?P<link>{_LINK})"
        rf"(?P<names>{name}(?:{_JOINT}{name}){{0,6}})(?=[.!,;)]|\s(?-i:[^\W\d_A-ZÀ-ÖØ-Þ])|$)",
        re.IGNORECASE,
    )
