"""Several processes on one port behave as one: real processes, asked in turns."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.http.fleet import ENTRY, Fleet, fleet

REX = "My dog is called Rex and he is a greyhound."
SETTINGS = (
    "delivery.shown_minutes=45",
    "tiers.enabled=true",
    "serve.rate_limit=2",
    "jobs.workers=1",
)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two workers on one home, where keys, tiers and late repeats count."""
    home = tmp_path_factory.mktemp("two") / "home"
    with fleet(home, *(word for setting in SETTINGS for word in ("--set", setting))) as found:
        yield found


def add(fleet: Fleet, worker: int, role: str, text: str, session: str) -> dict[str, Any]:
    said = {"messages": [{"role": role, "content": text}], "session": session}
    found: dict[str, Any] = fleet.ask(worker, "/v1/memories", said)["results"][0]
    return found


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_each_finds_at_once_what_the_other_stored(two: Fleet) -> None:
    """Writes and searches that alternate between two processes:
    every search finds the write before it.
    """
    for number in range(12):
        two.ask(
            number % 2, "/v1/memories", {"text": f"The code of locker {number} is quux{number}."}
        )
        hits = two.ask((number + 1) % 2, "/v1/search", {"query": f"locker quux{number}"})["hits"]
        assert f"quux{number}" in hits[0]["memory"]["text"]


def test_a_thread_continues_in_another_process(two: Fleet) -> None:
    """Responses that name the one before are one session, and a message said twice in it is stored
    twice.
    """
    last = ""
    said = (
        "I keep bees in a hive.",
        "They live on the roof.",
        "They live on the roof.",
        "They live on the roof.",
    )
    for number, text in enumerate(said):
        more = {"previous_response_id": last} if last else {}
        last = two.ask(
            number % 2, "/v1/responses", {"model": "engrams-offline", "input": text, **more}
        )["id"]
    held = two.ask(0, "/v1/memories?kind=turn&limit=100")["memories"]
    sessions = [each["session"] for each in held if each["text"] in said]
    assert len(sessions) == 4 and len(set(sessions)) == 1


def test_a_memory_shown_by_one_process_is_not_repeated_by_another(two: Fleet) -> None:
    """A memory shown in a conversation by one process is not shown again by the other."""
    two.ask(0, "/v1/memories", {"text": REX})
    asked = {"query": "What is my dog called?", "session": "s-shown"}
    first, second = (two.ask(worker, "/v1/context", asked) for worker in (0, 1))
    assert "greyhound" in first["tail"] and "greyhound" not in second["tail"]


def test_the_answer_to_an_unsaved_message_is_not_saved_elsewhere(two: Fleet) -> None:
    """Somebody asks one process not to save a message:
    the answer, which comes to the other, is not saved either.
    """
    assert (
        add(two, 0, "user", "Don't save this: my gym code is 88112.", "s-unsaved")["outcome"]
        == "unsaved"
    )
    assert add(two, 1, "assistant", "Your gym code is 88112.", "s-unsaved")["outcome"] == "unsaved"


def test_processes_share_fingerprints_of_injected_memory(two: Fleet) -> None:
    """Memory that one process put into a prompt is recognised in an answer that the other stores."""
    fact = "Ada's sister Ruth restores wooden harpsichords in Ghent."
    two.ask(0, "/v1/memories", {"text": fact, "kind": "fact"})
    assert "harpsichords" in two.ask(0, "/v1/context", {"query": "What does Ruth restore?"})["text"]
    stored = add(two, 1, "assistant", f"{fact}\n\nShall I call her?", "s-echo")
    assert two.ask(0, f"/v1/memories/{stored['id']}")["meta"]["echo"]


def test_processes_share_the_working_tier(two: Fleet) -> None:
    """Turns stored by either process are in the working tier of both, which holds no more than its
    size.
    """
    for number in range(50):
        add(
            two,
            number % 2,
            "user",
            f"On day {number} I walked around the lake with my neighbour.",
            "s-tier",
        )
    counts = [two.ask(worker, "/api/state/implementation")["l0"] for worker in (0, 1)]
    held = two.ask(0, "/v1/memories?tier=working&limit=100")["memories"]
    assert [*counts, len(held)] == [20, 20, 20]


