"""Hooks of coding agents:
the answers in this process, and how the command behaves as one of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams.core import Kind, Status, Turn
from engrams.surfaces.hook.events import AgentHookEvent, format_reply, parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event, parse_arguments
from engrams.surfaces.hook.transcripts import read_entries

START = [sys.executable, "-m", "engrams.program.entry", "hook"]
REX = "My dog is called Rex and he is a greyhound."


@pytest.fixture
def call(home: Path) -> HookCallOptions:
    return HookCallOptions({"home": str(home), "user": "ann"}, seconds=60.0)


def told(home: Path, *scope: str) -> list[tuple[str, str, str]]:
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        log = (Status.ACTIVE, Status.ARCHIVED)
        records = engine.list(
            scope=("user", "ann", *scope), kinds=(Kind.TURN,), statuses=log, order="oldest"
        ).records
        return [(record.role, record.text, record.session) for record in records]


def hooked(home: Path, *arguments: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*START, "--home", str(home), "--user", "ann", "--seconds", "60", *arguments],
        input=stdin,
        capture_output=True,
        timeout=90,
    )


def line(kind: str, content: Any, **more: Any) -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": content}, **more})


MEMORIES = (
    "Hazelnuts and I do not get along, I carry an EpiPen because of them",
    "The boiler was serviced in January by Harris Heating",
    "Our passports are in the blue folder in my desk",
    "The piano tuner comes every March and costs ninety",
    "The allotment is number 14 and the rent is due in October",
    "The vet is in Redland and opens at eight on weekdays",
    "The car is a grey Dacia with the plate CP73 KLO",
    "The choir moved to Thursdays at half past seven",
    "I booked the flight to Cork for Thursday 9 October at 10:25",
    "My left knee clicks since the ski trip",
    "Gemma walks the dog on Wednesdays for 14 pounds an hour",
    "We signed with Clearline for broadband until May 2027",
    "Mum collects enamel teapots and turns 65 in November",
    "I read Foster on the ferry and it made me cry",
    "The landlord wants the flat in Oxford Street empty by May",
    "I learned to make sourdough from the neighbour upstairs",
    "The kitchen from Westside Joinery costs 8,400",
    "My running days are Monday, Wednesday and Saturday",
    "We picked sage green dresses for the bridesmaids",
    "I started a new job at the harbour office",
    "Tom turned vegetarian after that documentary",
    "The garage door code was changed by the electrician",
)


def test_a_prompt_that_needs_nothing_gets_nothing(call: HookCallOptions, home: Path) -> None:
    """A task and thanks get nothing; "would that be ok for me?" is completed by the session."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for text in MEMORIES:
            engine.add(text, scope=("user", "ann"))

    def prompt(text: str, session: str = "s1") -> str:
        return answer_event(call, AgentHookEvent("UserPromptSubmit", session, prompt=text))

    assert prompt("what is 7 times 13") == ""
    assert prompt("thanks, perfect") == ""
    assert "CP73 KLO" in prompt("what is the plate of our car?")
    brownies = "Gemma brings hazelnut brownies to the clinic"
    assert "EpiPen" in prompt(brownies, "s2")
    # It has that already, and nothing that is farther away comes in its place.
    assert prompt("would that be ok for me?", "s2") == ""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        engine.observe([Turn(brownies, "user", session="s3")], scope=("user", "ann"))
    assert "EpiPen" in prompt("would that be ok for me?", "s3")


def test_a_session_from_start_to_end(call: HookCallOptions, home: Path) -> None:
    """A prompt is kept, the answer is kept, and the next session begins with the profile and gets
    what its prompt needs.
    """
    assert answer_event(call, AgentHookEvent("SessionStart", "s1")) == ""
    assert answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=REX)) == ""
    assert answer_event(call, AgentHookEvent("Stop", "s1", answer="Nice to meet Rex.")) == ""
    assert told(home) == [("user", REX, "s1"), ("assistant", "Nice to meet Rex.", "s1")]
    start = json.loads(answer_event(call, AgentHookEvent("SessionStart", "s2")))[
        "hookSpecificOutput"
    ]
    assert start["hookEventName"] == "SessionStart" and "Rex" in start["additionalContext"]
    prompt = json.loads(
        answer_event(
            call, AgentHookEvent("UserPromptSubmit", "s2", prompt="What is my dog called?")
        )
    )["hookSpecificOutput"]
    assert (
        prompt["hookEventName"] == "UserPromptSubmit" and "greyhound" in prompt["additionalContext"]
    )
    assert told(home)[-1] == ("user", "What is my dog called?", "s2")


