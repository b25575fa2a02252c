"""Two sentences about two things or persons of one kind, of which none changes the other.

"The red bike is in the cellar", "I sold the blue bike"; "I take magnesium", "I no longer take iron";
"Karim brings the kids on Mondays", "Nadia brings the kids on Tuesdays now". Enter at
``are_told_apart``: neither may be doubted for the other's sake, whatever words of change stand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache

from engrams.frozen_data import dataclass
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_rows, read_vocabulary, word_pattern

_RELATIVE = "relative"
_COLOUR = "colour"
_NEVER_FOLLOWING = frozenset(("utility", "environment"))
"""Kinds of which one member never takes another's place: electricity does not follow gas."""
_LONGEST = 160
"""Characters of the longest message that is looked at: a longer one tells of several things."""
_SHARED_START = 5
"""Letters that two words of one stem begin with: "therapist", "therapy"."""
_SHORTEST_STEM = 4
"""Letters of the shortest word with which another begins that is akin: "fume", "fumer"."""
_FEWEST_LETTERS = 3
_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_JOINT = re.compile(r"[.!?;。！？]\s*\S")
_OWN = r"(?:my|our|mein\w{0,2}|unser\w{0,2}|mis?|mon|ma|mes|nuestr[oa]s?|notre|nos)"
_ARTICLE = rf"(?:the|der|die|das|den|dem|el|la|los|las|le|les|{_OWN})"
_PERSON = re.compile(
    rf"\W*(?:(?:and|but|so|oh|und|aber|y|pero|et|mais)\s+)*{_OWN}\s+(?:\w+\s+)?(?P<who>\w+)"
)
_HAN_PERSON = re.compile(r"\W*(?:我们?的?|私の|うちの)?(?P<who>[^\s，。、的]{1,3})")
_NAME = re.compile(
    r"\W*(?P<name>[A-ZÄÖÜÉÁÍÓÚÑÇ][a-zäöüéèßáíóúñç]+)\s+(?P<verb>[a-zäöüéèßáíóúñç]+)\b"
)
_OTHERS_THING = re.compile(
    r"\b(?:the|my|our) (?P<owner>\w+)(?:'s|s') \w+"
    r"|\b(?:de|del|der|des|von|du)\s+(?:los |las |la |el |mis? |den |meine[rsnm]? |mes |mon |ma |nos )?(?P<of>\w+)"
)
"""A thing of somebody: "the neighbours' cat", "el gato de los vecinos"."""
_SELF = re.compile(
    r"\b(?:i|i'm|i've|we|my|our|ich|wir|mein\w*|mi|mis|tengo|tenemos|mon|ma|mes|je|j'ai|on)\b"
)
_SUBJECT = re.compile(rf"\W*(?:{_ARTICLE}\s+)?(?P<first>\w+)(?:\s+(?P<second>\w+))?")
_OWN_SUBJECT = re.compile(
    rf"\W*{_ARTICLE}\s+(?P<subject>(?:[^\W\d]+(?:'s?)?\s+){{0,2}}?[^\W\d]+)\s+"
    r"(?:is|are|was|were|has|have|moved?s?|moves|starts?|opens?|closes?|costs?|meets?|lives?|works?|goes|went|rose|dropped"
    r"|ist|sind|war|hat|heisst|wohnt|arbeitet|kostet|beginnt|fangt|steigt|sinkt"
    r"|est|sont|etait|a|habite|travaille|coute|commence|s'appelle|passe|monte|baisse"
    r"|es|esta|son|vive|trabaja|cuesta|empieza|se|sube|baja)\s"
)
"""Sentence that begins with a thing: "The retro is …"."""
_LABELLED = re.compile(
    r"\W*(?:(?i:the|our|my|der|die|das|el|la|le) )?(?P<kind>(?!Version|Release)[^\W\d]{2,})\.? "
    r"(?P<label>\d{1,4}|[A-ZÄÖÜÉ](?:[a-zäöüéèáíóúñç]+)?)(?=\s)(?P<remainder>.*)",
    re.DOTALL,
)
"""Sentence that begins with one of several: "Ward 3 has …", "Team Heron switched …", "Mrs Okafor …"."""
_BOUND_SUBJECT = re.compile(
    rf"\W*(?:{_ARTICLE}\s+)?(?P<head>[^\W\d]{{3,}}) (?:to|for|from|nach|zum|zur|fur|pour|vers|para|hacia|a|al) "
    rf"(?:{_ARTICLE} )?(?P<goal>[^\W\d]{{3,}})\b"
)
"""Sentence that begins with a thing and its goal: "The bus to the airport …"."""
_TITLES = frozenset("mr mrs ms miss herr frau senor senora don dona monsieur madame mme dr".split())
_IS_NEW = re.compile(
    r"\b(?:is|ist|es|est) (?:now |jetzt |ahora )?(?:the|our|my|der|die|das|unser\w*|mein\w*|el|la|le|nuestr\w+) "
    r"(?:new|neue?|nuev[oa]|nouve(?:au|l|lle))\b"
)
"""Words by which somebody takes a role that another had."""
_MODIFIED = re.compile(
    rf"(?:\A\W*|\b{_ARTICLE}\s+)(?=(?P<modifier>[^\W\d]{{3,}})\s+(?P<head>[^\W\d]{{3,}}))"
)
_MODIFIED_SUBJECT = re.compile(
    rf"\W*(?:{_ARTICLE}\s+)?(?P<modifier>[^\W\d]{{3,}})\s+(?P<head>[^\W\d]{{3,}})\s+"
    r"(?:is|are|was|has|pays?|runs?|costs?|meets?|starts?|opens?|lives?|works?|stands?|sits?|lies|goes|takes?|wants?|needs?"
    r"|ist|sind|hat|zahlt|kostet|lauft|liegt|steht|geht|beginnt)\b"
)
_PASSES_ON = frozenset(
    "now anymore from on jetzt nun ahora maintenant desormais ya the a doe it them".split()
)
"""Terms with which somebody takes over what another did."""
_CODE = re.compile(r"\b\d{1,2}[a-z]\b")
_NO_MODIFIERS = frozenset(
    "new old other another next last first second same this that these those my our your his her their its the and for with from"
    " no any some all both each every whole entire complete own ganze ganzer ganzes ganzen gesamte gesamten todo toda"
    " entero entera tout toute neue neuer neues neuen alte alter altes alten andere anderer andere main current usual".split()
)
_HAN_COLOURED = re.compile(
    r"(?P<colour>[红蓝绿黄黑白灰棕粉紫橙赤青緑黒])(?:色)?[的いの]{0,2}(?P<head>[^\s，。、的はがをに了在是]{2})"
)


