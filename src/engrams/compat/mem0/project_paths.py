"""Paths of mem0's project, profiles, exports and summaries.

There is one project, whose settings are the server's: requests to change it are refused with a hint.
Profiles and exports are made when they are read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
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
from engrams.ports import ChatMessage, ChatRequest
from engrams.settings import Settings
from engrams.surfaces.http.caller import IdentifiedCaller, find_caller, user_scope
from engrams.surfaces.http.problems import error_responses

_PROJECT = "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/"
_MAX_MEMORIES = 500
_PROMPT_TOKENS = 6000
"""Tokens of memories in a prompt."""
_MAX_SCHEMA_CHARS = 50_000
_EXPORT_OWNERS = 1000
_EXPORTS_PER_OWNER = 20
_ANSWER_TOKENS = 4096
_SETTINGS = (
    "Settings decide how memory is stored: `engrams config` lists them, config.toml sets them."
)
_KEYS = (
    "A key is a memory of its own: `engrams keys add` makes one, `engrams keys revoke` ends one."
)


class Mem0ExportRequest(Mem0ScopedRequest):
    export_schema: dict[str, Any] | str = Field(
        alias="schema", description="A JSON schema, as an object or as text."
    )
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
        self._exports = peers.table("mem0 exports", _EXPORT_OWNERS)

    def put(self, owner: str, body: Mem0ExportRequest) -> Mem0Export:
        """Keep an export. InputError: its schema is no object."""
        schema = _parse_schema(body.export_schema)
        exports: list[Mem0Export] = self._exports.get(owner, [])
        last_number = int(exports[-1].id.rpartition("-")[2]) if exports else 0
        export = Mem0Export(
            id=f"export-{last_number + 1}",
            schema=schema,
            instructions=body.export_instructions,
            ids=body.ids(),
            filters=body.filters or {},
        )
        self._exports.put(owner, [*exports[1 - _EXPORTS_PER_OWNER :], export])
        return export

    def find(self, owner: str, body: Mem0ExportGetRequest) -> Mem0Export:
        """Find an export by its id, else the latest with these filters."""
        exports: list[Mem0Export] = self._exports.get(owner, [])
        filters = (body.ids(), body.filters or {})
        for export in reversed(exports):
            if body.memory_export_id:
                is_match = export.id == body.memory_export_id
            else:
                is_match = (export.ids, export.filters) == filters
            if is_match:
                return export
        raise NotFoundError(
            "There is no such export.",
            hint="Create it first, with the same filters; a restart forgets exports.",
        )


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
        export = Mem0ExportRegistry(target.engine.peers).put(target.owner.key, body)
        return Mem0ExportResponse(
            id=export.id,
            message="Memory export request received. The export will be ready in a few seconds.",
        )

    @routes.post("/v1/exports/get/", responses=error_responses(404))
    def get_export(request: Request, body: Mem0ExportGetRequest) -> dict[str, Any]:
        """Fill the schema of an export from memory as it is now."""
        caller = find_caller(request, "")
        export = Mem0ExportRegistry(caller.engine.peers).find(caller.owner.key, body)
        target = find_target(request, export.ids, export.filters)
        texts = _list_texts(target, _find_current(target, settings), quoted=True)
        prompt = prompts.load("export").render(
            instructions=prompts.quote(export.instructions) or "(none)", memories=texts or "(none)"
        )
        answer = _ask_model(target, prompt, export.schema)
        return answer if isinstance(answer, dict) else {"data": answer}

    @routes.post("/v1/summary/", responses=error_responses())
    def summarise(request: Request, body: Mem0ScopedRequest) -> Mem0SummaryResponse:
        """Summarise memories; without a chat model, list the most believed ones."""
        target = find_target(request, body.ids(), body.filters)
        has_model = target.engine.chat_model is not None
        texts = _list_texts(target, _find_current(target, settings), quoted=has_model)
        if not has_model or not texts:
            return Mem0SummaryResponse(summary=texts)
        prompt = prompts.load("export").render(
            instructions="Summarise them in a few sentences.", memories=texts
        )
        return Mem0SummaryResponse(summary=str(_ask_model(target, prompt, None)))


def _add_profile_routes(routes: APIRouter, settings: Settings) -> None:
    @routes.get("/v2/entities/user/{name}/profile/", responses=error_responses(404))
    def read_profile(request: Request, name: str) -> Mem0ProfileResponse:
        """Return what is believed most of a user."""
        caller = find_caller(request, "")
        scope = user_scope(caller.owner, name)
        is_known = any(
            known_scope.labels[: len(scope.labels)] == scope.labels
            for known_scope in caller.engine.scopes(caller.owner)
        )
        if not is_known:
            raise NotFoundError(
                f"There is no user {name!r:.80}.",
                hint="`client.users()` lists all users.",
            )
        target = find_target(request, {"user_id": name})
        records = tuple(
            record for record in _find_current(target, settings) if record.kind is not Kind.TURN
        )
        text = _list_texts(target, records, quoted=False)
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
        if body.entity_id:
            names = [body.entity_id]
        else:
            names = _list_users(caller)[: body.limit]
        return {
            "job_id": "now",
            "status": "succeeded",
            "status_url": "/v2/profiles/jobs/now/",
            "entity_type": "user",
            "entity_ids": names,
            "sampled": len(names),
            "entity_count_reserved": len(names),
            "replayed": False,
        }

    @routes.get("/v2/profiles/jobs/{id}/", responses=error_responses())
    def read_profile_job(request: Request, id: str) -> dict[str, Any]:
        """Answer that a job is done."""
        find_caller(request, "")
        counts = {"total": None, "completed": 0, "succeeded": 0, "failed": 0, "skipped": 0}
        return {"job": {"id": id, "status": "succeeded", "enumeration_complete": False, **counts}}


def _list_users(caller: IdentifiedCaller) -> list[str]:
    """List the users that have memories, each once."""
    names = (
        value
        for scope in caller.engine.scopes(caller.owner)
        for label, value in zip(scope.labels[::2], scope.labels[1::2], strict=False)
        if label == "user"
    )
    return list(dict.fromkeys(names))


def _parse_schema(sent_schema: dict[str, Any] | str) -> dict[str, Any]:
    try:
        schema = json.loads(sent_schema) if isinstance(sent_schema, str) else sent_schema
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict) or not schema:
        raise InputError(
            "The schema of an export is a JSON schema.",
            hint='Give {"type": "object", "properties": {…}}.',
        )
    if len(json.dumps(schema)) > _MAX_SCHEMA_CHARS:
        raise InputError(
            f"The schema of an export has more than {_MAX_SCHEMA_CHARS:,} characters.",
            hint="Ask for less in one export.",
        )
    return schema


def _find_current(target: Mem0ScopeFilter, settings: Settings) -> tuple[Record, ...]:
    limit = min(_MAX_MEMORIES, settings.limits.results)
    return target.engine.list(
        scope=target.owner, where=target.where, order="believed", limit=limit
    ).records


def _list_texts(target: Mem0ScopeFilter, records: tuple[Record, ...], *, quoted: bool) -> str:
    """List texts, one a line, as many as fit into a prompt."""
    lines: list[str] = []
    tokens_left = _PROMPT_TOKENS
    for record in records:
        line = f"- {prompts.quote(record.search_text) if quoted else record.search_text}"
        tokens_left -= target.engine.counter.count(line)
        if tokens_left < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def _ask_model(target: Mem0ScopeFilter, prompt: str, schema: dict[str, Any] | None) -> Any:
    assert target.engine.chat_model is not None
    answer = target.engine.chat_model.ask(
        ChatRequest((ChatMessage("user", prompt),), "export", schema, max_tokens=_ANSWER_TOKENS)
    )
    return answer.text if schema is None else answer.data
