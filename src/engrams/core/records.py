"""Frozen data that every layer shares; times are timezone-aware UTC."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from engrams.errors import ScopeError
from engrams.frozen_data import dataclass

Json: TypeAlias = Any
Meta: TypeAlias = Mapping[str, Any]
Role: TypeAlias = Literal["user", "assistant", "system", "tool"]

NO_META: Meta = {}

RUNNING = "running"
"""The metadata of a summary that replaces itself as its conversation goes on: ``window`` or
``rolling``. No search finds one, and it goes with any memory that it was made from.
"""

MERGED = "merged_from"
"""The metadata of a fact that took the place of others: their ids. It goes with any of them."""

ABSORBED = "absorbed"
"""The metadata of a memory into which others that say the same were merged: their ids.

They go with it.
"""

BESIDE = "beside"
"""Metadata of a statement that was set right by hand: ids of later ones that do not end it."""

CORRECTED = "corrected"
"""The metadata of a source of which part was corrected or forgotten: quotes that reads leave out.
"""

IMPORTED = "import"
"""The metadata of a memory that came from a file: the id of its import."""

EVICTED = "evicted"
"""The metadata of a memory that the cap of a conversation put away: nobody asked to forget it."""

UNSAID = "unsaid"
"""The metadata of a fact whose source was edited and no longer says it; repeating it there restores
the fact.
"""

TAG_CHARS = 200
"""Characters of the longest tag: each store finds it by an index."""
UNSEARCHED = "unsearched"
"""The metadata of a memory that is kept for those who ask for it by name: no search finds it."""

_MAX_LABELS = 16
_MAX_LABEL = 200
_SCOPE_HINT = (
    'Write ("user", "alice"), {"user": "alice"} or ("user", "alice", "project", "garden").'
)

_INNER = frozenset({"conversation", "session", "thread", "chat"})


class Kind(StrEnum):
    """Kind of a record: turn, fact, preference, rule, episode, …."""

    TURN = "turn"
    EXCHANGE = "exchange"
    FACT = "fact"
    PREFERENCE = "preference"
    PROCEDURE = "procedure"
    CORRECTION = "correction"
    NEGATIVE = "negative"
    RULE = "rule"
    EPISODE = "episode"
    SUMMARY = "summary"
    NOTE = "note"
    GAP = "gap"


MESSAGE_KINDS = (Kind.NOTE, Kind.TURN, Kind.EXCHANGE)
"""Kinds of records that hold what somebody said or wrote, word by word."""

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
    """Memory layer of a record; product names are facts, sessions, rules."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"


class Tier(StrEnum):
    """Tier that holds a record."""

    WORKING = "working"
    RECENT = "recent"
    LONGTERM = "longterm"


class Status(StrEnum):
    """Status of a record, from candidate to purged.

    Only ``active`` is retrievable by default.
    """

    CANDIDATE = "candidate"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"
    PURGED = "purged"


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


