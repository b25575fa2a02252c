"""Composition of an engine from settings.

The only place that names a concrete store, model or file format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engrams import encryption
from engrams.core import Kind, Record
from engrams.core import clock as clocks
from engrams.engine import MemoryEngine
from engrams.engine.components import EngineDeps
from engrams.errors import NotFoundError, RefusedError, SettingsError
from engrams.fleet_composition import audit, feedback, keys, move_memory, safety, unlock
from engrams.models.chat import connection
from engrams.models.chat.factory import adopt_upstream, choose_chat, inject
from engrams.models.chat.upkeep_schedule import UpkeepSchedule
from engrams.models.embed.factory import choose_embedder, make_plain, require_embedder
from engrams.models.embed.null import NullEmbedder
from engrams.models.embed.preset_cosines import translate_preset
from engrams.models.rerank.factory import RerankerChoice, choose_reranker
from engrams.models.server_discovery import (
    find_connection_problem,
    find_model_server_at,
    find_model_servers,
)
from engrams.models.tokens.factory import choose_counter
from engrams.ports import (
    EMBED,
    EXTRACT,
    ChatModel,
    Clock,
    Embedder,
    HomeFileCleaner,
    JobSpec,
    PurgeOrder,
    SkillRecordSource,
    Store,
)
from engrams.settings import EncryptionSettings, Settings, change_settings, in_test_mode, load
from engrams.store.sqlite import SqliteStore
from engrams.store.sqlite.rescue import lost_memories
from engrams.store.store_factory import choose_store as store
from engrams.store.store_factory import (
    find_database,
    find_dump_problem,
    is_served,
    migrate_store,
    open_fleet_tables,
)
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.write.privacy_modes import require_incognito

if TYPE_CHECKING:
    from engrams.encryption.rekey import HomeEncryptionStatus, Report
    from engrams.logs import AuditLog, CrisisLog, CrisisLogRecord, FeedbackLog, FeedbackLogRecord
    from engrams.session.running_summary import ConversationSummariser
    from engrams.transfer.import_runs import ImportRun
    from engrams.transfer.uploads import FileUpload, FileUploadStore
    from engrams.transfer.webhook_registry import Webhook, WebhookEvent, WebhookRegistry
    from engrams.upkeep.fact_review import FactReviewer
    from engrams.upkeep.garden.rule_jobs import PlannedGardenStep, StatementConflict
    from engrams.upkeep.garden.state import GardenCycleReport
    from engrams.vault import Vault
    from engrams.vault.backup import BackupPaths, BackupResult
    from engrams.write.purge_plan import PurgeCandidate
    from engrams.write.source_changes import SourceChangeReport

__all__ = [
    "AuditLog",
    "ConversationSummariser",
    "CrisisLog",
    "CrisisLogRecord",
    "FactReviewer",
    "FeedbackLog",
    "FeedbackLogRecord",
    "FileUpload",
    "FileUploadStore",
    "GardenCycleReport",
    "HomeEncryptionStatus",
    "ImportRun",
    "PlannedGardenStep",
    "PurgeCandidate",
    "SourceChangeReport",
    "StatementConflict",
    "Webhook",
    "WebhookEvent",
    "adopt_upstream",
    "audit",
    "connection",
    "feedback",
    "find_connection_problem",
    "find_dump_problem",
    "find_model_server_at",
    "find_model_servers",
    "keys",
    "migrate_store",
    "move_memory",
    "safety",
    "translate_preset",
    "unlock",
]


def open(
    settings: Settings | None = None,
    *,
    clock: Clock = clocks.now,
    embedder: Embedder | None = None,
    chat: Any = None,
    background: bool = True,
    helped: bool = False,
    **arguments: Any,
) -> MemoryEngine:
    """Open an engine on ``settings``, or on what ``settings.load`` finds.

    ``arguments`` are the strongest layer, with ``__`` for a section: ``open(home="/tmp/m",
    read__limit=5)``. ``embedder`` and ``chat`` replace the configured models; ``chat`` may be a
    function from messages to text, or an ``openai.OpenAI`` client. ``background``: go on with the
    jobs that an earlier process left (False: workers start with the first write). ``helped``: this
    is a program of its own, which takes as many processes for a large import as there are cores,
    where ``jobs.processes`` is 0.

    Nothing is created on disk before the first write. Use as a context manager or call ``close()``.
    SettingsError: a setting is unknown or out of range. StoreError: the database is damaged beyond
    repair, or another program's. ExtraError: a setting asks for an optional part that is not
    installed.
    """
    if settings is None or arguments:
        given = {name.replace("__", "."): value for name, value in arguments.items()}
        settings = load(given).settings if settings is None else change_settings(settings, given)
    settings = adopt_upstream(in_test_mode(settings))
    if not settings.is_volatile and any(
        find_database(settings).parent.glob("engrams-restore-unfinished")
    ):
        from engrams.vault.backup import finish_restore

        finish_restore(_list_places(settings))
    kept = store(settings, clock)
    upkeep = UpkeepSchedule(
        settings.upkeep,
        clock,
        kept,
        None if settings.is_volatile else settings.home.expanduser() / "model.use",
        settings.quota,
    )
    model = (
        choose_chat(settings.chat, clock, kept, upkeep)
        if chat is None
        else inject(chat, settings.chat, clock, kept, upkeep)
    )
    embedder = _embedder(settings, embedder)
    judge = settings.rerank
    if settings.embed.cosine_model:
        settings = change_settings(
            settings, {one.name: one.used for one in translate_preset(settings, embedder.card)}
        )
    files = with_files(kept, settings, embedder, model, clock)
    engine = MemoryEngine(
        EngineDeps(
            settings=settings,
            store=files.parts.store if files else kept,
            embedder=embedder,
            chat=model,
            counter=choose_counter(settings.read.tokenizer, clock),
            clock=clock,
            upkeep=upkeep,
            reranker=choose_reranker(
                RerankerChoice(judge.provider, judge.model, judge.url, judge.api_key), clock, model
            ),
            handlers=files.handlers if files else {},
            skills=_skills(settings, embedder, clock),
            files=files,
            home=_home(settings, files, kept, clock),
            plain=make_plain() if settings.write.changes.enabled else None,
            helpers=HelperProcesses(settings.jobs.processes or (0 if helped else 1)),
        )
    )
    if files is not None:
        files.start(engine.work)
    if background:
        engine.work.resume()
    return engine


def _embedder(settings: Settings, given: Embedder | None) -> Embedder:
    """Return the given embedder, else the configured one.

    Incognito takes only what says that it keeps nothing: it does without a configured one that does
    not, and refuses one that was given.
    """
    if given is not None:
        require_embedder(given)
    if not settings.incognito:
        return given or choose_embedder(settings.embed)
    if settings.embed.incognito == "null":
        return NullEmbedder()
    if given is not None:
        require_incognito(given)
        return given
    try:
        require_incognito(found := choose_embedder(settings.embed))
    except RefusedError:
        return NullEmbedder()
    return found


def with_files(
    plain: Store, settings: Settings, embedder: Embedder, chat: ChatModel | None, clock: Clock
) -> Vault | None:
    """Wrap the store by a vault of files, where one is configured."""
    if not settings.vault.enabled or not settings.enabled or settings.is_volatile:
        return None
    from engrams.session.turn_ingest import TurnIngester
    from engrams.vault import Vault, VaultEditCallbacks, VaultStore
    from engrams.vault import VaultDeps as VaultParts
    from engrams.write import source_changes
    from engrams.write.edit_cascade import cascade_changes

    def follow(records: Sequence[Record]) -> tuple[JobSpec, ...]:
        """Build the extraction jobs for texts that were written into files."""
        new = [
            record
            for record in records
            if record.kind in (Kind.NOTE, Kind.TURN) and settings.write.extract != "off"
        ]
        return tuple(
            JobSpec(
                EXTRACT, f"{one.scope.key}|{one.id}", {"scope": one.scope.key, "items": [one.id]}
            )
            for one in new
        )

    mirror = VaultStore(plain)
    card = embedder.card
    place = _places(settings).database
    words = settings.write.min_words
    embed = JobSpec(EMBED, card.id) if card.dimension and not card.inline else None
    rules = VaultEditCallbacks(
        prepare=TurnIngester(mirror, embedder, clock, settings).prepare_edit,
        find_jobs=follow,
        find_ripples=lambda record, values: cascade_changes(record, values, mirror, clock(), words),
        forget=lambda records, cause: source_changes.forget_records(records, mirror, cause, words),
        embed=embed,
        lease=settings.jobs.lease_seconds,
        database=place,
    )
    vault = Vault(
        VaultParts.open(mirror, plain, settings.home.expanduser(), settings.vault, clock, rules),
        chat,
    )
    mirror.vault = vault
    return vault


def _skills(settings: Settings, embedder: Embedder, clock: Clock) -> SkillRecordSource | None:
    """The skills of the configured folder, read on first search."""
    if not settings.skills.folder or not settings.enabled:
        return None
    from engrams.vault.files.skills import SkillFolder as Folder

    folder = Path(settings.skills.folder).expanduser().absolute()
    return Folder(
        folder, lambda: SqliteStore.open(":memory:", settings.store, clock), embedder, clock
    )


def vault(engine: MemoryEngine) -> Vault:
    """Return the vault of an engine. SettingsError: it is off."""
    from engrams.vault import Vault

    found = engine.vault
    if not isinstance(found, Vault):
        raise SettingsError(
            "The vault is off.",
            hint="Turn it on: `vault.enabled = true` in config.toml, or --set vault.enabled=true.",
        )
    return found


def uploads(engine: MemoryEngine) -> FileUploadStore:
    """Open the file uploads of an engine, with their own worker.

    RefusedError: they would leave a trace on disk.
    """
    from engrams.transfer.upload_folder import UploadFolder
    from engrams.transfer.uploads import FileUploadStore

    if engine.settings.incognito:
        raise RefusedError(
            "Files would leave a trace on disk.",
            hint="Turn `incognito` off, or add memories one by one.",
        )
    tables = (
        None if engine.settings.is_volatile else open_fleet_tables(engine.settings, engine.store)
    )
    storage = (
        UploadFolder(engine.settings.home.expanduser() / "uploads")
        if tables is None
        else tables.uploads
    )
    return FileUploadStore(
        engine.store, engine.imports.load, storage, engine.now, engine.settings.jobs
    )


def webhooks(engine: MemoryEngine) -> WebhookRegistry:
    """Open the registry of the web hooks of an engine's owners."""
    from engrams.transfer.webhook_registry import WebhookRegistry

    return WebhookRegistry(engine.store, engine.now)


