"""Composition of an engine: settings become a store, models and a vault, and these an engine.

``open`` is ``engrams.open``. Only this module and ``engrams.admin`` name a concrete store, model or
file format; everything below them works on ``engrams.ports``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engrams.checkouts.code_anchor_reader import CheckoutReader
from engrams.core import Kind, Record
from engrams.core import clock as clocks
from engrams.engine import MemoryEngine
from engrams.engine.dependencies import EngineDeps
from engrams.errors import RefusedError, SettingsError
from engrams.models.chat.factory import adopt_chat_server, adopt_upstream, choose_chat, inject
from engrams.models.chat.upkeep_schedule import UpkeepSchedule
from engrams.models.embed.cosine_translation import translate_preset
from engrams.models.embed.factory import choose_embedder, make_plain, require_embedder
from engrams.models.embed.null import NullEmbedder
from engrams.models.rerank.factory import RerankerChoice, build_reranker
from engrams.models.tokens.factory import choose_counter
from engrams.ports import (
    EMBED,
    EXTRACT,
    AttachmentFiles,
    AttachmentStore,
    ChatModel,
    Clock,
    Embedder,
    HomeFileCleaner,
    JobSpec,
    Judge,
    MediaModel,
    PurgeOrder,
    Reranker,
    SkillRecordSource,
    StorageUse,
    Store,
)
from engrams.settings import (
    ChatSettings,
    JudgeSettings,
    MediaModelSettings,
    Settings,
    change_settings,
    in_test_mode,
    load,
)
from engrams.store.sqlite import SqliteStore, rescue
from engrams.store.store_address import find_database, is_served
from engrams.store.store_factory import choose_store, open_fleet_tables
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.write.privacy_modes import require_incognito

if TYPE_CHECKING:
    from engrams.backup.home_paths import HomePaths
    from engrams.vault import Vault

__all__ = [
    "adopt_chat_server",
    "adopt_upstream",
    "find_home_paths",
    "open",
    "require_home_paths",
    "translate_preset",
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
    """Open an engine on ``settings``, or on the ones that ``settings.load`` finds.

    ``arguments`` override all other sources of settings, with ``__`` for a section:
    ``open(home="/tmp/m", read__limit=5)``. ``embedder`` and ``chat`` replace the configured models;
    ``chat`` may be a function from messages to text, or an ``openai.OpenAI`` client. ``background``:
    continue the jobs of earlier processes at once (False: workers start with the first write).
    ``helped``: True for a program of its own. A large import then uses one process for each core if
    ``jobs.processes`` is 0.

    Nothing is created on disk before the first write. Use as a context manager or call ``close()``.

    SettingsError: a setting is unknown or out of range. StoreError: the database is damaged beyond
    repair, or belongs to another program. ExtraError: a setting asks for an optional part that is not
    installed.
    """
    settings = _resolve_settings(settings, arguments)
    _finish_interrupted_backup_restore(settings)
    plain_store = choose_store(settings, clock)
    upkeep = UpkeepSchedule(
        settings.upkeep,
        clock,
        plain_store,
        None if settings.is_volatile else settings.home.expanduser() / "model.use",
        settings.quota,
    )
    if chat is None:
        chat_model: ChatModel | None = choose_chat(settings.chat, clock, plain_store, upkeep)
    else:
        chat_model = inject(chat, settings.chat, clock, plain_store, upkeep)
    embedder = _choose_embedder(settings, embedder)
    if settings.embed.cosine_model:
        cosines = translate_preset(settings, embedder.card)
        settings = change_settings(settings, {cosine.name: cosine.used for cosine in cosines})
    judge = _choose_judge(settings.judge, clock)
    vault = _open_vault(plain_store, settings, embedder, chat_model, clock)
    engine = MemoryEngine(
        EngineDeps(
            settings=settings,
            store=vault.deps.store if vault else plain_store,
            embedder=embedder,
            chat=chat_model,
            counter=choose_counter(settings.read.tokenizer, clock),
            clock=clock,
            upkeep=upkeep,
            reranker=_choose_reranker(settings, clock, chat_model, judge),
            judge=judge,
            media_models=_choose_media_models(settings, clock),
            handlers=vault.handlers if vault else {},
            skills=_open_skills(settings, embedder, clock),
            files=vault,
            code=CheckoutReader(),
            home=_make_home_cleaner(settings, vault, plain_store, clock),
            attachments=find_attachments(settings, plain_store, clock),
            plain=make_plain() if settings.write.changes.enabled else None,
            helpers=HelperProcesses(settings.jobs.processes or (0 if helped else 1)),
        )
    )
    if vault is not None:
        vault.start(engine.work)
    if background:
        engine.work.resume()
    return engine


def find_home_paths(settings: Settings) -> HomePaths:
    """Find where settings put the database and the vault, also where neither exists."""
    from engrams.backup.home_paths import HomePaths
    from engrams.vault.dependencies import find_vault_folder

    home = settings.home.expanduser()
    return HomePaths(
        database=find_database(settings),
        vault=find_vault_folder(settings.vault, home),
        state=home / "vault.db",
    )


def require_home_paths(settings: Settings) -> HomePaths:
    """Find the database and the vault of a home, as ``find_home_paths``.

    SettingsError: memory is in no file of its own, but in memory or on a database server.
    """
    if settings.store.url == ":memory:" or is_served(settings):
        raise SettingsError(
            "This needs a memory in a database file, not on a server.",
            hint="Use the tools of the database server.",
        )
    return find_home_paths(settings)


def _resolve_settings(settings: Settings | None, arguments: dict[str, Any]) -> Settings:
    """Join the settings that were given, or the ones that are found, with the caller's arguments."""
    overrides = {name.replace("__", "."): value for name, value in arguments.items()}
    if not isinstance(settings, Settings | None):
        raise SettingsError(
            f"Settings are needed, not {type(settings).__name__}.",
            hint="Name the home folder: open(home=folder).",
        )
    if settings is None:
        settings = load(overrides).settings
    elif overrides:
        settings = change_settings(settings, overrides)
    return adopt_upstream(in_test_mode(settings))


