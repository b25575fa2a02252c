"""Requests of one conversation that alternate between two processes on one Postgres:
what each knows alone changes nothing that counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres
from tests.surfaces.fleet import ask, eventually, send, server

import engrams
from engrams.core import Kind, Status
from engrams.testing import ScriptedModel

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
ANN = ("user", "ann")


@contextmanager
def two(home: Path, url: str, **settings: object) -> Iterator[tuple[list[str], ScriptedModel]]:
    """Two servers before one model."""
    with ScriptedModel(answer=lambda _: "Noted.") as model:
        given = {
            "serve__upstream": f"{model.url}/v1",
            "serve__upstream_learns": False,
            "write__debounce_seconds": 0,
            **settings,
        }
        with server(home / "one", url, **given) as one, server(home / "two", url, **given) as other:
            yield [one, other], model


def look(home: Path, url: str, **fields: Any) -> list[Any]:
    """Memories of the user, oldest first, as the database has them."""
    with engrams.open(home=home, store={"url": url}, jobs__workers=0) as memory:
        return list(memory.list(scope=ANN, order="oldest", limit=500, **fields).records)


def turns(home: Path, url: str) -> list[tuple[str, str]]:
    return [
        (one.role, one.text) for one in look(home, url, kinds=(Kind.TURN,), statuses=tuple(Status))
    ]


def is_idle(server: str) -> bool:
    """True where no job of the user's is due."""
    found = json.loads(send(server, "GET", "/v1/jobs?state=waiting&state=running", "ann")[1])
    return not found["jobs"].get("extract", {}).get("waiting")


@pytest.mark.slow
def test_a_chat_that_alternates(tmp_path: Path) -> None:
    """Each message is stored once, in one session, in its order;
    the other process knows at once what was told; an end is everybody's.
    """
    url = postgres.empty_database()
    home = tmp_path
    said = [
        "I live in Trondheim.",
        "My sister is called Astrid.",
        "I work as a baker.",
        "Where do I live, and what is my sister called?",
    ]
    with two(home, url) as (servers, model):
        messages: list[dict[str, str]] = []
        for number, text in enumerate(said):
            messages.append({"role": "user", "content": text})
            body = {"model": "m", "messages": messages}
            for _ in range(1 + (number == 1)):  # once sent again, to the other one
                status, answer = send(
                    servers[(number + _) % 2], "POST", "/v1/chat/completions", "ann", body
                )
                assert status == 200, answer
            messages.append({"role": "assistant", "content": "Noted."})
            wanted = len(messages)
            eventually(lambda wanted=wanted: len(turns(home, url)) >= wanted)
        prompt = model.requests[-1].prompt
        assert "Trondheim" in prompt and "Astrid" in prompt
        sessions = json.loads(send(servers[0], "GET", "/v1/sessions", "ann")[1])["sessions"]
        assert len(sessions) == 1
        ended = json.loads(
            send(servers[1], "POST", f"/v1/sessions/{sessions[0]['id']}/end", "ann")[1]
        )
        again = json.loads(
            send(servers[0], "POST", f"/v1/sessions/{sessions[0]['id']}/end", "ann")[1]
        )
        assert ended["ended"] == again["ended"]
    assert turns(home, url) == [(one["role"], one["content"]) for one in messages]


@pytest.mark.slow
def test_an_echo_at_the_other_process(tmp_path: Path) -> None:
    """Words of memory that come back through a process that did not inject them are no new memory:
    they confirm what is known.
    """
    url = postgres.empty_database()
    home = tmp_path
    with two(home, url, write__roles="user,assistant") as (servers, _):
        ask(servers[0], "memories", {"text": "The harbour master lives in Trondheim."}, "ann")
        ask(servers[0], "memories", {"text": "I adopted a beagle called Bruno."}, "ann")
        before = [one.text for one in look(home, url) if one.kind is not Kind.TURN]
        context = ask(
            servers[0],
            "context",
            {"query": "Where does the harbour master live, and which dog did I adopt?"},
            "ann",
        )["text"]
        lines = [line for line in context.splitlines() if "Trondheim" in line or "Bruno" in line]
        assert lines
        for number, role in enumerate(("assistant", "user")):
            body = {
                "messages": [{"role": role, "content": "\n".join(lines)}],
                "session": f"s{number}",
            }
            ask(servers[1], "memories", body, "ann")
        eventually(lambda: is_idle(servers[1]))
    after = [one.text for one in look(home, url) if one.kind is not Kind.TURN]
    assert after == before


def test_responses_that_name_the_one_before(tmp_path: Path) -> None:
    """A response's id leads to its conversation in any process."""
    url = postgres.empty_database()
    home = tmp_path
    with two(home, url) as (servers, _):
        last: dict[str, Any] = {}
        for number, text in enumerate(
            ("I live in Trondheim.", "My sister is called Astrid.", "I work as a baker.")
        ):
            body = {
                "model": "m",
                "input": text,
                **({"previous_response_id": last["id"]} if last else {}),
            }
            status, answer = send(servers[number % 2], "POST", "/v1/responses", "ann", body)
            assert status == 200, answer
            last = json.loads(answer)
            eventually(lambda number=number: len(turns(home, url)) >= 2 * number + 2)
        sessions = {one.session for one in look(home, url, kinds=(Kind.TURN,))}
    assert len(sessions) == 1


@pytest.mark.slow
def test_tiers_in_two_processes(tmp_path: Path) -> None:
    """With rings in each process every turn stays a memory, and the ends of both leave none in the
    working tier for good.
    """
    url = postgres.empty_database()
    home = tmp_path
    with two(home, url, tiers__enabled=True) as (servers, _):
        for number in range(50):
            text = f"On day {number} I walked to the harbour number {number} with my sister."
            ask(
                servers[number % 2],
                "memories",
                {"messages": [{"content": text}], "session": "s"},
                "ann",
            )
        found = ask(servers[0], "search", {"query": "harbour number 49"}, "ann")["hits"]
        assert any("number 49 " in hit["memory"]["text"] for hit in found)
    every = look(home, url, kinds=(Kind.TURN,), statuses=tuple(Status))
    assert len(every) == 50 == len({one.text for one in every})
    assert not [one for one in every if one.tier == "working" and one.status is Status.ACTIVE]