def test_what_the_hooks_missed_is_in_the_transcript(
    call: HookCallOptions, home: Path, tmp_path: Path
) -> None:
    """At the end of a turn all that was said and not yet kept is taken from the transcript, once
    however often it is read.
    """
    file = tmp_path / "t.jsonl"
    lines = [
        line("user", REX),
        line(
            "assistant",
            [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Nice to meet Rex."},
                {"type": "tool_use"},
            ],
        ),
        line("user", [{"type": "tool_result", "content": "secret output"}]),
        line("assistant", "From a helper.", isSidechain=True),
        line("user", "<system-reminder>be brief</system-reminder>He is five years old."),
        "not json",
        "[]",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=REX))
    for name in ("Stop", "PreCompact", "SessionEnd"):
        answer_event(call, AgentHookEvent(name, "s1", transcript=str(file)))
    assert [text for _, text, _ in told(home)] == [
        REX,
        "Nice to meet Rex.",
        "He is five years old.",
    ]


def test_the_end_of_a_session_ends_it_here(call: HookCallOptions, home: Path) -> None:
    """SessionEnd finalises the session; one in which nothing was said is no error."""
    answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=REX))
    answer_event(call, AgentHookEvent("SessionEnd", "s1"))
    assert answer_event(call, AgentHookEvent("SessionEnd", "never-begun")) == ""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        assert engine.sessions.state("s1", scope=("user", "ann")) == "rotation_required"


@pytest.mark.slow
def test_the_guides_example_is_true(home: Path, tmp_path: Path) -> None:
    """The shell lines of the guide do what it says: what one session was told begins the next."""
    guide = Path(__file__).parents[3] / "docs" / "guides" / "agents.md"
    lines = guide.read_text("utf-8").partition("```sh\n")[2].partition("```")[0]
    command = " ".join([*START, "--home", str(home), "--user", "ann", "--seconds", "60"])
    finished = subprocess.run(
        ["sh", "-c", lines.replace("engrams hook", command)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=200,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    assert (
        "tabs over spaces" in json.loads(finished.stdout)["hookSpecificOutput"]["additionalContext"]
    )


@pytest.mark.parametrize("path", ["", "/does/not/exist", "a\0b", "/"])
def test_a_transcript_that_is_not_there(path: str) -> None:
    """It says nothing."""
    assert read_entries(path) == []


def test_projects_are_apart_when_asked(home: Path) -> None:
    """--project .

    keeps each folder's memory in a project of its name; another folder does not see it.
    """
    call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
    answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=REX, folder="/src/alpha"))
    assert told(home, "project", "alpha")[0][1] == REX
    assert (
        answer_event(
            call,
            AgentHookEvent(
                "UserPromptSubmit", "s2", prompt="What is my dog called?", folder="/src/beta"
            ),
        )
        == ""
    )


def test_a_folder_in_a_repository_is_of_its_project(home: Path, tmp_path: Path) -> None:
    """--project .

    is the Git root's folder, wherever in it the agent runs; the user's own folder is no such root.
    """
    inside = tmp_path / "app" / "src"
    inside.mkdir(parents=True)
    (tmp_path / "app" / ".git").mkdir()
    call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
    answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=REX, folder=str(inside)))
    assert told(home, "project", "app")[0][1] == REX


def test_disabled_is_silent(home: Path) -> None:
    """With memory off nothing is read, written or made."""
    assert (
        answer_event(
            HookCallOptions({"home": str(home), "user": "ann", "enabled": False}),
            AgentHookEvent("UserPromptSubmit", "s1", prompt=REX),
        )
        == ""
    )
    assert not (home / "memory.db").exists()


@pytest.mark.parametrize(
    ("raw", "expected_prompt"),
    [
        (b'{"hook_event_name":"UserPromptSubmit","prompt":"/clear"}', ""),
        (b'{"hook_event_name":"UserPromptSubmit","prompt":"/usr/bin is full"}', "/usr/bin is full"),
        (
            b'{"hook_event_name":"UserPromptSubmit","prompt":" hi <command-name>x</command-name>"}',
            "hi",
        ),
        (b'{"hook_event_name":"UserPromptSubmit","prompt":5}', ""),
        (b'{"prompt":"\xff\\ud800"}', "\ufffd\ud800"),
    ],
)
def test_what_was_said(raw: bytes, expected_prompt: str) -> None:
    """The agent's own commands and reminders are no words of the user's."""
    event = parse_event(raw)
    assert event is not None and event.prompt == expected_prompt


