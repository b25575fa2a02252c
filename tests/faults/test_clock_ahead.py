"""A clock that was ahead by years, and was set right."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import engrams
from engrams.testing import SettableClock

AHEAD = datetime(2036, 1, 5, 9, 0, tzinfo=UTC)
NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
OWNER = "ann"


def test_what_was_queued_and_told_under_a_clock_that_was_ahead_does_not_stay(
    tmp_path: Path,
) -> None:
    """Its job runs now, and a fact that is told now replaces one of the future."""
    with engrams.open(
        home=tmp_path, clock=SettableClock(AHEAD), background=False, jobs__workers=0
    ) as memory:
        memory.add("I moved to Lima.", scope=OWNER)
        memory.add("My sister is called Ada.", scope=OWNER, settle=False)
    with engrams.open(
        home=tmp_path, clock=SettableClock(NOW, step=0.01), jobs__workers=0
    ) as memory:
        assert memory.drain()
        assert not any("waiting" in states for states in memory.status()["jobs"].values())
        memory.add("I moved to Quito.", scope=OWNER)
        facts = {record.text for record in memory.list(scope=OWNER, kinds=("fact",)).records}
    assert "I moved to Quito" in facts
    assert "I moved to Lima" not in facts
    assert any("Ada" in fact for fact in facts)
