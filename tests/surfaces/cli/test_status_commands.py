"""Import, export, upkeep, chat, demo: end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engrams import demo
from engrams.installation import install_hint
from engrams.testing import ScriptedModel

TURNS = "\n".join(
    json.dumps(
        {
            "id": f"t{n}",
            "text": text,
            "speaker": "Mia",
            "session": "s",
            "at": f"2024-05-0{n + 1}T10:00:00Z",
        }
    )
    for n, text in enumerate(["I live in Oslo", "My dog is called Rex", "I moved to Bergen"])
)


@pytest.fixture
def chat_file(tmp_path: Path) -> Path:
    """A short conversation."""
    file = tmp_path / "chat.jsonl"
    file.write_text(f"{TURNS}\n", encoding="utf-8")
    return file


def test_import_says_what_it_did(engrams: Any, chat_file: Path) -> None:
    """An import reports what was stored, what was known and what was bad;
    a second time stores nothing.
    """
    chat_file.write_text(f"{TURNS}\nbroken line\n", encoding="utf-8")
    refused = engrams("import", str(chat_file))
    assert (refused.code, "Line 4" in refused.err, "--skip-bad" in refused.err) == (1, True, True)
    assert not engrams("list", "--json").json["records"]
    first = engrams("import", str(chat_file), "--json", "--skip-bad").json
    assert (first["stored"], first["existing"]) == (3, 0)
    assert [bad["line"] for bad in first["bad"]] == [4]
    assert (
        engrams("search", "what is the dog's name?", "--json").json["hits"][0]["external_id"]
        == "t1"
    )
    again = engrams("import", str(chat_file), "--json", "--skip-bad").json
    assert (again["stored"], again["existing"]) == (0, 3)
    human = engrams("import", str(chat_file), "-c", "elsewhere", "--skip-bad")
    assert "imported" in human.out
    assert "line 4" in human.err


def test_import_from_a_pipe_and_of_several(engrams: Any, tmp_path: Path) -> None:
    """`-` reads standard input; several files give a list; what cannot be read at all fails."""
    assert engrams("import", "-", "--json", stdin=TURNS).json["stored"] == 3
    notes = tmp_path / "notes.md"
    notes.write_text("# Home\n- The attic is cold\n- The cellar is dry\n")
    assert [
        result["stored"] for result in engrams("import", str(notes), str(notes), "--json").json
    ] == [2, 0]
    garbage = tmp_path / "x.jsonl"
    garbage.write_text('{"role": "user"}\n{"role": "user"}\n')
    assert engrams("import", str(garbage), "--format", "turns").code == 1
    assert engrams("import", str(tmp_path / "none.json")).code == 1


def test_an_import_can_be_undone(
    engrams: Any, chat_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import prints its id;
    `--list` shows it, `--undo` takes it back as a whole; progress goes to standard error in lines.
    """
    monkeypatch.setattr("engrams.surfaces.cli.output._EVERY", 0.0)
    engrams("add", "I keep bees")
    before = engrams("list", "--json").json["records"]
    finished = engrams("import", str(chat_file))
    assert "importing chat.jsonl: 3 of 3 (100 %)" in finished.err
    id = finished.out.split("engrams import --undo ")[1].split()[0]
    assert id in engrams("import", "--list").out
    assert "memories erased" in engrams("import", "--undo", id).out
    assert engrams("list", "--json").json["records"] == before
    assert engrams("import", "--list", "--json").json["imports"][0]["state"] == "undone"
    assert engrams("import", "--undo", "nothing").code == 3
    assert "Name the files" in engrams("import").err


def test_a_mixed_folder(engrams: Any, tmp_path: Path) -> None:
    """Good files are imported, bad ones are listed and the command fails;

    --skip-bad accepts them.
    """
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "notes.md").write_text("- The attic is cold\n")
    (folder / "cat.png").write_bytes(b"\x89PNG" + bytes(500))
    first = engrams("import", str(folder))
    assert first.code == 1
    assert "1 memory, from 1 of 2 files" in first.out
    assert "cat.png: It is a PNG picture, not text." in first.err
    assert engrams("import", str(folder), "--skip-bad").code == 0
    several = engrams("import", str(folder / "notes.md"), str(folder / "cat.png"), "--json")
    assert (several.code, [each["rejected"] for each in several.json]) == (1, [0, 1])
    alone = engrams("import", str(folder / "cat.png"))
    assert (alone.code, "not text" in alone.err, "hint: " in alone.err) == (1, True, True)


