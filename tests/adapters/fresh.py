"""Examples of frameworks, run in environments of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.conformance.environments import ROOT, make_environment


def run_example(name: str, folder: Path, *extra_packages: str) -> str:
    """Install a framework's current release by its extra, run its example in an empty folder and
    return its output.

    Then ``check_NAME.py`` runs there too, if there is one: what a test would check if the framework
    were installed here.
    """
    python = make_environment(
        folder / "environment", [f"[{name.replace('_', '-')}]", *extra_packages]
    )
    work = folder / "work"
    work.mkdir()
    script = ROOT / "examples" / "frameworks" / f"with_{name}.py"
    env = {**os.environ, "ENGRAMS_HOME": str(folder / "home"), "HOME": str(folder)}
    checks = Path(__file__).parent / f"check_{name}.py"
    outputs = []
    for program in (script, checks):
        if program == script or program.exists():
            finished = subprocess.run(
                [str(python), str(program)],
                cwd=work,
                env=env,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert finished.returncode == 0, finished.stdout + finished.stderr
            outputs.append(finished.stdout)
    assert list(work.iterdir()) == []
    return outputs[0]


def read_home(home: Path) -> bytes:
    """Return the bytes of every file of a closed home, to look what is left of something."""
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())
