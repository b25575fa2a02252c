"""Other projects' own tests, run against our adapters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.conformance.environments import ROOT
from bench.conformance.suites import SUITES

SHIMS = ROOT / "bench" / "conformance" / "shims"


def test_every_suite_can_be_set_up() -> None:
    """Each suite has a shim, and gives a reason for each test that is left out."""
    for suite in SUITES:
        assert (SHIMS / f"{suite.shim}.py").is_file(), suite.name
        assert all(reason.strip() for reason in suite.deselected.values()), suite.name


@pytest.mark.slow
@pytest.mark.parametrize("name", [suite.name for suite in SUITES])
def test_a_suite_passes(name: str, tmp_path: Path) -> None:
    """Of a framework's own tests every one passes that does not look into the class that ours
    stands in for.
    """
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "bench.conformance", "--only", name, "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (result,) = json.loads(report.read_text("utf-8"))
    assert result["passed"] == result["reference"] - result["deselected"] > 0
