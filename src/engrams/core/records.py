"""Records, and the data that belongs to them: evidence, links, topics, vectors and history.

``Record`` is one memory of any kind. All times are timezone-aware UTC. Every class is frozen: a
change makes a new record, with the next version.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from engrams.core.scopes import Scope
from engrams.frozen_data import dataclass

Json: TypeAlias = Any
Meta: TypeAlias = Mapping[str, Any]
"""A JSON object."""
Role: TypeAlias = Literal["user", "assistant", "system", "tool"]

NO_META: Meta = {}

TAG_CHARS = 200
"""Characters of the longest tag: each store finds it by an index."""

MEMORY_ROLE = "memory"
"""Role under which files, filters and the proxy know what is no message, such as a fact."""


class Kind(StrEnum):
    """Kind of a record, such as a message, a fact or a rule."""

    TURN = "turn"
    """A message, word for word."""
    EXCHANGE = "exchange"
    """A question and its answer, kept together."""
    FACT = "fact"
    """A statement about somebody or something."""
    PREFERENCE = "preference"
    """A statement of what somebody likes or wants."""
    PROCEDURE = "procedure"
    """Instructions for a task, with its steps."""
    CORRECTION = "correction"
    """A statement that an earlier one was wrong."""
    NEGATIVE = "negative"
    """Something that must never be done."""
    RULE = "rule"
    """A standing instruction."""
    EPISODE = "episode"
    """An account of a finished session."""
    SUMMARY = "summary"
    """A summary of a conversation that goes on."""
    NOTE = "note"
    """A text that somebody added directly."""
    PASSAGE = "passage"
    """A part of a document, word for word. Nothing is learned from it."""
    GAP = "gap"
    """A question to which no memory had an answer."""


MESSAGE_KINDS = (Kind.NOTE, Kind.TURN, Kind.EXCHANGE)
"""Kinds of records that hold what somebody said or wrote, word by word."""

UNLISTED_KINDS = (Kind.TURN, Kind.EXCHANGE, Kind.GAP, Kind.PASSAGE)
"""Kinds that no layer lists or counts.

Sessions are told by their accounts, not turn by turn, and documents are listed by themselves.
"""

RULE_KINDS = (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE)
"""Kinds of records that tell the assistant what to do."""

STATEMENT_KINDS = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.PROCEDURE,
    Kind.CORRECTION,
    Kind.NEGATIVE,
    Kind.RULE,
)
"""Kinds of records that state one thing, and quote the messages that said it."""


class Layer(StrEnum):
    """Layer of memory that a record's kind belongs to (``LAYER_OF``)."""

    SEMANTIC = "semantic"
    """True statements: facts."""
    EPISODIC = "episodic"
    """Events: messages, sessions."""
    PROCEDURAL = "procedural"
    """Ways to act: rules, procedures."""


class Tier(StrEnum):
    """Tier that holds a record."""

    WORKING = "working"
    RECENT = "recent"
    LONGTERM = "longterm"


class Status(StrEnum):
    """Status of a record; only active records are found by default."""

    CANDIDATE = "candidate"
    """Held until the end of the session."""
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """A later statement took its place."""
    ARCHIVED = "archived"
    """Kept, but no longer offered."""
    FORGOTTEN = "forgotten"
    """Put away; ``restore`` makes it active again."""
    PURGED = "purged"
    """Erased; only an empty tombstone is left."""


GONE_STATUSES = (Status.FORGOTTEN, Status.PURGED)


class EdgeType(StrEnum):
    """Type of a link."""

    HAS_TAG = "has_tag"
    IN_TOPIC = "in_topic"
    RELATES_TO = "relates_to"
    SUPERSEDES = "supersedes"
    MAY_OUTDATE = "may_outdate"
    CONTRADICTS = "contradicts"
    DERIVED_FROM = "derived_from"
    CO_OCCURS = "co_occurs"
    ABSTRACTED_FROM = "abstracted_from"


DERIVED_LINKS = frozenset({EdgeType.HAS_TAG, EdgeType.IN_TOPIC, EdgeType.CO_OCCURS})
"""Links that follow from the rest of a memory: whoever copies it makes them anew."""

ENDING = (EdgeType.SUPERSEDES, EdgeType.MAY_OUTDATE)
"""Links from a later statement to what it ends, or may end."""

LAYER_OF: dict[Kind, Layer] = {
    Kind.TURN: Layer.EPISODIC,
    Kind.EXCHANGE: Layer.EPISODIC,
    Kind.EPISODE: Layer.EPISODIC,
    Kind.SUMMARY: Layer.EPISODIC,
    Kind.GAP: Layer.EPISODIC,
    Kind.FACT: Layer.SEMANTIC,
    Kind.PREFERENCE: Layer.SEMANTIC,
    Kind.NOTE: Layer.SEMANTIC,
    Kind.PASSAGE: Layer.SEMANTIC,
    Kind.CORRECTION: Layer.SEMANTIC,
    Kind.PROCEDURE: Layer.PROCEDURAL,
    Kind.NEGATIVE: Layer.PROCEDURAL,
    Kind.RULE: Layer.PROCEDURAL,
}

