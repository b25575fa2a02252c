"""Paths of mem0's project, profiles, exports and summaries."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from engrams import prompts
from engrams.compat.mem0.bodies import (
    Mem0MessageResponse,
    Mem0ProjectResponse,
    Mem0RequestBody,
    Mem0ScopedRequest,
)
from engrams.compat.mem0.filters import Mem0ScopeFilter, find_target
from engrams.core import Kind, Record
from engrams.core.process_peers import ProcessPeers
from engrams.errors import InputError, NotFoundError, RefusedError
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage, ChatRequest
from engrams.settings import Settings
from engrams.surfaces.http.caller import find_caller, user_scope
from engrams.surfaces.http.problems import error_responses

_PROJECT = "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/"
_MOST = 500
_TOKENS = 6000
_SCHEMA_CHARS = 50_000
_SETTINGS = "Settings say how memory is kept: `engrams config` lists them, config.toml sets them."
_KEYS = (
    "A key is a memory of its own: `engrams keys add` makes one, `engrams keys revoke` ends one."
)
_FEW = "Give the ids of users, agents, apps or runs as filters."


class Mem0ExportRequest(Mem0ScopedRequest):
    """``schema``: a JSON schema, as an object or as text."""

    export_schema: dict[str, Any] | str = Field(alias="schema")
    export_instructions: str = Field("", max_length=2000)


class Mem0ExportGetRequest(Mem0ScopedRequest):
    memory_export_id: str = ""


class Mem0ExportResponse(BaseModel):
    id: str
    message: str


class Mem0SummaryResponse(BaseModel):
    summary: str
    status: str = "succeeded"


class Mem0ProfileResponse(BaseModel):
    """Profile of a user, made when it is asked for."""

    entity_id: str
    entity_type: str = "user"
    status: str
    profile: dict[str, str] | None
    updated_at: None = None
    generation_count: int = 0


class Mem0ProfileJobRequest(Mem0RequestBody):
    entity_id: str = ""
    limit: int = Field(5, ge=1, le=10)


@dataclass(frozen=True, slots=True)
class Mem0Export:
    """Export as it was asked for, without its content."""

    id: str
    schema: dict[str, Any]
    instructions: str
    ids: dict[str, str]
    filters: dict[str, Any]


class Mem0ExportRegistry:
    """The last exports of each owner, until the server ends."""

    def __init__(self, peers: ProcessPeers) -> None:
        self._held = peers.table("mem0 exports", 1000)

    def put(self, owner: str, body: Mem0ExportRequest) -> Mem0Export:
        """Keep an export. InputError: its schema is no object."""
        schema = _parse_schema(body.export_schema)
        held: list[Mem0Export] = self._held.get(owner, [])
        last = int(held[-1].id.rpartition("-")[2]) if held else 0
        made = Mem0Export(
            id=f"export-{last + 1}",
            schema=schema,
            instructions=body.export_instructions,
            ids=body.ids(),
            filters=body.filters or {},
        )
        self._held.put(owner, [*held[-19:], made])
        return made

    def find(self, owner: str, body: Mem0ExportGetRequest) -> Mem0Export:
        """Find an export by its id, else the latest with these filters."""
        held: list[Mem0Export] = self._held.get(owner, [])
        asked = (body.ids(), body.filters or {})
        found = [
            each
            for each in held
            if (
                each.id == body.memory_export_id
                if body.memory_export_id
                else (each.ids, each.filters) == asked
            )
        ]
        if not found:
            raise NotFoundError(
                "There is no such export.",
                hint="Create it first, with the same filters; a restart forgets exports.",
            )
        return found[-1]


def add_routes(routes: APIRouter, settings: Settings) -> None:
    """Add the routes of the one project."""
    _add_project_routes(routes)
    _add_export_routes(routes, settings)
    _add_profile_routes(routes, settings)


def _add_project_routes(routes: APIRouter) -> None:
    @routes.get(_PROJECT, responses=error_responses())
    def read_project(request: Request, org_id: str, project_id: str) -> Mem0ProjectResponse:  # noqa: ARG001 - there is one
        """Describe the one project; its instructions are the server's settings."""
        find_caller(request, "")
        return Mem0ProjectResponse()

    refusals = {
        ("PATCH", _PROJECT): ("A client does not change how memory is kept.", _SETTINGS),
        ("DELETE", _PROJECT): (
            "The one project cannot be deleted.",
            f"`client.reset()` forgets everything in it. {_KEYS}",
        ),
        ("POST", "/api/v1/orgs/organizations/{org_id}/projects/"): ("There is one project.", _KEYS),
        **{
            (method, f"{_PROJECT}members/"): ("A project has no members here.", _KEYS)
            for method in ("POST", "PUT", "DELETE")
        },
        ("POST", "/v2/profiles/settings/"): (
            "A client does not change what a profile holds.",
            "It lists what is believed most; an export takes a schema.",
        ),
    }
    for (method, path), (reason, hint) in refusals.items():
        _add_refusal(routes, method, path, reason, hint)

    @routes.get(f"{_PROJECT}members/", responses=error_responses())
    def list_members(request: Request, org_id: str, project_id: str) -> dict[str, list[str]]:  # noqa: ARG001 - there is one
        """List the members of the project: none, as keys take their place."""
        find_caller(request, "")
        return {"members": []}