@pytest.mark.covers("S3.49", "S3.50")
def test_export_and_import_into_an_empty_home(
    engrams: Any, chat_file: Path, tmp_path: Path
) -> None:
    """An export imported into an empty home gives the same records and links;
    a file in the way is not replaced unasked.
    """
    engrams("import", str(chat_file))
    engrams("add", "The boiler is from 1998", "-c", "house")
    memory_id = engrams("add", "An old phone number", "--json").json["id"]
    engrams("edit", memory_id, "--field", "tags=phone,old")
    engrams("forget", memory_id)
    out = tmp_path / "all.jsonl"
    again = tmp_path / "again.jsonl"
    number = engrams("export", str(out), "--json").json["records"]
    assert number >= 5
    assert engrams("export", str(out)).code == 1
    assert engrams("export", str(out), "--overwrite").code == 0
    other_home = ("--home", str(tmp_path / "other"))
    assert engrams("import", str(out), "--json", *other_home).json["stored"] == number
    engrams("export", str(again), *other_home)

    def records(path: Path) -> list[Any]:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return sorted(
            (line for line in lines if "record" in line or "edge" in line), key=json.dumps
        )

    assert records(again) == records(out)
    assert engrams("import", str(out), "--json", *other_home).json["existing"] == number


def test_export_to_standard_output_and_to_read(
    engrams: Any, chat_file: Path, tmp_path: Path
) -> None:
    """`export -` writes the exchange format to standard output; markdown is a folder of days."""
    engrams("import", str(chat_file))
    lines = engrams("export", "-").out.splitlines()
    assert json.loads(lines[0])["engrams"] == 1
    assert len(lines) > 3
    assert engrams("export", str(tmp_path / "md"), "--format", "markdown").code == 0
    days = sorted((tmp_path / "md" / "user" / "ann").glob("2024-05-0?.md"))
    assert len(days) == 3
    assert "My dog is called Rex" in days[1].read_text("utf-8")
    assert engrams("export", "-", "--format", "markdown").code == 1
    assert engrams("export", str(tmp_path / "md"), "--format", "markdown").code == 1


@pytest.mark.covers("S3.49")
def test_stats_and_status(engrams: Any, chat_file: Path) -> None:
    """Counts and jobs are told in words and as JSON."""
    engrams("import", str(chat_file))
    numbers = engrams("stats", "--json").json
    assert numbers["kind"]["turn"] == 3
    assert "turn 3" in engrams("stats").out
    assert engrams("stats", "--user", "nobody", "--json").json["kind"].get("turn", 0) == 0
    assert engrams("stats", "--all", "--user", "nobody", "--json").json["kind"]["turn"] == 3
    state = engrams("status", "--wait", "--json").json
    assert {"jobs", "lag_seconds", "dead"} <= set(state)
    assert state["dead"] == []
    assert "up to date" in engrams("status").out


def test_failed_jobs_are_shown_and_run_again(engrams: Any) -> None:
    """Work that a broken model made fail waits in the list with its error, and `retry` runs it once
    the model is back.
    """
    with ScriptedModel() as model:
        sets = [
            "chat.provider=openai",
            "chat.model=m",
            f"chat.url={model.url}",
            "chat.retries=0",
            "write.debounce_seconds=0",
            "jobs.max_attempts=1",
        ]
        chat = [part for text in sets for part in ("--set", text)]
        model.fail("http_400", times=20)
        engrams("add", "I moved to Lisbon last week", *chat)
        state = engrams("status", "--wait", "--json", *chat).json
        assert len(state["dead"]) == 1
        assert state["dead"][0]["error"]
        assert state["dead"][0]["id"] in engrams("status", *chat).out
    assert engrams("retry", "--json").json == {"retried": 1}
    assert engrams("retry", "--json").json == {"retried": 0}


