"""Work of an agent's tools:
files changed, errors solved and decisions taken are kept in the project's memory.
"""

from __future__ import annotations

import json
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
    call = HookCallOptions({"home": str(home), "user": "ann"})
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
        HookCallOptions({"home": str(home), "user": "ann"}, project="."), event
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
    assert answer_event(HookCallOptions({"home": str(home), "user": "ann"}), event) == ""
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
