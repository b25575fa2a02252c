"""Settings to a working engine: the only place that names a concrete store, model or file format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engrams import clock as clocks
from engrams.memory import MemoryEngine, Parts
from engrams.models.chat.choose import choose as choose_chat
from engrams.models.embed.choose import choose as choose_embedder
from engrams.models.rerank.choose import Choice
from engrams.models.rerank.choose import choose as choose_reranker
from engrams.models.tokens.choose import choose as choose_counter
from engrams.ports import Chat, Clock, Embedder, Store
from engrams.settings import Settings, StoreSettings, load
from engrams.store.sqlite import SqliteStore


def open(  # noqa: A001 - engrams.open is the name people look for
    settings: Settings | None = None,
    *,
    clock: Clock = clocks.now,
    embedder: Embedder | None = None,
    chat: Chat | None = None,
    **arguments: Any,
) -> MemoryEngine:
    """An engine on ``settings``, or on what ``settings.load`` finds; ``arguments`` are the strongest layer, with ``__``
    for a section: ``open(home="/tmp/m", read__limit=5)``. ``embedder`` and ``chat`` replace the configured models.

    Nothing is created on disk before the first write. Use as a context manager or call ``close()``.
    """
    if settings is None or arguments:
        given = {name.replace("__", "."): value for name, value in arguments.items()}
        settings = load(given).settings if settings is None else _changed(settings, given)
    chat = chat or choose_chat(settings.chat, clock)
    judge = settings.rerank
    choice = Choice(judge.provider, judge.model, judge.url, judge.api_key)
    return MemoryEngine(
        Parts(
            settings=settings,
            store=store(settings, clock),
            embedder=embedder or choose_embedder(settings.embed),
            chat=chat,
            counter=choose_counter(settings.read.tokens, clock),
            clock=clock,
            reranker=choose_reranker(choice, clock, chat),
        )
    )


def store(settings: Settings, clock: Clock) -> Store:
    """The configured store. Incognito: in this process's memory only."""
    section: StoreSettings = settings.store
    if settings.incognito or section.url == ":memory:":
        return SqliteStore.open(":memory:", section, clock)
    path = Path(section.url) if section.url else settings.home.expanduser() / "memory.db"
    return SqliteStore.open(path, section, clock)


def _changed(settings: Settings, given: dict[str, Any]) -> Settings:
    """The settings with some values replaced, checked again."""
    tree = settings.model_dump()
    for name, value in given.items():
        *sections, last = name.split(".")
        node = tree
        for section in sections:
            node = node[section]
        node[last] = value
    return Settings.model_validate(tree)
