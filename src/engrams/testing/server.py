"""Run a real HTTP server that acts as a scripted model."""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Literal, Self

from engrams.core import Json
from engrams.testing import wire_formats
from engrams.testing.model_script import (
    Answering,
    Answers,
    ReceivedModelRequest,
    Route,
    ScriptedAnswerChooser,
    ScriptedExchange,
    ScriptedFault,
    ScriptedReply,
    ScriptedToolCall,
    arguments_text,
    spoil_text,
)

_ROUTES: dict[str, Route] = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/v1/messages": "messages",
    "/count_tokens": "tokens",
    "/api/chat": "ollama",
    "/embeddings": "embeddings",
    "/api/embed": "embed",
    "/rerank": "rerank",
    "/decisions": "decisions",
    "/audio/transcriptions": "transcriptions",
    "/models": "models",
    "/api/tags": "tags",
}
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_REPLY_ROUTES = ("chat", "responses", "messages", "ollama")
_LARGEST = 64_000_000
_FORM_NAME = re.compile(r'\b(name|filename)="([^"]*)"')
_DRIPS = 12

Lack = Literal[
    "schema",
    "json_schema",
    "object_schema",
    "tools",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "system",
    "think",
    "whole",
]
"""Features a server may lack. ``schema``: any ``response_format`` or ``format``; ``json_schema``:
that type of it; ``object_schema``: a schema beside ``json_object``; ``whole``: answers that are not
streamed."""


class ScriptedModel:
    """Serve a scripted model on a free loopback port.

    ``url``: its base address (an OpenAI client wants ``url + "/v1"``). ``requests``: what came in,
    in order.

    Answers are text, or data for JSON answers: ``say`` queues them, ``when`` ties them to a pattern
    in the prompt, ``answer`` is a function from the request. Otherwise free text is echoed and a
    schema gets its smallest instance. ``fail`` queues faults; a fault in how the answer comes
    leaves the queued answer for the next call. ``lacks``: what it refuses, as servers without that
    feature do, with ``refusal_status`` (400) and, unless ``refusal_words`` is off, a message that
    names the field. ``version``: value of the header ``server``.
    Pictures of a chat are in ``images`` of its request; a form to /audio/transcriptions has its sound
    in ``file``, and its answer is the transcript.
    ``decide``: probability of a statement about a text, for /decisions; without it 0.5.
    """

    def __init__(
        self,
        *answers: Answers,
        answer: Answering | None = None,
        models: tuple[str, ...] = ("scripted",),
        dimension: int = 64,
        lacks: Collection[Lack] = (),
        score: Callable[[str, str], float] | None = None,
        decide: Callable[[str, str], float] | None = None,
    ) -> None:
        self.requests: list[ReceivedModelRequest] = []
        self.problems: list[Exception] = []
        self.models = models
        self.dimension = dimension
        self.lacks = set(lacks)
        self.refusal_status = 400
        self.refusal_words = True
        self.version = ""
        self.score = score
        self.decide = decide
        self._script = ScriptedAnswerChooser(answer)
        self._script.say(*answers)
        self._arrived = threading.Condition()
        self._server: _ScriptedServer | None = None
        self._port = 0
        self._reply_count = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def say(self, *answers: Answers) -> Self:
        """Queue answers."""
        self._script.say(*answers)
        return self

    def when(self, pattern: str, answer: Answers | Answering) -> Self:
        """Answer so if the prompt matches; the first rule wins."""
        self._script.when(pattern, answer)
        return self

    def fail(
        self,
        fault: ScriptedFault | str,
        times: int = 1,
        *,
        seconds: float = 0.0,
        only: str = "",
        when: str = "",
    ) -> Self:
        """Queue a fault for the next ``times`` calls.

        ``only``: one route (chat, responses, messages, ollama, embeddings, embed, rerank,
        decisions, transcriptions).
        ``when``: only prompts matching this pattern.
        """
        self._script.fail(
            fault if isinstance(fault, ScriptedFault) else ScriptedFault(fault, seconds),
            times,
            only,
            when,
        )
        return self

    def heal(self) -> Self:
        """Drop the faults that are still queued."""
        self._script.heal()
        return self

    def wait(self, count: int, seconds: float = 5.0) -> bool:
        """Wait for that many requests; False after ``seconds``."""
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self.requests) >= count, seconds)

    def start(self) -> Self:
        self._server = _ScriptedServer(self, self._port)
        self._port = self._server.server_address[1]
        threading.Thread(
            target=self._server.serve_forever, args=(0.01,), name="scripted-model", daemon=True
        ).start()
        return self

    def stop(self) -> None:
        """Close the port and every connection; calls that hang end."""
        server = self._server
        self._server = None
        if server is not None:
            server.close_all()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Close the port inside this block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def record_request(self, request: ReceivedModelRequest) -> None:
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()

    def take_fault(self, request: ReceivedModelRequest) -> ScriptedFault | None:
        return self._script.take_fault(request)

    def find_refusal(self, request: ReceivedModelRequest) -> str:
        """Return the error for an unsupported feature; empty if supported."""
        if request.route == "transcriptions":
            return ""  # a form has fields of other types
        for lack, (is_asked, message) in _describe_lacks(request).items():
            if is_asked and lack in self.lacks:
                return message
        return ""

    def next_reply(
        self, request: ReceivedModelRequest, fault: ScriptedFault | None
    ) -> ScriptedExchange:
        """Return the next reply, with a content fault applied."""
        reply = self._script.find_reply(request)
        if fault is not None and fault.in_content:
            reply = _spoil_reply(reply, fault, request)
        with self._arrived:
            self._reply_count += 1
            return ScriptedExchange(request, reply, self._reply_count)


