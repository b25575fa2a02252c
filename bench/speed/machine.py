"""Facts about this machine and installation, shown with every figure."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def collect_facts() -> dict[str, Any]:
    """Processor, memory, Python, versions and load."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _find_first(Path("/proc/cpuinfo"), r"model name\s*:\s*(.+)")
        or platform.processor()
        or platform.machine(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gb": round(
            int(_find_first(Path("/proc/meminfo"), r"MemTotal:\s+(\d+)") or 0) / 1e6, 1
        ),
        "load": round(os.getloadavg()[0], 2),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "engrams": importlib.metadata.version("engrams"),
        "numpy": importlib.metadata.version("numpy"),
        "sqlite": _sqlite_version(),
    }


def measure_install() -> dict[str, float]:
    """Unpacked MB of the core install by distribution, without bytecode."""
    names = re.findall(
        r"^([A-Za-z0-9_.-]+)==",
        (ROOT / "requirements" / "core.txt").read_text("utf-8"),
        re.MULTILINE,
    )
    sizes: dict[str, float] = {}
    for name in dict.fromkeys(names):
        try:
            dist = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # needed on another platform only
        paths = [Path(str(file.locate())) for file in dist.files or () if file.suffix != ".pyc"]
        sizes[name] = _sum_megabytes(paths)
    sizes["engrams"] = _sum_megabytes(
        [path for path in (ROOT / "src" / "engrams").rglob("*") if path.suffix != ".pyc"]
    )
    sizes["total"] = round(sum(sizes.values()), 1)
    return sizes


def _sum_megabytes(paths: list[Path]) -> float:
    return round(sum(path.stat().st_size for path in paths if path.is_file()) / 1e6, 2)


def _find_first(path: Path, pattern: str) -> str:
    found = re.search(pattern, path.read_text("utf-8")) if path.is_file() else None
    return found.group(1).strip() if found else ""


def _sqlite_version() -> str:
    import apsw

    return str(apsw.sqlite_lib_version())
