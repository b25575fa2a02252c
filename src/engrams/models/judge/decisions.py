"""Decision models behind ``POST /v1/decisions``, as OpenAI's and servers like it.

One request holds a text and up to 400 questions about it. A question of the type ``predicate`` is a
sentence; its answer is the probability that the sentence is true. The model may decline a question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engrams.core import Json
from engrams.errors import ModelError
from engrams.models.error_quotes import quote_server
from engrams.models.http_client import HttpClient, parse_address
from engrams.models.http_errors import add_words, status_error
from engrams.ports import Clock, JudgeRequest

DEFAULT_URL = "https://api.openai.com/v1"
MAX_QUESTIONS = 400
"""Questions of one request, as the protocol limits them."""


class DecisionServerJudge:
    """One decision model on one server (the port ``Judge``); threads share it."""

    def __init__(self, model: str, clock: Clock, url: str = "", key: str = "") -> None:
        """Connect, with or without ``/decisions``; calls nothing.

        SettingsError: ``url`` is no http(s) address.
        """
        self._key = key.strip()
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        base = parse_address(url or DEFAULT_URL).removesuffix("/decisions")
        self._client = HttpClient(base, headers)
        self._model = model
        self._clock = clock

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model or self._client.host

    def judge(self, request: JudgeRequest) -> tuple[float | None, ...]:
        """Judge statements about a text; see ``Judge.judge``."""
        if not request.statements:
            return ()
        if len(request.statements) > MAX_QUESTIONS:
            raise ModelError(
                f"{len(request.statements)} questions are more than {MAX_QUESTIONS}.",
                retryable=False,
            )
        questions = [
            {"type": "predicate", "name": str(number), "instructions": statement}
            for number, statement in enumerate(request.statements)
        ]
        body = {"model": self._model, "input": request.text, "questions": questions}
        response = self._client.post("/decisions", body, request.seconds)
        if response.status == 200:
            return _parse_answers(self.name, response.json(), len(questions))
        words = quote_server(response.body, (request.text, *request.statements), self._key)
        raise add_words(
            status_error(
                self.name, response.status, response.headers, response.json(), self._clock
            ),
            words,
        )

    def close(self) -> None:
        """End running requests and close connections."""
        self._client.close()


def _parse_answers(name: str, body: Json, count: int) -> tuple[float | None, ...]:
    """Parse probabilities in the order of the questions. ModelError: there are none."""
    answers = body.get("answers") if isinstance(body, Mapping) else None
    if not isinstance(answers, list):
        raise ModelError(
            f"{name} answered without decisions.",
            hint="Is `judge.url` the address of a server with /v1/decisions?",
        )
    probabilities = _read_probabilities(answers)
    return tuple(probabilities.get(str(number)) for number in range(count))


def _read_probabilities(answers: Sequence[Json]) -> Mapping[str, float]:
    """Read the probabilities by the names of their questions; refusals and oddities are left out."""
    probabilities: dict[str, float] = {}
    for position, answer in enumerate(answers):
        if not isinstance(answer, Mapping):
            continue
        probability = answer.get("probability")
        # Answers come in the order of the questions, where a server does not repeat the names.
        name = answer.get("name")
        if isinstance(probability, int | float) and math.isfinite(probability):
            key = name if isinstance(name, str) else str(position)
            probabilities[key] = min(max(float(probability), 0.0), 1.0)
    return probabilities
