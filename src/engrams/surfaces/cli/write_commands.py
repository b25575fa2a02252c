"""Commands edit, forget, restore and purge.

`add_command` has the command that stores new memories.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engrams.errors import EngramsError, InputError, NotFoundError
from engrams.surfaces.cli.confirm import confirm_erase
from engrams.surfaces.cli.filter_options import parse_value
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import emit, fit_line, paint, say, to_json
from engrams.surfaces.cli.passphrase_option import Passphrase
from engrams.surfaces.cli.purge_choice import choose_candidates
from engrams.surfaces.cli.render import record_line

if TYPE_CHECKING:
    from engrams.core import Record
    from engrams.engine import MemoryEngine
    from engrams.engine.answer_types import SourceChangeReport
    from engrams.ports import PurgeReport

app = new_app()

Ids = Annotated[
    list[str], typer.Argument(help="Ids of memories, or their first six characters or more.")
]
Reason = Annotated[
    str, typer.Option(help="The reason, for the history.", show_default=False, metavar="TEXT")
]

Preview = Annotated[bool, typer.Option("--preview", help="Only show the effect.")]

_PAGE = 500
_PLACES_LEFT_TO_USER = (
    "also said",
    "sources",
    "git history",
    "git remote",
    "backups",
    "other files",
)
"""Places that a purge may leave to whoever asked for it."""


@app.command()
@flatten_options
def edit(  # noqa: PLR0913 - options of a command
    id: Annotated[
        str, typer.Argument(help="The memory's id, or its first six characters or more.")
    ],
    options: GlobalOptions,
    text: Annotated[
        str | None,
        typer.Argument(help="The new text; `-` reads standard input.", show_default=False),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            help="Change a field: importance=0.9, tags=a,b. Repeatable.",
            show_default=False,
            metavar="NAME=VALUE",
        ),
    ] = None,
    expect: Annotated[
        int | None,
        typer.Option(
            help="Change it only if it still has this version.", show_default=False, metavar="N"
        ),
    ] = None,
    reason: Reason = "",
    preview: Preview = False,
) -> None:
    """Change a memory's text or fields; its history keeps old values."""
    from engrams.spaces.speakers import sign_edit
    from engrams.transfer import formats

    new_text = formats.read_text(formats.STDIN).rstrip("\n") if text == formats.STDIN else text
    new_fields = dict(_parse_field(change) for change in changes or ())
    if new_text is None and not new_fields:
        raise InputError(
            "There is nothing to change.", hint="Give a new text, or --field NAME=VALUE."
        )
    with options.open() as (engine, scope):
        report = engine.preview([id], "edit", scope) if new_text is not None or preview else None
        if preview:
            _show_preview(report, options, engine, scope)
            return
        if new_text is not None:
            new_fields["text"] = new_text
        signed_fields = sign_edit(
            engine.get(id, scope=scope), new_fields, options.find_speaker(engine)
        )
        record = engine.edit(id, scope=scope, fields=signed_fields, expect=expect, reason=reason)
    if options.json:
        emit(_with_sources(record, report))
        return
    say(f"{paint('changed', 'green')}  {paint(record.id, 'dim')}  {record_line(record, 100)}")
    _print_sources(report)


@app.command()
@flatten_options
def forget(ids: Ids, options: GlobalOptions, reason: Reason = "", preview: Preview = False) -> None:
    """Forget memories until `restore`; `purge` erases for good.

    A message that said only this goes with it; of one that says more, reads leave the words out.
    What it had replaced stays ended until you restore that.
    """
    with options.open() as (engine, scope):
        if preview:
            _show_preview(engine.preview(ids, "forget", scope), options, engine, scope)
            return
        reports = []
        records = []
        for id in ids:
            reports.append(engine.preview([id], "forget", scope))
            records.append(engine.forget(id, scope=scope, reason=reason))
        replaced = engine.inspect.list_replaced(
            records[0].scope.owner, [record.id for record in records]
        )
    if options.json:
        emit(
            [_with_sources(record, report) for record, report in zip(records, reports, strict=True)]
        )
        return
    for record, report in zip(records, reports, strict=True):
        say(
            f"{paint('forgotten', 'yellow')}  {paint(record.id, 'dim')}  {record_line(record, 100)}"
        )
        _print_sources(report)
    for record in replaced:
        say(
            f"had replaced {paint(record.id, 'dim')}  {record_line(record, 60)} If it is true"
            f" again: engrams restore {record.id}"
        )


@app.command()
@flatten_options
def restore(
    ids: Annotated[
        list[str],
        typer.Argument(
            help="Ids of memories, or their first six characters or more; or one backup's file."
        ),
    ],
    options: GlobalOptions,
    passphrase: Passphrase = "",
) -> None:
    """Undo forget, or restore a backup file like `recover`.

    A backup needs a home without memory.
    """
    from engrams.admin import is_backup

    if len(ids) == 1 and is_backup(Path(ids[0])):
        from engrams.surfaces.cli.vault_commands import restore_backup

        restore_backup(options, Path(ids[0]), passphrase)
        return
    with options.open() as (engine, scope):
        try:
            records = [engine.restore(id, scope=scope) for id in ids]
        except NotFoundError:
            if file_names := [id for id in ids if os.sep in id or Path(id).suffix]:
                problem = "is no backup" if Path(file_names[0]).exists() else "does not exist"
                raise NotFoundError(
                    f"{file_names[0]} {problem}.",
                    hint="`engrams recover FILE` reports problems of a backup.",
                ) from None
            raise
    if options.json:
        emit(records)
        return
    for record in records:
        say(f"{paint('restored', 'green')}  {paint(record.id, 'dim')}  {record_line(record, 100)}")


