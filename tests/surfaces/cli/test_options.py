"""What every command shares:
help, options, scopes, errors, exit codes. None of this needs a store.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from engrams import errors
from engrams.program.main import COMMANDS, LazyCommandGroup, exit_code, main
from engrams.settings import load
from engrams.surfaces.cli import filter_options, output
from engrams.surfaces.cli.options import GlobalOptions

ROOT = Path(__file__).parents[3]
HEAVY = {
    "pydantic",
    "numpy",
    "apsw",
    "httpx2",
    "rich",
    "json_repair",
    "yaml",
    "fastapi",
    "uvicorn",
    "asyncio",
}


def python(script: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def test_help_loads_nothing_heavy() -> None:
    """`engrams --help` lists every command without loading a model, a database, a validator or a
    renderer.
    """
    finished = python(
        "import sys; from engrams.program.main import main; main(['--help']);"
        " print(*sys.modules, file=sys.stderr)"
    )
    assert all(f"\n  {name} " in finished.stdout for name in COMMANDS)
    assert not HEAVY & set(finished.stderr.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_the_shared_options(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command explains itself and takes the shared options;
    a hook knows no agents and conversations.
    """
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: engrams {name}" in shown
    if "Commands:" in shown:
        # A group: its commands take them.
        return
    for option in ("--json", "--home", "--preset", "--set", "--user", "--project"):
        assert option in shown
    for option in ("--agent", "--conversation"):
        assert (option in shown) == (name != "hook")


def test_reference_pages_are_up_to_date() -> None:
    """Generated pages, the man page and the completions say what commands and settings say now."""
    finished = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr


def test_json_page_names_every_command() -> None:
    """The page on JSON output has a section for each command that prints any."""
    page = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"`{name}`" not in page] == []


def test_json_page_names_every_field() -> None:
    """The page on JSON output names every field of a record, a receipt, a change and a trace."""
    from dataclasses import fields

    from engrams.core import (
        DerivedMemory,
        Evidence,
        HistoryEntry,
        Provenance,
        Receipt,
        Record,
        SearchTraceRow,
        StageDecision,
        Trace,
    )

    page = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
    shapes = (
        Record,
        Receipt,
        DerivedMemory,
        StageDecision,
        HistoryEntry,
        Evidence,
        Provenance,
        Trace,
        SearchTraceRow,
    )
    assert [
        item.name
        for shape in shapes
        for item in fields(shape)
        if f"`{item.name}`" not in page and f'"{item.name}"' not in page
    ] == []


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`engrams --version` prints the version alone."""
    from engrams import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["serach", "x"], "Did you mean 'search'?"),
        (["quux"], "No such command 'quux'"),
        (["search"], "Missing argument"),
        (["search", "x", "--nope"], "No such option"),
        (["search", "x", "--limit", "many"], "--limit"),
        (["export", "x", "--format", "yaml"], "'jsonl', 'markdown'"),
    ],
)
def test_wrong_command_lines_are_usage_errors(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command line that is wrong in itself ends with 2 and says what is wrong."""
    assert main(arguments) == 2
    assert told in capsys.readouterr().err


def test_nothing_given_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`engrams` alone shows the commands."""
    assert main([]) == 2
    shown = capsys.readouterr()
    assert "Commands:" in shown.out + shown.err


def test_every_error_has_its_exit_code() -> None:
    """Each error class ends with its documented code."""
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.EngramsError)
    ]
    codes = {kind.__name__: exit_code(kind("x")) for kind in kinds}
    special = {
        "NotFoundError": 3,
        "RefusedError": 4,
        "StoreError": 5,
        "AlteredError": 5,
        "EncryptionError": 5,
        "ModelError": 6,
        "BudgetError": 6,
    }
    assert codes == {kind.__name__: special.get(kind.__name__, 1) for kind in kinds}


@pytest.mark.covers("S2.49")
def test_add_with_nothing_is_an_error(engrams: Any, home: Path) -> None:
    """`add` without anything to add ends with 1 and a hint, and leaves no trace."""
    for arguments in ((), ("-q",), ("-c", "work")):
        finished = engrams("add", *arguments)
        assert finished.code == 1
        assert "error: There is nothing to add." in finished.err
        assert "hint: Give a text" in finished.err
        assert not finished.out
    assert not home.exists()


def test_errors_as_json(engrams: Any) -> None:
    """With --json an error is one JSON object on standard error, and standard output stays empty."""
    finished = engrams("add", "--json")
    assert json.loads(finished.err)["error"]["type"] == "InputError"
    assert set(json.loads(finished.err)["error"]) == {"type", "message", "hint"}
    assert finished.out == ""


def test_scopes_are_built_in_order() -> None:
    """User, agent, project and conversation make a scope in that order;
    without a user it is the setting, else the login.
    """
    settings = load({}, {}).settings
    frame = GlobalOptions(user="U", conversation="C", project="P", agent="A")
    assert frame.scope(settings) == ("user", "U", "agent", "A", "project", "P", "conversation", "C")
    assert GlobalOptions(conversation="C").scope(settings.model_copy(update={"user": "set"})) == (
        "user",
        "set",
        "conversation",
        "C",
    )
    assert GlobalOptions().scope(settings) == ("user", settings.owner)
    assert GlobalOptions(user="U").load().settings.user == "U"


def test_an_empty_user_is_no_user(engrams: Any) -> None:
    """An empty --user is an error about the scope, not somebody's memory."""
    finished = engrams("search", "x", "--user", "")
    assert finished.code == 1
    assert "scope" in finished.err


