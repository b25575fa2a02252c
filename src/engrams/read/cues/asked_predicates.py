"""Predicates of facts that the words of a question ask for: "Where does she live?", lives_in."""

from __future__ import annotations

import re

from engrams.text.normalize import fold

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
            r"\b(?:allerg\w+|intoleran\w+|ill|sick|avoid|diet|vegan\w*|vegetarian\w*)\b|过敏|アレルギー",
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


def asked_predicates(query: str) -> tuple[str, ...]:
    """Find the predicates that the words of a question ask for."""
    folded = fold(query)
    predicates = [
        predicate for pattern, names in _PREDICATES if pattern.search(folded) for predicate in names
    ]
    predicates += [f"favorite_{noun}" for noun in _FAVOURITE.findall(folded)]
    return tuple(dict.fromkeys(predicates))
