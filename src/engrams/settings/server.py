"""Settings of the server."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import SettingsSection


class UpstreamSettings(SettingsSection):
    """An upstream for some models."""

    models: tuple[str, ...] = Field(
        min_length=1, description="Names of models, or patterns such as gpt-*."
    )
    url: str = Field(min_length=1, description="Base URL of the server.")
    key: str = Field("", description="Key for it; a client's own bearer token wins.")


class ServeSettings(SettingsSection):
    """The server that `engrams serve` starts."""

    host: str = Field(
        "127.0.0.1", description="Address to listen on; any other than loopback needs keys."
    )
    port: int = Field(8100, ge=0, le=65535, description="Port to listen on. 0: any free one.")
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description=(
            "Processes that serve the API side by side on the one port; about one for each core."
            " Not on Windows."
        ),
    )
    upstream: str = Field(
        "", description="Base URL of an OpenAI-compatible server. Empty: answer from memory."
    )
    offline: bool = Field(
        True,
        description=(
            "Without an upstream answer chat from memory. Off: the server needs an upstream to"
            " start."
        ),
    )
    upstream_learns: bool = Field(
        True,
        description=(
            "Without a `chat.provider` of its own, memory asks a model of the upstream, if that is"
            " on this machine or `upstream_key` is set: `chat.model`, else the first that it lists"
            " and that chats."
        ),
    )
    upstream_key: str = Field(
        "",
        description="Key for it; a client's own bearer token wins.",
        json_schema_extra={"secret": True},
    )
    routes: tuple[UpstreamSettings, ...] = Field(
        (),
        description="[[serve.routes]] with models, url and key: upstreams by model.",
        json_schema_extra={"secret": True},
    )
    jwt_secret: str = Field(
        "",
        description="Secret of a web front end's signed user header.",
        json_schema_extra={"secret": True},
    )
    top_k: int = Field(5, ge=0, description="Memories put into a request. 0: none.")
    memory_seconds: float = Field(
        1.5,
        gt=0,
        le=60,
        description=(
            "Seconds that a chat request waits for memory at most. An embedder that is late is done"
            " without, and a reranker has what is left."
        ),
    )
    resend_seconds: float = Field(
        10.0,
        ge=0,
        le=86_400,
        description=(
            "Seconds in which the same words of a client that sends neither ids nor history are a"
            " request sent again; later they are said anew."
        ),
    )
    timeout_seconds: float = Field(
        600.0, gt=0, description="Seconds that an upstream's answer may take."
    )
    require_keys: Literal["auto", "always"] = Field(
        "auto", description="auto: keys are needed on any address but loopback."
    )
    rate_limit: float = Field(
        50.0,
        ge=0,
        description=(
            "Requests a second of one key, or of one address without a valid one; ten times that at"
            " once. 0: no limit."
        ),
    )
    idle_seconds: float = Field(
        75.0, gt=0, description="Seconds after which a connection without a request is closed."
    )
    receive_seconds: float = Field(
        30.0,
        gt=0,
        description="Seconds that a request's head, or a pause within its body, may take.",
    )
    upload_bytes: int = Field(
        2_000_000_000, ge=1, description="Largest file of an import, in bytes."
    )
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Host names under which it is reached, as behind a reverse proxy."
    )
    allowed_origins: tuple[str, ...] = Field(
        (), description="Web sites whose pages may call it, such as https://app.example."
    )
    log: Literal["off", "json"] = Field(
        "off", description="json: a line a request on standard error, without any text of memory."
    )
    backlog_seconds: float = Field(
        60.0,
        ge=0,
        description=(
            "Seconds between two lines on standard error about background work, while there is"
            " some. 0: none."
        ),
    )
    allow_private_webhooks: bool = Field(
        False,
        description=(
            "Let web hooks go to this machine and to private networks, not only to public"
            " addresses."
        ),
    )
    allow_reset: bool = Field(
        False,
        description="Let POST /api/reset erase everything; else only `engrams purge --all` does.",
    )
