"""Topics of a conversation: whether a turn goes on with what was said lately. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass
from engrams.read.relevance.text_traits import is_vague
from engrams.text.acknowledgements import is_acknowledgement
from engrams.text.stems import find_languages
from engrams.text.stopwords import HAN_FUNCTION
from engrams.text.terms import find_forms, is_unspaced, terms

if TYPE_CHECKING:
    from engrams.ports.models import EmbedderCard, Floats

CONTEXT_TURNS = 4
"""Latest turns that a turn is compared with."""
_LEAST_WORDS = 2
"""Words of content from which a turn without a vector may begin a topic."""
_ANSWER_CHARACTERS = 600
"""Characters of an answer that belong to the context: a long one has a word of everything."""
_HIRAGANA = ("\u3041", "\u309f")


@dataclass(frozen=True, slots=True)
class TurnTopic:
    """Topic of one turn: its words, and its meaning where the embedder knows the language."""

    words: frozenset[int]
    """Hashes of its words: a conversation's state must not hold a text that is purged."""
    vector: Floats | None = None
    """Unit vector. None: there is none, or it says nothing in this language."""


def has_topic(text: str) -> bool:
    """Return False for a turn that only goes on: "thanks", "go on", "and after that?"."""
    return not (is_acknowledgement(text) or is_vague(text))


def read_topic(text: str, vector: Floats | None, card: EmbedderCard) -> TurnTopic:
    """Read the topic of a turn. ``vector``: of the text, by the embedder of this card."""
    is_told = vector is not None and vector.any() and not (card.is_english and _is_foreign(text))
    return TurnTopic(_find_words(text), vector if is_told else None)


def read_answer(text: str) -> TurnTopic:
    """Read what an assistant's answer is about: the words that it begins with."""
    return TurnTopic(_find_words(text[:_ANSWER_CHARACTERS]))


def is_new_topic(turn: TurnTopic, context: Sequence[TurnTopic], least_cosine: float) -> bool:
    """Return True for a turn that shares neither words nor meaning with any turn of its context.

    ``least_cosine``: cosine of two turns from which they are about the same. Words alone decide
    where no vectors do.
    """
    if not context or any(turn.words & earlier.words for earlier in context):
        return False
    cosines = [
        float(turn.vector @ earlier.vector)
        for earlier in context
        if turn.vector is not None
        and earlier.vector is not None
        and len(turn.vector) == len(earlier.vector)
    ]
    return max(cosines) < least_cosine if cosines else len(turn.words) >= _LEAST_WORDS


def _is_foreign(text: str) -> bool:
    """Return True for a text that is not in English, as far as its words or letters tell."""
    letters = [char for char in text if char.isalpha()]
    is_beyond_latin = sum(map(is_unspaced, letters)) > len(letters) / 2
    return is_beyond_latin or bool(find_languages(text))


def _find_words(text: str) -> frozenset[int]:
    """Hash the words of content, in each stem that they may have in the text's language."""
    forms = find_forms(text)
    words = {term for term in terms(text) if not (term in forms.common or _is_function_pair(term))}
    stems = words.union(*(forms.forms.get(word, ()) for word in words))
    return frozenset(map(_hash_word, stems))


def _hash_word(word: str) -> int:
    """Hash a word, the same in each process of a server."""
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)


def _is_function_pair(term: str) -> bool:
    """Return True for characters of an unspaced script that are no word of content together."""
    if not is_unspaced(term):
        return False
    is_hiragana = all(_HIRAGANA[0] <= char <= _HIRAGANA[1] for char in term)
    return len(term) == 1 or is_hiragana or any(char in HAN_FUNCTION for char in term)
