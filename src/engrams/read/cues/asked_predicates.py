"""Predicates of facts that the words of a question ask for: "Where does she live?", lives_in."""

from __future__ import annotations

import re

from engrams.text.normalize import fold
from engrams.text.stopwords import are_function_words
from engrams.text.terms import tokens
from engrams.text.vocabulary import word_set

_PREDICATES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern), tuple(predicates.split()))
    for pattern, predicates in (
        (
            r"\b(?:lives?|living|home|resides?|address|adress\w*|direccion|endereco|indirizz\w*|wohn\w*|viv\w+|habit\w+)\b|住|暮ら",
            "lives_in address home_town grew_up_in from",
        ),
        (
            r"\b(?:works?|working|jobs?|employ\w+|company|profession|occupation|career|arbeit\w*|trabaj\w+|travaill\w*)\b|工作|仕事",
            "works_at job",
        ),
        (
            r"\b(?:phone|telephone|mobile|number|call|reach|telefon\w*|handy|telefono|movil|portable)\b|电话|手机|電話",
            "phone phone_number",
        ),
        (r"\be-?mail\b|邮箱|メール", "email"),
        (
            r"\b(?:names?|named|called|spell(?:ed|t)?|heiss\w*|llam\w+|appel\w+)\b|叫什么|名前",
            "is_named nickname",
        ),
        (
            (
                r"\b(?:how"
                r" old|age|birthday|born|geburtstag|alt|cumpleanos|edad|anniversaire|age)\b|生日|几岁|誕生日"
            ),
            "age birthday born_in",
        ),
        (
            r"\b(?:all?erg\w+|intoleran\w+|ill|sick|avoid|diet|vegan\w*|vegetarian\w*)\b|过敏|アレルギー",
            "allergic_to diet avoids eats",
        ),
        (
            r"\b(?:married|husband|wife|spouse|partner|dating|engaged|girlfriend|boyfriend|verheiratet|casad\w+|marie\w*)\b|结婚|結婚",
            "married_to engaged_to dating marital_status",
        ),
        (
            r"\b(?:speaks?|languages?|sprach\w*|sprich\w*|idiomas?|habla\w*|langues?|parle\w*)\b|语言|話せ",
            "speaks native_language learning learns",
        ),
        (
            r"\b(?:stud(?:y|ies|ied|ying)|university|college|degree|major|school|studier\w*|estudi\w+|etudi\w+)\b|大学|学校",
            "studies studies_at graduated_from attends major",
        ),
        (
            r"\b(?:hobb\w+|likes?|enjoys?|loves?|hates?|dislikes?|prefers?|favou?rites?|gefallt|gusta\w*|aime\w*)\b|喜欢|好き",
            "likes prefers enjoys",
        ),
        (r"\b(?:pets?|haustier\w*|mascotas?)\b|宠物|ペット", "has adopted has_pet is_named"),
        (
            r"\b(?:never|rules?|always|must not|forbidden|not allowed|avoid)\b",
            "never always avoids",
        ),
    )
)
_FAVOURITE = re.compile(r"\bfavou?rite (\w+)")
_BESIDE = word_set("""
    bin now currently today city town country street exactly again really moment present current still
    jetzt gerade momentan aktuell stadt eigentlich ahora actualmente ciudad maintenant actuellement ville
""")
"""Words that name nothing beside what is asked for."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_ASKING_CHARACTERS = frozenset(
    "我的在哪里儿什么是叫多大了几岁谁现吗呢私僕俺のはがどこでにんいますかるて何を今"
)
"""Characters of a question about oneself in Chinese or Japanese."""


def asked_predicates(query: str) -> tuple[str, ...]:
    """Find the predicates that the words of a question ask for."""
    folded = fold(query)
    predicates = [
        predicate for pattern, names in _PREDICATES if pattern.search(folded) for predicate in names
    ]
    predicates += [f"favorite_{noun}" for noun in _FAVOURITE.findall(folded)]
    return tuple(dict.fromkeys(predicates))


def asks_of_oneself(query: str) -> bool:
    """True for a first-person question about nothing but a kind of fact: "Where do I live now?".

    "When is my mother's birthday?" names somebody else. The caller tells that it is in the first
    person.
    """
    remainder = fold(query)
    for pattern, _ in _PREDICATES:
        remainder = pattern.sub(" ", remainder)
    if any(letter not in _ASKING_CHARACTERS for letter in _UNSPACED.findall(remainder)):
        return False
    words = [
        word
        for word in tokens(_UNSPACED.sub(" ", remainder))
        if word not in _BESIDE and len(word) > 1
    ]
    return not words or are_function_words(words)
