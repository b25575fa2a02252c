"""Meaning of ``store.url``: a file of a home, or a database on a server.

A path names a file; empty: ``memory.db`` in the home; ``:memory:``: nothing outlives the process;
``postgresql://…``: a database on a server.
"""

from __future__ import annotations

from pathlib import Path

from engrams.errors import ExtraError, SettingsError
from engrams.installation import install_hint
from engrams.settings import Settings

ADDRESS_FORM = "postgresql://USER:PASSWORD@HOST/NAME"
"""Form of a server's address, for hints."""
_SCHEMES = ("postgresql", "postgres")


def is_served(settings: Settings) -> bool:
    """True where a server keeps memory, and not a file."""
    return "://" in settings.store.url


def find_database(settings: Settings) -> Path:
    """Path of the database file, also where none is used."""
    url = "" if is_served(settings) else settings.store.url
    return Path(url) if url else settings.home.expanduser() / "memory.db"


def require_path(url: str) -> None:
    """Refuse an address that is not in the form of one, and would be taken for a path."""
    if (
        url.startswith(tuple(f"{scheme}:" for scheme in _SCHEMES))
        or "dbname=" in url
        or "host=" in url
    ):
        raise SettingsError(
            "`store.url` is neither a path nor a valid address.",
            hint=f"Write it as {ADDRESS_FORM}.",
        )


def require_postgres(url: str) -> None:
    """Refuse an address of a server that is not Postgres."""
    scheme = url.partition("://")[0]
    if scheme not in _SCHEMES:
        raise SettingsError(
            f"There is no store for {scheme!r}.",
            hint=f"`store.url` is a path, `:memory:` or {ADDRESS_FORM}.",
        )


def require_server_settings(settings: Settings) -> None:
    """Refuse settings that only a home with a database file can follow."""
    require_postgres(settings.store.url)
    if settings.encryption.enabled:
        raise SettingsError(
            "`encryption` covers the files of a home, not a database server.",
            hint="Encrypt the server's disks, and leave it off here.",
        )
    if settings.vault.enabled and settings.enabled:
        raise SettingsError(
            "The vault's files belong to one machine; a memory on Postgres has no vault.",
            hint="Turn `vault.enabled` off.",
        )


def require_movable(source: Settings, target: Settings) -> None:
    """Refuse to move memory from where there is none, or onto itself."""
    if not is_served(source):
        require_path(source.store.url)
    home = source.home.expanduser()
    # A home may hold keys and logs, and no memory yet.
    has_home = not source.store.url and home.is_dir() and any(home.iterdir())
    if (
        not is_served(source)
        and not source.is_volatile
        and not find_database(source).exists()
        and not has_home
    ):
        raise SettingsError(
            f"There is no memory at {find_database(source)}.",
            hint="Name its home by --home, or its file by `store.url`.",
        )
    if _normalize(source) == _normalize(target):
        raise SettingsError(
            "Memory cannot move onto itself: both addresses name the same.",
            hint="Give --to another address.",
        )


def _normalize(settings: Settings) -> tuple[str, ...]:
    """Return the path, or host, port and database, that are the same for the same memory."""
    if not is_served(settings):
        return (str(find_database(settings).resolve()),)
    try:
        from engrams.store.postgres.error_mapping import read_address
    except ImportError as problem:
        raise make_driver_error(problem) from None
    address = read_address(settings.store.url)
    defaults = (("host", "localhost"), ("port", "5432"), ("dbname", ""))
    return tuple(str(address.get(name, default)) for name, default in defaults)


def make_driver_error(problem: ImportError) -> ExtraError:
    """Return the error of a missing driver, which says how to install it."""
    return ExtraError(
        f"The driver of Postgres is not installed ({problem.name}).", hint=install_hint("postgres")
    )
