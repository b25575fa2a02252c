"""Models that see, behind ``POST /chat/completions`` of OpenAI's protocol with ``image_url``."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from engrams import prompts
from engrams.core import Json
from engrams.models.chat.json_repair import strip_thoughts
from engrams.models.media.connection import MediaConnection
from engrams.ports import Clock, MediaRequest
from engrams.settings import MediaModelSettings

_MOST_CHARACTERS = 4000
"""Characters that are kept of a description: some models repeat themselves without an end."""


class VisionModel:
    """A model that describes pictures (the port ``MediaModel``); threads share it."""

    def __init__(self, settings: MediaModelSettings, clock: Clock) -> None:
        """Set the model up; calls nothing. SettingsError: its address cannot be used."""
        self._connection = MediaConnection(settings, clock, "vision")

    @property
    def name(self) -> str:
        return self._connection.name

    def tell(self, request: MediaRequest) -> str:
        """Describe a picture. See ``MediaModel.tell``."""
        prompt = prompts.load("describe").render(note=prompts.quote(request.note or "nothing"))
        encoded = base64.b64encode(request.data).decode()
        content: list[Json] = [
            {"type": "text", "text": prompt},
            {
                "type": "image_url",
                "image_url": {"url": f"data:{request.media_type};base64,{encoded}"},
            },
        ]
        body = {"model": self.name, "messages": [{"role": "user", "content": content}]}
        answer = self._connection.post_json("/chat/completions", body, prompt)
        description = strip_thoughts(_find_text(answer))
        return self._connection.require_text(description)[:_MOST_CHARACTERS]

    def close(self) -> None:
        """End running requests and close connections."""
        self._connection.close()


def _find_text(answer: Json) -> str:
    """Find the text of an answer; empty: it has none."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
