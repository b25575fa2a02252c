"""A plugin of pytest that writes down how a test ended: ``-p tests.mutants.verdict``.

``MUTANT_REPORT`` is the file that it writes, ``MUTANT_MODULE`` a module that must import first, and
``MUTANT_PACKAGE`` the package whose place is reported: it must be the copy's.
"""

from __future__ import annotations

import importlib
import json
import os
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_outcomes: list[dict[str, Any]] = []


def pytest_configure() -> None:
    """Import the changed module; a change that breaks the import tells nothing about the test."""
    if module := os.environ.get("MUTANT_MODULE"):
        try:
            importlib.import_module(module)
        except Exception:
            _write({"import_error": traceback.format_exc(limit=-3)})
            pytest.exit("the changed module does not import", returncode=70)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Any:
    """Note each phase of the test: its outcome, the class of its error, and who raised it."""
    report = yield
    row: dict[str, Any] = {"when": call.when, "outcome": report.outcome}
    if call.excinfo is not None and report.outcome == "failed":
        row["error"] = call.excinfo.typename
        row["message"] = str(call.excinfo.value)[:600]
        row["raised_in"] = str(call.excinfo.traceback[-1].path)
    _outcomes.append(row)
    return report


def pytest_sessionfinish() -> None:
    """Leave the report for the runner."""
    _write({"phases": _outcomes})


def _write(report: dict[str, Any]) -> None:
    package_spec = find_spec(os.environ["MUTANT_PACKAGE"])
    report["package"] = package_spec.origin if package_spec else None
    Path(os.environ["MUTANT_REPORT"]).write_text(json.dumps(report), "utf-8")