def test_settings_come_from_the_command_line(engrams: Any, home: Path) -> None:
    """--set reaches every kind of setting, is shown as an argument's, and wrong ones are named with
    a suggestion.
    """
    sets = [
        "read.limit=3",
        "write.roles=user,assistant",
        "chat.api_key=abc",
        "user=77",
        "store.url=postgresql://me:pw@host/db",
    ]
    shown = engrams("config", "--json", *(part for text in sets for part in ("--set", text))).json
    assert shown["read.limit"] == {"value": 3, "origin": "argument", "default": 10}
    assert shown["write.roles"]["value"] == ["user", "assistant"]
    assert shown["user"]["value"] == "77"
    assert shown["chat.api_key"]["value"] == "***"
    assert shown["store.url"]["value"] == "postgresql://me:***@host/db"
    assert shown["home"] == {"value": str(home), "origin": "argument", "default": "~/.engrams"}
    assert shown["read.candidates"]["origin"] == "default"
    for wrong, tip in (
        ("read.limt=3", "read.limit"),
        ("read.limit", "NAME=VALUE"),
        ("read.limit=x", "read.limit"),
        ("read=3", ""),
    ):
        finished = engrams("config", "--set", wrong)
        assert finished.code == 1
        assert tip in finished.err


def test_config_tells_where_values_come_from(
    engrams: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, the environment and arguments each show as the origin;
    one setting or section can be asked for.
    """
    home.mkdir()
    (home / "config.toml").write_text("[read]\nlimit = 5\ncandidates = 50\n")
    monkeypatch.setenv("ENGRAMS_READ__CANDIDATES", "60")
    shown = engrams("config", "read", "--json").json
    assert shown["read.limit"]["origin"] == str(home / "config.toml")
    assert shown["read.candidates"] == {"value": 60, "origin": "environment", "default": 400}
    assert "chat.model" not in shown
    assert "read.limit" in engrams("config", "read.limit").out
    assert "Did you mean read" in engrams("config", "raed").err


@pytest.mark.parametrize(
    ("text", "field", "op", "value"),
    [
        ("speaker=Ann", "speaker", "eq", "Ann"),
        ("speaker = Ann = Bob", "speaker", "eq", "Ann = Bob"),
        ("importance>=0.7", "importance", "gte", 0.7),
        ("strength<3", "strength", "lt", 3),
        ("text~a>b", "text", "contains", "a>b"),
        ("meta.topic!=work", "meta.topic", "ne", "work"),
        ("meta.count==3", "meta.count", "eq", 3),
        ("meta.flag=true", "meta.flag", "eq", True),
        ("tags=a", "tags", "contains", ["a"]),
        ("valid_to=", "valid_to", "eq", None),
    ],
)
def test_tests_on_fields(text: str, field: str, op: str, value: Any) -> None:
    """A --where test is read into field, operator and a value of the field's type."""
    condition = filter_options.parse_condition(text)
    assert (condition.field, condition.op, condition.value) == (field, op, value)


@pytest.mark.parametrize(
    "text",
    ["", "speaker", "=x", "importance>high", "recorded_at>soon", "importance=" + "[" * 100_000],
)
def test_wrong_tests_on_fields(text: str) -> None:
    """What is no test is an error with a reason."""
    with pytest.raises(errors.InputError):
        filter_options.parse_condition(text)


def test_times_and_kinds_are_checked_before_anything_opens(engrams: Any, home: Path) -> None:
    """A wrong time, kind, status or role is told with what would be right, and no store is made."""
    wrong = [
        ("search", "x", "--as-of", "tomorrow-ish"),
        ("search", "x", "--kind", "thought"),
        ("list", "--status", "asleep"),
        ("add", "x", "--role", "boss"),
        ("add", "x", "--at", "2024-02-31"),
    ]
    for arguments in wrong:
        finished = engrams(*arguments)
        assert finished.code == 1
        assert "hint: " in finished.err
    assert not (home / "memory.db").exists()


def test_terminal_text_is_harmless() -> None:
    """Stored text cannot steer the terminal or turn the line around."""
    assert output.clean("a\x1b[2Jb\x07\u202ec\x9b3m") == "a\ufffd[2Jb\ufffd\ufffdc\ufffd3m"
    assert output.clean("tab\tand\nline") == "tab\tand\nline"
    assert output.fit_line("京都" * 30, 21) == "京都" * 5 + "…"
    assert output.fit_line("one\ntwo", 10) == "one two"
    assert output.text_width("é京e\u0301") == 4


def test_json_of_anything() -> None:
    """Sets, scopes, numbers of other libraries and times become plain JSON values."""
    import numpy as np

    from engrams.core import Kind, Scope

    moment = filter_options.parse_when("2024-05-01T12:00+02:00", "--at")
    value = {
        "a": np.float32(0.5),
        3: (Scope(("user", "x")), Kind.FACT),
        "t": moment,
        "n": None,
        "b": True,
    }
    assert output.to_json(value) == {
        "a": 0.5,
        "3": [["user", "x"], "fact"],
        "t": "2024-05-01T12:00:00+02:00",
        "n": None,
        "b": True,
    }


def test_a_closed_pipe_is_quiet() -> None:
    """When the reader goes away, nothing is complained about."""
    script = (
        "from engrams.program.main import run; import sys; sys.argv = ['engrams', 'config']; run()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


def test_commands_load_from_the_module_they_are_listed_under() -> None:
    """The table of commands and the modules agree."""
    for name in COMMANDS:
        assert LazyCommandGroup().get_command(None, name).name == name


def test_import_can_look_first(engrams: Any, home: Path, tmp_path: Path) -> None:
    """`import --dry-run` says what a file holds and makes no store."""
    file = tmp_path / "chat.jsonl"
    file.write_text('{"text": "a", "conversation": "c"}\nbroken\n{"text": "b"}\n')
    shown = engrams("import", str(file), "--dry-run", "--json").json
    assert shown["stored"] == 2
    assert shown["scopes"] == {"c": 1, "-": 1}
    assert [bad["line"] for bad in shown["bad"]] == [2]
    assert shown["format"] == "turns"
    assert "would import (turns)" in engrams("import", str(file), "--dry-run").out
    assert not home.exists()
    assert engrams("import", str(tmp_path / "none"), "--dry-run").code == 1
    assert engrams("import", str(file), "--dry-run", "--format", "yaml").code == 1


@pytest.mark.parametrize(
    ("more", "has_workers"),
    [
        ((), False),
        (("--no-wait",), True),
        (
            (
                "--set",
                "chat.provider=ollama",
                "--set",
                "chat.model=m",
                "--set",
                "write.extract=rules",
            ),
            True,
        ),
    ],
)
def test_an_import_that_only_computes_starts_no_workers(
    more: tuple[str, ...],
    has_workers: bool,
    engrams: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`import` learns in its own thread where rules do it;
    workers are for models, and for `--no-wait`.
    """
    file = tmp_path / "chat.jsonl"
    names = list[str]()
    file.write_text('{"text": "I live in Oslo.", "role": "user"}\n')
    start = Thread.start

    def note(thread: Thread) -> None:
        names.append(thread.name)
        start(thread)

    monkeypatch.setattr(Thread, "start", note)
    assert engrams("import", str(file), "--json", *more).json["stored"] == 1
    assert any(name.startswith("engrams-worker") for name in names) == has_workers
    if not more:
        assert "Oslo" in engrams("list", "--kind", "fact", "--json").out


@pytest.mark.slow
def test_an_import_that_only_computes_learns_batch_by_batch(
    engrams: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`import` learns from one batch of messages before it stores the next one;
    with `--no-wait` it stores them all first.
    """
    from engrams.upkeep.extraction_job import ExtractionJobHandler
    from engrams.write import ingest

    steps: list[str] = []
    add = ingest.add
    run = ExtractionJobHandler.run
    monkeypatch.setattr(ingest, "add", lambda *args: (steps.append("write"), add(*args))[1])
    monkeypatch.setattr(
        ExtractionJobHandler, "run", lambda *args: (steps.append("learn"), run(*args))[1]
    )
    file = tmp_path / "chat.jsonl"
    file.write_text(
        "".join(
            f'{{"text": "I moved to town {number} of Spain.", "role": "user", "id": "{number}"}}\n'
            for number in range(501)
        )
    )
    assert engrams("import", str(file), "--json").json["stored"] == 501
    assert steps == ["write", "learn", "write", "learn"]
    assert {
        state for states in engrams("status", "--json").json["jobs"].values() for state in states
    } == {"done"}
