"""A memory without a vault pays nothing for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LOOK = """
import sys, engrams
with engrams.open(home=sys.argv[1]) as memory:
    memory.add("I live in Berlin.", scope=("user", "alice"))
    memory.search("Berlin", scope=("user", "alice"))
    assert memory.vault is None and memory.store.outbox(1) == ()
    assert not any(states for kind, states in memory.status()["jobs"].items() if kind in ("vault", "git", "daily", "dream"))
loaded = [name for name in sys.modules if name.startswith(("engrams.vault", "dulwich", "watchfiles", "yaml"))]
assert loaded == [], loaded
"""

OPEN = """
import sys, engrams
with engrams.open(home=sys.argv[1], vault__enabled=True) as memory:
    memory.search("Berlin", scope=("user", "alice"))
loaded = [name for name in sys.modules if name.startswith(("dulwich", "watchfiles", "yaml", "cryptography"))]
assert loaded == [], loaded
"""


def test_off_it_is_not_even_loaded(tmp_path: Path) -> None:
    """Remembering and searching without a vault loads no module of it, makes no outbox entry, no
    job and no file.
    """
    subprocess.run([sys.executable, "-c", LOOK, str(tmp_path)], check=True)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "memory.db", "seal.key"}


def test_on_it_loads_git_and_the_watcher_only_when_they_have_work(tmp_path: Path) -> None:
    """A search in a home with a vault starts neither git nor watcher nor YAML."""
    subprocess.run([sys.executable, "-c", OPEN, str(tmp_path)], check=True)
    assert not (tmp_path / "vault").exists()
