"""A server whose Postgres goes away and comes back."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.store import postgres
from tests.surfaces.fleet import KeptConnections, ask, eventually, server

from engrams import admin
from engrams.core import Scope
from engrams.core.clock import now
from engrams.settings import load

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]


def test_the_backlog_is_told_again_after_an_outage(tmp_path: Path) -> None:
    """One plain line says that it cannot be read, without a traceback;
    when the database is back, the next line tells it.
    """
    relay = postgres.relayed(postgres.empty_database())
    log = tmp_path / "log"
    home = tmp_path / "home"
    with server(
        home, relay.address, log=log, serve__backlog_seconds=0.2, store__busy_seconds=0.5
    ) as address:

        def lines() -> list[str]:
            return [
                line for line in log.read_text().splitlines() if line.startswith("background work")
            ]

        assert ask(address, "memories", {"text": "The kettle is blue."}, "ann")
        relay.cut()
        eventually(lambda: any("cannot be read" in line for line in lines()))
        relay.mend()
        eventually(lambda: "cannot be read" not in lines()[-1])
        assert ask(address, "memories", {"text": "The kettle is red."}, "ann")
    assert sum("background work cannot be read: the database" in line for line in lines()) == 1
    assert "Traceback" not in log.read_text()


@pytest.mark.parametrize("keyed", [False, True])
def test_an_outage_is_told_soon_and_in_one_form(tmp_path: Path, keyed: bool) -> None:
    """While no connection can be made, `/ready` and requests say so within seconds, with
    Retry-After; then all work again.
    """
    relay = postgres.relayed(postgres.empty_database())
    home = tmp_path / "home"
    secret = ""
    if keyed:
        with closing(
            admin.open_keys(load({"home": str(home), "store.url": relay.address}).settings)
        ) as keys:
            secret = keys.add("app", Scope(("user", "ann")), ("read", "write"), now())[1]
    with server(home, relay.address) as address, closing(KeptConnections()) as connections:
        assert connections.send(address, "GET", "/ready", "ann")[0] == 200
        ask(address, "memories", {"text": "The kettle is blue."}, "ann")
        relay.cut()
        given = {"Authorization": f"Bearer {secret}"} if secret else {}
        for path in ("/v1/memories", "/v1/stats"):
            begun = time.monotonic()
            status, text = connections.send(address, "GET", path, "ann", headers=given)
            problem = json.loads(text)
            assert (status, problem["title"]) == (503, "StoreError")
            assert "connection failed" in problem["detail"]
            assert "busy_seconds" not in problem["hint"]
            assert int(connections.headers["retry-after"]) >= 1
            assert time.monotonic() - begun < 5

        def told() -> int:
            return connections.send(address, "GET", "/ready", "ann")[0]

        eventually(lambda: told() == 503)
        begun = time.monotonic()
        assert told() == 503
        assert time.monotonic() - begun < 2
        assert connections.headers["retry-after"]
        relay.mend()
        eventually(lambda: told() == 200, 5)
        assert connections.send(address, "GET", "/v1/memories", "ann", headers=given)[0] == 200
