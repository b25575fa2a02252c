"""A coding agent in a project, whose hooks are called as it calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event


class HookedAgent:
    """Hook of one home, called in a project."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
        self._folder = folder
        self._session = 0

    def send(self, name: str, **values: str) -> str:
        body = {"hook_event_name": name, "session_id": f"s{self._session}", **values}
        event = parse_event(json.dumps({**body, "cwd": str(self._folder)}).encode())
        assert event is not None
        answer = answer_event(self._call, event)
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""

    def say(self, *sentences: str) -> None:
        """Say sentences in a session that ends."""
        self._session += 1
        for sentence in sentences:
            self.send("UserPromptSubmit", prompt=sentence)
        self.send("Stop", last_assistant_message="Understood.")

    def play(self, lines: list[dict[str, Any]]) -> None:
        """Play a session of which only the transcript tells."""
        self._session += 1
        transcript = self._folder.parent / f"t{self._session}.jsonl"
        transcript.write_text("\n".join(map(json.dumps, lines)), "utf-8")
        self.send("Stop", transcript_path=str(transcript))

    def begin(self) -> str:
        """Start the next session, and return what it begins with."""
        self._session += 1
        return self.send("SessionStart")
