"""Names in one memory, with the kinds that their words and neighbours tell.

``read_names`` is the way in. Capitals and their neighbours tell the names in a text; the subject
and object of a fact tell some more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from sys import intern
from typing import NamedTuple

from engrams.core import EntityKind, Kind, Record
from engrams.read.entities.entity_kind_words import (
    AFTER_NOUNS,
    CALLED,
    EMPLOYED,
    GREETINGS,
    HOMES,
    LIKED,
    MOVES,
    NO_OBJECTS,
    PEOPLE,
    PLACE_LINKS,
    PROJECTS,
    READS,
    WORK_HEADS,
    WORK_LINKS,
    WORKS,
    WORKS_OF_ART,
)
from engrams.read.entities.name_vocabulary import (
    ALSO_WORDS,
    ANIMALS,
    NEVER,
    ORGANISATION_HEADS,
    ORGANISATION_NOUNS,
    PLACE_BEGINS,
    PLACE_HEADS,
    RELATIONS,
    TITLES,
)
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP

_MOST = 20_000
"""Characters read of one memory."""
_LONGEST = 5
"""Words of the longest name."""
_LONGEST_SPEAKER = 4
_LONGEST_UNSPACED = 12
"""Characters of the longest object without capitals that is a name, as in Chinese."""

_WORD = re.compile(r"[^\W\d_]+(?:[’'-][^\W\d_]+)*")
_CODE = re.compile(r"(?s:```.*?```)|`[^`\n]*`|^#{1,6} [^\n]*$", re.MULTILINE)
"""Code and headings, where capitals name nothing."""
_QUOTED = re.compile(r'["“„«][^"“”„«»\n]{1,100}["”“»]')
_OPENERS = frozenset('.!?:;…\n"“”„«»*•–—(-[>')

_WINDOW = 5
_TITLE_CUE = 40
"""Characters before a title in which its cue stands."""
_SYMBOLS = 0x2190
"""Code point from which a character between two words is a sign, such as an emoji."""


_SPOKEN_KINDS = (Kind.TURN, Kind.EXCHANGE, Kind.NOTE)
_READ_KINDS = (
    *_SPOKEN_KINDS,
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.CORRECTION,
    Kind.PROCEDURE,
    Kind.NEGATIVE,
    Kind.RULE,
)
NOBODY = frozenset(
    ("user", "human", "assistant", "ai", "bot", "system", "tool", "unknown", "the user", "")
)

_CALL = re.compile(
    r"\b(?:call me|i go by|goes? by the name|nickname is|nicknamed) ([A-Z][a-z]{1,20})\b",
    re.IGNORECASE,
)


_CUT = re.compile(r"[^\w\s’'+-]")
_MOST_WORDS = 3


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """Capitalised words of a memory that may be a name."""

    words: tuple[str, ...]
    opens_sentence: bool = False
    """They begin a sentence, where a capital means nothing."""
    possessive: bool = False
    """An 's follows."""
    kinds: tuple[EntityKind, ...] = ()
    """Kinds that their words and neighbours tell."""


@dataclass(frozen=True, slots=True)
class FactPhrase:
    """Lower-case words, folded, that a fact's object begins with."""

    words: tuple[str, ...]
    liked: bool
    """They are one word for what somebody does or likes."""


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """Names of one memory."""

    names: tuple[NameCandidate, ...]
    speaker: str = ""
    """Speaker, if that is a name."""
    own_names: tuple[str, ...] = ()
    """Names that the speaker goes by, as they said."""
    phrase: FactPhrase | None = None
    """Subject of a fact."""
    sources: tuple[tuple[str, str], ...] = ()
    """Ids of memories that a fact was taken from, each with its quote."""
    is_about_user: bool = False
    """It is a fact of the user, whom its text does not name."""
    lower_words: tuple[str, ...] = ()
    """Other words, folded, but for those that tell nothing."""


_NO_NAMES = MemoryNames(())


