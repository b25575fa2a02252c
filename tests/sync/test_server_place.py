"""Another engrams server as the place: real servers, keys and homes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.sync.replicas import OWNER, Device, exchange_all, pair_at, plain_at, raw
from tests.sync.test_sync_commands import engrams

from engrams.core import Status
from engrams.errors import InputError, StoreError
from engrams.sync.place_addresses import open_place
from engrams.sync.places import PlaceAccess, PlaceFile

SECRET = "The wallpaper in Zanzibar was ultramarine."
FILE = PlaceFile("0123456789" * 2, 1, "seg")


@contextmanager
def serve(home: Path, *arguments: str) -> Iterator[str]:
    """Run a server of a home; yield its address."""
    line = [sys.executable, "-m", "engrams.program.entry", "serve", "--port", "0"]
    with subprocess.Popen(
        [*line, "--home", str(home / "memory"), *arguments],
        env={**os.environ, "HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        words = server.stdout.readline().split()
        try:
            yield next(word for word in words if word.startswith("http")).removesuffix("/v1")
        finally:
            server.terminate()
            server.communicate(timeout=60)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Home of the server, with a key for Ann and one for Bob."""
    home = tmp_path / "host"
    home.mkdir()
    return home


def add_key(host: Path, user: str, *rights: str) -> str:
    chosen = [word for right in rights for word in ("--right", right)]
    return str(engrams(host, "keys", "add", user, "--user", user, *chosen)["key"])


@pytest.mark.slow
def test_devices_over_a_server(tmp_path: Path, host: Path) -> None:
    """Two homes exchange and purge through a server, which has no word of it and shows nobody else's
    files; a key that may only read writes nothing.
    """
    ann, bob = add_key(host, "ann"), add_key(host, "bob")
    reader = add_key(host, "ann", "read")
    laptop, phone = Device(tmp_path, "laptop"), Device(tmp_path, "phone")
    with serve(host, "--set", "serve.require_keys=always") as url:
        # The server prints its address with /v1.
        address = f"engrams+{url}/v1"
        access = PlaceAccess(password=ann)
        laptop.engine.sync.init(address, OWNER, "laptop", access)
        pair_at(laptop, phone, address, access=access)
        note = laptop.say(SECRET)
        exchange_all([laptop, phone], 2)
        assert phone.get(note).text == SECRET
        assert laptop.export() == phone.export()
        others = open_place(address, PlaceAccess(password=bob), tmp_path)
        assert others.list() == frozenset()
        files = open_place(address, access, tmp_path).list()
        assert files
        assert others.read(min(files)) is None
        with pytest.raises(StoreError, match="does not take"):
            open_place(address, PlaceAccess(password=reader), tmp_path).write({FILE: b"x"})
        with pytest.raises(StoreError, match="does not take"):
            open_place(address, PlaceAccess(password="no"), tmp_path).list()
        others.write({FILE: b"bob's"})
        open_place(address, access, tmp_path).remove([FILE])
        assert others.read(FILE) == b"bob's"
        others.remove([FILE])
        others.remove([FILE])
        assert others.list() == frozenset()
        with pytest.raises(StoreError, match="does not take"):
            open_place(address, PlaceAccess(password=reader), tmp_path).remove(files)
        laptop.engine.purge(note, scope=OWNER)
        exchange_all([laptop, phone], 2)
        assert phone.get(note).status is Status.PURGED
        assert "ultramarine" not in plain_at(laptop)
        assert not laptop.engine.sync.status().purges
        for name in ("../../x", "..%2f..%2fx", "x.seg", "1.txt"):
            answer = httpx2.put(
                f"{url}/v1/place/devices/{FILE.member}/{name}",
                content=b"x",
                headers={"authorization": f"Bearer {ann}"},
            )
            assert answer.status_code in (404, 405)
    for word in (b"ultramarine", b"Zanzibar", b"laptop", note.encode()):
        assert word not in raw(host)
    with pytest.raises(StoreError):
        laptop.engine.sync.now()
    for device in (laptop, phone):
        device.close()


def test_no_key_in_the_open(tmp_path: Path) -> None:
    """A key is never sent over http:// to another machine."""
    with pytest.raises(InputError):
        open_place("engrams+http://memory.example.org", PlaceAccess(password="x"), tmp_path)


@pytest.mark.slow
def test_devices_by_rest(tmp_path: Path) -> None:
    """`/v1/sync` shows devices and unconfirmed purges, exchanges, and removes a device."""
    laptop, phone, place = tmp_path / "laptop", tmp_path / "phone", str(tmp_path / "place")
    for home in (laptop, phone):
        home.mkdir()
    note = engrams(laptop, "add", "The piano is in the hall.")["id"]
    engrams(laptop, "sync", "init", place, "--name", "laptop")
    code = engrams(laptop, "sync", "pair")["code"]
    engrams(phone, "sync", "join", place, "--name", "phone", ENGRAMS_SYNC_CODE=code)
    engrams(laptop, "purge", note, "--confirm", "purge")
    with serve(laptop) as url:
        assert httpx2.post(f"{url}/v1/sync").json()["sent"] == 1
        status: Any = httpx2.get(f"{url}/v1/sync").json()
        assert status == engrams(laptop, "sync", "status")
        assert [purge["waiting_for"] for purge in status["purges"]] == [["phone"]]
        assert engrams(phone, "sync", "now")["purged"] == 1
        httpx2.post(f"{url}/v1/sync")
        assert httpx2.get(f"{url}/v1/sync").json()["purges"] == []
        removed = httpx2.delete(f"{url}/v1/sync/devices/phone").json()
        assert removed["is_removed"]
        assert httpx2.delete(f"{url}/v1/sync/devices/nobody").status_code == 404
    assert "removed" in engrams(phone, "sync", "now", code=4)["error"]["message"]
    with serve(phone, "--set", "user=ann") as url:
        engrams(phone, "sync", "leave")
        assert httpx2.get(f"{url}/v1/sync").status_code == 404
