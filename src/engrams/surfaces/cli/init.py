"""Command init: connect a language model, or do without."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.errors import InputError, ModelError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, say

if TYPE_CHECKING:
    from engrams.ports import ModelServer

app = new_app()

_RULES = """No language model: memory works at once, by rules. They find facts, preferences, plans and rules in plain sentences of six
languages, close what is no longer true where a sentence says so, and search finds everything that was said. A model understands
more; run `engrams init` again when there is one."""
_NEXT = 'Try it: engrams add "I live in Paris", then engrams search "Where do I live?"'


@app.command()
@flatten_options
def init(
    options: GlobalOptions,
    url: Annotated[str | None, typer.Option(help="The model server's base URL.", show_default=False)] = None,
    model: Annotated[str | None, typer.Option(help="The model's name.", show_default=False, metavar="NAME")] = None,
    api_key: Annotated[str, typer.Option(help="Key of the server; it is stored in config.toml.", show_default=False, metavar="KEY")] = "",
    no_model: Annotated[bool, typer.Option("--no-model", help="Work by rules alone.")] = False,
    no_test: Annotated[bool, typer.Option("--no-test", help="Do not ask the model to try it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take the first server and model found; ask nothing.")] = False,
) -> None:
    """Set memory up: find a language model, try it, and write config.toml."""
    home = options.load().settings.home.expanduser()
    asks = sys.stdin.isatty() and not (yes or options.json or url or no_model)
    server = None if no_model else _choose_server(url, api_key, asks=asks)
    if server is None:
        _write(home, {"provider": "none"})
        emit({"home": home, "provider": "none"}) if options.json else say(f"{_RULES}\n{_NEXT}")
        return
    name = _choose_model(server, model, asks=asks)
    values = {"provider": server.provider, "url": server.url, "model": name, **({"api_key": api_key} if api_key else {})}
    tested = "" if no_test else _try_model(options, values)
    if asks and not typer.confirm(f"Write {home / 'config.toml'}?", default=True):
        raise typer.Abort
    _write(home, values)
    if options.json:
        emit({"home": home, "provider": server.provider, "url": server.url, "model": name, "tested": tested})
        return
    say(f"{tested or clean(name)}\nWritten to {home / 'config.toml'}.\n{_NEXT}")


def _choose_server(url: str | None, key: str, *, asks: bool) -> ModelServer | None:
    from engrams.build import find_model_server_at, find_model_servers

    if url is not None:
        return find_model_server_at(url, key)
    note("Looking for model servers on this machine…")
    servers = find_model_servers()
    if not asks:
        return servers[0] if servers else None
    for number, server in enumerate(servers, 1):
        say(f"  {number}. {server.name} at {server.url}: {clean(', '.join(server.models[:5]))}")
    say(f"  0. None: rules only{'' if servers else ' (no server answers on the usual ports)'}")
    answer = typer.prompt("Which one? A number, or the URL of another server", default="1" if servers else "0").strip()
    if answer.isdecimal() and int(answer) <= len(servers):
        return servers[int(answer) - 1] if int(answer) else None
    return find_model_server_at(answer, key)


def _choose_model(server: ModelServer, model: str | None, *, asks: bool) -> str:
    if model is None:
        return str(typer.prompt("Which model?", default=server.models[0])).strip() if asks else server.models[0]
    if model not in server.models:
        raise InputError(f"{server.url} has no model {model!r}.", hint=f"It has: {', '.join(server.models[:10])}.")
    return model


def _try_model(options: GlobalOptions, values: dict[str, str]) -> str:
    from engrams.surfaces.cli.doctor import check_chat

    note("Asking it… the first answer of a local model may take a while.")
    with replace(options, overrides=[*options.overrides, *(f"chat.{name}={value}" for name, value in values.items())]).open() as (
        engine,
        _,
    ):
        found = check_chat(engine, offline=False)
    if found.state == "fail":
        raise ModelError(f"The model does not work: {found.detail}", hint=f"{found.hint} --no-test writes it all the same.".strip())
    return found.detail


def _write(home: Path, values: dict[str, str]) -> None:
    from engrams.settings.configeditor import set_values

    set_values(home / "config.toml", "chat", values)
