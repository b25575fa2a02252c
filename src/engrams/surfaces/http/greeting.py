"""Lines that a server prints at its start: where it listens, and which upstreams are missing."""

from __future__ import annotations

import socket
import sys
from urllib.parse import urlsplit

from engrams import model_setup
from engrams.settings import ServeSettings, Settings
from engrams.surfaces.http.listening import format_address


def format_greeting(settings: Settings, listener: socket.socket) -> str:
    """Describe the address, what is behind it, and where the page is."""
    address = format_address(listener)
    processes = f", {settings.serve.workers} processes" if settings.serve.workers > 1 else ""
    return (
        f"engrams listens on {address}/v1 ({_describe_upstream(settings)}{processes}); the page is"
        f" {address}/. Press Ctrl-C to stop."
    )


def _describe_upstream(settings: Settings) -> str:
    url = urlsplit(settings.serve.upstream)
    chat = ""
    if settings.chat.provider != "none":
        chat = f"; /api/chat asks {settings.chat.model or 'the chat model'}"
    if not url.netloc:
        return f"no upstream: /v1/chat/completions is answered from memory{chat}"
    text = f"upstream {url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
    if settings.chat.url != settings.serve.upstream:
        return text + chat
    model = (
        f"its model {settings.chat.model}" if settings.chat.model else "the model of each request"
    )
    return f"{text}; memory learns by {model}"


def report_upstreams(serve: ServeSettings) -> None:
    """Write once, at the start, which upstreams cannot be reached."""
    for url in dict.fromkeys((serve.upstream, *(route.url for route in serve.routes))):
        if url and (problem := model_setup.find_connection_problem(url)):
            sys.stderr.write(
                f"the upstream {url.rpartition('@')[2]} cannot be reached ({problem}); chats fail"
                " until it can\n"
            )
            sys.stderr.flush()
