"""Bodies that come in, checked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, model_validator

from engrams.errors import InputError
from engrams.types import EdgeType, Json, Kind, Status, Tier

IDS = 1000
_DEEPEST = 64


def aware(moment: datetime) -> datetime:
    """A time in UTC; one without a zone is UTC already."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("out of range") from None


def written(value: Any) -> Any:
    """A time as people write it: a bare number, which could be read as seconds, is none."""
    digits = value.strip().lstrip("+-").replace(".", "", 1) if isinstance(value, str) else ""
    if isinstance(value, int | float) or digits.isdecimal():
        raise ValueError("a time is written 2024-05-31 or 2024-05-31T14:30:00Z")
    return value


def counted(value: Any) -> Any:
    """A number, not a text or a truth that could be read as one."""
    if isinstance(value, bool | str):
        raise ValueError("a number is needed")
    return value


Moment = Annotated[datetime, BeforeValidator(written), AfterValidator(aware)]
Count = Annotated[int, BeforeValidator(counted)]
Measure = Annotated[float, BeforeValidator(counted)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Body(BaseModel):
    """No text that comes in holds a lone surrogate: it could be neither stored nor answered."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def whole(cls, sent: Json) -> Json:
        return _whole(sent)


class Said(Body):
    """One turn of a conversation."""

    role: Literal["user", "assistant", "system", "tool"] = "user"
    content: str
    name: str = ""
    at: Moment | None = None
    caption: str = ""
    meta: dict[str, Any] = Field(default_factory=dict)


class Add(Body):
    """Either ``text``, one statement, or ``messages``, a conversation."""

    text: str | None = None
    messages: list[Said] | None = Field(None, min_length=1, max_length=IDS)
    kind: Kind = Field(Kind.NOTE, description="What `text` is; messages are turns.")
    tags: list[str] = Field(default_factory=list, description="Labels of `text`.", max_length=100)
    session: str = Field("", description="The conversation it was said in.")
    at: Moment | None = Field(None, description="When `text` was said; without it, now.")
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def one(self) -> Add:
        if (self.text is None) == (self.messages is None):
            raise ValueError("give text or messages, one of them")
        return self


class Edit(Body):
    """Only the fields that are sent change."""

    text: str | None = None
    caption: str | None = None
    summary: str | None = None
    kind: Kind | None = None
    speaker: str | None = None
    category: str | None = None
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    tags: list[str] | None = None
    triggers: list[str] | None = None
    steps: list[str] | None = None
    importance: Share | None = None
    confidence: Share | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    meta: dict[str, Any] | None = None
    reason: str = Field("", description="Why, for its history.")

    def fields(self) -> dict[str, Any]:
        """What was sent. InputError: nothing, or null for what cannot be empty."""
        sent = {name: getattr(self, name) for name in self.model_fields_set if name != "reason"}
        wrong = sorted(name for name, value in sent.items() if value is None and name not in ("valid_from", "valid_to"))
        if wrong or not sent:
            raise InputError(
                f"{', '.join(wrong) or 'The edit'} is empty.", hint="Send the fields that are to change, with their new values."
            )
        return sent


class Test(Body):
    """A test on one field of a memory, or of its metadata as ``meta.name``."""

    field: str = Field(max_length=200)
    op: Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "exists"] = "eq"
    value: Json = None

    @model_validator(mode="after")
    def placed(self) -> Test:
        """A scope is compared with a scope: its key, or its labels."""
        some = self.value if self.op in ("in", "nin") and isinstance(self.value, list) else [self.value]
        if self.field == "scope" and self.op != "exists" and not all(isinstance(one, str | list) for one in some):
            raise ValueError("a scope is a text or a list of labels")
        return self


class Ask(Body):
    """A question to memory."""

    query: str
    limit: Count | None = Field(None, ge=0, description="At most so many; the setting `limits.results` is the most there are.")
    as_of: Moment | None = Field(None, description="As it was, and was known, at this time.")


class Search(Ask):
    kinds: list[Kind] = Field(default_factory=list)
    where: list[Test] = Field(default_factory=list, max_length=50, description="Tests that must all hold.")
    history: StrictBool = Field(False, description="Also what was superseded or archived.")


class Prompt(Ask):
    tokens: Count | None = Field(None, ge=0, description="The most the text may cost; without it `read.context_tokens`.")


class Ids(Body):
    ids: list[str] = Field(min_length=1, max_length=IDS)


class Jobs(Body):
    ids: list[str] = Field(default_factory=list, max_length=IDS, description="Which; none means all of yours.")


class Listing(BaseModel):
    """How to list: what, in which order, from where on."""

    model_config = ConfigDict(extra="ignore")

    kind: list[Kind] = Field(default_factory=list)
    status: list[Status] = Field(default_factory=lambda: [Status.ACTIVE])
    tier: list[Tier] = Field(default_factory=list)
    tag: list[str] = Field(default_factory=list)
    session: str = ""
    text: str = Field("", description="Only where the text contains this.")
    order: Literal["newest", "oldest"] = "newest"
    as_of: Moment | None = None
    limit: int = Field(50, ge=1, le=1000)
    after: str = Field("", description="`next` of the page before.")


class View(BaseModel):
    """Which part of the graph to show."""

    model_config = ConfigDict(extra="ignore")

    focus: list[str] = Field(default_factory=list, max_length=100, description="Around these: ids of memories, `tag:x`, `topic:x`.")
    depth: int = Field(1, ge=0, le=3, description="Steps along the links.")
    type: list[EdgeType] = Field(default_factory=list, description="Only links of these types.")
    kind: list[Kind] = Field(default_factory=list)
    status: list[Status] = Field(default_factory=lambda: [Status.ACTIVE, Status.SUPERSEDED])
    tag: list[str] = Field(default_factory=list, max_length=100)
    limit: int = Field(200, ge=1, le=1000, description="Most nodes.")


def _whole(value: Json, depth: int = 0) -> Json:
    if depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {_whole(name): _whole(held, depth + 1) for name, held in value.items()}
        case list():
            return [_whole(held, depth + 1) for held in value]
        case _:
            return value


def meta(value: dict[str, Any], most: int) -> dict[str, Any]:
    """Metadata as it may be stored. InputError: larger than ``most`` bytes of JSON, or no JSON."""
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as problem:
        raise InputError(f"The metadata is not JSON: {problem}.") from None
    if size > most:
        raise InputError(f"The metadata has {size:,} bytes; the limit is {most:,}.", hint="Keep large data elsewhere and store a link.")
    return value
