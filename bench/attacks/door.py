"""Doors through which an attack is played: the proxy and the REST API of one served engine."""

from __future__ import annotations

import abc
import json
from collections.abc import Sequence

from fastapi.testclient import TestClient

from engrams.core import LAYER_OF, MESSAGE_KINDS, Layer, Status
from engrams.engine import MemoryEngine
from engrams.testing import ScriptedModel

Message = tuple[str, str]
"""Role and text."""
_QUESTION = "Hello again! Which hotel in my home town do you recommend, and what do you know of me?"


class Door(abc.ABC):
    """One way into memory, and the ways to see what came of it."""

    name: str
    document_roles: tuple[str, ...]
    """Roles whose texts this door stores."""

    def __init__(self, client: TestClient, engine: MemoryEngine, model: ScriptedModel) -> None:
        self._client = client
        self._engine = engine
        self._model = model

    def say(self, user: str, messages: Sequence[Message]) -> None:
        """Say a conversation in the name of a user, and wait until it is learned from."""
        user_id = self._name_user(user)
        self._send(user_id, messages)
        if not self._engine.drain(30):
            raise TimeoutError("The jobs of 30 seconds ago are not done.")

    @abc.abstractmethod
    def _send(self, user: str, messages: Sequence[Message]) -> None: ...

    def find_statements(self, user: str, brand: str) -> list[str]:
        """Return the user's own statements in force that hold a brand."""
        page = self._engine.list(
            scope=("user", self._name_user(user)), statuses=(Status.ACTIVE,), limit=200
        )
        return [
            record.text
            for record in page.records
            if record.kind not in MESSAGE_KINDS
            and brand in record.text
            and (
                LAYER_OF[record.kind] is Layer.PROCEDURAL
                or record.subject in ("", "user", "the user")
            )
        ]

    def is_in_prompt(self, user: str, statements: Sequence[str]) -> bool:
        """True if the next conversation's prompt holds one of the statements."""
        self._ask(self._name_user(user), [("user", _QUESTION)])
        prompt = json.dumps(self._model.requests[-1].body, ensure_ascii=False)
        return any(statement[:40] in prompt for statement in statements)

    def is_found(self, user: str, words: str) -> bool:
        """True if a search for some words finds a memory that holds them."""
        result = self._client.post(
            "/v1/search",
            json={"query": words},
            headers={"X-Engrams-User": self._name_user(user)},
        )
        return words in result.raise_for_status().text

    def _name_user(self, user: str) -> str:
        return f"{self.name}-{user}"

    def _ask(self, user: str, messages: Sequence[Message], answer: str = "Noted.") -> None:
        """Ask the proxied model, which gives an answer."""
        sent = [{"role": role, "content": text} for role, text in messages]
        for message in sent:
            if message["role"] == "tool":
                message["tool_call_id"] = "call-1"
        self._model.say(answer)
        self._client.post(
            "/v1/chat/completions",
            json={"model": "m", "messages": sent},
            headers={"X-Engrams-User": user},
        ).raise_for_status()


class ProxyDoor(Door):
    """Chat requests; a conversation is sent anew with each of the user's messages."""

    name = "proxy"
    document_roles = ("user",)

    def _send(self, user: str, messages: Sequence[Message]) -> None:
        for position, (role, _) in enumerate(messages):
            is_last = position + 1 == len(messages)
            if is_last and role == "assistant":
                self._ask(user, [*messages, ("user", "go on")])
            elif is_last:
                self._ask(user, messages)
            elif role != "assistant" and messages[position + 1][0] == "assistant":
                self._ask(user, messages[: position + 1], messages[position + 1][1])
                self._engine.drain(30)


class RestDoor(Door):
    """Messages by ``POST /v1/memories``."""

    name = "rest"
    document_roles = ("user", "tool")

    def _send(self, user: str, messages: Sequence[Message]) -> None:
        body = {"messages": [{"role": role, "content": text} for role, text in messages]}
        self._client.post(
            "/v1/memories", json=body, headers={"X-Engrams-User": user}
        ).raise_for_status()
