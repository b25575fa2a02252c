"""Routes shared by the feedback log and the safety log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, BeforeValidator, Field, StrictBool

from engrams.settings import Settings
from engrams.surfaces.http.rest.caller import Caller
from engrams.surfaces.http.rest.errors import error_responses, limited_route
from engrams.surfaces.http.rest.requests import Moment, RequestBody, require_date_text
from engrams.types.logs import Kept

Day = Annotated[date, BeforeValidator(require_date_text)]
MaybeDay = Annotated[date | None, BeforeValidator(require_date_text)]


class LogRequest(RequestBody):
    """Entry of a log about a session."""

    session: str = Field(min_length=1, description="Its name, of which only a hash is kept.")
    at: Moment | None = Field(None, description="When it happened; without it, now.")
    incognito: StrictBool = Field(False, description="Only in this process, and nobody's.")

    def options(self, caller: Caller, key: str) -> dict[str, Any]:
        """Build the keyword arguments that both logs take."""
        incognito = self.incognito or caller.is_incognito(self.session)
        return {"owner": caller.scope.key, "id": key, "at": self.at, "incognito": incognito}


class LogFilter(BaseModel):
    """Selection of log entries, newest first."""

    session: str = Field("", description="Only of the session with this name.")
    day: MaybeDay = Field(None, description="Only this day, UTC.")
    since: MaybeDay = Field(None, description="From this day on.")
    until: MaybeDay = Field(None, description="To this day.")
    limit: int = Field(100, ge=1, le=1000, description="At most so many.")

    def options(self) -> dict[str, Any]:
        """Build the keyword arguments that both logs take."""
        return {name: getattr(self, name) for name in LogFilter.model_fields}


class LogEntry(BaseModel):
    """Entry of a log; ``id`` and ``session`` are hashes.

    ``owner``: a scope's key; null where nobody is named.
    """

    id: str
    at: datetime
    session: str
    owner: str | None


def log_router(settings: Settings, name: str, outcome: type[BaseModel], add: Callable[..., Any], find: Callable[..., Any]) -> APIRouter:
    """Create the router of the log ``name`` from its two handlers."""
    routes = APIRouter(prefix="/v1", tags=[name], route_class=limited_route(settings.limits.text_bytes))
    unwritten: dict[int | str, dict[str, Any]] = {200: {"model": outcome, "description": "Nothing new was written; `outcome` says why."}}
    routes.add_api_route(f"/{name}", add, methods=["POST"], status_code=201, responses={**unwritten, **error_responses()})
    routes.add_api_route(f"/{name}", find, methods=["GET"], responses=error_responses())
    return routes


def set_status(response: Response, outcome: Kept | None) -> None:
    response.status_code = 201 if outcome is Kept.STORED else 200
