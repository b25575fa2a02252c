"""Statements that only a statement about the very same thing may end: health, diet, identity, rules.

Enter at ``may_end_guarded``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.vocabulary import word_pattern
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.features import read_clause

if TYPE_CHECKING:
    from engrams.write.change_detection.features import MessageClause

# Of each family, a later statement must name the family, or the thing that the earlier one names.
_ILLNESSES = tuple(
    late_pattern(family)
    for family in (
        r"allerg\w*|anaphyla\w*|epi-?pen|过敏|アレルギー",
        r"intoleran\w*|unvertrag\w*|coeliac|celiac|celiac[oa]|zoliakie|coeliaque|gluten\w*|lactose|laktose\w*|lactosa|乳糖|不耐",
        r"diabet\w*|insulin\w*|糖尿",
        r"asthma\w*|asma\b|inhaler|哮喘|喘息",
        r"epilep\w*|seizures?|pacemaker|blood thinner\w*",
        r"blood (?:type|group)|blutgruppe|donor card|\b(?:a|b|ab|o) (?:positive|negative)\b|血型|血液型",
    )
)
_DIETS = r"\b(?:vegan\w*|vegetari\w*|vegetalien\w*|veggie|pescatar\w*|kosher|koscher|halal|sober|teetotal\w*|keto)\b|吃素|素食|ベジタリアン"
_DIET = late_pattern(_DIETS)
_BARE_DIET = late_pattern(
    r"\W*(?:(?:ok(?:ay)?|so|and|small|quick|kleines)\W+)*"
    r"(?:update|news|correction|change|now|actually|aktualisierung|anderung|jetzt|neuerdings|actualizacion|novedad|cambio|ahora"
    r"|mise a jour|changement|maintenant)\W+"
    r"(?:(?:i'm|i am|ich bin|soy|je suis|now|fully|completely|jetzt|ganz)\W+)*"
    rf"(?:{_DIETS})(?: now| jetzt| ahora| maintenant)?(?:\W*|[.!\n].*)"
)
_RULE = late_pattern(
    r"^\W*(?:please |pls |bitte |por favor )*(?:always|never|from now on|when(?:ever)? i (?:ask|write|say)"
    r"|immer|niemals|siempre|nunca|toujours)\b|^(?:请|总是|永远|いつも|必ず)"
)
_RULE_WORDS = frozenset(
    (
        "alway never pleas when whenever from now ask include includ provid use rule answer question"
        " respons immer nie siempr nunca toujour"
    ).split()
)
_ALL_CLEAR = late_pattern(
    r"\b(?:misdiagnos\w*|outgrew|outgrown|cured|tested negative|all clear|turns? out|stellt sich (?:raus|heraus)|resulta que|en fait)\b"
)
_SUBJECT = late_pattern(
    r"\W*(?P<who>(?:[\w'’-]+ ){1,4}?)(?:is|isn't|has|had|was|can|can't|cannot|needs|takes|carries|eats|hat|ist|isst|es|tiene|est|a)\b"
)
"""Of whom a clause tells: naming them again says nothing of their illness."""
_SHORTEST_NAME = 4
"""Letters of the shortest word that names a thing."""


def _cue_positions(*names: str) -> tuple[int, ...]:
    return tuple(map(NAMES.index, names))


_ENDS = _cue_positions("no_more", "end", "switch", "correction", "back", "instead", "finally")
_CHANGES = (*_ENDS, *_cue_positions("now", "no", "from_now", "new", "old"))
_NO = NAMES.index("no")
_SELF = NAMES.index("self")
_OTHER = NAMES.index("other")
_FROM_NOW = NAMES.index("from_now")
_PERSONS = _cue_positions("self", "other")


def may_end_guarded(old: MessageClause, new: MessageClause) -> bool:
    """True unless the older clause is one that only a statement about its very thing may end.

    An illness must be named again, or what it is about, with a word of its end; a diet needs a word
    of eating, a name a word of naming; a standing rule needs another order about the same.
    """
    old_text = fold(old.text)
    new_text = fold(new.text)
    subject = _SUBJECT.match(old_text)
    owners = set(terms(subject["who"])) if subject else set()
    shared = {
        word
        for word in (old.words & new.words) - owners
        if len(word) >= _SHORTEST_NAME or not word.isascii()
    }
    illnesses = [family for family in _ILLNESSES if family.search(old_text)]
    if illnesses:
        is_named = bool(shared) or any(family.search(new_text) for family in illnesses)
        return bool(_ALL_CLEAR.search(new_text)) or (is_named and _tells_end(new))
    if (diet := _DIET.search(old_text)) is not None:
        if tells_new_diet(new.text) and diet[0] not in new_text:
            return True
        is_about_diet = bool(_DIET.search(new_text) or _find("eating", new_text) or shared)
        return is_about_diet and any(new.cues[cue] for cue in _CHANGES)
    if tells_identity(old.text):
        return bool(_find("naming", new_text))
    if _RULE.search(old_text):
        least = 1 if any(new.cues[cue] for cue in (*_ENDS, _FROM_NOW)) else 2
        topics = {word for word in shared - _RULE_WORDS if len(word) > _SHORTEST_NAME}
        return bool(_find("order", new_text)) and len(topics) >= least
    return True


def tells_new_diet(text: str) -> bool:
    """True for a message whose first words are a diet, as news: "update: vegan. No eggs"."""
    return _BARE_DIET.fullmatch(fold(text)) is not None


def changes_diet(old_text: str, new_text: str) -> bool:
    """True if a message gives another diet in place of the one that its speaker told."""
    diet = _DIET.search(fold(old_text))
    if diet is None or diet[0] in fold(new_text) or not tells_new_diet(new_text):
        return False
    old = read_clause(old_text)
    return old.cues[_SELF] > 0 and not old.cues[_OTHER]


def tells_identity(text: str) -> bool:
    """True for a name, a birthday and the like: only a statement about that very thing ends it."""
    return _find("identity", fold(text)) is not None


def _find(table: str, folded: str) -> re.Match[str] | None:
    return word_pattern(__file__, f"guarded_{table}").search(folded)


def _tells_end(clause: MessageClause) -> bool:
    """True for a word of ending or correcting, or a negation about somebody."""
    if any(clause.cues[cue] for cue in _ENDS):
        return True
    return clause.cues[_NO] > 0 and any(clause.cues[cue] for cue in _PERSONS)
