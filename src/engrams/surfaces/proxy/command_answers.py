"""Answers to requests about memory itself, such as "forget that", given in place of the model.

A model would claim that it has forgotten something. Memory does what was asked, or asks back, and
says so in the client's own protocol. Neither the request nor the answer is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from engrams.settings import Settings
from engrams.surfaces.proxy.chat_protocols import NOTE, ChatDialect
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest
from engrams.surfaces.proxy.memory_deadlines import TimeLimitedEngine
from engrams.surfaces.proxy.offline_formats import MODEL
from engrams.surfaces.proxy.own_answers import OwnAnswerResponder

_FORMAT_FIELDS = ("response_format", "format")
"""Fields by which a program asks for JSON: it expects data, not a reply to a person."""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """Answer to a message that may be a request about memory."""

    response: Response | None = None
    """In the client's protocol; None: the message is none, and is answered as any other."""

    model_notice: str = ""
    """Text for the model's prompt which says that nothing was done; empty: none is needed."""


class CommandAnswerer:
    """Answers requests about memory on the chat route of one API dialect."""

    def __init__(
        self,
        memory: TimeLimitedEngine,
        settings: Settings,
        dialect: ChatDialect,
        *,
        answers_questions: bool = False,
    ) -> None:
        """Set up the answers. ``answers_questions``: no model is there to answer from memory."""
        self._memory = memory
        self._answers_questions = answers_questions
        self._is_on = settings.serve.memory_requests
        self._answers = OwnAnswerResponder(memory, dialect)

    async def answer(self, chat_request: ParsedProxyRequest) -> CommandAnswer:
        """Carry out a request about memory, and answer it."""
        if not self._is_on or chat_request.skip_reason or _wants_data(chat_request):
            return CommandAnswer()
        outcome = await self._memory.run_command(
            chat_request, answers_questions=self._answers_questions
        )
        if outcome.result is None:
            return CommandAnswer(model_notice=outcome.model_notice)
        response = await self._answers.respond(
            chat_request,
            outcome.result.reply,
            {NOTE: "command"},
            model=chat_request.model or MODEL,
        )
        return CommandAnswer(response)


def _wants_data(chat_request: ParsedProxyRequest) -> bool:
    for name in _FORMAT_FIELDS:
        value = chat_request.fields.get(name)
        if isinstance(value, dict) and value.get("type") != "text":
            return True
        if value == "json":
            return True
    return False