def _add_refusal(routes: APIRouter, method: str, path: str, reason: str, hint: str) -> None:
    def refuse(request: Request) -> Mem0MessageResponse:
        find_caller(request, "")
        raise RefusedError(reason, hint=hint)

    name = f"refuse_{method.lower()}_{path.strip('/').rpartition('/')[2].strip('{}')}"
    routes.add_api_route(
        path,
        refuse,
        methods=[method],
        name=name,
        summary=f"Refused: {reason}",
        responses=error_responses(),
    )


def _add_export_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.post("/v1/exports/", responses=error_responses())
    def create_export(request: Request, body: Mem0ExportRequest) -> Mem0ExportResponse:
        """Ask for memories in the shape of a schema."""
        target = find_target(request, body.ids(), body.filters)
        if target.engine.chat_model is None:
            raise RefusedError(
                "An export by a schema needs a chat model.",
                hint="Set `chat.provider`, or take GET /v1/export for memory as it is.",
            )
        made = Mem0ExportRegistry(target.engine.peers).put(target.owner.key, body)
        return Mem0ExportResponse(
            id=made.id,
            message="Memory export request received. The export will be ready in a few seconds.",
        )

    @routes.post("/v1/exports/get/", responses=error_responses(404))
    def get_export(request: Request, body: Mem0ExportGetRequest) -> dict[str, Any]:
        """Fill the schema of an export from memory as it is now."""
        caller = find_caller(request, "")
        made = Mem0ExportRegistry(caller.engine.peers).find(caller.owner.key, body)
        target = find_target(request, made.ids, made.filters)
        texts = _list_texts(target, _find_current(target, settings), quoted=True)
        prompt = prompts.load("export").render(
            instructions=prompts.quote(made.instructions) or "(none)", memories=texts or "(none)"
        )
        found = _ask(target, prompt, made.schema)
        return found if isinstance(found, dict) else {"data": found}

    @routes.post("/v1/summary/", responses=error_responses())
    def summarise(request: Request, body: Mem0ScopedRequest) -> Mem0SummaryResponse:
        """Summarise memories; without a chat model, list the most believed ones."""
        target = find_target(request, body.ids(), body.filters)
        asked = target.engine.chat_model is not None
        texts = _list_texts(target, _find_current(target, settings), quoted=asked)
        if not asked or not texts:
            return Mem0SummaryResponse(summary=texts)
        prompt = prompts.load("export").render(
            instructions="Summarise them in a few sentences.", memories=texts
        )
        return Mem0SummaryResponse(summary=str(_ask(target, prompt, None)))


