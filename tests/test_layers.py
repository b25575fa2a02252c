"""The layers of the house, checked on the imports themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

EAGER = {
    "numpy",
    "onnxruntime",
    "tokenizers",
    "fastapi",
    "uvicorn",
    "starlette",
    "apsw",
    "httpx2",
    "yaml",
    "mcp",
    "prometheus_client",
}


def test_the_contracts_hold() -> None:
    """Imports only go down, surfaces are independent, and only build and testing name a concrete
    backend.
    """
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import engrams` brings in no numerical, server or database library, so that a command starts
    at once.
    """
    script = "import sys, engrams; print(' '.join(sorted(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not EAGER & set(found.stdout.split())
