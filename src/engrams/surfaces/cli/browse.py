"""Commands list, projects, show and history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from engrams.errors import InputError
from engrams.settings.project_name import ProjectNames
from engrams.surfaces.cli.filter_options import (
    AsOfTimeOptions,
    RecordFilterOptions,
    ScopeOptions,
    parse_name,
)
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
from engrams.surfaces.cli.render import (
    describe_record,
    mark_to_dict,
    print_record,
    record_line,
    speaker_name,
)

if TYPE_CHECKING:
    from engrams.core import HistoryEntry, OutdatedMark, Record
    from engrams.ports import Where

app = new_app()

_SHOWN_BEFORE_MERGE = 5
"""Memories that are shown before a project is merged into another."""

Id = Annotated[str, typer.Argument(help="The memory's id, or its first six characters or more.")]


@app.command(name="list")
@flatten_options
def list_(  # noqa: PLR0913 - options of a command
    options: GlobalOptions,
    part: ScopeOptions,
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
        "as_of": times.moment(),
        "text": text,
        "limit": limit,
    }
    if status:
        filters["statuses"] = _parse_statuses(status)
    with part.choose_project(options).open(reads=True) as (engine, scope):
        where = part.narrow(where, scope)
        page = engine.list(scope=scope, where=where, order=order, after=after, **filters)
        # What was known at a time was in no doubt by what was said later.
        listed = () if filters["as_of"] else page.records
        marks = engine.inspect.find_outdated(listed, scope=scope)
    if options.json:
        outdated = {id: mark_to_dict(mark) for id, mark in marks.items()}
        emit({"records": page.records, "next": page.next, "outdated": outdated})
        return
    if not page.records:
        note("Nothing here.")
        return
    rows = [
        [
            record.id,
            format_time(record.recorded_at),
            _describe_kind(record, marks.get(record.id)),
            speaker_name(record),
            form_statement(record).brief,
        ]
        for record in page.records
    ]
    project_names = [record.scope.find("project") for record in page.records]
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
def projects(
    options: GlobalOptions,
    merge: Annotated[
        str,
        typer.Option(
            help="Move this project's memories; needs --into.", show_default=False, metavar="NAME"
        ),
    ] = "",
    into: Annotated[
        str,
        typer.Option(
            help="The project that they move into; . is the folder's.",
            show_default=False,
            metavar="NAME",
        ),
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="With --merge: move without a question.")
    ] = False,
) -> None:
    """List projects and how many active memories each has, or merge one into another.

    The row without a name counts what was said outside of any project.
    """
    from engrams.core import Scope

    if bool(merge) != bool(into):
        raise InputError(
            "--merge and --into belong together.",
            hint="engrams projects --merge fix-login --into shop",
        )
    if merge:
        _merge_projects(options, merge, into, yes=yes)
        return
    with options.open(reads=True) as (engine, labels):
        settings = engine.settings
        totals = Counter[str]()
        for scope, number in engine.inspect.count_scopes(Scope.of(labels).owner).items():
            totals[scope.find("project")] += number
        counts = dict(sorted(totals.items()))
    if options.json:
        emit({"projects": [{"name": name, "memories": number} for name, number in counts.items()]})
    elif counts:
        print_table(
            ("project", "memories"), [[name, str(number)] for name, number in counts.items()], {}
        )
        for name, project in _find_split(settings.home.expanduser(), counts):
            note(
                f"{name} is a folder of {project}: engrams projects --merge {name} --into {project}"
            )
    else:
        note("Nothing here.")


def _find_split(home: Path, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Find projects that older versions named after a worktree or clone of another project."""
    projects = ProjectNames(home).read_all()
    known_names = {str(project.get("name")) for project in projects}
    for project in projects:
        for alias in project.get("aliases", ()):
            if alias in names and alias not in known_names:
                yield str(alias), str(project["name"])


def _merge_projects(options: GlobalOptions, merge: str, into: str, *, yes: bool) -> None:
    """Show what would move, ask, and move it."""
    from engrams.core import Scope

    with options.open() as (engine, labels):
        owner = Scope.of(labels).owner
        target_options = replace(options, project=into)
        target = Scope(target_options.scope(engine.settings))
        source = owner.within("project", merge)
        count = engine.move_scope(source, into=target, preview=True)
        if options.json and not yes:
            emit({"from": merge, "into": target.labels[-1], "memories": count, "moved": False})
            return
        if not count:
            note(f"Project {merge} has no memories.")
            return
        if not yes:
            for record in engine.list(scope=source, limit=_SHOWN_BEFORE_MERGE).records:
                say(f"{paint(record.id, 'dim')}  {record_line(record, 100)}")
            question = f"Move {count} memories of {merge} into {target.labels[-1]}?"
            if not typer.confirm(question):
                raise typer.Abort
        moved = engine.move_scope(source, into=target)
    if options.json:
        emit({"from": merge, "into": target.labels[-1], "memories": moved, "moved": True})
    else:
        say(f"{moved} memories of {merge} are in {target.labels[-1]} now.")


@app.command()
@flatten_options
def show(id: Id, options: GlobalOptions) -> None:
    """Show one memory with all its fields and its history."""
    with options.open(reads=True) as (engine, scope):
        record = engine.get(id, scope=scope)
        entries = engine.history(record.id, scope=scope)
    if options.json:
        emit({"record": describe_record(record), "history": entries})
        return
    print_record(record)
    if entries:
        say()
        print_history(entries)


@app.command()
@flatten_options
def history(id: Id, options: GlobalOptions) -> None:
    """Show every change of one memory, oldest first."""
    with options.open(reads=True) as (engine, scope):
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


def _describe_kind(record: Record, mark: OutdatedMark | None) -> str:
    """Tell the kind of a listed memory, and whether it holds: a long text hides what stands behind it."""
    if record.status != "active":
        return f"{record.kind} {record.status}"
    if mark is None:
        return record.kind
    state = "over" if mark.closed else "may be outdated"
    part = " in part" if mark.clause else ""
    return f"{record.kind}, {state}{part}"
