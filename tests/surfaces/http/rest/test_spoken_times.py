"""A message that a request brings keeps the clock of whoever said it."""

from __future__ import annotations

import httpx2
from tests.surfaces.http.rest.conftest import add


def test_tomorrow_on_the_tellers_clock(api: httpx2.Client) -> None:
    """Tomorrow is the day after on the clock that ``at`` names."""
    memory_id = add(api, "My flight is tomorrow.", kind="fact", at="2025-06-11T23:30:00-07:00")
    record = api.get(f"/memories/{memory_id}").json()
    assert record["meta"]["times"][0]["start"] == "2025-06-12T00:00:00-07:00"
