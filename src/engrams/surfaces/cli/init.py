"""Command init: connect a language model, or do without."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engrams.errors import InputError, ModelError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, say

if TYPE_CHECKING:
    from engrams.model_setup import ModelConnectionParameters
    from engrams.ports import DiscoveredModelServer
    from engrams.settings import ChatSettings, Settings

app = new_app()

_RULES = """No language model: memory works at once, by rules. They find facts, preferences, plans and rules in plain sentences of six
languages, close what is no longer true where a sentence says so, and search finds everything that was said. A model understands
more; run `engrams init` again when there is one."""
_CHATS_TOO = """`engrams serve` on this machine uses it for chats, too. On an address that others reach, it does so only with
serve.upstream = "{url}", which `engrams init --proxy` writes."""
_PROXIED = (
    "serve.upstream is set too: `engrams serve` is the proxy in front of it, for all who reach that"
    " address."
)
_ASK_PROXY = "Shall `engrams serve` be a proxy in front of it, so that programs chat with memory?"
_PROPOSED = (
    "It has an embedding model too, which may find more by meaning than the built-in table: `engrams"
    " init --embedding-model {model}` searches by it."
)
_REEMBED = (
    "Memories get its vectors in the background; until then words find them. `engrams status` tells"
    " how many wait."
)
_NOT_BETTER = (
    "The embedder stays as it was, because the other one tells your messages apart less well."
    " --no-test writes it nevertheless."
)
_TOO_SLOW = (
    "That is too slow to be worth it, and nothing was written. A smaller model, or a higher"
    " rerank.seconds, may do."
)
_RERANKER = (
    "A local reranker finds more, at about 10 ms a memory: `engrams init --reranker MODEL` tries"
    " one on this machine."
)
_TRY_BY_RULES = 'Try it: engrams add "I live in Paris", then engrams search "Where do I live?"'
_TRY_WITH_MODEL = (
    'Try it: engrams add "I live in Paris", then engrams status --wait, then engrams list. A'
    " running engrams serve needs a restart."
)


@app.command()
@flatten_options
def init(  # noqa: PLR0913 - options of a command
    options: GlobalOptions,
    url: Annotated[
        str | None, typer.Option(help="The model server's base URL.", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's name.", show_default=False, metavar="NAME")
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            help="Key of the server; it is stored in config.toml.",
            show_default=False,
            metavar="KEY",
        ),
    ] = None,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Use rules only, without a model.")
    ] = False,
    reranker: Annotated[
        str | None,
        typer.Option(
            help=(
                "A local reranker: a folder with an ONNX cross-encoder, or its name on the hub."
                " Written only if this machine is fast enough."
            ),
            show_default=False,
            metavar="MODEL",
        ),
    ] = None,
    embedding_model: Annotated[
        str | None,
        typer.Option(
            help="An embedding model of that server; best: the strongest that it has.",
            show_default=False,
            metavar="NAME",
        ),
    ] = None,
    proxy: Annotated[
        bool,
        typer.Option(
            "--proxy",
            help="Also write the server as serve.upstream, so that `engrams serve` is its proxy.",
        ),
    ] = False,
    no_test: Annotated[bool, typer.Option("--no-test", help="Do not test the model.")] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Take the first server and model, without questions."),
    ] = False,
) -> None:
    """Set memory up: find a language model, try it, and write config.toml.

    A preset that is named becomes that of the home.
    """
    with_model = {
        "--url": url,
        "--model": model,
        "--api-key": api_key,
        "--embedding-model": embedding_model,
        "--proxy": proxy,
    }
    given = [name for name, value in with_model.items() if value]
    if reranker is not None:
        _refuse_beside("--reranker", [*given, *(["--no-model"] if no_model else [])])
        _set_reranker(options, reranker)
        return
    settings = options.load().settings
    if no_model:
        _refuse_beside("--no-model", given)
        _set_rules_only(options, settings)
        return
    asks = sys.stdin.isatty() and not (yes or options.json or url)
    server, key = _choose_server(settings.chat, url, api_key, asks=asks)
    if server is None:
        _set_rules_only(options, settings)
        return
    choice = _ModelChoice(server, key, _choose_model(server, model, asks=asks))
    chat = choice.connect(settings.chat)
    choice.tested = "" if no_test else _try_model(chat)
    choice.embedder = _choose_embedder(server, embedding_model, asks=asks)
    if choice.embedder and not no_test:
        _try_embedder(options, choice, chat)
    choice.is_proxied = proxy or (asks and typer.confirm(_ASK_PROXY, False))
    destination = _describe_destination(chat)
    if asks and not typer.confirm(f"{destination} Write {settings.config_file}?", default=True):
        raise typer.Abort
    choice.save(settings)
    _save_preset(options, settings)
    _begin_history(options)
    if options.json:
        emit({"home": settings.config_file.parent, "preset": settings.preset, **choice.to_dict()})
    else:
        _report(choice, settings, "" if asks else destination)


@dataclass(slots=True)
class _ModelChoice:
    """Choice of a person, and the answers of the models that were tried."""

    server: DiscoveredModelServer
    key: str | None
    """Key of the server. None: the one in the settings stays."""
    model: str
    tested: str = ""
    """Answer of the model to the test. Empty: it was not tested."""
    embedder: str = ""
    """Embedding model of the server. Empty: the one in the settings stays."""
    embedder_tested: str = ""
    """Result of the trial of an embedding model. Empty: there was none."""
    is_proxied: bool = False
    """The server becomes ``serve.upstream`` too."""

    def connect(self, chat: ChatSettings) -> ChatSettings:
        """Return the settings of the chat model with this choice."""
        from engrams import model_setup

        return model_setup.connect(chat, self._parameters())

    def save(self, settings: Settings) -> None:
        """Write the choice to the configuration file."""
        from engrams import model_setup

        file = settings.config_file
        model_setup.save_connection(file, self._parameters())
        if self.embedder:
            key = self.connect(settings.chat).api_key
            model_setup.save_embedder(file, self.server, self.embedder, key)
        if self.is_proxied:
            model_setup.save_upstream(file, self.server.url)

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as `--json` prints it."""
        return {
            "provider": self.server.provider,
            "url": self.server.url,
            "model": self.model,
            "tested": self.tested,
            "proxy": self.is_proxied,
            "embedding_model": self.embedder,
            "embedding_tested": self.embedder_tested,
            "embedding_models": self.server.embedders,
        }

    def _parameters(self) -> ModelConnectionParameters:
        from engrams import model_setup

        server = self.server
        return model_setup.ModelConnectionParameters(
            server.provider, server.url, self.model, self.key
        )


