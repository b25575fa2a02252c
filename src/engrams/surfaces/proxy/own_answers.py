"""Responses with a text of this program's own, in the form that the client asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response, StreamingResponse

from engrams.core import Json, clock
from engrams.core.ids import new_id
from engrams.surfaces.proxy.chat_protocols import ChatDialect
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest
from engrams.surfaces.proxy.memory_deadlines import TimeLimitedEngine
from engrams.surfaces.proxy.offline_formats import FORMATS, MODEL, OfflineAnswer


class OwnAnswerResponder:
    """Writes answers on the chat route of one API dialect: whole, or as a stream."""

    def __init__(self, memory: TimeLimitedEngine, dialect: ChatDialect) -> None:
        self._memory = memory
        self._dialect = dialect

    async def respond(
        self,
        chat_request: ParsedProxyRequest,
        text: str,
        headers: Mapping[str, str],
        *,
        fields: Mapping[str, Json] | None = None,
        model: str = MODEL,
    ) -> Response:
        """Answer with a text.

        ``fields``: members that a whole answer has besides those of its protocol. ``model``: the
        one that the answer is said to come from.
        """
        now = clock.now()
        answer = OfflineAnswer(text, new_id(now), now, chat_request.fields, model)
        answer_format = FORMATS[self._dialect.path]
        body = answer_format.whole(answer)
        await self._memory.note_answer(chat_request, str(body.get("id") or ""))
        if chat_request.wants_stream:
            media = "application/x-ndjson" if self._dialect.is_json_lines else "text/event-stream"
            stream = answer_format.stream(answer)
            return StreamingResponse(stream, headers=headers, media_type=media)
        return Response(
            json.dumps({**body, **(fields or {})}), headers=headers, media_type="application/json"
        )
