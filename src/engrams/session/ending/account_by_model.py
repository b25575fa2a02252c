"""Account of a session by a chat model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from engrams.core import Evidence, ModelCost, Record
from engrams.errors import ModelError
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.prompts import load, quote
from engrams.session.ending.session_account import MAX_THEMES, SessionAccount, shorten_points

_MAX_TURNS = 80
_MAX_TURN_CHARACTERS = 1000
_MAX_CHARACTERS = 24_000
"""Turns, characters of each, and of all, that the model sees: the latest."""
_MAX_WORDS = 60
"""Characters of a theme or a mood."""
_QUOTE_CHARACTERS = 200

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "themes": {"type": "array", "items": {"type": "string"}},
        "summary": {"type": "string"},
        "mood": {
            "type": "object",
            "properties": {"opened": {"type": "string"}, "closed": {"type": "string"}},
        },
        "open_loops": {"type": "array", "items": {"type": "string"}},
        "resolved": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["summary"],
}


class _MoodAnswer(BaseModel):
    opened: str = ""
    closed: str = ""


class _AccountAnswer(BaseModel):
    """Account of a session as a model returns it."""

    themes: list[str] = Field(default_factory=list)
    summary: str = ""
    mood: _MoodAnswer = _MoodAnswer()
    open_loops: list[str] = Field(default_factory=list)
    resolved: list[str] = Field(default_factory=list)


def tell_by_model(turns: Sequence[Record], chat: ChatModel, limit: int) -> SessionAccount | None:
    """Tell a session by a model; None where it finds nothing.

    It sees at most 80 turns and 24,000 characters. ``limit``: characters of the summary.
    ModelError, BudgetError: it failed, or its answer cannot be used.
    """
    prompt = load("arc")
    shown, lines = _format_turns(turns)
    text = prompt.render(turns="\n".join(lines), limit=str(limit))
    answer = chat.ask(ChatRequest((ChatMessage("user", text),), "arc", _SCHEMA))
    try:
        parsed = _AccountAnswer.model_validate(answer.data)
    except ValidationError as problem:
        raise ModelError(
            f"The account cannot be used: {problem.errors()[0]['msg']}.", retryable=False
        ) from None
    summary = " ".join(parsed.summary.split())
    if not summary:
        return None
    if len(summary) > limit:
        summary = summary[: limit - 1].rstrip() + "…"
    themes = [" ".join(theme.split())[:_MAX_WORDS] for theme in parsed.themes if theme.strip()]
    return SessionAccount(
        themes=tuple(themes[:MAX_THEMES]),
        summary=summary,
        opened=parsed.mood.opened[:_MAX_WORDS],
        closed=parsed.mood.closed[:_MAX_WORDS],
        loops=shorten_points(parsed.open_loops),
        resolved=shorten_points(parsed.resolved),
        evidence=tuple(
            Evidence(turn.text[:_QUOTE_CHARACTERS], turn.id, turn.speaker)
            for turn in shown
            if turn.text
        ),
        extractor=chat.name,
        prompt=prompt.hash,
        cost=ModelCost(answer.calls, answer.tokens),
    )


def _format_turns(turns: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """Return the latest turns that fit into the prompt, and a line for each, oldest first."""
    shown: list[Record] = []
    lines: list[str] = []
    size = 0
    for turn in reversed(turns):
        speaker = quote(turn.speaker or turn.role or "someone")
        line = f"{speaker}: {quote(turn.text[:_MAX_TURN_CHARACTERS])}"
        size += len(line)
        if len(lines) >= _MAX_TURNS or size > _MAX_CHARACTERS:
            break
        shown.append(turn)
        lines.append(line)
    return shown[::-1], lines[::-1]
