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


class OidcSettings(SettingsSection):
    """Tokens of an OpenID Connect provider, which the server takes as keys."""

    issuer: str = Field(
        "",
        description=(
            "Issuer of the tokens, exactly as the provider writes it. It begins with https://."
            " Empty: only keys of engrams open the server."
        ),
    )
    audience: tuple[str, ...] = Field(
        (),
        description=(
            "Names of this server at the provider. A token for one of them is accepted. Required"
            " with an issuer."
        ),
    )
    owner_claim: str = Field(
        "sub",
        min_length=1,
        description=(
            "Claim with the owner of the memory. The provider must never give its value to another"
            " person."
        ),
    )
    owner_prefix: str = Field(
        "oidc:",
        max_length=50,
        description=(
            "Text before the claim in the owner's name, so that a subject is not mistaken for the"
            " user of a key. Empty: subject and user of the same name are one owner."
        ),
    )
    rights: tuple[Literal["read", "write", "proxy", "admin"], ...] = Field(
        ("read", "write", "proxy"),
        description="Rights of every token, if `serve.oidc.rights_claim` is empty.",
    )
    rights_claim: str = Field(
        "",
        description=(
            "Claim with the rights of a token, as `engrams:read`, `engrams:write`, `engrams:proxy`"
            " and `engrams:admin`: a list, or words with spaces between. Dots lead into objects, as"
            " in realm_access.roles. Empty: each token has `serve.oidc.rights`."
        ),
    )
    client_id: str = Field(
        "",
        description=(
            "Name of the page at the provider. People then log in on the page. Empty: the page asks"
            " for a key or token."
        ),
    )
    client_secret: str = Field(
        "",
        description="Secret of the page at the provider, if the provider gave one.",
        json_schema_extra={"secret": True},
    )
    login_scope: str = Field(
        "openid", description="Scopes that the page asks the provider for, with spaces between."
    )
    public_url: str = Field(
        "",
        description=(
            "Address of this server for clients, such as https://memory.example. MCP clients are"
            " told it. Empty: the address of the request."
        ),
    )


class ServeSettings(SettingsSection):
    """The server that `engrams serve` starts."""

    host: str = Field(
        "127.0.0.1", description="Address to listen on. Any address except loopback needs keys."
    )
    port: int = Field(8100, ge=0, le=65535, description="Port to listen on. 0: any free one.")
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description=(
            "Processes that serve the API on the same port, about one for each core. Not on"
            " Windows."
        ),
    )
    upstream: str = Field(
        "",
        description=(
            "Base URL of an OpenAI-compatible server. Empty: chats are answered from memory."
        ),
    )
    offline: bool = Field(
        True,
        description=(
            "Answer chats from memory if there is no upstream. Off: the server does not start"
            " without an upstream."
        ),
    )
    conversation: str = Field(
        "",
        description=(
            "Conversation of a chat request that names none. Empty: none, so that it sees all"
            " memories of its owner."
        ),
    )
    upstream_learns: bool = Field(
        True,
        description=(
            "Without `chat.provider`, extract facts with a model of the upstream: `chat.model`,"
            " else the first chat model that it lists. Only if the upstream is on this machine or"
            " `upstream_key` is set."
        ),
    )
    upstream_key: str = Field(
        "",
        description="Key for the upstream. A bearer token of the client comes first.",
        json_schema_extra={"secret": True},
    )
    routes: tuple[UpstreamSettings, ...] = Field(
        (),
        description=("[[serve.routes]] with models, url and key: other upstreams for some models."),
        json_schema_extra={"secret": True},
    )
    jwt_secret: str = Field(
        "",
        description="Secret with which a web front end signs its user header.",
        json_schema_extra={"secret": True},
    )
    top_k: int = Field(5, ge=0, description="Most memories added to a request. 0: none.")
    memory_seconds: float = Field(
        1.5,
        gt=0,
        le=60,
        description=(
            "Most seconds that a chat request waits for memory. A late embedder is skipped, and a"
            " reranker gets the time that is left."
        ),
    )
    memory_requests: bool = Field(
        True,
        description=(
            'Answer requests about memory itself, such as "forget that", in place of the model.'
            " Off: the model gets them, and nothing is forgotten."
        ),
    )
    keep_files: bool = Field(
        False,
        description=(
            "Keep the files of a chat message as documents, pictures and sound too. The header"
            " `x-engrams-files` of the answer says what became of each file."
        ),
    )
    learn_unanswered: bool = Field(
        True,
        description=(
            "Learn from a message even if the model server refuses it or answers without text. Off:"
            " such a message is stored, and engrams learns from it once it is answered."
        ),
    )
    resend_seconds: float = Field(
        10.0,
        ge=0,
        le=86_400,
        description=(
            "For clients that send neither ids nor history: the same words within this many"
            " seconds are the same request. Later they are a new message."
        ),
    )
    timeout_seconds: float = Field(
        600.0, gt=0, description="Most seconds for an answer of an upstream."
    )
    require_keys: Literal["auto", "always"] = Field(
        "auto",
        description=(
            "auto: keys are required on any address except loopback. always: on loopback too."
        ),
    )
    oidc: OidcSettings = OidcSettings()
    rate_limit: float = Field(
        50.0,
        ge=0,
        description=(
            "Requests a second of one key, or of one address without a valid key. Ten times as"
            " many may come at once. 0: no limit."
        ),
    )
    idle_seconds: float = Field(
        75.0, gt=0, description="Seconds after which a connection without a request is closed."
    )
    resident_seconds: float = Field(
        300.0,
        gt=0,
        description=(
            "Seconds without a call after which the process ends that `engrams hook --resident`"
            " starts."
        ),
    )
    receive_seconds: float = Field(
        30.0,
        gt=0,
        description=("Most seconds for the head of a request, or for a pause within its body."),
    )
    upload_bytes: int = Field(
        2_000_000_000, ge=1, description="Largest file of an import, in bytes."
    )
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Host names of the server, such as those of a reverse proxy."
    )
    allowed_origins: tuple[str, ...] = Field(
        (), description=("Web sites whose pages may call the server, such as https://app.example.")
    )
    log: Literal["off", "json"] = Field(
        "off",
        description=(
            "json: one line for each request on standard error, without any text of memory."
        ),
    )
    backlog_seconds: float = Field(
        60.0,
        ge=0,
        description=(
            "Seconds between two lines on standard error about background work, if there is some."
            " 0: none."
        ),
    )
    allow_private_webhooks: bool = Field(
        False,
        description="Allow web hooks to this machine and to private networks.",
    )
    allow_reset: bool = Field(
        False,
        description=("Let POST /api/reset erase everything. Off: only `engrams purge --all` does."),
    )
