"""Chat routes where there is no upstream: they answer by quoting memory."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from engrams.core import Hit, Json, Kind, Receipt
from engrams.core.meta_keys import EDITED_BY
from engrams.core.tellers_clock import on_tellers_clock
from engrams.settings import Settings
from engrams.surfaces.proxy.api_errors import error_response
from engrams.surfaces.proxy.chat_endpoint import BODY_BYTES, hit_to_dict, read_body, run_beside
from engrams.surfaces.proxy.chat_protocols import NOTE, UNSAVED, ChatDialect
from engrams.surfaces.proxy.chat_request import (
    ParsedProxyRequest,
    ResponseSessionMap,
    parse_request,
)
from engrams.surfaces.proxy.command_answers import CommandAnswerer
from engrams.surfaces.proxy.memory_deadlines import TimeLimitedEngine
from engrams.surfaces.proxy.own_answers import OwnAnswerResponder
from engrams.text.measures import is_question
from engrams.text.questions import is_asking
from engrams.text.reply_language import find_reply_language, quote

_TAG = "[engrams, offline]"
_COMMAND = "`engrams init`"
HOW = f"Connect one in Settings of the page, by {_COMMAND}, or by the setting `serve.upstream`."
_QUOTE_CHARS = 300
_NAMED_ROLES = ("user", "assistant")


class QuoteAnswerEndpoint:
    """Chat route of one API dialect without an upstream."""

    def __init__(self, memory: TimeLimitedEngine, settings: Settings, dialect: ChatDialect) -> None:
        self._memory = memory
        self._settings = settings
        self._dialect = dialect
        self._threads = ResponseSessionMap(memory.peers, dialect.path)
        self._commands = CommandAnswerer(memory, settings, dialect, answers_questions=True)
        self._answers = OwnAnswerResponder(memory, dialect)

    async def __call__(self, request: Request) -> Response:
        path = self._dialect.path
        raw = await read_body(request)
        if raw is None:
            return error_response(
                path,
                413,
                f"The request is over {BODY_BYTES:,} bytes. Send less of the history.",
                "request_too_large",
            )
        parse = partial(
            parse_request, request.headers, raw, self._settings, self._dialect, self._threads
        )
        chat_request = await run_beside(len(raw), parse)
        if await self._memory.learn_thread(chat_request):
            chat_request = await run_beside(len(raw), parse)
        if chat_request.envelope is None:
            text = (
                f"The request is not a JSON object with `{self._dialect.shape.key}`. Send a request"
                " of this API."
            )
            return error_response(path, 400, text, "invalid_request")
        if chat_request.refusal:
            return error_response(path, 400, chat_request.refusal, chat_request.refusal_code)
        command_answer = await self._commands.answer(chat_request)
        if command_answer.response is not None:
            return command_answer.response
        chat_request = await self._memory.date_question(chat_request)
        hits = await self._find_hits(chat_request)
        if hits is None:
            return error_response(
                path,
                503,
                "Memory could not be read. `engrams doctor` says why.",
                "memory_unavailable",
            )
        receipt = None
        if chat_request.caller is not None and chat_request.question is not None:
            # The answer is not stored: it only quotes memory.
            receipt = await self._memory.learn(chat_request.question, chat_request.caller.scope)
        return await self._respond(chat_request, hits, receipt)

    async def _find_hits(self, chat_request: ParsedProxyRequest) -> tuple[Hit, ...] | None:
        """Find memories to quote; None: memory failed."""
        if not (chat_request.caller and chat_request.question and chat_request.caller.top_k):
            return ()
        if await self._is_recall_off(chat_request):
            return ()
        question = chat_request.question.text.strip()
        top_k = chat_request.caller.top_k
        # One more: the question itself may be in memory, and is no answer.
        hits = await self._memory.search(question, chat_request.caller.scope, top_k + 1)
        if hits is None:
            return None
        return tuple(hit for hit in hits if hit.record.text.strip() != question)[:top_k]

    async def _is_recall_off(self, chat_request: ParsedProxyRequest) -> bool:
        caller = chat_request.caller
        return caller is not None and not await self._memory.is_recall_on(caller.scope)

    async def _respond(
        self, chat_request: ParsedProxyRequest, hits: tuple[Hit, ...], receipt: Receipt | None
    ) -> Response:
        headers = {}
        unsaved = await self._memory.describe_unsaved(chat_request.question)
        if unsaved:
            headers[UNSAVED] = unsaved
        question = chat_request.question
        if receipt is not None and question is not None and _only_tells(question.text):
            hits = ()
            text = f"{_TAG} {self._tell_learned(question.text, receipt)}"
        elif question is not None and not hits and await self._is_recall_off(chat_request):
            text = f"{_TAG} {_write('recall_off', find_reply_language(question.text))}"
        else:
            text = quote_hits(chat_request, hits)
        headers[NOTE] = _describe_use(chat_request, hits)
        fields: dict[str, Json] = {}
        if self._dialect.hits:
            fields["memory_hits"] = [hit_to_dict(hit) for hit in hits]
        return await self._answers.respond(chat_request, text, headers, fields=fields)

    def _tell_learned(self, text: str, receipt: Receipt) -> str:
        """Say what memory noted of a statement, in its own words."""
        if receipt.derived or receipt.outcome in ("unsaved", "redacted"):
            return self._memory.describe_receipt(text, receipt)
        return _write("stored", find_reply_language(text))


def _only_tells(text: str) -> bool:
    """True for a message that asks nothing, and is no request."""
    return not is_question(text) and not is_asking(text)


def _describe_use(chat_request: ParsedProxyRequest, hits: Sequence[Hit]) -> str:
    """Say for the header what became of memory."""
    if hits:
        return f"used:{len(hits)}"
    return f"skipped:{chat_request.skip_reason}" if chat_request.skip_reason else "none"


def quote_hits(chat_request: ParsedProxyRequest, hits: Sequence[Hit]) -> str:
    """Write an answer that quotes memories with their dates, in the language of the question."""
    language = find_reply_language(chat_request.question.text) if chat_request.question else "en"
    how = _write("how", language).format(command=_COMMAND)
    if chat_request.caller is None:
        return f"{_TAG} {_write('silent', language)} {how}"
    if not hits:
        return f"{_TAG} {_write('nothing', language)} {how}"
    quotes = (_format_quote(hit, language) for hit in hits)
    return "\n".join([f"{_TAG} {_write('label', language)}", "", *quotes, "", how])


def _format_quote(hit: Hit, language: str) -> str:
    record = hit.record
    text = " ".join(hit.annotate(record.text).split())
    if len(text) > _QUOTE_CHARS:
        text = text[: _QUOTE_CHARS - 1].rstrip() + "…"
    day = on_tellers_clock(record, record.valid_from or record.recorded_at).strftime("%Y-%m-%d")
    speaker = record.speaker
    if speaker and (editor := record.meta.get(EDITED_BY)):
        speaker = _write("edited_by", language).format(speaker=speaker, editor=editor)
    if not speaker and record.kind is Kind.TURN:
        is_named = record.role in _NAMED_ROLES
        speaker = _write(record.role, language) if is_named else record.role
    if hit.status.value == "superseded":
        mark = f" ({_write('outdated', language)})"
    else:
        mark = f" ({hit.tell_end()})" if hit.tell_end() else ""
    return f"- {day}{', ' + speaker if speaker else ''}: {quote(text, language)}{mark}"


def _write(key: str, language: str) -> str:
    """Return a text of ``offline_replies.toml``; English where the language has none."""
    texts = _read_replies()[key]
    return texts.get(language, texts["en"])


@cache
def _read_replies() -> dict[str, dict[str, str]]:
    path = Path(__file__).with_name("offline_replies.toml")
    return tomllib.loads(path.read_text("utf-8"))
