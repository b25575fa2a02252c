"""Work of an agent's tools:
files changed, errors solved and decisions taken are kept in the project's memory.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams.core import Kind, Status
from engrams.surfaces.hook.events import AgentHookEvent, parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event
from engrams.surfaces.hook.tool_use import AgentToolUse, describe_work

TASK = "Make the parser accept comments"


def tool(
    name: str, arguments: dict[str, Any], result: Any = "ok", *, failed: bool = False
) -> list[str]:
    """The two lines of a transcript that a tool use makes."""
    id = f"toolu_{name}_{json.dumps(arguments)}"
    call = {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": id, "name": name, "input": arguments}],
        },
    }
    result_part = {"type": "tool_result", "tool_use_id": id, "content": "…", "is_error": failed}
    return [
        json.dumps(call),
        json.dumps(
            {
                "type": "user",
                "message": {"role": "user", "content": [result_part]},
                "toolUseResult": result,
            }
        ),
    ]


def kept(home: Path, *scope: str) -> list[str]:
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        records = engine.list(
            scope=("user", "ann", *scope),
            kinds=(Kind.TURN,),
            statuses=tuple(Status),
            order="oldest",
            limit=100,
        )
        return [
            f"{record.role}: {record.text}"
            for record in records.records
            if record.scope.labels[2:] == scope
        ]


def test_the_end_of_a_turn_keeps_what_was_done(home: Path, tmp_path: Path) -> None:
    """Changed files, a solved error and an answered question of the transcript are in the project's
    memory, once, and are found again.
    """
    file = tmp_path / "t.jsonl"
    run = {"command": "pytest tests/test_parser.py"}
    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": TASK}}),
        *tool("Read", {"file_path": "/src/alpha/README.md"}),
        *tool("Bash", run, {"stderr": "…\nE   LexerError: unexpected '#'"}, failed=True),
        *tool(
            "Edit", {"file_path": "/src/alpha/alpha/lexer.py", "old_string": "a", "new_string": "b"}
        ),
        *tool("Write", {"file_path": "/etc/other.conf", "content": "x"}),
        *tool("Bash", {**run, "description": "again"}, {"stdout": "1 passed"}),
        *tool(
            "AskUserQuestion",
            {"questions": []},
            {"answers": {"Which comment sign should the parser take?": "The hash sign"}},
        ),
        json.dumps({"type": "assistant", "message": {"role": "assistant", "content": "Done."}}),
    ]
    file.write_text("\n".join(lines), "utf-8")
    call = HookCallOptions({"home": str(home), "user": "ann"}, seconds=60.0)
    for _ in range(2):
        assert (
            answer_event(
                call,
                AgentHookEvent(
                    "Stop", "s1", answer="Done.", transcript=str(file), folder="/src/alpha"
                ),
            )
            == ""
        )
    assert kept(home) == [f"user: {TASK}", "assistant: Done."]
    assert kept(home, "project", "alpha") == [
        f"tool: The agent changed alpha/lexer.py, /etc/other.conf for the request: {TASK}",
        (
            "tool: `pytest tests/test_parser.py` failed (E LexerError: unexpected '#') and worked"
            " again after changes to alpha/lexer.py, /etc/other.conf."
        ),
        "user: Which comment sign should the parser take? The hash sign",
    ]
    event = AgentHookEvent(
        "UserPromptSubmit",
        "s2",
        prompt="Which comment sign does the parser take?",
        folder="/src/alpha",
    )
    assert "hash sign" in answer_event(
        HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0), event
    )


@pytest.mark.parametrize(
    "body",
    [
        {
            "hook_event_name": "AfterTool",
            "session_id": "s1",
            "tool_name": "replace",
            "tool_input": {"file_path": "/src/alpha/a.py"},
        },
        {
            "hook_event_name": "afterFileEdit",
            "conversation_id": "s1",
            "file_path": "/src/alpha/a.py",
            "edits": [],
        },
        {
            "hook_event_name": "PostToolUse",
            "session_id": "s1",
            "tool_name": "Edit",
            "tool_input": {"file_path": "/src/alpha/a.py"},
        },
    ],
)
def test_events_of_single_tools(home: Path, body: dict[str, Any]) -> None:
    """Agents whose transcript is not read tell of each file as it changes."""
    event = parse_event(json.dumps({**body, "cwd": "/src/alpha"}).encode())
    assert event is not None and event.name == "PostToolUse"
    assert (
        answer_event(HookCallOptions({"home": str(home), "user": "ann"}, seconds=60.0), event) == ""
    )
    assert kept(home, "project", "alpha") == ["tool: The agent changed a.py"]


@pytest.mark.parametrize(
    "use",
    [
        AgentToolUse("Edit", {"file_path": "/a"}, "no match", failed=True),
        AgentToolUse("Edit", {"file_path": 5}, None, failed=False),
        AgentToolUse("Bash", {"command": "ls"}, None, failed=False),
        AgentToolUse("Bash", {"command": "ls"}, "boom", failed=True),
        AgentToolUse("AskUserQuestion", {}, {"answers": [1]}, failed=False),
        AgentToolUse("ExitPlanMode", {"plan": " "}, None, failed=False),
    ],
)
def test_what_tells_nothing(use: AgentToolUse) -> None:
    """Failed edits, single commands and shapes that nobody knows make no memory."""
    assert describe_work([use], "/src") == []


def bash(
    command: str, result: Any = "ok", *, failed: bool = False, remark: str = ""
) -> AgentToolUse:
    return AgentToolUse("Bash", {"command": command}, result, failed, remark=remark)


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        (
            [
                bash(
                    "docker push reg/app",
                    {"stderr": "denied: access forbidden\nexit status 1"},
                    failed=True,
                ),
                bash("cat ~/.docker/config.json"),
                bash("docker login reg -u ci"),
                bash("docker push reg/app"),
            ],
            "`docker push reg/app` failed (denied: access forbidden) and worked again after"
            " `docker login reg -u ci`.",
        ),
        (
            [
                bash(
                    "alembic upgrade head",
                    "FAILED: Multiple head revisions are present\n(exit 1)",
                    failed=True,
                ),
                bash("alembic merge heads -m merge"),
                bash("alembic upgrade head"),
            ],
            "`alembic upgrade head` failed (FAILED: Multiple head revisions are present) and worked"
            " again after `alembic merge heads -m merge`.",
        ),
        (
            [
                bash("pnpm install --frozen-lockfile", "ERR_PNPM_OUTDATED_LOCKFILE x", failed=True),
                bash("pnpm install --no-frozen-lockfile"),
            ],
            "`pnpm install --frozen-lockfile` failed (ERR_PNPM_OUTDATED_LOCKFILE x);"
            " `pnpm install --no-frozen-lockfile` worked.",
        ),
        (
            [
                bash(
                    "vitest run",
                    " FAIL  src/cart/store.test.ts\nTypeError: create is not a function\n"
                    " ❯ src/cart/store.ts:2:24\n Tests  1 failed | 3 passed (4)",
                    failed=True,
                ),
                bash(
                    "pnpm add zustand@5",
                    remark="The root cause is zustand 3: it has no named create.",
                ),
                bash("vitest run"),
            ],
            "`vitest run` failed (TypeError: create is not a function) and worked again after"
            " `pnpm add zustand@5`. The agent observed: The root cause is zustand 3: it has no named"
            " create.",
        ),
        (
            [
                bash(
                    "pytest tests/db",
                    "E   psycopg.errors.DuplicatePreparedStatement: prepared statement exists\n"
                    "(1 failed, 3 passed)",
                    failed=True,
                ),
                bash("pytest tests/db"),
            ],
            "`pytest tests/db` failed (E psycopg.errors.DuplicatePreparedStatement: prepared"
            " statement exists) and worked again.",
        ),
    ],
)
def test_a_failure_keeps_its_error_and_what_mended_it(
    uses: list[AgentToolUse], expected: str
) -> None:
    """The line that names the error, the commands between, another form that worked, and the cause
    that the agent found: told as observed by it.
    """
    assert describe_work(uses, "/src") == [("tool", expected)]


def test_files_that_commands_move_and_edit_are_changes() -> None:
    """git mv, git rm and sed -i are seen, and thanks are no reason for them."""
    uses = [
        bash("git mv src/dates.ts src/time.ts && sed -i 's/a/b/' src/app.ts"),
        bash("git rm -r old/"),
    ]
    assert describe_work([replace(use, prompt="yes please") for use in uses], "/src") == [
        ("tool", "The agent changed src/app.ts"),
        ("tool", "The agent moved src/dates.ts to src/time.ts"),
        ("tool", "The agent removed old/"),
    ]


SECRET_COMMANDS = (
    ("docker login registry.acme.io -u ci -p {}", "hunter2hunter2"),
    ("PGPASSWORD={} psql -h db-stg", "Pa55w0rdXyz9"),
    ("mysql -uroot -p{} ledger", "S3cretMy5ql"),
    ("redis-cli -h cache -a {} ping", "s3cr3tpw77"),
    ("deployctl push --token {}", "dk-9a8b7c6d5e4f"),
)
SECRET_PROMPTS = (
    ("use API key {} for the weather service", "7f3c9b1e2a4d5f6078c6d7e8"),
    ("the api token for the status page is {}", "statuspage-9f2b7c1d4e5a"),
    ("I used the password {} for the admin user", "Blue-Horse-77"),
)


def test_no_secret_of_a_command_or_a_prompt_is_stored(home: Path, tmp_path: Path) -> None:
    """Passwords of failed commands and keys in passing are taken out of notes and messages."""
    lines: list[str] = []
    for form, secret in SECRET_COMMANDS:
        run = {"command": form.format(secret)}
        lines += [*tool("Bash", run, "denied", failed=True), *tool("Bash", {**run, "x": 1})]
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    call = HookCallOptions({"home": str(home), "user": "ann"}, seconds=60.0)
    for form, secret in SECRET_PROMPTS:
        prompt = form.format(secret)
        answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=prompt))
    answer_event(call, AgentHookEvent("Stop", "s1", transcript=str(file), folder="/src/alpha"))
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        texts = [
            record.text
            for scope in (("user", "ann"), ("user", "ann", "project", "alpha"))
            for record in engine.list(scope=scope, statuses=tuple(Status), limit=100).records
        ]
    assert len(texts) >= len(SECRET_COMMANDS) + len(SECRET_PROMPTS)
    secrets = [secret for _, secret in (*SECRET_COMMANDS, *SECRET_PROMPTS)]
    assert not [secret for secret in secrets if any(secret in text for text in texts)]
