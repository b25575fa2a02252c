"""Commands sync: files and memory, and one memory on several devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, format_iso, note, print_table, say
from engrams.surfaces.cli.place_options import Login, ask_for_code, read_access
from engrams.surfaces.cli.shared_spaces import (
    describe_report,
    note_report,
    print_sharing,
    say_space,
    say_waiting,
)
from engrams.surfaces.cli.vault_commands import open_vault

if TYPE_CHECKING:
    from engrams.core import Scope
    from engrams.sync.device_sync import DeviceInfo, MemorySync
    from engrams.sync.exchange import ExchangeReport
    from engrams.sync.space_sync import SharedSpaceStatus

app = new_app()
sync = new_app()
app.add_typer(sync, name="sync", help="Synchronise devices, or files and memory.")

Label = Annotated[
    str,
    typer.Option("--name", help="A name for this device (default: the machine's).", metavar="NAME"),
]
Place = Annotated[
    str,
    typer.Argument(
        help="What all devices reach: a folder of Syncthing, a share, a stick; a git repository; webdavs://HOST/PATH;"
        " s3://BUCKET/PREFIX; or another engrams server.",
        metavar="PLACE",
    ),
]


@sync.callback(invoke_without_command=True)
@flatten_options
def files(
    context: typer.Context,
    options: GlobalOptions,
    accept: Annotated[
        bool, typer.Option("--accept", help="Forget memories whose files are gone, however many.")
    ] = False,
    local: Annotated[bool, typer.Option("--local", help="Do not use the remote.")] = False,
) -> None:
    """Synchronise devices, or files and memory.

    Without a command below: the Markdown files and memory, and the git remote if one is set.
    """
    if context.invoked_subcommand:
        return
    with open_vault(options) as (engine, vault, _owner):
        # Opening the vault has already synced once: add that report.
        report = vault.start_report + vault.sync(accept)
        exchange = None if local or not engine.settings.vault.remote else vault.exchange()
    if options.json:
        emit({"report": report, "remote": exchange})
    else:
        names = (
            "added",
            "changed",
            "moved",
            "forgotten",
            "restored",
            "conflicts",
            "written",
            "gone",
        )
        say(
            ", ".join(f"{name} {getattr(report, name)}" for name in names if getattr(report, name))
            or "Nothing to do."
        )
        for path, why in report.problems.items():
            note(f"{clean(path)}: {clean(why)}")
        if exchange is not None:
            say(
                f"remote: {exchange.pulled} files pulled,"
                f" {'ours pushed' if exchange.pushed else 'push rejected'}"
            )
    if report.gone:
        raise typer.Exit(4)


@sync.command()
@flatten_options
def init(address: Place, options: GlobalOptions, label: Label = "", login: Login = "") -> None:
    """Begin one memory on several devices with this one.

    It shows the recovery code, once: write it down.

    Example: engrams sync init ~/Sync/memory, then engrams sync pair.
    """
    access = read_access(address, login)
    with _open_sync(options) as (devices, owner):
        code = devices.init(address, owner, label, access)
        # Whatever fails from here on, the code is shown: nothing else has it.
        if not options.json:
            say(code)
            note(
                "This is the recovery code. Whoever has it and the place can read this memory: write"
                " it down now and keep it away from the place. It is not shown again."
            )
        report = None
        try:
            report = devices.now()
        finally:
            if options.json:
                emit({"recovery_code": code, "report": report})
    if not options.json:
        _say_report(report)


@sync.command()
@flatten_options
def pair(options: GlobalOptions) -> None:
    """Show a code for one other device; it works once."""
    with _open_sync(options) as (devices, _):
        code = devices.pair()
        address = devices.status().address
    if options.json:
        emit({"code": code})
        return
    say(code)
    note(
        f"On the other device: engrams sync join PLACE, and type this code. PLACE holds the same"
        f" files as {clean(address)} here. Give the code to nobody else."
    )


@sync.command()
@flatten_options
def join(
    address: Place,
    options: GlobalOptions,
    code: Annotated[
        str,
        typer.Option(
            help="The code of `pair`, or the recovery code. Default: it asks.",
            envvar="ENGRAMS_SYNC_CODE",
            show_default=False,
            metavar="TEXT",
        ),
    ] = "",
    label: Label = "",
    login: Login = "",
) -> None:
    """Make this home a device of a memory, and take it over.

    What this home holds already is merged with it.
    """
    access = read_access(address, login)
    typed_code = code or ask_for_code()
    with _open_sync(options) as (devices, owner):
        devices.join(address, typed_code, owner, label, access)
        report = devices.now()
    _show_report(options, report)


@sync.command()
@flatten_options
def move(address: Place, options: GlobalOptions, login: Login = "") -> None:
    """Exchange by another place from now on, or with another password by the same one.

    Every device has to move.
    """
    access = read_access(address, login)
    with _open_sync(options) as (devices, _):
        report = devices.move(address, access)
    _show_report(options, report)


@sync.command()
@flatten_options
def now(options: GlobalOptions) -> None:
    """Exchange everything with the other devices."""
    with _open_sync(options) as (devices, _):
        report = devices.now()
    _show_report(options, report)


@sync.command()
@flatten_options
def watch(options: GlobalOptions) -> None:
    """Exchange whenever something changes here or in the folder, until Ctrl+C."""
    with _open_sync(options) as (devices, _):
        if not options.json:
            note("Watching. Ctrl+C ends it.")
        try:
            devices.watch(lambda: False, lambda report: _show_report(options, report))
        except KeyboardInterrupt:
            return


@sync.command()
@flatten_options
def status(options: GlobalOptions) -> None:
    """Show the devices, and purges that not every device made yet."""
    with _open_sync(options) as (devices, _):
        if not devices.is_on and devices.spaces.is_on:
            shared = devices.spaces.status()
            if options.json:
                emit({"spaces": shared})
            else:
                _print_spaces(shared)
            return
        state = devices.status()
    if options.json:
        emit(state)
        return
    say(f"{clean(state.label)} ({state.device}) in {clean(state.address)}")
    if any(info.is_this and info.is_removed for info in state.devices):
        say("This device was removed from the memory: it exchanges nothing any more.")
    elif state.has_changes or state.to_send:
        say("Something here is not told yet: engrams sync now")
    _print_devices(state.devices)
    if state.kept_here:
        say(
            f"{state.kept_here} of this device's memories stay here: they hold secrets that its"
            " settings forbid. `engrams secrets` lists them."
        )
    if state.kept_out:
        say(f"{state.kept_out} memories of other devices stay out: they hold such secrets.")
    for purge in state.purges:
        say_waiting(purge)
    _print_spaces(state.spaces)


def _print_spaces(spaces: Sequence[SharedSpaceStatus]) -> None:
    for sharing in spaces:
        say(f"space {clean(sharing.space)}:")
        print_sharing(sharing)


@sync.command("devices")
@flatten_options
def list_devices(options: GlobalOptions) -> None:
    """List the devices and open invitations."""
    with _open_sync(options) as (devices, _):
        infos = devices.devices()
    if options.json:
        emit({"devices": infos})
        return
    _print_devices(infos)


@sync.command()
@flatten_options
def remove(
    name: Annotated[str, typer.Argument(help="Its name, its id, or the beginning of the id.")],
    options: GlobalOptions,
) -> None:
    """Remove a device or an invitation: it reads nothing new. What it has, it keeps."""
    with _open_sync(options) as (devices, _):
        removed = devices.remove(name)
    if options.json:
        emit(removed)
        return
    say(f"{clean(removed.label or removed.id)} is removed. From now on there is another key.")


@sync.command()
@flatten_options
def leave(options: GlobalOptions) -> None:
    """End the exchange on this device; its memory stays."""
    with _open_sync(options) as (devices, _):
        devices.leave()
    if options.json:
        emit({"left": True})
        return
    say("This home is no device any more. Remove it on another device, too.")


@contextmanager
def _open_sync(options: GlobalOptions) -> Iterator[tuple[MemorySync, Scope]]:
    """Open the engine; yield its exchange with the owner."""
    from engrams.core import Scope

    with options.open() as (engine, scope):
        yield engine.sync, Scope(scope).owner


def _show_report(options: GlobalOptions, report: ExchangeReport) -> None:
    if options.json:
        emit(report)
    else:
        _say_report(report)


def _say_report(report: ExchangeReport) -> None:
    if report.has_counts or not report.spaces:
        say(describe_report(report))
    note_report(report)
    for exchange in report.spaces:
        say_space(exchange)


def _print_devices(infos: tuple[DeviceInfo, ...]) -> None:
    rows = [
        [
            info.id,
            info.label,
            _describe_device(info),
            format_iso(info.last_seen),
        ]
        for info in infos
    ]
    print_table(("id", "name", "what", "last told"), rows, {0: "yellow"})


def _describe_device(info: DeviceInfo) -> str:
    kind = "this device" if info.is_this else info.kind
    if not info.is_removed:
        return kind
    return f"{kind}, removed" if info.is_this else "removed"