def _describe_lacks(request: ReceivedModelRequest) -> dict[Lack, tuple[bool, str]]:
    """Return, for each feature, whether a request uses it and how a server refuses it."""
    body = request.body
    options = body.get("options") or {}
    response_format = body.get("response_format") or {}
    wants_form = bool(response_format or body.get("format"))
    form_type = response_format.get("type")
    return {
        "schema": (wants_form, "response_format of type json_schema is not supported"),
        "json_schema": (
            form_type == "json_schema",
            "('body', 'response_format', 'type'): Input should be 'text' or 'json_object'",
        ),
        "object_schema": (
            form_type == "json_object" and "schema" in response_format,
            "Unknown parameter: 'response_format.schema'",
        ),
        "tools": (bool(body.get("tools")), f"{request.model} does not support tools"),
        "max_tokens": (
            "max_tokens" in body,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        ),
        "max_completion_tokens": (
            "max_completion_tokens" in body,
            "Unrecognized request argument supplied: max_completion_tokens",
        ),
        "temperature": (
            "temperature" in body or "temperature" in options,
            "Unsupported value: 'temperature' does not support 0.0",
        ),
        "system": (
            any(role == "system" for role, _ in request.messages),
            "System role not supported",
        ),
        "think": ("think" in body, f"{request.model} does not support thinking"),
        "whole": (not request.stream, "This model only supports stream=true"),
    }


def _spoil_reply(
    reply: ScriptedReply, fault: ScriptedFault, request: ReceivedModelRequest
) -> ScriptedReply:
    finish = "length" if fault.kind == "truncated" else reply.finish
    if fault.kind == "empty":
        return ScriptedReply(usage=reply.usage)
    tools = tuple(
        ScriptedToolCall(
            tool.name, spoil_text(arguments_text(tool.arguments), fault.kind, request.schema)
        )
        for tool in reply.tools
    )
    return replace(
        reply,
        text=spoil_text(reply.text, fault.kind, request.schema) if reply.text else "",
        tools=tools,
        finish=finish,
    )


class _ScriptedServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, model: ScriptedModel, port: int) -> None:
        self.model = model
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", port), _ScriptedHandler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, peer = super().get_request()
        with self._guard:
            self._open.add(connection)
        return connection, peer

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the library calls it so
        """Record faults of this server; ignore clients that went away."""
        problem = sys.exception()
        if isinstance(problem, Exception) and not isinstance(problem, OSError):
            self.model.problems.append(problem)

    def close_all(self) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
        with self._guard:
            for connection in self._open:
                # Wakes the reading thread; a socket that its peer has closed raises an error.
                if connection.fileno() >= 0 and connection.getsockname():
                    _cut_connection(connection)


