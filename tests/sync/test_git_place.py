"""A git repository as a place: by path, through git's own programs, and over HTTP."""

from __future__ import annotations

import shutil
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from dulwich.objects import Blob
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain
from tests.sync.replicas import OWNER, Device, exchange_all, pair_at, plain_at, raw

from engrams.core import Status
from engrams.errors import InputError, StoreError
from engrams.sync.git_place import GitPlace
from engrams.sync.place_addresses import open_place
from engrams.sync.places import NO_ACCESS, PlaceFile

SECRET = "The wallpaper in Zanzibar was ultramarine."
OTHER = "My bicycle is in the cellar."
FILES = [PlaceFile("0123456789" * 2, number, "seg") for number in range(1, 40)]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A bare repository, as `git init --bare` makes one."""
    path = tmp_path / "memory.git"
    path.mkdir()
    Repo.init_bare(str(path)).close()
    return path


@pytest.fixture
def over_http(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of a server of the repository."""
    repo = Repo(str(bare))
    compare_and_swap = repo.refs.set_if_equals

    def require_swap(*values: Any, **named: Any) -> bool:
        # dulwich's server answers that all went well even if the branch had moved on; git's does not.
        if not compare_and_swap(*values, **named):
            raise OSError("The branch moved on.")
        return True

    monkeypatch.setattr(repo.refs, "set_if_equals", require_swap)
    server = make_server(
        "127.0.0.1",
        0,
        make_wsgi_chain(DictBackend({"/memory.git": repo})),
        handler_class=_QuietHandler,
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/memory.git"
    server.shutdown()
    thread.join()
    server.server_close()


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def over_ssh(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Address that runs git's own programs, as a host of ssh does."""
    if shutil.which("git") is None:
        pytest.skip("needs the git program")
    ssh = tmp_path / "ssh"
    # The last argument is the command for the host.
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(ssh.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    return f"ssh://host{bare}"


@pytest.mark.parametrize("way", ["path", "http", "ssh"])
def test_two_devices_and_a_purge(
    way: str, bare: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Memories and a purge travel; afterwards the branch leads to no earlier version of a file."""
    address = str(bare) if way == "path" else request.getfixturevalue(f"over_{way}")
    laptop, phone = Device(tmp_path, "laptop"), Device(tmp_path, "phone")
    laptop.engine.sync.init(address, OWNER, "laptop")
    pair_at(laptop, phone, address)
    note = laptop.say(SECRET)
    phone.say(OTHER)
    exchange_all([laptop, phone], 2)
    assert laptop.export() == phone.export()
    assert sorted(phone.texts()) == sorted([SECRET, OTHER])
    assert "ultramarine" in plain_at(laptop)
    laptop.engine.purge(note, scope=OWNER)
    report = laptop.engine.sync.now()
    assert report.cleaned
    assert "git gc" in report.remains
    exchange_all([phone, laptop], 1)
    assert phone.get(note).status is Status.PURGED
    assert "ultramarine" not in plain_at(laptop)
    assert not laptop.engine.sync.status().purges
    assert len(read_history(bare)) < 4
    for word in (b"ultramarine", b"Zanzibar", b"laptop", b"phone"):
        assert word not in raw(bare) + b"".join(read_history(bare).values())
    for device in (laptop, phone):
        device.close()


def read_history(bare: Path) -> dict[str, bytes]:
    """Everything that the branch leads to: content by commit."""
    with Repo(str(bare)) as repo:
        return {
            entry.commit.id.decode(): b"".join(
                repo[item.sha].as_raw_string()
                for item in repo.object_store.iter_tree_contents(entry.commit.tree)
            )
            for entry in repo.get_walker(include=[repo.refs[b"refs/heads/engrams"]])
        }


def test_a_repository_that_lets_nobody_rewrite(over_ssh: str, bare: Path, tmp_path: Path) -> None:
    """Where the branch may only grow a replaced file is put on top, and the place says what stays."""
    git = shutil.which("git")
    subprocess.run(
        [git, "-C", str(bare), "config", "receive.denyNonFastForwards", "true"], check=True
    )
    place = GitPlace(over_ssh, NO_ACCESS, tmp_path / "copy")
    place.write({FILES[0]: b"first"})
    place.write({FILES[0]: b"second"})
    assert place.read(FILES[0]) == b"second"
    assert "history keeps" in place.remains
    assert len(read_history(bare)) == 2


@pytest.mark.parametrize("way", ["path", "http", "ssh"])
def test_pushes_at_the_same_time(
    way: str, bare: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Devices that push at once lose nothing of each other, also where one replaces a file."""
    address = str(bare) if way == "path" else request.getfixturevalue(f"over_{way}")
    places = [open_place(address, NO_ACCESS, tmp_path / f"home{number}") for number in range(3)]

    def work(number: int) -> None:
        for count in range(4):
            places[number].write({FILES[number * 10 + count]: b"%d %d" % (number, count)})
            places[number].write({FILES[number * 10]: b"%d changed %d" % (number, count)})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in places:
        assert place.list() == {FILES[n * 10 + count] for n in range(3) for count in range(4)}
        assert place.read(FILES[10]) == b"1 changed 3"
        assert place.read(FILES[12]) == b"1 2"


@pytest.mark.parametrize("way", ["path", "http", "ssh"])
def test_files_are_removed(
    way: str, bare: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Files that are not needed any more go, and the branch leads to them no more; other devices' stay."""
    address = str(bare) if way == "path" else request.getfixturevalue(f"over_{way}")
    place = open_place(address, NO_ACCESS, tmp_path / "home")
    other = open_place(address, NO_ACCESS, tmp_path / "other")
    place.write({FILES[0]: b"first", FILES[1]: b"second"})
    other.write({FILES[2]: b"third"})
    place.remove(FILES[1:2])
    assert other.list() == {FILES[0], FILES[2]}
    assert other.read(FILES[1]) is None
    assert b"second" not in b"".join(read_history(bare).values())
    place.remove(FILES[1:2])
    assert len(read_history(bare)) == 1


def test_a_hostile_branch(bare: Path, tmp_path: Path) -> None:
    """Names that lead elsewhere, links and foreign files are no files of the place."""
    place = GitPlace(str(bare), NO_ACCESS, tmp_path / "copy")
    place.write({FILES[0]: b"good"})
    with Repo(str(bare)) as repo:
        from dulwich.index import commit_tree
        from dulwich.objects import Commit

        blob = Blob.from_string(b"evil")
        repo.object_store.add_object(blob)
        commit = Commit()
        entries = [
            (b"devices/../../x", 0o100644),
            (f"devices/{FILES[0].member}/2.seg".encode(), 0o120000),
            (f"devices/{FILES[0].member}/x/3.seg".encode(), 0o100644),
            (b"devices/notes.txt", 0o100644),
        ]
        commit.tree = commit_tree(repo.object_store, [(n, blob.id, mode) for n, mode in entries])
        commit.author = commit.committer = b"x <x@x>"
        commit.author_time = commit.commit_time = 0
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = b"evil"
        repo.object_store.add_object(commit)
        repo.refs[b"refs/heads/engrams"] = commit.id
    assert place.list() == frozenset()
    assert place.read(FILES[0]) is None
    assert not (tmp_path / "x").exists()
    place.write({FILES[1]: b"again"})
    assert place.list() == {FILES[1]}


@pytest.mark.slow
def test_what_is_no_repository(tmp_path: Path, bare: Path) -> None:
    """An address that leads nowhere, and a damaged copy, are told, and mend themselves."""
    with pytest.raises(StoreError, match="no git repository"):
        GitPlace(str(tmp_path), NO_ACCESS, tmp_path / "copy").list()
    with pytest.raises(StoreError):
        GitPlace("http://127.0.0.1:9/x.git", NO_ACCESS, tmp_path / "copy").list()
    with pytest.raises(InputError):
        open_place("https://ann:word@host/x.git", NO_ACCESS, tmp_path)
    place = GitPlace(str(bare), NO_ACCESS, tmp_path / "copy")
    place.write({FILES[0]: b"good"})
    for path in (tmp_path / "copy" / "objects").rglob("*"):
        if path.is_file():
            path.unlink()
    fresh = GitPlace(str(bare), NO_ACCESS, tmp_path / "copy")
    assert fresh.list() == {FILES[0]}
    assert fresh.read(FILES[0]) == b"good"
    # A process that was killed left a lock in its copy.
    GitPlace(str(bare), NO_ACCESS, tmp_path / "other").write({FILES[1]: b"other"})
    (tmp_path / "copy" / "refs" / "heads" / "engrams.lock").touch()
    with pytest.raises(StoreError):
        fresh.list()
    assert fresh.list() == set(FILES[:2])


def test_the_end_of_a_device_takes_its_copy_along(bare: Path, tmp_path: Path) -> None:
    """`leave` leaves no copy of the repository behind."""
    laptop = Device(tmp_path, "laptop")
    laptop.engine.sync.init(str(bare), OWNER, "laptop")
    laptop.say(OTHER)
    laptop.engine.sync.now()
    folder: Any = laptop.home / "sync"
    assert any(path.name == "HEAD" for path in folder.rglob("*"))
    laptop.engine.sync.leave()
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {".lock"}
    laptop.close()