PRODUCT: dict[Layer, str] = {
    Layer.SEMANTIC: "facts",
    Layer.EPISODIC: "sessions",
    Layer.PROCEDURAL: "rules",
}
"""Names of layers for people, in the API, the command line and the page alike."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A literal quote that a derived record rests on."""

    quote: str
    source: str
    """Id of the record that the quote stands in."""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Origin of a record."""

    channel: str = "user"
    """Way by which it came in: user, assistant, import, tool, web, file or document.

    It sets the trust.

    Records that engrams makes itself have session, usage or skill.
    """
    extractor: str = ""
    """Rules or model that derived it; empty for a text as it was given."""
    prompt: str = ""
    """Hash of the prompt that a model derived it with."""
    reason: str = ""
    """Why it was stored, in words."""
    files: tuple[str, ...] = ()
    """Paths of the files that it came from."""


TimeRole: TypeAlias = Literal["when", "since", "until", "birth"]


@dataclass(frozen=True, slots=True)
class ResolvedTime:
    """A time that a text names, worked out from the day on which it was said.

    Words that can mean two times have an entry for each reading, none of them sure.
    """

    text: str
    """Words of the text."""
    start: datetime | None
    """Its beginning, in the time zone of whoever said it. None: open, or it recurs."""
    end: datetime | None
    """First moment after it, likewise."""
    grain: str
    """Exactness: minute, hour, day, week, weekend, month, season, year or range."""
    sure: float
    """0..1."""
    recurs: str = ""
    """Words of the recurrence ("every other Friday"); ``every year 05-03`` for a birthday."""
    role: TimeRole = "when"
    """``since``: what is told began then and lasts; ``until``: it ends then; ``birth``: between
    them somebody was born whose age is told.
    """

    def to_json(self) -> dict[str, Json]:
        """Return it as metadata (``TIMES``): only what differs from the plain case."""
        fields: dict[str, Json] = {
            "text": self.text,
            "start": self.start.isoformat() if self.start else None,
            "end": self.end.isoformat() if self.end else None,
            "grain": self.grain,
            "sure": self.sure,
        }
        if self.recurs:
            fields["recurs"] = self.recurs
        if self.role != "when":
            fields["role"] = self.role
        return fields


@dataclass(frozen=True, slots=True)
class Record:
    """One memory of any kind.

    It has two pairs of times. ``valid_from`` to ``valid_to`` is when it was true in the world;
    ``recorded_at`` to ``retired_at`` is when this memory believed it. A read as of a day looks at
    both.
    """

    id: str
    """ULID (``core.ids``): ids sort by the time at which the memory was said."""
    scope: Scope
    kind: Kind
    text: str
    recorded_at: datetime
    """Time at which it was said. For an imported message that is not the time of the import."""
    layer: Layer = Layer.EPISODIC
    """As ``LAYER_OF`` has it for the kind."""
    tier: Tier = Tier.RECENT
    status: Status = Status.ACTIVE

    role: str = ""
    """``Role`` of whoever said it; empty where nobody did."""
    speaker: str = ""
    """Name of whoever said it."""
    session: str = ""
    """Session in which it was said."""
    external_id: str = ""
    """The sender's own id; a scope holds each one once."""
    caption: str = ""
    """Text of an attached picture, or headings over a passage; searched like the text."""

    valid_from: datetime | None = None
    """Time from which it is true. None: from ``recorded_at``."""
    valid_to: datetime | None = None
    """Time at which it ceased to be true. None: it is still true."""
    retired_at: datetime | None = None
    """Time at which this memory gave it up, because it was wrong or was put away. None: not yet."""
    ended_at: datetime | None = None
    """Time at which this memory learned of ``valid_to``."""

    subject: str = ""
    """Whom or what a statement is about; with ``predicate`` the slot that it fills."""
    predicate: str = ""
    """Relation that a statement states, such as ``lives_in``."""
    object: str = ""
    """Value of the relation."""
    category: str = ""
    """Subject area of a statement, such as work, home or preference."""
    tags: tuple[str, ...] = ()
    """At most ``TAG_CHARS`` characters each."""
    triggers: tuple[str, ...] = ()
    """Words of a query that bring a rule, procedure or negative up, whatever its score."""
    steps: tuple[str, ...] = ()
    """Steps of a procedure, in order."""
    evidence: tuple[Evidence, ...] = ()
    """Quotes that it was derived from; the first is the message that said it first."""
    provenance: Provenance = Provenance()

    importance: float = 0.5
    """0..1. Set by the extractor or a judge; a read weighs it."""
    confidence: float = 1.0
    """0..1. Rises and falls with use and feedback."""
    trust: float = 1.0
    """0..1. Set by the channel; a less trusted statement ends no more trusted one."""
    strength: int = 1
    """How often it was stated."""
    access_count: int = 0
    """How often reads selected it."""
    last_accessed: datetime | None = None

    superseded_by: str = ""
    """Id of the record that took its place, or will on a planned day."""
    summary: str = ""
    """The text in one sentence, made when it leaves the working tier."""
    version: int = 1
    """Grows by one with each change; an edit may name the version that it expects."""
    meta: Meta = field(default_factory=dict)
    """JSON values: the sender's own, and those of ``core.meta_keys``."""

    @property
    def search_text(self) -> str:
        """Text that the indexes hold: the text, with the caption in brackets."""
        return f"{self.text} [{self.caption}]" if self.caption else self.text

    @property
    def role_shown(self) -> str:
        """Role as in a memory's file: a message's own; ``memory`` for what is none."""
        return self.role if self.layer is Layer.EPISODIC else MEMORY_ROLE

    @property
    def story_key(self) -> tuple[datetime, str, str]:
        """Sort key that puts records in the order in which they were said.

        A statement stands at the message that said it first.
        """
        first_message = self.evidence[0].source if self.evidence else self.id
        return self.recorded_at, first_message, self.id

    @property
    def hash(self) -> str:
        """Content hash; equal texts of one scope are stored once."""
        return content_hash(self.search_text)


