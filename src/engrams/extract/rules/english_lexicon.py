"""English verb forms and small word classes for the parser."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from engrams.text.vocabulary import read_vocabulary, word_set

VerbForm: TypeAlias = Literal["base", "s", "past", "part", "ing"]


# base past participle; a form equal to the one before it may be omitted.
_IRREGULAR = read_vocabulary(__file__, "irregular")

_REGULAR = read_vocabulary(__file__, "regular")

_DOUBLE = word_set(read_vocabulary(__file__, "double"))


ADVERBS = word_set(read_vocabulary(__file__, "adverbs"))
HEDGES = word_set(
    "maybe perhaps probably possibly supposedly apparently hopefully ideally theoretically"
    " hypothetically"
)
BE = {
    "am": "present",
    "'m": "present",
    "is": "present",
    "are": "present",
    "'re": "present",
    "was": "past",
    "were": "past",
}
MODALS = word_set("would could should might may must 'd shall ought")
PREPOSITIONS = word_set("""
    in at on to from with for of about by near into onto through over under after before around off out up down as since during without
    within toward towards along across against between among outside inside behind beyond like
    """)
DETERMINERS = word_set(
    "a an the my our his her their its this that these those some any no every each another"
)
EMPTY = word_set("""
    it that this them these those you him her us me one ones everything something anything nothing stuff things thing everyone someone
    anyone everybody somebody anybody yourself myself there here so too lot bit what how why such
    """)


class VerbReading(NamedTuple):
    """A word read as a form of a verb."""

    base: str
    """Base form of the verb: go."""
    forms: frozenset[VerbForm]
    """Forms that the word can be: "put" is base, past and participle."""


def _doubles_last(verb: str) -> bool:
    """True if the last letter doubles: tag, hop."""
    vowels = sum(char in "aeiou" for char in verb)
    return verb in _DOUBLE or (
        2 < len(verb) < 6 and vowels == 1 and verb[-2] in "aeiou" and verb[-1] not in "aeiouwxy"
    )


def _make_gerund(verb: str) -> str:
    if _doubles_last(verb):
        return f"{verb}{verb[-1]}ing"
    if verb in ("be", "see", "flee", "agree", "dye"):
        return f"{verb}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    return f"{verb[:-1]}ing" if verb.endswith("e") else f"{verb}ing"


def _make_past(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1]}ed" if _doubles_last(verb) else f"{verb}ed"


def third_person(verb: str) -> str:
    """Return the form for he, she and it: lives, goes, has."""
    if verb in ("have", "be", "do", "go"):
        return {"have": "has", "be": "is", "do": "does", "go": "goes"}[verb]
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh")) else f"{verb}s"


def _build_tables() -> tuple[dict[str, VerbReading], frozenset[str]]:
    forms: dict[str, dict[str, set[VerbForm]]] = {}

    def learn(word: str, base: str, form: VerbForm) -> None:
        forms.setdefault(word, {}).setdefault(base, set()).add(form)

    rows = [row.split() for line in _IRREGULAR.strip().splitlines() for row in line.split("|")]
    rows += [[verb, _make_past(verb)] for verb in _REGULAR.split()]
    for row in rows:
        base = row[0]
        past = row[1]
        part = row[2] if len(row) > 2 else past
        shapes: tuple[tuple[str, VerbForm], ...] = (
            (base, "base"),
            (third_person(base), "s"),
            (past, "past"),
            (part, "part"),
            (_make_gerund(base), "ing"),
        )
        for word, form in shapes:
            learn(word, base, form)
    for word, base in (
        ("learnt", "learn"),
        ("dreamt", "dream"),
        ("burnt", "burn"),
        ("got", "get"),
        ("cancelled", "cancel"),
        ("travelled", "travel"),
    ):
        learn(word, base, "past")
        learn(word, base, "part")
    learn("travelling", "travel", "ing")
    verbs = frozenset(row[0] for row in rows)
    return {word: _pick_base(word, bases) for word, bases in forms.items()}, verbs


def _pick_base(word: str, bases: dict[str, set[VerbForm]]) -> VerbReading:
    """Pick the base of a form that two verbs share (found, lay)."""
    base = min(
        bases,
        key=lambda one: (one in ("found", "lay", "bear"), one != word and len(bases[one]) == 0),
    )
    return VerbReading(base, frozenset(bases[base]))


FORMS, _VERBS = _build_tables()


def find_lemma(word: str) -> VerbReading | None:
    """Return the verb that ``word`` belongs to, and which forms of it ``word`` can be.

    Regular endings of unlisted verbs are guessed; None: no verb.
    """
    listed = FORMS.get(word)
    if listed:
        return listed
    if len(word) > 4 and word.endswith("ing"):
        return VerbReading(_guess_base(word[:-3]), frozenset(("ing",)))
    if len(word) > 3 and word.endswith("ied"):
        return VerbReading(f"{word[:-3]}y", frozenset(("past", "part")))
    if len(word) > 3 and word.endswith("ed"):
        return VerbReading(_guess_base(word[:-2]), frozenset(("past", "part")))
    return None


def _guess_base(word: str) -> str:
    if word in _VERBS:
        return word
    if f"{word}e" in _VERBS:
        return f"{word}e"
    if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return (
        f"{word}e"
        if word.endswith(("at", "iz", "is", "us", "v", "c", "rg", "dg", "s", "u"))
        else word
    )
