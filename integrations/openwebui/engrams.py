"""
title: engrams
author: the engrams developers
version: 0.1.0
license: Apache-2.0
description: Long-term memory: recalls into the chat what a message needs, and stores what was said. Needs a running `engrams serve`.
required_open_webui_version: 0.5.0
"""

import asyncio
import hashlib
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, Field

Emitter = Callable[[dict[str, Any]], Awaitable[None]]


class Filter:
    """Memory around every request: `inlet` recalls and stores the message, `outlet` stores the answer."""

    class Valves(BaseModel):
        """What the administrator sets."""

        priority: int = Field(default=0, description="Order among filters; lower comes first.")
        url: str = Field(
            default="http://127.0.0.1:8100",
            description="Where `engrams serve` listens, as seen from Open WebUI.",
        )
        key: str = Field(
            default="", description="A key of `engrams keys add`; not needed on the same machine."
        )
        tokens: int = Field(
            default=1000, ge=0, description="The most tokens that recalled memory may cost."
        )
        store: bool = Field(
            default=True, description="Store messages and answers, so that memory learns from them."
        )
        seconds: float = Field(
            default=5.0,
            gt=0,
            description="Time limit for recalling; then the chat goes on without memory.",
        )
        show: bool = Field(
            default=True, description="Show under the message how many memories were recalled."
        )

    class UserValves(BaseModel):
        """What each user sets."""

        enabled: bool = Field(default=True, description="Use memory in my chats.")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> dict[str, Any]:
        """Put what the last message needs before it, then store the message."""
        if not self._serves(__user__, __metadata__) or not (message := _last_message(body, "user")):
            return body
        asked = _text_of(message)
        user = _user_id(__user__)
        found = await self._post(
            "/v1/context", {"query": asked, "tokens": self.valves.tokens}, user, __event_emitter__
        )
        await self._keep(message, "user", asked, user, body, __metadata__, __event_emitter__)
        if found and found["text"]:
            message["content"] = _before(found["text"], message["content"])
            if self.valves.show:
                await _tell(
                    __event_emitter__,
                    (
                        f"Recalled {len(found['hits'])} memories"
                        if found["hits"]
                        else "Recalled the profile"
                    ),
                )
        return body

    async def outlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> dict[str, Any]:
        """Store the answer."""
        if self._serves(__user__, __metadata__) and (message := _last_message(body, "assistant")):
            await self._keep(
                message,
                "assistant",
                _text_of(message),
                _user_id(__user__),
                body,
                __metadata__,
                __event_emitter__,
            )
        return body

    def _serves(self, user: dict[str, Any] | None, metadata: dict[str, Any] | None) -> bool:
        """Is this a chat of a user who wants memory? Titles, tags and other tasks of Open WebUI are none."""
        valves = (user or {}).get("valves")
        wanted = (
            valves.get("enabled", True)
            if isinstance(valves, dict)
            else getattr(valves, "enabled", True)
        )
        return bool(_user_id(user)) and bool(wanted) and not (metadata or {}).get("task")

    async def _keep(  # noqa: PLR0913 - the arguments of Open WebUI's own calls
        self,
        message: dict[str, Any],
        role: str,
        text: str,
        user: str,
        body: dict[str, Any],
        metadata: dict[str, Any] | None,
        emitter: Emitter | None,
    ) -> None:
        chat = str((metadata or {}).get("chat_id") or body.get("chat_id") or "")
        if (
            self.valves.store and text and not chat.startswith("local:")
        ):  # a temporary chat leaves nothing behind
            name = str(message.get("id") or "") or f"{len(body.get('messages', ()))}"
            key = hashlib.blake2b(
                "\0".join((chat, role, name, text)).encode("utf-8", "replace"), digest_size=16
            ).hexdigest()
            sent = {
                "role": role,
                "content": text,
                "external_id": f"openwebui-{key}" if chat else "",
            }
            await self._post("/v1/memories", {"messages": [sent], "session": chat}, user, emitter)

    async def _post(
        self, path: str, body: dict[str, Any], user: str, emitter: Emitter | None
    ) -> dict[str, Any] | None:
        """Ask the server; None, and a line under the message, if it does not answer well. The chat never fails because of it."""
        try:
            return await asyncio.to_thread(self._send, path, body, user)
        except (OSError, ValueError) as fault:
            hint = _hint(fault)
            await _tell(emitter, f"Memory is not available: {hint or fault}")
            return None

    def _send(self, path: str, body: dict[str, Any], user: str) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "X-Engrams-User": urllib.parse.quote(user)}
        if self.valves.key:
            headers["Authorization"] = f"Bearer {self.valves.key}"
        request = urllib.request.Request(
            self.valves.url.rstrip("/") + path, json.dumps(body).encode(), headers, method="POST"
        )
        with urllib.request.urlopen(request, timeout=self.valves.seconds) as answer:
            return dict(json.loads(answer.read()))


def _user_id(user: dict[str, Any] | None) -> str:
    return str((user or {}).get("id") or "")


def _last_message(body: dict[str, Any], role: str) -> dict[str, Any] | None:
    """The last message of the request, if it is of this role and no error in an answer's place."""
    message = (body.get("messages") or [{}])[-1]
    return (
        message
        if message.get("role") == role and not message.get("error") and _text_of(message)
        else None
    )


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else ()
    return "\n".join(
        part["text"] for part in parts if part.get("type") == "text" and part.get("text")
    ).strip()


def _before(memory: str, content: Any) -> Any:
    """A message's content with memory before it; pictures stay."""
    return (
        f"{memory}\n\n{content}"
        if isinstance(content, str)
        else [{"type": "text", "text": memory}, *content]
    )


def _hint(fault: Exception) -> str:
    """What the server says about a refusal."""
    if isinstance(fault, urllib.error.HTTPError):
        try:
            return str(json.loads(fault.read())["detail"])
        except (ValueError, KeyError, OSError):
            return ""
    return ""


async def _tell(emitter: Emitter | None, text: str) -> None:
    if emitter is not None:
        await emitter({"type": "status", "data": {"description": text, "done": True}})
