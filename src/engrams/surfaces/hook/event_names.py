"""Names of coding agents' events, and of those that the hook answers."""

from __future__ import annotations

NAMES = {
    **dict.fromkeys(("sessionStart",), "SessionStart"),
    **dict.fromkeys(
        ("BeforeAgent", "beforeSubmitPrompt", "userPromptSubmitted"), "UserPromptSubmit"
    ),
    **dict.fromkeys(("AfterAgent", "afterAgentResponse", "agentStop", "stop"), "Stop"),
    **dict.fromkeys(("PreCompress", "preCompact"), "PreCompact"),
    **dict.fromkeys(("sessionEnd",), "SessionEnd"),
    **dict.fromkeys(("AfterTool", "postToolUse", "afterFileEdit"), "PostToolUse"),
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

SECONDS = 5.0
"""Time limit of a hook call."""
