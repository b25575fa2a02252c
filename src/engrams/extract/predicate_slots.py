"""Slots of statements: canonical predicates, slots of one value, and slots that close others.

A slot is a subject and a predicate (``user``, ``lives_in``); its value is the object. Enter at
``canonical_predicate`` and ``is_single``.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary, word_set

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
_CLOSED: dict[tuple[str, str], tuple[tuple[str, frozenset[str]], ...]] = {
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


_RELATED_SLOTS = {
    **dict.fromkeys(("eats", "eats_no", "drinks"), "diet"),
    "address": "lives_in",
    **dict.fromkeys(("works_at", "employer", "title"), "job"),
    **dict.fromkeys(("studies_at", "school", "major"), "studies"),
    **dict.fromkeys(("dating", "married_to", "relationship"), "marital_status"),
}
"""Predicates that tell of another slot: what somebody eats may end a diet."""

_CLOCK = re.compile(
    r"\b\d{1,2}(?::\d\d)?\s*(?:[ap]\.?m\b)|\b\d{1,2}:\d\d\b|^at \d{1,2}$", re.IGNORECASE
)
_DATE = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\b\d{4}-\d\d|day\b",
    re.IGNORECASE,
)


@text_cache(4096)
def canonical_predicate(predicate: str) -> str:
    """Canonicalize a predicate: lower case, underscores, one synonym."""
    plain = "_".join(fold(predicate).replace("-", "_").replace(" ", "_").split("_")).strip("_")
    plain = plain.replace("favourite", "favorite")
    return _SAME.get(plain, plain)


def relate_predicate(predicate: str) -> str:
    """Return the slot that a predicate tells of: a title is of the job, what somebody eats of a diet."""
    return _RELATED_SLOTS.get(predicate, predicate)


def is_contrary(predicate: str) -> bool:
    """True if a predicate negates its canonical form, as ``hates`` does ``likes``."""
    return fold(predicate).strip() in _NEGATIVE


def closed_slots(predicate: str, value: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the other slots of its subject that a statement closes.

    As pairs of a predicate, and the values that it closes (empty: every value).
    """
    name = canonical_predicate(predicate)
    return _CLOSED.get((name, fold(value)), ()) + _CLOSED.get((name, ""), ())


def is_single(predicate: str, subject: str = "", value: str = "") -> bool:
    """True if (subject, predicate) holds one value at a time.

    For ``is`` the subject's last word decides, and the value: "the server is slow" is a remark,
    "the server is db-7" a value.
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
        is_remark = noun in THINGS and value.islower() and not any(char.isdigit() for char in value)
        return noun in ATTRIBUTES and not is_remark
    return False


def classify_value(value: str) -> str:
    """Classify a value: week, date, clock, place, number, name or words."""
    if "week of" in value:
        return "week"
    if _DATE.search(value):
        return "date"
    if _CLOCK.search(value):
        return "clock"
    if any(char.isdigit() for char in value):
        return "place" if value.startswith(("in ", "at ", "on ")) else "number"
    return "name" if value[:1].isupper() else "words"
