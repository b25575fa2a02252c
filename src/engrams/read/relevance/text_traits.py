"""Traits of prompts and memories by their words: topics, who is meant, and what is wanted.

``describe_prompt`` and ``describe_memory`` are the ways in. The words stand in ``words.json``, in
six languages; ``*`` stands for any ending.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path

from engrams.frozen_data import dataclass
from engrams.text.acknowledgements import is_acknowledgement
from engrams.text.late_patterns import holds_any
from engrams.text.measures import is_question
from engrams.text.normalize import fold
from engrams.text.questions import is_asking
from engrams.text.stems import find_languages
from engrams.text.stopwords import STOP
from engrams.text.terms import read_piece, split_ascii, terms, tokens
from engrams.text.text_caches import text_cache

_TOPICS = frozenset(
    "food health home money travel time child pet vehicle body event test ship commit data interface service code clock".split()
)
"""Groups of words that a prompt and a memory may share without sharing a word."""
FORM = (
    "is_question",
    "is_asking",
    "is_hollow",
    "text_length",
    "has_number",
    "rule",
    "diet",
    "tells_self",
)
"""Features of a memory by its own words: it only asks or orders, it is bare assent, and so on."""
_SUBJECT = "/"
"""Mark before the name of a subject."""
_MOST_RULES = 3
_SHORTEST_STEM = 2
_LONGEST_STEM = 12
DESCRIBED_CHARACTERS = 1200
"""Characters of a text that are looked at."""
_ARITHMETIC = re.compile(
    r"\d\s*(?:[-+*/x×÷%^]|times|plus|minus|mal|por|fois|vezes|mais|menos"
    r"|(?:a )?divid\w+ (?:por|by)|geteilt durch|divise par)\s*\d|\d\s*%",
    re.ASCII,
)
_PAYLOAD = re.compile(r"```|`[^`]+`|[\"“«„][^\"”»“]{8,}[\"”»“]|:\s*\n|\n\s+\S|[{};]\s*$|\w\(\w*\)")
_WORLD_QUESTION = re.compile(
    r"^\W*(?:(?:please|bitte|can you|could you) )?"
    r"(?:what(?:'s| is| are|s)? (?:an?|the (?:difference|capital|meaning)) "
    r"|why (?:do|does|is|are|did) (?!we|i|my|our)|how (?:do|does|did|is|are) (?!i\b|we\b|my\b|our\b)"
    r"|who (?:invented|wrote|won|founded|painted|discovered)|explain |define |best \w+"
    r"|what does .+ (?:do|mean)\b|how many \w+ (?:are )?(?:there )?in "
    r"|wie (?:entsteh\w+|funktionier\w+|lange lebt) |warum (?:ist|sind|hat|haben) (?:der|die|das)"
    r"|was (?:ist|sind|bedeutet) (?:ein|eine|der unterschied)|erklar\w* "
    r"|pourquoi (?:le|la|les|l')|c'est quoi |explique |combien font "
    r"|perche (?:il|la|i|le|lo|gli)|che (?:cos'e|cosa e) |spiega |quanto fa "
    r"|por que (?:el|la|los|las)|que es un|cuanto es "
    r"|porque e que (?:o|a|os|as) |o que (?:e|sao) (?:um|uma|o|a)|como (?:se |e que )?(?:funciona|trata|faz)"
    r"|quant[oa]s \w+ tem (?:um|uma|o|a) |quant[oa]s? (?:e|sao) \d|explica )"
)
"""It asks about the world, not about somebody: "why do cats purr"."""
_POSSESSIVE = re.compile(
    r"\b(?:my|our|ours|mein\w*|unser\w*|mon|ma|mes|notre|nos|mi|mis|nuestr[oa]s?|meus?|minhas?|noss[oa]s?|mi[oa]|nostr[oaie])\b"
)
"""It asks about something of the asker's, however it begins: "how does kube schedule our jobs"."""
_CODE = re.compile(
    r"\b(?:def|fun|func|fn) \w+\s?\(|\bfunction\b[^.]*[({]|=>|\breturn\b \w|[{};]\s*$|\bclass \w+[:({]|\b\w+ = \S+;?$|```",
    re.MULTILINE,
)
_ORDINAL = re.compile(
    r"\b(?:first|second|third|last|other)\b|\bnumber (?:one|two|three|\d)|\b(?:that|this) one\b"
    r"|\b(?:erste|zweite|dritte|letzte)\w*\b|\b(?:premier|premiere|deuxieme|troisieme|dernier)\b"
    r"|\b(?:primero|primera|segundo|segunda|tercero|tercera|primo|prima|secondo|seconda|terzo)\b|\blatter\b|\bformer\b|^\W*(?:ok(?:ay)?\W+)?[a-d]\b\W"
)
_SOCIAL = re.compile(
    r"\b(?:good ?night|bye|cheers|see you|thank\w*|thx|ty|lol|haha\w*|jaja\w*|gn|nos da|diolch|love you"
    r"|gute nacht|danke|tschuss|bis morgen|bonne nuit|merci|salut|a demain|buenas noches|gracias"
    r"|hasta manana|adios|brb|lgtm|good morning|perfect|great|awesome|super|nice|brilliant|crack|looks good|grazie|buona ?notte"
    r"|buon ?giorno|ciao|guten morgen|bonjour|bom dia|buenos dias|obrigad[oa])\b"
    r"|^\W*(?:good )?(?:morning|night|evening)\W*$|^\W*(?:hi|hey|hello|hallo|hola|moin|salut|na)\b(?:\W+\w+){0,2}\W*$"
)
_CLOSED = re.compile(
    r"\b(?:(?:historical|archival) (?:record|note|entry)|(?:kept|only) for the record|for the record only"
    r"|for reference only|superseded by|nur (?:noch )?(?:zur dokumentation|der vollstandigkeit halber)"
    r"|historische[rs]? (?:eintrag|vermerk|stand)|pour memoire seulement|note historique|trace historique"
    r"|solo (?:como|para) (?:registro|referencia)|(?:registro|nota) historic[oa]"
    r"|so para registo|apenas historico|registo historico|solo per memoria|nota storica)\b"
)
"""It says of itself that it tells of the past alone."""
_CLOSED_WORDS = (
    *("histor", "archival", "for the record", "for reference", "superseded by", "memoria"),
    *(
        "dokumentation",
        "vollstandigkeit",
        "memoire",
        "registro",
        "registo",
        "referencia",
        "storica",
    ),
)
"""Each match holds one of these: looking for them is cheaper than matching."""
_NAME = re.compile(r"(?<=[^.!?\s])[\s\"'(–-]+([A-ZÀ-ÖØ-Þ][\w'-]*)")
_DIGIT = re.compile("[0-9]")
_HEAD = 50
"""Characters of the head of a memory."""
_FEW_WORDS = 6
_VAGUE_WORDS = 12


