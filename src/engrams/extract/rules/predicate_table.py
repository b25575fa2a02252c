"""Predicates of English verbs and prepositions. Data."""

from __future__ import annotations

from engrams.extract.candidate import Effect
from engrams.extract.predicate_slots import ATTRIBUTES, SINGLE, canonical_predicate
from engrams.frozen_data import dataclass
from engrams.text.vocabulary import read_vocabulary
from engrams.text.word_list import word_set

OPINIONS = {
    "love": True,
    "like": True,
    "enjoy": True,
    "adore": True,
    "cherish": True,
    "hate": False,
    "dislike": False,
    "loathe": False,
    "detest": False,
}
PREFERS = frozenset(("prefer", "favor"))
INTENDS = {
    "plan": "plans_to",
    "intend": "plans_to",
    "aim": "plans_to",
    "hope": "wants_to",
    "want": "wants_to",
    "wish": "wants_to",
    "dream": "wants_to",
    "decide": "decided_to",
    "choose": "decided_to",
    "try": "trying_to",
    "promise": "plans_to",
    "need": "needs_to",
    "consider": "considers",
    "agree": "agreed_to",
    "think": "plans_to",
}
BEGINS = frozenset(("start", "begin", "resume"))
STOPS = frozenset(("stop", "quit"))

# Verbs of talk, thought and feeling: what follows them is no fact about the speaker's life.
CHATTER = word_set(read_vocabulary(__file__, "chatter"))

# Chatter verbs that state a fact as a past event with an object.
TELLING = word_set(
    "get make find give send set share bring show leave end receive do experience help face see"
    " check call put provide review include keep encourage notice recommend"
)

DIETS = word_set(
    "vegan vegetarian pescatarian pescetarian keto kosher halal omnivore flexitarian"
) | {"gluten-free", "dairy-free"}
CONDITIONS = word_set(
    "diabetic celiac coeliac asthmatic pregnant deaf blind colorblind colourblind dyslexic autistic"
    " epileptic anemic bipolar disabled sober lactose nearsighted"
)
MARITAL = word_set("single married divorced widowed engaged separated")
FAITHS = word_set(
    "christian catholic protestant muslim jewish hindu buddhist atheist agnostic mormon orthodox"
    " lutheran"
)
WORDS_OF_SELF = word_set(
    "transgender trans gay lesbian bisexual queer straight nonbinary non-binary left-handed"
    " right-handed bilingual introvert introverted extrovert extroverted retired unemployed"
    " self-employed freelance adopted"
)
NATIONS = word_set(read_vocabulary(__file__, "nations"))

JOBS = word_set(read_vocabulary(__file__, "jobs"))

RELATIONS = word_set(read_vocabulary(__file__, "relations"))

VAGUE = word_set(read_vocabulary(__file__, "vague"))

# Nouns that say nothing by themselves: "a place", "an experience".
HOLLOW = VAGUE | word_set(read_vocabulary(__file__, "hollow"))

# Things that need no more than "the": there is one of them in a life.
KNOWN_THINGS = word_set(read_vocabulary(__file__, "known_things"))

# Technical acronyms are common nouns: "the API" needs a name.
ACRONYMS = word_set("""
    api apis css html js ui ux url urls sql dom http https json xml csv pdf ip id ids ssl tls dns cdn mvp seo crud orm cli ide cpu gpu ram
    pr qa ci cd db sdk app svg cors csrf get post put delete ok
    """)

# Tools of software: moved to, but lived in by nobody.
TOOLS = word_set(read_vocabulary(__file__, "tools"))


@dataclass(frozen=True, slots=True)
class VerbSense:
    """Predicate that a verb phrase stands for; ``confidence`` is 0..1."""

    predicate: str
    category: str
    effect: Effect = "states"
    confidence: float = 0.85
    polarity: bool = True


def _parse_table(text: str, confidence: float = 0.9) -> dict[tuple[str, str], VerbSense]:
    table: dict[tuple[str, str], VerbSense] = {}
    for line in text.strip().splitlines():
        verb, preps, predicate, category, *effect = line.split()
        for prep in preps.split("|"):
            sense = VerbSense(predicate, category, effect[0] if effect else "states", confidence)  # type: ignore[arg-type]  # the table's own words
            table[verb, "" if prep == "-" else prep] = sense
    return table


# verb, prepositions ("-": none), predicate, category, effect. "Place": the object must name a place
# or organisation.
PROPER = _parse_table(read_vocabulary(__file__, "proper"))

VERBS = _parse_table(
    read_vocabulary(__file__, "verbs"),
    0.8,
)


# Predicates by verb: what verbs of no table give is no triple.
_KNOWN = frozenset(
    sense.predicate for table in (PROPER, VERBS) for sense in table.values()
) | word_set(
    "likes prefers plans_to wants_to decided_to needs_to diet has_condition marital_status religion"
    " nationality_is trait age turns birthday is_named job is_a from lives_in works_at studies_at"
    " allergic_to diagnosed_with interested_in passionate_about fears good_at bad_at speaks"
    " responsible_for married_to engaged_to dating born_in grew_up_in enrolled_in member_of has uses"
    " got_married got_engaged got_divorced planning is studied_at worked_at lived_in"
)


def is_known_predicate(predicate: str) -> bool:
    """True for a predicate whose reading is certain enough for a triple."""
    return (
        predicate in _KNOWN
        or predicate in RELATIONS
        or canonical_predicate(predicate) in ATTRIBUTES | SINGLE
        or predicate.startswith(("favorite_", "was_"))
    )
