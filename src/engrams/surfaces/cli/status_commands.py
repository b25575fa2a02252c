"""Commands stats, calibrate, status, retry and config."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engrams.core import PRODUCT
from engrams.engine.inspector import MAX_UNEMBEDDED
from engrams.errors import RefusedError, SettingsError
from engrams.ipc.served_command import CURRENT
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import (
    clean,
    emit,
    note,
    paint,
    print_table,
    say,
    show_progress,
    to_json,
)
from engrams.surfaces.cli.running_server import find_server

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

app = new_app()

_PASSWORD = re.compile(r"(://[^/@:\s]*:)[^/@\s]*(?=@)|([?&]password=)[^&\s]*")
_MASK = "***"
_WAIT = 600.0
_WIDTH = 18
_MODELLESS = ("builtin", "null", "none")
"""Providers that take no model's name."""
_JOB_NAMES = {
    "roll": "update summary",
    "finalise": "close session",
    "extract": "extract facts",
    "policy": "judge held statements",
    "changes": "find changes",
    "begin": "start planned facts",
    "embed": "update embeddings",
    "importance-judge": "judge importance",
    "l1-finalize": "condense memories",
    "enforce-caps": "enforce tier sizes",
    "decay-sweep": "move old memories",
}

_QUOTA_WORDS = {
    "records": "memories",
    "bytes": "bytes of text and files",
    "minute_requests": "requests this minute",
    "daily_requests": "requests today",
    "daily_calls": "model calls today",
    "daily_tokens": "model tokens today",
}

Wait = Annotated[bool, typer.Option("--wait", help="Run waiting jobs first.")]


@app.command()
@flatten_options
def stats(
    options: GlobalOptions,
    everyone: Annotated[bool, typer.Option("--all", help="Count all owners together.")] = False,
) -> None:
    """Count memories by status, kind, layer, tier and scope."""
    with options.open(reads=True) as (engine, scope):
        numbers = engine.stats(None if everyone else scope)
    if options.json:
        emit(numbers)
        return
    _say_quota(numbers.pop("quota"), 10)
    for name, value in to_json(numbers).items():
        if isinstance(value, Mapping):
            words = PRODUCT if "layer" in name else {}
            counts = ", ".join(
                f"{words.get(key, key)} {number}" for key, number in value.items() if number
            )
            say(f"{paint(name.ljust(10), 'dim')}  {counts or 'none'}")
        else:
            say(f"{paint(name.ljust(10), 'dim')}  {clean(str(value))}")


@app.command()
@flatten_options
def calibrate(options: GlobalOptions) -> None:
    """Choose from which nearness on a memory counts as near.

    Asks memory about what is there, and about what is not. Below that nearness a search says that
    nothing is near, and a prompt gets nothing.
    """
    with options.open() as (engine, scope):
        before = engine.nearness.get(scope)
        now = engine.nearness.calibrate(scope)
    if options.json:
        emit(now)
        return
    known_share = f"{now.known_silent:.1%} of {now.known}"
    unknown_share = f"{now.unknown_silent:.0%} of {now.unknown}"
    say(f"Near from {now.floor:.3f} on; before: {before.floor:.3f}, by {before.source}.")
    say(
        f"Silent for {known_share} questions about stored memories, and for {unknown_share} others."
    )
    if before.source == "setting":
        note("The setting read.abstain comes first: this floor is used once it is unset.")


