"""Choice of questions, evenly over data sets and categories."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench.quality.data import Dataset, Question, Talk


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the conversation that it is asked in."""

    data: str
    talk: Talk
    question: Question

    @property
    def key(self) -> str:
        return f"{self.data}/{self.talk.id}/{self.question.id}"

    @property
    def stratum(self) -> str:
        return f"{self.data} {self.question.category}".strip()

    @property
    def evidence(self) -> list[str]:
        """The turns that answer it, dated, with their speakers."""
        known = {item.id: item for item in self.talk.items}
        return [known[name].dated_text for name in self.question.evidence if name in known]


def choose_questions(sets: Sequence[Dataset], number: int, seed: int) -> list[Asked]:
    """Choose ``number`` questions (0: all), one of each stratum in turn, at random within it."""
    strata: dict[str, list[Asked]] = defaultdict(list)
    for data in sets:
        for talk in data.talks:
            for question in talk.questions:
                asked = Asked(data.name, talk, question)
                strata[asked.stratum].append(asked)
    order = random.Random(seed)
    for some in strata.values():
        order.shuffle(some)
    longest = max(map(len, strata.values()), default=0)
    turns = [
        some[place] for place in range(longest) for some in strata.values() if place < len(some)
    ]
    return turns[: number or len(turns)]
