"""Scenarios, and the pairs of messages that a detector learns from."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from engrams.models.embed.static import BuiltinEmbedder
from engrams.write.change_detection.features import MessageFeatures, describe_pairs, read_messages

if TYPE_CHECKING:
    from engrams.write.change_detection.features import Embed

FOLDER = Path(__file__).with_name("scenarios")
FILES = (
    "daily",
    "work",
    "chats",
    "assistants",
    "people",
    "homes",
    "offices",
    "relations",
    "calendar",
    "figures",
    "voices",
    "letters",
    "teams",
    "crews",
    "truths",
    "truths_more",
)
_NEVER_HELD = ("truths", "truths_more")
"""Files of which nothing is held out: each is measured by weights trained without it. They belong to
others and are not part of this project: training reads them where somebody laid them there.
"""
_SEED = 5
NOON = datetime(2025, 3, 3, 12, tzinfo=UTC)
# Days: some seconds to some minutes.
SOON = (0.0, 0.0002, 0.0005, 0.002, 0.02)

Part: TypeAlias = Literal["train", "held"]
Case: TypeAlias = dict[str, Any]


def read_message(text: str, speaker: str, at: datetime, embed: Embed) -> MessageFeatures:
    """Read one message."""
    return read_messages([(text, speaker, at)], embed)[0]


def is_held_out(case: Case) -> bool:
    """True for the third that nothing is tuned on."""
    return zlib.crc32(case["id"].encode()) % 3 == 0


def read_cases(name: str, part: Part) -> list[Case]:
    """Read one file's scenarios of one part; none of a file of others that is not there."""
    path = FOLDER / f"{name}.jsonl"
    if name in _NEVER_HELD and not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    return [
        case
        for case in cases
        if (name not in _NEVER_HELD and is_held_out(case)) == (part == "held")
    ]


def parse_moment(text: str) -> datetime:
    """Parse a time; without a zone it is UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two messages of one scenario.

    ``learn``: the label is sure enough to learn from; ``about``: both are about the same.
    """

    case: int
    old: MessageFeatures
    new: MessageFeatures
    label: bool
    learn: bool
    about: bool


def build_pairs(cases: Sequence[Case]) -> list[Pair]:
    """Return every pair of people's messages within a scenario."""
    embed = BuiltinEmbedder().embed
    pairs = []
    for number, case in enumerate(cases):
        said = [
            read_message(line["text"], line["who"], parse_moment(line["at"]), embed)
            for line in case["say"]
            if line["who"] != "assistant"
        ]
        for first, old in enumerate(said):
            for second in range(first + 1, len(said)):
                label, learn = label_pair(case, old.text, said[second].text, first, second)
                about = label or (first == 0 and second == len(said) - 1)
                pairs.append(Pair(number, old, said[second], label, learn, about))
    return pairs


def build_strangers(
    cases: Sequence[Case], near: int = 1, some: int = 2, pool: int = 12
) -> list[Pair]:
    """Return pairs across scenarios of one language, which are no changes:
    some at random, one of the nearest.
    """
    embed = BuiltinEmbedder().embed
    chance = random.Random(_SEED)
    said: dict[str, list[tuple[int, list[dict[str, str]]]]] = {}
    for number, case in enumerate(cases):
        said.setdefault(case["lang"], []).append(
            (number, [line for line in case["say"] if line["who"] != "assistant"])
        )
    pairs = []
    for number, case in enumerate(cases):
        lines = [line for line in case["say"] if line["who"] != "assistant"]
        if len(lines) < 2:
            continue
        new = read_message(
            lines[-1]["text"], lines[-1]["who"], parse_moment(lines[-1]["at"]), embed
        )
        others = [each for other, each in said[case["lang"]] if other != number]
        drawn = [chance.choice(each) for each in chance.sample(others, min(pool, len(others)))]
        known = [read_message(line["text"], new.speaker, new.at, embed) for line in drawn]
        nearest = sorted(known[some:], key=lambda one: -float(one.rows[0] @ new.rows[0]))[:near]
        for old in (*known[:some], *nearest):
            gap = chance.choice([2, 30, 600, 5000, 50_000, 200_000]) * chance.random()
            pairs.append(
                Pair(
                    number,
                    replace(old, at=new.at - timedelta(minutes=gap)),
                    new,
                    False,
                    True,
                    False,
                )
            )
    return pairs


def build_long_pairs(cases: Sequence[Case], pairs: Sequence[Pair], most: int = 5) -> list[Pair]:
    """Return the scenarios' pairs again, each side among messages of other scenarios in its
    language; what is true of them stays so.
    """
    embed = BuiltinEmbedder().embed
    chance = random.Random(_SEED)
    other: dict[str, list[str]] = {}
    for case in cases:
        other.setdefault(case["lang"], []).extend(
            line["text"] for line in case["say"] if line["who"] != "assistant"
        )

    def lengthen(said: MessageFeatures, lang: str) -> MessageFeatures:
        pieces = [*chance.sample(other[lang], chance.randint(0, most)), said.text]
        chance.shuffle(pieces)
        return read_message("\n".join(pieces), said.speaker, said.at, embed)

    return [
        replace(pair, old=lengthen(pair.old, lang), new=lengthen(pair.new, lang))
        for pair in pairs
        if pair.learn and (lang := cases[pair.case]["lang"])
    ]


