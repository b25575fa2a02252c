"""Checked request bodies and queries.

Bodies of JSON are strict, so that a mistake is told: an unknown field is refused, and a number is
no text. The routes of other files keep their own bodies beside them, on `RequestBody`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    model_validator,
)

from engrams.core import TAG_CHARS, EdgeType, Json, Kind, Status, Tier, leave_own_part
from engrams.errors import InputError
from engrams.ports import Condition, Filter, Where

MAX_IDS = 1000
"""Memories that one request may name, and messages that it may bring."""
_MAX_DEPTH = 64
"""Levels of nested JSON that a body may have."""

Tag = Annotated[str, Field(max_length=TAG_CHARS)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def to_utc(moment: datetime) -> datetime:
    """Convert a time to UTC; without a zone it is UTC."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("out of range") from None


def keep_zone(moment: datetime) -> datetime:
    """Keep the zone of a time; without one it is UTC."""
    to_utc(moment)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def require_date_text(value: Any) -> Any:
    """Require a written date: bare numbers could be read as seconds."""
    digits = value.strip().lstrip("+-").replace(".", "", 1) if isinstance(value, str) else ""
    if isinstance(value, int | float) or digits.isdecimal():
        raise ValueError("a time is written 2024-05-31 or 2024-05-31T14:30:00Z")
    return value


def require_number(value: Any) -> Any:
    """Require a number, not a text or truth value."""
    if isinstance(value, bool | str):
        raise ValueError("a number is needed")
    return value


Moment = Annotated[datetime, BeforeValidator(require_date_text), AfterValidator(to_utc)]
SpokenTime = Annotated[datetime, BeforeValidator(require_date_text), AfterValidator(keep_zone)]
"""Time at which something was said: its zone tells the day of whoever said it."""
Count = Annotated[int, BeforeValidator(require_number)]
Measure = Annotated[float, BeforeValidator(require_number)]