@pytest.mark.parametrize("raw", [b"", b"[]", b"5", b"{", b"[" * 100_000])
def test_what_is_no_event(raw: bytes) -> None:
    """Anything but an object is none."""
    assert parse_event(raw) is None


def test_only_some_events_may_add_to_the_prompt() -> None:
    """For any other event there is no output, which agents would take for an instruction."""
    assert (
        format_reply(AgentHookEvent("Stop"), "text")
        == format_reply(AgentHookEvent("SessionStart"), "")
        == ""
    )
    assert (
        json.loads(format_reply(AgentHookEvent("SessionStart"), "é"))["hookSpecificOutput"][
            "additionalContext"
        ]
        == "é"
    )


def test_as_a_command(home: Path) -> None:
    """The event on standard input, the answer on standard output, exit code 0.

    A message is stored without the rules; another event
    loads nothing heavy.
    """
    stored = hooked(
        home,
        stdin=json.dumps(
            {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": REX}
        ).encode(),
    )
    assert (stored.returncode, stored.stdout, stored.stderr) == (0, b"", b"")
    recalled = hooked(
        home,
        stdin=(
            b'{"hook_event_name":"UserPromptSubmit","session_id":"s2","prompt":"What is my dog'
            b' called?"}'
        ),
    )
    assert "greyhound" in json.loads(recalled.stdout)["hookSpecificOutput"]["additionalContext"]
    script = (
        "import sys; sys.argv = ['engrams', 'hook']\n"
        "try:\n    from engrams.program.entry import run; run()\n"
        "finally:\n    print(*sys.modules, file=sys.stderr)"
    )
    finished = subprocess.run(
        [
            sys.executable,
            "-c",
            script.replace(
                "'hook'", f"'hook', '--seconds', '60', '--user', 'ann', '--home', {str(home)!r}"
            ),
        ],
        input=json.dumps(
            {
                "hook_event_name": "UserPromptSubmit",
                "session_id": "s2",
                "prompt": "My cat is called Tom.",
            }
        ).encode(),
        capture_output=True,
        timeout=60,
    )
    assert (
        told(home)[-1][1] == "My cat is called Tom."
        and "engrams.extract.rules" not in finished.stderr.decode().split()
    )
    quiet = subprocess.run(
        [sys.executable, "-c", script],
        input=b'{"hook_event_name":"Notification"}',
        capture_output=True,
        timeout=60,
    )
    assert quiet.returncode == 0
    assert not {
        "typer",
        "numpy",
        "pydantic",
        "apsw",
        "engrams.engine.engine",
        "engrams.settings",
    } & set(quiet.stderr.decode().split())


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        ((), b"nonsense", "no event"),
        (("--set", "read.limit=many"), b'{"hook_event_name":"SessionStart"}', "SettingsError"),
        (
            ("--home", "/dev/null/x"),
            b'{"hook_event_name":"UserPromptSubmit","prompt":"My dog is called Rex."}',
            "StoreError",
        ),
        (("--tokens", "many"), b'{"hook_event_name":"SessionStart"}', "--tokens"),
        (
            ("--projct", "."),
            b'{"hook_event_name":"UserPromptSubmit","prompt":"My dog is called Rex."}',
            "no option --projct",
        ),
        (
            ("--set", "limits.text_bytes=5"),
            b'{"hook_event_name":"UserPromptSubmit","prompt":"My dog is called Rex."}',
            "InputError",
        ),
    ],
)
def test_it_fails_open(home: Path, arguments: tuple[str, ...], stdin: bytes, said: str) -> None:
    """Whatever is wrong, the exit code is 0, standard output is empty and standard error says what."""
    finished = hooked(home, *arguments, stdin=stdin)
    assert (finished.returncode, finished.stdout) == (0, b"")
    assert said in finished.stderr.decode()
    assert not (home / "memory.db").exists() or told(home) == []


