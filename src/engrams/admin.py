"""Administration of a home or a fleet, apart from remembering and searching.

Backups, encryption, rescue and moves work on settings, while no engine need be open. Keys, the logs,
uploads and web hooks are opened for a server or a command, on files of the home or on the tables of
a fleet's database. Like ``engrams.composition``, this module may name concrete stores and files.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from engrams import encryption
from engrams.api_keys import ApiKeyFiles, ApiKeyStore
from engrams.composition import find_attachments, require_home_paths
from engrams.composition import open as open_engine
from engrams.core import Json
from engrams.core import clock as clocks
from engrams.encryption.file_ledger import FileLedger
from engrams.encryption.rekey import (
    HomeEncryptionStatus,
    Report,
    decrypt_home,
    encrypt_home,
    read_status,
    rekey_home,
)
from engrams.encryption.seal_keys import KEY_NAME
from engrams.engine import MemoryEngine
from engrams.errors import NotFoundError, RefusedError, SettingsError, StoreError
from engrams.logs import (
    AuditEventFiles,
    AuditLog,
    CrisisLog,
    FeedbackLog,
    open_event_files,
    open_log_file,
)
from engrams.ports import (
    ApiKeyTable,
    AuditEventTable,
    Clock,
    SessionLogName,
    SessionLogTable,
    Store,
    UploadStorage,
)
from engrams.settings import EncryptionSettings, Settings
from engrams.settings.preset_files import flatten, read_toml
from engrams.store import store_factory
from engrams.store.move.attachment_copy import copy_attachments
from engrams.store.move.fleet_table_copy import copy_events, copy_keys
from engrams.store.move.session_log_copy import copy_session_logs
from engrams.store.sqlite.rescue import name_damaged, remember_loss
from engrams.store.store_address import find_database, is_served
from engrams.store.store_factory import find_dump_problem, migrate_store
from engrams.transfer.webhooks.registry import WebhookRegistry

if TYPE_CHECKING:
    from engrams.backup.home_backup import BackupResult
    from engrams.transfer.uploads.file_uploads import FileUploadStore
    from engrams.vault import Vault

__all__ = [
    "AuditLog",
    "CrisisLog",
    "FeedbackLog",
    "backup",
    "decrypt",
    "encrypt",
    "find_dump_problem",
    "find_file_problems",
    "get_vault",
    "is_backup",
    "load_key",
    "migrate_store",
    "move_memory",
    "open_audit_log",
    "open_feedback_log",
    "open_keys",
    "open_safety_log",
    "open_uploads",
    "open_webhooks",
    "read_encryption_status",
    "recover",
    "reindex",
    "rekey",
    "rescue",
]

_GUARDS = ("store", "serve", "write", "quota", "limits", "audit", "encryption", "safety", "user")
"""Tables of ``config.toml`` whose settings guard memory."""


# --------------------------------------------------------------------------------------------------
# keys and logs: files of a home, or tables of a fleet


def open_keys(settings: Settings, store: Store | None = None) -> ApiKeyStore:
    """Open the keys of the API; the caller closes them.

    ``store``: an open one, whose connections are used. StoreError: the database cannot be reached,
    or has another schema.
    """
    return ApiKeyStore(_open_key_table(settings, store))


def open_audit_log(
    settings: Settings, clock: Clock = clocks.now, store: Store | None = None
) -> AuditLog:
    """Open the audit log: who did what, without texts.

    The caller closes it. ``store`` and StoreError: as for ``open_keys``.
    """
    return AuditLog(_open_event_table(settings, store), clock, settings.audit.days)


def open_safety_log(
    settings: Settings, clock: Clock = clocks.now, store: Store | None = None
) -> CrisisLog:
    """Open the log of detected crises.

    The caller closes it. ``store`` and StoreError: as for ``open_keys``.
    """
    return CrisisLog(_open_log_table("safety", settings, store), clock, settings.safety.days)


def open_feedback_log(
    settings: Settings, clock: Clock = clocks.now, store: Store | None = None
) -> FeedbackLog:
    """Open the log of people's feedback on sessions.

    The caller closes it. ``store`` and StoreError: as for ``open_keys``.
    """
    return FeedbackLog(_open_log_table("feedback", settings, store), clock, settings.feedback.days)


def find_file_problems(settings: Settings) -> dict[str, list[str]]:
    """Name what another program changed or took away beside memory, by ``keys``, ``audit``, ``settings``.

    Only for a home of files: the tables of a fleet have no such seals. The first call notes the
    settings that guard memory; a later one names those that differ.
    """
    if settings.is_volatile or is_served(settings):
        return {}
    load_key(settings)
    ledger = _open_ledger(settings)
    try:
        ledger.read()
    except StoreError as problem:
        return {"files": [problem.message]}
    problems: dict[str, list[str]] = {}
    with closing(open_keys(settings)) as keys:
        problems["keys"] = [*keys.find_problems()]
    events = open_event_files(settings)
    if isinstance(events, AuditEventFiles) and (problem_of_log := events.find_break()):
        problems["audit"] = [f"The audit log: {problem_of_log}."]
    if changed := ledger.find_changed_guards(read_guards(settings)):
        problems["settings"] = [f"config.toml was changed: {', '.join(changed)}."]
    return {name: texts for name, texts in problems.items() if texts}


def trust_files(settings: Settings) -> None:
    """Trust keys, the audit log and the settings of a home as they are."""
    if not settings.is_volatile and not is_served(settings):
        _open_ledger(settings).trust(read_guards(settings))


def read_guards(settings: Settings) -> dict[str, Json]:
    """Read the settings of ``config.toml`` that guard memory; empty: there is no such file."""
    file = settings.home.expanduser() / "config.toml"
    values = flatten(read_toml(file)) if file.is_file() else {}
    return {name: value for name, value in values.items() if name.split(".")[0] in _GUARDS}


def _open_ledger(settings: Settings) -> FileLedger:
    home = settings.home.expanduser()
    seal_key = settings.store.seal_key
    return FileLedger(home, Path(seal_key).expanduser() if seal_key else home / KEY_NAME)


def _open_key_table(settings: Settings, store: Store | None = None) -> ApiKeyTable:
    tables = store_factory.open_fleet_tables(settings, store)
    if tables is not None:
        return tables.keys
    seal_key = settings.store.seal_key
    return ApiKeyFiles(
        settings.home.expanduser() / "keys", Path(seal_key).expanduser() if seal_key else None
    )


def _open_event_table(settings: Settings, store: Store | None = None) -> AuditEventTable:
    load_key(settings)
    tables = None if settings.is_volatile else store_factory.open_fleet_tables(settings, store)
    return open_event_files(settings) if tables is None else tables.events


def _open_log_table(
    name: SessionLogName, settings: Settings, store: Store | None = None
) -> SessionLogTable | None:
    load_key(settings)
    tables = None if settings.is_volatile else store_factory.open_fleet_tables(settings, store)
    return open_log_file(name, settings) if tables is None else tables.logs[name]


# --------------------------------------------------------------------------------------------------
# parts of an open engine that its users administer


def get_vault(engine: MemoryEngine) -> Vault:
    """Return the vault of an engine. SettingsError: it is off."""
    from engrams.vault import Vault

    if not isinstance(engine.vault, Vault):
        raise SettingsError(
            "The vault is off.",
            hint="Turn it on: `vault.enabled = true` in config.toml, or --set vault.enabled=true.",
        )
    return engine.vault


def open_uploads(engine: MemoryEngine) -> FileUploadStore:
    """Open the file uploads of an engine, with their own worker.

    RefusedError: they would leave a trace on disk.
    """
    from engrams.transfer.uploads.file_uploads import FileUploadStore
    from engrams.transfer.uploads.folder import UploadFolder

    settings = engine.settings
    if settings.incognito:
        raise RefusedError(
            "Files would leave a trace on disk.",
            hint="Turn `incognito` off, or add memories one by one.",
        )
    tables = (
        None if settings.is_volatile else store_factory.open_fleet_tables(settings, engine.store)
    )
    storage: UploadStorage
    if tables is None:
        storage = UploadFolder(settings.home.expanduser() / "uploads")
    else:
        storage = tables.uploads
    return FileUploadStore(engine.store, engine.imports.load, storage, engine.now, settings.jobs)


def open_webhooks(engine: MemoryEngine) -> WebhookRegistry:
    """Open the registry of the web hooks of an engine's owners."""
    return WebhookRegistry(engine.store, engine.now)


