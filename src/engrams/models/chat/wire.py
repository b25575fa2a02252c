"""Parts of the wire protocols that most chat servers share."""

from __future__ import annotations

from collections.abc import Mapping

from engrams.core import Json
from engrams.models.chat.port import ChatServerRequest
from engrams.ports import ChatMessage

PROBE = ChatServerRequest((ChatMessage("user", "Answer with the word ok."),), 0.0, max_tokens=8)
"""Request that measures a model."""
_CONTEXT_NAMES = frozenset(
    (
        "max_model_len",
        "context_length",
        "max_context_length",
        "n_ctx",
        "n_ctx_train",
        "context_window",
    )
)
"""Names under which servers tell the size of a model's context."""


def to_messages(request: ChatServerRequest) -> list[dict[str, str]]:
    """Convert messages to JSON, without lone surrogates, which cannot be sent.

    For a server without a system role these words stand before the user's, and the roles alternate,
    as the templates of such models demand.
    """
    messages = [
        {
            "role": message.role,
            "content": message.content.encode("utf-8", "replace").decode("utf-8"),
        }
        for message in request.messages
    ]
    return messages if request.form.system else _merge_roles(messages)


def _merge_roles(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """Turn system messages into a user's, and neighbours of one role into one message."""
    merged: list[dict[str, str]] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += f"\n\n{message['content']}"
        else:
            merged.append({"role": role, "content": message["content"]})
    return merged


def join_server_version(headers: Mapping[str, str], body: Json) -> str:
    """Return what a server tells of its version. ``headers``: names in lower case."""
    fingerprint = body.get("system_fingerprint") if isinstance(body, Mapping) else None
    version_parts = (headers.get("server"), headers.get("openai-version"), fingerprint)
    return " ".join(text for text in version_parts if isinstance(text, str) and text)[:200]


def find_context_tokens(facts: Json) -> int:
    """Find the size of the context in whatever a server tells about a model; 0: it is not told."""
    if isinstance(facts, Mapping):
        for name, value in facts.items():
            # Ollama puts the architecture before the name: "llama.context_length".
            if name.rpartition(".")[2] in _CONTEXT_NAMES and isinstance(value, int):
                return value
        return max(map(find_context_tokens, facts.values()), default=0)
    if isinstance(facts, list):
        return max(map(find_context_tokens, facts), default=0)
    return 0
