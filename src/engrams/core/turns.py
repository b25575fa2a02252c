"""Turns as they come in, and what their senders know of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime

from engrams.core.records import Meta, Role
from engrams.errors import InputError
from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class StatedFields:
    """Fields of a memory that its sender knows.

    ``valid_from``/``valid_to``: when it was true in the world. ``ended_at``: when its source
    learned of ``valid_to``; ``retired_at``: when its source gave it up. One that has ended or was
    given up is stored as history, as superseded. ``confidence`` and ``importance`` are 0..1 (None:
    not known).
    """

    subject: str = ""
    predicate: str = ""
    object: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ended_at: datetime | None = None
    retired_at: datetime | None = None
    confidence: float | None = None
    importance: float | None = None


NOTHING_STATED = StatedFields()


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing somebody said, as it comes in.

    ``at``: when it was said (None: now). ``external_id``: the sender's own id; the same one twice
    in a scope is stored once, and so is a turn with the same ``id``, which its memory gets (empty:
    a new one). ``caption``: text of an attached picture; it is searchable. ``stated``: what else is
    known of it. Of a ``speaker``, ``session`` or ``external_id`` of more than 200 characters the
    end becomes a hash of the whole: different ones stay different.
    """

    text: str
    role: Role = "user"
    speaker: str = ""
    at: datetime | None = None
    session: str = ""
    external_id: str = ""
    caption: str = ""
    meta: Meta = field(default_factory=dict)
    id: str = ""
    stated: StatedFields = NOTHING_STATED

    @classmethod
    def of(cls, what: str | Turn) -> Turn:
        """Make a turn from its text. InputError: several, or no text."""
        if isinstance(what, str | Turn):
            return what if isinstance(what, Turn) else cls(what)
        raise InputError(
            f"One text or one Turn is needed, not {type(what).__name__}.",
            hint="`observe` takes a list of turns.",
        )

    @classmethod
    def list_of(cls, turns: Turn | Iterable[Turn]) -> tuple[Turn, ...]:
        """Make a tuple of one turn or several. InputError: something else."""
        if isinstance(turns, Turn):
            return (turns,)
        listed = tuple(turns) if isinstance(turns, Iterable) else (turns,)
        for turn in listed:
            if not isinstance(turn, Turn):
                raise InputError(
                    f"A Turn or a list of them is needed, not {type(turn).__name__}.",
                    hint='Write Turn("text", role="user").',
                )
        return listed

    def check_types(self) -> None:
        """Raise InputError for a field of another type.

        Texts that are stored are checked where they are cleaned.
        """
        for name in ("role", "speaker", "session", "external_id", "id"):
            if not isinstance(value := getattr(self, name), str):
                raise InputError(f"{name} of a turn is text, not {type(value).__name__}.")
        if not isinstance(self.at, datetime | None):
            raise InputError(
                f"at of a turn is a datetime, not {self.at!r:.80}.",
                hint='Write datetime.fromisoformat("2025-01-31").',
            )
        if not isinstance(self.meta, Mapping):
            raise InputError(
                "The metadata is not an object.",
                hint='Give names and values, such as {"source": "chat"}.',
            )