def _add_profile_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.get("/v2/entities/user/{name}/profile/", responses=error_responses(404))
    def read_profile(request: Request, name: str) -> Mem0ProfileResponse:
        """Return what is believed most of a user."""
        caller = find_caller(request, "")
        scope = user_scope(caller.owner, name)
        if not any(
            each.labels[: len(scope.labels)] == scope.labels
            for each in caller.engine.scopes(caller.owner)
        ):
            raise NotFoundError(
                f"There is no user {name!r:.80}.",
                hint="`client.users()` lists those that there are.",
            )
        where = find_target(request, {"user_id": name})
        records = tuple(
            each for each in _find_current(where, settings) if each.kind is not Kind.TURN
        )
        text = _list_texts(where, records, quoted=False)
        return Mem0ProfileResponse(
            entity_id=name,
            status="succeeded" if text else "insufficient_data",
            profile={"text": text} if text else None,
        )

    @routes.get("/v2/profiles/settings/", responses=error_responses())
    def read_profile_settings(request: Request) -> dict[str, Any]:
        """Say that profiles are on; the server's settings shape them."""
        find_caller(request, "")
        return {
            "enabled": True,
            "capabilities": {"schema": False},
            "entities": {"user": {"schema": None, "custom_instructions": None}},
        }

    @routes.post("/v2/profiles/jobs/", responses=error_responses())
    def generate_profiles(request: Request, body: Mem0ProfileJobRequest) -> dict[str, Any]:
        """Answer that it is done: profiles are made when read."""
        caller = find_caller(request, "")
        names = [
            value
            for each in caller.engine.scopes(caller.owner)
            for label, value in _pairs(each.labels)
            if label == "user"
        ]
        chosen = [body.entity_id] if body.entity_id else list(dict.fromkeys(names))[: body.limit]
        job = {
            "job_id": "now",
            "status": "succeeded",
            "status_url": "/v2/profiles/jobs/now/",
            "entity_type": "user",
        }
        return {
            **job,
            "entity_ids": chosen,
            "sampled": len(chosen),
            "entity_count_reserved": len(chosen),
            "replayed": False,
        }

    @routes.get("/v2/profiles/jobs/{id}/", responses=error_responses())
    def read_profile_job(request: Request, id: str) -> dict[str, Any]:
        """Answer that a job is done."""
        find_caller(request, "")
        counts = {"total": None, "completed": 0, "succeeded": 0, "failed": 0, "skipped": 0}
        return {"job": {"id": id, "status": "succeeded", "enumeration_complete": False, **counts}}


def _parse_schema(given: dict[str, Any] | str) -> dict[str, Any]:
    try:
        schema = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict) or not schema:
        raise InputError(
            "The schema of an export is a JSON schema.",
            hint='Give {"type": "object", "properties": {…}}.',
        )
    if len(json.dumps(schema)) > _SCHEMA_CHARS:
        raise InputError(
            f"The schema of an export has more than {_SCHEMA_CHARS:,} characters.",
            hint="Ask for less in one export.",
        )
    return schema


def _find_current(target: Mem0ScopeFilter, settings: Settings) -> tuple[Record, ...]:
    limit = min(_MOST, settings.limits.results)
    return target.engine.list(
        scope=target.owner, where=target.where, order="believed", limit=limit
    ).records


def _list_texts(target: Mem0ScopeFilter, records: tuple[Record, ...], *, quoted: bool) -> str:
    """List texts, one a line, as many as fit into a prompt."""
    lines: list[str] = []
    left = _TOKENS
    for record in records:
        line = f"- {prompts.quote(record.search_text) if quoted else record.search_text}"
        left -= target.engine.counter.count(line)
        if left < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def _ask(target: Mem0ScopeFilter, prompt: str, schema: dict[str, Any] | None) -> Any:
    assert target.engine.chat_model is not None
    answer = target.engine.chat_model.ask(
        ChatRequest((ChatMessage("user", prompt),), "export", schema, max_tokens=4096)
    )
    return answer.text if schema is None else answer.data


def _pairs(labels: tuple[str, ...]) -> zip[tuple[str, str]]:
    return zip(labels[::2], labels[1::2], strict=False)