# --------------------------------------------------------------------------------------------------
# backups and rebuilding


def backup(engine: MemoryEngine, target: Path, passphrase: str = "") -> BackupResult:
    """Back up memory and its files into one file."""
    if engine.vault is not None:
        # The vault holds its lock meanwhile, so that database and files agree.
        return get_vault(engine).backup(target, passphrase)
    from engrams.backup.home_backup import back_up

    return back_up(require_home_paths(engine.settings), target, passphrase)


def is_backup(path: Path) -> bool:
    """Return True for a file that begins as a backup does."""
    from engrams.backup import home_backup

    return home_backup.is_backup(path)


def recover(settings: Settings, source: Path, passphrase: str = "") -> int:
    """Restore a backup into a fresh home; return its number of files."""
    from engrams.backup.home_backup import restore

    paths = require_home_paths(settings)
    count = restore(source, paths, passphrase)
    if settings.encryption.enabled and encryption.find_keys(paths.database.parent) is None:
        encrypt(settings)
    return count


def rescue(settings: Settings, clock: Clock = clocks.now) -> str:
    """Replace an unreadable database by a backup or by the vault's files; return a note.

    Backups are looked for in the home folder. The damaged file is kept. StoreError: there is
    nothing to bring back.
    """
    from engrams.backup import database_rescue

    paths = require_home_paths(settings)

    def read_files() -> int:
        with open_engine(settings, clock=clock) as engine:
            get_vault(engine).sync()
            return _count_memories(engine)

    suffix = name_damaged(clock)
    note, is_complete = database_rescue.rescue(paths, suffix, read_files)
    remember_loss(paths.database, paths.database.name, "" if is_complete else note)
    return note