@app.command()
@flatten_options
def status(options: GlobalOptions, wait: Wait = False) -> None:
    """Show background work: jobs, delay and failures."""
    with options.open(needs_owner=False, reads=True) as (engine, scope):
        if wait:
            with _waiting(options, engine) as bar:
                engine.updates.flush_sync(_WAIT)
                engine.drain(_WAIT, bar)
        state = to_json(
            {
                **engine.status(),
                "nearness": engine.nearness.get(scope),
                "quota": engine.stats(scope)["quota"],
            }
        )
    if options.json:
        emit(state)
        return
    if state["test"]:
        say(f"{'test mode'.ljust(_WIDTH)}  {clean(str(engine.settings.home))}")
    jobs = {
        kind: {name: n for name, n in states.items() if n} for kind, states in state["jobs"].items()
    }
    for kind, states in sorted(jobs.items()):
        say(
            f"{_JOB_NAMES.get(kind, kind).ljust(_WIDTH)} "
            f" {', '.join(f'{name} {number}' for name, number in states.items()) or 'idle'}"
        )
    lag = state["lag_seconds"]
    say(f"{'backlog'.ljust(_WIDTH)}  {'up to date' if lag < 1 else f'{lag:,.0f} s behind'}")
    if state["gathering"]:
        say(
            f"{'gathering'.ljust(_WIDTH)}  {state['gathering']} conversations, too short to learn"
            " from before they go on or end"
        )
    if state["resting"]:
        say(
            f"{'resting'.ljust(_WIDTH)}  {state['resting']} conversations, learned from when nothing"
            " was said for a while"
        )
    for job in state["active"]:
        failed = f"; last error: {job['error']}" if job["error"] else ""
        progress = (
            f"{job['doing']}, attempt {job['attempt']}, {job['age_seconds']:,.0f} s old{failed}"
        )
        say(f"{_JOB_NAMES.get(job['kind'], job['kind']).ljust(_WIDTH)}  {clean(progress)}")
    _say_unembedded(state["unembedded"])
    for name in ("embedder", "chat"):
        if name in state:
            say(f"{name.ljust(_WIDTH)}  {clean(str(state[name])) or 'none'}")
    say(f"{'near from'.ljust(_WIDTH)}  {_format_floor(state['nearness'])}")
    _say_model(state)
    _say_quota(state["quota"], _WIDTH)
    if state["upkeep"]["waiting"]:
        say(f"{'upkeep'.ljust(_WIDTH)}  {_format_upkeep(state['upkeep'])}")
    if state["dead"]:
        say(f"\n{paint('Failed', 'red')} (`engrams retry` runs them again):")
        print_table(
            ("id", "job", "attempts", "error"),
            [
                [
                    job["id"],
                    _JOB_NAMES.get(job["kind"], job["kind"]),
                    str(job["attempt"]),
                    job["error"],
                ]
                for job in state["dead"]
            ],
        )


@contextmanager
def _waiting(options: GlobalOptions, engine: MemoryEngine) -> Iterator[Callable[[int, int], None]]:
    """Show progress of jobs that run here.

    RefusedError: a server does them by another model, and did not run this command.
    """
    served = CURRENT.get() is not None
    server = None if served else find_server(engine.settings)
    if server is not None and not server.is_alike:
        raise RefusedError(
            f"The server at {server.url} uses another model than this command, which would do its"
            " jobs with another model or with rules.",
            hint=(
                "Wait for the server. Or put its options into config.toml, which"
                " every command reads."
            ),
        )
    with show_progress("working", quiet=options.json or served) as bar:
        yield bar


def _format_upkeep(upkeep: Mapping[str, Any]) -> str:
    """Format what waits, for which hour, budget or person."""
    jobs = ", ".join(
        f"{_JOB_NAMES.get(kind, kind)} {number}" for kind, number in upkeep["waiting"].items()
    )
    until = f" until {upkeep['until'][:16].replace('T', ' ')} UTC" if upkeep["until"] else ""
    return f"waiting{until}: {jobs} ({upkeep['reason']})"


@app.command()
@flatten_options
def retry(
    options: GlobalOptions,
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of failed jobs. Default: all.", show_default=False),
    ] = None,
    wait: Wait = False,
) -> None:
    """Run failed jobs again."""
    with options.open(needs_owner=False, reads=True) as (engine, _):
        number = engine.retry(tuple(ids or ()))
        if wait:
            with _waiting(options, engine) as bar:
                engine.drain(_WAIT, bar)
    if options.json:
        emit({"retried": number})
    else:
        say(f"{number} jobs queued again.")


@app.command()
@flatten_options
def config(
    options: GlobalOptions,
    name: Annotated[
        str | None, typer.Argument(help="Only this setting or section.", show_default=False)
    ] = None,
) -> None:
    """Show every setting with its value and origin; secrets are masked."""
    rows = list_settings(options, name or "")
    if options.json:
        emit({row.pop("name"): row for row in rows})
        return
    print_table(
        ("setting", "from", "value"),
        [[row["name"], row["origin"], _display_value(row)] for row in rows],
        {0: "cyan", 1: "dim"},
    )
    if not name:
        note("docs/reference/settings.md explains each one.")


