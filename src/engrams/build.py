"""Settings to a working engine: the only place that names a concrete store, model or file format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engrams import clock as clocks
from engrams.memory import MemoryEngine, Parts
from engrams.models.chat.choose import choose as choose_chat
from engrams.models.chat.choose import inject
from engrams.models.embed.choose import choose as choose_embedder
from engrams.models.rerank.choose import Choice
from engrams.models.rerank.choose import choose as choose_reranker
from engrams.models.tokens.choose import choose as choose_counter
from engrams.ports import EMBED, EXTRACT, Chat, Clock, Embedder, JobSpec, Store
from engrams.settings import Settings, StoreSettings, load
from engrams.store.sqlite import SqliteStore
from engrams.tend.runner import Runner
from engrams.types import Kind, Record


def open(
    settings: Settings | None = None,
    *,
    clock: Clock = clocks.now,
    embedder: Embedder | None = None,
    chat: Any = None,
    **arguments: Any,
) -> MemoryEngine:
    """An engine on ``settings``, or on what ``settings.load`` finds; ``arguments`` are the strongest layer, with ``__``
    for a section: ``open(home="/tmp/m", read__limit=5)``. ``embedder`` and ``chat`` replace the configured models; ``chat`` may be a
    function from messages to text, or an ``openai.OpenAI`` client.

    Nothing is created on disk before the first write. Use as a context manager or call ``close()``.
    """
    if settings is None or arguments:
        given = {name.replace("__", "."): value for name, value in arguments.items()}
        settings = load(given).settings if settings is None else _changed(settings, given)
    model = choose_chat(settings.chat, clock) if chat is None else inject(chat, settings.chat, clock)
    embedder = embedder or choose_embedder(settings.embed)
    judge = settings.rerank
    choice = Choice(judge.provider, judge.model, judge.url, judge.api_key)
    return MemoryEngine(
        Parts(
            settings=settings,
            store=with_files(store(settings, clock), settings, embedder, model, clock),
            embedder=embedder,
            chat=model,
            counter=choose_counter(settings.read.tokens, clock),
            clock=clock,
            reranker=choose_reranker(choice, clock, model),
        )
    )


def store(settings: Settings, clock: Clock) -> Store:
    """The configured store. Incognito: in this process's memory only."""
    section: StoreSettings = settings.store
    if settings.incognito or section.url == ":memory:":
        return SqliteStore.open(":memory:", section, clock)
    path = Path(section.url) if section.url else settings.home.expanduser() / "memory.db"
    return SqliteStore.open(path, section, clock)


def with_files(plain: Store, settings: Settings, embedder: Embedder, chat: Chat | None, clock: Clock) -> Store:
    """The store with the vault beside it, where one is on and memory is on disk."""
    if not settings.vault.on or not settings.enabled or settings.incognito or settings.store.url == ":memory:":
        return plain
    from engrams.session.journal import Journal
    from engrams.vault import Mirror, Rules, Vault
    from engrams.vault import Parts as VaultParts

    def follow(records: Sequence[Record]) -> tuple[JobSpec, ...]:
        """What a text that somebody wrote into a file calls for: learning from it."""
        new = [record for record in records if record.kind in (Kind.NOTE, Kind.TURN) and settings.write.extract != "off"]
        return tuple(JobSpec(EXTRACT, f"{one.scope.key}|{one.id}", {"scope": one.scope.key, "items": [one.id]}) for one in new)

    mirror, card = Mirror(plain), embedder.card
    embed = JobSpec(EMBED, card.id) if card.dimension and not card.inline else None
    rules = Rules(Journal(mirror, embedder, clock, settings).prepared, follow, embed, settings.jobs.lease)
    vault = Vault(VaultParts.of(mirror, plain, settings.home.expanduser(), settings.vault, clock, rules), chat)
    mirror.vault = vault
    few = settings.jobs.model_copy(update={"workers": min(2, settings.jobs.workers)})
    vault.start(Runner(mirror, vault.handlers, clock, few))
    return mirror


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
