"""The guide's recording is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dulwich")

ROOT = Path(__file__).resolve().parents[2]
RANDOM = re.compile(r"\b[0-9a-z]{26}\b|__[0-9a-z]{4}\b|\b[0-9a-f]{7,40}\b|\d[\d.:T+-]*")


def masked(text: str) -> list[str]:
    """Lines without what differs from run to run: ids, hashes, numbers, times."""
    return [RANDOM.sub("#", line).rstrip() for line in text.splitlines()]


@pytest.mark.slow
@pytest.mark.covers("S2.21", "S2.22")
def test_the_recording_in_the_guide_is_true(tmp_path: Path) -> None:
    """A fact edited in an editor, asked for again, shown by log and diff and taken back:
    the commands print what is shown.
    """
    page = (ROOT / "docs/guides/vault.md").read_text("utf-8")
    shown = page.partition("```console\n")[2].partition("```")[0]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = subprocess.run(
        [str(ROOT / "scripts/vault.sh")],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    # Entries of one moment stand in the order of their ids, which is chance.
    assert sorted(masked(result.stdout)) == sorted(masked(shown))
    answers = [
        line.strip()
        for line in result.stdout.splitlines()
        if re.match(r" {4}(?:[A-Z]|user )", line)
    ]
    assert answers == [
        "I live in Paris.",
        'user LIVES_IN Rome — "I live in Rome"',
        "I live in Paris.",
    ]
