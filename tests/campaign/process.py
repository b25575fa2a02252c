"""Children of the campaign: forked after everything was imported, watched, killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 90.0
"""Seconds after which a child that should be done is taken for hung."""


@dataclass(frozen=True)
class Ended:
    """How a command ended; ``code`` -9: it was killed or hung."""

    code: int
    out: str
    err: str


def spawn(work: Callable[[], object], failed: Callable[[str], object]) -> int:
    """Fork a child in a process group of its own; what it raises goes to ``failed``."""
    child = os.fork()
    if child:
        with suppress(OSError):
            os.setpgid(child, child)
        return child
    with suppress(OSError):
        os.setpgid(0, 0)
    try:
        work()
    except BaseException:  # a child that fails by itself is what must not happen: say so
        failed(traceback.format_exc())
    finally:
        os._exit(0)


def kill(child: int) -> None:
    """SIGKILL a child with all that it started, and reap it."""
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child, 0)


def wait(child: int, seconds: float) -> bool:
    """Wait for a child's end; False, and killed, where it takes longer."""
    limit = time.monotonic() + seconds
    pause = 0.0005
    while time.monotonic() < limit:
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            return True
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    kill(child)
    return False


def ask(work: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Run ``work`` in a child and return its JSON answer;
    ``{"hung": …}`` or ``{"raised": …}`` where there is none.
    """
    with tempfile.TemporaryFile() as file:

        def tell(value: Any) -> None:
            os.write(file.fileno(), json.dumps(value).encode())

        child = spawn(lambda: tell(work()), lambda problem: tell({"raised": problem}))
        done = wait(child, seconds)
        file.seek(0)
        content = file.read()
    if not content:
        return {"raised": "The child died."} if done else {"hung": f"No answer in {seconds:.0f} s."}
    return json.loads(content)


def command(home: Path, *words: str, real: bool = False, seconds: float = PATIENCE) -> Ended:
    """Run the command line: in a forked child, or as a process of its own."""
    line = [*words, "--home", str(home)]
    if real:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "engrams.program.entry", *line],
                capture_output=True,
                timeout=seconds,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Ended(-9, "", "hung")
        return Ended(
            done.returncode,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            run_line(line, out.fileno(), err.fileno())
        limit = time.monotonic() + seconds
        status = None
        pause = 0.0005
        while status is None and time.monotonic() < limit:
            reaped, how = os.waitpid(child, os.WNOHANG)
            status = how if reaped else None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Ended(-9 if status is None else os.waitstatus_to_exitcode(status), *texts)


def run_line(line: list[str], out: int, err: int, source: int | None = None) -> None:
    """Become the command: in a forked child, never returns."""
    from engrams.program import entry

    code: Any = 70
    try:
        if source is None:
            source = os.open(os.devnull, os.O_RDONLY)
        for there, here in ((source, 0), (out, 1), (err, 2)):
            os.dup2(there, here)
        sys.stdin = os.fdopen(0, "r", closefd=False)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        sys.argv = ["engrams", *line]
        entry.run()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def nap(dice: random.Random, longest: float) -> None:
    """Sleep for a random time, short ones more often."""
    time.sleep(longest * dice.random() ** 2)