@dataclass(frozen=True, slots=True)
class _KindTable:
    """Members of kinds, by their words."""

    words: Mapping[str, tuple[tuple[str, int], ...]]
    stems: tuple[tuple[str, tuple[str, int]], ...]
    strings: tuple[tuple[str, tuple[str, int]], ...]
    """Of Chinese and Japanese, longest first."""


def are_told_apart(earlier: str, later: str) -> bool:
    """Return whether a later sentence tells of another thing or person than an earlier one."""
    if max(len(earlier), len(later)) > _LONGEST or any(map(_JOINT.search, (earlier, later))):
        return False
    old = fold(earlier)
    new = fold(later)
    if _has_other_label(earlier, later):
        return True
    if _tells_successor(new):
        return _tell_of_two_coloured(old, new) or _has_other_modifier(old, new)
    ends = _tells_end(new)
    return (
        _tell_of_two_persons(earlier, later, ends=ends)
        or _is_anothers(old, new)
        or _tell_of_two_members(old, new, ends=ends)
        or _tell_of_two_coloured(old, new)
        or _has_other_modifier(old, new)
        or _has_other_code(old, new)
        or _has_other_subject(old, new)
        or _has_other_goal(old, new)
        or _dislikes_another(old, new)
        or (ends and _ends_another(old, new))
    )