def test_it_never_hangs(home: Path) -> None:
    """An event that never ends is given up after the time limit; so is a reader that has gone."""
    read, write = os.pipe()
    begun = time.monotonic()
    try:
        finished = subprocess.run(
            [*START, "--home", str(home), "--seconds", "0.2"],
            stdin=read,
            capture_output=True,
            timeout=60,
        )
    finally:
        os.close(read)
        os.close(write)
    assert (finished.returncode, finished.stdout) == (0, b"")
    assert b"longer than 0.2 s" in finished.stderr
    assert time.monotonic() - begun < 30
    with subprocess.Popen(
        [*START, "--home", str(home), "--user", "ann"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write(b'{"hook_event_name":"SessionStart"}')
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_project_begins_with_what_is_known_of_it(home: Path) -> None:
    """With --project .

    a session starts with the facts of its project; another project's session does not.
    """
    call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
    for prompt in (
        "We use uv, never pip.",
        "Our API lives in services/api.",
        "Remember: the staging DB is on port 5433.",
    ):
        answer_event(
            call, AgentHookEvent("UserPromptSubmit", "s1", prompt=prompt, folder="/src/alpha")
        )
    answer_event(call, AgentHookEvent("Stop", "s1", answer="Understood.", folder="/src/alpha"))
    start = answer_event(call, AgentHookEvent("SessionStart", "s2", folder="/src/alpha"))
    assert all(part in start for part in ("uv, never pip", "services/api", "port 5433"))
    assert answer_event(call, AgentHookEvent("SessionStart", "s3", folder="/src/beta")) == ""
    assert (
        answer_event(
            HookCallOptions(call.settings),
            AgentHookEvent("SessionStart", "s3", folder="/src/alpha"),
        )
        == ""
    )


def test_a_prompt_gets_few_memories(home: Path) -> None:
    """A prompt gets no more memories than a search shows."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for text in (
            "The staging DB is on port 5433.",
            "The staging DB was upgraded to Postgres 17 in May.",
        ):
            engine.add(text, scope=("user", "ann"))
    prompt = "Which port and Postgres does the staging DB have?"
    counts = []
    for limit in (10, 1):
        call = HookCallOptions({"home": str(home), "user": "ann", "read.limit": limit})
        answer = answer_event(call, AgentHookEvent("UserPromptSubmit", f"s{limit}", prompt=prompt))
        counts.append(answer.count("The staging DB"))
    assert counts == [2, 1]


def test_a_prompt_gets_what_is_near_the_best(home: Path, call: HookCallOptions) -> None:
    """What scores far below the best memories is left out, and so are bare acknowledgements."""
    lines = [
        "The staging DB is on port 5433.",
        "We squash merge.",
        "Logs go to Loki.",
        "The linter is ruff.",
        "Tests need Redis running.",
    ]
    for line_ in lines:
        answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=line_))
        answer_event(call, AgentHookEvent("Stop", "s1", answer="Understood."))
    answer = answer_event(
        call, AgentHookEvent("UserPromptSubmit", "s2", prompt="Which port is the staging DB on?")
    )
    assert "5433" in answer
    assert not any(text in answer for text in (*lines[1:], "Understood"))


def test_thanks_and_assent_recall_nothing(home: Path, call: HookCallOptions) -> None:
    """A prompt that asks for nothing gets nothing, and is itself not recalled for others."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for text in (
            "thanks",
            "ok do it",
            "Please go on with the parser.",
            "Done with the parser, thanks for waiting.",
            "Great, done.",
        ):
            engine.observe([Turn(text, "user", session="s0")], scope=("user", "ann"))
    for prompt in ("thanks", "ok do it", "yes please", "go on", "Great, done."):
        assert answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=prompt)) == ""
    answer = answer_event(
        call,
        AgentHookEvent(
            "UserPromptSubmit", "s2", prompt="What was done with the parser? Thanks, go on."
        ),
    )
    assert "parser" in answer and "Great, done." not in answer and "ok do it" not in answer


def test_its_help_lists_what_it_takes(home: Path) -> None:
    """Every option of the help is accepted, and no other is listed."""
    shown = subprocess.run([*START, "--help"], capture_output=True, text=True, timeout=60).stdout
    listed = set(re.findall(r"--[a-z]+", shown)) - {"--help"}
    assert "--project" in listed and not listed & {"--agent", "--conversation"}
    values = {
        "--json": [],
        "--verbose": [],
        "--test": [],
        "--resident": [],
        "--tokens": ["5"],
        "--seconds": ["5"],
        "--set": ["read.limit=3"],
    }
    for option in listed:
        parse_arguments([option, *values.get(option, ["x"])])
