"""Quotas at two served processes on one memory: what one lets through, the other counts."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeAlias
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.store import postgres
from tests.surfaces.fleet import eventually, send, server

from engrams import admin
from engrams.core import Scope, clock
from engrams.settings import load
from engrams.testing import ScriptedModel

Answer: TypeAlias = tuple[int, dict[str, str], Any]
_SERVED = (
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
)


class TwoServers:
    """Two servers on one memory, asked in turns by people with keys."""

    def __init__(self, home: Path, url: str, **settings: object) -> None:
        self._home = home
        self._url = url
        self._settings = settings
        self._turn = 0
        self._addresses: list[str] = []

    def start(self, stack: ExitStack) -> None:
        """Start both, or start them anew."""
        given = {"serve__require_keys": "always", **self._settings}
        self._addresses = [
            stack.enter_context(server(self._home, self._url, **given)) for _ in range(2)
        ]

    def add_key(self, user: str, requests: tuple[int, int] = (0, 0)) -> str:
        owner = Scope(("user", user))
        rights = ("read", "write")
        with closing(
            admin.open_keys(load({"home": self._home, "store.url": self._url}).settings)
        ) as keys:
            return keys.add("test", owner, rights, clock.now(), requests=requests)[1]

    def ask(self, key: str, path: str, body: Any = None) -> Answer:
        """Status, headers and JSON of the next one."""
        self._turn += 1
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = Request(
            self._addresses[self._turn % 2] + path,
            None if body is None else json.dumps(body).encode(),
            headers,
        )
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, {}, json.loads(answer.read())
        except HTTPError as problem:
            return (
                problem.code,
                {name.casefold(): value for name, value in problem.headers.items()},
                json.loads(problem.read()),
            )

    def add(self, key: str, text: str) -> Answer:
        return self.ask(key, "/v1/memories", {"text": text})


@pytest.fixture(params=["file", pytest.param("postgres", marks=_SERVED)])
def url(request: pytest.FixtureRequest) -> str:
    """Where memory is kept."""
    return postgres.empty_database() if request.param == "postgres" else ""


@pytest.mark.slow
def test_a_quota_holds_over_processes_and_restarts(home: Path, url: str) -> None:
    """Memories, requests of a key and of a person: two servers let through what one would, say
    which limit it is, and count on after a restart; what is read goes on, and another person is not
    touched.
    """
    servers = TwoServers(
        home, url, quota__records=4, quota__daily_requests=30, write__extract="off"
    )
    ann = servers.add_key("ann")
    bob = servers.add_key("bob")
    guest = servers.add_key("ann", (0, 3))
    with ExitStack() as stack:
        servers.start(stack)
        assert [servers.add(ann, f"Locker {number} is mine.")[0] for number in range(4)] == [
            201
        ] * 4
        for _ in range(2):
            status, _, problem = servers.add(ann, "One more locker is mine.")
            assert (status, problem["title"]) == (507, "BudgetError")
            assert "4 of 4 memories" in problem["detail"] and "quota.records" in problem["hint"]
        assert servers.ask(ann, "/v1/search", {"query": "locker"})[2]["hits"]
        assert servers.add(bob, "Locker 9 is mine.")[0] == 201
        assert [servers.ask(guest, "/v1/scopes")[0] for _ in range(4)] == [200, 200, 200, 429]
    with ExitStack() as stack:
        servers.start(stack)
        assert [servers.ask(guest, "/v1/scopes")[0] for _ in range(2)] == [429, 429]
        used = servers.ask(ann, "/v1/stats")[2]["quota"]
        assert (used["records"], used["daily_requests"]) == (
            {"used": 4, "limit": 4},
            {"used": 11, "limit": 30},
        )
        answers = [servers.ask(ann, "/v1/scopes") for _ in range(20)]
        assert [status for status, _, _ in answers] == [200] * 19 + [429]
        _, headers, problem = answers[-1]
        assert (
            int(headers["retry-after"]) > 0
            and "30 requests a day" in problem["detail"]
            and "quota.daily_requests" in problem["hint"]
        )
        assert servers.ask(bob, "/v1/scopes")[0] == 200


@pytest.mark.slow
def test_model_calls_are_limited_for_each_person(home: Path, url: str) -> None:
    """A person's calls of the model a day are counted at both servers;
    what is said beyond is kept, and waits; another person learns.
    """
    with ScriptedModel() as model, ExitStack() as stack:
        model.when("Below are numbered messages", {"statements": []})
        servers = TwoServers(
            home,
            url,
            quota__daily_calls=2,
            chat__provider="openai",
            chat__model="m",
            chat__url=model.url,
            chat__retries=0,
            write__debounce_seconds=0,
            serve__upstream_learns="false",
        )
        ann = servers.add_key("ann")
        bob = servers.add_key("bob")
        servers.start(stack)
        for number in range(5):
            assert servers.add(ann, f"I sail on lake {number} each Sunday.")[0] == 201
        eventually(lambda: servers.ask(ann, "/v1/stats")[2]["quota"]["daily_calls"]["used"] == 2)
        eventually(lambda: len(model.requests) == 2)
        assert servers.add(bob, "I row on lake 9 each Sunday.")[0] == 201
        eventually(lambda: any("lake 9" in request.prompt for request in model.requests))
        assert servers.ask(ann, "/v1/stats")[2]["quota"]["daily_calls"] == {"used": 2, "limit": 2}
        assert servers.ask(ann, "/v1/stats")[2]["kind"]["note"] == 5


@pytest.mark.slow
def test_chat_goes_on_when_memory_is_full(home: Path) -> None:
    """The proxy answers each message of somebody whose memory is full, and stores no more of them."""
    with ScriptedModel(answer=lambda _: "Noted.") as model:
        given = {
            "quota__records": 1,
            "write__extract": "off",
            "serve__upstream": f"{model.url}/v1",
            "serve__upstream_learns": False,
        }
        with server(home, "", **given) as address:
            for number in range(3):
                body = {
                    "model": "m",
                    "messages": [{"role": "user", "content": f"I live in town {number}."}],
                }
                status, answer = send(address, "POST", "/v1/chat/completions", "ann", body)
                assert (status, json.loads(answer)["choices"][0]["message"]["content"]) == (
                    200,
                    "Noted.",
                )
            used = json.loads(send(address, "GET", "/v1/stats", "ann")[1])["quota"]["records"]
    assert used == {"used": 1, "limit": 1}