def _finish_interrupted_backup_restore(settings: Settings) -> None:
    """Finish restoring a backup where a killed process left it half done."""
    if settings.is_volatile:
        return
    # Looked for by name here, so that the usual start need not load the code of backups.
    if any(find_database(settings).parent.glob("engrams-restore-unfinished")):
        from engrams.backup.home_backup import finish_restore

        finish_restore(find_home_paths(settings))


def _choose_embedder(settings: Settings, embedder: Embedder | None) -> Embedder:
    """Return the caller's embedder, else the configured one.

    Incognito takes only an embedder that declares that it keeps nothing: it replaces a configured
    one that does not declare it by none at all, and refuses one that the caller passed in.
    """
    if embedder is not None:
        require_embedder(embedder)
    if not settings.incognito:
        return embedder or choose_embedder(settings.embed)
    if settings.embed.incognito == "null":
        return NullEmbedder()
    if embedder is not None:
        require_incognito(embedder)
        return embedder
    configured = choose_embedder(settings.embed)
    try:
        require_incognito(configured)
    except RefusedError:
        return NullEmbedder()
    return configured


def _choose_judge(section: JudgeSettings, clock: Clock) -> Judge | None:
    """Build the configured decision model; calls nothing."""
    if section.provider == "none":
        return None
    from engrams.models.judge.decisions import DecisionServerJudge

    return DecisionServerJudge(section.model, clock, section.url, section.api_key)


def _choose_media_models(settings: Settings, clock: Clock) -> dict[str, MediaModel]:
    """Build the configured models for pictures and sounds; calls nothing.

    SettingsError: one has no address.
    """
    models: dict[str, MediaModel] = {}
    if settings.vision.model:
        from engrams.models.media.vision import VisionModel

        models["image"] = VisionModel(_locate_media_model(settings.vision, settings.chat), clock)
    if settings.speech.model:
        from engrams.models.media.speech import SpeechModel

        models["audio"] = SpeechModel(_locate_media_model(settings.speech, settings.chat), clock)
    return models


