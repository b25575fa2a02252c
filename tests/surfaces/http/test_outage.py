"""A server whose Postgres goes away and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store import postgres
from tests.surfaces.fleet import ask, eventually, server

pytestmark = [pytest.mark.postgres, pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING)]


def test_the_backlog_is_told_again_after_an_outage(tmp_path: Path) -> None:
    """One plain line says that it cannot be read, without a traceback; when the database is back, the next line tells it."""
    relay, log = postgres.relayed(postgres.empty_database()), tmp_path / "log"
    home = tmp_path / "home"
    with server(home, relay.address, log=log, serve__backlog_seconds=0.2, store__busy_seconds=0.5) as address:

        def lines() -> list[str]:
            return [line for line in log.read_text().splitlines() if line.startswith("background work")]

        assert ask(address, "memories", {"text": "The kettle is blue."}, "ann")
        relay.cut()
        eventually(lambda: any("cannot be read" in line for line in lines()))
        relay.mend()
        eventually(lambda: "cannot be read" not in lines()[-1])
        assert ask(address, "memories", {"text": "The kettle is red."}, "ann")
    assert sum("background work cannot be read: the database" in line for line in lines()) == 1
    assert "Traceback" not in log.read_text()