@app.command()
@flatten_options
def purge(  # noqa: PLR0913 - options of a command
    options: GlobalOptions,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of memories.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything in the scope.")] = False,
    about: Annotated[
        str,
        typer.Option(
            help="Everything about a person or thing, chosen from a list.",
            show_default=False,
            metavar="TEXT",
        ),
    ] = "",
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="With --about: erase all memories that name it, without a question."
        ),
    ] = False,
    git: Annotated[
        bool,
        typer.Option("--git", help="Also from the git history of the files, which is rewritten."),
    ] = False,
    confirm: Annotated[
        str,
        typer.Option(
            help="The word `purge`, in place of the question.", show_default=False, metavar="WORD"
        ),
    ] = "",
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="Write a certificate to this file; `engrams certificate FILE` checks it.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    preview: Preview = False,
) -> None:
    """Erase memories for good and show the proof.

    Text, vectors, index, history and everything derived from them alone.
    """
    if [bool(ids), everything, bool(about)].count(True) != 1:
        raise InputError(
            "Say what to purge, in one way.",
            hint="Give ids, --about TEXT, or --all with the scope (--user, --project, …).",
        )
    if yes and not about:
        raise InputError("--yes belongs to --about.", hint="Without a question: --confirm purge.")
    with options.open() as (engine, scope):
        if about:
            candidates = engine.find_about(about, scope=scope)
            ids = choose_candidates(candidates, yes=yes, preview=preview, as_json=options.json)
            if not ids:
                return
        record_ids = (
            [record.id for record in engine.inspect.list_within(scope, purged=git)]
            if everything
            else [engine.get(id, scope=scope).id for id in ids or ()]
        )
        if not record_ids:
            raise InputError("There is nothing to purge here.")
        report = engine.preview(record_ids, "purge", scope) if ids or preview else None
        if preview:
            _show_preview(report, options, engine, scope)
            return
        if not options.json:
            _print_sources(report)
        # Whoever chose from a list was asked already.
        word = "purge" if about else confirm
        confirm_erase(f"{len(record_ids)} memories of {'/'.join(scope)}", word)
        if everything:
            erased = engine.purge_all(scope, git=git)
        else:
            erased = engine.purge(record_ids, scope=scope, git=git)
    _write_certificate(certificate, erased)
    if options.json:
        data = {
            "removed": erased.removed,
            "remaining": erased.remaining,
            "proven": erased.proven,
            "places": erased.places,
            "certificate": erased.certificate,
        }
        emit({**data, **_sources_to_dict(report, quotes=False)})
    else:
        print_proof(erased)
    if any(store.left for store in erased.places if store.name not in _PLACES_LEFT_TO_USER):
        raise EngramsError(
            "Something remained after the purge.",
            hint="Each place above says how to remove it.",
        )


def _write_certificate(file: Path | None, erased: PurgeReport) -> None:
    """Write the certificate of a purge where a file is named."""
    if file is not None:
        file.write_text(json.dumps(erased.certificate, indent=1) + "\n", "utf-8")


def print_proof(erased: PurgeReport) -> None:
    """Print what was erased, and each place that was looked at again."""
    say(
        "erased:    "
        + ", ".join(f"{name} {number}" for name, number in erased.removed.items() if number)
    )
    for store in erased.places:
        remains = f"{store.left} still hold it. {store.advice}" if store.left else "nothing left"
        say(
            f"looked at  {store.name} ({store.looked}):"
            f" {paint(remains, 'yellow' if store.left else 'dim')}"
        )
    say(
        paint("proven: nothing of it is left", "green")
        if erased.proven
        else paint("not proven", "yellow")
    )


def _sources_to_dict(report: SourceChangeReport | None, *, quotes: bool = True) -> dict[str, Any]:
    """Return the affected source messages of a change as JSON."""
    if report is None:
        return {"sources": [], "also_said_in": ()}
    sources = [
        {"id": source.id, "effect": source.effect, "quotes": source.quotes if quotes else ()}
        for source in report.sources
    ]
    return {"sources": sources, "also_said_in": report.also_said_in}


def _with_sources(record: Record, report: SourceChangeReport | None) -> dict[str, Any]:
    return {**to_json(record), **_sources_to_dict(report)}


def _show_preview(
    report: SourceChangeReport | None,
    options: GlobalOptions,
    engine: MemoryEngine,
    scope: tuple[str, ...],
) -> None:
    if options.json:
        emit(report)
        return
    for id, effect in report.effects.items() if report else ():
        say(
            f"would be {effect}  {paint(id, 'dim')} "
            f" {fit_line(engine.get(id, scope=scope).text, 80)}"
        )
    _print_sources(report)


def _print_sources(report: SourceChangeReport | None) -> None:
    """Print what a change does to the messages behind the memories."""
    for source in report.sources if report else ():
        say(
            f"source     {paint(source.id, 'dim')}  {source.effect}:"
            f" {fit_line('; '.join(source.quotes), 80)}"
        )
    if report and (number := len(report.also_said_in)):
        say(
            f"also said in {number} {'message' if number == 1 else 'messages'}:"
            f" {', '.join(report.also_said_in)}"
        )


def _parse_field(text: str) -> tuple[str, Any]:
    name, sign, raw = text.partition("=")
    if not sign:
        raise InputError(f"--field needs NAME=VALUE, not {text!r}.")
    name = name.strip()
    if name in ("tags", "triggers", "steps"):
        return name, tuple(part.strip() for part in raw.split(",") if part.strip())
    if name == "meta":
        return name, to_json(parse_value("meta.", raw))
    return name, None if raw == "" and name.startswith("valid_") else parse_value(name, raw)
