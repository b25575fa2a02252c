"""Slots with one value, synonyms of predicates and of slot names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from engrams.core import Record
from engrams.extract.candidate import CandidateStatement
from engrams.ports import Embedder
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary
from engrams.text.word_list import word_set

Verdict: TypeAlias = Literal["single", "multi"]

# One value at a time: a new one closes the old.
SINGLE = word_set(read_vocabulary(__file__, "single"))

# Nouns for a property that a thing or person has one of: "my manager is X", "the deadline is Y".
ATTRIBUTES = word_set(read_vocabulary(__file__, "attributes"))

# Attributes that are roles of people: the value is a name.
PEOPLE = word_set(
    "manager boss supervisor landlord doctor dentist therapist gp lead owner maintainer reviewer"
    " client vendor wife husband spouse partner fiance fiancee girlfriend boyfriend mother father"
    " mom mum dad"
)

# Attributes that are things rather than properties: "the meeting is on Monday" is a value, "the
# meeting is important" is not.
THINGS = word_set(read_vocabulary(__file__, "things"))

_SAME = {
    "resides_in": "lives_in",
    "based_in": "lives_in",
    "located_in": "lives_in",
    "lives_at": "lives_in",
    "home_is": "lives_in",
    "residence": "lives_in",
    "city": "lives_in",
    "home_city": "lives_in",
    "location": "lives_in",
    "relocated_to": "lives_in",
    "works_for": "works_at",
    "employed_by": "works_at",
    "employed_at": "works_at",
    "employer": "works_at",
    "company": "works_at",
    "workplace": "works_at",
    "works_as": "job",
    "occupation": "job",
    "profession": "job",
    "job_title": "job",
    "position": "job",
    "role": "job",
    "title": "job",
    "name": "is_named",
    "full_name": "is_named",
    "first_name": "is_named",
    "called": "is_named",
    "goes_by": "is_named",
    "is_aged": "age",
    "born_on": "birthday",
    "birth_date": "birthday",
    "date_of_birth": "birthday",
    "spouse": "married_to",
    "wife": "married_to",
    "husband": "married_to",
    "phone_number": "phone",
    "mobile": "phone",
    "mobile_number": "phone",
    "cell": "phone",
    "number": "phone",
    "email_address": "email",
    "e-mail": "email",
    "mail": "email",
    "home_address": "address",
    "hometown": "home_town",
    "comes_from": "from",
    "is_from": "from",
    "originally_from": "from",
    "supervisor": "manager",
    "boss": "manager",
    "loves": "likes",
    "enjoys": "likes",
    "adores": "likes",
    "hates": "likes",
    "dislikes": "likes",
    "loathes": "likes",
    "detests": "likes",
    "is_fan_of": "likes",
    "colour": "color",
    "favorite_colour": "favorite_color",
    "favourite_color": "favorite_color",
    "girlfriend": "dating",
    "boyfriend": "dating",
    "owns": "has",
    "possesses": "has",
    "due_date": "deadline",
    "due": "deadline",
}

# Slots closed by a statement: (predicate, objects; none: any) by predicate and object (empty: any).
_ALSO: dict[tuple[str, str], tuple[tuple[str, frozenset[str]], ...]] = {
    ("marital_status", "divorced"): (("married_to", frozenset()),),
    ("marital_status", "widowed"): (("married_to", frozenset()),),
    ("marital_status", "single"): (
        ("married_to", frozenset()),
        ("dating", frozenset()),
        ("engaged_to", frozenset()),
    ),
    ("marital_status", "married"): (("engaged_to", frozenset()),),
    ("married_to", ""): (
        ("marital_status", frozenset(("single", "engaged", "divorced", "widowed"))),
        ("engaged_to", frozenset()),
        ("dating", frozenset()),
    ),
    ("got_married", ""): (
        ("marital_status", frozenset(("single", "engaged", "divorced", "widowed"))),
        ("engaged_to", frozenset()),
    ),
    ("got_divorced", ""): (
        ("married_to", frozenset()),
        ("marital_status", frozenset(("married",))),
    ),
    ("dating", ""): (("marital_status", frozenset(("single",))),),
    ("engaged_to", ""): (("marital_status", frozenset(("single",))), ("dating", frozenset())),
    ("got_engaged", ""): (("marital_status", frozenset(("single",))),),
    ("sold", ""): (("has", frozenset()),),
    ("left", ""): (
        ("works_at", frozenset()),
        ("studies_at", frozenset()),
        ("member_of", frozenset()),
    ),
}

_NEGATIVE = word_set("hates dislikes loathes detests")


_CLOCK = re.compile(
    r"\b\d{1,2}(?::\d\d)?\s*(?:[ap]\.?m\b)|\b\d{1,2}:\d\d\b|^at \d{1,2}$", re.IGNORECASE
)
_DATE = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\b\d{4}-\d\d|day\b",
    re.IGNORECASE,
)


_MOST = 50
# Position of the floor between the card's "related" (0) and "duplicate" (1). Measured with the
# built-in model on fifty pairs: half way lets car/vehicle and doctor/physician through and keeps
# breakfast/lunch and mother/father apart.
_SHARE = 0.5


@text_cache(4096)
def canonical_predicate(predicate: str) -> str:
    """Canonicalize a predicate: lower case, underscores, one synonym."""
    plain = "_".join(fold(predicate).replace("-", "_").replace(" ", "_").split("_")).strip("_")
    plain = plain.replace("favourite", "favorite")
    return _SAME.get(plain, plain)


def is_contrary(predicate: str) -> bool:
    """True if a predicate negates its canonical form: hates for likes."""
    return fold(predicate).strip() in _NEGATIVE


def closed_slots(predicate: str, thing: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return other slots that a statement closes.

    Pairs of predicate and the objects it closes (empty: any).
    """
    name = canonical_predicate(predicate)
    return _ALSO.get((name, fold(thing)), ()) + _ALSO.get((name, ""), ())


