"""Commands beside a running server: it answers them, as they would answer themselves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.ipc.serving import ENTRY, answered, command, same, served, sockets

import engrams
from engrams import __version__
from engrams.ipc.command_client import CommandClient
from engrams.ipc.framed_link import receive_frame, send_frame
from engrams.settings import presets
from engrams.testing import ScriptedModel

ANN = ("--user", "ann")
STORY = (
    ("add", "My dog is called Rex and he is a greyhound."),
    ("add", "My dog is called Rex and he is a greyhound."),
    ("add", "I live in Oslo.", "--role", "user", "--session", "s1", "--json"),
    ("add", "I live in Bergen.", "Ann plays the cello.", "--at", "2026-05-05"),
    ("add", ""),
    ("add", "The key is sk-ant-REDACTED", "--json"),
    (
        "add",
        "Restart the router.",
        "--kind",
        "procedure",
        "--trigger",
        "wifi",
        "--id",
        "r1",
        "--json",
    ),
    (
        "add",
        "Restart the router.",
        "--kind",
        "procedure",
        "--trigger",
        "wifi",
        "--id",
        "r1",
        "--json",
    ),
    ("search", "Where does she live?"),
    ("search", "what is my dog called", "--json", "-n", "2"),
    ("search", "dog", "--kind", "nonsense"),
    ("search", "dog", "--where", "speaker=Bob"),
    ("search", "Where do I live?", "--as-of", "2026-05-06", "--json"),
    ("search", "dog", "--as-of", "yesterday", "--json"),
    ("search",),
    ("search", "dog", "--no-such-option"),
    ("context", "What is my dog called?"),
    ("context", "What is my dog called?", "--json", "--tokens", "100"),
    ("context", "Refactor the parser module", "--user", "nobody"),
)
"""Commands on one home, in their order."""


def compare(
    story: tuple[tuple[str, ...], ...], first: Path, second: Path, **environ: str
) -> list[bool]:
    """Run a story on two homes, of which the first is served;
    whether the server answered each command.
    """
    found = []
    for name, *words in story:
        user = () if "--user" in words else ANN
        alone, asked = (
            command(home, name, *words, *user, "--verbose", environ=environ)
            for home in (second, first)
        )
        assert same(asked) == same(alone), (name, words)
        found.append("opens" not in asked.stderr)
    return found


def test_the_same_answer_with_and_without_a_server(tmp_path: Path) -> None:
    """What is added and found through a server is what is added and found without one."""
    first = tmp_path / "a"
    second = tmp_path / "b"
    with served(first, *ANN):
        assert all(compare((STORY[0], STORY[2], STORY[8]), first, second))


@pytest.mark.slow
def test_a_story_with_and_without_a_server(tmp_path: Path) -> None:
    """Text, JSON, errors and exit codes are the same;
    a wrong command line is explained by the command itself.
    """
    first = tmp_path / "a"
    second = tmp_path / "b"
    with served(first, *ANN):
        assert all(compare(STORY, first, second))
    with engrams.open(home=str(first)) as one, engrams.open(home=str(second)) as two:
        counts = [engine.stats(("user", "ann"))["kind"] for engine in (one, two)]
        assert counts[0] == counts[1]


@pytest.mark.slow
@pytest.mark.parametrize("preset", presets())
def test_the_same_answers_with_each_preset(tmp_path: Path, preset: str) -> None:
    """With each preset in config.toml the answers are the same."""
    with ScriptedModel() as model:
        homes = [tmp_path / "a", tmp_path / "b"]
        for home in homes:
            home.mkdir()
            (home / "config.toml").write_text(
                f'preset = "{preset}"\nembed.provider = "builtin"\n', "utf-8"
            )
        with served(homes[0], *ANN, "--openai-base-url", f"{model.url}/v1"):
            compare(STORY, *homes)


@pytest.mark.slow
def test_an_encrypted_home(tmp_path: Path) -> None:
    """The passphrase that the command has is what counts:
    without it there is an error, with it the server answers.
    """
    first = tmp_path / "a"
    second = tmp_path / "b"
    secret = {"ENGRAMS_PASSPHRASE": "a long passphrase"}
    for home in (first, second):
        home.mkdir()
        (home / "config.toml").write_text(
            '[encryption]\nenabled = true\nkey = "passphrase"\n', "utf-8"
        )
        assert command(home, "add", "I live in Oslo.", *ANN, environ=secret).returncode == 0
    with served(first, *ANN, environ=secret):
        assert all(compare((("search", "Where do I live?"),), first, second, **secret))
        assert not any(compare((("search", "Where do I live?"),), first, second))
        assert command(first, "search", "Oslo", *ANN).returncode == 5
        wrong = {"ENGRAMS_PASSPHRASE": "another passphrase"}
        assert command(first, "search", "Oslo", *ANN, environ=wrong).returncode == 5


@pytest.mark.slow
def test_the_socket_is_this_users_alone(tmp_path: Path) -> None:
    """The socket has mode 0600 in a folder with 0700;
    a wider folder is no server's; it goes with its process, and two may serve.
    """
    home = tmp_path / "a home"
    with served(home) as one:
        (path,) = sockets(home)
        assert [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent)] == [
            0o600,
            0o700,
        ]
        path.parent.chmod(0o755)
        assert not answered(command(home, "search", "x", "--verbose"))
        path.parent.chmod(0o700)
        with served(home, name="serve"):
            assert len(sockets(home)) == 2 and answered(command(home, "search", "x", "--verbose"))
            one.send_signal(signal.SIGKILL)
            one.wait(30)
            assert answered(command(home, "search", "x", "--verbose"))
        assert sockets(home) in ([], [path])
    assert not answered(command(home, "search", "x", "--verbose")) and sockets(home) == []


@pytest.mark.slow
def test_settings_of_its_own(tmp_path: Path) -> None:
    """A call, a variable, a changed file or a test home with other settings than the server's opens
    the home itself, and tells why.
    """
    home = tmp_path / "home"
    with served(home, *ANN):
        ask = ("search", "x", *ANN, "--verbose")
        assert answered(command(home, *ask))
        assert "other settings (read)" in command(home, *ask, "--set", "read.limit=3").stderr
        assert (
            "other settings (read)"
            in command(home, *ask, environ={"ENGRAMS_READ__LIMIT": "3"}).stderr
        )
        assert not answered(command(home, *ask, "--test")) and not answered(
            command(tmp_path / "other", *ask)
        )
        assert answered(command(home, "search", "x", "--verbose", environ={"LOGNAME": "someone"}))
        (home / "config.toml").write_text("[read]\nlimit = 3\n", "utf-8")
        assert not answered(command(home, *ask))


def test_who_asks_is_who_is_meant(tmp_path: Path) -> None:
    """Without --user the memory is that of the caller's login, not of the server's."""
    home = tmp_path / "home"
    with served(home, environ={"LOGNAME": "ann"}):
        done = command(
            home, "add", "My dog is called Rex.", "--verbose", environ={"LOGNAME": "bob"}
        )
        assert answered(done) and done.returncode == 0
        assert "Rex" in command(home, "search", "dog", "--user", "bob").stdout
        assert "Rex" not in command(home, "search", "dog", environ={"LOGNAME": "ann"}).stdout


@pytest.mark.slow
def test_mcp_over_http_serves_commands_too(tmp_path: Path) -> None:
    """`engrams mcp --http` answers commands; what was added through it is found without it."""
    home = tmp_path / "home"
    with served(home, "--http", *ANN, name="mcp"):
        assert answered(command(home, "add", "My dog is called Rex.", *ANN, "--verbose"))
        assert "Rex" in command(home, "search", "dog", *ANN).stdout
    assert "Rex" in command(home, "search", "dog", *ANN).stdout


# --------------------------------------------------------------------------------------------------
# servers that misbehave


@contextmanager
def listening(home: Path, behave: Callable[[socket.socket], None]) -> Iterator[None]:
    """A false server on a home: `behave` gets each link."""
    folder = home / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    place = os.open(folder, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{place}/0.sock")
    listener.listen()

    def accept() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            behave(link)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        (folder / "0.sock").unlink(missing_ok=True)
        os.close(place)


_kept: list[socket.socket] = []


def _dies(link: socket.socket) -> None:
    receive_frame(link)
    link.close()


def _beats_then_dies(link: socket.socket) -> None:
    receive_frame(link)
    send_frame(link, None)
    link.close()


def _speaks_nonsense(link: socket.socket) -> None:
    receive_frame(link)
    link.sendall(struct.pack(">I", 3) + b"\xff\x00{")
    link.close()


def _claims_too_much(link: socket.socket) -> None:
    receive_frame(link)
    link.sendall(b"\xff\xff\xff\xff")
    link.close()


def _answers_a_list(link: socket.socket) -> None:
    receive_frame(link)
    send_frame(link, [1])
    link.close()


@pytest.mark.parametrize(
    "behave",
    [_dies, _beats_then_dies, _speaks_nonsense, _claims_too_much, _answers_a_list, _kept.append],
)
@pytest.mark.slow
def test_a_server_that_hangs_dies_or_speaks_nonsense(
    home: Path, behave: Callable[[socket.socket], None]
) -> None:
    """The command opens the home itself, within seconds, and does its work once."""
    with listening(home, behave):
        done = command(home, "add", "My dog is called Rex.", *ANN, "--verbose", "--json")
    assert done.returncode == 0 and "gave no answer" in done.stderr, done.stderr
    assert json.loads(done.stdout)["outcome"] == "stored"


def test_servers_of_other_versions_do_not_talk(home: Path, tmp_path: Path) -> None:
    """A server declines another version's call before it does anything."""
    with served(home, *ANN):
        (path,) = sockets(home)
        short = tmp_path / "s"
        short.symlink_to(path.parent)
        place = os.open(path.parent, os.O_RDONLY)
        answers: list[Any] = []
        for version, protocol in ((__version__, 0), ("0.0.1", 1)):
            link = socket.socket(socket.AF_UNIX)
            link.connect(f"/proc/self/fd/{place}/{path.name}")
            send_frame(link, {"protocol": protocol, "version": version, "arguments": ["add", "x"]})
            answers.append(receive_frame(link))
            link.close()
        os.close(place)
        assert answers == [{"declined": f"the server has version {__version__}"}] * 2
        assert answered(command(home, "search", "x", *ANN, "--verbose"))


