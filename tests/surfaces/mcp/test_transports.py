"""The server as clients start it: a process on standard input and output, and an HTTP address."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from tests.surfaces.mcp.conftest import call

from engrams.core import Scope
from engrams.errors import InputError, SettingsError
from engrams.program.registry import create_mcp_server
from engrams.surfaces.mcp.server import listen
from engrams.testing import temp_engine

ENGRAMS = [sys.executable, "-c", "from engrams.program.main import run; run()"]
Era = Literal["auto", "legacy"]


@pytest.mark.slow
async def test_a_process(home: Path, era: Era) -> None:
    """`engrams mcp` answers on its standard streams;
    what is told is there for the next process, and only for its user.
    """

    def started(user: str) -> Client:
        arguments = [*ENGRAMS[1:], "mcp", "--home", str(home), "--user", user]
        return Client(
            StdioServerParameters(command=ENGRAMS[0], args=arguments),
            mode=era,
            read_timeout_seconds=60,
        )

    async with started("ann") as memory:
        await call(memory, "memory_add", text="The attic window sticks.")
    async with started("ann") as memory:
        assert "attic" in str(await call(memory, "memory_search", query="which window sticks?"))
    async with started("bob") as memory:
        assert (await call(memory, "memory_list"))["memories"] == []


def test_half_a_character_is_answered(home: Path) -> None:
    """A request with a lone surrogate, as of an emoji that was cut, is answered with a question
    mark for it; one that is no JSON is not.
    """

    def ask(number: int, method: str, **params: object) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    added = ask(2, "tools/call", name="memory_add", arguments={"text": "The gate is green \ud83d"})
    found = ask(3, "tools/call", name="memory_search", arguments={"query": "gate \ud83d"})
    begun = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    lines = [ask(1, "initialize", **client), begun, "\\ud83d no JSON", added, found]
    with subprocess.Popen(
        [*ENGRAMS, "mcp", "--home", str(home), "--user", "ann"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answers = {}
        for line in lines:
            server.stdin.write(line + "\n")
            server.stdin.flush()
            if "id" in json.loads(line if line.startswith("{") else "{}"):
                answer = json.loads(server.stdout.readline())
                answers[answer["id"]] = json.dumps(answer)
        server.stdin.close()
    assert "stored" in answers[2]
    assert "The gate is green ?" in answers[3]


@pytest.mark.slow
async def test_the_project_of_a_folder(home: Path, tmp_path: Path) -> None:
    """`engrams mcp --project .` serves the project of the folder that it starts in;
    the hook and commands there share its memory.
    """
    folders = {name: tmp_path / name for name in ("boat", "house")}
    for folder in folders.values():
        (folder / "src").mkdir(parents=True)
        (folder / ".git").mkdir()

    def started(folder: Path) -> Client:
        arguments = [*ENGRAMS[1:], "mcp", "--home", str(home), "--user", "ann", "--project", "."]
        return Client(
            StdioServerParameters(command=ENGRAMS[0], args=arguments, cwd=folder),
            read_timeout_seconds=60,
        )

    def run(folder: Path, name: str, *words: str, stdin: str = "") -> str:
        line = [
            sys.executable,
            "-m",
            "engrams.program.entry",
            name,
            "--home",
            str(home),
            "--user",
            "ann",
            "--project",
            ".",
        ]
        return subprocess.run(
            [*line, *words],
            cwd=folder,
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    async with started(folders["boat"] / "src") as memory:
        await call(memory, "memory_add", text="The attic window sticks.")
        # The running server answers commands of the folder, also from deeper inside it.
        assert "attic" in run(folders["boat"], "search", "which window sticks?")
        run(folders["boat"] / "src", "add", "The rudder is new.")
        assert "rudder" in str(await call(memory, "memory_search", query="what about the rudder?"))
        assert "attic" not in run(folders["house"], "search", "which window sticks?")
        event = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s1",
            "prompt": "Which window sticks?",
            "cwd": str(folders["boat"]),
        }
        assert "attic" in run(folders["boat"], "hook", stdin=json.dumps(event))
    async with started(folders["house"]) as memory:
        assert (await call(memory, "memory_list"))["memories"] == []
    assert json.loads(run(tmp_path, "projects", "--json"))["projects"] == [
        {"name": "boat", "memories": 2}
    ]


@contextmanager
def over_http(home: Path, *options: str) -> Iterator[str]:
    """`engrams mcp --http` on a free port; its address."""
    arguments = ["mcp", "--http", "--port", "0", "--home", str(home), "--user", "ann", *options]
    process = subprocess.Popen([*ENGRAMS, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        line = process.stdout.readline()
        yield line.split("MCP at ")[1].split(". Press")[0]
    finally:
        process.terminate()
        process.wait(20)


async def test_http(home: Path) -> None:
    """Both eras work on one address; a project given at the start is where everything goes."""
    with over_http(home, "--project", "boat") as url:
        assert url.endswith("/mcp")
        async with Client(url, mode="auto") as memory:
            memory_id = (await call(memory, "memory_add", text="The mooring costs 40 a night."))[
                "results"
            ][0]["id"]
        async with Client(url, mode="legacy") as memory:
            listed = (await call(memory, "memory_list"))["memories"]
            assert memory_id in [entry["id"] for entry in listed]
            assert {tuple(entry["scope"]) for entry in listed} == {
                ("user", "ann", "project", "boat")
            }
        assert httpx2.post(url, headers={"host": "evil.example"}, json={}).status_code == 421
        assert (
            httpx2.post(url, headers={"origin": "https://evil.example"}, json={}).status_code == 403
        )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.org", ""])
def test_only_this_machine(host: str) -> None:
    """Any address but loopback is refused before anything listens."""
    with pytest.raises(SettingsError, match="machine"):
        listen(host, 0)


def test_a_taken_port_and_a_wrong_profile() -> None:
    """Both are said in words."""
    with listen("127.0.0.1", 0) as first, pytest.raises(SettingsError, match="Cannot listen"):
        listen("127.0.0.1", first.getsockname()[1])
    with temp_engine() as engine, pytest.raises(InputError, match="profile"):
        create_mcp_server(engine, Scope(("user", "ann")), "other")


def test_the_command_line_does_not_load_the_server() -> None:
    """`engrams mcp --help` knows nothing of the protocol's library, and `engrams --help` lists the
    command.
    """
    script = (
        "import sys; from engrams.program.main import main; main(['mcp', '--help']);"
        " print('mcp' in sys.modules)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert "--profile" in finished
    assert finished.rstrip().endswith("False")


@pytest.mark.slow
def test_the_greeting_waits_for_no_memory(home: Path) -> None:
    """The server greets its client before memory is opened:
    nothing of the engine's is loaded, and the home is not made.
    """
    greeting = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        '"clientInfo":{"name":"t","version":"1"}}}\n'
    )
    for profile in ("engrams", "actions", "mem0", "graph", "search"):
        script = (
            "import sys\nsys.argv = ['engrams', 'mcp', '--user', 'ann', '--profile', sys.argv[1],"
            " '--home', sys.argv[2]]\ntry:\n    from engrams.program.main import run;"
            " run()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
        )
        finished = subprocess.run(
            [sys.executable, "-c", script, profile, str(home)],
            input=greeting,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert '"protocolVersion"' in finished.stdout, finished.stderr[-500:]
        assert not {"numpy", "apsw", "engrams.composition"} & set(finished.stderr.split())
    assert not home.exists()