def asks_only(record: Record) -> bool:
    """True for a user's own message that only asks the assistant."""
    from engrams.text.questions import is_asking  # patterns that few reads and writes need

    is_own_message = (
        record.kind is Kind.TURN
        and record.role == "user"
        and not record.speaker
        and not record.caption
    )
    return is_own_message and is_asking(record.text)


def is_repetition(record: Record) -> bool:
    """True for a message that was left out because a recent memory says the same."""
    is_replaced = record.status is Status.ARCHIVED and bool(record.superseded_by)
    # What went to the long term is superseded, too: by its exchange.
    return is_replaced and record.kind is Kind.TURN and record.tier is not Tier.LONGTERM


def is_repeated_question(record: Record) -> bool:
    """True for a question that was left out because a recent one asks the same."""
    return is_repetition(record) and asks_only(record)


def repeats_turns(record: Record) -> bool:
    """True for a message and its answer, stored as one record that quotes both."""
    return record.kind is Kind.EXCHANGE and bool(record.evidence)


def is_learned_from(record: Record, compared: Record) -> bool:
    """Return True if one of two records was derived from the other: they are one statement."""
    return any(item.source == compared.id for item in record.evidence) or any(
        item.source == record.id for item in compared.evidence
    )


def content_hash(text: str) -> str:
    """Hash a text to 32 hex digits; white space, case and Unicode form make no difference."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return hashlib.blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed, weighted, counted link between two nodes."""

    owner: Scope
    source: str
    """Id of a node: a record's id, ``tag:NAME``, ``topic:ID`` or ``concept:ID``."""
    target: str
    """Id of a node, as ``source``."""
    type: EdgeType
    weight: float = 1.0
    """Strength of the link; of ``may_outdate`` the probability that the source ends the target."""
    count: int = 1
    """How often the link was found."""


def build_tag_edges(record: Record, tags: Iterable[str]) -> tuple[Edge, ...]:
    """Build the edges from a record to some of its tags."""
    owner = record.scope.owner
    return tuple(Edge(owner, record.id, f"tag:{tag}", EdgeType.HAS_TAG) for tag in tags)


@dataclass(frozen=True, slots=True)
class Topic:
    """Cluster of memories of one scope that are about the same; or a concept over such clusters."""

    id: str
    """``topic:…``, or ``concept:…`` for a concept."""
    scope: Scope
    label: str
    members: int
    """Number of its memories; of a concept: of its topics. Edges say which."""
    model: str
    """Id of the embedder's card that the vectors are of."""
    centroid: bytes
    """Mean of the members' vectors, float32."""
    at: datetime
    """Time of its last change."""
    named: bool = False
    """True: a model gave the label. False: it is the beginning of the first member's text."""

    @property
    def concept(self) -> bool:
        """True for a concept, which stands for several topics."""
        return self.id.startswith("concept:")


@dataclass(frozen=True, slots=True)
class Vector:
    """An embedding of one record."""

    record: str
    """Id of the record."""
    model: str
    """Id of the embedder's card."""
    dimension: int
    data: bytes
    """``dimension`` float32 numbers, of unit length together."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change of one record."""

    record: str
    """Id of the record."""
    version: int
    """Version that the change made."""
    at: datetime
    action: str
    """Such as add, edit, supersede or forget."""
    actor: str
    """Whoever made the change: a caller's name, or a part of engrams."""
    reason: str
    before: Meta
    """Fields that changed, with their values before."""
    after: Meta
    """Fields that changed, with their values after."""
