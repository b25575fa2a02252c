"""Request bodies of mem0 clients; unknown fields are ignored."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from engrams.surfaces.http.rest.requests import Count, Measure, RequestBody

MOST = 1000

Name = Annotated[str, Field(max_length=200)]


class Mem0Body(RequestBody):
    model_config = ConfigDict(extra="ignore")


class Mem0ScopedBody(Mem0Body):
    """Request that names an owner's part of memory, also inside ``filters``."""

    user_id: Name | None = None
    agent_id: Name | None = None
    app_id: Name | None = None
    run_id: Name | None = None
    filters: dict[str, Any] | None = None

    def ids(self) -> dict[str, str]:
        given = {name: getattr(self, name) for name in ("user_id", "agent_id", "app_id", "run_id")}
        return {name: value for name, value in given.items() if value}


class Mem0Message(Mem0Body):
    role: str = "user"
    content: str | list[Any] = ""
    name: str = ""


class Mem0AddRequest(Mem0ScopedBody):
    messages: list[Mem0Message] = Field(min_length=1, max_length=MOST)
    metadata: dict[str, Any] | None = None
    infer: StrictBool = True
    timestamp: Measure | None = Field(None, description="Seconds since 1970.")
    expiration_date: str | None = Field(None, description="Refused: memories here do not expire, `valid_to` says until when they are true.")


class Mem0SearchRequest(Mem0ScopedBody):
    query: str
    top_k: Count | None = Field(None, ge=0, le=MOST)
    limit: Count | None = Field(None, ge=0, le=MOST)
    threshold: Measure | None = None


class Mem0ListRequest(Mem0ScopedBody):
    start_date: str | None = None
    end_date: str | None = None


class Mem0UpdateRequest(Mem0Body):
    text: str | None = None
    metadata: dict[str, Any] | None = None
    timestamp: StrictFloat | StrictInt | str | None = None
    expiration_date: str | None = None


class Mem0BatchItem(Mem0UpdateRequest):
    memory_id: str


class Mem0BatchRequest(Mem0Body):
    memories: list[Mem0BatchItem] = Field(min_length=1, max_length=MOST)
