"""/v1/spaces: memories that several people share, with their members and roles.

What stands in a space is read and written by the other operations, with ``?space=NAME``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from engrams.settings import Settings
from engrams.spaces import Space
from engrams.surfaces.http.caller import PersonCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest.requests import RequestBody

if TYPE_CHECKING:
    from engrams.sync.space_sync import SpaceHome

NameParam = Annotated[str, Path(description="Name of the space.")]
MemberParam = Annotated[
    str,
    Path(description="The user's name, or the key of another owner, with `%252F` for each `/`."),
]


class SpaceCreateRequest(RequestBody):
    """Space to create."""

    name: str = Field(description="1 to 64 letters, digits, blanks, `-`, `_` or `.`.")


class SpaceRoleRequest(RequestBody):
    """Role of a member."""

    role: str = Field("editor", description="reader, editor or owner.")


class SpaceMemberResponse(BaseModel):
    """Member of a space."""

    user: str
    owner: str = Field(description="Key of the owner of the member's own memory.")
    role: str
    since: datetime


class SpaceHomeResponse(BaseModel):
    """Home that shares a space, or an invitation that nobody took yet."""

    id: str
    label: str = Field(description="Name of its person in the space.")
    role: str
    kind: str = Field(description="device: a home. invitation: a code that nobody used yet.")
    is_this: bool
    last_seen: str = Field(description="Empty: nothing of it was taken over here yet.")


class SpaceResponse(BaseModel):
    """Space, as one of its members sees it."""

    name: str
    role: str = Field(description="Role of whoever asks.")
    members: list[SpaceMemberResponse] = Field(description="Members on this server.")
    homes: list[SpaceHomeResponse] = Field(
        description="Homes that share the space; empty: only this one has it, or it was not asked."
    )


class SpaceListResponse(BaseModel):
    """Spaces of a person."""

    spaces: list[SpaceResponse]


class SpaceDeletionResponse(BaseModel):
    """Deletion of a space."""

    proven: bool = Field(description="A second search of every file found no word of its memory.")


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "spaces")

    @routes.get("/spaces", responses=error_responses())
    def find(caller: PersonCaller) -> SpaceListResponse:
        """List the spaces that the user is a member of. Searches and contexts include them."""
        spaces = caller.engine.spaces.list(scope=caller.scope)
        return SpaceListResponse(spaces=[_to_space(space) for space in spaces])

    @routes.post("/spaces", status_code=201, responses=error_responses(409))
    def create(body: SpaceCreateRequest, caller: PersonCaller) -> SpaceResponse:
        """Create a space that belongs to the user."""
        return _to_space(caller.engine.spaces.create(body.name, scope=caller.scope))

    @routes.get("/spaces/{name}", responses=error_responses(404))
    def read(name: NameParam, caller: PersonCaller) -> SpaceResponse:
        """Return a space with its members."""
        sharing = caller.engine.spaces.get_sharing(name, scope=caller.scope)
        homes = () if sharing is None else sharing.homes
        return _to_space(caller.engine.spaces.get(name, scope=caller.scope), homes)

    @routes.delete("/spaces/{name}", responses=error_responses(404))
    def delete(name: NameParam, caller: PersonCaller) -> SpaceDeletionResponse:
        """Delete a space with its memory, for every member; its owners do that."""
        report = caller.engine.spaces.delete(name, scope=caller.scope)
        return SpaceDeletionResponse(proven=report.proven)

    @routes.put("/spaces/{name}/members/{user}", responses=error_responses(404, 409))
    def set_role(
        name: NameParam, user: MemberParam, body: SpaceRoleRequest, caller: PersonCaller
    ) -> SpaceResponse:
        """Add a person to a space, or change a member's role; its owners do that."""
        member = _read_member(user)
        return _to_space(caller.engine.spaces.set_role(name, member, body.role, scope=caller.scope))

    @routes.delete(
        "/spaces/{name}/members/{user}", status_code=204, responses=error_responses(404, 409)
    )
    def remove(name: NameParam, user: MemberParam, caller: PersonCaller) -> None:
        """Remove a member; its owners do that, or the member, who leaves."""
        caller.engine.spaces.remove(name, _read_member(user), scope=caller.scope)

    return routes


def _read_member(user: str) -> str:
    """Read a member from a path: a `/` of a key would end the segment, so it comes encoded twice."""
    return user.replace("%2F", "/")


def _to_space(space: Space, homes: Sequence[SpaceHome] = ()) -> SpaceResponse:
    return SpaceResponse(
        name=space.name,
        role=space.role,
        members=[
            SpaceMemberResponse(
                user=member.label, owner=member.owner.key, role=member.role, since=member.since
            )
            for member in space.members
        ],
        homes=[SpaceHomeResponse.model_validate(asdict(home)) for home in homes],
    )