def read_names(record: Record) -> MemoryNames:
    """Read the names of one memory, from its text and fact.

    Pure, and linear in the text.
    """
    if record.kind not in _READ_KINDS:
        return _NO_NAMES
    text = record.text[:_MOST]
    if "`" in text or "#" in text:
        text = _CODE.sub(" .\n", text)
    tokens = _tokenise(text)
    candidates = [*_find_names(text, tokens), *_find_titles(text)]
    if record.role == "assistant" and not record.speaker:
        # A model's prose is full of capitals; only the names in it count.
        candidates = [replace(candidate, kinds=()) for candidate in candidates]
    lower_words = {
        token.folded for token in tokens if token.text[0].islower() and token.folded not in STOP
    }
    return MemoryNames(
        names=(*candidates, *_slot_names(record)),
        speaker=_speaker_name(record),
        own_names=_own_names(record, text),
        phrase=_fact_phrase(record),
        sources=tuple({(item.source, item.quote) for item in record.evidence if item.source}),
        is_about_user=bool(record.subject) and fold(record.subject) in NOBODY,
        lower_words=tuple(lower_words),
    )


class _Token(NamedTuple):
    """Word of a text."""

    text: str
    """The word without an ending 's."""
    folded: str
    start: int
    end: int
    """Position behind the word, with its 's."""
    opens_sentence: bool
    possessive: bool
    quoted: bool

    @property
    def is_name(self) -> bool:
        return (
            self.text[0].isupper()
            and self.folded not in NEVER
            and not self.quoted
            and (len(self.text) > 1)
            and self.text != "I"
        )


def _fold_word(word: str) -> str:
    return intern(word.lower() if word.isascii() else fold(word))


def _tokenise(text: str) -> list[_Token]:
    """Split a text into its words."""
    quotations = []
    if any(mark in text for mark in '"“„«'):
        quotations = [match.span() for match in _QUOTED.finditer(text)]
    tokens: list[_Token] = []
    last_end = 0
    for match in _WORD.finditer(text):
        word, possessive = _strip_ending(match[0].replace("’", "'"))
        start = match.start()
        while quotations and quotations[0][1] <= start:
            quotations.pop(0)
        gap = text[last_end:start]
        opens = not tokens or any(char in _OPENERS or ord(char) > _SYMBOLS for char in gap)
        tokens.append(
            _Token(
                text=word,
                folded=_fold_word(word),
                start=start,
                end=match.end(),
                opens_sentence=opens,
                possessive=possessive,
                quoted=bool(quotations) and quotations[0][0] <= start,
            )
        )
        last_end = match.end()
    return tokens


def _strip_ending(word: str) -> tuple[str, bool]:
    """Split off an 's.

    A contraction becomes lower case, for it is no name.
    """
    head, mark, tail = word.partition("'")
    if not mark:
        return word, False
    if tail == "s" and _fold_word(head) not in STOP:
        return head, True
    return (word, False) if len(head) == 1 and tail[0].isupper() else (word.lower(), False)


def _find_names(text: str, tokens: Sequence[_Token]) -> Iterator[NameCandidate]:
    """Find runs of capitalised words, without a function word or greeting before them."""
    start = 0
    while start < len(tokens):
        if not tokens[start].is_name:
            start += 1
            continue
        end = start + 1
        while (
            end < len(tokens)
            and end - start < _LONGEST
            and _is_joined(text, tokens[end - 1], tokens[end])
        ):
            end += 1
        first = start
        while first < end - 1 and _is_no_part(tokens[first]):
            first += 1
        run = tokens[first:end]
        is_title_alone = len(run) == 1 and run[0].folded in TITLES
        if not _is_function_word(run[0].folded) and not is_title_alone:
            yield NameCandidate(
                words=tuple(token.text for token in run),
                opens_sentence=first == start and run[0].opens_sentence,
                possessive=run[-1].possessive,
                kinds=tuple(_tell_kinds(text, tokens, first, end)),
            )
        start = end


def _is_no_part(token: _Token) -> bool:
    """True for a capitalised word before a name: "Hey Anna"."""
    return _is_function_word(token.folded) or token.folded in GREETINGS