def _refuse_beside(option: str, others: Sequence[str]) -> None:
    """Refuse options that mean nothing beside another. InputError: there are some."""
    if others:
        raise InputError(
            f"{option} does not go together with {', '.join(others)}.",
            hint="Run `engrams init` twice: once for each.",
        )


def _set_rules_only(options: GlobalOptions, settings: Settings) -> None:
    """Write that memory works without a language model, and say what that means."""
    from engrams import model_setup

    file = settings.config_file
    model_setup.save_connection(file, model_setup.ModelConnectionParameters("none"))
    _save_preset(options, settings)
    _begin_history(options)
    if options.json:
        emit({"home": file.parent, "preset": settings.preset, "provider": "none"})
    else:
        say(f"{_RULES}\n{_TRY_BY_RULES}")


def _save_preset(options: GlobalOptions, settings: Settings) -> None:
    """Write the preset that the command line names: later commands of this home start from it."""
    if options.preset is None:
        return
    from engrams import model_setup

    model_setup.save_preset(settings.config_file, options.preset)
    if not options.json:
        say(f"The preset of this home is {clean(options.preset)}.")


def _report(choice: _ModelChoice, settings: Settings, destination: str) -> None:
    """Say what was written, what it means, and what to try next."""
    server = choice.server
    # Whoever connects the same server once more has read what else there is.
    is_new = settings.chat.provider == "none" or settings.chat.url != server.url
    if choice.embedder:
        say(f"{clean(choice.embedder_tested or choice.embedder)}\n{_REEMBED}")
    elif choice.embedder_tested:
        say(f"{clean(choice.embedder_tested)}\n{_NOT_BETTER}")
    elif is_new and server.embedders:
        say(_PROPOSED.format(model=clean(server.embedders[0])))
    if is_new and settings.rerank.provider == "none" and find_spec("onnxruntime") is not None:
        say(_RERANKER)
    is_proxied = choice.is_proxied or settings.serve.upstream == server.url
    for line in (
        choice.tested or clean(choice.model),
        destination,
        f"Written to {settings.config_file}.",
        _TRY_WITH_MODEL,
        _PROXIED if is_proxied else _CHATS_TOO.format(url=server.url),
    ):
        if line:
            say(line)


def _describe_destination(chat: ChatSettings) -> str:
    from engrams import model_setup

    return model_setup.describe_destination(chat)


def _begin_history(options: GlobalOptions) -> None:
    """Make the repository of the files, where ``vault.git`` asks for one."""
    section = options.load().settings.vault
    if not (section.enabled and section.git):
        return
    with options.open(needs_owner=False) as (engine, _):
        if engine.vault is not None:
            engine.vault.begin_history()


