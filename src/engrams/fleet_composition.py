"""Composition of keys and logs, from files or a fleet's tables."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, get_args

from engrams import encryption
from engrams.core import clock as clocks
from engrams.ports import (
    ApiKeyTable,
    AuditEventTable,
    Clock,
    SessionLogName,
    SessionLogTable,
    Store,
)
from engrams.settings import Settings
from engrams.store import store_factory
from engrams.store.fleet_copy import copy_events, copy_keys
from engrams.store.session_log_copy import copy_session_logs

if TYPE_CHECKING:
    from engrams.api_keys import ApiKeyStore
    from engrams.logs import AuditLog, CrisisLog, FeedbackLog


def keys(settings: Settings, store: Store | None = None) -> ApiKeyStore:
    """Open the keys of the API; the caller closes them.

    ``store``: an open one, whose connections are used. StoreError: the database cannot be reached,
    or has another schema.
    """
    from engrams.api_keys import ApiKeyStore

    return ApiKeyStore(_open_key_table(settings, store))


def audit(settings: Settings, clock: Clock = clocks.now, store: Store | None = None) -> AuditLog:
    """Open the audit log: who did what, without texts.

    The caller closes it. ``store`` and StoreError: as for ``keys``.
    """
    from engrams.logs import AuditLog

    return AuditLog(_open_event_table(settings, store), clock, settings.audit.days)


def safety(settings: Settings, clock: Clock = clocks.now, store: Store | None = None) -> CrisisLog:
    """Open the log of detected crises.

    The caller closes it. ``store`` and StoreError: as for ``keys``.
    """
    from engrams.logs import CrisisLog

    return CrisisLog(_open_log_table("safety", settings, store), clock, settings.safety.days)


def feedback(
    settings: Settings, clock: Clock = clocks.now, store: Store | None = None
) -> FeedbackLog:
    """Open the log of people's feedback on sessions.

    The caller closes it. ``store`` and StoreError: as for ``keys``.
    """
    from engrams.logs import FeedbackLog

    return FeedbackLog(_open_log_table("feedback", settings, store), clock, settings.feedback.days)


def unlock(settings: Settings) -> None:
    """Load the home's encryption key, where it has one.

    EncryptionError: it is missing or wrong.
    """
    if not settings.is_volatile:
        encryption.unlock_home(
            settings.home, settings.encryption, store_factory.find_database(settings)
        )


def move_memory(
    settings: Settings, to: str, clock: Clock, report: store_factory.Report
) -> dict[str, int]:
    """Copy memory, keys and all logs; numbers of them.

    ``report``: is called with the owners done, and all. ConflictError: either side was written to
    meanwhile, or the target is not empty. StoreError: either cannot be reached.
    """
    counted = store_factory.move_memory(settings, to, clock, report)
    there = settings.model_copy(update={"store": settings.store.model_copy(update={"url": to})})
    if not store_factory.is_served(settings) and not store_factory.is_served(there):
        return counted  # the same home
    with (
        closing(_open_key_table(settings)) as keys_here,
        closing(_open_key_table(there)) as keys_there,
    ):
        counted["keys"] = copy_keys(keys_here, keys_there)
    with (
        closing(_open_event_table(settings)) as events_here,
        closing(_open_event_table(there)) as events_there,
    ):
        counted["events"] = copy_events(events_here, events_there)
    with ExitStack() as stack:
        found = [
            [_open_log_table(name, one) for name in get_args(SessionLogName)]
            for one in (settings, there)
        ]
        logs = [
            [stack.enter_context(closing(table)) for table in tables if table is not None]
            for tables in found
        ]
        counted["log_records"] = copy_session_logs(*logs)
    return counted


def _open_key_table(settings: Settings, store: Store | None = None) -> ApiKeyTable:
    from engrams.api_keys import ApiKeyFiles

    tables = store_factory.open_fleet_tables(settings, store)
    return ApiKeyFiles(settings.home.expanduser() / "keys") if tables is None else tables.keys


def _open_log_table(
    name: SessionLogName, settings: Settings, store: Store | None = None
) -> SessionLogTable | None:
    from engrams.logs import open_log_file

    unlock(settings)
    tables = None if settings.is_volatile else store_factory.open_fleet_tables(settings, store)
    return open_log_file(name, settings) if tables is None else tables.logs[name]


def _open_event_table(settings: Settings, store: Store | None = None) -> AuditEventTable:
    from engrams.logs import open_event_files

    unlock(settings)
    tables = None if settings.is_volatile else store_factory.open_fleet_tables(settings, store)
    return open_event_files(settings) if tables is None else tables.events
