"""/v1/sync and /v1/place: the devices of this home's memory, and sealed files of other people's devices.

A person's devices may leave their sealed files here. The server stores and lists them for the owner of a
key. It has none of their keys and reads nothing.
"""

from __future__ import annotations

from dataclasses import asdict
from hashlib import blake2b
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from engrams.errors import RefusedError
from engrams.settings import Settings
from engrams.surfaces.http.caller import AnyCaller, IdentifiedCaller, PersonCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.sync.places import FolderPlace, PlaceFile

_FOLDER = "places"
_BINARY = "application/octet-stream"

MemberParam = Annotated[str, Path(description="Id of the device that writes the file.")]
NameParam = Annotated[str, Path(description="Number and kind, such as 12.seg.")]


class DeviceResponse(BaseModel):
    """Device, invitation or recovery code of the memory."""

    id: str
    label: str = Field(description="Name of a device; empty until it told one.")
    kind: str
    is_this: bool
    is_removed: bool
    last_seen: str = Field(description="Empty: nothing of it was taken over here yet.")


class WaitingPurgeResponse(BaseModel):
    """Purge that not every device made yet."""

    at: str
    memories: int
    waiting_for: list[str] = Field(description="Names of the devices that did not confirm it.")


class SyncStatusResponse(BaseModel):
    """State of the exchange with the other devices."""

    memory: str
    address: str
    device: str
    label: str
    devices: list[DeviceResponse]
    purges: list[WaitingPurgeResponse]
    to_send: int = Field(description="Segments that the place has not got yet.")
    has_changes: bool = Field(description="Something changed here since the last exchange.")
    kept_here: int = Field(description="Memories that stay here for a secret.")
    kept_out: int = Field(description="Memories of others that stay out for a secret.")


class ExchangeCounts(BaseModel):
    """Counts of one exchange."""

    sent: int
    bytes_sent: int
    added: int
    changed: int
    conflicts: int
    purged: int
    cleaned: int = Field(description="Own segments that were written anew.")
    remains: str = Field(description="Sentence about replaced files that the place keeps.")
    waiting: list[str] = Field(description="Files that are not whole yet.")
    refused: list[str] = Field(description="Files of which nothing is taken over, with the reason.")
    unsent: str = Field(description="Sentence on why nothing was sent; empty: everything was.")


class SpaceExchangeResponse(BaseModel):
    """Exchange of a space with the other homes that share it."""

    space: str
    report: ExchangeCounts | None = Field(description="null: there was no exchange.")
    ended: bool = Field(description="This home was removed; its copy of the space is erased.")
    problem: str = Field(description="Why there was no exchange.")


class ExchangeResponse(ExchangeCounts):
    """Counts of one exchange, with those of the spaces that the server shares."""

    spaces: list[SpaceExchangeResponse]


class PlaceListResponse(BaseModel):
    files: list[str]


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "devices")

    @routes.get("/sync", responses=error_responses(404))
    def find(caller: AnyCaller) -> SyncStatusResponse:
        """Tell of this device, the others, and purges that not every one of them made."""
        return SyncStatusResponse.model_validate(asdict(caller.engine.sync.status()))

    @routes.post("/sync", responses=error_responses(404))
    def exchange(caller: AnyCaller) -> ExchangeResponse:
        """Exchange everything with the other devices now."""
        return ExchangeResponse.model_validate(asdict(caller.engine.sync.now()))

    @routes.delete("/sync/devices/{id}", responses=error_responses(404))
    def remove(id: str, caller: AnyCaller) -> DeviceResponse:
        """Remove a device or a code: it reads nothing that is told from now on."""
        return DeviceResponse.model_validate(asdict(caller.engine.sync.remove(id)))

    _add_place_routes(routes)
    return routes


def _add_place_routes(routes: APIRouter) -> None:
    @routes.get("/place", responses=error_responses())
    def list_files(caller: PersonCaller) -> PlaceListResponse:
        """List the sealed files that the devices of this owner left."""
        folder_place = _open_place(caller)
        if not folder_place.folder.is_dir():
            return PlaceListResponse(files=[])
        return PlaceListResponse(files=sorted(file.path for file in folder_place.list()))

    @routes.get(
        "/place/devices/{member}/{name}",
        response_class=Response,
        responses={200: {"content": {_BINARY: {}}}, **error_responses(404)},
    )
    def read_file(member: MemberParam, name: NameParam, caller: PersonCaller) -> Response:
        """Return a sealed file as it was left."""
        content = _open_place(caller).read(_parse(member, name))
        if content is None:
            raise HTTPException(404, "There is no such file.")
        return Response(content, media_type=_BINARY)

    @routes.put("/place/devices/{member}/{name}", status_code=204, responses=error_responses(404))
    async def write_file(
        member: MemberParam, name: NameParam, request: Request, caller: PersonCaller
    ) -> None:
        """Store or replace a sealed file, whole or not at all."""
        content = await request.body()
        await run_in_threadpool(_open_place(caller).write, {_parse(member, name): content})

    @routes.delete(
        "/place/devices/{member}/{name}", status_code=204, responses=error_responses(404)
    )
    def remove_file(member: MemberParam, name: NameParam, caller: PersonCaller) -> None:
        """Remove a sealed file that is not needed any more; one that is not there does not matter."""
        _open_place(caller).remove([_parse(member, name)])


def _open_place(caller: IdentifiedCaller) -> FolderPlace:
    """Open the folder of an owner's devices."""
    settings = caller.engine.settings
    if settings.is_volatile or settings.incognito or settings.store.url:
        raise RefusedError(
            "This server carries no files of devices.",
            hint="It needs a home on its own disk, with its memory in SQLite.",
        )
    name = blake2b(caller.owner.key.encode(), digest_size=16).hexdigest()
    return FolderPlace(settings.home.expanduser() / _FOLDER / name)


def _parse(member: str, name: str) -> PlaceFile:
    file = PlaceFile.parse(f"devices/{member}/{name}")
    if file is None:
        raise HTTPException(404, "That is no name of a file of a device.")
    return file
