"""Events and transcripts of six coding agents, in each agent's own form.

``open_agent`` makes the writer of one session. For each step of a recorded session it appends the
lines that the agent would write, and it makes the input of each hook. What an agent has no line for
is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.agents.sessions.recorded import Step

_COMPACTED = (
    "This session is being continued from a previous conversation that ran out of context. {} Please"
    " continue the conversation from where we left it off."
)


class AgentWriter:
    """One session of an agent: its transcript, and the inputs of its hooks.

    A subclass says how the agent names events and what it writes into its transcript.
    """

    EVENTS: tuple[tuple[str, str], ...] = (
        ("start", "SessionStart"),
        ("prompt", "UserPromptSubmit"),
        ("stop", "Stop"),
        ("compact", "PreCompact"),
        ("end", "SessionEnd"),
    )
    """Step of a session -> the agent's name of its event."""
    HAS_TRANSCRIPT = True
    GIVES_PROMPT_MEMORIES = True
    """True if the agent shows its model what a hook answers to a prompt."""
    NAMES_EVENT_BY_OPTION = False

    def __init__(self, session: str, repository: Path, transcript: Path) -> None:
        self.session = session
        self.repository = repository
        self.transcript = transcript
        self._calls = 0

    def write(self, step: Step) -> None:
        """Append what the agent writes for a step."""
        if self.HAS_TRANSCRIPT:
            with self.transcript.open("a", encoding="utf-8") as file:
                for line in self._list_lines(step):
                    file.write(json.dumps(line) + "\n")

    def make_event(self, name: str, **values: str) -> dict[str, Any]:
        """Make the input of a hook, of an event as ``EVENTS`` calls it."""
        body: dict[str, Any] = {
            "session_id": self.session,
            "cwd": str(self.repository),
            "hook_event_name": dict(self.EVENTS)[name],
            **values,
        }
        if self.HAS_TRANSCRIPT:
            body["transcript_path"] = str(self.transcript)
        return body

    def make_stop(self, answer: str) -> dict[str, Any]:
        """Make the input of the hook at the end of a turn."""
        return self.make_event("stop", last_assistant_message=answer)

    def make_edit(self, path: str) -> dict[str, Any]:
        """Make the input of the hook after a change of a file, where the agent calls one."""
        raise NotImplementedError(f"No hook is told of {path}.")

    def has_event(self, name: str) -> bool:
        """True if the agent calls a hook there."""
        return name in dict(self.EVENTS)

    def list_options(self, name: str) -> list[str]:
        """List the options that the installed command has for an event."""
        return ["--event", dict(self.EVENTS)[name]] if self.NAMES_EVENT_BY_OPTION else []

    def _list_lines(self, step: Step) -> Iterator[dict[str, Any]]:
        raise NotImplementedError

    def _next_call(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"


class ClaudeCode(AgentWriter):
    """Claude Code: lines of type user and assistant, tools as parts of them."""

    def _list_lines(self, step: Step) -> Iterator[dict[str, Any]]:
        match step.kind:
            case "user":
                yield self._line("user", step.text)
            case "assistant":
                yield self._line("assistant", [{"type": "text", "text": step.text}])
            case "command":
                yield from self._list_tool_lines("Bash", {"command": step.text}, step)
            case "edit":
                path = str(self.repository / step.text)
                yield from self._list_tool_lines("Edit", {"file_path": path}, step)
            case "compaction":
                yield {"type": "system", "subtype": "compact_boundary", "content": "Compacted"}
                text = _COMPACTED.format(step.text)
                yield self._line("user", text, isCompactSummary=True)
            case "subagent":
                yield self._line("user", step.text, isSidechain=True, agentId="a1")
            case "task":
                yield self._line("user", f"<task-notification>{step.text}</task-notification>")
            case "shell":
                command, _, output = step.text.partition(" | ")
                yield self._line("user", f"<bash-input>{command}</bash-input>")
                yield self._line("user", f"<bash-stdout>{output}</bash-stdout>")
            case "rules":
                yield self._line("user", f"<system-reminder>{step.text}</system-reminder>")
            case _:
                raise ValueError(f"Claude Code writes no line {step.kind!r}.")

    def _list_tool_lines(
        self, tool: str, values: dict[str, str], step: Step
    ) -> Iterator[dict[str, Any]]:
        id = self._next_call()
        yield self._line(
            "assistant", [{"type": "tool_use", "id": id, "name": tool, "input": values}]
        )
        output = "\n".join(step.output)
        part = {"type": "tool_result", "tool_use_id": id, "content": output}
        is_error = any(step.failed)
        result = f"Error: Exit code 1\n{output}" if is_error else {"stdout": output, "stderr": ""}
        yield self._line("user", [{**part, "is_error": is_error}], toolUseResult=result)

    def _line(self, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "sessionId": self.session,
            "cwd": str(self.repository),
            "message": {"role": kind, "content": content},
            **fields,
        }


class Codex(AgentWriter):
    """Codex: a rollout of events and response items."""

    EVENTS = AgentWriter.EVENTS[:4]

    def _list_lines(self, step: Step) -> Iterator[dict[str, Any]]:
        match step.kind:
            case "user":
                yield self._message("user", step.text)
                yield self._payload("event_msg", type="user_message", message=step.text)
            case "assistant":
                yield self._message("assistant", step.text)
            case "command":
                id = self._next_call()
                arguments = json.dumps({"command": ["bash", "-lc", step.text]})
                yield self._payload(
                    "response_item",
                    type="function_call",
                    name="shell",
                    call_id=id,
                    arguments=arguments,
                )
                document = {
                    "output": "\n".join(step.output),
                    "metadata": {"exit_code": int(any(step.failed))},
                }
                yield self._payload(
                    "response_item",
                    type="function_call_output",
                    call_id=id,
                    output=json.dumps(document),
                )
            case "edit":
                id = self._next_call()
                patch = f"*** Begin Patch\n*** Update File: {step.text}\n@@\n*** End Patch"
                yield self._payload(
                    "response_item",
                    type="custom_tool_call",
                    name="apply_patch",
                    call_id=id,
                    input=patch,
                )
                yield self._payload(
                    "response_item", type="custom_tool_call_output", call_id=id, output="Success"
                )
            case "compaction":
                yield self._payload("compacted", message=step.text, replacement_history=[])
            case "rules":
                text = f"# AGENTS.md instructions for {self.repository}\n\n<INSTRUCTIONS>\n{step.text}\n</INSTRUCTIONS>"
                yield self._message("user", text)
            case _:
                raise ValueError(f"Codex writes no line {step.kind!r}.")

    def _message(self, role: str, text: str) -> dict[str, Any]:
        part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        return self._payload("response_item", type="message", role=role, content=[part])

    def _payload(self, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-11-24T10:00:00Z", "type": kind, "payload": payload}


class GeminiCli(AgentWriter):
    """Gemini CLI: a log of messages, each with its tool calls."""

    EVENTS = (
        ("start", "SessionStart"),
        ("prompt", "BeforeAgent"),
        ("edit", "AfterTool"),
        ("stop", "AfterAgent"),
        ("compact", "PreCompress"),
        ("end", "SessionEnd"),
    )

    def make_stop(self, answer: str) -> dict[str, Any]:
        return self.make_event("stop", prompt_response=answer)

    def make_edit(self, path: str) -> dict[str, Any]:
        body = self.make_event("edit", tool_name="replace")
        values = {"file_path": str(self.repository / path)}
        return {**body, "tool_input": values, "tool_response": {"llmContent": "ok"}}

    def _list_lines(self, step: Step) -> Iterator[dict[str, Any]]:
        id = self._next_call()
        match step.kind:
            case "user":
                yield {"id": id, "type": "user", "content": [{"text": step.text}]}
            case "assistant":
                yield {"id": id, "type": "gemini", "content": step.text}
            case "command":
                status = "error" if any(step.failed) else "success"
                call = {
                    "id": f"t{id}",
                    "name": "run_shell_command",
                    "args": {"command": step.text},
                    "status": status,
                    "resultDisplay": "\n".join(step.output),
                }
                yield {"id": id, "type": "gemini", "content": "", "toolCalls": [call]}
            case "edit":
                values = {"file_path": str(self.repository / step.text)}
                call = {"id": f"t{id}", "name": "replace", "args": values, "status": "success"}
                yield {"id": id, "type": "gemini", "content": "", "toolCalls": [call]}
            case "compaction":
                text = f"<state_snapshot>{step.text}</state_snapshot>"
                yield {"id": id, "type": "user", "content": text}
            case "rules":
                text = f"This is the Gemini CLI. We are setting up the context. {step.text}"
                yield {"id": id, "type": "user", "content": text}
            case _:
                raise ValueError(f"Gemini CLI writes no line {step.kind!r}.")


class Cursor(AgentWriter):
    """Cursor: messages with framed texts, without results of tools."""

    EVENTS = (
        ("start", "sessionStart"),
        ("prompt", "beforeSubmitPrompt"),
        ("edit", "afterFileEdit"),
        ("stop", "afterAgentResponse"),
        ("compact", "preCompact"),
        ("end", "sessionEnd"),
    )

    def make_event(self, name: str, **values: str) -> dict[str, Any]:
        return {
            "conversation_id": self.session,
            "generation_id": "g1",
            "hook_event_name": dict(self.EVENTS)[name],
            "workspace_roots": [str(self.repository)],
            "transcript_path": str(self.transcript),
            **values,
        }

    def make_stop(self, answer: str) -> dict[str, Any]:
        return self.make_event("stop", text=answer)

    def make_edit(self, path: str) -> dict[str, Any]:
        body = self.make_event("edit", file_path=str(self.repository / path))
        return {**body, "edits": [{"old_string": "a", "new_string": "b"}]}

    def _list_lines(self, step: Step) -> Iterator[dict[str, Any]]:
        match step.kind:
            case "user":
                yield self._line("user", f"<user_query>\n{step.text}\n</user_query>")
            case "assistant":
                yield self._line("assistant", step.text)
            case "command" | "edit":
                call = {"type": "tool_use", "name": "Shell", "input": {"command": step.text}}
                yield {"role": "assistant", "message": {"content": [call]}}
            case "rules":
                framed = (
                    f"<always_applied_workspace_rules>{step.text}</always_applied_workspace_rules>"
                )
                yield self._line("user", framed)
            case "task":
                yield self._line("user", f"<system_notification>{step.text}</system_notification>")
            case _:
                raise ValueError(f"Cursor writes no line {step.kind!r}.")

    def _line(self, role: str, text: str) -> dict[str, Any]:
        return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}


class CopilotCli(AgentWriter):
    """Copilot CLI: events with data."""

    EVENTS = (
        ("start", "sessionStart"),
        ("prompt", "userPromptSubmitted"),
        ("stop", "agentStop"),
        ("compact", "preCompact"),
        ("end", "sessionEnd"),
    )
    GIVES_PROMPT_MEMORIES = False
    NAMES_EVENT_BY_OPTION = True

    def make_event(self, name: str, **values: str) -> dict[str, Any]:
        del name  # The installed command has it.
        return {
            "sessionId": self.session,
            "timestamp": 1_764_000_000_000,
            "cwd": str(self.repository),
            "transcriptPath": str(self.transcript),
            **values,
        }

    def make_stop(self, answer: str) -> dict[str, Any]:
        del answer  # Its transcript has it.
        return self.make_event("stop", stopReason="end_turn")

    def _list_lines(self, step: Step) -> Iterator[dict[str, Any]]:
        match step.kind:
            case "user":
                yield self._line("user.message", content=step.text)
            case "assistant":
                yield self._line("assistant.message", content=step.text, toolRequests=[])
            case "command":
                yield from self._list_tool_lines("bash", {"command": step.text}, step)
            case "edit":
                path = str(self.repository / step.text)
                yield from self._list_tool_lines("edit", {"path": path}, step)
            case "subagent":
                yield self._line("user.message", content=step.text) | {"agentId": "a1"}
            case "compaction":
                yield self._line("session.compaction_complete", summaryContent=step.text)
            case "rules":
                yield self._line("system.message", content=step.text)
            case _:
                raise ValueError(f"Copilot CLI writes no line {step.kind!r}.")

    def _list_tool_lines(
        self, tool: str, values: dict[str, str], step: Step
    ) -> Iterator[dict[str, Any]]:
        id = self._next_call()
        yield self._line("tool.execution_start", toolCallId=id, toolName=tool, arguments=values)
        output = "\n".join(step.output)
        is_done = not any(step.failed)
        result = {"result": {"content": output}} if is_done else {"error": {"message": output}}
        yield self._line("tool.execution_complete", toolCallId=id, success=is_done, **result)

    def _line(self, kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "id": "e", "timestamp": "t", "parentId": None, "data": data}


class OpenCode(AgentWriter):
    """opencode: no transcript; the events that its plugin sends."""

    HAS_TRANSCRIPT = False
    EVENTS = (
        ("start", "SessionStart"),
        ("prompt", "UserPromptSubmit"),
        ("stop", "Stop"),
        ("end", "SessionEnd"),
    )

    def _list_lines(self, step: Step) -> Iterator[dict[str, Any]]:
        raise NotImplementedError(f"opencode writes no line {step.kind!r}.")


_WRITERS: dict[str, type[AgentWriter]] = {
    "claude-code": ClaudeCode,
    "codex": Codex,
    "gemini": GeminiCli,
    "cursor": Cursor,
    "copilot": CopilotCli,
    "opencode": OpenCode,
}


def open_agent(agent: str, session: str, repository: Path, transcript: Path) -> AgentWriter:
    """Make the writer of one session. KeyError: there is no such agent."""
    return _WRITERS[agent](session, repository, transcript)