def _has_other_goal(old: str, new: str) -> bool:
    """Return whether two things of one name go somewhere else: "the bus to the airport"."""
    old_subject = _BOUND_SUBJECT.match(old)
    new_subject = _BOUND_SUBJECT.match(new)
    if old_subject is None or new_subject is None:
        return False
    return old_subject["head"] == new_subject["head"] and old_subject["goal"] != new_subject["goal"]


def _tells_end(folded: str) -> bool:
    return word_pattern(__file__, "told_apart/ends").search(folded) is not None


def _tells_successor(folded: str) -> bool:
    """Return whether a sentence tells what takes the place of something."""
    return word_pattern(__file__, "told_apart/successors").search(folded) is not None


# --------------------------------------------------------------------------------------------------
# persons


def _tell_of_two_persons(earlier: str, later: str, *, ends: bool) -> bool:
    """Return whether each sentence tells of a person of its own, and no role passes on.

    "Lena is our lead", then "Marco is our lead now", passes on; with another day, or an end, it is
    something else that the other does.
    """
    old_person = _find_relative(earlier) or _find_named(earlier, later)
    new_person = _find_relative(later) or _find_named(later, earlier)
    if not old_person or not new_person or old_person == new_person:
        return False
    old_terms = frozenset(terms(earlier))
    new_terms = frozenset(terms(later))
    if old_person in new_terms or new_person in old_terms:
        return False
    return ends or not _cover(new_terms - _PASSES_ON - {new_person}, old_terms)


def _find_relative(text: str) -> str:
    """Find the relation that a sentence begins with, as the number of its member; empty: none."""
    match = _HAN_PERSON.match(text) if _HAN.search(text) else _PERSON.match(fold(text))
    members = _find_members(match["who"]).get(_RELATIVE, frozenset()) if match else frozenset()
    return str(min(members)) if members else ""


def _find_named(text: str, compared_text: str) -> str:
    """Find the name that a sentence begins with, as a term; empty: none.

    A name is told from a noun by its verb, which the other sentence has too: "Karim brings".
    """
    match = _NAME.match(text)
    if match is None or fold(match["name"]) in STOP or fold(match["name"]) in _NO_MODIFIERS:
        return ""
    if _stem_words(match["name"]) <= _list_general_terms():
        return ""
    has_verb = re.search(rf"\b{re.escape(match['verb'])}\b", compared_text) is not None
    return next(iter(terms(match["name"])), "") if has_verb else ""


def _is_anothers(old: str, new: str) -> bool:
    """Return whether news is of somebody else's thing, where the earlier tells of one's own."""
    if not _SELF.search(old):
        return False
    for match in _OTHERS_THING.finditer(new):
        owner = match["owner"] or match["of"]
        members = _find_members(owner).get(_RELATIVE, frozenset())
        if members and members.isdisjoint(_find_members(old).get(_RELATIVE, ())):
            return not _cover(_stem_words(owner), _stem_words(old))
    return False


# --------------------------------------------------------------------------------------------------
# things


def _tell_of_two_members(old: str, new: str, *, ends: bool) -> bool:
    """Return whether the sentences name different members of a kind, and no one takes another's place."""
    old_kinds = _find_members(old)
    new_kinds = _find_members(new)
    subject = _SUBJECT.match(new)
    opening = " ".join(filter(None, subject.groups())) if subject else new[:4]
    subjects = _find_members(opening)
    for kind in (old_kinds.keys() & new_kinds.keys()) - {_RELATIVE, _COLOUR}:
        if not old_kinds[kind].isdisjoint(new_kinds[kind]):
            continue
        if ends or kind in _NEVER_FOLLOWING or kind in subjects:
            return True
    return False


