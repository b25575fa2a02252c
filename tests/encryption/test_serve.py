"""A server that runs while another process encrypts its home, changes the key and decrypts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx2
import pytest
from tests.encryption.conftest import WORD, traces

from engrams import admin
from engrams.settings import load

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

START = [
    sys.executable,
    "-m",
    "engrams.program.entry",
    "serve",
    "--port",
    "0",
    "--user",
    "ada",
]


@contextmanager
def serving(home: Path) -> Iterator[httpx2.Client]:
    """A client of a server process, which must end clean."""
    environment = {**os.environ, "ENGRAMS_HOME": str(home)}
    with subprocess.Popen(
        START, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http")).removesuffix("/v1")
        try:
            with httpx2.Client(
                base_url=url, timeout=120, transport=httpx2.HTTPTransport(retries=20)
            ) as client:
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors


def write(client: httpx2.Client, stop: Event) -> list[str]:
    """Write until told to stop; the texts that were acknowledged."""
    held: list[str] = []
    number = 0
    while not stop.is_set():
        number += 1
        answer = client.post("/v1/memories", json={"text": f"Crate w{number}w stands in {WORD}."})
        assert answer.status_code in (200, 201, 503), answer.text
        if answer.status_code != 503:
            held.append(f"w{number}w")
    return held


@pytest.mark.slow
def test_a_server_goes_on_while_its_home_changes(home: Path) -> None:
    """Requests wait and are answered;
    with a key that it does not have, it says so, and goes on once it fits again.
    """
    settings = load({"home": home, "encryption.key": "passphrase"}).settings
    stop = Event()
    with serving(home) as client, ThreadPoolExecutor(1) as pool:
        assert (
            client.post("/v1/memories", json={"text": f"Parcel one lies in {WORD}."}).status_code
            < 300
        )
        writer = pool.submit(write, client, stop)
        try:
            assert admin.encrypt(settings, passphrase="correct horse")
            assert "Parcel one" in client.get("/v1/export").text
            assert traces(home) == []
            assert admin.rekey(settings, settings.encryption, passphrase="battery staple")
            refused = client.get("/v1/export")
            assert refused.status_code == 503
            assert "passphrase is wrong" in refused.text
            there = settings.encryption.model_copy(update={"passphrase": "battery staple"})
            assert admin.rekey(
                settings.model_copy(update={"encryption": there}), there, passphrase="correct horse"
            )
            assert "Parcel one" in client.get("/v1/export").text
            assert admin.decrypt(settings)
            assert (
                client.post(
                    "/v1/memories", json={"text": f"Parcel two lies in {WORD}."}
                ).status_code
                < 300
            )
        finally:
            stop.set()
        written = writer.result(120)
        kept = client.get("/v1/export").text
        assert written
        assert "Parcel two" in kept
        assert not [word for word in written if word not in kept]
    assert traces(home)
