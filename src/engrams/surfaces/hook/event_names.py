"""Names of coding agents' events, and of those that the hook answers."""

from __future__ import annotations

CLAUDE_NAMES = {
    "sessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "userPromptSubmitted": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "afterAgentResponse": "Stop",
    "agentStop": "Stop",
    "stop": "Stop",
    "PreCompress": "PreCompact",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
    "AfterTool": "PostToolUse",
    "postToolUse": "PostToolUse",
    "afterFileEdit": "PostToolUse",
}
"""Other agents' names of an event -> Claude Code's."""

RECALL_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events whose answer may carry text for the model."""

KEEP_EVENTS = ("UserPromptSubmit", "Stop", "PreCompact", "SessionEnd", "PostToolUse")
"""Events that bring new messages."""

TOOL_EVENT = "PostToolUse"
"""Event of one tool use.

Under this name of Claude Code's nothing is kept where the transcript tells of it at the end of the
turn.
"""

HOOK_TIMEOUT_SECONDS = 5.0
"""Time limit of a hook call."""