def _find_titles(text: str) -> Iterator[NameCandidate]:
    """Find titles in quotes that somebody read, watched or played."""
    if '"' not in text and "“" not in text:
        return
    for match in _QUOTED.finditer(text):
        words = match[0][1:-1].strip(" .,!?").split()
        cue = text[max(0, match.start() - _TITLE_CUE) : match.start()]
        before = [word.casefold() for word in cue.split()]
        if not before or not 1 <= len(words) <= _LONGEST + 1:
            continue
        if not (words[0][0].isupper() and words[-1][0].isupper()):
            continue
        if before[-1] in READS or (before[-1] in CALLED and WORKS_OF_ART.intersection(before)):
            yield NameCandidate(tuple(words), kinds=(EntityKind.WORK,))


def _is_function_word(word: str) -> bool:
    return word in STOP and word not in ALSO_WORDS


def _is_joined(text: str, token: _Token, following: _Token) -> bool:
    """True where one blank, or a title's full stop, parts two names."""
    if not following.is_name or token.possessive:
        return False
    gap = text[token.end : following.start]
    return gap == " " or (gap == ". " and token.folded in TITLES)


def _tell_kinds(text: str, tokens: Sequence[_Token], first: int, end: int) -> Iterator[EntityKind]:
    """Yield the kinds that a name's words and neighbours tell."""
    run = tokens[first:end]
    before = [token.folded for token in _near_before(text, tokens, first)]
    after = [token.folded for token in _near_after(tokens, end)]
    if (
        run[0].folded in TITLES
        or (before and before[-1] in RELATIONS)
        or _is_addressed(text, tokens, first, end)
    ):
        yield EntityKind.PERSON
    if (
        after[:2]
        and after[0] in ("my", "meine", "mein", "mi", "ma", "mon")
        and text[run[-1].end : run[-1].end + 2] == ", "
    ):
        if after[1] in RELATIONS:
            yield EntityKind.PERSON
        if after[1] in ANIMALS:
            yield EntityKind.ANIMAL
    if before and before[-1] in ANIMALS:
        yield EntityKind.ANIMAL
    if len(before) > 1 and before[-1] in CALLED:
        if RELATIONS.intersection(before[-4:]):
            yield EntityKind.PERSON
        elif ANIMALS.intersection(before[-4:]):
            yield EntityKind.ANIMAL
    yield from _tell_heads(run, after)
    if before and before[-1] in PROJECTS:
        yield EntityKind.PROJECT
    if len(before) > 1 and before[-1] in PLACE_LINKS and MOVES.intersection(before):
        yield EntityKind.PLACE
    if len(before) > 1 and before[-1] in WORK_LINKS and WORKS.intersection(before[-3:]):
        yield EntityKind.ORGANISATION


def _tell_heads(run: Sequence[_Token], after: Sequence[str]) -> Iterator[EntityKind]:
    """Yield the kind that the first or last word tells."""
    if len(run) > 1 and run[-1].folded in ORGANISATION_HEADS:
        yield EntityKind.ORGANISATION
    elif len(run) > 1 and (run[-1].folded in PLACE_HEADS or run[0].folded in PLACE_BEGINS):
        yield EntityKind.PLACE
    elif len(run) > 1 and (run[0].folded in PROJECTS or run[-1].folded in PROJECTS):
        yield EntityKind.PROJECT
    elif after and after[0] in ORGANISATION_NOUNS:
        yield EntityKind.ORGANISATION
    elif after and after[0] in WORK_HEADS:
        yield EntityKind.WORK


def _near_before(text: str, tokens: Sequence[_Token], first: int) -> list[_Token]:
    """Words before a name in its clause, at most five."""
    start = first
    while start > 0 and first - start < _WINDOW and not tokens[start].opens_sentence:
        if "," in text[tokens[start - 1].end : tokens[start].start]:
            break
        start -= 1
    return list(tokens[start:first])


def _near_after(tokens: Sequence[_Token], end: int) -> list[_Token]:
    """Words after a name in its sentence, at most three."""
    near: list[_Token] = []
    for token in tokens[end : end + 3]:
        if token.opens_sentence:
            break
        near.append(token)
    return near


