"""One of several server processes.

``python -m engrams.surfaces.http.worker_process HAND REPORT``, as its parent starts it.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import socket
import sys
import threading
from pathlib import Path

from engrams import encryption
from engrams.errors import EngramsError
from engrams.surfaces.http.server import serve_home
from engrams.surfaces.http.server_workers import WorkerPlan


def main() -> None:
    """Serve connections that the parent hands over, until told to end."""
    hand = int(sys.argv[1])
    report = int(sys.argv[2])
    plan: WorkerPlan = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the parent, a process of this user
    threading.Thread(
        target=_end_with_parent, args=(plan.folder,), name="engrams-parent", daemon=True
    ).start()
    encryption.remember_passphrases(plan.passphrases)

    def tell(problem: EngramsError | None = None) -> None:
        told = (
            {"error": type(problem).__name__, "message": problem.message, "hint": problem.hint}
            if problem
            else {"error": ""}
        )
        os.write(report, json.dumps(told).encode() + b"\n")

    try:
        serve_home(plan.settings, plan.given, socket.socket(fileno=hand), tell, plan)
    except EngramsError as problem:
        tell(problem)
        sys.exit(1)


def _end_with_parent(folder: Path) -> None:
    """Wait for the end of standard input, which the parent holds open."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
