"""A coding agent for the tests of the hook."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.hook.hooked_agent import HookedAgent


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> HookedAgent:
    home.mkdir(parents=True, exist_ok=True)
    (tmp_path / "shop").mkdir()
    return HookedAgent(home, tmp_path / "shop")