LAYER_OF: dict[Kind, Layer] = {
    Kind.TURN: Layer.EPISODIC,
    Kind.EXCHANGE: Layer.EPISODIC,
    Kind.EPISODE: Layer.EPISODIC,
    Kind.SUMMARY: Layer.EPISODIC,
    Kind.GAP: Layer.EPISODIC,
    Kind.FACT: Layer.SEMANTIC,
    Kind.PREFERENCE: Layer.SEMANTIC,
    Kind.NOTE: Layer.SEMANTIC,
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


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """Owner and part of memory: ``Scope(("user", "alice", "project", "x"))``.

    Pairs of labels, or a single one (methods refuse other odd numbers); the first pair, or the only
    label, is the owner, and comes first in every key and index of a store. ``key`` is its text
    form, ``user/alice/project/x``, with ``%``-escapes for ``/`` and ``%``.
    """

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.labels or not all(
            isinstance(label, str) and label.strip() for label in self.labels
        ):
            raise ScopeError("A scope needs an owner: its labels must be non-empty text.")
        if len(self.labels) > _MAX_LABELS or any(len(label) > _MAX_LABEL for label in self.labels):
            raise ScopeError(
                f"A scope has at most {_MAX_LABELS} labels of {_MAX_LABEL} characters."
            )
        odd = [label for label in self.labels if not label.isprintable()]
        if any(unicodedata.category(char) in ("Cc", "Cs") for label in odd for char in label):
            raise ScopeError(
                "A scope label holds a control character.",
                hint="Use letters, digits and punctuation.",
            )

    @classmethod
    def of(cls, value: ScopeInput | None, **variables: str) -> Scope:
        """Make a scope from pairs of labels or one string.

        Pairs come as a tuple or a dict.

        Labels may be templates: ``Scope.of(("memories", "{user_id}"), user_id="alice")``. A
        variable that is missing raises ScopeError naming the ones that were given; so does
        everything that is no such pairs.
        """
        if isinstance(value, Scope):
            labels = value.labels
            paired = len(value.labels) != 1
        elif isinstance(value, str):
            if "/" in value:
                raise ScopeError(
                    f"The scope {value!r:.80} is one label with a slash, not a path.",
                    hint=_SCOPE_HINT,
                )
            labels = (value,)
            paired = False
        elif isinstance(value, Mapping):
            labels = tuple(label for pair in value.items() for label in pair)
            paired = True
        elif isinstance(value, (tuple, list)):
            labels = tuple(value)
            paired = True
        else:
            raise ScopeError(
                f"A scope is made of pairs of labels, not of {value!r:.80}.", hint=_SCOPE_HINT
            )
        if not labels or not all(isinstance(label, str) and label.strip() for label in labels):
            raise ScopeError(
                f"The labels of a scope are non-empty texts, unlike in {value!r:.80}.",
                hint=_SCOPE_HINT,
            )
        if paired and len(labels) % 2:
            raise ScopeError(
                f"The scope {value!r:.80} has an odd number of labels; they go in pairs.",
                hint=_SCOPE_HINT,
            )
        if isinstance(value, Scope):
            return value
        try:
            return cls(
                tuple(
                    label.format_map(variables) if variables or "{" in label else label
                    for label in labels
                )
            )
        except ScopeError:
            raise
        except (KeyError, IndexError, ValueError) as problem:
            known = ", ".join(sorted(variables)) or "none"
            raise ScopeError(
                f"The scope template {labels!r} needs {problem}; given: {known}."
            ) from None

    @classmethod
    def parse(cls, key: str) -> Scope:
        """The inverse of ``key``."""
        return _parsed(key)

    @property
    def key(self) -> str:
        # No label holds a control character.
        return "\0".join(self.labels).replace("%", "%25").replace("/", "%2F").replace("\0", "/")

    @property
    def owner(self) -> Scope:
        return self if len(self.labels) <= 2 else Scope(self.labels[:2])

    @property
    def is_owner(self) -> bool:
        return len(self.labels) <= 2

    def chain(self) -> tuple[Scope, ...]:
        """List this scope and those above it, nearest first.

        A read in it sees these, down to the owner.
        """
        pairs = [Scope(self.labels[:end]) for end in range(len(self.labels), 2, -2)]
        return (*pairs, self.owner)

    def within(self, label: str, name: str) -> Scope:
        """A scope one step deeper: ``scope.within("conversation", "c1")``."""
        return Scope((*self.labels, label, name))

    def __str__(self) -> str:
        return self.key


ScopeInput: TypeAlias = Scope | str | Sequence[str] | Mapping[str, str]
"""Accepted forms of a scope: itself, pairs of labels as a tuple or a dict, or one label as a
string.
"""


def conversation(scope: Scope, session: str) -> tuple[Scope, str]:
    """Scope and session of one conversation.

    A scope that is one, whatever its sessions; else a session of a scope.
    """
    return (scope, "") if len(scope.labels) > 3 and scope.labels[-2] in _INNER else (scope, session)


@lru_cache(maxsize=4096)
def _parsed(key: str) -> Scope:
    return Scope(tuple(part.replace("%2F", "/").replace("%25", "%") for part in key.split("/")))


@dataclass(frozen=True, slots=True)
class Evidence:
    """A literal quote and the record it was said in."""

    quote: str
    source: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Origin of a record: channel, extractor, prompt, reason, files.

    ``channel`` sets its trust (user, assistant, import, tool, web, file).
    """

    channel: str = "user"
    extractor: str = ""
    prompt: str = ""
    reason: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """One memory of any kind.

    ``valid_from``/``valid_to``: when it was true in the world. ``recorded_at``/``retired_at``: when
    we knew it; for something said in the past and imported now, ``recorded_at`` is when it was
    said. ``ended_at``: when we learned of ``valid_to``. Importance, confidence and trust are 0..1;
    strength counts repeated statements; ``version`` grows by one with each change. ``meta`` holds
    JSON values only.
    """

    id: str
    scope: Scope
    kind: Kind
    text: str
    recorded_at: datetime
    layer: Layer = Layer.EPISODIC
    tier: Tier = Tier.RECENT
    status: Status = Status.ACTIVE
    role: str = ""
    speaker: str = ""
    session: str = ""
    external_id: str = ""
    caption: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retired_at: datetime | None = None
    ended_at: datetime | None = None
    subject: str = ""
    predicate: str = ""
    object: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    provenance: Provenance = Provenance()
    importance: float = 0.5
    confidence: float = 1.0
    trust: float = 1.0
    strength: int = 1
    access_count: int = 0
    last_accessed: datetime | None = None
    superseded_by: str = ""
    summary: str = ""
    version: int = 1
    meta: Meta = field(default_factory=dict)

    @property
    def search_text(self) -> str:
        """Text that the indexes hold."""
        return f"{self.text} [{self.caption}]" if self.caption else self.text

    @property
    def telling_key(self) -> tuple[datetime, str, str]:
        """Sort key: time said, then order of telling, by message.

        A statement stands at the message that said it first.
        """
        return self.recorded_at, self.evidence[0].source if self.evidence else self.id, self.id

    @property
    def hash(self) -> str:
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


def content_hash(text: str) -> str:
    """Hash a text, ignoring white space, case and Unicode form.

    32 hex digits.
    """
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return hashlib.blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed, weighted, counted link.

    ``source`` and ``target`` are node ids: a record's, ``tag:x`` or ``topic:x``.
    """

    owner: Scope
    source: str
    target: str
    type: EdgeType
    weight: float = 1.0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Topic:
    """Memories of one scope that are about the same.

    ``id``: ``topic:…``, or ``concept:…`` for what several topics share.

    ``members``: how many memories (of a concept: topics); edges say which. ``centroid``: the mean
    of their vectors of ``model``, float32 bytes. ``named``: its label was given by a model; else it
    is how the first member begins.
    """

    id: str
    scope: Scope
    label: str
    members: int
    model: str
    centroid: bytes
    at: datetime
    named: bool = False

    @property
    def concept(self) -> bool:
        return self.id.startswith("concept:")


@dataclass(frozen=True, slots=True)
class Vector:
    """An embedding of one record, unit length, as float32 bytes.

    ``model`` is the card's id.
    """

    record: str
    model: str
    dimension: int
    data: bytes


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change of one record. ``before``/``after`` hold the fields that changed."""

    record: str
    version: int
    at: datetime
    action: str
    actor: str
    reason: str
    before: Meta
    after: Meta