def test_processes_share_the_rate_limit(two: Fleet, tmp_path: Path) -> None:
    """Two requests a second, twenty at once: so many of one key, whichever process they reach."""
    home = two.log.parent
    made = subprocess.run(
        [*ENTRY, "keys", "add", "k", "--user", "ada", "--home", str(home), "--json"],
        capture_output=True,
        check=True,
    )
    key = {"authorization": f"Bearer {json.loads(made.stdout)['key']}"}
    begun = time.monotonic()
    answers = [two.fetch(number % 2, "/v1/stats", headers=key)[0] for number in range(50)]
    assert 20 <= answers.count(200) <= 22 + 2 * (time.monotonic() - begun)


@pytest.mark.slow
def test_a_preview_and_its_act_may_meet_different_processes(two: Fleet) -> None:
    """Over MCP, without a session: one process previews a purge, the other one carries it out."""

    def call(worker: int, tool: str, **given: Any) -> Any:
        asked = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": given},
        }
        head = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-06-18",
        }
        status, text = two.fetch(worker, "/mcp/erase", asked, head)
        assert status == 200, text
        return json.loads(next(line for line in text.splitlines() if line.startswith("data:"))[5:])[
            "result"
        ]

    made = two.ask(0, "/v1/memories", {"text": "The old shed has a blue door."})["results"][0]["id"]
    token = call(0, "preview_purge", ids=[made])["structuredContent"]["token"]
    assert call(1, "purge", token=token)["structuredContent"]["proven"]
    assert call(0, "purge", token=token)["isError"]


def test_metrics_are_sums_over_all_processes(two: Fleet) -> None:
    """Metrics and the chart of requests are sums, whoever is asked."""

    def count() -> list[int]:
        texts = [two.fetch(worker, "/metrics")[1] for worker in (0, 1)]
        lines = [
            line
            for text in texts
            for line in text.splitlines()
            if 'route="/v1/explain"' in line and "requests_total" in line
        ]
        return [int(float(line.rpartition(" ")[2])) for line in lines]

    def chart() -> list[int]:
        found = [two.ask(worker, "/v1/stats/series?minutes=60")["points"] for worker in (0, 1)]
        return [sum(each["searches"] for each in points) for points in found]

    before = chart()
    for worker in (0, 1, 1):
        two.ask(worker, "/v1/explain", {"query": "dog"})
    assert count() == [3, 3]
    assert [after - known for after, known in zip(chart(), before, strict=True)] == [3, 3]


def test_the_chart_is_told_soon_while_a_request_is_under_way(two: Fleet) -> None:
    """One process still waits for a body:
    searches that it answers meanwhile are in the other one's chart within tenths of a second.
    """

    def count() -> int:
        return sum(each["searches"] for each in two.ask(0, "/v1/stats/series?minutes=60")["points"])

    before = count()
    place = ("127.0.0.1", two.port)
    with (
        socket.create_connection(place) as one,
        socket.create_connection(place) as other,
    ):  # they are handed out in turn
        for line in (one, other):
            line.sendall(
                b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-type:"
                b" application/json\r\ncontent-length: 20\r\n\r\n{"
            )
        two.ask(1, "/v1/explain", {"query": "dog"})
        until(lambda: count() == before + 1)


def test_a_worker_that_dies_is_started_again(two: Fleet) -> None:
    """Killed, it is named in the log and replaced; meanwhile the other one answers."""
    lost = two.workers[1]
    other = two.workers[0]
    os.kill(lost, signal.SIGKILL)
    until(lambda: f"process {lost}) was ended by signal 9" in two.log.read_text("utf-8"))
    line = HTTPConnection("127.0.0.1", two.port, timeout=30)
    line.request("GET", "/ready")
    assert line.getresponse().status == 200

    def find_new() -> bool:
        line = HTTPConnection("127.0.0.1", two.port, timeout=30)
        line.request("GET", "/health")
        return json.loads(line.getresponse().read())["pid"] not in (lost, other)

    until(find_new)


