"""Turns: messages as they come in, before a write makes records of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime

from engrams.core.records import Meta, Role
from engrams.errors import InputError
from engrams.frozen_data import dataclass

NAMES_OF_OWNERS = frozenset({"user", "the user", "i", "me", "myself", "self"})
"""Speakers and subjects, lower case, that mean the owner of the memory."""
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
    "developer": "system",
    "function": "tool",
}
"""Names of roles, also as other libraries write them, and the role that each means."""


@dataclass(frozen=True, slots=True)
class StatedFields:
    """Fields of a record that the sender of a turn already knows, as an export of a memory does.

    They mean the same as in ``Record``. A turn that has ended or was given up is stored as history,
    with the status superseded.
    """

    subject: str = ""
    predicate: str = ""
    object: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ended_at: datetime | None = None
    """Time at which the sender learned of ``valid_to``."""
    retired_at: datetime | None = None
    """Time at which the sender gave it up."""
    confidence: float | None = None
    """0..1; None: not known."""
    importance: float | None = None
    """0..1; None: not known."""
    strength: int = 1
    """Number of times that it was stated."""
    access_count: int = 0
    """Number of reads that selected it."""
    last_accessed: datetime | None = None
    triggers: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


NOTHING_STATED = StatedFields()


def to_role(name: str) -> Role:
    """Return the role that a name means, in any case.

    InputError: it means none.
    """
    role = _ROLES.get(name.casefold()) if isinstance(name, str) else None
    if role is None:
        raise InputError(
            f"There is no role {name!r:.80}.", hint=f"The roles are: {', '.join(_ROLES)}."
        )
    return role


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, as it comes in.

    In ``speaker``, ``session`` and ``external_id`` the end of more than 200 characters becomes a
    hash of the whole: different ones stay different.
    """

    text: str
    role: Role = "user"
    """Who said it; names of other libraries are understood, such as ``human`` and ``ai``."""
    speaker: str = ""
    """Name of whoever said it."""
    at: datetime | None = None
    """Time at which it was said; a naive time is UTC. None: now."""
    session: str = ""
    """Session in which it was said."""
    external_id: str = ""
    """The sender's own id; a second turn of the scope with the same one is not stored."""
    caption: str = ""
    """Text of an attached picture; searched like the text."""
    meta: Meta = field(default_factory=dict)
    """The sender's own JSON values, stored with the memory."""
    id: str = ""
    """Id that its memory gets, a ULID; a second turn with the same one is not stored.

    Empty: a new id.
    """
    stated: StatedFields = NOTHING_STATED

    @classmethod
    def of(cls, source: str | Turn) -> Turn:
        """Make a turn from its text; return a turn as it is.

        InputError: it is neither, or has an unknown role.
        """
        if isinstance(source, Turn):
            return _name_role(source)
        if isinstance(source, str):
            return cls(source)
        raise InputError(
            f"One text or one Turn is needed, not {type(source).__name__}.",
            hint="`observe` takes a list of turns.",
        )

    @classmethod
    def list_of(cls, turns: Turn | Iterable[Turn]) -> tuple[Turn, ...]:
        """Make a tuple of one turn or several. InputError: something else is among them."""
        if isinstance(turns, Turn):
            return (_name_role(turns),)
        listed = tuple(turns) if isinstance(turns, Iterable) else (turns,)
        for turn in listed:
            if not isinstance(turn, Turn):
                raise InputError(
                    f"A Turn or a list of them is needed, not {type(turn).__name__}.",
                    hint='Write Turn("text", role="user").',
                )
        return tuple(_name_role(turn) for turn in listed)

    def check_types(self) -> None:
        """Raise InputError for a field of another type.

        The texts that are stored are checked where they are cleaned.
        """
        for name in ("role", "speaker", "session", "external_id", "id"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise InputError(f"{name} of a turn must be text, not {type(value).__name__}.")
        if not isinstance(self.at, datetime | None):
            raise InputError(
                f"`at` of a turn must be a datetime, not {self.at!r:.80}.",
                hint='Write datetime.fromisoformat("2025-01-31").',
            )
        if not isinstance(self.meta, Mapping):
            raise InputError(
                "The metadata is not an object.",
                hint='Give names and values, such as {"source": "chat"}.',
            )


def _name_role(turn: Turn) -> Turn:
    """Return the turn with its role as engrams names it. InputError: the role is unknown."""
    if not isinstance(turn.role, str):
        return turn  # refused with the other fields of a wrong type
    role = to_role(turn.role)
    return turn if role == turn.role else replace(turn, role=role)


def name_speaker(name: str, names: Collection[str], owner: str) -> str:
    """Return the speaker of a message that a client names, as it is stored.

    ``names``: those of all messages of people in the request; empty: one has none. ``owner``: the
    owner's own label. A name tells people apart: beside messages without a name, which are the
    owner's, each name is somebody else's, and among several names "me" is nobody's. Such a name is
    put in quotation marks if it would be taken for the owner.
    """
    label = name.strip().casefold()
    is_beside_owner = bool(label) and any(not sender.strip() for sender in names)
    is_in_group = len({sender.strip().casefold() for sender in names} - {""}) > 1
    means_owner = is_beside_owner and (label in NAMES_OF_OWNERS or label == owner.casefold())
    return (
        f'"{name.strip()}"' if means_owner or (is_in_group and label in NAMES_OF_OWNERS) else name
    )