def backup(engine: MemoryEngine, target: Path, passphrase: str = "") -> BackupResult:
    """Back up memory and its files into one file."""
    from engrams.vault.backup import backup as write

    return (
        write(_places(engine.settings), target, passphrase)
        if engine.vault is None
        else vault(engine).backup(target, passphrase)
    )


def recover(settings: Settings, source: Path, passphrase: str = "") -> int:
    """Restore a backup into a fresh home; return its number of files."""
    from engrams.vault.backup import restore

    places = _places(settings)
    count = restore(source, places, passphrase)
    if settings.encryption.enabled and encryption.find_keys(places.database.parent) is None:
        encrypt(settings)
    return count


def encryption_status(settings: Settings) -> HomeEncryptionStatus:
    """Encryption of the home, file by file; needs no key."""
    from engrams.encryption.rekey import read_status

    return read_status(_own_home(settings), _places(settings).vault)


def encrypt(settings: Settings, *, passphrase: str = "", report: Report = lambda *_: None) -> int:
    """Encrypt the home, or finish a change; number of files written.

    Works while other processes use the home: they wait, and go on with the key. ``passphrase``:
    where the key comes from one. ExtraError: the driver with ciphers is missing. EncryptionError:
    no key. StoreError: the home is in use for long, or damaged.
    """
    from engrams.encryption.rekey import encrypt_home

    return encrypt_home(_own_home(settings), settings.encryption, passphrase, report)