@dataclass(frozen=True, slots=True)
class TextTraits:
    """Groups of words that a text holds, and its form."""

    words: frozenset[str]
    """Terms of the text."""
    groups: Mapping[str, int]
    """Number of words of each group; groups without any are missing."""
    topics: frozenset[str]
    subjects: frozenset[str]
    """Finer than topics: 60 of them, of households and of software."""
    length: int
    """Number of words, of all kinds."""

    def has(self, group: str) -> float:
        """Return 1 if the text has a word of a group."""
        return float(group in self.groups)


class MemoryTraits:
    """Traits of a memory beyond those of every text; each is worked out when first asked for.

    Most memories that a search looks at are not judged, and of those that are, few are asked for all.
    """

    def __init__(self, text: str) -> None:
        self._content = text[:DESCRIBED_CHARACTERS]
        self.text = _describe(self._content)

    @cached_property
    def names(self) -> frozenset[str]:
        """Terms of its capitalised words that open no sentence."""
        names = " ".join(_NAME.findall(self._content))
        return _read_words(names) if names else frozenset()

    @cached_property
    def form(self) -> tuple[float, ...]:
        """Values of ``FORM``."""
        text = self._content
        groups = self.text.groups
        return (
            float(is_question(text)),
            float(is_asking(text)),
            float(is_acknowledgement(text)),
            math.log1p(self.text.length),
            float(_has_digit(text)),
            float(min(groups.get("rule", 0), _MOST_RULES)),
            float("diet" in groups),
            float("self" in groups),
        )

    @cached_property
    def head(self) -> frozenset[str]:
        """Terms of its first few words: of a title or a key, what it is about."""
        return _read_words(self._content[:_HEAD])

    @cached_property
    def is_closed(self) -> bool:
        """It says of itself that it is kept as a record of the past alone."""
        folded = fold(self._content)
        return holds_any(folded, _CLOSED_WORDS) and _CLOSED.search(folded) is not None

    @cached_property
    def languages(self) -> tuple[str, ...] | None:
        """Likeliest languages; empty: English; None: not known."""
        return find_languages(self._content)

    @cached_property
    def may_not_eat(self) -> bool:
        """It says what somebody may not eat, or does not."""
        return "/allergy" in self.text.subjects or "/veg" in self.text.subjects


@dataclass(frozen=True, slots=True)
class PromptTraits:
    """Traits of a prompt beyond those of every text."""

    text: TextTraits
    is_question: bool
    is_arithmetic: bool
    has_payload: bool
    """It brings the text or code to work on."""
    has_code: bool
    asks_world: bool
    """By its opening it asks about the world: "why is the sky blue"."""
    languages: tuple[str, ...] | None
    """Likeliest languages; empty: English; None: not known."""
    is_vague: bool
    """It says nothing by itself: "go on and plan it"."""
    points_back: bool
    """It picks from what was just said: "the second one"."""
    is_social: bool
    opens_impersonally: bool
    """Its first word asks of the world: "how do …"."""
    opens_with_request: bool


