"""The judge of whose words a sentence of a message is: its sender's, or those of a text that it shows.

``text.foreign_parts`` knows the forms in which people paste, quote and forward. The judge weighs what
stands around a sentence: what the sender asks for before and behind it, whom they speak of, and how
the sentence is led in. It never looks at what the sentence itself says. So it also knows frames that
nobody wrote a form for: "Rate this bio: I live …". ``scripts/train_voices.py`` trains it on attacks,
and on people's own messages in six languages. Enter at ``find_doubted_sentences``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from engrams.extract.rules.hashed_judge import load_judge
from engrams.text import line_voice
from engrams.text.comparison.language_tables import detect_language
from engrams.text.foreign_parts import is_query_label
from engrams.text.line_voice import fold_disguised
from engrams.text.text_caches import text_cache

FOREIGN_FROM = 0.8
"""Probability from which a sentence counts as foreign.

Of 2,760 messages of people to each other (LoCoMo's development file) sixteen have a sentence at or
above it, and two of them teach less. Of attacks that it never saw, 4 of 60 still become somebody's own
(``bench.attacks``, the twelfth set). A fact of one's own that is lost costs every user.
"""
_BESIDE_FROM = FOREIGN_FROM / 4
"""The same beside a sentence of the message that is foreign for sure."""
_UNNAMED_FROM = 0.9
"""The same in a message that asks about something and names no text: "The witness speaks. I …"."""
_OPENING_FROM = 0.9
"""The same for a message that begins with its sender: "I work here. What should I answer to this?"."""
_LONGEST = 4_000
"""Characters of a message that are judged; longer ones are left to their forms."""
_MAX_SENTENCES = 60
"""The same in sentences."""
_FRAME_BEFORE = 4
_FRAME_BEHIND = 3
"""Sentences before and behind one that tell of it, besides the message's first and last."""
_LEAD_WORDS = 12
_STEM = 5
"""Letters of a word by which its other forms are known."""
_SPLIT = re.compile(r"(?<=[.!?。！？…])\s+|(?<=[。！？])|\n+|(?<=[:：;])\s+|(?<=：)")
_FENCED = re.compile(r"^ {0,3}(?:```|~~~).*?^ {0,3}(?:```|~~~)[^\n]*$", re.MULTILINE | re.DOTALL)
_WORD = re.compile(
    r"[^\W\d_\u3040-\u30ff\u4e00-\u9fff]+(?:'[^\W\d_]+)?|[\u3040-\u30ff\u4e00-\u9fff]|\d+"
    r'|[?!:;,."()]'
)
_COLONS = (":", "：")
_COUNTED = re.compile(
    r"^\W*(?:[a-z]+ )?(?:[a-e1-9]|one|two|three|four|first|second|third|eins|zwei|drei|un|deux"
    r"|trois|uno|dos|tres|[一二三四])$"
)
"""Head of one of several items: "Answer A", "two"."""
_OF_TEXTS = frozenset(
    (
        "names a text",
        "text of kin",
        "presents",
        "task on a text",
        "rework",
        "teller",
        "came",
        "head of a thing",
        "forward",
        "source",
        "shown",
        "who said",
        "asked in chinese",
        "text of chinese kin",
        "thing",
    )
)
"""Features of sentences beside which another's words may stand; without one nothing is judged.

A list of rules, or news of one's own, has no such sentence.
"""
_REQUESTS = frozenset(("task", "task on a text", "rework", "asked in chinese"))
"""Features of sentences that ask for work."""
_TELLING = frozenset(("teller", "presents", "source"))
"""Features of a sentence of which its sender may be the teller."""
_ASIDES = frozenset("you your me by anyway way now also too since".split())
"""Words of a sentence itself that show to whom it speaks, not what it says."""


class _Sentence(NamedTuple):
    start: int
    end: int
    folded: str
    words: tuple[str, ...]
    voice: str
    marks: frozenset[str]

    @property
    def is_asking(self) -> bool:
        return "?" in self.words or "？" in self.folded


class DoubtedSentence(NamedTuple):
    """Sentence that the judge takes for somebody else's, by its place in the message."""

    start: int
    end: int


@text_cache(64)
def find_doubted_sentences(text: str) -> tuple[DoubtedSentence, ...]:
    """Find the sentences of a message that are likely not its sender's own, in order.

    Only such as could teach something. None where no sentence names a text or somebody who tells,
    none of one that stands alone, and none behind words that make it the sender's: "My rules:".
    Never raises.
    """
    sentences = _read_sentences(text)
    names_text = any(_names_text(sentence) for sentence in sentences)
    if not (names_text or any(_asks_of_others(sentence) for sentence in sentences)):
        return ()
    chances = [
        _judge(sentences, index) if _is_judged(sentences, index) else 0.0
        for index in range(len(sentences))
    ]
    limits = [FOREIGN_FROM if names_text else _UNNAMED_FROM] * len(sentences)
    if line_voice.opens_as_self(sentences[0].folded):
        limits[0] = max(limits[0], _OPENING_FROM)
    if any(chance >= limit for chance, limit in zip(chances, limits, strict=True)):
        limits[1:] = [_BESIDE_FROM] * len(limits[1:])
    return tuple(
        DoubtedSentence(sentence.start, sentence.end)
        for sentence, chance, limit in zip(sentences, chances, limits, strict=True)
        if chance >= limit
    )


def _names_text(sentence: _Sentence) -> bool:
    """True for a sentence that names a text, or somebody who tells: "this bio", "the sign says".

    A sender who tells of their own writing names neither: "I always write tests first".
    """
    text_marks = sentence.marks & _OF_TEXTS
    if text_marks <= _TELLING and line_voice.tells_of_own_writing(sentence.folded):
        return False
    return bool(text_marks)


def _asks_of_others(sentence: _Sentence) -> bool:
    """True for a question or a request for work that is not about the sender or the listener."""
    is_asking = sentence.is_asking or sentence.marks & _REQUESTS
    return bool(is_asking) and "own" not in sentence.marks and "listener" not in sentence.marks


def describe_sentences(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the place and the features of each sentence that is judged; for training."""
    sentences = _read_sentences(text)
    for index, sentence in enumerate(sentences):
        if _is_judged(sentences, index):
            yield sentence.start, sentence.end, tuple(_describe(sentences, index))


def _read_sentences(text: str) -> list[_Sentence]:
    """Split a message into sentences; none of one that is too long to be judged."""
    if len(text) > _LONGEST:
        return []
    # Code says nothing of whose words stand beside it.
    text = _FENCED.sub(lambda match: " " * len(match[0]), text)
    ends = [(match.start(), match.end()) for match in _SPLIT.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(text)]
    places = [(start, stop) for start, stop in zip(starts, stops, strict=True) if start < stop]
    if len(places) > _MAX_SENTENCES:
        return []
    return [_read_sentence(text, start, stop) for start, stop in places if text[start:stop].strip()]


def _read_sentence(text: str, start: int, end: int) -> _Sentence:
    folded = fold_disguised(text[start:end]).replace("’", "'")
    return _Sentence(
        start,
        end,
        folded,
        tuple(_WORD.findall(folded)),
        line_voice.classify_voice(folded),
        frozenset(line_voice.describe_voice(folded)),
    )


def _is_judged(sentences: Sequence[_Sentence], index: int) -> bool:
    """True for a sentence that could teach something and has a frame that tells whose it is."""
    sentence = sentences[index]
    if not line_voice.may_teach(sentence.folded):
        return False
    if len(sentences) == 1 and line_voice.find_own_beginning(sentence.folded) <= 0:
        return False
    head = _find_head(sentences[:index])
    if is_query_label(head):
        return False
    lead = head.rstrip(" :：")
    # "oh hey, another thing:"
    last_clause = lead.rpartition(",")[2]
    if not head or _is_numbered(lead, sentences):
        return True
    return not (line_voice.keeps_voice(lead) or line_voice.keeps_voice(last_clause))


def _is_numbered(lead: str, sentences: Sequence[_Sentence]) -> bool:
    """True for one of several heads that count, as of answers: "Answer A: … Answer B: …"."""
    heads = [head.folded.rstrip(" :：") for head in sentences if head.folded.endswith(_COLONS)]
    return bool(_COUNTED.search(lead)) and sum(bool(_COUNTED.search(head)) for head in heads) > 1


def _find_head(before: Sequence[_Sentence]) -> str:
    """Find the words before a colon that lead in the next sentence; empty: none do.

    Behind a sentence of another voice, the words before the colon are over: "Item 2: Olga reports."
    """
    for sentence in reversed(before):
        if sentence.folded.endswith(_COLONS):
            return sentence.folded
        if not line_voice.may_teach(sentence.folded):
            break
    return ""


def _judge(sentences: Sequence[_Sentence], index: int) -> float:
    """Return the probability that a sentence is not its sender's, 0..1."""
    return load_judge("voices").judge(_describe(sentences, index))


def _describe(sentences: Sequence[_Sentence], index: int) -> Iterator[str]:
    """Yield the features of a sentence: what leads it in, and what stands around it."""
    sentence = sentences[index]
    before = sentences[:index]
    behind = sentences[index + 1 :]
    yield from _describe_lead(sentence)
    yield from _describe_frame("first", before[:1])
    yield from _describe_frame("before", before[1:][-_FRAME_BEFORE:])
    yield from _describe_frame("last", behind[-1:])
    yield from _describe_frame("behind", behind[:-1][:_FRAME_BEHIND])
    yield from _describe_place(sentence, before, behind)
    yield f"voice:{sentence.voice}"
    yield f"begins:{' '.join(sentence.words[:2])}"
    yield from (f"aside:{word}" for word in sentence.words if word in _ASIDES)
    ties = frozenset(line_voice.find_ties(sentence.folded))
    yield f"tied:{bool(ties)}"
    yield from (f"tie:{tie}" for tie in ties)
    yield f"other language:{_is_other_language(sentence, (*before, *behind))}"
    yield f"run:{_count_run(before[::-1])} {_count_run(behind)}"
    yield from _describe_structure(sentence, before, behind)


def _count_run(neighbours: Sequence[_Sentence]) -> int:
    """Return how many sentences in a row could teach something as well, up to two."""
    run = takewhile(lambda neighbour: line_voice.may_teach(neighbour.folded), neighbours)
    return min(2, sum(1 for _ in run))


def _describe_structure(
    sentence: _Sentence, before: Sequence[_Sentence], behind: Sequence[_Sentence]
) -> Iterator[str]:
    """Yield together what tells only together whose words a sentence is.

    Of a text that is shown, several sentences stand in a row that nothing ties to the others, and
    what is asked is not about the sender.
    """
    neighbours = (*before, *behind)
    is_tied = sentence.is_asking or any(True for _ in line_voice.find_ties(sentence.folded))
    run = min(2, _count_run(before[::-1]) + _count_run(behind))
    names_text = any(neighbour.marks & _OF_TEXTS for neighbour in neighbours)
    asks = {
        "own" if "own" in neighbour.marks else "you" if "listener" in neighbour.marks else "other"
        for neighbour in neighbours
        if neighbour.is_asking or neighbour.marks & _REQUESTS
    }
    topics_asked = " ".join(sorted(asks)) or "-"
    leads = line_voice.find_own_beginning(sentence.folded) > 0
    yield f"tied, asked:{is_tied} {topics_asked}"
    yield f"tied, text:{is_tied} {names_text}"
    yield f"tied, asked, text:{is_tied} {topics_asked} {names_text}"
    yield f"tied, run, text:{is_tied} {run} {names_text}"
    yield f"tied, run, asked, text:{is_tied} {run} {topics_asked} {names_text}"
    yield f"led, tied, asked:{leads} {is_tied} {topics_asked}"


def _is_other_language(sentence: _Sentence, neighbours: Sequence[_Sentence]) -> bool:
    """True for a sentence in a language in which nothing beside it is written."""
    language = detect_language(sentence.folded)
    languages = {detect_language(neighbour.folded) for neighbour in neighbours} - {""}
    return bool(language and languages) and language not in languages


def _describe_lead(sentence: _Sentence) -> Iterator[str]:
    """Yield the features of the words before the first one of a speaker: "the sign says" """
    begin = line_voice.find_own_beginning(sentence.folded)
    lead = sentence.folded[: max(0, begin)]
    words = _WORD.findall(lead)[-_LEAD_WORDS:]
    yield f"lead length:{min(6, len(words))}"
    yield from (f"lead:{word}" for word in words)
    yield from (f"lead end:{word}" for word in words[-2:])
    yield from (f"lead pair:{first} {second}" for first, second in pairwise(words))
    if words:
        yield from (f"lead voice:{mark}" for mark in line_voice.describe_voice(lead))


def _describe_frame(position: str, sentences: Sequence[_Sentence]) -> Iterator[str]:
    """Yield the features of sentences before or behind the judged one."""
    for sentence in sentences:
        is_own = "own" in sentence.marks
        is_text = "thing" in sentence.marks
        yield f"{position} voice:{sentence.voice}"
        yield from (f"{position} mark:{mark}" for mark in sorted(sentence.marks))
        yield f"{position} kind:{sentence.voice} {is_text} {is_own}"
        if is_text or "teller" in sentence.marks:
            yield f"{position} text:{is_own}"
        for word in sentence.words:
            yield f"{position}:{word}"
            if len(word) > _STEM:
                yield f"{position} stem:{word[:_STEM]}"
        for first, second in pairwise(sentence.words):
            yield f"{position} pair:{first} {second}"
        yield f"{position} head:{' '.join(sentence.words[:2])}"


def _describe_place(
    sentence: _Sentence, before: Sequence[_Sentence], behind: Sequence[_Sentence]
) -> Iterator[str]:
    """Yield where in the message the sentence stands, and between what."""
    neighbours = [*before, *behind]
    speaking = sum("first person" in neighbour.voice for neighbour in neighbours)
    is_asked_before = any(neighbour.is_asking for neighbour in before)
    is_asked_behind = any(neighbour.is_asking for neighbour in behind)
    names_text = any("thing" in neighbour.marks for neighbour in neighbours)
    opening = before[0].voice if before else "-"
    yield f"count:{min(6, len(neighbours))}"
    yield f"speaking:{min(4, speaking)}"
    yield f"telling:{min(4, len(neighbours) - speaking)}"
    yield f"asked:{is_asked_before} {is_asked_behind}"
    yield f"opening:{opening} {names_text}"
    yield f"opening and end:{opening} {is_asked_behind} {names_text}"
    yield f"previous:{before[-1].voice if before else '-'}"
    yield f"previous end:{before[-1].folded.strip()[-1:] if before else '-'}"
    yield f"next:{behind[0].voice if behind else '-'}"
    yield f"self before:{any(neighbour.voice.startswith('self') for neighbour in before)}"
    yield f"self behind:{any(neighbour.voice.startswith('self') for neighbour in behind)}"
    exclaiming = sum(neighbour.folded.rstrip().endswith(("!", "！")) for neighbour in neighbours)
    yield f"exclaiming:{min(2, exclaiming)}"
    yield f"exclaiming, asked:{bool(exclaiming)} {is_asked_before} {is_asked_behind}"
    yield f"item:{sentence.folded.startswith(('- ', '* '))}"
    yield f"own line:{bool(before) and sentence.start - before[-1].end > 0}"
    if before and before[-1].folded.rstrip().endswith(_COLONS):
        yield f"colon:{'own' in before[-1].marks}"
