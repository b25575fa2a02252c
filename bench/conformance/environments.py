"""Virtual environments of their own for frameworks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def make_environment(folder: Path, requirements: Sequence[str], *, editable: bool = False) -> Path:
    """Install requirements and this checkout into a new environment; return its Python.

    A requirement that begins with ``[`` is an extra of the checkout, such as ``[langgraph]``.
    ``editable``: the environment follows changes of the checkout. CalledProcessError: they cannot
    be installed.
    """
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    named = [f"{ROOT}{each}" if each.startswith("[") else each for each in requirements]
    if not any(each.startswith("[") for each in requirements):
        named.append(str(ROOT))
    here = [
        item
        for each in named
        for item in (["-e", each] if editable and each.startswith(str(ROOT)) else [each])
    ]
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv:
        subprocess.run(
            [uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)], check=True
        )
        subprocess.run([uv, "pip", "install", "-q", "--python", str(python), *here], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *here],
            check=True,
        )
    return python
