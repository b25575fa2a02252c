"""`engrams hook --resident`: one process keeps the home open for all hooks, and ends by itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import engrams
from engrams.ipc.command_client import CommandClient
from engrams.surfaces.hook.entry import await_resident

ENTRY = (sys.executable, "-m", "engrams.program.entry", "hook", "--resident", "--verbose")
AT_ONCE = 4
IDLE = 1.5
PATIENCE = 60.0


def send(home: Path, session: str, **fields: str) -> subprocess.CompletedProcess[str]:
    body = {"session_id": session, "cwd": "/src/shop", **fields}
    return subprocess.run(
        [*ENTRY, "--home", str(home), "--user", "ann", "--project", ".", "--seconds", "60"],
        input=json.dumps(body),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "ENGRAMS_SERVE__RESIDENT_SECONDS": str(IDLE)},
    )


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_process_answers_all_hooks_and_ends(home: Path) -> None:
    """Hooks that start at once share one process. No message is lost, and nothing is left behind."""
    home.mkdir(parents=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        calls = [
            pool.submit(
                send,
                home,
                f"s{number}",
                hook_event_name="UserPromptSubmit",
                prompt=f"The queue of shard {number} is called harbour-{number}.",
            )
            for number in range(AT_ONCE)
        ]
        finished = [call.result() for call in calls]
    assert [(process.returncode, process.stdout) for process in finished] == [(0, "")] * AT_ONCE
    pids = {
        int(match[1])
        for process in finished
        if (match := re.search(r"answered \(process (\d+)\)", process.stderr))
    }
    assert len(pids) == 1, [process.stderr for process in finished]
    (pid,) = pids
    deadline = time.monotonic() + PATIENCE
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(pid)
    assert not list((home / "run").glob("*.sock"))
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        texts = [record.text for record in engine.list(scope=("user", "ann"), limit=50).records]
    assert all(
        any(f"called harbour-{number}." in text for text in texts) for number in range(AT_ONCE)
    )


def test_hooks_at_once_start_one_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a process starts, which takes a while on a busy machine, no other hook starts one."""
    home.mkdir(parents=True)
    program = home / "program"
    program.write_text(f"#!/bin/sh\necho $$ >> {home}/started\nexec sleep 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    arguments = ("--resident", "--home", str(home))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        clients = [CommandClient(["hook", *arguments], str(home)) for _ in range(AT_ONCE)]
        waits = [pool.submit(await_resident, client, arguments, 1.0) for client in clients]
        assert [wait.result() for wait in waits] == [None] * AT_ONCE
    assert len((home / "started").read_text().splitlines()) == 1
