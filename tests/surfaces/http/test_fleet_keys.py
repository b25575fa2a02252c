"""Two served processes with homes of their own on one Postgres:
keys and the audit log are the same at both.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.store import postgres
from tests.surfaces.fleet import PROGRAM, eventually, process

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]


@dataclass
class Machine:
    """A home of its own, a server in it, and commands there."""

    home: Path
    url: str
    address: str
    server: subprocess.Popen[str]

    def ask(self, key: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer, or its status where it is refused."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = Request(
            self.address + path, None if body is None else json.dumps(body).encode(), headers
        )
        try:
            with urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except HTTPError as problem:
            return problem.code

    def run(self, *words: str) -> Any:
        """What a command in this home prints as JSON."""
        return run(self.home, self.url, *words)

    def events(self, key: str, action: str = "") -> list[tuple[str, str, str]]:
        """Actor, action and owner of all events that this server lists, newest first."""
        found = self.ask(key, f"/v1/audit?everyone=true&limit=1000&action={action}")
        return [(entry["actor"], entry["action"], entry["owner"]) for entry in found["entries"]]


def run(home: Path, url: str, *words: str) -> Any:
    env = {**os.environ, "ENGRAMS_HOME": str(home), "ENGRAMS_STORE__URL": url}
    done = subprocess.run(
        [*PROGRAM, *words, "--json"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


def add_key(home: Path, url: str, user: str, *rights: str) -> tuple[str, str]:
    """Id and secret of a key that the command makes in this home."""
    made = run(
        home,
        url,
        "keys",
        "add",
        "test",
        "--user",
        user,
        *(word for right in rights for word in ("--right", right)),
    )
    return made["id"], made["key"]


@pytest.fixture
def url() -> str:
    return postgres.empty_database()


@pytest.fixture
def root(tmp_path: Path, url: str) -> tuple[str, str]:
    """A key that may see what everybody did, from a third home."""
    return add_key(tmp_path / "third", url, "root", "read", "write", "admin")


@contextmanager
def machine(home: Path, url: str, **settings: object) -> Iterator[Machine]:
    """A server that refuses who has no key, and knows from the database that there is one."""
    given = {
        "serve__require_keys": "always",
        "serve__rate_limit": 0,
        "write__extract": "off",
        **settings,
    }
    with process(home, url, "serve", "--port", "0", **given) as server:
        assert server.stdout is not None
        yield Machine(
            home, url, server.stdout.readline().split("listens on ")[1].split("/v1")[0], server
        )


@pytest.fixture
def machines(tmp_path: Path, url: str, root: tuple[str, str]) -> Iterator[tuple[Machine, Machine]]:
    """Two of them; a key is there."""
    assert root
    with machine(tmp_path / "one", url) as one, machine(tmp_path / "two", url) as two:
        yield one, two


def test_a_key_holds_on_every_machine(
    machines: tuple[Machine, Machine], root: tuple[str, str]
) -> None:
    """A key that a command adds in one home opens the other server at once, is listed there, and
    once it is revoked in either home it is refused at both within a second.
    """
    for colour, (first, second) in (("blue", machines), ("red", machines[::-1])):
        id, key = add_key(first.home, first.url, "ann", "read", "write")
        assert (
            second.ask(key, "/v1/memories", {"text": f"My locker is {colour}."})["results"][0][
                "outcome"
            ]
            == "stored"
        )
        assert first.ask(key, "/v1/search", {"query": "locker"})["hits"]
        assert second.ask(key[:-1] + ("a" if key[-1] != "a" else "b"), "/v1/scopes") == 401
        listed = {held["id"]: held for held in second.run("keys", "list")["keys"]}
        assert listed.keys() >= {id, root[0]} and listed[id]["revoked_at"] is None
        first.run("keys", "revoke", id)
        eventually(
            lambda: [one.ask(key, "/v1/scopes") for one in (first, second)] == [401, 401],  # noqa: B023
            30,
        )
        assert {
            held["id"] for held in second.run("keys", "list")["keys"] if held["revoked_at"]
        } >= {id}
        assert not (first.home / "keys").exists() and not (first.home / "audit").exists()


def test_any_server_lists_what_was_done_at_both(
    machines: tuple[Machine, Machine], root: tuple[str, str]
) -> None:
    """Requests at either server and commands in either home are in the audit log of both, and a
    person sees the own ones only.
    """
    (ann, ann_key), (bob, bob_key) = (
        add_key(machines[0].home, machines[0].url, user, "read", "write") for user in ("ann", "bob")
    )
    machines[0].ask(ann_key, "/v1/memories", {"text": "My locker is blue."})
    machines[1].ask(ann_key, "/v1/memories", {"text": "My bike is red."})
    machines[1].ask(bob_key, "/v1/memories", {"text": "My boat is green."})
    assert machines[1].ask(bob_key, "/metrics") == 403
    done = {
        (ann, "memory.add", "user/ann"),
        (bob, "memory.add", "user/bob"),
        ("local", "key.add", "user/ann"),
    }
    for machine in machines:
        eventually(lambda: set(machine.events(root[1])) >= done, 30)  # noqa: B023
        eventually(
            lambda: (
                machine.events(root[1], "memory.add").count((ann, "memory.add", "user/ann")) == 2  # noqa: B023
            ),
            30,
        )
        own = machine.ask(ann_key, "/v1/audit")["entries"]
        assert [(entry["action"], entry["actor"]) for entry in own] == [("memory.add", ann)] * 2 + [
            ("key.add", "local")
        ]
        assert machine.ask(ann_key, "/v1/audit?everyone=true") == 403


def test_a_killed_server_loses_at_most_a_second_of_events(
    machines: tuple[Machine, Machine], root: tuple[str, str], tmp_path: Path
) -> None:
    """Events of more than a second before a kill are there, those of an orderly end all;
    keys and the other servers go on.
    """
    one, two = machines
    ann, key = add_key(tmp_path / "dying", one.url, "ann", "read", "write")
    done = (ann, "memory.add", "user/ann")
    with suppress(ConnectionAbortedError), machine(tmp_path / "dying", one.url) as dying:
        dying.ask(key, "/v1/memories", {"text": "My locker is blue."})
        eventually(lambda: done in one.events(root[1]), 30)
        dying.server.kill()
        dying.server.wait(60)
        raise ConnectionAbortedError  # the end of this block expects an orderly one
    two.ask(key, "/v1/memories", {"text": "My bike is red."})
    two.server.terminate()
    assert two.server.wait(60) == 0
    assert one.events(root[1]).count(done) == 2
    other, _ = add_key(two.home, two.url, "bob", "read")
    with machine(tmp_path / "dying", one.url) as again:
        assert again.ask(key, "/v1/search", {"query": "locker"})["hits"]
        assert again.events(root[1], "key.").count(("local", "key.add", "user/bob")) == 1
        assert again.run("keys", "revoke", other)["revoked_at"]


@contextmanager
def refusing(url: str) -> Iterator[None]:
    """The server of the database is there, and lets nobody in."""
    import psycopg

    with psycopg.connect(postgres.start_server(), autocommit=True) as connection:
        connection.execute("ALTER DATABASE fresh ALLOW_CONNECTIONS false")
        try:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'fresh'"
            )
            yield
        finally:
            connection.execute("ALTER DATABASE fresh ALLOW_CONNECTIONS true")


def test_keys_are_refused_while_the_database_is_away(tmp_path: Path) -> None:
    """Without it no key opens anything, and requests say so;
    once it is back keys open, and no event from before is missing or double.
    """
    url = postgres.make_database()
    run(tmp_path / "one", url, "migrate")
    _, key = add_key(tmp_path / "one", url, "root", "read", "write", "admin")
    with machine(tmp_path / "one", url, store__busy_seconds=1) as one:
        for number in range(20):
            one.ask(key, "/v1/memories", {"text": f"Locker {number} is blue."})
        with refusing(url):
            eventually(lambda: one.ask(key, "/v1/scopes") == 503, 20)
            assert one.ask(key, "/v1/search", {"query": "locker"}) == 503
            assert one.ask(key[:-1] + ("a" if key[-1] != "a" else "b"), "/v1/scopes") == 503
        eventually(lambda: one.ask(key, "/v1/scopes") != 503, 30)
        eventually(lambda: len(one.events(key, "memory.add")) >= 20, 10)
        assert len(one.events(key, "memory.add")) == 20
        assert one.ask(key, "/health")["checks"]["audit"] == {"ok": True, "lost": 0}
