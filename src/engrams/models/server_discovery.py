"""Find language model servers, and the models that they serve."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

from engrams.errors import EngramsError, ModelError, SettingsError
from engrams.ports import DiscoveredModelServer

NO_CHAT = r"embed|bge-|minilm|rerank|whisper|transcribe|tts|image|dall-e|moderation|realtime|sora"
"""Pattern of names of models that do not chat; upper and lower case are alike."""

_NO_CHAT = re.compile(NO_CHAT, re.IGNORECASE)
_EMBEDS = re.compile(r"embed|bge-|gte-|e5-|minilm|mpnet", re.IGNORECASE)
_NO_EMBEDDER = re.compile(r"rerank|whisper|image", re.IGNORECASE)
_STRONGEST = (
    r"qwen3-embedding",
    r"text-embedding-3-large",
    r"gemini-embedding",
    r"bge-m3",
    r"arctic-embed.*(?:v2|2)",
    r"multilingual-e5-large",
    r"embeddinggemma",
    r"mxbai-embed-large",
    r"bge-large",
    r"text-embedding-3-small",
    r"nomic-embed",
    r"mistral-embed",
    r"gte-large",
    r"bge-base",
    r"arctic-embed",
    r"bge-small",
    r"text-embedding-ada",
    r"mpnet",
    r"minilm",
)
"""Names of embedding models, the strongest first; one that is not named here comes last."""
_OLLAMA = 11434

LOCAL_SERVERS = (
    DiscoveredModelServer("Ollama", "ollama", f"http://localhost:{_OLLAMA}"),
    DiscoveredModelServer("LM Studio", "openai", "http://localhost:1234/v1"),
    DiscoveredModelServer("llama.cpp", "openai", "http://localhost:8080/v1"),
    DiscoveredModelServer("vLLM", "openai", "http://localhost:8000/v1"),
    DiscoveredModelServer("SGLang", "openai", "http://localhost:30000/v1"),
    DiscoveredModelServer("LiteLLM", "openai", "http://localhost:4000/v1"),
)
"""Addresses at which the usual servers listen on this machine."""

_HOSTED = {
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "mistral": "https://api.mistral.ai/v1",
    "azure": "https://{}.openai.azure.com/openai/v1",
    "bedrock": "https://bedrock-runtime.{}.amazonaws.com/openai/v1",
}
"""Addresses of hosted servers by the names that people know; {}: a resource or region."""
_RESOURCE = re.compile(r"[a-z0-9][a-z0-9-]*")


def expand_server_name(text: str) -> str:
    """Turn the name of a hosted server into its address; an address stays as it is.

    ``openrouter``, ``azure:RESOURCE``, ``bedrock:REGION``. SettingsError: the resource is missing.
    """
    name, _, resource = text.strip().lower().partition(":")
    address = _HOSTED.get(name)
    if address is None or resource.startswith("//"):
        return text
    if "{}" not in address:
        return address
    if not _RESOURCE.fullmatch(resource):
        raise SettingsError(
            f"{name} is at an address of its own.",
            hint=f"Name the resource or region too: {name}:NAME.",
        )
    return address.format(resource)


def find_model_servers(
    servers: Sequence[DiscoveredModelServer] = LOCAL_SERVERS, seconds: float = 2.0
) -> tuple[DiscoveredModelServer, ...]:
    """Ask the usual servers at once; return those that list models."""
    with ThreadPoolExecutor(len(servers) or 1) as threads:
        filled = list(threads.map(lambda server: _list_models(server, "", seconds), servers))
    return tuple(server for server in filled if server.models)


def _list_models(server: DiscoveredModelServer, key: str, seconds: float) -> DiscoveredModelServer:
    """Fill in a server's models: those that may chat, and those that embed."""
    names = _fetch_names(server, key, seconds)
    return replace(
        server,
        models=tuple(name for name in names if may_chat(name)),
        embedders=rank_embedders(names),
    )


def rank_embedders(names: Sequence[str]) -> tuple[str, ...]:
    """Choose the embedding models among some, the strongest first."""
    embedders = [name for name in names if _EMBEDS.search(name) and not _NO_EMBEDDER.search(name)]
    return tuple(sorted(embedders, key=_rank_embedder))


def _rank_embedder(name: str) -> int:
    folded = name.lower().replace("_", "-")
    return next(
        (rank for rank, pattern in enumerate(_STRONGEST) if re.search(pattern, folded)),
        len(_STRONGEST),
    )


def _fetch_names(server: DiscoveredModelServer, key: str, seconds: float) -> tuple[str, ...]:
    """Fetch the names of a server's models; empty without an answer in time."""
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
    return tuple(name for name in names if isinstance(name, str))


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

    ``url``: an address, or the name of a hosted server (``expand_server_name``).
    SettingsError: no address. ModelError: it lists no models.
    """
    from engrams.models.http_client import parse_address

    address = parse_address(expand_server_name(url))
    root = address.removesuffix("/v1").removesuffix("/api")
    parts = urlsplit(address)
    openai = DiscoveredModelServer(address, "openai", address)
    ollama = DiscoveredModelServer(address, "ollama", root)
    below = replace(openai, url=f"{address}/v1")
    candidates = (openai, below, ollama) if parts.path else (below, openai, ollama)
    # Ollama speaks OpenAI's protocol too, and then cuts prompts at its default context.
    for candidate in (ollama, *candidates) if parts.port == _OLLAMA else candidates:
        filled = _list_models(candidate, key, seconds)
        if filled.models:
            return filled
    raise ModelError(
        f"{address} lists no models.",
        hint="Check that it runs, its address (often …/v1) and its key.",
    )
