"""Calls of members, readers and strangers while roles change; for as many as wanted by hand."""

from __future__ import annotations

import pytest
from tests.flows.spaces_play import play
from tests.store import postgres


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["file", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_nobody_reads_or_changes_what_is_not_theirs(stored: str) -> None:
    """No answer over REST or MCP holds a word of a space that its caller is not in, and no space changes
    without the role. That members are shown and change what is theirs is counted.
    """
    settings = {"store__url": postgres.empty_database()} if stored == "postgres" else {}
    counts = await play(400, 7, **settings)
    assert counts["shown to members"] > 20
    assert counts["changes of spaces"] > 5
    assert counts["changes of members"] > 5
