"""Servers and workers with homes of their own on one Postgres:
what belongs to the fleet lies on no machine's disk.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.store import postgres
from tests.surfaces.fleet import PROGRAM, ask, eventually, send, server, worker

from engrams.testing import ScriptedModel

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
OF_THE_MACHINE = ("serve.json", "run/*.sock", "model.use")
"""What a process may leave in its home.

Whatever else appears there belongs to the fleet: put it into the store.
"""
LINES = "\n".join(
    json.dumps({"role": "user", "content": f"I keep thing {n} in box quux{n}."}) for n in range(40)
).encode()


@pytest.fixture
def url() -> str:
    return postgres.empty_database()


def upload(address: str, body: bytes, **headers: str) -> dict[str, Any]:
    request = Request(
        f"{address}/v1/imports?format=turns&name=chats",
        body,
        {"X-Engrams-User": "ann", **headers},
        method="POST",
    )
    with urlopen(request, timeout=60) as answer:
        assert answer.status == 202
        found: dict[str, Any] = json.loads(answer.read())
        return found


def read(address: str, path: str, user: str = "ann") -> Any:
    status, text = send(address, "GET", f"/v1/{path}", user)
    assert status == 200, text
    return json.loads(text)


def list_files(*homes: Path) -> set[str]:
    return {
        str(path.relative_to(home))
        for home in homes
        for path in home.rglob("*")
        if not path.is_dir()
    }


def test_feedback_and_crises_are_shared_by_the_fleet(url: str, tmp_path: Path) -> None:
    """Feedback and a crisis that one server took are listed by the other, kept once for both, and
    by session: their hashes have one key.
    """
    with server(tmp_path / "a", url) as a, server(tmp_path / "b", url) as b:
        for address, outcome in ((a, "stored"), (b, "known")):
            given = {"session": "s1", "label": "positive"}
            request = Request(
                f"{address}/v1/feedback",
                json.dumps(given).encode(),
                {"Idempotency-Key": "one", "X-Engrams-User": "ann"},
            )
            request.add_header("Content-Type", "application/json")
            with urlopen(request, timeout=60) as answer:
                assert json.loads(answer.read())["outcome"] == outcome
        ask(a, "safety", {"session": "s1", "classifier": "model", "severity": "high"}, "ann")
        assert [one["label"] for one in read(b, "feedback?session=s1")["records"]] == ["positive"]
        assert read(b, "feedback", "bob")["records"] == []
        assert [one["severity"] for one in read(b, "safety?session=s1")["records"]] == ["high"]
    assert list_files(tmp_path) == set()


def test_a_worker_imports_a_file_that_a_server_received(url: str, tmp_path: Path) -> None:
    """A server without workers takes a file in pieces;
    a worker with another home imports it, and the pieces go.
    """
    with server(tmp_path / "a", url, jobs__workers=0) as a, worker(tmp_path / "b", url):
        sent = upload(a, LINES[:700], **{"Upload-Length": str(len(LINES))})
        assert sent["state"] == "receiving" and sent["received"] == 700
        head = {"X-Engrams-User": "ann", "Upload-Offset": "700"}
        with urlopen(
            Request(f"{a}/v1/imports/{sent['id']}", LINES[700:], head, method="PATCH"), timeout=60
        ) as answer:
            assert json.loads(answer.read())["state"] == "waiting"
        eventually(lambda: read(a, f"imports/{sent['id']}")["state"] == "done", 60)
        assert read(a, f"imports/{sent['id']}")["report"]["stored"] == 40
        assert "quux7" in json.dumps(
            ask(a, "search", {"query": "thing in box quux7"}, "ann")["hits"]
        )
        assert send(a, "GET", f"/v1/imports/{sent['id']}", "bob")[0] == 404
    assert count(url, "upload_pieces") == 0


def test_a_server_that_dies_loses_no_file(url: str, tmp_path: Path) -> None:
    """Killed right after it acknowledged the file, and its home lost:
    the other server has the file, and imports it.
    """
    with ExitStack() as stack:
        settings = {
            "ENGRAMS_STORE__URL": url,
            "ENGRAMS_HOME": str(tmp_path / "a"),
            "ENGRAMS_JOBS__WORKERS": "0",
        }
        command = [*PROGRAM, "serve", "--port", "0"]
        a = stack.enter_context(
            subprocess.Popen(
                command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True
            )
        )
        assert a.stdout is not None
        address = a.stdout.readline().split("listens on ")[1].split("/v1")[0]
        sent = upload(address, LINES)
        a.send_signal(signal.SIGKILL)
        a.wait()
        b = stack.enter_context(server(tmp_path / "b", url))
        eventually(lambda: read(b, f"imports/{sent['id']}")["state"] == "done", 60)
        assert read(b, f"imports/{sent['id']}")["report"]["stored"] == 40


def test_a_purge_takes_words_out_of_files_that_wait(url: str, tmp_path: Path) -> None:
    """Purged at one server, a text is gone from a file that another receives, also where it was cut
    in two; nobody else's is touched.
    """
    text = "The spare key lies under the terracotta xylophone."
    line = json.dumps({"role": "user", "content": text}).encode()
    with server(tmp_path / "a", url) as a, server(tmp_path / "b", url) as b:
        made = ask(a, "memories", {"text": text, "kind": "fact"}, "ann")["results"][0]["id"]
        sent = upload(a, line[:50], **{"Upload-Length": "1000"})
        head = {"X-Engrams-User": "ann", "Upload-Offset": "50"}
        with urlopen(
            Request(f"{a}/v1/imports/{sent['id']}", line[50:], head, method="PATCH"), timeout=60
        ):
            pass
        upload(a, line, **{"Upload-Length": "1000", "X-Engrams-User": "bob"})
        told = ask(b, "purge", {"ids": [made]}, "ann")
        assert told["proven"], told
    held = {owner: b"".join(map(bytes, pieces)) for owner, pieces in read_pieces(url).items()}
    assert b"xylophone" not in held["user/ann"] and len(held["user/ann"]) == len(line)
    assert held["user/bob"] == line


def read_pieces(url: str) -> dict[str, list[bytes]]:
    import psycopg

    with psycopg.connect(url) as connection:
        return dict(
            connection.execute(
                "SELECT owner, array_agg(data ORDER BY start) FROM engrams.upload_pieces GROUP BY"
                " owner"
            ).fetchall()
        )


def test_a_home_of_a_fleet_has_only_files_of_its_machine(url: str, tmp_path: Path) -> None:
    """After a story over all routes and commands, with a model, two servers and a worker, no home
    holds a file but the machine's own.
    """
    with ScriptedModel(answer=lambda _: {"statements": []}) as model, ExitStack() as stack:
        chat = {
            "chat__provider": "openai",
            "chat__model": "scripted",
            "chat__url": model.url,
            "serve__upstream": f"{model.url}/v1",
        }
        given = {**chat, "write__debounce_seconds": "0", "delivery__shown_minutes": "45"}
        addresses = [
            stack.enter_context(server(tmp_path / name, url, **given)) for name in ("a", "b")
        ]
        stack.enter_context(worker(tmp_path / "c", url, **given))
        for address in addresses:
            tell_story(address, LINES)
        described = json.loads(send(addresses[0], "GET", "/openapi.json", "ann")[1])["paths"]
        paths = [
            path for path, methods in described.items() if "get" in methods and "{" not in path
        ]
        assert len(paths) > 15
        for number, path in enumerate(paths):
            assert send(addresses[number % 2], "GET", path, "ann")[0] < 500, path
        for words in (
            "keys add bot --user ann --right read",
            "feedback list",
            "add bees",
            "search bees",
            "purge --about bees --yes",
        ):
            env = {
                **os.environ,
                "ENGRAMS_STORE__URL": url,
                "ENGRAMS_HOME": str(tmp_path / "a"),
                "ENGRAMS_USER": "ann",
            }
            assert (
                subprocess.run(
                    [*PROGRAM, *words.split()], env=env, capture_output=True, timeout=120
                ).returncode
                == 0
            ), words
        eventually(
            lambda: all(
                one["state"] in ("done", "undone")
                for one in read(addresses[0], "imports")["imports"]
            ),
            60,
        )
        assert "serve.json" in (left := list_files(*tmp_path.iterdir()))
        assert [
            name for name in left if not any(Path(name).match(own) for own in OF_THE_MACHINE)
        ] == []


def tell_story(address: str, lines: bytes) -> None:
    """What a person and an agent may do: each call must be taken."""
    said = [{"role": "user", "content": "I adopted a beagle called Bruno."}]
    made = ask(
        address, "memories", {"text": "The code of the shed is quux99.", "kind": "fact"}, "ann"
    )["results"][0]["id"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memories", {"messages": said, "session": "s1"}),
        ("search", {"query": "beagle"}),
        ("context", {"query": "What is my dog called?", "session": "s1"}),
        ("feedback", {"session": "s1", "label": "positive"}),
        ("safety", {"session": "s1", "classifier": "model", "severity": "low"}),
        ("chat/completions", {"model": "scripted", "messages": said}),
        ("responses", {"model": "scripted", "input": "What is my dog called?"}),
        ("sessions/s1/end", {}),
        ("purge", {"ids": [made]}),
    ]
    for path, body in calls:
        ask(address, path, body, "ann")
    upload(address, lines)


def count(url: str, table: str) -> int:
    import psycopg

    with psycopg.connect(url) as connection:
        return int(
            connection.execute(f"SELECT count(*) FROM engrams.{table}".encode()).fetchall()[0][0]
        )