def list_settings(options: GlobalOptions, only: str) -> list[dict[str, Any]]:
    """List settings: name, value, origin, default.

    ``unused``: why a value has no effect. ``used``: the cosine that the model in use is given in
    place of the preset's. SettingsError: there are none.
    """
    from engrams.composition import translate_preset
    from engrams.settings import names, secret_names, suggest

    loaded = options.load()
    values = to_json(loaded.settings.model_dump(mode="json"))
    defaults = names()
    secret = secret_names()
    translated = {
        cosine.name: cosine.used
        for cosine in translate_preset(loaded.settings)
        if cosine.is_translated
    }
    rows = []
    for name, default in defaults.items():
        if name == only or name.startswith(f"{only}.") or not only:
            value: Any = values
            for part in name.split("."):
                value = value[part]
            shown_value = _MASK if name in secret and value else _mask_password(value)
            row = {
                "name": name,
                "value": shown_value,
                "origin": loaded.origin.get(name, "default"),
                "default": _default_to_json(default),
            }
            unused = _find_unused(name, values) if value else ""
            if unused:
                row["unused"] = unused
            elif name in translated:
                row["used"] = translated[name]
            rows.append(row)
    if not rows:
        suggestion = suggest(
            only, list(dict.fromkeys([*defaults, *(name.partition(".")[0] for name in defaults)]))
        )
        raise SettingsError(f"There is no setting {only!r}.", hint=suggestion)
    return rows


def format_pace(state: Mapping[str, Any]) -> str:
    """Format the model's pace, and the time that the waiting jobs will take."""
    pace = state["pace"]
    pace_text = (
        f"{pace['median_seconds']:,.1f} s an answer, {pace['longest_seconds']:,.1f} s at most"
    )
    return pace_text + (
        f"; the waiting jobs take about {state['queue_seconds']:,.0f} s"
        if state["queue_seconds"]
        else ""
    )


def _say_model(state: Mapping[str, Any]) -> None:
    """Say how fast the chat model is, what it got wrong, and what it was used for today."""
    if state["pace"]["answers"]:
        say(f"{'model pace'.ljust(_WIDTH)}  {format_pace(state)}")
    if state["mistakes"]:
        say(f"{'model wrong'.ljust(_WIDTH)}  {format_mistakes(state['mistakes'])}")
    say(
        f"{'model use'.ljust(_WIDTH)}  {_format_spent(state['spent'], 'calls')},"
        f" {_format_spent(state['spent'], 'tokens')} today"
    )


def _say_unembedded(count: int) -> None:
    if count:
        number = f"{count:,} or more" if count >= MAX_UNEMBEDDED else str(count)
        say(f"{'vectors'.ljust(_WIDTH)}  {number} memories wait for theirs; words find them")


def format_mistakes(mistakes: Mapping[str, int]) -> str:
    """Format what a model's answers got wrong; none of it became a memory."""
    return "; ".join(f"{number:,} × {clean(reason)}" for reason, number in mistakes.items())


def _format_spent(spent: Mapping[str, int], unit: str) -> str:
    limit = spent[f"daily_{unit}"]
    return f"{spent[unit]:,} of {limit:,} {unit}" if limit else f"{spent[unit]:,} {unit}"


def _say_quota(quota: Mapping[str, Mapping[str, int]], width: int) -> None:
    """Print the use of each limit that is set."""
    for name, use in quota.items():
        if use["limit"]:
            say(f"{'quota'.ljust(width)}  {use['used']:,} of {use['limit']:,} {_QUOTA_WORDS[name]}")


def _mask_password(value: Any) -> Any:
    """Mask the password that a URL may hold."""
    return _PASSWORD.sub(rf"\1\2{_MASK}", value) if isinstance(value, str) else value


def _default_to_json(default: Any) -> Any:
    if isinstance(default, tuple):
        return list(default)
    if isinstance(default, str | int | float | type(None)):
        return default
    return str(default)


def _find_unused(name: str, values: Mapping[str, Any]) -> str:
    """Explain why a named model is not in use; empty: it is."""
    section, _, field = name.partition(".")
    provider = values[section].get("provider") if field == "model" else None
    return f"not in use: {section}.provider is {provider}" if provider in _MODELLESS else ""


def _display_value(row: Mapping[str, Any]) -> str:
    value = row["value"]
    if "unused" in row:
        note = f" ({row['unused']})"
    elif "used" in row:
        note = f" (here {row['used']:g})"
    else:
        note = ""
    if value is None:
        return note
    return (", ".join(map(str, value)) if isinstance(value, list) else str(value)) + note


def _format_floor(nearness: Mapping[str, Any]) -> str:
    if nearness["source"] == "calibration":
        return (
            f"{nearness['floor']:.3f}, calibrated {nearness['at'][:10]} with"
            f" {nearness['known'] + nearness['unknown']} questions"
        )
    return f"{nearness['floor']:.3f}, by {nearness['source']}"
