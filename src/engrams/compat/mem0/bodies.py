"""Request and response bodies for mem0 clients."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from engrams.core import HistoryEntry, Receipt, Record, sender_meta
from engrams.surfaces.http.json_values import to_json
from engrams.surfaces.http.rest.requests import Count, Measure, RequestBody

_LABELS = {"user": "user_id", "agent": "agent_id", "project": "app_id", "conversation": "run_id"}
_EVENTS = {
    "stored": "ADD",
    "redacted": "ADD",
    "incognito": "ADD",
    "duplicate": "NONE",
    "refused": "NONE",
    "unsaved": "NONE",
}
_CHANGES = {"add": "ADD", "forget": "DELETE", "purge": "DELETE"}


MAX_ITEMS = 1000
"""Messages, memories or hits of one request."""

Name = Annotated[str, Field(max_length=200)]


class Mem0MemoryResponse(BaseModel):
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
    outdated_by: str | None = Field(
        None, description="Memory that ended this one, or may have; mem0 has no such field."
    )


class Mem0MemoryListResponse(BaseModel):
    results: list[Mem0MemoryResponse]


class Mem0MemoryPageResponse(Mem0MemoryListResponse):
    """Page of memories."""

    count: int = Field(description="Memories on all pages.")
    next: str | None
    previous: str | None


class Mem0AddEventResponse(BaseModel):
    id: str
    memory: str
    event: str


class Mem0AddResponse(BaseModel):
    results: list[Mem0AddEventResponse]


class Mem0MessageResponse(BaseModel):
    message: str


class Mem0HistoryEntryResponse(BaseModel):
    id: str
    memory_id: str
    old_memory: str | None
    new_memory: str | None
    event: str
    created_at: datetime
    updated_at: datetime


class Mem0EntityResponse(BaseModel):
    id: str
    name: str
    type: str


class Mem0EntityListResponse(BaseModel):
    results: list[Mem0EntityResponse]
    count: int


class Mem0FeedbackResponse(BaseModel):
    id: str
    feedback: str | None
    feedback_reason: str | None


class Mem0ProjectResponse(BaseModel):
    """The one project; extraction is set by engrams' own settings."""

    name: str = "engrams"
    description: str = ""


class Mem0PingResponse(BaseModel):
    """Answer to a ping; clients require an organisation and a project."""

    status: str = "ok"
    user_email: str | None = None
    org_id: str = "engrams"
    project_id: str = "engrams"


def to_memory(record: Record, score: float | None, changed_at: datetime) -> Mem0MemoryResponse:
    """Convert a memory; of two labels of one name the innermost counts."""
    labels = record.scope.labels
    pairs = {
        name: value
        for name, value in zip(labels[::2], labels[1::2], strict=False)
        if name in _LABELS
    }
    ids: dict[str, Any] = {_LABELS[name]: value for name, value in pairs.items()}
    return Mem0MemoryResponse(
        id=record.id,
        memory=record.text,
        metadata=to_json(sender_meta(record.meta)) or None,
        categories=list(record.tags),
        created_at=record.recorded_at,
        updated_at=changed_at,
        expiration_date=_format_expiry(record),
        score=None if score is None else round(float(score), 6),
        **ids,
    )


def _format_expiry(record: Record) -> str | None:
    """Format the last day on which a memory is found; its validity ends a day later."""
    return str((record.valid_to - timedelta(days=1)).date()) if record.valid_to else None


def to_events(receipt: Receipt, text: str) -> list[Mem0AddEventResponse]:
    """Convert a receipt: the text itself and the memories derived from it."""
    own = [
        Mem0AddEventResponse(
            id=receipt.id,
            memory=text if receipt.id and receipt.outcome != "refused" else "",
            event=_EVENTS[receipt.outcome],
        )
    ]
    return own + [
        Mem0AddEventResponse(
            id=memory.id, memory=memory.text, event="UPDATE" if memory.replaces else "ADD"
        )
        for memory in receipt.derived
        if memory.id
    ]


def to_change(record: Record, entry: HistoryEntry) -> Mem0HistoryEntryResponse:
    return Mem0HistoryEntryResponse(
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


class Mem0RequestBody(RequestBody):
    model_config = ConfigDict(extra="ignore")


class Mem0ScopedRequest(Mem0RequestBody):
    """Request that names an owner's part of memory, also inside ``filters``."""

    user_id: Name | None = None
    agent_id: Name | None = None
    app_id: Name | None = None
    run_id: Name | None = None
    filters: dict[str, Any] | None = None

    def ids(self) -> dict[str, str]:
        """Return the ids that are sent, by name."""
        ids = {
            "user_id": self.user_id,
            "agent_id": self.agent_id,
            "app_id": self.app_id,
            "run_id": self.run_id,
        }
        return {name: value for name, value in ids.items() if value}


class Mem0ChatMessage(Mem0RequestBody):
    role: str = "user"
    content: str | list[Any] = ""
    name: str = ""


class Mem0AddRequest(Mem0ScopedRequest):
    messages: list[Mem0ChatMessage] = Field(min_length=1, max_length=MAX_ITEMS)
    metadata: dict[str, Any] | None = None
    infer: StrictBool = True
    timestamp: Measure | None = Field(None, description="Seconds since 1970.")
    expiration_date: str | None = Field(
        None, description="Last day on which it is found: 2027-01-31."
    )


class Mem0SearchRequest(Mem0ScopedRequest):
    query: str
    categories: list[str] | None = None
    show_expired: StrictBool = False
    latest_only: StrictBool = True
    top_k: Count | None = Field(None, ge=0, le=MAX_ITEMS)
    limit: Count | None = Field(None, ge=0, le=MAX_ITEMS)
    threshold: Measure | None = None


class Mem0ListRequest(Mem0ScopedRequest):
    categories: list[str] | None = None
    show_expired: StrictBool = False
    latest_only: StrictBool = True
    start_date: str | None = None
    end_date: str | None = None


class Mem0UpdateRequest(Mem0RequestBody):
    text: str | None = None
    metadata: dict[str, Any] | None = None
    timestamp: StrictFloat | StrictInt | str | None = None
    expiration_date: str | None = None


class Mem0OpenSourceUpdateRequest(Mem0UpdateRequest):
    """Update of a memory in the open-source server's form."""

    data: str | None = None
    memory: str | None = None

    def to_update(self) -> Mem0UpdateRequest:
        """Return the update with its text by one name."""
        names = (self.text, self.data, self.memory)
        text = next((value for value in names if value is not None), None)
        return Mem0UpdateRequest(
            text=text, metadata=self.metadata, expiration_date=self.expiration_date
        )


class Mem0FeedbackRequest(Mem0RequestBody):
    memory_id: str
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None
    feedback_reason: str | None = None


class Mem0BatchUpdateItem(Mem0UpdateRequest):
    memory_id: str


class Mem0BatchUpdateRequest(Mem0RequestBody):
    memories: list[Mem0BatchUpdateItem] = Field(min_length=1, max_length=MAX_ITEMS)