def _cut_connection(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        connection.close()


class _ScriptedHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _ScriptedServer
    _JSON_HEADERS: ClassVar = {"content-type": "application/json"}

    def do_GET(self) -> None:
        self._serve_request({})

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "0")
        raw = self.rfile.read(min(int(length) if length.isdigit() else 0, _LARGEST))
        kind = self.headers.get("content-type", "")
        if kind.startswith("multipart/form-data"):
            fields, file = _read_form(kind, raw)
            self._serve_request(fields, file)
            return
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self._serve_request(body if isinstance(body, dict) else {})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _serve_request(self, body: Mapping[str, Json], file: bytes = b"") -> None:
        path = self.path.split("?", 1)[0].rstrip("/")
        route: Route = next(
            (route for ending, route in _ROUTES.items() if path.endswith(ending)), "other"
        )
        if path.rsplit("/", 1)[0].endswith("/models"):
            route = "models"
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ReceivedModelRequest(
            route=route, method=self.command, path=self.path, headers=headers, body=body, file=file
        )
        model = self.server.model
        model.record_request(request)
        if route in ("models", "tags") and self.command == "GET":
            self._send_models(request, path.rsplit("/", 1)[-1])
        elif route == "other" or self.command != "POST":
            self._send_json(
                404, wire_formats.error_body(request, f"There is nothing at {path}.", 404)
            )
        else:
            try:
                self._send_answer(request, model.take_fault(request))
            except ConnectionError:
                self.close_connection = True
            except Exception as problem:  # noqa: BLE001 - a scripted answer may be any code
                model.problems.append(problem)
                self._send_json(
                    500,
                    wire_formats.error_body(
                        request, f"The scripted answer failed: {type(problem).__name__}.", 500
                    ),
                )

    def _send_models(self, request: ReceivedModelRequest, last: str) -> None:
        names = self.server.model.models
        listing = wire_formats.models_body(names, request.route)
        if last in ("models", "tags"):
            self._send_json(200, listing)
        elif last in names:
            self._send_json(200, listing["data"][names.index(last)])
        else:
            self._send_json(
                404, wire_formats.error_body(request, f"There is no model {last}.", 404)
            )

    def _send_answer(self, request: ReceivedModelRequest, fault: ScriptedFault | None) -> None:
        model = self.server.model
        refusal = model.find_refusal(request)
        if refusal:
            status = model.refusal_status
            message = refusal if model.refusal_words else "Internal Server Error"
            self._send_json(status, wire_formats.error_body(request, message, status))
            return
        if fault is not None and not fault.in_content and self._send_fault(request, fault):
            return
        if request.route in _REPLY_ROUTES:
            speech = model.next_reply(request, fault)
            if request.stream:
                self._send_stream(request, list(wire_formats.to_stream(speech)), fault)
                return
            body = wire_formats.to_body(speech)
        elif request.route == "transcriptions":
            text = model.next_reply(request, fault).reply.text
            if fault is not None and fault.kind == "bad_json":
                self._send(200, text.encode(), {"content-type": "text/plain"})
                return
            body = {"text": text}
        elif request.route == "tokens":
            body = {"input_tokens": len(request.prompt.split())}
        elif request.route == "decisions":
            body = wire_formats.decisions_body(request, model.decide)
        elif request.route == "rerank":
            body = _spoil_rows(wire_formats.rerank_body(request, model.score), fault)
        else:
            body = _spoil_rows(wire_formats.embeddings_body(request, model.dimension), fault)
        self._send_whole(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), fault)

    def _send_fault(self, request: ReceivedModelRequest, fault: ScriptedFault) -> bool:
        """Send the fault; False if a normal answer must follow."""
        # Like some servers, the error quotes the prompt.
        message = f"Scripted failure while answering {request.prompt[:200]!r}."
        if fault.status:
            headers = {"retry-after": f"{fault.seconds:g}"} if fault.status in (429, 503) else {}
            self._send_json(
                fault.status, wire_formats.error_body(request, message, fault.status), headers
            )
            return True
        match fault.kind:
            case "html":
                self._send(
                    200,
                    b"<html><body>Welcome to the network. Please sign in.</body></html>",
                    {"content-type": "text/html"},
                )
            case "hang":
                ended = self.server.closing.wait(fault.seconds or None)
                self.close_connection = ended
                return ended
            case "reset":
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                self.close_connection = True
                self.connection.close()
            case "error" if not request.stream:
                self._send_json(200, wire_formats.error_body(request, message, 500))
            case _:
                return False
        return True

    def _send_whole(self, body: bytes, fault: ScriptedFault | None) -> None:
        if fault is not None and fault.kind == "disconnect":
            self._send_head(
                200, self._JSON_HEADERS | {"content-length": str(len(body))}, body[: len(body) // 2]
            )
            self.close_connection = True
        elif fault is not None and fault.kind == "slow":
            self._send_head(200, self._JSON_HEADERS | {"content-length": str(len(body))}, b"")
            step = -(-len(body) // _DRIPS)
            for start in range(0, len(body), step):
                self.server.closing.wait(fault.seconds)
                self.wfile.write(body[start : start + step])
        else:
            self._send(200, body, self._JSON_HEADERS)

    def _send_stream(
        self, request: ReceivedModelRequest, pieces: list[bytes], fault: ScriptedFault | None
    ) -> None:
        kind = (
            "application/x-ndjson"
            if request.route == "ollama"
            else "text/event-stream; charset=utf-8"
        )
        self._send_head(
            200,
            {"content-type": kind, "transfer-encoding": "chunked", "cache-control": "no-cache"},
            b"",
        )
        name = fault.kind if fault is not None else ""
        for index, piece in enumerate(pieces):
            if index == len(pieces) // 2 and name == "disconnect":
                self.close_connection = True
                return
            if index == len(pieces) // 2 and name == "error":
                self._send_chunk(
                    wire_formats.stream_error(request, "Scripted failure in the middle.")
                )
                break
            if fault is not None and name == "slow":
                self.server.closing.wait(fault.seconds)
            self._send_chunk(piece)
        self.wfile.write(b"0\r\n\r\n")

    def _send_chunk(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def _send_json(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), self._JSON_HEADERS | dict(headers or {}))

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self._send_head(status, {**headers, "content-length": str(len(body))}, body)

    def _send_head(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send head and body in one write, so no client waits."""
        sent_headers = {**headers, "x-request-id": f"req-{len(self.server.model.requests)}"}
        if self.server.model.version:
            sent_headers["server"] = self.server.model.version
        lines = [
            f"HTTP/1.1 {status} {_PHRASES.get(status, '')}",
            *(f"{name}: {value}" for name, value in sent_headers.items()),
            "",
            "",
        ]
        self.wfile.write("\r\n".join(lines).encode("latin-1") + body)


def _read_form(kind: str, raw: bytes) -> tuple[dict[str, Json], bytes]:
    """Read the fields of a form, and its file; of the file the field has the name."""
    boundary = kind.partition("boundary=")[2].strip('"')
    fields: dict[str, Json] = {}
    file = b""
    for part in raw.split(f"--{boundary}".encode())[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        names = dict(_FORM_NAME.findall(head.decode("utf-8", "replace")))
        value = content.removesuffix(b"\r\n")
        if "filename" in names:
            file = value
        fields[names.get("name", "")] = names.get("filename") or value.decode("utf-8", "replace")
    return fields, file


def _spoil_rows(body: dict[str, Any], fault: ScriptedFault | None) -> dict[str, Any]:
    """Apply a content fault to vectors or rerank results."""
    key = next(key for key in ("data", "embeddings", "results", "answers") if key in body)
    rows = list(body[key])
    match fault.kind if fault is not None else "":
        case "bad_json" | "empty":
            rows = [] if fault is not None and fault.kind == "empty" else ["not what you wanted"]
        case "truncated":
            rows = rows[:-1]
        case "wrong_ids":
            rows = [row | {"index": 999_999} if isinstance(row, dict) else row[:-1] for row in rows]
    return body | {key: rows}
