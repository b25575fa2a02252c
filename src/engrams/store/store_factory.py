"""The store that the settings name, opened, migrated or moved.

Enter at ``choose_store``. The only module that knows both kinds of stores; a driver is imported
when its kind is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from engrams import encryption
from engrams.errors import SettingsError
from engrams.ports import Clock, FleetTables, Store
from engrams.settings import Settings, StoreSettings
from engrams.store.seal_key import load_seals
from engrams.store.sql.store import SqlStore
from engrams.store.sqlite import SqliteStore
from engrams.store.store_address import (
    ADDRESS_FORM,
    find_database,
    is_served,
    make_driver_error,
    require_movable,
    require_path,
    require_postgres,
    require_server_settings,
)

Report: TypeAlias = Callable[[int, int], object]


def choose_store(settings: Settings, clock: Clock) -> Store:
    """Open the configured store; incognito, one in this process's memory only."""
    section = settings.store
    if settings.incognito or section.url == ":memory:":
        return SqliteStore.open(":memory:", section, clock)
    if is_served(settings):
        require_server_settings(settings)
        try:
            from engrams.store.postgres.store import PostgresStore
        except ImportError as problem:
            raise make_driver_error(problem) from None
        return PostgresStore.open(section.url, section, clock)
    require_path(section.url)
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
    require_postgres(settings.store.url)
    try:
        from engrams.store.postgres.store import PostgresStore, open_tables
    except ImportError as problem:
        raise make_driver_error(problem) from None
    return store.tables if isinstance(store, PostgresStore) else open_tables(settings.store)


def migrate_store(url: str, settings: StoreSettings | None = None) -> tuple[str, ...]:
    """Bring a Postgres database's tables up to date; names of the steps taken.

    ``settings``: name the key of its seals; None: there is no key.
    """
    if "://" not in url:
        raise SettingsError(
            "Only a database on a server is migrated.",
            hint=f"Name it: `engrams migrate --url {ADDRESS_FORM}`.",
        )
    require_postgres(url)
    try:
        from engrams.store.postgres.schema_setup import migrate
    except ImportError as problem:
        raise make_driver_error(problem) from None
    return migrate(url, load_seals(settings or StoreSettings()))


def find_dump_problem(url: str) -> str:
    """Say why `pg_dump` by the user of a Postgres address would fail; empty: it would not."""
    from engrams.store.postgres.schema_setup import find_dump_problem

    return find_dump_problem(url)


def move_memory(
    settings: Settings, target_url: str, clock: Clock, report: Report
) -> dict[str, int]:
    """Copy the configured store's memory to another address; return how much of each kind.

    ``report``: called with the number of owners done, and of all. ConflictError: either side was
    written to meanwhile, or the target is not empty. SettingsError: there is no memory here, or
    both addresses are one.
    """
    from engrams.store.move.memory_copy import move_store

    target_section = settings.store.model_copy(update={"url": target_url})
    target_settings = settings.model_copy(update={"store": target_section})
    require_movable(settings, target_settings)
    source = choose_store(settings, clock)
    target = choose_store(target_settings, clock)
    try:
        if (
            not isinstance(source, SqlStore)
            or not isinstance(target, SqlStore)
            or ":memory:" in (target_url, settings.store.url)
        ):
            raise SettingsError(
                "Memory moves between a database file and Postgres.",
                hint="Give --to the address of the other one.",
            )
        return move_store(source, target, report)
    finally:
        source.close()
        target.close()
