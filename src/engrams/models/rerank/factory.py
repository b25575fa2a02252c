"""Build a reranker from a choice."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, assert_never

from engrams.errors import SettingsError
from engrams.frozen_data import dataclass
from engrams.ports import ChatModel, Clock, Judge, Reranker


@dataclass(frozen=True, slots=True)
class RerankerChoice:
    """Choice of a reranker."""

    provider: Literal["none", "cross_encoder", "local", "http", "listwise", "judge"] = "none"
    model: str = ""
    """Folder or hub name (cross_encoder, local), or the server's name of the model (http)."""
    url: str = ""
    """Address of the rerank server."""
    key: str = field(default="", repr=False)
    """Key of the rerank server."""


def build_reranker(
    choice: RerankerChoice,
    clock: Clock,
    chat: ChatModel | None = None,
    judge: Judge | None = None,
) -> Reranker | None:
    """Build the chosen reranker, None for ``none``; calls nothing.

    SettingsError: something is missing or wrong.
    """
    match choice.provider:
        case "none":
            return None
        case "cross_encoder":
            from engrams.models.rerank.cross_encoder import CrossEncoderReranker

            if not choice.model:
                raise SettingsError(
                    "A cross-encoder needs a model.", hint="Name a folder, or a model on the hub."
                )
            return CrossEncoderReranker(choice.model)
        case "local":
            from engrams.models.rerank.cross_encoder import CrossEncoderReranker
            from engrams.models.rerank.local import DEFAULT_MODEL, LocalReranker

            return LocalReranker(CrossEncoderReranker(choice.model or DEFAULT_MODEL))
        case "http":
            from engrams.models.rerank.http import HttpReranker

            if not choice.url:
                raise SettingsError(
                    "A rerank server needs an address.", hint="Give it as https://host/v1."
                )
            return HttpReranker(choice.model, choice.url, clock, choice.key)
        case "listwise":
            from engrams.models.rerank.listwise import ListwiseReranker

            return ListwiseReranker(chat, clock)
        case "judge":
            from engrams.models.rerank.judged import JudgedReranker
            from engrams.models.rerank.listwise import ListwiseReranker

            if judge is None:
                raise SettingsError(
                    "There is no judge to rerank with.", hint="Set `judge.provider`."
                )
            return JudgedReranker(judge, ListwiseReranker(chat, clock) if chat else None)
        case _:
            assert_never(choice.provider)
