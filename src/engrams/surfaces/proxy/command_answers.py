"""Answers to requests about memory itself, such as "forget that", given in place of the model.

A model would claim that it has forgotten something. Memory does what was asked, or asks back, and
says so in the client's own protocol. Neither the request nor the answer is stored.
"""

from __future__ import annotations

from starlette.responses import Response

from engrams.settings import Settings
from engrams.surfaces.proxy.chat_protocols import NOTE, ChatDialect
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest
from engrams.surfaces.proxy.memory_deadlines import TimeLimitedEngine
from engrams.surfaces.proxy.offline_formats import MODEL
from engrams.surfaces.proxy.own_answers import OwnAnswerResponder

_FORMAT_FIELDS = ("response_format", "format")
"""Fields by which a program asks for JSON: it expects data, not a reply to a person."""


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

    async def answer(self, chat_request: ParsedProxyRequest) -> Response | None:
        """Carry out a request about memory, and answer it; None: the text is none."""
        if not self._is_on or chat_request.skip_reason or _wants_data(chat_request):
            return None
        result = await self._memory.run_command(
            chat_request, answers_questions=self._answers_questions
        )
        if result is None:
            return None
        return await self._answers.respond(
            chat_request, result.reply, {NOTE: "command"}, model=chat_request.model or MODEL
        )


def _wants_data(chat_request: ParsedProxyRequest) -> bool:
    for name in _FORMAT_FIELDS:
        value = chat_request.fields.get(name)
        if isinstance(value, dict) and value.get("type") != "text":
            return True
        if value == "json":
            return True
    return False
