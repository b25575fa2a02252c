"""Names in one memory, with what tells of which kind they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from sys import intern
from typing import NamedTuple

from engrams.core import EntityKind, Kind, Record
from engrams.frozen_data import dataclass
from engrams.read.entities.cue_words import (
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
from engrams.read.entities.name_lists import (
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


_SAID = (
    Kind.TURN,
    Kind.EXCHANGE,
    Kind.NOTE,
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
class FoundName:
    """Capitalised words of a memory that may be a name.

    ``opens``: they begin a sentence, where a capital means nothing. ``owns``: an 's follows.
    ``kinds``: what their neighbours tell.
    """

    words: tuple[str, ...]
    opens: bool = False
    owns: bool = False
    kinds: tuple[EntityKind, ...] = ()


@dataclass(frozen=True, slots=True)
class FactPhrase:
    """Lower-case words, folded, that a fact's object begins with.

    ``liked``: they are one word for what somebody does or likes.
    """

    words: tuple[str, ...]
    liked: bool


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """Names of one memory.

    ``speaker``: who said it, if that is a name. ``calls``: names that the speaker goes by.
    ``phrase``: what a fact is about. ``sources``: memories that a fact was taken from, each with
    its quote. ``of_user``: it is a fact of the user, whom its text does not name. ``lower``: other
    words, folded.
    """

    names: tuple[FoundName, ...]
    speaker: str = ""
    calls: tuple[str, ...] = ()
    phrase: FactPhrase | None = None
    sources: tuple[tuple[str, str], ...] = ()
    of_user: bool = False
    lower: tuple[str, ...] = ()


_NO_NAMES = MemoryNames(())


def read_names(record: Record) -> MemoryNames:
    """Read the names of one memory, from its text and fact.

    Pure, and linear in the text.
    """
    if record.kind not in _SAID:
        return _NO_NAMES
    text = record.text[:_MOST]
    if "`" in text or "#" in text:
        text = _CODE.sub(" .\n", text)
    tokens = _tokenise(text)
    told = [*_scan(text, tokens), *_find_titles(text)]
    if record.role == "assistant" and not record.speaker:
        # A model's prose is full of capitals; only the names in it count.
        told = [replace(name, kinds=()) for name in told]
    names = [*told, *_slot_names(record)]
    of_user = bool(record.subject) and fold(record.subject) in NOBODY
    return MemoryNames(
        names=tuple(names),
        speaker=_speaker_name(record),
        calls=_wanted_names(record, text),
        phrase=_fact_phrase(record),
        sources=tuple({(item.source, item.quote) for item in record.evidence if item.source}),
        of_user=of_user,
        lower=tuple(
            {
                token.folded
                for token in tokens
                if token.text[0].islower() and token.folded not in STOP
            }
        ),
    )


class _Token(NamedTuple):
    """Word of a text; ``text`` without an ending 's."""

    text: str
    folded: str
    start: int
    end: int
    opens: bool
    owns: bool
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
    quoted = (
        [found.span() for found in _QUOTED.finditer(text)]
        if any(mark in text for mark in '"“„«')
        else []
    )
    tokens: list[_Token] = []
    before = 0
    for found in _WORD.finditer(text):
        word, owns = _strip_ending(found[0].replace("’", "'"))
        start = found.start()
        while quoted and quoted[0][1] <= start:
            quoted.pop(0)
        gap = text[before:start]
        opens = not tokens or any(char in _OPENERS or ord(char) > _SYMBOLS for char in gap)
        tokens.append(
            _Token(
                text=word,
                folded=_fold_word(word),
                start=start,
                end=found.end(),
                opens=opens,
                owns=owns,
                quoted=bool(quoted) and quoted[0][0] <= start,
            )
        )
        before = found.end()
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


def _scan(text: str, tokens: Sequence[_Token]) -> Iterator[FoundName]:
    at = 0
    while at < len(tokens):
        if not tokens[at].is_name:
            at += 1
            continue
        end = at + 1
        while (
            end < len(tokens)
            and end - at < _LONGEST
            and _is_joined(text, tokens[end - 1], tokens[end])
        ):
            end += 1
        run = list(tokens[at:end])
        opens = run[0].opens
        while len(run) > 1 and (_is_function_word(run[0].folded) or run[0].folded in GREETINGS):
            run = run[1:]
            opens = False
        first = end - len(run)
        if not _is_function_word(run[0].folded) and not (len(run) == 1 and run[0].folded in TITLES):
            words = tuple(token.text for token in run)
            yield FoundName(
                words, opens, run[-1].owns, tuple(_tell_kinds(text, tokens, first, end))
            )
        at = end


