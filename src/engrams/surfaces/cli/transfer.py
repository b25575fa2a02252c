"""Commands import and export."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from engrams.core import ImportOptions, Scope
from engrams.errors import ConflictError, InputError
from engrams.surfaces.cli.filter_options import ScopeOptions
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app, only_computes
from engrams.surfaces.cli.output import (
    clean,
    emit,
    format_iso,
    note,
    paint,
    print_table,
    say,
    show_progress,
)

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.transfer.formats import ExportFormat

app = new_app()

_SHOWN = 10
_WAIT = 3600.0
_EMPTY: dict[str, Any] = {
    "id": "", "stored": 0, "existing": 0, "refused": 0, "edges": 0, "files": 0, "rejected": 0, "unstored": 0, "seconds": 0.0, "ignored": (),
}  # fmt: skip


@app.command(name="import")
@flatten_options
def import_(  # noqa: PLR0913 - options of a command
    options: GlobalOptions,
    part: ScopeOptions,
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders or zips to import; `-` reads standard input."),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            help="auto, document, or another format; a wrong name lists them.", metavar="NAME"
        ),
    ] = "auto",
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for the background jobs of the import.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only read the files and count their contents.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Import the readable parts of broken files too.")
    ] = False,
    from_user: Annotated[
        str,
        typer.Option(
            help="The user whose memories to import, if the file has several; * takes all.",
            metavar="NAME",
        ),
    ] = "",
    ignored: Annotated[
        bool,
        typer.Option(
            "--include-ignored", help="Import files that .gitignore or .secretsignore name too."
        ),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Give memories that are here already the values of engrams' own export.",
        ),
    ] = False,
    list_imports: Annotated[bool, typer.Option("--list", help="List the imports so far.")] = False,
    undo: Annotated[
        str,
        typer.Option(help="Erase the memories of one import.", show_default=False, metavar="ID"),
    ] = "",
    git: Annotated[
        bool,
        typer.Option(
            "--git", help="With --undo: also from the git history of the files, which is rewritten."
        ),
    ] = False,
) -> None:
    """Import conversations and memories from files.

    Documents (PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, HTML, mail, contacts, calendars),
    ChatGPT, Claude, Telegram, mem0, Zep, Graphiti, Letta, cognee, Hindsight, Honcho, Supermemory,
    memvara, basic-memory, jcode, agent-cli, LangGraph, MCP memory, JSON, JSONL, CSV, Markdown, text,
    engrams' own export.

    A repeated import stores nothing twice, and an interrupted one goes on where it stopped. A
    broken file is refused whole.
    """
    if git and not undo:
        raise InputError("--git belongs to --undo.", hint="`engrams import --undo ID --git`.")
    if list_imports or undo:
        if undo:
            _undo_import(options, undo, git)
        else:
            _list_imports(options)
        return
    if not files:
        raise InputError(
            "Name the files to import.",
            hint="`engrams import FILE`; `engrams import --list` shows the imports so far.",
        )
    plan = ImportOptions(format, skip_bad, ignored=ignored, user=from_user, overwrite=overwrite)
    if dry_run:
        _report(_preview_files(files, format), options, plan, dry_run=True)
    else:
        import_files(part.choose_project(options), files, plan, wait=wait)


def import_files(
    options: GlobalOptions, files: list[str], plan: ImportOptions, *, wait: bool = True
) -> None:
    """Import files and print the outcome of each. InputError: some were not imported."""
    _report(_import_files(options, files, plan, wait=wait), options, plan)


def _report(
    results: list[dict[str, Any]],
    options: GlobalOptions,
    plan: ImportOptions,
    *,
    dry_run: bool = False,
) -> None:
    """Print the outcome of each file. InputError: some were, or would be, left out."""
    if options.json:
        emit(results[0] if len(results) == 1 else results)
    else:
        for result in results:
            _print_result(result)
    if not plan.skip_bad:
        _refuse_left_out(results, dry_run=dry_run)


def _refuse_left_out(results: list[dict[str, Any]], *, dry_run: bool) -> None:
    """End with an error where something is left out. InputError: how much."""
    rejected_files = sum(result["rejected"] for result in results)
    left_out = rejected_files + sum(result["unstored"] for result in results)
    if not left_out:
        return
    noun = "file" if rejected_files == left_out else "piece"
    subject = f"1 {noun}" if left_out == 1 else f"{left_out} {noun}s"
    if dry_run:
        outcome = "cannot be imported."
    else:
        outcome = f"{'was' if left_out == 1 else 'were'} not imported. The rest was imported."
    raise InputError(
        f"{subject} {outcome}",
        hint="Repair or remove the listed files, or accept it with --skip-bad.",
    )


@app.command()
@flatten_options
def export(
    options: GlobalOptions,
    target: Annotated[
        str,
        typer.Argument(
            help="The file to write (folder for markdown and obsidian); `-` is standard output."
        ),
    ],
    format: Annotated[
        Literal["jsonl", "markdown", "csv", "mem0", "langgraph", "letta", "obsidian"],
        typer.Option(
            help=(
                "jsonl is complete and can be imported; markdown and obsidian are for reading;"
                " others for their programs."
            )
        ),
    ] = "jsonl",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file or folder.")
    ] = False,
) -> None:
    """Export every memory in the scope; as jsonl with history and links."""
    from engrams.transfer import formats

    if target == "-" and format in formats.FOLDERS:
        raise InputError(
            f"The format {format} is a folder; it cannot go to standard output.",
            hint="Name a folder, or use --format jsonl.",
        )
    path = Path(target)
    if format not in formats.FOLDERS and path.is_dir():
        raise InputError(
            f"{target} is a folder.",
            hint=f"Name a file, such as {path / 'memory.jsonl'}, or use --format markdown.",
        )
    is_same_vault = format == "obsidian" and formats.is_vault(path)
    if target != "-" and not overwrite and not is_same_vault and _is_occupied(path):
        raise ConflictError(
            f"{target} exists already.", hint="Give --overwrite to replace it, or another name."
        )
    with (
        options.open(reads=True) as (engine, scope),
        show_progress("exporting", quiet=options.json) as bar,
    ):
        to_stdout = target == "-"
        number = (
            _export_to_stdout(engine, scope, format, bar)
            if to_stdout
            else engine.dump(path, scope=scope, format=format, progress=bar)
        )
    if target == "-":
        return
    if options.json:
        emit({"file": target, "format": format, "records": number})
    else:
        say(f"{paint('exported', 'green')}  {number} memories to {target}")


def _import_files(
    options: GlobalOptions, files: list[str], plan: ImportOptions, *, wait: bool
) -> list[dict[str, Any]]:
    results = []
    with options.open(drains=wait) as (engine, scope):
        for file in files:
            try:
                results.append(
                    _import_file(engine, scope, file, plan, quiet=options.json, wait=wait)
                )
            except InputError as problem:
                if len(files) == 1:
                    raise
                results.append(
                    {
                        **_EMPTY,
                        "file": file,
                        "rejected": 1,
                        "bad": [{"line": 0, "message": problem.message}],
                        "scopes": {},
                    }
                )
        if wait and any(result["stored"] for result in results):
            with show_progress("learning from them", quiet=options.json) as bar:
                engine.drain(_WAIT, bar)
    return results


def _import_file(
    engine: MemoryEngine,
    scope: tuple[str, ...],
    file: str,
    plan: ImportOptions,
    *,
    quiet: bool,
    wait: bool,
) -> dict[str, Any]:
    from engrams.transfer.documents.web_pages import is_address

    start = time.perf_counter()
    # Without models and workers, each batch is learned from right after it is stored, while its
    # texts are still in every cache.
    learns = wait and only_computes(engine.settings) and not engine.settings.jobs.workers
    with show_progress(f"importing {Path(file).name}", quiet=quiet) as bar:

        def advance(read_bytes: int, total: int) -> None:
            bar(read_bytes, total)
            if learns:
                engine.work.drain(_WAIT)

        if is_address(file):
            report = engine.documents.add(file, scope, advance, note=plan.note)
        else:
            source = file if file == "-" else Path(file)
            report = engine.imports.load(source, Scope.of(scope), plan, advance)
    bad_lines = [{"line": line, "message": message} for line, message in report.bad]
    return {
        "file": file,
        **asdict(report),
        "bad": bad_lines,
        "seconds": round(time.perf_counter() - start, 3),
    }


def _preview_files(files: list[str], format: str) -> list[dict[str, Any]]:
    from engrams.core.clock import now
    from engrams.transfer.imports.preview import ImportPreview, preview_import

    results = []
    for file in files:
        try:
            preview = asdict(preview_import(file, format, now()))
        except InputError as problem:
            if len(files) == 1:
                raise
            preview = asdict(ImportPreview(rejected=1, bad=[(0, f"{file}: {problem.message}")]))
        bad_lines = [{"line": line, "message": message} for line, message in preview["bad"]]
        results.append({**_EMPTY, **preview, "file": file, "bad": bad_lines, "dry_run": True})
    return results


def _list_imports(options: GlobalOptions) -> None:
    with options.open() as (engine, scope):
        imports = engine.imports.list(scope)
    if options.json:
        emit({"imports": imports})
    elif imports:
        rows = [
            (
                entry.id,
                format_iso(entry.at),
                entry.state,
                str(entry.stored),
                clean(entry.name),
            )
            for entry in imports
        ]
        print_table(("ID", "AT", "STATE", "STORED", "FILE"), rows)
    else:
        note("No imports yet. `engrams import FILE` imports one.")


def _undo_import(options: GlobalOptions, id: str, git: bool) -> None:
    with options.open() as (engine, scope), show_progress("undoing", quiet=options.json) as bar:
        undone = engine.imports.undo(id, scope, bar, git)
    if options.json:
        emit(undone)
        return
    restored = (
        f"; {len(undone.returned)} memories that it had replaced are current again"
        if undone.returned
        else ""
    )
    say(f"{paint('undone', 'green')}  {undone.removed} memories erased{restored}")
    for kept_id in undone.kept:
        note(f"kept: {kept_id} was edited since the import (`engrams purge {kept_id}` erases it)")


def _print_result(result: dict[str, Any]) -> None:
    parts = [f"{result['stored']} {'memory' if result['stored'] == 1 else 'memories'}"]
    parts += [
        f"{result[name]} {words}"
        for name, words in (
            ("existing", "already stored"),
            ("overwritten", "overwritten"),
            ("refused", "refused"),
            ("edges", "links"),
        )
        if result.get(name)
    ]
    if result.get("history"):
        parts.append(f"{result['history']} of them history")
    if result["files"] > 1 or result["rejected"]:
        parts.append(f"from {result['files']} of {result['files'] + result['rejected']} files")
    outcome = f"would import ({result['format']})" if result.get("dry_run") else "imported"
    places = f" in {len(result['scopes'])} places" if len(result["scopes"]) > 1 else ""
    say(
        f"{paint(outcome, 'green')}  {clean(result['file'])}: {', '.join(parts)}{places},"
        f" {result['seconds']:.1f} s"
    )
    for reason in result.get("undescribed", ()):
        note(f"stored without a description: {clean(reason)}")
    if result.get("kinds"):
        note(", ".join(f"{kind}: {number}" for kind, number in sorted(result["kinds"].items())))
    if len(result.get("users", ())) > 1:
        note(f"of several users: {clean(', '.join(sorted(result['users'])))} (--from-user chooses)")
    for ignored in result["ignored"][:_SHOWN]:
        note(
            f"not imported because of an ignore rule: {clean(ignored)} (--include-ignored imports it)"
        )
    if len(result["ignored"]) > _SHOWN:
        note(f"… and {len(result['ignored']) - _SHOWN} more ignored files (--json lists all)")
    if result["id"]:
        say(f"undo it with: engrams import --undo {result['id']}")
    for bad_line in result["bad"][:_SHOWN]:
        note(
            clean(
                f"line {bad_line['line']}: {bad_line['message']}"
                if bad_line["line"]
                else bad_line["message"]
            )
        )
    if len(result["bad"]) > _SHOWN:
        note(
            f"… and {len(result['bad']) - _SHOWN} more pieces that could not be read (--json lists"
            " all)"
        )


def _is_occupied(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()


def _export_to_stdout(
    engine: MemoryEngine, scope: tuple[str, ...], format: ExportFormat, bar: Any
) -> int:
    """Export to a temporary file first, so a failure prints nothing."""
    with tempfile.TemporaryDirectory(prefix="engrams-") as folder:
        path = Path(folder) / "export.jsonl"
        number = engine.dump(path, scope=scope, format=format, progress=bar)
        with path.open(encoding="utf-8", newline="") as file:
            if hasattr(sys.stdout, "reconfigure"):
                sys.stdout.reconfigure(encoding="utf-8")
            shutil.copyfileobj(file, sys.stdout)
    return number