@pytest.mark.slow
def test_a_signal_lets_all_workers_finish(tmp_path: Path) -> None:
    """SIGTERM:
    a request that is under way is answered, then every process ends, with 0, and nothing is left of
    them.
    """
    with fleet(tmp_path / "home") as found:
        line = HTTPConnection("127.0.0.1", found.port, timeout=60)
        body = json.dumps({"text": REX}).encode()
        line.putrequest("POST", "/v1/memories")
        for name, value in (
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
        ):
            line.putheader(name, value)
        line.endheaders()
        line.send(body[:10])
        time.sleep(0.5)
        found.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        line.send(body[10:])
        assert line.getresponse().status == 201
        assert found.process.wait(60) == 0
        assert not any(is_alive(pid) for pid in found.workers)


@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    """A parent that is killed leaves no worker behind."""
    with fleet(tmp_path / "home") as found:
        found.process.kill()
        until(lambda: not any(is_alive(pid) for pid in found.workers))


@pytest.mark.slow
def test_a_context_for_the_next_turn_is_given_once_by_either(tmp_path: Path) -> None:
    """Computed by one process, the context of the next turn is delivered by the other, once."""
    with fleet(tmp_path / "home", "--set", "delivery.mode=pending") as found:
        found.ask(0, "/v1/memories", {"text": REX})
        asked = {"query": "What is my dog called?", "session": "s1"}
        assert found.ask(0, "/v1/context", asked)["text"] == ""
        time.sleep(2)
        assert "greyhound" in found.ask(1, "/v1/context", asked)["text"]
        assert found.ask(0, "/v1/context", {**asked, "session": "s2"})["text"] == ""


@pytest.mark.slow
def test_a_passphrase_is_asked_once(tmp_path: Path) -> None:
    """The parent asks on the terminal, and all workers open the home."""
    pty = pytest.importorskip("pty")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[encryption]\nenabled = true\nkey = "passphrase"\n', "utf-8")
    secret = {**os.environ, "ENGRAMS_PASSPHRASE": "a long passphrase"}
    subprocess.run(
        [*ENTRY, "add", REX, "--home", str(home), "--user", "ada"],
        env=secret,
        check=True,
        capture_output=True,
    )
    pid, terminal = pty.fork()
    if not pid:
        os.execv(
            ENTRY[0],
            [
                *ENTRY,
                "serve",
                "--home",
                str(home),
                "--user",
                "ada",
                "--workers",
                "2",
                "--port",
                "0",
            ],
        )
    told = b""
    try:
        while b"listens on" not in told:
            told += os.read(terminal, 1000)
            if told.count(b"Passphrase of this home") and b"typed" not in told:
                os.write(terminal, b"a long passphrase\n")
                told += b"typed"
        assert told.count(b"Passphrase of this home") == 1
        port = int(told.split(b"listens on http://127.0.0.1:")[1].split(b"/")[0])
        for _ in range(4):
            line = HTTPConnection("127.0.0.1", port, timeout=60)
            line.request(
                "POST",
                "/v1/search",
                json.dumps({"query": "dog"}),
                {"content-type": "application/json"},
            )
            assert b"greyhound" in line.getresponse().read()
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        os.close(terminal)


@pytest.mark.slow
def test_several_workers_need_a_shared_store(tmp_path: Path) -> None:
    """Memory of one process only is not served by several; a port that is taken is said once."""
    command = [*ENTRY, "serve", "--home", str(tmp_path), "--workers", "2", "--port", "0"]
    done = subprocess.run([*command, "--set", "incognito=true"], capture_output=True, text=True)
    assert done.returncode != 0 and "several workers" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = subprocess.run(
            [*command, "--port", str(taken.getsockname()[1])], capture_output=True, text=True
        )
    assert done.returncode != 0 and done.stderr.count("Cannot listen") == 1