def build_plain_pairs(first: int) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs of ``pairs.jsonl`` and ``plain.jsonl`` as they are, and as if they were said
    right after each other.

    What begins with the same message counts as one scenario, from the number ``first`` on.
    """
    embed = BuiltinEmbedder().embed
    chance = random.Random(_SEED)
    pairs = list[Pair]()
    soon = list[Pair]()
    numbers = dict[str, int]()
    for held in read_plain_cases("pairs", "plain"):
        number = first + numbers.setdefault(held["say"][0], len(numbers))
        said = [
            read_message(text, "user", NOON + at * timedelta(days=held["days"]), embed)
            for at, text in enumerate(held["say"])
        ]
        gap = timedelta(days=chance.choice(SOON))
        late = [
            replace(one) for one in said
        ]  # messages of their own: the two kinds of pairs are no rivals of each other
        for (at, old), (after, new) in combinations(enumerate(said), 2):
            last = after == len(said) - 1
            pairs.append(Pair(number, old, new, last and at in held["ends"], True, last))
            soon.append(
                replace(
                    pairs[-1], old=replace(old, at=new.at - (after - at) * gap), new=late[after]
                )
            )
    return pairs, soon


def read_plain_cases(*names: str) -> Iterator[Case]:
    """Yield short scenarios:
    what is said, ``days`` apart, and the places of what the last message ends.
    """
    for name in names:
        for line in (FOLDER.parent / f"{name}.jsonl").read_text("utf-8").splitlines():
            yield json.loads(line)


def read_talks() -> list[list[MessageFeatures]]:
    """Read ``talks.txt``:
    in sessions of six to fourteen messages, days apart; in every other talk two minutes between
    messages.
    """
    embed = BuiltinEmbedder().embed
    chance = random.Random(_SEED)
    talks = []
    for number, talk in enumerate(
        (FOLDER.parent / "talks.txt").read_text("utf-8").strip().split("\n\n")
    ):
        at = NOON
        left = 0
        said = []
        for text in talk.splitlines():
            if not left:
                left = chance.randint(6, 14)
                at = at + timedelta(days=chance.randint(3, 30))
            left = left - 1
            at = at + timedelta(minutes=0 if number % 2 else 2)
            said.append(read_message(text, "user", at, embed))
        talks.append(said)
    return talks


def build_talk_pairs(
    first: int, known: Sequence[Pair], rarity: Mapping[str, float], near: int = 11, strange: int = 4
) -> list[Pair]:
    """Return messages of talks, where nothing ends, each with the nearest before it; some of these
    from other talks and scenarios.

    Each talk counts as a scenario from the number ``first`` on.
    """
    chance = random.Random(_SEED)
    talks = read_talks()
    others = {id(one): one for pair in known for one in (pair.old, pair.new)}.values()
    pool = [
        *(
            (number, place, one)
            for number, talk in enumerate(talks)
            for place, one in enumerate(talk)
        ),
        *((-1, 0, one) for one in others),
    ]
    rows = np.stack([one.rows[0] for _, _, one in pool])
    holding: dict[str, list[int]] = {}
    for place, (_, _, one) in enumerate(pool):
        for word in one.whole.words:
            holding.setdefault(word, []).append(place)
    pairs = []
    for number, at, new in pool[: -len(others)]:
        shared = np.zeros(len(pool))
        for word in new.whole.words:
            shared[holding[word]] += rarity.get(word, rarity[""])
        found = 0
        foreign = 0
        for place in (
            (-(rows @ new.rows[0] + shared / (shared.max() + 1e-6))).argsort(kind="stable").tolist()
        ):
            talk, said, old = pool[place]
            if (
                found == near
                or (talk == number and said >= at)
                or (talk != number and foreign == strange)
            ):
                continue
            gap = timedelta(days=chance.choice([1, 5, 20, 60, 120, 240]) * chance.random())
            pairs.append(
                Pair(
                    first + number,
                    old if talk == number else replace(old, at=new.at - gap),
                    new,
                    False,
                    True,
                    False,
                )
            )
            found = found + 1
            foreign = foreign + (talk != number)
    return pairs


def to_features(
    pairs: Sequence[Pair], rarity: dict[str, float]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the features of pairs [pairs, columns]."""
    return describe_pairs([(pair.old, pair.new) for pair in pairs], rarity)


def label_pair(case: Case, old: str, new: str, first: int, second: int) -> tuple[bool, bool]:
    """Return the label of a pair, and if it is sure."""
    if case["as_of"]:
        # What held at that time, and what came later.
        label = (
            bool(case["stale"]) and holds_any(old, case["now"]) and holds_any(new, case["stale"])
        )
        return label, label or (second == 1 and first == 0 and not holds_any(old, case["now"]))
    label = holds_any(old, case["stale"]) and holds_any(new, case["now"])
    return label, label or not holds_any(new, case["stale"])


def holds_any(text: str, parts: Sequence[str]) -> bool:
    """True if a text holds any of the parts, whatever their case."""
    return any(part.casefold() in text.casefold() for part in parts)


def every_case(part: Part, without: Sequence[str] = ()) -> Iterator[Case]:
    """Yield the scenarios of all files but some."""
    for name in FILES:
        if name not in without:
            yield from read_cases(name, part)
