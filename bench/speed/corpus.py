"""Endless chat-like text and questions about it, by seed.

Everyday words in templates, with rarer ones (names of people, places, products, made of syllables)
drawn from a Zipf distribution: about 6,000 different words in 100,000 turns, 13 words a turn, as in
real chats.
"""

from __future__ import annotations

import bisect
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

_WORDS = {
    name: words.split()
    for name, words in json.loads(Path(__file__).with_name("words.json").read_text("utf-8")).items()
}
TIMES = (
    "yesterday",
    "last week",
    "on Monday",
    "in March",
    "two days ago",
    "this morning",
    "last summer",
    "on 14 May",
    "in 2024",
    "tomorrow",
)

TEMPLATES = (
    "I {verb} the {thing} {time}, and {rare} helped me with it.",
    "{rare} lives in {place} now and works as a {work}.",
    "We talked about the {topic} {time}; I am {feeling} about it.",
    "Could you remind me of the {topic} with {rare} {time}?",
    "My favourite food is {food}, though {rare} says {food2} is better.",
    "The {thing} that {rare} {verb} {time} cost {number} euros.",
    "I'm {feeling} because the {topic} in {place} was moved to {time}.",
    "No, it was {rare} who {verb} the {thing}, not {rare2}.",
    "When I was in {place} {time} I met {rare} near the old {rare2} market.",
    "Let's plan the {topic}: {filler} {thing}, {filler} {food}, and {rare} brings the {thing2}.",
    "{rare} started a new job as a {work} at {rare2} {time}.",
    "That sounds good, {filler}.",
    "I read a book about {rare} and the {topic} of {place}, {filler}.",
    "Our {thing} broke {time}, so we {verb} another one in {place} for {number} euros.",
)
QUESTIONS = (
    "Who {verb} the {thing}?",
    "Where does {rare} live?",
    "What does {rare} do for a living?",
    "When was the {topic} in {place}?",
    "How much did the {thing} of {rare} cost?",
    "What did we say about the {topic}?",
    "Who helped with the {thing} {time}?",
    "Which food does {rare} prefer?",
)
_START = datetime(2024, 1, 1, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Line:
    """Generated turn; ten a session, a few minutes apart."""

    text: str
    speaker: str
    session: str
    at: datetime


class Corpus:
    """Generator of ``lines(n)`` and ``questions(n)`` from one seed."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        syllables = random.Random(7)
        self._rare = sorted({self._name(syllables) for _ in range(3600)})
        syllables.shuffle(self._rare)
        weights = (1 / (rank + 3) for rank in range(len(self._rare)))
        self._bounds = list(itertools.accumulate(weights))

    def lines(self, count: int) -> Iterator[Line]:
        at = _START
        for number in range(count):
            at += timedelta(minutes=self._random.randint(1, 9) if number % 10 else 1400)
            speaker = ("Ada", "Ben")[number % 2]
            yield Line(self._fill(self._random.choice(TEMPLATES)), speaker, f"s{number // 10}", at)

    def questions(self, count: int) -> list[str]:
        return [self._fill(self._random.choice(QUESTIONS)) for _ in range(count)]

    def _fill(self, template: str) -> str:
        pick = self._random.choice
        return template.format(
            verb=pick(_WORDS["verbs"]),
            thing=pick(_WORDS["things"]),
            thing2=pick(_WORDS["things"]),
            time=pick(TIMES),
            place=pick(_WORDS["places"]),
            topic=pick(_WORDS["topics"]),
            food=pick(_WORDS["foods"]),
            food2=pick(_WORDS["foods"]),
            work=pick(_WORDS["work"]),
            feeling=pick(_WORDS["feelings"]),
            number=self._random.randint(3, 2000),
            rare=self._zipf(self._rare),
            rare2=self._zipf(self._rare),
            filler=" ".join(self._random.choices(_WORDS["fill"], k=self._random.randint(2, 9))),
        )

    def _zipf(self, words: Sequence[str]) -> str:
        return words[bisect.bisect(self._bounds, self._random.random() * self._bounds[-1])]

    @staticmethod
    def _name(source: random.Random) -> str:
        parts = [
            source.choice(_WORDS["onsets"])
            + source.choice(_WORDS["vowels"])
            + source.choice(("", "n", "r", "l", "s", "nd", "x", "m"))
            for _ in range(source.choice((2, 2, 3)))
        ]
        return "".join(parts).capitalize()