def test_a_stale_socket_is_ignored_and_removed(home: Path) -> None:
    """The socket of a process that was killed is taken away by the next command."""
    with listening(home, _dies):
        (path,) = sockets(home)
        kept = path.with_name("kept")
        os.link(path, kept)
    kept.rename(path)
    done = command(home, "search", "x", *ANN, "--verbose")
    assert done.returncode == 0 and "no server runs" in done.stderr and sockets(home) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["note", "turn"])
def test_a_write_is_done_once_whenever_the_server_dies(home: Path, kind: str) -> None:
    """A server that is killed or stopped at any moment of an `add` leaves one memory and a command
    that succeeded.
    """
    for number in range(12):
        with served(home, *ANN) as server:
            command(home, "search", "warm", *ANN)
            line = [
                *ENTRY,
                "add",
                "--home",
                str(home),
                f"My {number}th dog is called Rex{number}.",
                *ANN,
                "--kind",
                kind,
                "--json",
            ]
            adding = subprocess.Popen(
                line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            time.sleep(0.02 * number)
            os.kill(server.pid, signal.SIGSTOP if number % 2 else signal.SIGKILL)
            out, err = adding.communicate(timeout=120)
            if number % 2:
                os.kill(server.pid, signal.SIGCONT)
                time.sleep(0.5)
        assert adding.returncode == 0 and json.loads(out)["outcome"] == "stored", (out, err)
    with engrams.open(home=str(home)) as engine:
        found = engine.list(scope=("user", "ann"), limit=500, where={"kind": kind}).records
        said = [record.text for record in found]
        assert sorted(said) == sorted({*said}) and len(said) == 12
        assert {record.strength for record in found} == {found[0].strength}


@pytest.mark.slow
def test_a_copied_home_asks_nobody(home: Path, tmp_path: Path) -> None:
    """A copy of a home does not ask the server of the first."""
    with served(home, *ANN):
        command(home, "add", "My dog is called Rex.", *ANN)
        shutil.copytree(home, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock"))
        assert not answered(command(tmp_path / "copy", "search", "dog", *ANN, "--verbose"))


@pytest.mark.slow
def test_files_and_standard_input_are_the_callers(home: Path, tmp_path: Path) -> None:
    """Short options in one word do not make the server read its own folder or its own standard
    input.
    """
    (tmp_path / "notes.txt").write_text("The tulips are red.\n", "utf-8")
    with served(home, *ANN):
        for name, told in (("notes.txt", ""), ("-", "The roses are white.\n")):
            line = [*ENTRY, "add", "--home", str(home), f"-qf{name}", *ANN]
            done = subprocess.run(
                line, cwd=tmp_path, input=told, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, done.stderr
        found = command(home, "search", "roses and tulips", *ANN).stdout
        assert "tulips" in found and "roses" in found


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a suite in the background hears none


@pytest.mark.slow
def test_a_reader_that_goes_and_a_user_who_interrupts(home: Path) -> None:
    """A closed pipe ends an answered command with 0, Ctrl-C one that waits with 130;
    neither shows a traceback.
    """
    line = [*ENTRY, "search", "--home", str(home), "dog", *ANN]
    with served(home, *ANN) as server:
        command(home, "add", "My dog is called Rex. " * 500, *ANN)
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [*line, "--json"], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, "")
        server.send_signal(signal.SIGSTOP)
        try:
            waiting = subprocess.Popen(
                line,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=_hear_interrupts,  # noqa: PLW1509 - a test's process
            )
            time.sleep(1)
            waiting.send_signal(signal.SIGINT)
            assert waiting.communicate(timeout=60) == ("", "") and waiting.returncode == 130
        finally:
            server.send_signal(signal.SIGCONT)


def test_several_hanging_servers_cost_the_time_of_one(home: Path) -> None:
    """Silence is waited for once, however many processes are suspended."""
    with listening(home, _kept.append):
        (path,) = sockets(home)
        for number in range(1, 4):
            os.link(path, path.with_name(f"{number}.sock"))
        begun = time.monotonic()
        assert CommandClient(["search", "x"], str(home)).ask() is None
        assert time.monotonic() - begun < 3.5


@pytest.mark.slow
def test_a_transcript_is_read_in_the_callers_folder(home: Path, tmp_path: Path) -> None:
    """A hook whose transcript the server cannot find reads it itself."""
    entry = {"type": "user", "message": {"role": "user", "content": "My parrot is called Pirate."}}
    (tmp_path / "t.jsonl").write_text(json.dumps(entry) + "\n", "utf-8")
    event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": "t.jsonl"}
    line = [*ENTRY, "hook", "--home", str(home), *ANN, "--seconds", "60", "--verbose"]
    with served(home, *ANN):
        done = subprocess.run(
            line, cwd=tmp_path, input=json.dumps(event), capture_output=True, text=True, timeout=90
        )
        assert "the transcript cannot be read here" in done.stderr
        assert "Pirate" in command(home, "search", "parrot", *ANN).stdout


def test_a_server_removes_what_killed_ones_left(tmp_path: Path) -> None:
    """Sockets of killed processes go when a server starts, with those they had not named yet;
    those of living ones stay.
    """
    run = tmp_path / "home" / "run"
    run.mkdir(parents=True, mode=0o700)
    for name in ("dead.sock", "dead.new", "young.new"):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(run / name))
    os.utime(run / "dead.new", (0, 0))
    with socket.socket(socket.AF_UNIX) as alive:
        alive.bind(str(run / "alive.sock"))
        alive.listen(8)
        with served(tmp_path / "home"):
            names = {path.name for path in run.iterdir()}
            assert {"alive.sock", "young.new"} <= names and not {"dead.sock", "dead.new"} & names