def _tell_of_two_coloured(old: str, new: str) -> bool:
    """Return whether one sort of thing is told apart by its colour: "the red bike", "the blue bike"."""
    old_heads = _find_coloured(old)
    new_heads = _find_coloured(new)
    for head in old_heads.keys() & new_heads.keys():
        is_apart = old_heads[head].isdisjoint(new_heads[head])
        if is_apart and (_tells_end(new) or re.match(rf"\W*{_ARTICLE}\s", old) or _HAN.search(old)):
            return True
    return False


def _find_coloured(folded: str) -> Mapping[str, set[int]]:
    """Find nouns with the colours beside them."""
    coloured: dict[str, set[int]] = {}
    for match in _HAN_COLOURED.finditer(folded):
        for member in _find_members(match["colour"]).get(_COLOUR, ()):
            coloured.setdefault(match["head"], set()).add(member)
    words = _WORD.findall(folded)
    for index, word in enumerate(words):
        for member in _find_members(word).get(_COLOUR, ()):
            for neighbour in (*words[max(0, index - 1) : index], *words[index + 1 : index + 2]):
                if neighbour not in STOP and len(neighbour) >= _FEWEST_LETTERS:
                    coloured.setdefault(neighbour, set()).add(member)
    return coloured


def _has_other_modifier(old: str, new: str) -> bool:
    """Return whether things of one name are told apart by the word before: "the car insurance is …"."""
    subject = _MODIFIED_SUBJECT.match(old)
    if subject is None or subject["modifier"] in _NO_MODIFIERS or subject["modifier"] in STOP:
        return False
    if subject["modifier"] in new or subject["head"] in _NO_MODIFIERS:
        return False
    return any(
        match["head"] == subject["head"]
        and match["modifier"] not in _NO_MODIFIERS
        and match["modifier"] not in STOP
        and not _cover(_stem_words(match["modifier"]), _stem_words(old))
        for match in _MODIFIED.finditer(new)
    )


def _has_other_code(old: str, new: str) -> bool:
    """Return whether news begins with the number of another class or the like: "I teach 7b", "8a …"."""
    subject = _SUBJECT.match(new)
    code = _CODE.search(subject["first"]) if subject else None
    codes = set(_CODE.findall(old))
    return code is not None and bool(codes) and code[0] not in codes


def _has_other_subject(old: str, new: str) -> bool:
    """Return whether each sentence begins with a thing of its own, which the other does not name.

    "Our standup is at 9:30", "the retro is now at 3".
    """
    old_subject = _read_subject(old)
    new_subject = _read_subject(new)
    if not old_subject or not new_subject:
        return False
    return not (_names_any(old_subject, terms(new)) or _names_any(new_subject, terms(old)))


def _read_subject(folded: str) -> frozenset[str]:
    """Read the terms of the thing that a sentence begins with; none where it is a pronoun."""
    match = _OWN_SUBJECT.match(folded)
    return frozenset(terms(match["subject"])) if match else frozenset()


def _has_other_label(earlier: str, later: str) -> bool:
    """Return whether the sentences begin with two of one kind, by number or name, and say different things."""
    old_match = _LABELLED.match(earlier)
    new_match = _LABELLED.match(later)
    if old_match is None or new_match is None or old_match["label"] == new_match["label"]:
        return False
    kinds = {_name_kind(match["kind"]) for match in (old_match, new_match)}
    if len(kinds) > 1 or not terms(new_match["label"]):
        return False
    if kinds == {""} and _IS_NEW.search(fold(later)):
        return False
    if set(terms(old_match["label"])) & set(terms(later)):
        return False
    new_terms = frozenset(terms(new_match["remainder"])) - _PASSES_ON
    return not _cover(new_terms, terms(old_match["remainder"]))


def _name_kind(word: str) -> str:
    """Name the kind of a labelled thing; people with a title are of one."""
    folded = fold(word)
    return "" if folded in _TITLES else folded


def _dislikes_another(old: str, new: str) -> bool:
    """Return whether what is liked and what is disliked each have a word of their own."""
    if not word_pattern(__file__, "told_apart/dislikes").search(new):
        return False
    if not word_pattern(__file__, "told_apart/likes").search(old):
        return False
    old_topics = _list_topics(old)
    new_topics = _list_topics(new)
    return not _cover(old_topics, new_topics) and not _cover(new_topics, old_topics)


