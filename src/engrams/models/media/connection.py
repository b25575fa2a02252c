"""Connection to a server of a model that sees or hears, with errors that name its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping

from engrams.core import Json
from engrams.errors import ModelError
from engrams.models.error_quotes import quote_server
from engrams.models.http_client import HttpClient, HttpResponse, parse_address
from engrams.models.http_errors import add_words, status_error
from engrams.ports import Clock
from engrams.settings import MediaModelSettings


class MediaConnection:
    """Connection to one server; threads share it."""

    def __init__(
        self,
        settings: MediaModelSettings,
        clock: Clock,
        section: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Set the connection up; calls nothing. SettingsError: the address cannot be used.

        ``section``: of the settings, which hints name. ``headers``: of every request.
        """
        self.name = settings.model
        self._key = settings.api_key.strip()
        self._seconds = settings.seconds
        self._clock = clock
        self._section = section
        authorization = {"authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = HttpClient(parse_address(settings.url), {**(headers or {}), **authorization})

    def post_json(self, path: str, body: Json, prompt: str) -> Mapping[str, Json]:
        """Post JSON and return that of the answer. ModelError: there is none.

        ``prompt``: words of the body, which no error may quote.
        """
        return self.post_content(path, json.dumps(body).encode(), prompt)

    def post_content(self, path: str, content: bytes, prompt: str = "") -> Mapping[str, Json]:
        """Post bytes and return the JSON of the answer. Errors: those of ``post_json``."""
        response = self._client.post_content(path, content, self._seconds)
        if response is None:
            raise ModelError(
                f"{self.name} gave no complete answer within {self._seconds:.3g} seconds.",
                hint=f"Raise `{self._section}.seconds`, or choose a smaller model.",
            )
        if response.status != 200:
            raise self._make_error(response, prompt)
        answer = response.json()
        if not isinstance(answer, Mapping):
            raise ModelError(
                f"{self.name} answered with no JSON.",
                hint=f"Is `{self._section}.url` the address of a server with {path}?",
            )
        return answer

    def require_text(self, text: str) -> str:
        """Return a text that is not empty. ModelError: it is."""
        if not text:
            raise ModelError(
                f"{self.name} answered without words.",
                hint=f"Is `{self._section}.model` a model for this?",
                retryable=False,
            )
        return text

    def close(self) -> None:
        """End running requests and close connections."""
        self._client.close()

    def _make_error(self, response: HttpResponse, prompt: str) -> ModelError:
        section = self._section
        hints = {
            400: f"Can `{section}.model` take such a file?",
            401: f"Check `{section}.api_key`.",
            403: f"Check `{section}.model`, and the rights of the key.",
            404: f"Check `{section}.url` and `{section}.model`.",
            413: "The file is larger than the server accepts.",
        }
        error = status_error(
            self.name, response.status, response.headers, response.json(), self._clock, hints
        )
        return add_words(error, quote_server(response.body, (prompt,), self._key))
