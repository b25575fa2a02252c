"""Processes of `engrams` for tests of commands that ask each other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ENTRY = [sys.executable, "-m", "engrams.program.entry"]
_ID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d\.\d+\+00:00)?")
_NUMBER = re.compile(r"\d+\.\d{3,}")
_HOT = re.compile(r', "sub_sim": [\d.]+')
"""What a process adds for memories that it found lately."""
_VERSION = re.compile(r'version=\\?"\w+|("tokens": \d+, )?"version": "\w*')
"""The hash of ids, and the tokens of a text that holds it."""


def command(
    home: Path,
    *words: str,
    stdin: str = "",
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run one command line on a home, in a folder."""
    env = {**os.environ, **(environ or {})}
    line = [*ENTRY, words[0], "--home", str(home), *words[1:]]
    return subprocess.run(
        line, input=stdin, capture_output=True, text=True, timeout=120, env=env, cwd=folder
    )


def same(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """What two runs of a command have in common:
    ids and times replaced by their order, scores cut.
    """

    def plain(text: str) -> str:
        seen: dict[str, str] = {}
        text = _HOT.sub(
            "", _ID.sub(lambda found: seen.setdefault(found[0], f"ID{len(seen)}"), text)
        )
        return _VERSION.sub(
            "version", _NUMBER.sub(lambda found: f"{float(found[0]):.2f}", _TIME.sub("TIME", text))
        )

    told = "".join(
        line for line in done.stderr.splitlines(keepends=True) if not line.startswith("engrams: ")
    )
    return done.returncode, plain(done.stdout), plain(told)


def answered(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a running server answered, as `--verbose` tells."""
    assert "engrams: " in done.stderr, done.stderr
    return "a running server answered" in done.stderr


def sockets(home: Path) -> list[Path]:
    """The sockets in a home."""
    return sorted((home / "run").glob("*.sock"))


@contextmanager
def served(
    home: Path, *words: str, name: str = "serve", environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that serves a home, from when its socket is there."""
    home.mkdir(exist_ok=True)
    line = [*ENTRY, name, "--home", str(home), "--port", "0", *words]
    before = set(sockets(home))
    server = subprocess.Popen(
        line, stdout=subprocess.DEVNULL, env={**os.environ, **(environ or {})}
    )
    try:
        deadline = time.monotonic() + 60
        while (
            not set(sockets(home)) - before
            and server.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        yield server
    finally:
        server.terminate()
        server.wait(60)