def _find_titles(text: str) -> Iterator[FoundName]:
    """Titles in quotes that somebody read, watched or played."""
    for found in _QUOTED.finditer(text) if '"' in text or "“" in text else ():
        words = found[0][1:-1].strip(" .,!?").split()
        before = [
            word.casefold()
            for word in text[max(0, found.start() - _TITLE_CUE) : found.start()].split()
        ]
        if (
            not before
            or not 1 <= len(words) <= _LONGEST + 1
            or not (words[0][0].isupper() and words[-1][0].isupper())
        ):
            continue
        if before[-1] in READS or (before[-1] in CALLED and WORKS_OF_ART.intersection(before)):
            yield FoundName(tuple(words), kinds=(EntityKind.WORK,))


def _is_function_word(word: str) -> bool:
    return word in STOP and word not in ALSO_WORDS


def _is_joined(text: str, one: _Token, other: _Token) -> bool:
    """True where one blank, or a title's full stop, parts two names."""
    gap = text[one.end : other.start]
    return other.is_name and not one.owns and (gap == " " or (gap == ". " and one.folded in TITLES))


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
    while start > 0 and first - start < _WINDOW and not tokens[start].opens:
        if "," in text[tokens[start - 1].end : tokens[start].start]:
            break
        start -= 1
    return list(tokens[start:first])


def _near_after(tokens: Sequence[_Token], end: int) -> list[_Token]:
    """Words after a name in its sentence, at most three."""
    near: list[_Token] = []
    for token in tokens[end : end + 3]:
        if token.opens:
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
    named = 1 <= len(words) <= 4 and all(
        word[0].isupper() and _WORD.fullmatch(word) for word in words
    )
    return record.speaker.strip() if named and fold(record.speaker) not in NOBODY else ""


def _wanted_names(record: Record, text: str) -> tuple[str, ...]:
    """Names that the speaker goes by, as they said."""
    if record.predicate == "is_named" and fold(record.subject) in NOBODY:
        return (record.object,)
    if record.kind not in _SAID[:3] or (record.role == "assistant" and not record.speaker):
        return ()
    return tuple(found[1] for found in _CALL.finditer(text) if found[1][0].isupper())


def _slot_names(record: Record) -> Iterator[FoundName]:
    """Names that a fact's subject and object hold."""
    if record.subject and fold(record.subject) not in NOBODY:
        yield from _capitals(record.subject, ())
    kinds = tuple(_object_kinds(record))
    if not record.object or not kinds:
        return
    if record.object.isascii() or record.object.casefold() != record.object:
        yield from _capitals(record.object, kinds)
    elif len(record.object) <= 12:
        yield FoundName((record.object,), kinds=kinds)


def _capitals(text: str, kinds: tuple[EntityKind, ...]) -> Iterable[FoundName]:
    """Name that a slot begins with, if any."""
    tokens = _tokenise(text)
    run: list[str] = []
    for token in tokens:
        if not token.is_name or token.folded in STOP:
            break
        run.append(token.text)
    return [FoundName(tuple(run), kinds=kinds)] if run and len(run) <= _LONGEST else []


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
    whole = _CUT.split(record.object, maxsplit=1)
    words = list(map(_fold_word, whole[0].split()))
    first = next((at for at, word in enumerate(words) if word not in STOP), 0)
    end = next(
        (at for at in range(first, len(words)) if words[at] in STOP or words[at] == "together"),
        len(words),
    )
    phrase = tuple(words[first:end])
    after = words[end : end + 1]
    if not 1 <= len(phrase) <= _MOST_WORDS or not all(
        word in record.object and word.replace("-", "").isalpha() for word in phrase
    ):
        return None
    doing = phrase[-1].endswith("ing")
    if doing and after and after[0] not in AFTER_NOUNS:
        return None
    alone = (
        len(phrase) == 1
        and len(whole) == 1
        and (not after or doing or (after[0] in ("and", "or") and end + 2 == len(words)))
    )
    return FactPhrase(phrase, alone and record.predicate in LIKED)