def rekey(
    settings: Settings,
    fresh: EncryptionSettings,
    *,
    passphrase: str = "",
    report: Report = lambda *_: None,
) -> int:
    """Encrypt the home anew; number of files written.

    ``fresh``: where the new key comes from.
    """
    from engrams.encryption.rekey import rekey_home

    return rekey_home(_own_home(settings), settings.encryption, fresh, passphrase, report)


def decrypt(settings: Settings, *, report: Report = lambda *_: None) -> int:
    """Decrypt the home; number of files written."""
    from engrams.encryption.rekey import decrypt_home

    return decrypt_home(_own_home(settings), settings.encryption, report)


def _own_home(settings: Settings) -> Path:
    """Return the home folder; refuse where parts lie elsewhere."""
    home = settings.home.expanduser().absolute()
    if not home.is_dir():
        raise NotFoundError(
            f"{home} holds no memory yet.",
            hint="A new home is encrypted from the start with `encryption.enabled = true`.",
        )
    if _places(settings).database.expanduser().absolute().parent != home:
        raise SettingsError(
            "Only a database in the home folder can be encrypted.", hint="Leave `store.url` empty."
        )
    return home


def rescue(settings: Settings, clock: Clock = clocks.now) -> str:
    """Replace an unreadable database by a backup or the vault's files.

    Returns a note. Backups are looked for in the home folder. The damaged file is kept. StoreError:
    there is nothing to bring back.
    """
    from engrams.vault.database_rescue import rescue as bring_back

    places = _places(settings)

    def read_files() -> int:
        with open(settings, clock=clock) as engine:
            vault(engine).sync()
            return sum(engine.stats()["status"].values())

    note, complete = bring_back(places, f"corrupt-{clock():%Y%m%dT%H%M%S%fZ}", read_files)
    lost_memories.remember(places.database, places.database.name, "" if complete else note)
    return note