def reindex(settings: Settings, *, files: bool = False) -> dict[str, int]:
    """Rebuild the database from the files, and keep the old one beside it; return counts.

    ``files``: rewrite every file from the database instead.
    """
    database = require_home_paths(settings).database
    with open_engine(settings) as engine:
        vault = get_vault(engine)
        if files:
            vault.rewrite()
            return _count_files(vault)
        # What people wrote into files since then must be in the database that is kept, too.
        vault.sync()
    for suffix in ("", "-wal", "-shm"):
        path = database.with_name(f"{database.name}{suffix}")
        if path.exists():
            path.replace(database.with_name(f"{database.name}.old{suffix}"))
    with open_engine(settings) as engine:
        vault = get_vault(engine)
        vault.sync()
        return {"memories": _count_memories(engine), **_count_files(vault)}


def _count_memories(engine: MemoryEngine) -> int:
    return sum(engine.stats()["status"].values())


def _count_files(vault: Vault) -> dict[str, int]:
    state = vault.deps.state
    return {"files": state.count(), "problems": len(state.problems())}


# --------------------------------------------------------------------------------------------------
# encryption of a home


def load_key(settings: Settings) -> None:
    """Load the home's encryption key, where it has one.

    EncryptionError: it is missing or wrong.
    """
    if not settings.is_volatile:
        encryption.unlock_home(settings.home, settings.encryption, find_database(settings))


def read_encryption_status(settings: Settings) -> HomeEncryptionStatus:
    """Read which files of the home are encrypted, and where its key comes from; needs no key."""
    return read_status(_require_home(settings), require_home_paths(settings).vault)


