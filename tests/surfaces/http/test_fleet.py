"""Two served processes on one Postgres:
what one stores the other finds, and nobody finds another's.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.store import postgres
from tests.surfaces.fleet import KeptConnections, ask, server

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
OWNERS = ("ann", "bob", "cleo", "dan", "eva")
WORD = re.compile(r"zq(ann|bob|cleo|dan|eva)")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[str]]:
    url = postgres.empty_database()
    with ExitStack() as stack:
        yield [
            stack.enter_context(server(tmp_path / name, url, serve__rate_limit=0))
            for name in ("one", "two")
        ]


@pytest.mark.covers("S1.62")
def test_two_servers_see_each_others_writes_at_once(servers: list[str]) -> None:
    """Requests that alternate between two processes see each write at once, and no other person's."""
    for number in range(6):
        writer = servers[number % 2]
        reader = servers[(number + 1) % 2]
        user = f"user{number % 3}"
        added = ask(
            writer, "memories", {"text": f"The code of locker {number} is quux{number}."}, user
        )
        hits = ask(reader, "search", {"query": f"locker {number} quux{number}"}, user)["hits"]
        assert f"quux{number}" in json.dumps(hits), added
        others = ask(reader, "search", {"query": f"locker quux{number}"}, "somebody")
        assert "quux" not in json.dumps(others.get("hits"))


class Caller:
    """Random calls of several owners at both processes, with ids of anybody's."""

    def __init__(self, servers: list[str], seed: int) -> None:
        self._servers = servers
        self._dice = random.Random(seed)
        self._ids: list[tuple[str, str]] = []
        self.leaks: list[str] = []
        self.calls = 0

    def run(self, calls: int) -> None:
        with closing(KeptConnections()) as connections:
            for _ in range(calls):
                self._call(connections)

    def _call(self, connections: KeptConnections) -> None:
        dice = self._dice
        owner = self._dice.choice(OWNERS)
        target, id = dice.choice(self._ids) if self._ids else (owner, "no-such-id")
        text = f"I keep thing {dice.randrange(10**6)} in box zq{owner}."
        others = " ".join(f"zq{one}" for one in OWNERS)
        method, path, body = dice.choice(
            (
                ("POST", "/v1/memories", {"text": text}),
                (
                    "POST",
                    "/v1/memories",
                    {"messages": [{"content": text}], "session": f"s{dice.randrange(5)}"},
                ),
                ("POST", "/v1/search", {"query": f"thing in box {others}", "limit": 20}),
                ("POST", "/v1/context", {"query": f"Which things are in {others}?"}),
                ("POST", "/v1/explain", {"query": f"box {others}"}),
                ("GET", f"/v1/memories?limit=20&text=zq{target}", None),
                ("GET", f"/v1/memories/{id}", None),
                ("GET", f"/v1/memories/{id}/history", None),
                ("PATCH", f"/v1/memories/{id}", {"importance": dice.random()}),
                ("DELETE", f"/v1/memories/{id}", None),
                ("POST", f"/v1/memories/{id}/restore", None),
                ("POST", "/v1/used", {"ids": [id]}),
                ("POST", "/v1/preview", {"ids": [id], "action": "forget"}),
                ("POST", "/v1/purge/about", {"about": f"zq{target}"}),
                ("GET", "/v1/graph?limit=20", None),
                ("GET", "/v1/sessions", None),
                ("GET", "/v1/jobs?state=waiting&state=running&state=done", None),
                ("GET", "/v1/scopes", None),
                ("GET", "/v1/stats", None),
            )
        )
        status, answer = connections.send(dice.choice(self._servers), method, path, owner, body)
        self.calls += 1
        # A query is told again with its answer; ids and statuses are looked at besides.
        told = answer.replace(others, "")
        if foreign := {
            word
            for word in WORD.findall(told)
            if word != owner and not (path.endswith(f"zq{target}") and status >= 400)
        }:
            self.leaks.append(f"{owner}: {method} {path} told of {sorted(foreign)}")
        named = id in path or (isinstance(body, dict) and id in body.get("ids", ()))
        if named and target != owner and status < 400:
            self.leaks.append(f"{owner}: {method} {path} of {target} was answered with {status}")
        if status >= 500:
            self.leaks.append(f"{owner}: {method} {path} failed: {answer[:200]}")
        if method == "POST" and path == "/v1/memories" and status == 201:
            self._ids.append((owner, json.loads(answer)["results"][0]["id"]))


def call_much(servers: list[str], calls: int, threads: int) -> list[Caller]:
    callers = [Caller(servers, seed) for seed in range(threads)]
    running = [threading.Thread(target=caller.run, args=(calls // threads,)) for caller in callers]
    for one in running:
        one.start()
    for one in running:
        one.join()
    return callers


@pytest.mark.covers("S1.62")
@pytest.mark.slow
def test_owners_do_not_meet(servers: list[str]) -> None:
    """Whatever several owners ask of two processes, with ids and words of each other, nobody gets
    another's words.
    """
    callers = call_much(servers, 400, 2)
    assert [leak for caller in callers for leak in caller.leaks] == []


@pytest.mark.slow
def test_owners_do_not_meet_in_a_hundred_thousand_calls(servers: list[str]) -> None:
    """The same, 100,000 times."""
    callers = call_much(servers, 100_000, 8)
    assert [leak for caller in callers for leak in caller.leaks] == []
    assert sum(caller.calls for caller in callers) == 100_000