def is_backup(path: Path) -> bool:
    """True for a file that begins as a backup does."""
    from engrams.vault.backup import is_backup as begins

    return begins(path)


def reindex(settings: Settings, *, files: bool = False) -> dict[str, int]:
    """Rebuild the database from the files.

    ``files``: the files anew from the database.
    """
    places = _places(settings)
    with open(settings) as engine:
        before: Vault = vault(engine)
        if files:
            before.rewrite()
        else:
            before.sync()
        if files:
            return {
                "files": before.parts.state.count(),
                "problems": len(before.parts.state.problems()),
            }
    for path in places.database.parent.glob(f"{places.database.name}*"):
        if path.name.removeprefix(places.database.name) in ("", "-wal", "-shm"):
            path.replace(
                path.with_name(
                    path.name.replace(places.database.name, f"{places.database.name}.old", 1)
                )
            )
    with open(settings) as engine:
        after = vault(engine)
        after.sync()
        number = sum(engine.stats()["status"].values())
        return {
            "memories": number,
            "files": after.parts.state.count(),
            "problems": len(after.parts.state.problems()),
        }


def _home(
    settings: Settings, files: Vault | None, kept: Store, clock: Clock
) -> Callable[[], HomeFileCleaner] | None:
    """Build the cleaner of files beside the store; None without files."""
    if settings.is_volatile:
        return None

    def purge_in_copy(path: Path, order: PurgeOrder) -> None:
        from engrams.store.sqlite.rescue.damaged_file_purge import purge_copy

        purge_copy(path, settings.store, clock, lambda held: _purge_again(held, None, order, clock))

    def purge_in_backup(path: Path, order: PurgeOrder) -> None:
        from engrams.vault.backup import replace_backup

        def purge(places: BackupPaths) -> None:
            home = places.database.parent
            there = change_settings(
                settings,
                {
                    "home": home,
                    "store.url": "",
                    "vault.path": "",
                    "vault.remote": "",
                    "vault.watch": "off",
                },
            )
            there = change_settings(there, {"vault.enabled": places.vault.exists()})
            held = store(there, clock)
            beside = with_files(held, there, NullEmbedder(), None, clock)
            with closing(beside.parts.store if beside else held) as whole:
                _purge_again(whole, _home(there, beside, held, clock), order, clock)

        replace_backup(path, purge)

    def make() -> HomeFileCleaner:
        from engrams.vault.purge.home_purge import HomeFilePurger, HomePurgeDeps
        from engrams.vault.purge.upload_purge import UploadPurger

        home = HomeFilePurger(
            HomePurgeDeps(
                home=settings.home.expanduser(),
                places=_list_places(settings),
                vault=files,
                purge_copy=purge_in_copy,
                purge_backup=purge_in_backup,
            )
        )
        tables = open_fleet_tables(settings, kept)
        return home if tables is None else UploadPurger(home, tables.uploads)

    return make


def _purge_again(
    held: Store, home: Callable[[], HomeFileCleaner] | None, order: PurgeOrder, clock: Clock
) -> None:
    """Repeat a purge in a copy of the store."""
    from engrams.upkeep.memory_purge import MemoryPurger, PurgeDeps

    MemoryPurger(
        PurgeDeps(
            store=held, embedder=NullEmbedder(), clock=clock, drop_cached=lambda *_: None, home=home
        )
    ).execute(order)


def _places(settings: Settings) -> BackupPaths:
    if settings.store.url == ":memory:" or is_served(settings):
        raise SettingsError(
            "Only a memory in a file of its own can do this.", hint="Use the database's own tools."
        )
    return _list_places(settings)


def _list_places(settings: Settings) -> BackupPaths:
    from engrams.vault.backup import BackupPaths
    from engrams.vault.dependencies import vault_folder

    home = settings.home.expanduser()
    return BackupPaths(
        find_database(settings), vault_folder(settings.vault, home), home / "vault.db"
    )
