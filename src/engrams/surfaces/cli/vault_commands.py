"""Commands on memory as files: sync, history, dreams, backups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engrams.errors import RefusedError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, format_time, note, paint, print_table, say
from engrams.surfaces.cli.passphrase_option import Passphrase

if TYPE_CHECKING:
    from engrams.core import Scope

app = new_app()

_SHORT = 10
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}

Commit = Annotated[str, typer.Argument(help="A commit's id, or its first four digits or more.")]


@contextmanager
def open_vault(options: GlobalOptions) -> Iterator[tuple[Any, Any, Scope]]:
    """Open the engine; yield it with its vault and owner."""
    from engrams.admin import get_vault
    from engrams.core import Scope

    with options.open() as (engine, scope):
        yield engine, get_vault(engine), Scope(scope).owner


@app.command()
@flatten_options
def log(
    options: GlobalOptions,
    id: Annotated[str, typer.Argument(help="Only of this memory.", show_default=False)] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="At most this many.", metavar="N")
    ] = 20,
) -> None:
    """Show the history of the files: author, change, time, reason."""
    with open_vault(options) as (engine, vault, owner):
        vault.commit()
        path = vault.file(owner, engine.get(id, scope=owner).id) if id else ""
        entries = vault.git.log(limit, path)
    if options.json:
        emit({"commits": entries})
        return
    for entry in entries:
        title, _, body = clean(entry.message).partition("\n")
        say(
            f"{paint(entry.id[:_SHORT], 'yellow')}  {format_time(entry.at)} "
            f" {paint(clean(entry.author), 'cyan')}  {title}"
        )
        for line in body.strip().splitlines():
            say(f"{' ' * (_SHORT + 2)}{paint(line, 'dim')}")


@app.command()
@flatten_options
def diff(
    options: GlobalOptions,
    commit: Annotated[
        str,
        typer.Argument(help="Show this commit. Default: uncommitted changes.", show_default=False),
    ] = "",
    until: Annotated[
        str,
        typer.Argument(
            help="Show the changes from the first commit to this one.",
            show_default=False,
            metavar="OTHER",
        ),
    ] = "",
) -> None:
    """Show the git diff of the memory files."""
    with open_vault(options) as (_, vault, _owner):
        patch = vault.git.diff(commit, until)
    if options.json:
        emit({"diff": patch})
        return
    for line in patch.splitlines():
        shown = clean(line)
        say(
            paint(shown, _COLOURS[line[0]])
            if line[:1] in _COLOURS and not line.startswith(("+++", "---"))
            else shown
        )


@app.command()
@flatten_options
def blame(
    options: GlobalOptions,
    id: Annotated[
        str, typer.Argument(help="The memory's id, or its first six characters or more.")
    ],
) -> None:
    """Show the commit and author of each line of a file."""
    with open_vault(options) as (engine, vault, owner):
        vault.commit()
        lines = vault.git.blame(vault.file(owner, engine.get(id, scope=owner).id))
    if options.json:
        emit({"lines": lines})
        return
    print_table(
        ("commit", "when", "who", "line"),
        [[line.commit[:_SHORT], format_time(line.at), line.author, line.text] for line in lines],
        {0: "yellow"},
    )


@app.command()
@flatten_options
def revert(options: GlobalOptions, commit: Commit) -> None:
    """Undo one commit; later changes are kept."""
    with open_vault(options) as (_, vault, _owner):
        reverted = vault.revert(commit)
    if options.json:
        emit(reverted)
    else:
        say(f"{len(reverted.changed)} memories restored.")
        for name, why in reverted.kept.items():
            say(f"{paint('kept', 'yellow')}  {clean(name)}: {clean(why)}")
    if reverted.kept and not reverted.changed:
        raise typer.Exit(1)


@app.command()
@flatten_options
def reindex(
    options: GlobalOptions,
    files: Annotated[
        bool, typer.Option("--files", help="Rewrite every file from the database instead.")
    ] = False,
) -> None:
    """Rebuild the database from the files; keep the old one."""
    from engrams import admin

    counts = admin.reindex(options.load().settings, files=files)
    if options.json:
        emit(counts)
    else:
        say(", ".join(f"{name} {number}" for name, number in counts.items()))


@app.command()
@flatten_options
def dream(
    options: GlobalOptions,
    days: Annotated[int, typer.Option(min=1, max=30, help="Days to look back.")] = 3,
    force: Annotated[bool, typer.Option("--force", help="Run even if nothing is new.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only show what would change.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Apply the waiting plan.")] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Restore MEMORY.md as it was before the last dream.")
    ] = False,
) -> None:
    """Move lasting facts from the daily notes into MEMORY.md."""
    with open_vault(options) as (_, vault, owner):
        dreams = vault.notes.dreams
        if undo:
            dreams.undo(owner)
            dream_plan = None
            outcome = "Undone."
        elif apply:
            dream_plan = dreams.held_plan(owner)
            if dream_plan is None:
                raise RefusedError(
                    "There is no waiting plan.", hint="`engrams dream --plan` makes one."
                )
            dreams.apply(dream_plan)
            outcome = "Done."
        else:
            dream_plan = vault.notes.dream(owner, days, force=force, confirm=plan or None)
            outcome = "Nothing new."
            if dream_plan is not None:
                outcome = "Done." if dream_plan.memory is not None else "Nothing that lasts."
                outcome = (
                    "The plan waits for `engrams dream --apply`."
                    if dreams.held_plan(owner)
                    else outcome
                )
        vault.sync()
    if options.json:
        emit({"plan": dream_plan, "told": outcome})
        return
    for text in dream_plan.added if dream_plan else ():
        say(f"{paint('in ', 'green')}  {clean(text)}")
    for text, why in dream_plan.dropped if dream_plan else ():
        say(f"{paint('out', 'red')}  {clean(text)} {paint(f'({why})', 'dim')}")
    say(outcome)


@app.command()
@flatten_options
def backup(
    options: GlobalOptions,
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    passphrase: Passphrase = "",
) -> None:
    """Write memory and files to one checked backup file.

    A server may go on meanwhile. The file holds the database and the Markdown files, not
    config.toml and not the API keys.

    Example: engrams backup ~/memory.bak, and on the new machine engrams recover ~/memory.bak.
    """
    from engrams import admin

    with options.open() as (engine, _):
        written_backup = admin.backup(engine, file, passphrase)
    data = {
        "path": str(written_backup.path),
        "files": written_backup.files,
        "bytes": written_backup.bytes,
        "sealed": written_backup.sealed,
    }
    if options.json:
        emit(data)
    else:
        say(
            f"{written_backup.files} files, {written_backup.bytes:,} bytes, checked: {clean(str(written_backup.path))}"
        )


@app.command()
@flatten_options
def recover(
    options: GlobalOptions,
    file: Annotated[Path, typer.Argument(help="A file that `engrams backup` wrote.")],
    passphrase: Passphrase = "",
) -> None:
    """Restore a backup into a home without memory, as `restore FILE`.

    The home of --home (else the usual one) gets the database and the Markdown files as they were.
    One that holds memory is refused: move it away first, or name another.

    Example: engrams recover ~/memory.bak --home ~/restored.
    """
    restore_backup(options, file, passphrase)


def restore_backup(options: GlobalOptions, file: Path, passphrase: str) -> None:
    """Restore a backup into a fresh home."""
    from engrams import admin, encryption
    from engrams.core import Scope

    settings = options.load().settings
    count = admin.recover(settings, file, passphrase)
    lost: tuple[str, ...] = ()
    if encryption.find_keys(settings.home.expanduser()) is None:
        with options.open(reads=True) as (engine, scope):
            lost = engine.sync.list_lost(Scope(scope))
    if options.json:
        emit({"files": count, "exchanged": lost})
        return
    say(f"{count} files restored.")
    if lost:
        names = [f"the space {clean(name)}" if name else "your own" for name in lost]
        note(
            f"Other homes have this memory too ({', '.join(names)}). A backup has no keys of theirs: what they"
            " changed or purged since is shown here as it was, until this home joins again."
        )
