"""Bodies that come in. What these clients send besides is accepted and has no effect."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from engrams.surfaces.http.rest.requests import Body, Count, Measure

MOST = 1000

Name = Annotated[str, Field(max_length=200)]


class Loose(Body):
    model_config = ConfigDict(extra="ignore")


class Named(Loose):
    """Whose memory, and which part of it; also inside ``filters``."""

    user_id: Name | None = None
    agent_id: Name | None = None
    app_id: Name | None = None
    run_id: Name | None = None
    filters: dict[str, Any] | None = None

    def ids(self) -> dict[str, str]:
        given = {name: getattr(self, name) for name in ("user_id", "agent_id", "app_id", "run_id")}
        return {name: value for name, value in given.items() if value}


class Message(Loose):
    role: str = "user"
    content: str | list[Any] = ""
    name: str = ""


class Add(Named):
    messages: list[Message] = Field(min_length=1, max_length=MOST)
    metadata: dict[str, Any] | None = None
    infer: StrictBool = True
    timestamp: Measure | None = Field(None, description="Seconds since 1970.")
    expiration_date: str | None = Field(None, description="Refused: memories here do not expire, `valid_to` says until when they are true.")


class Search(Named):
    query: str
    top_k: Count | None = Field(None, ge=0, le=MOST)
    limit: Count | None = Field(None, ge=0, le=MOST)
    threshold: Measure | None = None


class Listing(Named):
    start_date: str | None = None
    end_date: str | None = None


class Update(Loose):
    text: str | None = None
    metadata: dict[str, Any] | None = None
    timestamp: StrictFloat | StrictInt | str | None = None
    expiration_date: str | None = None


class One(Update):
    memory_id: str


class Batch(Loose):
    memories: list[One] = Field(min_length=1, max_length=MOST)
