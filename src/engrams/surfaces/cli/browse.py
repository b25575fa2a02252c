"""Commands list, projects, show and history."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from engrams.surfaces.cli.filter_options import AsOfTimeOptions, RecordFilterOptions, parse_name
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import (
    clean,
    emit,
    format_time,
    note,
    paint,
    print_table,
    say,
    to_json,
)
from engrams.surfaces.cli.render import print_record, speaker_name

if TYPE_CHECKING:
    from engrams.core import HistoryEntry, Scope
    from engrams.ports import Where

app = new_app()

Id = Annotated[str, typer.Argument(help="The memory's id, or its first six characters or more.")]


@app.command(name="list")
@flatten_options
def list_(  # noqa: PLR0913 - options of a command
    options: GlobalOptions,
    sift: RecordFilterOptions,
    times: AsOfTimeOptions,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="At most this many.", metavar="N")
    ] = 20,
    text: Annotated[
        str,
        typer.Option(help="Only where the text contains this.", show_default=False, metavar="TEXT"),
    ] = "",
    status: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Only with this status (default: active). `all`: any status, and"
                " entries that only agent frameworks use. Repeatable."
            ),
            show_default=False,
            metavar="STATUS",
        ),
    ] = None,
    order: Annotated[Literal["newest", "oldest"], typer.Option(help="The order.")] = "newest",
    after: Annotated[
        str, typer.Option(help="Continue after this id.", show_default=False, metavar="ID")
    ] = "",
) -> None:
    """List memories by what they are, newest first."""
    from engrams.core.statement_form import form_statement

    where = sift.where() if "all" in (status or ()) else _without_bookkeeping(sift.where())
    filters: dict[str, Any] = {
        "kinds": sift.kinds(),
        "where": where,
        "as_of": times.moment(),
        "text": text,
        "limit": limit,
    }
    if status:
        filters["statuses"] = _parse_statuses(status)
    with options.open() as (engine, scope):
        page = engine.list(scope=scope, order=order, after=after, **filters)
    if options.json:
        emit({"records": page.records, "next": page.next})
        return
    if not page.records:
        note("Nothing here.")
        return
    rows = [
        [
            record.id,
            format_time(record.recorded_at),
            record.kind if record.status == "active" else f"{record.kind} {record.status}",
            speaker_name(record),
            form_statement(record).brief,
        ]
        for record in page.records
    ]
    project_names = [_find_project(record.scope) for record in page.records]
    has_projects = any(project_names)
    rows = [
        [*row[:3], *([project] if has_projects else []), *row[3:]]
        for row, project in zip(rows, project_names, strict=True)
    ]
    print_table(
        ("id", "when", "kind", *(["project"] if has_projects else []), "who", "text"),
        rows,
        {0: "dim"},
    )
    if page.next:
        note(f"More follow: --after {page.next}")


@app.command()
@flatten_options
def projects(options: GlobalOptions) -> None:
    """List projects and how many active memories each has.

    The row without a name counts what was said outside of any project.
    """
    from engrams.core import Scope

    with options.open(reads=True) as (engine, labels):
        totals = Counter[str]()
        for scope, number in engine.inspect.count_scopes(Scope.of(labels).owner).items():
            totals[_find_project(scope)] += number
        counts = dict(sorted(totals.items()))
    if options.json:
        emit({"projects": [{"name": name, "memories": number} for name, number in counts.items()]})
    elif counts:
        print_table(
            ("project", "memories"), [[name, str(number)] for name, number in counts.items()], {}
        )
    else:
        note("Nothing here.")


def _find_project(scope: Scope) -> str:
    """Return the project of a scope, or an empty name."""
    return dict(zip(scope.labels[::2], scope.labels[1::2], strict=False)).get("project", "")


@app.command()
@flatten_options
def show(id: Id, options: GlobalOptions) -> None:
    """Show one memory with all its fields and its history."""
    from engrams.core import find_basis

    with options.open() as (engine, scope):
        record = engine.get(id, scope=scope)
        entries = engine.history(record.id, scope=scope)
    if options.json:
        emit({"record": {**to_json(record), "basis": find_basis(record)}, "history": entries})
        return
    print_record(record)
    if entries:
        say()
        print_history(entries)


@app.command()
@flatten_options
def history(id: Id, options: GlobalOptions) -> None:
    """Show every change of one memory, oldest first."""
    with options.open() as (engine, scope):
        entries = engine.history(id, scope=scope)
    if options.json:
        emit({"history": entries})
    else:
        print_history(entries)


def print_history(entries: tuple[HistoryEntry, ...]) -> None:
    """Print the changes of a memory."""
    for entry in entries:
        reason = f": {entry.reason}" if entry.reason else ""
        action = clean(f"{entry.action} by {entry.actor or 'engrams'}{reason}")
        say(f"{paint(format_time(entry.at), 'dim')}  version {entry.version}  {action}")
        for name, new_value in to_json(entry.after).items():
            old_value = to_json(entry.before).get(name)
            if old_value != new_value and name != "version":
                say(
                    f"    {name}: {clean(str(old_value))} -> {clean(str(new_value))}"
                    if old_value not in (None, "", [])
                    else f"    {name}: {clean(str(new_value))}"
                )


def _without_bookkeeping(where: Where | None) -> Where:
    """Leave out what agent frameworks keep for themselves."""
    from engrams.core import UNSEARCHED
    from engrams.ports import Condition, Where

    not_bookkeeping = Where(
        "not",
        (Condition(f"meta.{UNSEARCHED}", "exists", True), Condition("meta.item", "exists", True)),
    )
    return not_bookkeeping if where is None else Where("and", (where, not_bookkeeping))


def _parse_statuses(texts: list[str]) -> tuple[Any, ...]:
    from engrams.core import Status

    return (
        tuple(Status)
        if "all" in texts
        else tuple(parse_name(Status, text, "status") for text in texts)
    )
