"""Long conversations with what should be remembered of them, and a model's recorded answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from engrams import Turn
from engrams.text.normalize import fold

HERE = Path(__file__).parent
CONVERSATIONS = HERE / "conversations"
RECORDINGS = HERE / "recordings"

State = Literal["current", "superseded", "optional"]


@dataclass(frozen=True)
class GoldFact:
    """A statement to remember.

    ``words``: all must occur in its text, or one of several with a bar between them. ``state``: at
    the end; ``optional`` may be remembered. ``said``: the day it was said.
    """

    text: str
    words: tuple[str, ...]
    state: State
    said: str

    def matches(self, text: str) -> bool:
        folded = fold(text)
        return all(any(fold(word) in folded for word in choice.split("|")) for choice in self.words)


@dataclass(frozen=True)
class Conversation:
    """Sessions of turns, and the gold.

    ``forbidden``: statements that must not be remembered, with the reason as their text.
    """

    id: str
    language: str
    speaker: str
    sessions: tuple[tuple[Turn, ...], ...]
    facts: tuple[GoldFact, ...]
    forbidden: tuple[GoldFact, ...]

    @property
    def turns(self) -> int:
        return sum(map(len, self.sessions))


def conversation_ids() -> list[str]:
    return sorted(path.stem for path in CONVERSATIONS.glob("*.json"))


def read_conversation(id: str) -> Conversation:
    data = json.loads((CONVERSATIONS / f"{id}.json").read_text("utf-8"))
    sessions = tuple(
        _to_turns(number, session, data["speaker"])
        for number, session in enumerate(data["sessions"], 1)
    )
    facts = tuple(
        GoldFact(row["text"], tuple(row["words"]), row.get("state", "current"), row["said"])
        for row in data["facts"]
    )
    forbidden = tuple(
        GoldFact(row["why"], tuple(row["words"]), "optional", "") for row in data["forbidden"]
    )
    return Conversation(id, data["language"], data["speaker"], sessions, facts, forbidden)


def _to_turns(number: int, session: dict[str, Any], speaker: str) -> tuple[Turn, ...]:
    at = datetime.fromisoformat(f"{session['at']}+00:00")
    said: Sequence[dict[str, str]] = session["turns"]
    return tuple(
        Turn(
            text,
            role=role,
            speaker=speaker if role == "user" else "",
            at=at + timedelta(minutes=place),
            session=f"s{number}",
        )  # type: ignore[arg-type]
        for place, turn in enumerate(said)
        for role, text in turn.items()
    )
