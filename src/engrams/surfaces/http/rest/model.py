"""/v1/settings/model: find, try and set the language model that memory learns by."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from engrams import model_setup
from engrams.errors import ModelError, RefusedError, SettingsError
from engrams.ports import DiscoveredModelServer
from engrams.settings import ChatSettings, LoadedSettings, Settings, load
from engrams.surfaces.http.caller import AnyCaller, IdentifiedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses

_MAX_URL = 2000
_MAX_NAME = 200
_MAX_KEY = 1000


class ModelServersRequest(BaseModel):
    """Address to look at; without one the usual ports of this machine."""

    model_config = ConfigDict(extra="forbid")
    url: str = Field("", max_length=_MAX_URL)
    api_key: str | None = Field(
        None, max_length=_MAX_KEY, description="Null: the stored one, if it is for this server."
    )


class FoundModelServer(BaseModel):
    name: str
    provider: Literal["openai", "ollama"]
    url: str
    models: list[str]


class ModelServersResponse(BaseModel):
    servers: list[FoundModelServer]


class ModelConnectionRequest(BaseModel):
    """A model; provider `none` goes back to rules."""

    model_config = ConfigDict(extra="forbid")
    provider: Literal["none", "openai", "ollama"]
    url: str = Field("", max_length=_MAX_URL)
    model: str = Field("", max_length=_MAX_NAME)
    api_key: str | None = Field(
        None,
        max_length=_MAX_KEY,
        description="Null: the stored one, if it is for this server. Empty: none.",
    )

    timeout_seconds: float | None = Field(
        None, gt=0, le=3600, description="Most seconds for a whole answer. Null: unchanged."
    )

    def to_connection(self) -> model_setup.ModelConnectionParameters:
        return model_setup.ModelConnectionParameters(
            provider=self.provider,
            url=self.url.strip(),
            model=self.model.strip(),
            api_key=self.api_key,
            timeout_seconds=self.timeout_seconds,
        )


class ModelTestResponse(BaseModel):
    """Answers of a model, measured."""

    state: Literal["ok", "info", "warn", "fail"]
    detail: str
    hint: str
    first_seconds: float = Field(description="Seconds until the first word; 0: not known.")
    seconds: float = Field(description="Seconds of an answer in JSON.")
    json_by: str = Field(description="How it answered in JSON; empty: not at all.")
    context_tokens: int = Field(description="0 if the server does not tell it.")
    destination: str = Field(description="The data that memory would send, and the receiver.")


class ModelResponse(BaseModel):
    """The model that is set in config.toml."""

    provider: str
    url: str
    model: str
    has_key: bool
    timeout_seconds: float
    in_use: str = Field(
        description="Model that the running server learns by; empty: it learns by rules."
    )
    restart: bool = Field(description="The file was changed since the server started.")
    restarting: bool = Field(
        False, description="The server takes the change over by itself, within some seconds."
    )
    fixed_by: list[str] = Field(
        description="Settings that the environment gives, which count for more than the file."
    )
    file: str
    destination: str = Field(
        description="The data that the running server sends, and the receiver; after a change: from the"
        " next start on."
    )


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "upkeep", prefix="/v1/settings")
    chat_at_start = _load_file(settings).settings.chat
    trial = model_setup.ModelTrial()

    @routes.get("/model", responses=error_responses())
    def find(caller: AnyCaller) -> ModelResponse:
        """Tell which model is set; its key is never shown."""
        return _to_response(caller, chat_at_start)

    @routes.post("/model/servers", responses=error_responses())
    def find_servers(body: ModelServersRequest, caller: AnyCaller) -> ModelServersResponse:
        """Find model servers on this machine, or at an address."""
        if not body.url.strip():
            return ModelServersResponse(
                servers=[_to_server(server) for server in model_setup.find_model_servers()]
            )
        chat = _connect(
            caller, model_setup.ModelConnectionParameters("openai", body.url, "", body.api_key)
        )
        try:
            return ModelServersResponse(
                servers=[_to_server(model_setup.find_model_server_at(body.url, chat.api_key))]
            )
        except (ModelError, SettingsError) as error:
            raise RefusedError(error.message, hint=error.hint) from None

    @routes.post("/model/test", responses=error_responses())
    def test(body: ModelConnectionRequest, caller: AnyCaller) -> ModelTestResponse:
        """Ask a model two short questions and measure its answers.

        Nothing of memory is sent, and nothing is stored. A newer test ends the last.
        """
        chat = _connect(caller, body.to_connection())
        problem = model_setup.find_chat_problem(chat)
        if problem is not None:
            raise RefusedError(problem.message, hint=problem.hint)
        result = trial.run(chat, caller.engine.now, caller.engine.store)
        measured = result.measured
        return ModelTestResponse(
            state=result.state,
            detail=result.detail,
            hint=result.hint,
            first_seconds=round(measured.first_seconds, 2) if measured else 0.0,
            seconds=round(measured.seconds, 2) if measured else 0.0,
            json_by=measured.json if measured else "",
            context_tokens=measured.context_tokens if measured else 0,
            destination=model_setup.describe_destination(chat),
        )

    @routes.put("/model", responses=error_responses())
    def change(body: ModelConnectionRequest, caller: AnyCaller, request: Request) -> ModelResponse:
        """Write the model into config.toml.

        A server of one process takes it over at once, for its chat as well. It answers no other
        request meanwhile. A server of several processes uses it after a restart.
        """
        settings = caller.engine.settings
        if settings.incognito:
            raise RefusedError(
                "Incognito leaves no trace on disk.",
                hint="Give the model as `--set chat.model=…` at the start.",
            )
        connection = body.to_connection()
        problem = model_setup.find_chat_problem(_connect(caller, connection))
        if problem is not None:
            raise RefusedError(problem.message, hint=problem.hint)
        model_setup.save_connection(settings.config_file, connection)
        response = _to_response(caller, chat_at_start)
        restart = request.app.state.restart
        if response.restart and restart is not None:
            restart()
            return response.model_copy(update={"restarting": True})
        return response

    return routes


def _load_file(settings: Settings) -> LoadedSettings:
    """Load the settings as the next start with this home would."""
    return load({"home": str(settings.config_file.parent), "preset": settings.preset})


def _connect(
    caller: IdentifiedCaller, connection: model_setup.ModelConnectionParameters
) -> ChatSettings:
    """Return the settings of the chat model with this connection."""
    return model_setup.connect(_load_file(caller.engine.settings).settings.chat, connection)


def _to_response(caller: IdentifiedCaller, chat_at_start: ChatSettings) -> ModelResponse:
    running = caller.engine.settings
    loaded = _load_file(running)
    chat = loaded.settings.chat
    model = caller.engine.chat_model
    needs_restart = chat != chat_at_start and {chat.provider, chat_at_start.provider} != {"none"}
    return ModelResponse(
        provider=chat.provider,
        url=chat.url,
        model=chat.model,
        has_key=bool(chat.api_key),
        timeout_seconds=chat.timeout_seconds,
        in_use=model.name if model else "",
        restart=needs_restart,
        fixed_by=sorted(
            name
            for name, source in loaded.origin.items()
            if name.startswith("chat.") and source == "environment"
        ),
        file=str(running.config_file),
        destination=model_setup.describe_destination(chat if needs_restart else running.chat),
    )


def _to_server(server: DiscoveredModelServer) -> FoundModelServer:
    return FoundModelServer(
        name=server.name, provider=server.provider, url=server.url, models=list(server.models)
    )
