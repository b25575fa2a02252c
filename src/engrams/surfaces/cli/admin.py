"""stats, status, retry, config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from engrams.errors import SettingsError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, print_table, say, show_progress, to_json
from engrams.types import PRODUCT

app = new_app()

_PASSWORD = re.compile(r"(://[^/@:\s]*:)[^/@\s]*@")
_MASK = "***"
_WAIT = 600.0

Wait = Annotated[bool, typer.Option("--wait", help="Do the waiting work first, here and now.")]


@app.command()
@flatten_options
def stats(frame: GlobalOptions, everyone: Annotated[bool, typer.Option("--all", help="Of every owner together.")] = False) -> None:
    """Count memories by status, kind, layer and tier."""
    with frame.open() as (engine, scope):
        numbers = engine.stats(None if everyone else scope)
    if frame.json:
        emit(numbers)
        return
    for name, value in to_json(numbers).items():
        if isinstance(value, Mapping):
            words = PRODUCT if "layer" in name else {}
            told = ", ".join(f"{words.get(key, key)} {number}" for key, number in value.items() if number)
            say(f"{paint(name.ljust(10), 'dim')}  {told or 'none'}")
        else:
            say(f"{paint(name.ljust(10), 'dim')}  {clean(str(value))}")


@app.command()
@flatten_options
def status(frame: GlobalOptions, wait: Wait = False) -> None:
    """Show background work: jobs by kind and state, how far it lags, and what failed."""
    with frame.open() as (engine, _):
        if wait:
            with show_progress("working", quiet=frame.json) as bar:
                engine.drain(_WAIT, bar)
        state = to_json(engine.status())
    if frame.json:
        emit(state)
        return
    if state["test"]:
        say(f"{'test mode'.ljust(12)}  {clean(str(engine.settings.home))}")
    jobs = {kind: {name: n for name, n in states.items() if n} for kind, states in state["jobs"].items()}
    for kind, states in sorted(jobs.items()):
        say(f"{kind.ljust(12)}  {', '.join(f'{name} {number}' for name, number in states.items()) or 'idle'}")
    say(f"{'lag'.ljust(12)}  {state['lag_seconds']:.0f} s")
    for name in ("embedder", "chat"):
        if name in state:
            say(f"{name.ljust(12)}  {clean(str(state[name])) or 'none'}")
    say(f"{'spent today'.ljust(12)}  {_format_spent(state['spent'], 'calls')}, {_format_spent(state['spent'], 'tokens')}")
    if state["dead"]:
        say(f"\n{paint('Failed for good', 'red')} (engrams retry runs them again):")
        print_table(
            ("id", "kind", "tries", "error"), [[job["id"], job["kind"], str(job["attempt"]), job["error"]] for job in state["dead"]]
        )


@app.command()
@flatten_options
def retry(
    frame: GlobalOptions,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of failed jobs; without any, all of them.", show_default=False)] = None,
    wait: Wait = False,
) -> None:
    """Run failed jobs again."""
    with frame.open() as (engine, _):
        number = engine.retry(tuple(ids or ()))
        if wait:
            with show_progress("working", quiet=frame.json) as bar:
                engine.drain(_WAIT, bar)
    emit({"retried": number}) if frame.json else say(f"{number} jobs wait again.")


@app.command()
@flatten_options
def config(
    frame: GlobalOptions,
    name: Annotated[str | None, typer.Argument(help="Only this setting or section.", show_default=False)] = None,
) -> None:
    """Show every setting, its value and where that came from. Secrets are masked."""
    rows = list_settings(frame, name or "")
    if frame.json:
        emit({row["name"]: {"value": row["value"], "origin": row["origin"], "default": row["default"]} for row in rows})
        return
    print_table(
        ("setting", "from", "value"), [[row["name"], row["origin"], _display_value(row["value"])] for row in rows], {0: "cyan", 1: "dim"}
    )
    if not name:
        note("docs/reference/settings.md says what each one means.")


def list_settings(frame: GlobalOptions, only: str) -> list[dict[str, Any]]:
    """Name, value, origin and default of the settings under a name. SettingsError where there are none."""
    from engrams.settings import names, secret_names, suggest

    loaded = frame.load()
    values = to_json(loaded.settings.model_dump(mode="json"))
    known, secret = names(), secret_names()
    rows = []
    for name, default in known.items():
        if name == only or name.startswith(f"{only}.") or not only:
            value: Any = values
            for part in name.split("."):
                value = value[part]
            shown = _MASK if name in secret and value else _mask_password(value)
            rows.append({"name": name, "value": shown, "origin": loaded.origin.get(name, "default"), "default": _default_to_json(default)})
    if not rows:
        near = suggest(only, list(dict.fromkeys([*known, *(name.partition(".")[0] for name in known)])))
        raise SettingsError(f"There is no setting {only!r}.", hint=near)
    return rows


def _format_spent(spent: Mapping[str, int], what: str) -> str:
    limit = spent[f"daily_{what}"]
    return f"{spent[what]:,} of {limit:,} {what}" if limit else f"{spent[what]:,} {what}"


def _mask_password(value: Any) -> Any:
    """Without the password that an address may hold."""
    return _PASSWORD.sub(rf"\1{_MASK}@", value) if isinstance(value, str) else value


def _default_to_json(default: Any) -> Any:
    return list(default) if isinstance(default, tuple) else default if isinstance(default, str | int | float | type(None)) else str(default)


def _display_value(value: Any) -> str:
    return "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
