"""Request and response bodies for mem0 clients."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from engrams.surfaces.http.rest.errors import to_json
from engrams.surfaces.http.rest.requests import Count, Measure, RequestBody
from engrams.types import HistoryEntry, Receipt, Record

_LABELS = {"user": "user_id", "agent": "agent_id", "project": "app_id", "conversation": "run_id"}
_EVENTS = {"stored": "ADD", "redacted": "ADD", "incognito": "ADD", "duplicate": "NONE", "refused": "NONE", "unsaved": "NONE"}
_CHANGES = {"add": "ADD", "forget": "DELETE", "purge": "DELETE"}


class Mem0Memory(BaseModel):
    id: str
    memory: str
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    metadata: dict[str, Any] | None = None
    categories: list[str]
    created_at: datetime
    updated_at: datetime
    expiration_date: str | None = None
    score: float | None = None


class Mem0Results(BaseModel):
    results: list[Mem0Memory]


class Mem0Page(Mem0Results):
    """Page of memories; ``count``: how many are known up to this page."""

    count: int
    next: str | None
    previous: str | None


class Mem0Event(BaseModel):
    id: str
    memory: str
    event: str


class Mem0Events(BaseModel):
    results: list[Mem0Event]


class Mem0Reply(BaseModel):
    message: str


class Mem0Change(BaseModel):
    id: str
    memory_id: str
    old_memory: str | None
    new_memory: str | None
    event: str
    created_at: datetime
    updated_at: datetime


class Mem0Entity(BaseModel):
    id: str
    name: str
    type: str


class Mem0EntityList(BaseModel):
    results: list[Mem0Entity]
    count: int


class Mem0Feedback(BaseModel):
    id: str
    feedback: str | None
    feedback_reason: str | None


class Mem0Project(BaseModel):
    """The one project; extraction is set by engrams' own settings."""

    name: str = "engrams"
    description: str = ""


class Mem0Pong(BaseModel):
    """Answer to a ping; clients require an organisation and a project."""

    status: str = "ok"
    user_email: str | None = None
    org_id: str = "engrams"
    project_id: str = "engrams"


def to_memory(record: Record, score: float | None, changed_at: datetime) -> Mem0Memory:
    """Convert a memory; of two labels of one name the innermost counts."""
    labels = record.scope.labels
    pairs = {name: value for name, value in zip(labels[::2], labels[1::2], strict=False) if name in _LABELS}
    named: dict[str, Any] = {_LABELS[name]: value for name, value in pairs.items()}
    at = record.recorded_at
    return Mem0Memory(
        id=record.id,
        memory=record.text,
        metadata=to_json(dict(record.meta)) or None,
        categories=list(record.tags),
        created_at=at,
        updated_at=changed_at,
        expiration_date=str((record.valid_to - timedelta(days=1)).date()) if record.valid_to else None,
        score=None if score is None else round(float(score), 6),
        **named,
    )


def to_events(receipt: Receipt, text: str) -> list[Mem0Event]:
    """Convert a receipt: the text itself and the memories derived from it."""
    own = [Mem0Event(id=receipt.id, memory=text if receipt.id and receipt.outcome != "refused" else "", event=_EVENTS[receipt.outcome])]
    return own + [
        Mem0Event(id=each.id, memory=each.text, event="UPDATE" if each.replaces else "ADD") for each in receipt.derived if each.id
    ]


def to_change(record: Record, entry: HistoryEntry) -> Mem0Change:
    return Mem0Change(
        id=f"{record.id}.{entry.version}",
        memory_id=record.id,
        old_memory=_text(entry.before),
        new_memory=_text(entry.after),
        event=_CHANGES.get(entry.action, "UPDATE"),
        created_at=record.recorded_at,
        updated_at=entry.at,
    )


def _text(side: Mapping[str, Any]) -> str | None:
    value = side.get("text")
    return value if isinstance(value, str) else None


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
    expiration_date: str | None = Field(None, description="Last day on which it is found: 2027-01-31.")


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


class Mem0DataRequest(Mem0UpdateRequest):
    """Update as the open-source server takes it."""

    data: str | None = None
    memory: str | None = None

    def to_update(self) -> Mem0UpdateRequest:
        """Return the update with its text by one name."""
        text = next((given for given in (self.text, self.data, self.memory) if given is not None), None)
        return Mem0UpdateRequest(text=text, metadata=self.metadata, expiration_date=self.expiration_date)


class Mem0FeedbackRequest(Mem0Body):
    memory_id: str
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None
    feedback_reason: str | None = None


class Mem0BatchItem(Mem0UpdateRequest):
    memory_id: str


class Mem0BatchRequest(Mem0Body):
    memories: list[Mem0BatchItem] = Field(min_length=1, max_length=MOST)