def test_waiting_learns_what_waits_for_a_pause(engrams: Any) -> None:
    """After `add` the model has still to be asked;
    `status --wait` does not wait for the pause of a conversation.
    """
    row = {
        "turn": 1,
        "text": "Ann lives in Lisbon.",
        "quote": "I live in Lisbon",
        "subject": "user",
        "predicate": "lives_in",
        "object": "Lisbon",
    }
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [row]})
        sets = ("chat.provider=openai", "chat.model=m", f"chat.url={model.url}")
        chat = [part for text in sets for part in ("--set", text)]
        assert "engrams status --wait" in engrams("add", "I live in Lisbon", *chat).out
        assert engrams("status", "--wait", "--json", *chat).json["jobs"]["extract"] == {"done": 1}
    assert "Ann lives in Lisbon." in engrams("list").out


def test_doctor_tells_of_a_server_with_other_models(engrams: Any, home: Path) -> None:
    """A running server of this home with an embedder or upstream of its own is named, with what to
    do; an ended one is not.
    """
    for pid, models, state in (
        (os.getpid(), ["openai", "gemma", "x"], "warn"),
        (os.getpid(), ["builtin", "", ""], "info"),
        (0, [], ""),
    ):
        home.mkdir(exist_ok=True)
        (home / "serve.json").write_text(
            json.dumps({"url": "http://127.0.0.1:1", "pid": pid, "models": models}) if pid else "{}"
        )
        checks = {check["name"]: check for check in engrams("doctor", "--json").json["checks"]}
        assert checks.get("server", {}).get("state", "") == state
        assert ("config.toml" in checks.get("server", {}).get("hint", "")) is (state == "warn")


def test_doctor_finds_what_is_wrong(engrams: Any, home: Path) -> None:
    """A healthy home passes;
    an unreachable model, a wrong setting and an unwritable home fail, each with what to do.
    """
    engrams("add", "x y z")
    shown = engrams("doctor", "--json").json
    assert shown["ok"] is True
    assert {"versions", "settings", "home", "disk", "store", "embedder", "chat", "jobs"} <= {
        check["name"] for check in shown["checks"]
    }
    assert engrams("doctor").code == 0
    unreachable = [
        "--set",
        "chat.provider=openai",
        "--set",
        "chat.model=m",
        "--set",
        "chat.url=http://127.0.0.1:9",
        "--set",
        "chat.retries=0",
    ]
    finished = engrams("doctor", *unreachable)
    assert finished.code == 1
    assert "fail  chat" in finished.out
    assert "do:" in finished.out
    assert engrams("doctor", "--offline", *unreachable).code == 0
    assert engrams("doctor", "--set", "read.limit=-1").code == 1
    blocked = home.parent / "file"
    blocked.write_text("")
    finished = engrams("doctor", "--home", str(blocked), "--json")
    assert finished.code == 1
    assert [check["name"] for check in finished.json["checks"] if check["state"] == "fail"]


def test_chat_without_a_model_answers_from_memory(engrams: Any) -> None:
    """Statements are remembered, questions are answered with the nearest memories, and the commands
    work.
    """
    engrams("add", "The dentist is Dr. Okafor in Mill Lane")
    lines = [
        "who is the dentist?",
        "/why",
        "I am allergic to hazelnuts.",
        "what am I allergic to?",
        "/forget 1",
        "/help",
    ]
    finished = engrams(
        "chat",
        stdin="\n".join([*lines, "/dance", "/forget", "/forget 99", "", "/quit", "never read"]),
    )
    assert finished.code == 0
    assert "Dr. Okafor" in finished.out
    assert "Noted" in finished.out
    assert "hazelnuts" in finished.out
    assert "Forgotten:" in finished.out
    assert "/quit" in finished.out
    assert "no command /dance" in finished.err
    assert "/forget needs" in finished.err
    assert "The last list has" in finished.err
    assert "never read" not in json.dumps(engrams("list", "--json").json)


def test_chat_without_a_model_tells_what_is_over(engrams: Any) -> None:
    """A quote of what a later message ended says so, in the answer and in its explanation."""
    engrams("add", "--at", "2025-01-10", "We use PostgreSQL.")
    engrams("add", "--at", "2026-03-02", "We switched to MySQL.")
    told = engrams("chat", stdin="Do we use PostgreSQL?\n/why\n").out.splitlines()
    quotes = [line for line in told if "We use PostgreSQL." in line]
    assert len(quotes) == 2
    assert all('(over since 2 March 2026: "We switched to MySQL.")' in quote for quote in quotes)


