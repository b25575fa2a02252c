"""Names and words that tell people, places and organisations apart. Data."""

from __future__ import annotations

from engrams.text.vocabulary import read_vocabulary

NICKNAMES = {
    short: frozenset(full.split())
    for short, full in (
        line.strip().split(": ")
        for line in read_vocabulary(__file__, "nicknames").strip().splitlines()
    )
}
"""Short given names, with the ones that they may stand for."""

SAME_NAME = {
    "usa": "united states",
    "nyc": "new york city",
    "uk": "united kingdom",
    "munchen": "munich",
    "koln": "cologne",
    "lisboa": "lisbon",
}
"""Names of one place, by one that is short or its own."""


def to_words(text: str) -> frozenset[str]:
    """Split a text at blanks into a set of words."""
    return frozenset(text.split())


def _lines(text: str) -> frozenset[str]:
    return frozenset(name.strip() for line in text.strip().splitlines() for name in line.split(","))


FIRST_NAMES = to_words(read_vocabulary(__file__, "first_names"))
"""Given names, folded, that are no ordinary words in English."""

ALSO_WORDS = to_words(read_vocabulary(__file__, "also_words"))
"""Given names that are ordinary words too: they need a cue."""

PLACES = _lines(read_vocabulary(__file__, "places"))
"""Countries, regions and large cities, folded."""

UNSURE_PLACES = to_words(
    "nice phoenix hamilton sofia valencia queens cambridge oxford victoria florence georgia"
    " charlotte java perth reading"
)
"""Places that are other things as often: they need a cue."""

ORGANISATIONS = to_words(read_vocabulary(__file__, "organisations"))
"""Organisations, folded, whose names are no ordinary words."""

ORGANISATION_HEADS = to_words(read_vocabulary(__file__, "organisation_heads"))
"""Last words of a name, folded, that make it an organisation's."""

ORGANISATION_NOUNS = to_words(
    "university college school academy hospital clinic foundation bank airlines church krankenhaus"
)
"""Words in lower case that do so after a name: "Santa Maria hospital"."""

PLACE_HEADS = to_words("""
    street avenue road park beach lake river mountain mountains island islands bay canyon valley bridge falls square forest desert coast
    city county springs strasse
    """)
"""Last words of a name, folded, that make it a place's."""

PLACE_BEGINS = to_words("mount lake port saint fort")

TITLES = to_words(
    "mr mrs ms miss dr doctor prof professor aunt auntie uncle grandma grandpa frau herr madame"
    " monsieur senor senora sir"
)

RELATIONS = to_words(read_vocabulary(__file__, "relations"))
"""Words, folded, for people whom somebody has: "my sister Emma"."""

ANIMALS = to_words(
    "guinea hound doggy dog cat puppy pup kitten kitty pet rabbit hamster bunny turtle parrot horse"
    " pony hund katze kater chien perro gato"
)

NEVER = to_words(read_vocabulary(__file__, "never"))
"""Capitalised words, folded, that name no person, place or organisation."""
