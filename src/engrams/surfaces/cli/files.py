"""Commands import and export."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from engrams.errors import ConflictError, InputError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, say, show_progress

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

app = new_app()

_SHOWN = 10


@app.command(name="import")
@flatten_options
def import_(
    options: GlobalOptions,
    files: Annotated[list[str], typer.Argument(help="Files to import; `-` reads standard input.")],
    format: Annotated[str, typer.Option(help="auto, or the files' format; a wrong name lists them.", metavar="NAME")] = "auto",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the background jobs of the import.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only read the files and count their contents.")] = False,
) -> None:
    """Import conversations and memories from files.

    ChatGPT, Claude, mem0, MCP memory, JSONL, Markdown, text, engrams' own export.

    Doing it twice stores nothing twice; interrupted, it goes on where it was."""
    results = []
    if dry_run:
        results = [_preview_file(file, format) for file in files]
    else:
        with options.open() as (engine, scope):
            for file in files:
                results.append(_import_file(engine, scope, file, format, quiet=options.json))
            if wait:
                with show_progress("working", quiet=options.json) as bar:
                    engine.drain(3600, bar)
    if options.json:
        emit(results[0] if len(results) == 1 else results)
    else:
        for result in results:
            _print_result(result)
    lost = [result for result in results if result["bad"] and not (result["stored"] or result["existing"] or result["refused"])]
    if lost:
        raise InputError(f"Nothing in {lost[0]['file']} could be read.", hint="If the format was detected wrongly, name it with --format.")


@app.command()
@flatten_options
def export(
    options: GlobalOptions,
    target: Annotated[str, typer.Argument(help="The file to write (folder for markdown); `-` writes JSONL to standard output.")],
    format: Annotated[
        Literal["jsonl", "markdown"], typer.Option(help="jsonl is complete and can be imported; markdown is for reading.")
    ] = "jsonl",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file or folder.")] = False,
) -> None:
    """Export every memory in the scope, with history and links."""
    if target == "-" and format != "jsonl":
        raise InputError("Markdown is a folder; it cannot go to standard output.", hint="Name a folder, or use --format jsonl.")
    path = Path(target)
    if target != "-" and not overwrite and _is_occupied(path):
        raise ConflictError(f"{target} exists already.", hint="Give --overwrite to replace it, or another name.")
    with options.open() as (engine, scope), show_progress("exporting", quiet=options.json) as bar:
        number = _export_to_stdout(engine, scope, bar) if target == "-" else engine.dump(path, scope=scope, format=format, progress=bar)
    if target == "-":
        return
    if options.json:
        emit({"file": target, "format": format, "records": number})
    else:
        say(f"{paint('exported', 'green')}  {number} memories to {target}")


def _import_file(engine: MemoryEngine, scope: tuple[str, ...], file: str, format: str, *, quiet: bool) -> dict[str, Any]:
    start = time.perf_counter()
    with show_progress(Path(file).name, quiet=quiet) as bar:
        report = engine.load(file if file == "-" else Path(file), scope=scope, format=format, progress=bar)
    bad = [{"line": line, "message": message} for line, message in report.bad]
    numbers = {"stored": report.stored, "existing": report.existing, "refused": report.refused, "edges": report.edges}
    return {"file": file, **numbers, "bad": bad, "scopes": report.scopes, "seconds": round(time.perf_counter() - start, 3)}


def _preview_file(file: str, format: str) -> dict[str, Any]:
    from engrams import formats

    result: dict[str, Any] = {"file": file, "stored": 0, "existing": 0, "refused": 0, "edges": 0, "bad": [], "scopes": {}, "seconds": 0.0}
    named = formats.detect(file) if format == "auto" and file != formats.STDIN else format
    for item in formats.read(file, named):
        match item:
            case formats.UnreadablePiece():
                result["bad"].append({"line": item.line, "message": item.message})
            case formats.ExportedEdge():
                result["edges"] += 1
            case formats.RestoredRecord():
                result["stored"] += 1
                result["edges"] += len(item.edges)
            case formats.ParsedTurn():
                result["stored"] += 1
                name = item.conversation or "-"
                result["scopes"][name] = result["scopes"].get(name, 0) + 1
    return {**result, "format": named, "dry_run": True}


def _print_result(result: dict[str, Any]) -> None:
    parts = [f"{result['stored']} memories"]
    parts += [
        f"{result[name]} {words}"
        for name, words in (("existing", "already stored"), ("refused", "refused"), ("edges", "links"))
        if result[name]
    ]
    did = f"would import ({result['format']})" if result.get("dry_run") else "imported"
    places = f" in {len(result['scopes'])} places" if len(result["scopes"]) > 1 else ""
    say(f"{paint(did, 'green')}  {clean(result['file'])}: {', '.join(parts)}{places}, {result['seconds']:.1f} s")
    for bad in result["bad"][:_SHOWN]:
        note(clean(f"line {bad['line']}: {bad['message']}" if bad["line"] else bad["message"]))
    if len(result["bad"]) > _SHOWN:
        note(f"… and {len(result['bad']) - _SHOWN} more pieces that could not be read (--json lists all)")


def _is_occupied(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()


def _export_to_stdout(engine: MemoryEngine, scope: tuple[str, ...], bar: Any) -> int:
    """Export to a temporary file first, so a failure prints nothing."""
    with tempfile.TemporaryDirectory(prefix="engrams-") as folder:
        path = Path(folder) / "export.jsonl"
        number = engine.dump(path, scope=scope, format="jsonl", progress=bar)
        with path.open(encoding="utf-8", newline="") as file:
            sys.stdout.reconfigure(encoding="utf-8") if hasattr(sys.stdout, "reconfigure") else None
            shutil.copyfileobj(file, sys.stdout)
    return number