def test_chat_with_a_model_gives_it_the_memory(engrams: Any) -> None:
    """With a chat model the prompt holds what is remembered, the reply is shown and kept, and a
    failure ends no chat.
    """
    engrams("add", "The dentist is Dr. Okafor in Mill Lane")
    with ScriptedModel() as model:
        sets = [
            "chat.provider=openai",
            "chat.model=m",
            f"chat.url={model.url}",
            "chat.retries=0",
            "write.extract=off",
            "jobs.workers=0",
        ]
        chat = [part for text in sets for part in ("--set", text)]
        model.say("Your dentist is Dr. Okafor.")
        model.fail("http_500")
        finished = engrams("chat", *chat, stdin="who is my dentist?\nand again?\n")
        assert finished.out.strip() == "Your dentist is Dr. Okafor."
        assert "error:" in finished.err
        assert finished.code == 0
        assert "Dr. Okafor in Mill Lane" in json.dumps(model.requests[0].body)
    stored = [
        record["text"] for record in engrams("list", "--kind", "turn", "--json").json["records"]
    ]
    assert {"Your dentist is Dr. Okafor.", "and again?"} <= set(stored)


def test_chat_as_json(engrams: Any) -> None:
    """With --json each exchange is one line."""
    finished = engrams("chat", "--json", stdin="The gate code is 4711.\nwhat is the gate code?\n")
    rows = [json.loads(line) for line in finished.out.splitlines()]
    assert [set(row) for row in rows] == [{"text", "answer", "hits"}] * 2
    assert "4711" in rows[1]["answer"]


def test_demo_answers_most_questions(engrams: Any, home: Path) -> None:
    """The sample is imported and at least 16 of its 20 answerable questions have a right turn in
    the first three.
    """
    finished = engrams("demo", "--json")
    shown = finished.json
    assert finished.code == 0, [
        row["text"] for row in shown["questions"] if row["answerable"] and not row["right"]
    ]
    assert (shown["of"], shown["unanswerable"]) == (20, 5)
    assert shown["right"] >= 16
    assert len(shown["questions"]) == len(demo.load_questions())
    assert shown["abstained"] >= 3
    assert sum(row["abstain"] for row in shown["questions"] if row["answerable"]) <= 2
    again = engrams("demo")
    assert again.code == 0
    assert f"{shown['right']} of 20" in again.out
    assert home.exists()


@pytest.mark.slow
def test_calibrate_tells_its_floor_and_status_shows_it(engrams: Any) -> None:
    """Both as text and as JSON:
    the floor, where it comes from, when, and how many questions were asked.
    """
    assert engrams("demo", "--json").code == 0
    assert "near from           0.240, by model" in engrams("status").out
    answer = engrams("calibrate", "--json").json
    assert answer["source"] == "calibration"
    assert answer["known_silent"] <= 0.02
    assert engrams("status", "--json").json["nearness"] == answer
    assert (
        f"{answer['floor']:.3f}, calibrated {answer['at'][:10]} with 198 questions"
        in engrams("status").out
    )
    assert f"Near from {answer['floor']:.3f} on" in engrams("calibrate").out


def test_demo_fails_where_recall_is_poor(engrams: Any) -> None:
    """Where too few are found, the demo says so and ends with 1."""
    finished = engrams("demo", "--set", "read.min_score=0.99")
    assert finished.code == 1
    assert "fewer than" in finished.err


def test_serve_without_its_parts_says_what_to_install(home: Path) -> None:
    """Without the server extra `serve` ends with 1 and names the command that installs it."""
    script = (
        "import sys; sys.modules['fastapi'] = None; from engrams.program.main import run; run()"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, "serve", "--home", str(home)], capture_output=True, text=True
    )
    assert finished.returncode == 1
    assert install_hint("server") in finished.stderr


def test_an_interrupt_ends_with_130(home: Path) -> None:
    """Ctrl-C in the middle of a command ends it with 130 and without a traceback."""
    # A shell's background commands ignore SIGINT, and so do their children.
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from"
        " engrams.program.main import run; run()"
    )
    call = [sys.executable, "-c", script, "chat", "--home", str(home)]
    with subprocess.Popen(
        call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("/help\n")
        process.stdin.flush()
        assert "/why" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert "Traceback" not in process.stderr.read()
