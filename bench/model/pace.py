"""Calls and tokens of a conversation at a person's pace: ``python -m bench.model pace``.

A message a minute, and jobs run when they are due: how often a model is asked depends on
``write.debounce_seconds``. Prompts then show other parts of a conversation than the recorded ones,
so an answer holds whatever recorded statements and decisions fit its prompt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from bench.model.data import RECORDINGS, Conversation, conversation_ids, read_conversation
from bench.model.recorded import read_list, read_messages, split_prompt
from engrams.extract.by_model.extraction import find_literal
from engrams.models.chat.usage import estimate_tokens
from engrams.settings import WriteSettings
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock, temp_engine
from engrams.text.normalize import fold

PAUSES = (30.0, WriteSettings().debounce_seconds)
"""Seconds of quiet that are compared; the last is the default."""
_SECONDS = 45
_PATIENCE = 120.0


@dataclass
class FittingModel:
    """A model that gives what fits of all recorded answers of a conversation."""

    id: str
    calls: int = 0
    tokens: int = 0
    _steps: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._steps = json.loads((RECORDINGS / f"{self.id}.json").read_text("utf-8"))["steps"]

    def answer(self, request: ReceivedModelRequest) -> str:
        kind, values = split_prompt(request.messages[0][1])
        rows = [
            row for step in self._steps if step["step"].startswith(kind) for row in step["answer"]
        ]
        fill = {"extract": _fit_statements, "reconcile": _fit_decisions}.get(kind)
        text = json.dumps(
            fill(rows, values) if fill else {"themes": [], "summary": ""}, ensure_ascii=False
        )
        self.calls += 1
        self.tokens += estimate_tokens(request.prompt) + estimate_tokens(text)
        return text


def _fit_statements(rows: list[dict[str, Any]], values: dict[str, str]) -> dict[str, Any]:
    messages = read_messages(values["turns"])
    found = (
        (
            next(
                (number for number, text in messages.items() if find_literal(row["quote"], text)), 0
            ),
            row,
        )
        for row in rows
    )
    return {
        "statements": [
            {"turn": turn, **row} for turn, row in found if turn and not row.get("mistake")
        ]
    }


def _fit_decisions(rows: list[dict[str, Any]], values: dict[str, str]) -> dict[str, Any]:
    known = read_list(values["known"])
    new = read_list(values["new"])
    decisions = []
    for number, text in new.items():
        row = next((row for row in rows if _find(row["new"], {number: text})), None)
        words = [*row.get("known", ()), *row.get("earlier", ())] if row else []
        meets = {at for word in words if (at := _find(word, known))}
        earlier = {at for word in words if (at := _find(word, new)) and at < number}
        verdict = row["verdict"] if row and (meets or earlier) else "add"
        decisions.append(
            {
                "new": number,
                "reason": "",
                "known": sorted(meets),
                "earlier": sorted(earlier),
                "verdict": verdict,
            }
        )
    return {"decisions": decisions}


def _find(words: Any, listing: dict[int, str]) -> int:
    """Number of the statement that holds these words; 0 for none."""
    return next(
        (
            number
            for number, text in listing.items()
            if isinstance(words, str) and fold(words) in fold(text)
        ),
        0,
    )


def measure_pace(conversation: Conversation, quiet: float) -> FittingModel:
    """Let an engine learn, a message a minute."""
    answers = FittingModel(conversation.id)
    first = conversation.sessions[0][0].at
    assert first is not None
    clock = SettableClock(first)
    chat = {"chat__provider": "openai", "chat__model": "fitting", "write__debounce_seconds": quiet}
    with (
        ScriptedModel(answer=answers.answer) as model,
        temp_engine(clock=clock, chat__url=model.url, jobs__workers=0, **chat) as memory,
    ):
        for session in conversation.sessions:
            for turn in session:
                assert turn.at is not None
                clock.set(turn.at)
                memory.observe(turn, scope=("user", "owner"))
                clock.forward(seconds=_SECONDS)
                assert memory.drain(_PATIENCE)
            clock.forward(hours=1)
            assert memory.drain(_PATIENCE)
        assert not model.problems, model.problems
    return answers


def format_pace() -> str:
    """Measure all conversations with each pause; a row each."""
    conversations = [read_conversation(id) for id in conversation_ids()]
    turns = sum(one.turns for one in conversations)
    lines = [f"{'quiet, seconds':16}{'calls a turn':>14}{'tokens a turn':>15}"]
    for quiet in PAUSES:
        measured = [measure_pace(one, quiet) for one in conversations]
        calls = sum(one.calls for one in measured)
        tokens = sum(one.tokens for one in measured)
        lines.append(f"{quiet:<16.0f}{calls / turns:>14.2f}{tokens / turns:>15.0f}")
    return "\n".join(lines)
