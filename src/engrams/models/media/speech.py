"""Models that hear, behind ``POST /audio/transcriptions`` of OpenAI's protocol."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from engrams.models.media.connection import MediaConnection
from engrams.ports import Clock, MediaRequest
from engrams.settings import MediaModelSettings

_ENDINGS: Mapping[str, str] = {
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/ogg": "ogg",
}
"""Endings of file names, by which servers choose a decoder."""
_MOST_CHARACTERS = 1_000_000
"""Characters that are kept of a transcript: about 20 hours of speech."""


class SpeechModel:
    """A model that writes down what is said (the port ``MediaModel``); threads share it."""

    def __init__(self, settings: MediaModelSettings, clock: Clock) -> None:
        """Set the model up; calls nothing. SettingsError: its address cannot be used."""
        self._boundary = secrets.token_hex(16)
        form = {"content-type": f"multipart/form-data; boundary={self._boundary}"}
        self._connection = MediaConnection(settings, clock, "speech", form)

    @property
    def name(self) -> str:
        return self._connection.name

    def tell(self, request: MediaRequest) -> str:
        """Write down what is said in a sound. See ``MediaModel.tell``."""
        # The file's own name may tell of somebody: the server gets another one.
        file_name = f"sound.{_ENDINGS[request.media_type]}"
        content = b"".join(
            (
                self._make_field("model", self.name.encode()),
                self._make_field("response_format", b"json"),
                self._make_field("file", request.data, file_name, request.media_type),
                f"--{self._boundary}--\r\n".encode(),
            )
        )
        answer = self._connection.post_content("/audio/transcriptions", content)
        text = answer.get("text")
        transcript = text.strip() if isinstance(text, str) else ""
        return self._connection.require_text(transcript)[:_MOST_CHARACTERS]

    def close(self) -> None:
        """End running requests and close connections."""
        self._connection.close()

    def _make_field(
        self, name: str, value: bytes, file_name: str = "", media_type: str = ""
    ) -> bytes:
        head = f'--{self._boundary}\r\ncontent-disposition: form-data; name="{name}"'
        if file_name:
            head += f'; filename="{file_name}"\r\ncontent-type: {media_type}'
        return f"{head}\r\n\r\n".encode() + value + b"\r\n"
