"""Command serve: the HTTP API, the proxy and the web page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from engrams.errors import ExtraError
from engrams.installation import install_hint
from engrams.program.log_lines import write_log_lines
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app

app = new_app()

_SHARE_METAVAR = "SHARE"


@dataclass(frozen=True)
class ProxyCommandOptions:
    """Options of the proxy; each is a setting."""

    upstream: Annotated[
        str | None,
        typer.Option(
            "--upstream",
            "--openai-base-url",
            help="Base URL of the upstream model server (serve.upstream).",
            show_default=False,
            metavar="URL",
        ),
    ] = None
    embedding_model: Annotated[
        str | None,
        typer.Option(
            help="An embedding model of that server (embed.model).",
            show_default=False,
            metavar="NAME",
        ),
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Memories put into a request; 0: none (serve.top_k).",
            show_default=False,
            metavar="N",
        ),
    ] = None
    mmr_lambda: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="1: relevance only; lower: more variety (read.mmr_lambda).",
            show_default=False,
            metavar=_SHARE_METAVAR,
        ),
    ] = None
    recency_weight: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of recency in a score (read.recency_weight).",
            show_default=False,
            metavar=_SHARE_METAVAR,
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Drop memories judged below this (rerank.threshold).",
            show_default=False,
            metavar=_SHARE_METAVAR,
        ),
    ] = None
    git: Annotated[
        bool | None,
        typer.Option(
            "--git-versioning/--no-git-versioning",
            help="Keep memories as files in git (vault.enabled, vault.git).",
            show_default=False,
        ),
    ] = None
    summarization: Annotated[
        bool | None,
        typer.Option(
            help="Keep a summary of each conversation (summary.enabled).", show_default=False
        ),
    ] = None

    def overrides(self) -> list[str]:
        """Return the given settings as ``--set`` takes them."""
        values = {
            "serve.upstream": self.upstream,
            "embed.model": self.embedding_model,
            "serve.top_k": self.top_k,
            "read.mmr_lambda": self.mmr_lambda,
            "read.recency_weight": self.recency_weight,
            "rerank.threshold": self.threshold,
            "vault.git": self.git,
            "summary.enabled": self.summarization,
        }
        if self.git:
            values["vault.enabled"] = True
        if self.embedding_model is not None and self.upstream is not None:
            values |= {"embed.provider": "openai", "embed.url": self.upstream}
        return [f"{name}={value}" for name, value in values.items() if value is not None]


@app.command()
@flatten_options
def serve(
    options: GlobalOptions,
    proxied: ProxyCommandOptions,
    host: Annotated[
        str | None,
        typer.Option(
            help="The address to listen on; any other than loopback needs keys.",
            show_default=False,
            metavar="ADDRESS",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="The port.", min=0, max=65535, show_default=False, metavar="N"),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes that serve side by side (serve.workers).",
            min=1,
            max=64,
            show_default=False,
            metavar="N",
        ),
    ] = None,
) -> None:
    """Serve the HTTP API, the proxy and the web page until interrupted."""
    addressing = [
        f"serve.{name}={value}"
        for name, value in (("host", host), ("port", port), ("workers", workers))
        if value is not None
    ]
    try:
        from engrams.program.registry import list_server_surfaces
        from engrams.surfaces.http.server import serve as serve_http

        surfaces = list_server_surfaces()
    except ImportError as problem:
        raise ExtraError(
            f"The server's parts are not installed ({problem.name}).", hint=install_hint("server")
        ) from None
    # --set is the most explicit, so it comes last.
    overrides = [*addressing, *proxied.overrides(), *options.overrides]
    all_options = replace(options, overrides=overrides)
    with write_log_lines(all_options.load().settings.log):
        serve_http(lambda: all_options.load().settings, surfaces, as_json=options.json)
