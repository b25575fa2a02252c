"""Find language model servers, and the models that they serve."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

from engrams.errors import EngramsError, ModelError
from engrams.ports import DiscoveredModelServer

_NO_CHAT = re.compile(
    r"embed|bge-|minilm|rerank|whisper|transcribe|tts|image|dall-e|moderation|realtime|sora",
    re.IGNORECASE,
)
_OLLAMA = 11434

LOCAL_SERVERS = (
    DiscoveredModelServer("Ollama", "ollama", f"http://localhost:{_OLLAMA}"),
    DiscoveredModelServer("LM Studio", "openai", "http://localhost:1234/v1"),
    DiscoveredModelServer("llama.cpp", "openai", "http://localhost:8080/v1"),
    DiscoveredModelServer("vLLM", "openai", "http://localhost:8000/v1"),
)
"""Addresses at which the usual servers listen on this machine."""


def find_model_servers(
    servers: Sequence[DiscoveredModelServer] = LOCAL_SERVERS, seconds: float = 2.0
) -> tuple[DiscoveredModelServer, ...]:
    """Ask the usual servers at once; return those that list models."""
    with ThreadPoolExecutor(len(servers) or 1) as threads:
        model_names = list(threads.map(lambda server: list_models(server, "", seconds), servers))
    return tuple(
        replace(server, models=names)
        for server, names in zip(servers, model_names, strict=True)
        if names
    )


def list_models(server: DiscoveredModelServer, key: str, seconds: float) -> tuple[str, ...]:
    """List the models that may chat; empty without an answer in time."""
    from engrams.models.http_client import HttpClient

    try:
        client = HttpClient(server.url, {"authorization": f"Bearer {key}"} if key else {})
    except EngramsError:
        return ()
    try:
        data = client.get("/api/tags" if server.provider == "ollama" else "/models", seconds).json()
    except EngramsError:
        return ()
    finally:
        client.close()
    rows = None
    if isinstance(data, dict):
        rows = data.get("models" if server.provider == "ollama" else "data")
    names = (
        [row.get("name") or row.get("id") for row in rows if isinstance(row, dict)]
        if isinstance(rows, list)
        else []
    )
    return tuple(name for name in names if isinstance(name, str) and may_chat(name))


def find_connection_problem(url: str, seconds: float = 3.0) -> str:
    """Try to connect to a server; empty: it takes connections.

    A server that is reached through a company's proxy is not tried.
    """
    from engrams.models.http_client import is_local

    parts = urlsplit(url)
    host = parts.hostname or ""
    from urllib.request import getproxies

    if getproxies() and not is_local(f"{host}:0"):
        return ""
    try:
        socket.create_connection(
            (host, parts.port or (443 if parts.scheme == "https" else 80)), seconds
        ).close()
    except (OSError, ValueError) as problem:
        return (
            (problem.strerror if isinstance(problem, OSError) else "")
            or str(problem)
            or type(problem).__name__
        )
    return ""


def may_chat(name: str) -> bool:
    """Return False for a model whose name says that it does not chat."""
    return not _NO_CHAT.search(name)


def find_model_server_at(url: str, key: str, seconds: float = 10.0) -> DiscoveredModelServer:
    """Find out which protocol a server speaks, and its models.

    SettingsError: no address. ModelError: it lists no models.
    """
    from engrams.models.http_client import parse_address

    address = parse_address(url)
    root = address.removesuffix("/v1").removesuffix("/api")
    parts = urlsplit(address)
    openai = DiscoveredModelServer(address, "openai", address)
    ollama = DiscoveredModelServer(address, "ollama", root)
    below = replace(openai, url=f"{address}/v1")
    candidates = (openai, below, ollama) if parts.path else (below, openai, ollama)
    # Ollama speaks OpenAI's protocol too, and then cuts prompts at its default context.
    for candidate in (ollama, *candidates) if parts.port == _OLLAMA else candidates:
        if names := list_models(candidate, key, seconds):
            return replace(candidate, models=names)
    raise ModelError(
        f"{address} lists no models.",
        hint="Check that it runs, its address (often …/v1) and its key.",
    )