def _locate_media_model(section: MediaModelSettings, chat: ChatSettings) -> MediaModelSettings:
    """Give a model the address and key of the chat model where it has none. SettingsError: neither."""
    if section.url:
        return section
    if not chat.url:
        raise SettingsError(
            f"The address of {section.model} is not set.",
            hint="Set `vision.url` or `speech.url`, for example http://localhost:11434/v1.",
        )
    url = chat.url.rstrip("/")
    if chat.provider == "ollama" and not url.endswith("/v1"):
        url = f"{url}/v1"
    return section.model_copy(update={"url": url, "api_key": section.api_key or chat.api_key})


def _choose_reranker(
    settings: Settings, clock: Clock, chat: ChatModel | None, judge: Judge | None
) -> Reranker | None:
    section = settings.rerank
    choice = RerankerChoice(section.provider, section.model, section.url, section.api_key)
    return build_reranker(choice, clock, chat, judge)


def _open_skills(settings: Settings, embedder: Embedder, clock: Clock) -> SkillRecordSource | None:
    """Open the configured folder of skills, which the first search reads."""
    if not settings.skills.folder or not settings.enabled:
        return None
    from engrams.vault.skills import SkillFolder

    folder = Path(settings.skills.folder).expanduser().absolute()
    return SkillFolder(
        folder, lambda: SqliteStore.open(":memory:", settings.store, clock), embedder, clock
    )


# --------------------------------------------------------------------------------------------------
# the vault


def _open_vault(
    plain_store: Store,
    settings: Settings,
    embedder: Embedder,
    chat: ChatModel | None,
    clock: Clock,
) -> Vault | None:
    """Open the vault and wrap the store, so that files follow its writes.

    None: no vault is configured, or memory is off or leaves nothing on disk.
    """
    if not settings.vault.enabled or not settings.enabled or settings.is_volatile:
        return None
    from engrams.forget.cascade import cascade_changes
    from engrams.forget.edits import MemoryEditor
    from engrams.forget.memory_forgetter import ForgetRequest, forget_records
    from engrams.vault import Vault, VaultDeps, VaultEditCallbacks, VaultStore
    from engrams.write.summary_jobs import plan_new_summary
    from engrams.write.write_deps import WriteDeps

    def find_jobs(records: Sequence[Record]) -> tuple[JobSpec, ...]:
        """Build the jobs for texts that were written into files: summaries, and extraction."""
        summaries = chain.from_iterable(plan_new_summary(record, deps) for record in records)
        if settings.write.extract == "off":
            return tuple(summaries)
        extractions = (
            JobSpec(
                EXTRACT,
                f"{record.scope.key}|{record.id}",
                {"scope": record.scope.key, "items": [record.id]},
            )
            for record in records
            if record.kind in (Kind.NOTE, Kind.TURN)
        )
        return (*extractions, *summaries)

    store = VaultStore(plain_store)
    deps = WriteDeps(store, embedder, clock, settings, chat)
    card = embedder.card
    min_words = settings.write.min_words
    callbacks = VaultEditCallbacks(
        prepare=MemoryEditor(deps).prepare_fields,
        find_jobs=find_jobs,
        find_ripples=lambda record, values: cascade_changes(
            record, values, store, clock(), min_words
        ),
        forget=lambda records, actor, reason: forget_records(
            records, store, ForgetRequest(clock(), reason, actor), min_words
        ),
        embed=JobSpec(EMBED, card.id) if card.dimension and not card.inline else None,
        lease=settings.jobs.lease_seconds,
        database=require_home_paths(settings).database,
    )
    home = settings.home.expanduser()
    vault = Vault(VaultDeps.open(store, plain_store, home, settings.vault, clock, callbacks), chat)
    store.vault = vault
    return vault


# --------------------------------------------------------------------------------------------------
# purges beside the store


