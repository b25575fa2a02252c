"""Command documents: list the documents of a memory, show one, forget or erase it."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.core.document_location import describe_location, read_location
from engrams.surfaces.cli.confirm import confirm_erase
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, format_time, note, paint, print_table, say
from engrams.surfaces.cli.write_commands import print_proof

app = new_app()


@app.command()
@flatten_options
def documents(  # noqa: PLR0913 - options of a command
    options: GlobalOptions,
    document: Annotated[
        str | None,
        typer.Argument(
            help="A document's name, path or id; shows its passages.", show_default=False
        ),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Forget it: no search finds it.")
    ] = False,
    restore: Annotated[bool, typer.Option("--restore", help="Undo --forget.")] = False,
    purge: Annotated[
        bool, typer.Option("--purge", help="Erase it for good, in all its versions.")
    ] = False,
    confirm: Annotated[
        str,
        typer.Option(
            help="With --purge: the word `purge`, in place of the question.",
            show_default=False,
            metavar="WORD",
        ),
    ] = "",
    refresh: Annotated[
        bool,
        typer.Option("--refresh", help="Read all documents again, and take what changed."),
    ] = False,
    describe: Annotated[
        bool,
        typer.Option(
            "--describe",
            help="Let a model tell of pictures and sounds that have no description, or of one.",
        ),
    ] = False,
    git: Annotated[
        bool,
        typer.Option(
            "--git",
            help="With --purge: also from the git history of the files, which is rewritten.",
        ),
    ] = False,
) -> None:
    """List the documents in memory, or show, forget or erase one.

    `engrams add FILE` adds one; the same command on a changed file brings it up to date.
    """
    if refresh:
        _refresh_documents(options)
    elif describe:
        _describe_documents(options, document or "")
    elif document is None:
        _list_documents(options)
    elif purge:
        _purge_document(options, document, confirm, git=git)
    elif forget or restore:
        with options.open() as (engine, scope):
            act = engine.documents.forget if forget else engine.documents.restore
            changed = act(document, scope)
        word = "forgotten" if forget else "restored"
        if options.json:
            emit({"id": changed.id, "name": changed.name, "status": word})
        else:
            say(f"{paint(word, 'green')}  {clean(changed.name)}")
    else:
        _show_document(options, document)


def _list_documents(options: GlobalOptions) -> None:
    with options.open(reads=True) as (engine, scope):
        listed = engine.documents.list(scope)
    if options.json:
        emit(
            [
                {
                    "id": item.id,
                    "name": item.name,
                    "title": item.first.title,
                    "source": item.first.source,
                    "passages": item.first.parts,
                    "stored_at": item.stored_at,
                    "scope": item.scope,
                }
                for item in listed
            ]
        )
    elif listed:
        rows = [
            (item.id, format_time(item.stored_at), str(item.first.parts), clean(item.name))
            for item in listed
        ]
        print_table(("ID", "AT", "PASSAGES", "DOCUMENT"), rows)
    else:
        note("No documents yet. `engrams add FILE` adds one.")


def _refresh_documents(options: GlobalOptions) -> None:
    with options.open() as (engine, scope):
        refreshed = engine.documents.refresh(scope)
    if options.json:
        emit(refreshed)
        return
    for item in refreshed:
        color = "yellow" if item.outcome in ("missing", "failed") else "green"
        say(f"{paint(item.outcome, color)}  {clean(item.name)}  {clean(item.problem)}".rstrip())


def _describe_documents(options: GlobalOptions, document: str) -> None:
    with options.open() as (engine, scope):
        described = engine.documents.describe(scope, document=document)
    if options.json:
        emit(described)
        return
    for item in described:
        color = "green" if item.outcome == "described" else "yellow"
        say(f"{paint(item.outcome, color)}  {clean(item.name)}  {clean(item.problem)}".rstrip())
    if not described:
        note("Every picture and sound has a description.")


def _show_document(options: GlobalOptions, document: str) -> None:
    with options.open(reads=True) as (engine, scope):
        passages = engine.documents.read(document, scope)
    if options.json:
        emit(
            [
                {"id": passage.id, "text": passage.text, "document": describe_location(passage)}
                for passage in passages
            ]
        )
        return
    for passage in passages:
        location = read_location(passage)
        say(f"{paint(passage.id, 'dim')}  {clean(location.label if location else document)}")
        for line in clean(passage.text).splitlines():
            say(f"    {line}")


def _purge_document(options: GlobalOptions, document: str, confirm: str, *, git: bool) -> None:
    with options.open() as (engine, scope):
        confirm_erase(f"the document {clean(document)} of {'/'.join(scope)}", confirm)
        report = engine.documents.purge(document, scope, git=git)
    if options.json:
        emit({"proven": report.proven, "removed": report.removed, "remaining": report.remaining})
        return
    say(f"{paint('erased', 'green')}  {clean(document)}")
    print_proof(report)