def _choose_server(
    chat: ChatSettings, url: str | None, key: str | None, *, asks: bool
) -> tuple[DiscoveredModelServer | None, str | None]:
    """Return the server, None for rules alone, and the key for it."""
    from engrams import model_setup

    if url is not None:
        stored_key = model_setup.connect(
            chat, model_setup.ModelConnectionParameters("openai", url, api_key=key)
        ).api_key
        return model_setup.find_model_server_at(url, stored_key), key
    note("Looking for model servers on this machine…")
    servers = model_setup.find_model_servers()
    if not asks:
        return (servers[0] if servers else None), key
    for number, server in enumerate(servers, 1):
        say(f"  {number}. {server.name} at {server.url}: {clean(', '.join(server.models[:5]))}")
    say(f"  0. None: rules only{'' if servers else ' (no server answers on the usual ports)'}")
    answer = typer.prompt(
        "Which one? A number, or the URL of another server", default="1" if servers else "0"
    ).strip()
    if not answer.isdecimal():
        key = (
            key
            or typer.prompt(
                "Its key, if it needs one", default="", hide_input=True, show_default=False
            )
            or None
        )
        return _choose_server(chat, answer, key, asks=False)
    if int(answer) > len(servers):
        raise InputError(
            f"There is no server {answer}.",
            hint="Give one of the numbers above, or an address such as http://localhost:8000/v1.",
        )
    return (servers[int(answer) - 1] if int(answer) else None), key


def _choose_model(server: DiscoveredModelServer, model: str | None, *, asks: bool) -> str:
    if model is None and not asks:
        return server.models[0]
    if model is None:
        for number, name in enumerate(server.models, 1):
            say(f"  {number}. {clean(name)}")
        model = typer.prompt("Which model? A number, or its name", default=server.models[0]).strip()
        if (
            model.isdecimal()
            and model not in server.models
            and 0 < int(model) <= len(server.models)
        ):
            model = server.models[int(model) - 1]
    if model not in server.models:
        raise InputError(
            f"{server.url} has no model {model!r}.",
            hint=f"It has: {', '.join(server.models[:10])}.",
        )
    return model


def _set_reranker(options: GlobalOptions, model: str) -> None:
    """Try a local reranker, say what it costs, and write it where it is fast enough."""
    from engrams import model_setup

    settings = options.load().settings
    note("Trying it…")
    tried = model_setup.check_reranker(model, settings.rerank)
    if tried.is_fast:
        model_setup.save_reranker(settings.config_file, model)
    if options.json:
        emit(
            {
                "home": settings.config_file.parent,
                "reranker": model if tried.is_fast else "",
                "milliseconds": round(tried.milliseconds, 1),
                "fitting": tried.fitting,
            }
        )
        return
    written = f"Written to {settings.config_file}." if tried.is_fast else _TOO_SLOW
    say(f"{clean(tried.detail)}.\n{written}")


def _choose_embedder(
    server: DiscoveredModelServer, embedding_model: str | None, *, asks: bool
) -> str:
    """Return the embedding model to write; empty: the one in the settings stays."""
    if embedding_model is None:
        if not asks or not server.embedders:
            return ""
        strongest = server.embedders[0]
        question = (
            f"Shall memory search by {clean(strongest)} of that server too? Every message then goes"
            " to it, and every question waits for it"
        )
        return strongest if typer.confirm(question, default=False) else ""
    if embedding_model == "best" and server.embedders:
        return server.embedders[0]
    if embedding_model not in server.embedders:
        raise InputError(
            f"{server.url} has no embedding model {embedding_model!r}.",
            hint=f"It has: {', '.join(server.embedders[:10]) or 'none'}.",
        )
    return embedding_model


def _try_model(chat: ChatSettings) -> str:
    from engrams import model_setup
    from engrams.core.clock import now

    note("Testing the model… the first answer of a local model may take a while.")
    trial = model_setup.ModelTrial().run(chat, now)
    if trial.state == "fail":
        raise ModelError(
            f"The model does not work: {trial.detail}",
            hint=f"{trial.hint} --no-test writes the settings without a test.".strip(),
        )
    return trial.detail


def _try_embedder(options: GlobalOptions, choice: _ModelChoice, chat: ChatSettings) -> None:
    """Try the chosen embedding model, and drop it where it is worse on the person's own messages."""
    from engrams import model_setup

    note("Asking the embedding model…")
    server, model, key = choice.server, choice.embedder, chat.api_key
    choice.embedder_tested = model_setup.check_embedder(server, model, key)
    with options.open(needs_owner=False, reads=True) as (engine, scope):
        compared = model_setup.compare_embedder(engine, scope, server, model, key)
    if compared is None:
        return
    choice.embedder_tested += f"; {compared.detail}"
    if compared.is_worse:
        choice.embedder = ""
