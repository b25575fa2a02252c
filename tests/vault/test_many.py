"""Several processes and threads on one vault."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk, converged

PROCESS = """
import sys, engrams
home, name = sys.argv[1:]
with engrams.open(home=home, vault__enabled=True, vault__watch="auto", vault__git=False, write__extract="off") as memory:
    for number in range(25):
        receipt = memory.add(f"Process {name} says thing number {number}.", scope=("user", "alice"))
        if number % 5 == 0:
            memory.edit(receipt.id, scope=("user", "alice"), text=f"Process {name} changed thing {number}.")
        if number % 7 == 0:
            memory.vault.sync()
"""


@pytest.mark.slow
def test_processes_share_a_vault(home: Path, desks: Callable[..., Desk]) -> None:
    """Three processes that write, watch and sync one vault leave each memory with one file that
    says the same.
    """
    running = [subprocess.Popen([sys.executable, "-c", PROCESS, str(home), name]) for name in "abc"]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    desk = desks("home", write__extract="off")
    converged(desk)
    assert len(desk.files()) == len(desk.everything()) == 75
    assert not list((desk.root / "conflicts").rglob("*.md")) and desk.engine.check()["ok"]


@pytest.mark.slow
def test_threads_share_a_vault(desks: Callable[..., Desk]) -> None:
    """Threads that remember, edit files and sync at once lose nothing and do not wait for each
    other for ever.
    """
    desk = desks(write__extract="off", jobs__workers=2)
    failed: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(12):
                receipt = desk.engine.add(f"Thread {name} says {number}.", scope=ALICE)
                desk.sync()
                path = desk.file(receipt.id)
                path.write_text(path.read_text().replace("says", "said"))
                desk.sync()
                assert desk.get(receipt.id).text == f"Thread {name} said {number}."
        except BaseException as problem:
            failed.append(problem)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failed == [] and not any(thread.is_alive() for thread in threads)
    converged(desk)
