"""Many streams at a time, for a minute."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bench.speed import proxy
from bench.speed.corpus import Corpus

_SECONDS = 60
_GROWTH_MB = 40


@pytest.mark.slow
def test_fifty_streams_for_a_minute(home: Path) -> None:
    """Fifty clients that stream without pause get every answer whole, and the proxy holds no more
    memory at the end than before.
    """
    questions = Corpus(seed=5).questions(200)
    with proxy.run_proxied(str(home)) as (_, port, process):
        warm = asyncio.run(proxy.run_clients(port, questions, 10))
        before = proxy.resident_mb(process)
        seen = asyncio.run(proxy.run_clients(port, questions, _SECONDS))
        after = proxy.resident_mb(process)
    assert (warm.faults, seen.faults) == ([], [])
    assert seen.whole == len(seen.first) >= proxy.STREAMS
    assert after - before < _GROWTH_MB
