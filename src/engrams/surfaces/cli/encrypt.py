"""Command encrypt: encrypt the home, change its key, decrypt it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engrams.errors import InputError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, say, show_progress

if TYPE_CHECKING:
    from engrams.encryption.rekey import HomeEncryptionStatus
    from engrams.settings import EncryptionSettings, Settings

app = new_app()

_NEW = "ENGRAMS_NEW_PASSPHRASE"

Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="Source of the key: keyring, passphrase or file.",
        show_default=False,
        metavar="SOURCE",
    ),
]
KeyFile = Annotated[
    str | None,
    typer.Option(
        "--key-file", help="The key file; created if missing.", show_default=False, metavar="FILE"
    ),
]


@app.command()
@flatten_options
def encrypt(
    options: GlobalOptions,
    status: Annotated[
        bool, typer.Option("--status", help="Only show how the home is encrypted.")
    ] = False,
    rekey: Annotated[
        bool, typer.Option("--rekey", help="Encrypt the home with a new key.")
    ] = False,
    off: Annotated[bool, typer.Option("--off", help="Decrypt it.")] = False,
    key: Key = None,
    key_file: KeyFile = None,
) -> None:
    """Encrypt the home, or finish a change that was cut short.

    Other processes that use the home wait meanwhile, and go on. Files of the vault stay readable.
    """
    if status + rekey + off > 1:
        raise InputError(
            "--status, --rekey and --off exclude each other.", hint="Give one of them."
        )
    from engrams import admin

    settings = options.load().settings
    files_written = 0
    if not status:
        source = _choose_source(settings, key, key_file, rekey)
        with show_progress("encrypting", quiet=options.json) as bar:
            files_written = _change(settings, rekey, off, source, bar)
    status_data = _describe(admin.read_encryption_status(settings))
    if options.json:
        emit(status_data | ({} if status else {"written": files_written}))
        return
    if not status:
        say(f"{files_written} files written.")
    _print(status_data)


def _change(
    settings: Settings, rekey: bool, off: bool, source: EncryptionSettings, bar: Any
) -> int:
    from engrams import admin

    if off:
        return admin.decrypt(settings, report=bar)
    if rekey:
        passphrase = (
            (os.environ.get(_NEW) or _ask("New passphrase")) if source.key == "passphrase" else ""
        )
        return admin.rekey(settings, source, passphrase=passphrase, report=bar)
    is_first_key = source.key == "passphrase" and not admin.read_encryption_status(settings).source
    passphrase = (
        (source.passphrase or os.environ.get("ENGRAMS_PASSPHRASE") or _ask("Passphrase"))
        if is_first_key
        else ""
    )
    return admin.encrypt(
        settings.model_copy(update={"encryption": source}), passphrase=passphrase, report=bar
    )


def _choose_source(
    settings: Settings, key: str | None, key_file: str | None, rekey: bool
) -> EncryptionSettings:
    """Choose the source of the key; a new key has the source of the old one by default."""
    from engrams import admin
    from engrams.settings import EncryptionSettings

    if rekey and key is None and key_file is None:
        current = admin.read_encryption_status(settings)
        key = current.source or None
        key_file = current.place if current.source == "file" else None
    key = key or ("file" if key_file else None)
    if key not in (None, "keyring", "passphrase", "file"):
        raise InputError(
            f"There is no key source {key!r}.", hint="Use keyring, passphrase or file."
        )
    changes = {name: value for name, value in (("key", key), ("key_file", key_file)) if value}
    return EncryptionSettings(**{**settings.encryption.model_dump(), **changes})


def _ask(prompt: str) -> str:
    from engrams.encryption.key_sources import ask_passphrase

    return ask_passphrase(prompt, twice=True)


def _describe(status: HomeEncryptionStatus) -> dict[str, Any]:
    return {
        "encrypted": status.encrypted,
        "key": status.source,
        "place": status.place,
        "changing": status.changing,
        "files": len(status.files),
        "plain": [str(path) for path in status.plain],
        "readable": [str(status.readable)] if status.readable else [],
    }


def _print(status: dict[str, Any]) -> None:
    if status["changing"]:
        say(
            "A change was interrupted; run `engrams encrypt` (or `engrams encrypt --off`) to"
            " finish it."
        )
    if not status["encrypted"]:
        say(f"The home is not encrypted: {len(status['plain'])} files are plain.")
    else:
        location = f" ({clean(status['place'])})" if status["place"] else ""
        say(
            f"The home is encrypted: {status['files'] - len(status['plain'])} of {status['files']}"
            f" files. Key: {status['key']}{location}."
        )
    for path in status["readable"]:
        note(
            f"Files of the vault are Markdown and stay readable: {clean(path)}. Keep them on an"
            " encrypted disk."
        )
