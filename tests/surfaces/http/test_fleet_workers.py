"""Servers of several processes each on one Postgres: any process answers any request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from typing import Any, TypeAlias

import pytest
from tests.store import postgres
from tests.surfaces.http.fleet import Fleet, fleet

from engrams.core import Status

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
Door: TypeAlias = tuple[Fleet, int]
SIZE = 10
REX = "My dog is called Rex and he is a greyhound."


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Door]]:
    """Two servers of two workers: four processes, those of one server not beside each other."""
    given = (
        f"store.url={postgres.empty_database()}",
        "delivery.shown_minutes=45",
        "tiers.enabled=true",
        f"tiers.working_size={SIZE}",
    )
    words = [
        word
        for one in (*given, "serve.rate_limit=0", "tiers.sweep_seconds=1")
        for word in ("--set", one)
    ]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(fleet(tmp_path_factory.mktemp(name) / "home", *words))
            for name in ("one", "two")
        ]
        yield [(server, worker) for worker, server in product((0, 1), servers)]


def ask(door: Door, path: str, body: Any = None) -> Any:
    return door[0].ask(door[1], path, body)


def test_each_finds_at_once_what_any_other_stored(doors: list[Door]) -> None:
    """Writes and searches go round four processes:
    every search finds the write before it, and an edit and an erasure too.
    """
    for number in range(12):
        made = ask(
            doors[number % 4],
            "/v1/memories",
            {"text": f"The code of locker {number} is quux{number}.", "kind": "fact"},
        )
        asked = {"query": f"locker quux{number}"}
        for other in range(1, 4):
            assert (
                f"quux{number}"
                in ask(doors[(number + other) % 4], "/v1/search", asked)["hits"][0]["memory"][
                    "text"
                ]
            )
        assert ask(doors[(number + 1) % 4], "/v1/purge", {"ids": [made["results"][0]["id"]]})
        for other in range(4):
            hits = ask(doors[(number + other) % 4], "/v1/search", asked)["hits"]
            assert not any(f"quux{number}" in hit["memory"]["text"] for hit in hits)


def test_a_server_shows_a_memory_once(doors: list[Door]) -> None:
    """Within a conversation neither process of a server repeats what the other showed;
    another server may show it once.
    """
    ask(doors[0], "/v1/memories", {"text": REX})
    asked = {"query": "What is my dog called?", "session": "s-shown"}
    shown = [
        "greyhound" in ask(door, "/v1/context", asked)["tail"] for door in doors for _ in range(2)
    ]
    assert shown == [True, False, True, False, False, False, False, False]


def test_turns_of_all_go_through_the_working_tier(doors: list[Door]) -> None:
    """Each server holds its last turns and no more;
    the others left the tier, and every process has all of them.
    """
    said = [
        f"On day {number} I walked around the lake with neighbour zq{number}."
        for number in range(48)
    ]
    for number, text in enumerate(said):
        body = {"messages": [{"role": "user", "content": text}], "session": "s-tier"}
        assert ask(doors[number % 4], "/v1/memories", body)["results"][0]["outcome"] == "stored"
    assert [ask(door, "/api/state/implementation")["l0"] for door in doors] == [SIZE] * 4
    assert len(ask(doors[0], "/v1/memories?tier=working&limit=100")["memories"]) <= 2 * SIZE
    statuses = "&".join(f"status={one}" for one in Status if one is not Status.PURGED)
    for door in doors:
        held = ask(door, f"/v1/memories?limit=500&{statuses}")["memories"]
        assert [
            number
            for number in range(48)
            if not any(f"zq{number}." in each["text"] for each in held)
        ] == []
