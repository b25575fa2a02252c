"""Things of one kind, told apart by number, place or name.

Enter at ``is_about_another`` and ``is_placed_anew``: rules that limit what the trees say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engrams.text.choosers import tells_choice_of_another
from engrams.text.normalize import fold
from engrams.text.people import (
    PARTNERS,
    PEOPLE,
    leaves_out_other_person,
    tells_of_companions_own,
)
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.told_apart import are_told_apart
from engrams.text.vocabulary import read_vocabulary
from engrams.write.change_detection import identifiers
from engrams.write.change_detection.cue_words import NAMES, TOPIC_NAMES

if TYPE_CHECKING:
    from engrams.write.change_detection.features import MessageFeatures

_ARTICLE = (
    r"(?i:the|our|my|der|die|das|unser\w*|mein\w*|el|la|los|las|mi|nuestr\w+|le|les|mon|ma|notre)"
)
_SUBJECT = re.compile(
    rf"\W*(?:{_ARTICLE}\s+(?P<there>[^\W\d]+)\s+(?:in|at|of|to|for|von|nach|für|aus|en|de|à|para|pour)\s+(?P<place>[A-ZÄÖÜÉ]\w+)"
    rf"|(?:{_ARTICLE}\s+)?(?P<kind>[^\W\d]+)\s+(?:no\.?\s*|number\s+|nr\.?\s*|#)?(?P<number>\d+|[A-Z]))(?=[\s:])"
)
_NUMBERED = re.compile(
    r"\b(?P<kind>client|customer|invoice|order|ticket|case|account|patient|kunde|kundin|rechnung|auftrag|konto|cliente|factura|pedido|cuenta"
    r"|facture|commande|compte)\s+(?:no\.?\s*|number\s+|nr\.?\s*|nummer\s+|numero\s+|n°\s*|#)?(?P<number>\d+)"
)
"""A thing of a kind of which there are many, with its number, in folded text."""
# Of these a later one takes the place of the one before.
_FOLLOWING = frozenset(
    ("version", "release", "draft", "update", "build", "edition", "entwurf", "fassung", "borrador")
)
_CHANGES = tuple(
    NAMES.index(name)
    for name in (
        "switch",
        "no_more",
        "now",
        "correction",
        "new",
        "instead",
        "from_now",
        "finally",
        "back",
        "old",
    )
)


# Words that name members of one kind; members of one line are the same.
_MEMBERS = tuple(
    tuple(frozenset(line.split()) for line in kind.strip().splitlines())
    for kind in (
        read_vocabulary(__file__, "members_relatives"),
        read_vocabulary(__file__, "members_days"),
    )
)
_VERB_WORDS = read_vocabulary(__file__, "verb_words")
_VERBS = frozenset(_VERB_WORDS.split())
_WORDS = re.compile(r"[^\W_]+(?:'s)?")
_LEADING = re.compile(rf"\W*(?:(?:on|in|at|am|im|el|los) )?(?:{_ARTICLE} )?", re.IGNORECASE)
_MOST_APART = 2
_SELF = NAMES.index("self")
_OTHER = NAMES.index("other")
_FIRST_NAME = re.compile(r"\W*([A-ZÄÖÜÉÁÍÓÚÑÇ][a-zäöüéèßáíóúñç]+)\s+[a-z]")
_BESIDE = r"\b(?:with|and|mit|und|con|y|avec|et|my|our|mein\w*|mi|mon|ma) (?:[\w'’-]+ ){0,3}?"
"""Words by which a sentence about its speaker names somebody else."""
_OVER = tuple(map(NAMES.index, ("no_more", "end")))
_KANA = re.compile("[\u3040-\u30ff]")
"""Characters of Japanese, which mostly leaves out of whom it tells where that is the speaker."""
_DEFINITE = re.compile(
    r"\b(?:the|our|my|der|die|das|den|dem|unser\w*|el|la|los|las|nuestr\w+|le|les|notre|il|lo|gli|nostr\w) (?P<thing>[^\W\d]+)"
)
"""A thing that both who speak and who listen know: "walks the dog"."""
_OF_ONE = re.compile(
    r"\W*(?:i|i'm|i've|my|ich|mein\w*|yo|mi|mis|soy|estoy|tengo|vivo|voy|uso|no como"
    r"|je|j'\w+|mon|ma|mes|io|mio|mia|sono|ho|我|私|毎)(?!\w*们)"
)
"""Beginning of a sentence about its speaker alone."""
_OF_US = re.compile(
    r"\W*(?:soy|estoy|tengo|vivo|voy|uso|tenemos|usamos|vivimos|vamos|somos|sono|ho|abbiamo|usiamo|viviamo|andiamo|siamo)\b"
)
"""Beginning of a sentence whose verb tells that it is about its speaker."""
_SHARED_LIVES = sum(1 << TOPIC_NAMES.index(name) for name in ("home", "partner"))
_ANOTHER_ONE = re.compile(
    r"\W*(?:and |but |oh )*(?:the (?:other )?one|that) (?:at|in|for|from|on|of) (?:the |my |our )?(?P<where>\w+) (?:is|has|'s)\b",
    re.IGNORECASE,
)
_OTHERS_OWN = re.compile(
    r"\W*(?i:his|her|their|leurs?) [^\W\d]+"
    r"|\W*(?i:(?:the|el|la|los|las|der|die|das|le|les) |l['’])[^\W\d]+ "
    r"(?:(?i:of|de|von) (?=[A-ZÄÖÜÉÁ])|(?i:d['’])(?=[A-ZÄÖÜÉÁ])"
    r"|(?i:of |de |von )?(?=(?i:my|mis?|mon|ma|mes|meine[rsnm]|unsere[rsnm]) ))(?P<owner>.*)"
)
"""Something of somebody else at the head of a sentence: "her train", "el número de mi padre"."""
_OTHER_OF_KIND = re.compile(
    r"\W*(?:(?:and|but|oh|so|the|my|our) )*other (?P<kind>(?!day\b|week\b|night\b)\w+)\b",
    re.IGNORECASE,
)
_PLACED = re.compile(
    r"\s(?:is|are|sits|stands|lies|ist|liegt|steht|est|esta) (?:in|at|on|im|am|auf|en|a|dans|sur) "
)


# "王的生日是…", "田中さんの電話は…", "王是我的上司，其生日是…": whose, and what of theirs.
_OWNED = re.compile(
    r"\W*(?:我们?的?|私の|うちの)?(?!我|私|うち)(?P<who>[^\s，。的是のはが]{1,20})[的の](?P<what>[^\W的是のはが]{1,10})[是为在はが]"
    r"|\W*(?P<named>[\u4e00-\u9fff]{2,4})是我的[^，。]{1,6}，其(?P<theirs>[^\W是]{1,6})是"
)
# "我要参加的讲座，它的规模是两百人": of which thing, and what of it.
_REFERRED = re.compile(r"(?P<who>[^，。]{2,30})，(?:它|其)的?(?P<what>[^\W是为]{1,6})[是为]")
_ROLES = re.compile(
    "上司|下属|同事|老板|客户|叔叔|舅舅|姑姑|婶婶|舅妈|阿姨|表[哥姐弟妹]|堂[哥姐弟妹]|[哥姐弟妹]{1,2}|父亲|母亲|爸爸|妈妈|爷爷|奶奶|儿子|女儿|朋友|邻居"
    "|上司|部下|同僚|先輩|後輩|父|母|兄|弟|姉|妹|祖父|祖母|息子|娘|友達"
)
# Attributes of somebody or something, each in one line, in scripts without spaces.
_ATTRIBUTES = tuple(
    re.compile(words)
    for words in (
        "生日|誕生日",
        "\\d岁|年龄|\\d歳|年齢",
        "身高|身長",
        "邮箱|メールアドレス",
        "电话|手机号|電話番号",
        "毕业|学历|本科|卒業|学歴",
        "工作|上班|职业|仕事|勤め",
        "地点|場所",
        "规模|規模",
    )
)
# In folded text. English has no need of it.
_MOVED = re.compile(r"\bnach \w+ (?:um)?gezogen\b|\bdemenag|\bmud(?:o|ado)\b|に引っ越")


@dataclass(frozen=True, slots=True)
class _LabelledThing:
    """Thing that a sentence begins with."""

    kind: str
    """Such as ``crate``."""
    label: str
    """Its number, letter or place."""
    remainder: tuple[str, ...]
    """Terms of the sentence after it."""


def is_about_another(old: MessageFeatures, new: MessageFeatures) -> bool:
    """True if two sentences tell of two things of one kind.

    "Crate 0 holds ropes" and "Crate 1 holds lamps", "our depot in Lille …" and "our depot in Metz
    …", "the staging DB is …" and "the production DB is …", "my number is …" and "mum's number is
    …". Not if the newer one names the older thing, speaks of a change, or says the very same of
    another ("Room 12 is ours", "Room 14 is ours").
    """
    changes = any(new.whole.cues[index] for index in _CHANGES)
    if identifiers.tell_apart(old.text, new.text, changes=changes):
        return True
    if _has_other_owner(old.text, new.text) or _tells_of_companion(old, new):
        return True
    if len(old.clauses) == 1 and leaves_out_other_person(old.text, new.text):
        return True
    if any(is_other(old.text, new.text) for is_other in _OTHERS_IN_TEXT):
        return True
    if len(old.clauses) > 1 or len(new.clauses) > 1:
        return False
    if _tells_of_a_move(old, new) or _tells_of_others_change(old, new):
        return True
    if changes:
        return False
    if _tells_of_another_person(old, new) or _name_other_numbers(old.text, new.text):
        return True
    old_thing = _find_thing(old.text)
    new_thing = _find_thing(new.text)
    if old_thing is None or new_thing is None:
        return _are_told_apart(_split_words(old.text), _split_words(new.text))
    if old_thing.kind != new_thing.kind or old_thing.kind in _FOLLOWING:
        return False
    if old_thing.label == new_thing.label or old_thing.remainder == new_thing.remainder:
        return False
    return not re.search(rf"\b{re.escape(old_thing.label)}\b", fold(new.text))


def _name_other_numbers(old_text: str, new_text: str) -> bool:
    """True for things of one kind with other numbers: "client number 11", "client 12"."""
    old_numbers, new_numbers = (
        {(match["kind"], match["number"]) for match in _NUMBERED.finditer(fold(text))}
        for text in (old_text, new_text)
    )
    kinds = {kind for kind, _ in old_numbers} & {kind for kind, _ in new_numbers}
    return bool(kinds) and old_numbers.isdisjoint(new_numbers)


def is_placed_anew(old: MessageFeatures, new: MessageFeatures) -> bool:
    """Test if a labelled thing is in another place.

    "Crate 0 is in the cellar", "crate 0 is in the attic".
    """
    if len(old.clauses) > 1 or len(new.clauses) > 1:
        return False
    old_thing = _find_thing(old.text)
    new_thing = _find_thing(new.text)
    if old_thing is None or new_thing is None:
        return False
    is_same = (old_thing.kind, old_thing.label) == (new_thing.kind, new_thing.label)
    if not is_same or old_thing.remainder == new_thing.remainder:
        return False
    return bool(_PLACED.search(fold(old.text)) and _PLACED.search(fold(new.text)))


def _has_other_owner(old: str, new: str) -> bool:
    """Test if two sentences tell of two owners, or of two things of one, in a script without spaces."""
    if old.isascii() or new.isascii():
        return False
    old_roles = set(_ROLES.findall(old))
    new_roles = set(_ROLES.findall(new))
    if old_roles and new_roles and old_roles.isdisjoint(new_roles):
        return True
    old_attributes = _find_attributes(old)
    new_attributes = _find_attributes(new)
    if old_attributes and new_attributes and old_attributes.isdisjoint(new_attributes):
        return True
    old_reference = _REFERRED.search(old)
    new_reference = _REFERRED.search(new)
    if old_reference is not None and new_reference is not None:
        return old_reference["who"] != new_reference["who"]
    old_match = _OWNED.match(old)
    new_match = _OWNED.match(new)
    if old_match is None or new_match is None:
        return False
    if (old_match["who"] or old_match["named"]) != (new_match["who"] or new_match["named"]):
        return True
    old_thing = old_match["what"] or old_match["theirs"]
    new_thing = new_match["what"] or new_match["theirs"]
    return not (old_thing.startswith(new_thing) or new_thing.startswith(old_thing))


def _tells_of_another_one(old: str, new: str) -> bool:
    """Test if a sentence is about another thing of a kind: "my locker is 212", "the one at work is 77".

    Or "the other locker is 77".
    """
    other_one = _OTHER_OF_KIND.match(new)
    if other_one is not None and other_one["kind"].lower() in old.lower():
        return True
    match = _ANOTHER_ONE.match(new)
    return match is not None and match["where"].lower() not in old.lower()


def _has_other_place(old: str, new: str) -> bool:
    """Test if two sentences tell of one kind of thing with two places: "my flight to Oslo …"."""
    old_match = _SUBJECT.match(old)
    new_match = _SUBJECT.match(new)
    if old_match is None or new_match is None or not (old_match["place"] and new_match["place"]):
        return False
    is_one_kind = fold(old_match["there"]) == fold(new_match["there"])
    return is_one_kind and fold(old_match["place"]) not in fold(new)


def _find_attributes(text: str) -> set[int]:
    return {index for index, words in enumerate(_ATTRIBUTES) if words.search(text)}


def _tells_of_another_person(old: MessageFeatures, new: MessageFeatures) -> bool:
    """Test if the subject is somebody whom the older sentence leaves out, or something of theirs.

    "My flight is …", "my brother's flight is …", "her flight is …". Not with the partner, nor if
    the speaker is told of too: with both, something of the speaker's may have changed.
    """
    owned = _OTHERS_OWN.match(new.text)
    person = PEOPLE.match(fold(owned["owner"] or "" if owned else new.text))
    if (person is None and owned is None) or old.people or not new.people.isdisjoint(PARTNERS):
        return False
    # "My brother" counts as one mention of the speaker.
    is_of_own = bool(owned and owned["owner"]) or (person is not None and bool(person["who"]))
    if new.whole.cues[_SELF] > is_of_own:
        return False
    old_names = {word for name in old.names for word in (name, name[:-1])}
    return old.whole.cues[_SELF] > 0 and new.people.isdisjoint(old_names)


def _tells_of_others_change(old: MessageFeatures, new: MessageFeatures) -> bool:
    """Test if a change is another person's own: "my sister is with another dentist now".

    Not if they take over a thing of which the older sentence tells ("my son walks the dog now"), nor
    if it tells of somebody itself. What changes for a partner may change for both: theirs alone is
    only what the older sentence tells of the speaker alone, and neither of home nor of the two.
    """
    person = PEOPLE.match(fold(new.text))
    if person is None or old.people or new.whole.cues[_SELF] > 1:
        return False
    is_of_speaker = (
        old.whole.cues[_SELF] > 0
        or _KANA.search(old.text) is not None
        or _OF_US.match(fold(old.text)) is not None
    )
    if not is_of_speaker or old.whole.cues[_OTHER]:
        return False
    if not new.people.isdisjoint(PARTNERS) and (
        old.whole.topics & _SHARED_LIVES or not _OF_ONE.match(fold(old.text))
    ):
        return False
    return old.whole.words.isdisjoint(
        word for match in _DEFINITE.finditer(fold(new.text)) for word in terms(match["thing"])
    )


def _tells_of_companion(old: MessageFeatures, new: MessageFeatures) -> bool:
    """Test if somebody is told of whom the older sentence only names beside the speaker.

    "I live in Lisbon with my husband Tom", "Tom started a new job". Not if something is over.
    """
    name = _FIRST_NAME.match(new.text)
    if name is None or len(new.clauses) > 1 or any(new.whole.cues[index] for index in _OVER):
        return False
    speaks_of_self = old.whole.cues[_SELF] > 0 and new.whole.cues[_SELF] == 0
    if not speaks_of_self or PEOPLE.match(fold(old.text)):
        return False
    return re.search(rf"{_BESIDE}{re.escape(name[1])}\b", old.text) is not None


def _tells_of_a_move(old: MessageFeatures, new: MessageFeatures) -> bool:
    """Test if somebody of whom the older sentence does not tell moved.

    "Meine Schwester ist nach Hamburg gezogen", "妹が大阪に引っ越しました".
    """
    text = fold(new.text)
    person = PEOPLE.match(text)
    if person is None or person[0].endswith("の") or not _MOVED.search(text):
        return False
    if old.people or old.whole.cues[_OTHER]:
        return False
    tells_of_speaker = new.whole.cues[_SELF] > (person["who"] is not None)
    return not tells_of_speaker and new.people.isdisjoint(PARTNERS)


def _split_words(text: str) -> list[str]:
    """Split a sentence into folded words, without the article before its subject."""
    return _WORDS.findall(fold(_LEADING.sub("", text, count=1)))


def _are_told_apart(old: list[str], new: list[str]) -> bool:
    """True if subjects differ before a shared word, and the rests differ.

    "staging DB is …" and "production DB is …"; members of a kind ("my mother", "my father") need
    share no word.
    """
    pairs = enumerate(zip(old, new, strict=False))
    start = next((index for index, (old_word, new_word) in pairs if old_word != new_word), 0)
    end = _find_shared_word(old, new, start)
    if start > 1 or end is None:
        return False
    old_end, new_end = end
    old_words = old[start:old_end]
    new_words = new[start:new_end]
    old_rest = old[old_end:]
    new_rest = new[new_end:]
    if set(old_rest) <= set(new_rest) or set(new_rest) <= set(old_rest):
        return False
    if set(old_words) & set(new) or old_rest[0] in _FOLLOWING:
        return False
    if _are_members(old_words[-1], new_words[-1]):
        return True
    return old_rest[0] not in _VERBS and not _VERBS.isdisjoint(old_rest[1:3])


def _find_shared_word(old: list[str], new: list[str], start: int) -> tuple[int, int] | None:
    """Find where both sentences go on with the same word, after one or two that differ."""
    ends = range(start + 1, start + _MOST_APART + 1)
    for old_end in ends:
        for new_end in ends:
            if old[old_end : old_end + 1] == new[new_end : new_end + 1] != []:
                return old_end, new_end
    return None


def _are_members(word_a: str, word_b: str) -> bool:
    """True for two members of one kind."""
    return any(
        word_a in line
        and any(word_b in other_line for other_line in kind if other_line is not line)
        for kind in _MEMBERS
        for line in kind
    )


@text_cache(1 << 12)
def _find_thing(text: str) -> _LabelledThing | None:
    """Find the thing that a sentence begins with."""
    match = _SUBJECT.match(text)
    if match is None:
        return None
    return _LabelledThing(
        kind=fold(match["there"] or match["kind"]),
        label=fold(match["place"] or match["number"]),
        remainder=tuple(terms(text[match.end() :])),
    )


_OTHERS_IN_TEXT = (
    _tells_of_another_one,
    tells_of_companions_own,
    are_told_apart,
    tells_choice_of_another,
    _has_other_place,
)
"""Tests of two sentences that hold whatever words of change stand in them."""
