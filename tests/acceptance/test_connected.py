"""A model is connected to a running server, which takes it over by itself."""

from __future__ import annotations

from pathlib import Path

import httpx2
from tests.acceptance.process import Door, eventually, served

from engrams.testing import ScriptedModel

PATH = "/v1/settings/model"


def is_restarted(door: Door) -> bool:
    """True once the server has its new settings; one that ends closes or resets connections."""
    try:
        return door.get(PATH)["restart"] is False
    except httpx2.TransportError:
        return False


def test_a_connected_model_answers_chats_without_a_restart_by_hand(home: Path) -> None:
    """A model that is saved in the settings of a running server is used at once: its chat answers,
    memory learns by it, and nothing that was said before is lost. Back to rules works as well.
    """
    with ScriptedModel() as model, served("default", home, model) as door:
        assert door.get("/v1/models")["data"][0]["id"] == "engrams-offline"
        door.post("/v1/memories", {"text": "I live in Lisbon."}, 201)
        body = {"provider": "openai", "url": f"{model.url}/v1", "model": "scripted"}
        assert door.client.put(PATH, json=body).json()["restarting"] is True
        eventually(lambda: is_restarted(door))
        assert door.get(PATH)["in_use"] == "scripted"
        model.say("You live in Lisbon.")
        answer = door.chat("Where do I live?", model="scripted").json()
        assert answer["choices"][0]["message"]["content"] == "You live in Lisbon."
        assert "I live in Lisbon" in door.sent()
        assert door.client.put(PATH, json={"provider": "none"}).json()["restarting"] is True
        eventually(lambda: is_restarted(door))
        assert door.get("/v1/models")["data"][0]["id"] == "engrams-offline"