def _make_home_cleaner(
    settings: Settings, vault: Vault | None, store: Store, clock: Clock
) -> Callable[[], HomeFileCleaner] | None:
    """Return what makes the cleaner of files beside the store, for the first purge.

    It repeats a purge in every copy of the database and every backup that lies in the home. None:
    memory leaves nothing on disk.
    """
    if settings.is_volatile:
        return None

    def purge_damaged_copy(path: Path, order: PurgeOrder) -> None:
        def purge(copy: Path) -> None:
            with closing(SqliteStore.open(copy, settings.store, clock)) as opened:
                _repeat_purge(opened, None, order, clock)

        rescue.purge_damaged_file(path, settings.store, purge)

    def purge_backup(path: Path, order: PurgeOrder) -> None:
        from engrams.backup.home_backup import replace_backup

        replace_backup(
            path, lambda unpacked: _purge_unpacked_backup(unpacked, settings, order, clock)
        )

    def make_cleaner() -> HomeFileCleaner:
        from engrams.vault.purge.attachment_purge import AttachmentPurger
        from engrams.vault.purge.home_purge import HomeFilePurger, HomePurgeDeps
        from engrams.vault.purge.upload_purge import UploadPurger

        cleaner: HomeFileCleaner = HomeFilePurger(
            HomePurgeDeps(
                home=settings.home.expanduser(),
                paths=find_home_paths(settings),
                vault=vault,
                purge_copy=purge_damaged_copy,
                purge_backup=purge_backup,
            )
        )
        open_attachments = find_attachments(settings, store, clock)
        if open_attachments is not None:
            cleaner = AttachmentPurger(cleaner, open_attachments(), store)
        tables = open_fleet_tables(settings, store)
        return cleaner if tables is None else UploadPurger(cleaner, tables.uploads)

    return make_cleaner


def find_attachments(
    settings: Settings, store: Store, clock: Clock
) -> Callable[[], AttachmentStore] | None:
    """Return what opens the files that documents were made of: a folder, or a table of a fleet.

    None: memory leaves nothing on disk.
    """
    if settings.is_volatile:
        return None

    def open_attachments() -> AttachmentStore:
        from engrams.transfer.documents.attachment_folder import AttachmentFolder
        from engrams.transfer.documents.counted_attachments import CountedAttachments

        tables = open_fleet_tables(settings, store)
        files: AttachmentFiles
        if tables is None:
            files = AttachmentFolder(find_home_paths(settings).attachments)
        else:
            files = tables.attachments
        quota = StorageUse(settings.quota.records, settings.quota.bytes)
        return CountedAttachments(files, store, quota, clock)

    return open_attachments


def _purge_unpacked_backup(
    unpacked: HomePaths, settings: Settings, order: PurgeOrder, clock: Clock
) -> None:
    """Repeat a purge in a backup that was unpacked into a home of its own."""
    backup_settings = change_settings(
        settings,
        {
            "home": unpacked.database.parent,
            "store.url": "",
            "vault.path": "",
            "vault.remote": "",
            "vault.watch": "off",
            "vault.enabled": unpacked.vault.exists(),
        },
    )
    plain_store = choose_store(backup_settings, clock)
    vault = _open_vault(plain_store, backup_settings, NullEmbedder(), None, clock)
    with closing(vault.deps.store if vault else plain_store) as store:
        cleaner = _make_home_cleaner(backup_settings, vault, plain_store, clock)
        _repeat_purge(store, cleaner, order, clock)


def _repeat_purge(
    store: Store,
    home: Callable[[], HomeFileCleaner] | None,
    order: PurgeOrder,
    clock: Clock,
) -> None:
    """Carry out a purge again in a copy of the store."""
    from engrams.forget.purge import PurgeDeps, PurgeExecutor

    deps = PurgeDeps(
        store=store,
        embedder=NullEmbedder(),
        clock=clock,
        drop_cached=lambda *_: None,
        home=home,
    )
    PurgeExecutor(deps).execute(order)