class RequestBody(BaseModel):
    """Request body; lone surrogates in texts are replaced."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def replace_surrogates(cls, sent: Json) -> Json:
        return _replace_surrogates(sent)


class AddedMessage(RequestBody):
    """One message of a conversation to store."""

    role: Literal["user", "assistant", "system", "tool"] = "user"
    content: str
    name: str = ""
    at: SpokenTime | None = None
    caption: str = ""
    external_id: str = Field(
        "",
        max_length=200,
        description="The sender's own id; the same one in a scope is stored once.",
    )
    meta: dict[str, Any] = Field(default_factory=dict)


class MemoryAddRequest(RequestBody):
    """Text (one statement) or messages (a conversation) to store."""

    text: str | None = None
    messages: list[AddedMessage] | None = Field(None, min_length=1, max_length=MAX_IDS)
    kind: Kind = Field(Kind.NOTE, description="The kind of `text`; messages are turns.")
    tags: list[Tag] = Field(default_factory=list, description="Labels of `text`.", max_length=100)
    triggers: list[str] = Field(
        default_factory=list,
        description="Phrases that surface `text`, a rule, procedure or negative.",
        max_length=100,
    )
    steps: list[str] = Field(
        default_factory=list, description="Steps of `text`, a procedure.", max_length=100
    )
    prerequisites: list[str] = Field(
        default_factory=list,
        description="What must be so before `text`, a procedure, begins.",
        max_length=100,
    )
    warnings: list[str] = Field(
        default_factory=list, description="Warnings of `text`, a procedure.", max_length=100
    )
    category: str = Field(
        "", description="Category of `text`: entity, or one of your own.", max_length=100
    )
    session: str = Field("", description="The conversation it was said in.")
    at: SpokenTime | None = Field(None, description="When `text` was said; without it, now.")
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def check_source(self) -> MemoryAddRequest:
        if (self.text is None) == (self.messages is None):
            raise ValueError("give text or messages, one of them")
        return self


class MemoryEditRequest(RequestBody):
    """Edit of a memory; only the fields that are sent change."""

    text: str | None = None
    caption: str | None = None
    summary: str | None = None
    kind: Kind | None = None
    speaker: str | None = None
    category: str | None = None
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    tags: list[Tag] | None = None
    triggers: list[str] | None = None
    steps: list[str] | None = None
    importance: Share | None = None
    confidence: Share | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    meta: dict[str, Any] | None = None
    reason: str = Field("", description="Why, for its history.")

    def sent_fields(self) -> dict[str, Any]:
        """Return the fields sent. InputError: none, or null where not allowed."""
        sent = {name: getattr(self, name) for name in self.model_fields_set if name != "reason"}
        emptied = sorted(
            name
            for name, value in sent.items()
            if value is None and name not in ("valid_from", "valid_to")
        )
        if emptied or not sent:
            raise InputError(
                f"{', '.join(emptied) or 'The edit'} is empty.",
                hint="Send the fields to change, with their new values.",
            )
        return sent


class FieldConditionInput(RequestBody):
    """Test on a field of a memory, or on metadata as ``meta.name``."""

    field: str = Field(max_length=200)
    op: Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "exists"] = "eq"
    value: Json = None

    @model_validator(mode="after")
    def check_scope(self) -> FieldConditionInput:
        """Require a text or list of labels as the value of `scope`."""
        if self.field != "scope" or self.op == "exists":
            return self
        takes_several = self.op in ("in", "nin") and isinstance(self.value, list)
        scopes = self.value if takes_several else [self.value]
        if not all(isinstance(scope, str | list) for scope in scopes):
            raise ValueError("a scope is a text or a list of labels")
        return self


class MemoryQuestionRequest(RequestBody):
    """Fields shared by search and context requests."""

    query: str
    limit: Count | None = Field(
        None,
        ge=0,
        description="At most so many; the setting `limits.results` is the most there are.",
    )
    as_of: Moment | None = Field(None, description="Memory as it was, and was known, at this time.")


class SearchRequest(MemoryQuestionRequest):
    kinds: list[Kind] = Field(default_factory=list)
    where: list[FieldConditionInput] | dict[str, Any] = Field(
        default_factory=list,
        max_length=50,
        description=(
            "Tests that a memory must all pass, or a map of fields to values, such as"
            ' `{"$or": [{"speaker": "Ann"}, {"importance": {"gte": 0.7}}]}`.'
        ),
    )
    history: StrictBool = Field(False, description="Include superseded and archived memories.")

    def to_filter(self) -> Filter | None:
        """Return the filter in the form that the engine takes; None without tests."""
        if isinstance(self.where, dict):
            return self.where
        conditions = tuple(Condition(test.field, test.op, test.value) for test in self.where)
        return Where("and", conditions) if conditions else None


class ContextRequest(MemoryQuestionRequest):
    tokens: Count | None = Field(
        None, ge=0, description="The most the text may cost; without it `read.context_tokens`."
    )
    session: str = Field("", description="The conversation that it is a turn of.")


class UsedRequest(RequestBody):
    ids: list[str] = Field(min_length=1, max_length=MAX_IDS)
    helpful: bool = Field(
        default=True, description="Whether they helped; false lowers their confidence."
    )


class ExportRequest(RequestBody):
    ids: list[str] = Field(min_length=1, max_length=MAX_IDS)


class PurgeRequest(RequestBody):
    ids: list[str] = Field(min_length=1, max_length=MAX_IDS)
    git: bool = Field(
        default=False,
        description=(
            "Also remove their words from the git history of the files, which is rewritten."
        ),
    )


class PurgeCandidatesRequest(RequestBody):
    about: str = Field(min_length=1, max_length=200, description="A person, a place or a thing.")


class ChangePreviewRequest(PurgeRequest):
    action: Literal["edit", "forget", "purge"]


class JobRetryRequest(RequestBody):
    ids: list[str] = Field(
        default_factory=list, max_length=MAX_IDS, description="Which; none means all of yours."
    )


class MemoryListQuery(BaseModel):
    """Filter, order and page of a list."""

    model_config = ConfigDict(extra="ignore")

    kind: list[Kind] = Field(default_factory=list)
    status: list[Status] = Field(default_factory=lambda: [Status.ACTIVE])
    tier: list[Tier] = Field(default_factory=list)
    tag: list[str] = Field(default_factory=list)
    session: str = ""
    text: str = Field("", description="Only where the text contains this.")
    where: str = Field(
        "",
        max_length=10_000,
        description="Filter as JSON, a map of fields to values as in a search.",
    )
    order: Literal["newest", "oldest"] = "newest"
    as_of: Moment | None = None
    limit: int = Field(50, ge=1, le=1000)
    after: str = Field("", description="`next` of the page before.")


class MemoryGraphQuery(BaseModel):
    """Query parameters of the graph: focus, depth, filters, limit."""

    model_config = ConfigDict(extra="ignore")

    focus: list[str] = Field(
        default_factory=list,
        max_length=100,
        description="Around these: ids of memories, `entity:x`, `tag:x`, `topic:x`.",
    )
    depth: int = Field(1, ge=0, le=3, description="Steps along the links.")
    view: Literal["memories", "entities"] = Field(
        "memories", description="Without `focus`: newest memories, or entities mentioned most."
    )
    type: list[EdgeType | Literal["mentions"]] = Field(
        default_factory=list, description="Only links of these types."
    )
    kind: list[Kind] = Field(default_factory=list)
    status: list[Status] = Field(default_factory=lambda: [Status.ACTIVE, Status.SUPERSEDED])
    tag: list[str] = Field(default_factory=list, max_length=100)
    limit: int = Field(200, ge=1, le=1000, description="Most nodes.")


def _replace_surrogates(value: Json, depth: int = 0) -> Json:
    if depth > _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {
                _replace_surrogates(name): _replace_surrogates(member, depth + 1)
                for name, member in value.items()
            }
        case list():
            return [_replace_surrogates(member, depth + 1) for member in value]
        case _:
            return value


def check_meta(meta: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    """Return metadata as it may be stored, without the key that makes a part of a text one's own.

    InputError: larger than ``max_bytes`` of JSON, or no JSON.
    """
    try:
        text = json.dumps(meta, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise InputError(f"The metadata is not JSON: {error}.") from None
    size = len(text.encode("utf-8", "replace"))
    if size > max_bytes:
        raise InputError(
            f"The metadata has {size:,} bytes; the limit is {max_bytes:,}.",
            hint="Keep large data elsewhere and store a link.",
        )
    return leave_own_part(meta)