def is_single(predicate: str, subject: str = "", thing: str = "") -> bool:
    """True if (subject, predicate) holds one value at a time.

    For ``is`` the subject's last word decides, and the value ``thing``: "the server is slow" is a
    remark, "the server is db-7" a value.
    """
    name = canonical_predicate(predicate)
    if (
        name in SINGLE
        or name.startswith("favorite_")
        or name.endswith(
            ("_name", "_number", "_deadline", "_date", "_version", "_port", "_address")
        )
    ):
        return True
    if name == "is":
        noun = subject.rpartition(" ")[2].lower()
        remark = noun in THINGS and thing.islower() and not any(char.isdigit() for char in thing)
        return noun in ATTRIBUTES and not remark
    return False


def classify_value(thing: str) -> str:
    """Classify a value: week, date, clock, place, number, name or words."""
    if "week of" in thing:
        return "week"
    if _DATE.search(thing):
        return "date"
    if _CLOCK.search(thing):
        return "clock"
    if any(char.isdigit() for char in thing):
        return "place" if thing.startswith(("in ", "at ", "on ")) else "number"
    return "name" if thing[:1].isupper() else "words"


def has_synonyms(candidate: CandidateStatement, embedder: Embedder) -> bool:
    """True for a slot of one value whose name can be compared."""
    return (
        candidate.single
        and candidate.effect != "ends"
        and bool(_slot_name(candidate.subject, candidate.predicate))
        and embedder.card.floors.keys() >= {"related", "duplicate"}
    )


def find_synonyms(
    candidate: CandidateStatement, known: Sequence[Record], embedder: Embedder
) -> tuple[Record, ...]:
    """Find records whose slot name is a synonym of the candidate's.

    The candidate must have a slot to compare (``has_synonyms``). Others need names of their own and
    the same owner of the slot; names that share a word differ by the rest of it: ``work phone`` is
    not ``home phone``. Raises ModelError.
    """
    floors = embedder.card.floors
    name = _slot_name(candidate.subject, candidate.predicate)
    floor = floors["related"] + _SHARE * (floors["duplicate"] - floors["related"])
    holder = _slot_holder(candidate.subject, candidate.predicate)
    words = set(terms(name))
    others = [
        (record, other)
        for record in known[:_MOST]
        if (other := _slot_name(record.subject, record.predicate))
        and _slot_holder(record.subject, record.predicate) == holder
        and not words & set(terms(other))
    ]
    if not others:
        return ()
    rows = embedder.embed([name, *(other for _, other in others)])
    return tuple(
        record
        for (record, _), row in zip(others, rows[1:], strict=True)
        if float(row @ rows[0]) >= floor
    )


def _slot_name(subject: str, predicate: str) -> str:
    """Name of the slot; empty for built-in predicates."""
    canonical = canonical_predicate(predicate)
    if canonical == "is":
        return subject.rpartition("'s ")[2]
    return (
        ""
        if canonical in SINGLE or canonical.startswith("favorite_")
        else canonical.replace("_", " ")
    )


def _slot_holder(subject: str, predicate: str) -> str:
    """Owner of the slot: ``user`` for ``user's car``."""
    if canonical_predicate(predicate) != "is":
        return subject
    return subject.rpartition("'s ")[0] or "the"
