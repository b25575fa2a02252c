"""Clients of a fleet: each writes at one API and looks at the other."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.campaign.fleet.members import Fleet, Member, call

OWNERS = tuple(f"own{letter}" for letter in "abcdefgh")
_PATIENCE = 300.0
"""Seconds after which a client gives a request up."""


def text_of(key: str) -> str:
    """What is said under a key; rules learn one fact from it."""
    return f"I bought a lantern called {key}."


@dataclass
class Tally:
    """What clients saw. ``acknowledged``: owner and form of each key that was stored."""

    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)
    tried: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def blame(self, problem: str) -> None:
        with self.lock:
            self.problems.append(problem)


class Client:
    """Writes and looks, over and over."""

    def __init__(self, number: int, fleet: Fleet, tally: Tally, seed: int) -> None:
        self._number = number
        self._fleet = fleet
        self._tally = tally
        self._dice = random.Random(f"{seed}/{number}")
        self._made = 0

    def run(self, over: threading.Event) -> None:
        """Work until it is over."""
        while not over.is_set():
            self._step()

    def _step(self) -> None:
        dice = self._dice
        self._made = self._made + 1
        owner = dice.choice(OWNERS)
        key = f"{owner}q{self._number}x{self._made}"
        first, second = dice.sample(self._fleet.apis, 2)
        form = dice.choice(("text", "messages"))
        self._tally.tried[key] = owner
        body: dict[str, Any] = (
            {"text": text_of(key)}
            if form == "text"
            else {"messages": [{"content": text_of(key)}], "session": f"s{key}"}
        )
        answer = self._insist((first, second), "POST", "/v1/memories", owner, body, key)
        if answer is None:
            return
        self._tally.acknowledged[key] = (owner, form)
        # The second one alone: it may be starting, but when it answers it must know.
        found = self._insist(
            (second,), "POST", "/v1/search", owner, {"query": f"lantern called {key}", "limit": 5}
        )
        if found is not None:
            self._judge(
                any(key in hit["memory"]["text"] for hit in found["hits"]),
                f"{key} written at {first.name}, not found at {second.name}",
            )
        read = self._insist((second,), "GET", f"/v1/memories/{answer['results'][0]['id']}", owner)
        if read is not None:
            self._judge(key in read["text"], f"{key} not read at {second.name}")
        if dice.random() < 0.2:
            other = dice.choice([one for one in OWNERS if one != owner])
            foreign = self._insist(
                (first, second),
                "POST",
                "/v1/search",
                other,
                {"query": f"lantern called {key}", "limit": 10},
            )
            self._tally.count("foreign looks")
            if foreign is not None and any(key in hit["memory"]["text"] for hit in foreign["hits"]):
                self._tally.blame(f"LEAK: {other} found {key}")

    def _judge(self, good: bool, problem: str) -> None:
        self._tally.count("reads of own writes")
        if not good:
            self._tally.count("reads that missed")
            self._tally.blame(problem)

    def _insist(
        self,
        members: tuple[Member, ...],
        method: str,
        path: str,
        owner: str,
        body: Any = None,
        key: str = "",
    ) -> Any:
        """Ask until there is an answer; None where nobody answers for long."""
        limit = time.monotonic() + _PATIENCE
        place = 0
        while time.monotonic() < limit:
            status, answer = call(members[place % len(members)], method, path, owner, body, key)
            if status in (200, 201):
                return answer
            self._tally.count(f"status {status}" if status else "no answer")
            if 400 <= status < 500 and status != 429:
                self._tally.blame(f"{method} {path} as {owner}: {status} {answer}")
                return None
            place += 1
            time.sleep(0.05 if len(members) > 1 else 0.15)
        self._tally.blame(f"{method} {path} as {owner}: no answer in {_PATIENCE:.0f} s")
        return None
