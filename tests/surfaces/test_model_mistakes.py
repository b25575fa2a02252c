"""What a model makes up is not stored, and is counted where people look."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.process import eventually, served

from engrams.testing import ScriptedModel

INVENTED = {
    "turn": 1,
    "text": "Ann owns a castle in Bavaria.",
    "quote": "my castle in Bavaria",
    "subject": "user",
    "predicate": "owns",
    "object": "castle in Bavaria",
}


@pytest.mark.slow
def test_inventions_are_counted(tmp_path: Path) -> None:
    """Status, the doctor and the list of jobs, which the page shows, count the same."""
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [INVENTED]})
        model.when("name of any city", {"city": "Lisbon"})
        texts = (
            "chat.provider=openai",
            "chat.model=m",
            f"chat.url={model.url}/v1",
            "write.debounce_seconds=0",
        )
        options = [part for text in texts for part in ("--set", text)]
        with served("default", tmp_path, model, *options) as door:
            door.post("/v1/memories", {"text": "I moved to Lisbon last week."}, 201)
            mistakes = eventually(lambda: door.get("/v1/jobs")["mistakes"])
            assert mistakes == {"its quote is not in the message": 1}
            status = door.run("status", *options)
            assert "1 × its quote is not in the message" in status
            doctor = door.run("doctor", *options)
            assert "1 × its quote is not in the message" in doctor
            assert "Bavaria" not in door.run("list", *options)
