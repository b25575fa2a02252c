"""Choose the store that the settings name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from engrams import encryption
from engrams.errors import ExtraError, SettingsError, install_hint
from engrams.ports import Clock, FleetTables, Store
from engrams.settings import Settings
from engrams.store.sql.store import SqlStore
from engrams.store.sqlite import SqliteStore

Report: TypeAlias = Callable[[int, int], object]

_SCHEMES = ("postgresql", "postgres")
_FORM = "postgresql://USER:PASSWORD@HOST/NAME"


def choose_store(settings: Settings, clock: Clock) -> Store:
    """Open the configured store. Incognito: in this process's memory only."""
    section = settings.store
    if settings.incognito or section.url == ":memory:":
        return SqliteStore.open(":memory:", section, clock)
    if is_served(settings):
        _require_plain(settings)
        try:
            from engrams.store.postgres.store import PostgresStore
        except ImportError as problem:
            raise _missing(problem) from None
        return PostgresStore.open(section.url, section, clock)
    _require_path(section.url)
    path = find_database(settings)
    encryption.unlock_home(settings.home, settings.encryption, path)
    return SqliteStore.open(path, section, clock)


def open_fleet_tables(settings: Settings, store: Store | None = None) -> FleetTables | None:
    """Open what a fleet shares beside memory; None for a home's files.

    ``store``: an open one, whose connections are used. StoreError: the database cannot be reached,
    or has another schema.
    """
    if not is_served(settings):
        return None
    _require_postgres(settings.store.url)
    try:
        from engrams.store.postgres.store import PostgresStore, open_tables
    except ImportError as problem:
        raise _missing(problem) from None
    return store.tables if isinstance(store, PostgresStore) else open_tables(settings.store)


def migrate_store(url: str) -> tuple[str, ...]:
    """Bring a Postgres database's tables up to date; the steps taken."""
    if "://" not in url:
        raise SettingsError(
            "Only a database on a server is migrated.",
            hint=f"Name it: `engrams migrate --url {_FORM}`.",
        )
    _require_postgres(url)
    try:
        from engrams.store.postgres.schema_setup import migrate
    except ImportError as problem:
        raise _missing(problem) from None
    return migrate(url)


def find_dump_problem(url: str) -> str:
    """Say why `pg_dump` by the user of a Postgres address would fail."""
    from engrams.store.postgres.schema_setup import find_dump_problem

    return find_dump_problem(url)


def move_memory(settings: Settings, to: str, clock: Clock, report: Report) -> dict[str, int]:
    """Copy the configured store's memory to another address; numbers of it.

    ``report``: is called with the owners done, and all. ConflictError: either side was written to
    meanwhile, or the target is not empty. SettingsError: there is no memory here, or both are one.
    """
    from engrams.store.sql.store_copy import move_store

    there = settings.model_copy(update={"store": settings.store.model_copy(update={"url": to})})
    _require_apart(settings, there)
    source = choose_store(settings, clock)
    target = choose_store(there, clock)
    try:
        if (
            not isinstance(source, SqlStore)
            or not isinstance(target, SqlStore)
            or ":memory:" in (to, settings.store.url)
        ):
            raise SettingsError(
                "Memory moves between a database file and Postgres.",
                hint="Give --to the address of the other one.",
            )
        return move_store(source, target, report)
    finally:
        source.close()
        target.close()


def _require_path(url: str) -> None:
    """Refuse what is meant as an address, and is none."""
    if (
        url.startswith(tuple(f"{scheme}:" for scheme in _SCHEMES))
        or "dbname=" in url
        or "host=" in url
    ):
        raise SettingsError(
            "`store.url` is no path, and no address in the form that is needed.",
            hint=f"Write it as {_FORM}.",
        )


def _require_apart(here: Settings, there: Settings) -> None:
    """Refuse a missing source, and a move onto itself."""
    if not is_served(here):
        _require_path(here.store.url)
    home = here.home.expanduser()
    # A home may hold keys and logs, and no memory yet.
    has_home = not here.store.url and home.is_dir() and any(home.iterdir())
    if (
        not is_served(here)
        and not here.is_volatile
        and not find_database(here).exists()
        and not has_home
    ):
        raise SettingsError(
            f"There is no memory at {find_database(here)}.",
            hint="Name its home by --home, or its file by `store.url`.",
        )
    if _locate(here) == _locate(there):
        raise SettingsError(
            "Memory cannot move onto itself: both addresses name the same.",
            hint="Give --to another address.",
        )


def _locate(settings: Settings) -> tuple[str, ...]:
    """Place that settings name, in the same words for the same place."""
    if not is_served(settings):
        return (str(find_database(settings).resolve()),)
    try:
        from engrams.store.postgres.error_mapping import read_address
    except ImportError as problem:
        raise _missing(problem) from None
    parts = read_address(settings.store.url)
    return tuple(
        str(parts.get(name, default))
        for name, default in (("host", "localhost"), ("port", "5432"), ("dbname", ""))
    )


def is_served(settings: Settings) -> bool:
    """True where a server keeps memory, and not a file."""
    return "://" in settings.store.url


def find_database(settings: Settings) -> Path:
    """Path of the database file, also where none is used."""
    url = "" if is_served(settings) else settings.store.url
    return Path(url) if url else settings.home.expanduser() / "memory.db"


def _require_plain(settings: Settings) -> None:
    """Refuse what only a home with a database file can keep."""
    _require_postgres(settings.store.url)
    if settings.encryption.enabled:
        raise SettingsError(
            "`encryption` covers the files of a home, not a database server.",
            hint="Encrypt the server's disks, and leave it off here.",
        )
    if settings.vault.enabled and settings.enabled:
        raise SettingsError(
            "The vault's files belong to one machine; memory on Postgres does without.",
            hint="Turn `vault.enabled` off.",
        )


def _require_postgres(url: str) -> None:
    if url.partition("://")[0] not in _SCHEMES:
        raise SettingsError(
            f"There is no store for {url.partition('://')[0]!r}.",
            hint=f"`store.url` is a path, `:memory:` or {_FORM}.",
        )


def _missing(problem: ImportError) -> ExtraError:
    return ExtraError(
        f"The driver of Postgres is not installed ({problem.name}).", hint=install_hint("postgres")
    )
