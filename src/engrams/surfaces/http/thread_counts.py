"""Counts of threads that work on requests."""

from __future__ import annotations

import os

from engrams.settings import Settings

_WAITING_WORKERS = 40
"""Threads where requests wait for a model's server most of their time."""


def count_workers(settings: Settings) -> int:
    """Return how many requests are worked on at once; others wait.

    Few more than there are cores, so that they do not keep the event loop waiting for the
    interpreter; more where they wait for a model.
    """
    if waits_for_model(settings) or settings.chat.provider != "none":
        return _WAITING_WORKERS
    return 2 + (os.cpu_count() or 1)


def count_searches(processes: int) -> int:
    """Return how many searches one of ``processes`` runs at once.

    As many as it has cores: two that share one only take the interpreter from each other, and both
    end later.
    """
    return max(1, (os.cpu_count() or 1) // processes)


def waits_for_model(settings: Settings) -> bool:
    """Return True where a search waits for an embedder or reranker elsewhere."""
    waits_for_embedder = settings.embed.provider in ("openai", "ollama")
    waits_for_reranker = settings.rerank.provider in ("http", "listwise")
    return waits_for_embedder or waits_for_reranker
