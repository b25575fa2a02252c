"""One of several server processes: ``python -m engrams.program.worker_process HAND REPORT``.

Its parent, the `WorkerSupervisor`, starts it with the numbers of two descriptors: of the socket over
which it hands connections, and of the pipe for the one line that says whether the worker serves.
The `WorkerPlan` comes pickled on standard input, which stays open as long as the parent lives.
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
from engrams.program.log_lines import write_log_lines
from engrams.program.registry import list_server_surfaces
from engrams.surfaces.http.server import serve_home
from engrams.surfaces.http.server_functions import ServedHome
from engrams.surfaces.http.server_workers import WorkerPlan


def main() -> None:
    """Serve connections that the parent hands over, until told to end."""
    handover = int(sys.argv[1])
    report = int(sys.argv[2])
    plan: WorkerPlan = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the parent, a process of this user
    threading.Thread(
        target=_end_with_parent, args=(plan.folder,), name="engrams-parent", daemon=True
    ).start()
    encryption.remember_passphrases(plan.passphrases)

    def report_ready() -> None:
        _write_line(report, {"error": ""})

    home = ServedHome(plan.settings, plan.configured, list_server_surfaces())
    try:
        with write_log_lines(plan.settings.log):
            serve_home(home, socket.socket(fileno=handover), report_ready, plan)
    except EngramsError as error:
        fields = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
        _write_line(report, fields)
        sys.exit(1)


def _write_line(report: int, fields: dict[str, str]) -> None:
    """Report to the parent: ready, or the error that keeps this worker from serving."""
    os.write(report, json.dumps(fields).encode() + b"\n")


def _end_with_parent(folder: Path) -> None:
    """Wait for the end of standard input, which the parent holds open."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