def _is_addressed(text: str, tokens: Sequence[_Token], first: int, end: int) -> bool:
    """True for "Hey Mel!" and "Thanks, Jon."."""
    if (
        first == 0
        or tokens[first - 1].folded not in GREETINGS
        or text[tokens[first - 1].end : tokens[first].start] not in (" ", ", ")
    ):
        return False
    return text[tokens[end - 1].end : tokens[end - 1].end + 1] in ("!", ",", ".", "?", "", "\n")


# --------------------------------------------------------------------------------------------------
# facts


def _speaker_name(record: Record) -> str:
    """Speaker of a memory, if that is a name and no account."""
    words = record.speaker.split()
    is_name = 1 <= len(words) <= _LONGEST_SPEAKER and all(
        word[0].isupper() and _WORD.fullmatch(word) for word in words
    )
    return record.speaker.strip() if is_name and fold(record.speaker) not in NOBODY else ""


def _own_names(record: Record, text: str) -> tuple[str, ...]:
    """Names that the speaker goes by, as they said."""
    if record.predicate == "is_named" and fold(record.subject) in NOBODY:
        return (record.object,)
    if record.kind not in _SPOKEN_KINDS or (record.role == "assistant" and not record.speaker):
        return ()
    names = [match[1] for match in _CALL.finditer(text)]
    return tuple(name for name in names if name[0].isupper())


def _slot_names(record: Record) -> Iterator[NameCandidate]:
    """Names that a fact's subject and object hold."""
    if record.subject and fold(record.subject) not in NOBODY:
        yield from _capitals(record.subject, ())
    kinds = tuple(_object_kinds(record))
    if not record.object or not kinds:
        return
    if record.object.isascii() or record.object.casefold() != record.object:
        yield from _capitals(record.object, kinds)
    elif len(record.object) <= _LONGEST_UNSPACED:
        yield NameCandidate((record.object,), kinds=kinds)


def _capitals(text: str, kinds: tuple[EntityKind, ...]) -> Iterable[NameCandidate]:
    """Name that a slot begins with, if any."""
    tokens = _tokenise(text)
    run: list[str] = []
    for token in tokens:
        if not token.is_name or token.folded in STOP:
            break
        run.append(token.text)
    return [NameCandidate(tuple(run), kinds=kinds)] if run and len(run) <= _LONGEST else []


def _object_kinds(record: Record) -> Iterator[EntityKind]:
    predicate = record.predicate
    if predicate in HOMES:
        yield EntityKind.PLACE
    elif predicate in EMPLOYED:
        yield EntityKind.ORGANISATION
    elif predicate in ANIMALS or (
        predicate == "is_named"
        and _WORD.findall(record.subject)[-1:]
        and _last_word(record.subject) in ANIMALS
    ):
        yield EntityKind.ANIMAL
    elif predicate in PEOPLE or predicate in RELATIONS:
        yield EntityKind.PERSON


def _last_word(text: str) -> str:
    return fold(_WORD.findall(text)[-1])


def _fact_phrase(record: Record) -> FactPhrase | None:
    """Words of lower case that a fact's object begins with: "pottery class"."""
    if (
        record.kind not in (Kind.FACT, Kind.PREFERENCE)
        or not record.object
        or record.predicate in NO_OBJECTS
    ):
        return None
    parts = _CUT.split(record.object, maxsplit=1)
    words = list(map(_fold_word, parts[0].split()))
    first = next((number for number, word in enumerate(words) if word not in STOP), 0)
    end = first
    while end < len(words) and words[end] not in STOP and words[end] != "together":
        end += 1
    phrase = tuple(words[first:end])
    after = words[end : end + 1]
    if not 1 <= len(phrase) <= _MOST_WORDS or not all(
        word in record.object and word.replace("-", "").isalpha() for word in phrase
    ):
        return None
    is_activity = phrase[-1].endswith("ing")
    if is_activity and after and after[0] not in AFTER_NOUNS:
        return None
    is_one_of_two = bool(after) and after[0] in ("and", "or") and end + 2 == len(words)
    is_alone = len(phrase) == 1 and len(parts) == 1 and (not after or is_activity or is_one_of_two)
    return FactPhrase(phrase, is_alone and record.predicate in LIKED)
