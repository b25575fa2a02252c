"""Settings to a working engine: the only place that names a concrete store, model or file format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engrams import clock as clocks
from engrams.errors import SettingsError
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

if TYPE_CHECKING:
    from engrams.vault import Vault
    from engrams.vault.backup import Backed, Places


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
    rules = Rules(Journal(mirror, embedder, clock, settings).prepared, follow, embed, settings.jobs.lease, _places(settings).database)
    vault = Vault(VaultParts.of(mirror, plain, settings.home.expanduser(), settings.vault, clock, rules), chat)
    mirror.vault = vault
    few = settings.jobs.model_copy(update={"workers": min(2, settings.jobs.workers)})
    vault.start(Runner(mirror, vault.handlers, clock, few))
    return mirror


def vault(engine: MemoryEngine) -> Vault:
    """The vault beside an engine's store. SettingsError: it is off."""
    found = getattr(engine.store, "vault", None)
    if found is None:
        raise SettingsError("The vault is off.", hint="Turn it on: `vault.on = true` in config.toml, or --set vault.on=true.")
    kept: Vault = found
    return kept


def backup(engine: MemoryEngine, target: Path, passphrase: str = "") -> Backed:
    """Memory, and its files where there are some, in one file."""
    from engrams.vault.backup import backup as write

    found: Vault | None = getattr(engine.store, "vault", None)
    return write(_places(engine.settings), target, passphrase) if found is None else found.backup(target, passphrase)


def recover(settings: Settings, source: Path, passphrase: str = "") -> int:
    """A backup into a fresh home; how many files it held."""
    from engrams.vault.backup import restore

    return restore(source, _places(settings), passphrase)


def reindex(settings: Settings, *, files: bool = False) -> dict[str, int]:
    """The database anew from the files; the old one stays beside it. ``files``: the files anew from the database."""

    places = _places(settings)
    with open(settings) as engine:
        before: Vault = vault(engine)
        if files:
            before.rewrite()
            return {"files": before.parts.state.count(), "problems": len(before.parts.state.problems())}
        before.sync()
    for path in places.database.parent.glob(f"{places.database.name}*"):
        if path.name.removeprefix(places.database.name) in ("", "-wal", "-shm"):
            path.replace(path.with_name(path.name.replace(places.database.name, f"{places.database.name}.old", 1)))
    with open(settings) as engine:
        after = vault(engine)
        after.sync()
        status = engine.stats()["status"]
        return {"memories": sum(status.values()), "files": after.parts.state.count(), "problems": len(after.parts.state.problems())}


def _places(settings: Settings) -> Places:
    from engrams.vault.backup import Places
    from engrams.vault.parts import root_of

    home, url = settings.home.expanduser(), settings.store.url
    if url == ":memory:" or "://" in url:
        raise SettingsError("Only a memory in a file of its own can do this.", hint="Use the database's own tools.")
    return Places(Path(url) if url else home / "memory.db", root_of(settings.vault, home), home / "vault.db")


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