def _ends_another(old: str, new: str) -> bool:
    """Return whether all that a sentence says to be over is named by words of its own."""
    old_topics = _list_topics(old)
    new_topics = _list_topics(word_pattern(__file__, "told_apart/ends").sub(_keep_between, new))
    if not old_topics or not new_topics or _HAN.search(new):
        return False
    return not _names_any(new_topics, old_topics)


def _keep_between(match: re.Match[str]) -> str:
    """Keep the words within a form of ending: "iron" in "ne prends plus de fer" stands behind it."""
    words = match[0].split()
    return " ".join(words[1:-1]) if len(words) > 2 else " "


# --------------------------------------------------------------------------------------------------
# words


def _list_topics(folded: str) -> frozenset[str]:
    """List the words that tell what a sentence is about: no verbs of every day, numbers and times."""
    return frozenset(
        word
        for word in _WORD.findall(folded)
        if len(word) >= _FEWEST_LETTERS
        and not word.isdigit()
        and word not in STOP
        and word not in _list_general()
    )


@cache
def _list_general() -> frozenset[str]:
    return frozenset(read_vocabulary(__file__, "told_apart/general").split())


def _stem_words(text: str) -> frozenset[str]:
    return frozenset(terms(text)) - _list_general_terms()


@cache
def _list_general_terms() -> frozenset[str]:
    return frozenset(terms(" ".join(sorted(_list_general()))))


def _cover(words: AbstractSet[str], compared_words: Iterable[str]) -> bool:
    """Return whether each word has one of its stem among those it is compared with."""
    listed = [*compared_words]
    return all(_names_any((word,), listed) for word in words)


def _names_any(words: Iterable[str], compared_words: Iterable[str]) -> bool:
    """Return whether any of some words has one of its stem among those it is compared with."""
    listed = [*compared_words]
    return any(_is_akin(word_a, word_b) for word_a in words for word_b in listed)


def _is_akin(word_a: str, word_b: str) -> bool:
    """Return whether two words have one stem, or one is the end of a compound."""
    if word_a == word_b or terms(word_a) == terms(word_b):
        return True
    shorter, longer = sorted((word_a, word_b), key=len)
    if len(shorter) >= _SHORTEST_STEM and longer.startswith(shorter):
        return True
    if len(shorter) < _SHARED_START:
        return False
    return longer.endswith(shorter) or shorter[:_SHARED_START] == longer[:_SHARED_START]


@text_cache(1 << 12)
def _find_members(folded: str) -> Mapping[str, frozenset[int]]:
    """Find the members of kinds that a text names, by kind."""
    table = _load_kinds()
    members: list[tuple[str, int]] = []
    for word in _WORD.findall(folded):
        members += table.words.get(word, ())
        members += [member for stem, member in table.stems if word.startswith(stem)]
    if _HAN.search(folded):
        unread = folded
        for string, member in table.strings:
            if string in unread:
                members.append(member)
                unread = unread.replace(string, " ")
    kinds = {kind for kind, _ in members}
    return {kind: frozenset(row for name, row in members if name == kind) for kind in kinds}


@cache
def _load_kinds() -> _KindTable:
    words: dict[str, tuple[tuple[str, int], ...]] = {}
    stems: list[tuple[str, tuple[str, int]]] = []
    strings: list[tuple[str, tuple[str, int]]] = []
    for index, row in enumerate(read_rows(__file__, "told_apart/kinds")):
        kind, _, forms = row.partition("\t")
        member = (kind, index)
        for form in forms.split():
            if _HAN.search(form):
                strings.append((form, member))
            elif form.endswith("*"):
                stems.append((form[:-1], member))
            else:
                words[form] = (*words.get(form, ()), member)
    return _KindTable(words, tuple(stems), tuple(sorted(strings, key=lambda pair: -len(pair[0]))))
