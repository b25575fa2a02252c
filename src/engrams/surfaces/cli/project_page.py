"""Command project page: the memory of a project as a page that a team commits."""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.errors import InputError, NotFoundError
from engrams.surfaces.cli.confirm import confirm_change
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, report, say
from engrams.surfaces.cli.page_sections import (
    DECISION,
    DECISIONS,
    PageEdits,
    is_on_page,
    read_edits,
    render_section,
    replace_section,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engrams.core import Record
    from engrams.engine import MemoryEngine

app = new_app()
project = new_app()
app.add_typer(project, name="project", help="Write the memory of a project as a page.")

_FILE = "MEMORY.md"
_LIMIT = 1_000
_REASON = "edited in the project's page"


@project.callback()
def _group() -> None:
    """Write the memory of a project as a page."""


@project.command()
@flatten_options
def page(
    options: GlobalOptions,
    file: Annotated[
        Path | None,
        typer.Option(
            help="The page, such as AGENTS.md or docs/decisions.md (default: MEMORY.md).",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Change the page without asking.")
    ] = False,
) -> None:
    """Write a project's rules, decisions, fixes and facts into a page of its repository.

    Only a section of the page is written; the rest stays. The change is shown first. What people
    edited, added or removed in the section since then is taken over into memory before.
    """
    from dataclasses import replace

    from engrams.settings.project_name import find_root

    options = replace(options, project=options.project or ".")
    with options.open() as (engine, scope):
        checkout = options.find_checkout(engine.settings)
        if checkout is None:
            raise InputError(
                f"The code of the project {options.project} is not known here.",
                hint="Run this in the project's folder.",
            )
        root = find_root(checkout) or checkout
        path = root / (file or _FILE)
        before = path.read_text("utf-8") if path.is_file() else ""
        edits = read_edits(before)
        records = _list_records(engine, scope)
        if not edits.is_empty:
            _take_over(engine, scope, edits, records, root)
            records = _list_records(engine, scope)
        checked = engine.code.verify(scope=scope, checkout=checkout)
        verdicts = {memory.record.id: memory.verdict for memory in checked}
        section = render_section(
            [(record, verdicts.get(record.id)) for record in records], str(root), name=scope[-1]
        )
    after = replace_section(before, section)
    fields = {
        "file": str(path),
        "changed": before != after,
        "edited": len(edits.changed),
        "added": len(edits.added),
        "removed": len(edits.removed),
    }
    if before == after:
        report(options, fields, f"Nothing to change in {path}.")
        return
    if not options.json:
        say(clean(_diff(path.name, before, after)).rstrip())
    confirm_change(path, yes=yes)
    _write(path, after)
    taken = len(edits.changed) + len(edits.added) + len(edits.removed)
    report(options, fields, f"{path} is up to date. Edits taken over: {taken}.")


def _list_records(engine: MemoryEngine, scope: tuple[str, ...]) -> list[Record]:
    """List the active memories of the project itself, in the order in which they were said."""
    from engrams.core import Scope, Status

    page = engine.list(scope=scope, statuses=(Status.ACTIVE,), order="oldest", limit=_LIMIT)
    own = Scope(scope)
    records = [record for record in page.records if record.scope == own]
    derived = {item.source for record in records for item in record.evidence}
    return [record for record in records if record.id not in derived]


def _take_over(
    engine: MemoryEngine,
    scope: tuple[str, ...],
    edits: PageEdits,
    records: Sequence[Record],
    root: Path,
) -> None:
    """Store what people changed in the page. A memory that is gone by now is left alone."""
    from engrams.core import Kind, Scope, Turn

    known_ids = {record.id for record in records}
    for memory_id, text in edits.changed.items():
        if memory_id in known_ids:
            engine.edit(memory_id, scope=scope, text=text, reason=_REASON)
    for memory_id in edits.removed:
        if memory_id in known_ids:
            try:
                engine.forget(memory_id, scope=scope, reason="removed from the project's page")
            except NotFoundError:
                continue
    for title, text in edits.added:
        if is_on_page(records, text, str(root)):
            continue
        kind = Kind.FACT if title == "Facts" else Kind.RULE
        # A page comes with its repository: anybody may have written the line.
        turns = engine.code.anchor([Turn(text)], root)
        (receipt,) = engine.write_turns(turns, Scope(scope), kind, "file")
        if title == DECISIONS and receipt.id:
            engine.edit(receipt.id, scope=scope, fields={"category": DECISION}, reason=_REASON)


def _diff(name: str, before: str, after: str) -> str:
    lines = unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), name, name, n=1
    )
    return "".join(lines)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8", newline="")
    temporary.replace(path)
