"""Encryption killed at any moment:
the home opens with the old or the new key, and nothing is lost.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.encryption.conftest import OWNER, traces

import engrams
from engrams.errors import EncryptionError

KILLS = 30


def texts(home: Path) -> set[str]:
    with engrams.open(home=home) as memory:
        return {record.text for record in memory.list(scope=OWNER, limit=1000).records}


@pytest.mark.slow
def test_a_killed_change_leaves_a_home_that_opens(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty kills of encrypt, rekey and off at random moments;
    then each is finished by the next command.
    """
    with engrams.open(home=home) as memory:
        for number in range(150):
            memory.add(f"Parcel r{number}x lies in the zanzibar hall {number}.", scope=OWNER)
    before = texts(home)
    source = random.Random(7)
    phrases = ["one", "two"]
    monkeypatch.setenv("ENGRAMS_PASSPHRASE", phrases[0])
    killed = 0
    for attempt in range(KILLS):
        header = home / "encryption.json"
        words = (
            ["encrypt", "--key", "passphrase"]
            if not header.exists()
            else source.choice([["encrypt", "--rekey"], ["encrypt", "--off"]])
        )
        line = [sys.executable, "-m", "engrams.program.entry", *words, "--home", str(home)]
        env = {**os.environ, "ENGRAMS_NEW_PASSPHRASE": phrases[1]}
        process = subprocess.Popen(
            line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + source.uniform(0.2, 1.2)
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.005)
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        try:
            assert texts(home) == before, attempt
        except EncryptionError:
            phrases.reverse()
            monkeypatch.setenv("ENGRAMS_PASSPHRASE", phrases[0])
            assert texts(home) == before, attempt
    assert killed
    finish = subprocess.run(
        [
            sys.executable,
            "-m",
            "engrams.program.entry",
            "encrypt",
            "--off",
            "--home",
            str(home),
        ],
        capture_output=True,
        text=True,
    )
    assert finish.returncode == 0 or "is not encrypted" in finish.stderr
    subprocess.run(
        [
            sys.executable,
            "-m",
            "engrams.program.entry",
            "encrypt",
            "--key",
            "passphrase",
            "--home",
            str(home),
        ],
        check=True,
    )
    assert texts(home) == before
    assert traces(home) == []