def encrypt(settings: Settings, *, passphrase: str = "", report: Report = lambda *_: None) -> int:
    """Encrypt the home, or finish a change that was cut short; return the number of files written.

    Works while other processes use the home: they wait, and go on with the key. ``passphrase``:
    where the key comes from one. ExtraError: the driver with ciphers is missing. EncryptionError:
    no key. StoreError: the home is in use for long, or damaged.
    """
    return encrypt_home(_require_home(settings), settings.encryption, passphrase, report)


def rekey(
    settings: Settings,
    new_encryption: EncryptionSettings,
    *,
    passphrase: str = "",
    report: Report = lambda *_: None,
) -> int:
    """Encrypt the home under a new key; return the number of files written.

    ``new_encryption``: where the new key comes from. Errors: as for ``encrypt``.
    """
    home = _require_home(settings)
    return rekey_home(home, settings.encryption, new_encryption, passphrase, report)


def decrypt(settings: Settings, *, report: Report = lambda *_: None) -> int:
    """Decrypt the home; return the number of files written."""
    return decrypt_home(_require_home(settings), settings.encryption, report)


def _require_home(settings: Settings) -> Path:
    """Return the home folder; refuse one that is missing, or whose database lies elsewhere."""
    home = settings.home.expanduser().absolute()
    if not home.is_dir():
        raise NotFoundError(
            f"{home} contains no memory yet.",
            hint="A new home is encrypted from the start with `encryption.enabled = true`.",
        )
    if require_home_paths(settings).database.expanduser().absolute().parent != home:
        raise SettingsError(
            "Only a database in the home folder can be encrypted.", hint="Leave `store.url` empty."
        )
    return home


# --------------------------------------------------------------------------------------------------
# moves between a home and a fleet


def move_memory(
    settings: Settings, to: str, clock: Clock, report: store_factory.Report
) -> dict[str, int]:
    """Copy memory, keys and all logs to another address; return how many of each.

    ``report``: is called with the owners done, and all. ConflictError: either side was written to
    meanwhile, or the target is not empty. StoreError: either cannot be reached.
    """
    counts = store_factory.move_memory(settings, to, clock, report)
    target = settings.model_copy(update={"store": settings.store.model_copy(update={"url": to})})
    if not is_served(settings) and not is_served(target):
        return counts  # Both are files of the same home, which has one set of keys and logs.
    with (
        closing(_open_key_table(settings)) as keys,
        closing(_open_key_table(target)) as target_keys,
    ):
        counts["keys"] = copy_keys(keys, target_keys)
    with (
        closing(_open_event_table(settings)) as events,
        closing(_open_event_table(target)) as target_events,
    ):
        counts["events"] = copy_events(events, target_events)
    with ExitStack() as stack:
        logs = _open_session_logs(settings, stack)
        target_logs = _open_session_logs(target, stack)
        counts["log_records"] = copy_session_logs(logs, target_logs)
    counts["files"] = _move_files(settings, target, clock)
    return counts


def _move_files(settings: Settings, target: Settings, clock: Clock) -> int:
    """Copy the files of documents; return their number."""
    with (
        closing(store_factory.choose_store(settings, clock)) as store,
        closing(store_factory.choose_store(target, clock)) as target_store,
    ):
        open_files = find_attachments(settings, store, clock)
        open_target_files = find_attachments(target, target_store, clock)
        if open_files is None or open_target_files is None:
            return 0
        owners = sorted({scope.owner for scope in store.scopes(None)})
        return copy_attachments(open_files(), open_target_files(), owners)


def _open_session_logs(settings: Settings, stack: ExitStack) -> list[SessionLogTable]:
    """Open every log that settings have; ``stack`` closes them."""
    tables = [_open_log_table(name, settings) for name in get_args(SessionLogName)]
    return [stack.enter_context(closing(table)) for table in tables if table is not None]