@cache
def _load_groups() -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]:
    """Load the groups of each word and of each stem; subjects have a mark before their names."""
    groups = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
    subjects = json.loads(Path(__file__).with_name("subjects.json").read_text("utf-8"))
    groups |= {f"{_SUBJECT}{name}": listed for name, listed in subjects.items()}
    words: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    for group, listed in groups.items():
        for word in fold(listed).split():
            table = stems if word.endswith("*") else words
            table.setdefault(word.removesuffix("*"), set()).add(group)
    return (
        {word: tuple(sorted(names)) for word, names in words.items()},
        {stem: tuple(sorted(names)) for stem, names in stems.items()},
    )


def _count_groups(groups_of_words: Iterable[frozenset[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for groups in filter(None, groups_of_words):
        for group in groups:
            counts[group] = counts.get(group, 0) + 1
    return counts


@text_cache(1 << 14)
def _read_piece(piece: str) -> tuple[str, frozenset[str]]:
    """Return the term of a piece of a text and the groups of its word; few make up most texts."""
    word, term = read_piece(piece)
    return term, _find_groups(word)


@text_cache(1 << 14)
def _find_groups(word: str) -> frozenset[str]:
    """Find the groups of a word, cached: few words make up most texts."""
    by_word, by_stem = _load_groups()
    groups = {*by_word.get(word, ())}
    for length in range(_SHORTEST_STEM, min(len(word), _LONGEST_STEM) + 1):
        groups.update(by_stem.get(word[:length], ()))
    return frozenset(groups)


@text_cache(1 << 13)
def describe_memory(text: str) -> MemoryTraits:
    """Describe the text of a memory, cached for the next query."""
    return MemoryTraits(text)


def _has_digit(text: str) -> bool:
    if text.isascii():
        return _DIGIT.search(text) is not None
    return any(map(str.isdigit, text))


@text_cache(256)
def describe_prompt(text: str) -> PromptTraits:
    """Describe a prompt."""
    text = text[:DESCRIBED_CHARACTERS]
    traits = _describe(text)
    folded = fold(text).strip()
    opening = tokens(folded[:40])[:1]
    opening_groups = _count_groups(map(_find_groups, opening))
    is_short = traits.length <= _FEW_WORDS
    return PromptTraits(
        text=traits,
        is_question=is_question(text),
        is_arithmetic=bool(_ARITHMETIC.search(folded)),
        has_payload=bool(_PAYLOAD.search(text)),
        has_code=bool(_CODE.search(text)),
        asks_world=bool(_WORLD_QUESTION.search(folded)) and not _POSSESSIVE.search(folded),
        languages=find_languages(text),
        is_vague=is_vague(text),
        points_back=is_short and bool(_ORDINAL.search(folded)),
        is_social=is_short and (is_acknowledgement(text) or bool(_SOCIAL.search(folded))),
        opens_impersonally="impersonal" in opening_groups,
        opens_with_request="request" in opening_groups,
    )


def is_vague(text: str) -> bool:
    """True for a short prompt that says little without the conversation: "what do you suggest?"."""
    words = tokens(text[:DESCRIBED_CHARACTERS])
    if len(words) > _VAGUE_WORDS:
        return False
    # Of a script without blanks, each character is a word: the table has these prompts as a whole.
    is_unspaced = all(len(word) == 1 for word in words)
    return all(_is_generic(word) for word in words) or (is_unspaced and _is_generic("".join(words)))


def _is_generic(word: str) -> bool:
    return word in STOP or "generic" in _find_groups(word)


def _read_words(text: str) -> frozenset[str]:
    """Read the terms of a text, as ``_describe`` does."""
    folded = fold(text)
    if not folded.isascii():
        return frozenset(terms(text))
    found = frozenset([term for term, _ in map(_read_piece, split_ascii(folded)) if term])
    return found or frozenset(terms(text))


def _describe(text: str) -> TextTraits:
    folded = fold(text)
    if folded.isascii():
        readings = [*map(_read_piece, split_ascii(folded))]
        distinct_terms = frozenset([term for term, _ in readings if term])
        groups = _count_groups([groups for _, groups in readings])
        length = len(readings)
    else:
        words = tokens(text)
        distinct_terms = frozenset()
        groups = _count_groups(map(_find_groups, words))
        length = len(words)
    return TextTraits(
        words=distinct_terms or frozenset(terms(text)),
        groups=groups,
        topics=_TOPICS.intersection(groups),
        subjects=frozenset([group for group in groups if group[0] == _SUBJECT]),
        length=length,
    )
