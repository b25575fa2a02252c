"""Hold our session store to the contracts that the SDK brings for stores."""

from __future__ import annotations

import asyncio
import re
from inspect import getsource

import pytest
from claude_agent_sdk.testing import run_session_store_conformance, session_store_conformance

import engrams
from engrams.adapters import ClaudeSessionStore

CONTRACTS = re.findall(r"# (\d+)\. ", getsource(session_store_conformance))
CHECKED: list[str] = []


def check_contracts() -> None:
    """Check every contract once; the SDK does it in one call."""
    opened: list[engrams.MemoryEngine] = []

    def make_store() -> ClaudeSessionStore:
        opened.append(engrams.open(store__url=":memory:", jobs__workers=0))
        return ClaudeSessionStore(opened[-1], ("user", "ann"))

    asyncio.run(run_session_store_conformance(make_store))
    CHECKED.extend(CONTRACTS)
    for engine in opened:
        engine.close()


@pytest.mark.parametrize("number", sorted(CONTRACTS, key=int))
def test_contract(number: str) -> None:
    """The contract of this number holds."""
    if not CHECKED:
        check_contracts()
    assert number in CHECKED
