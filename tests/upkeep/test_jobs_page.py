"""The page for contributors about jobs names every kind of job."""

from __future__ import annotations

import re
from pathlib import Path

import engrams
from engrams.transfer.uploads.file_uploads import IMPORT

PAGE = Path(__file__).resolve().parents[2] / "docs" / "contributing" / "jobs.md"


def test_the_page_of_jobs_names_every_kind(home: Path) -> None:
    """Its table has a row for each kind that an engine with a vault handles, and for uploads."""
    with engrams.open(home=home, jobs__workers=0, vault__enabled=True) as engine:
        handled = {*engine.work._handlers, IMPORT}
    kinds = re.findall(r"^\| `([^`]+)` \| .* \| `src/", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(kinds) == sorted(handled)
