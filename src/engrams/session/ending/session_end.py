"""State of one session's end, while its parts are put together."""

from __future__ import annotations

from dataclasses import dataclass, field

from engrams.core import Edge, Record, Scope
from engrams.ports import JobSpec, OwnerStateRow, RecordChange, ScopeReach, SessionRow
from engrams.session.ending.session_account import SessionAccount


@dataclass(frozen=True, slots=True)
class ScopeAccount:
    """Account of what was said in one scope of a session."""

    scope: Scope
    turns: tuple[Record, ...]
    account: SessionAccount


@dataclass(slots=True)
class SessionEnd:
    """Results gathered while one session is finalised. All of it is committed at once."""

    owner: Scope
    row: SessionRow
    turns: list[Record]
    """Transcript of the session's part, oldest first."""
    crisis_turns: list[Record] = field(default_factory=list)
    """Turns of the transcript that are told in no account and no later prompt."""
    accounts: list[ScopeAccount] = field(default_factory=list)
    changes: list[RecordChange] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    jobs: list[JobSpec] = field(default_factory=list)
    learned_state: OwnerStateRow | None = None
    """Row that a concurrent extraction changes too: then this end conflicts, and is tried again."""
    episode_ids: list[str] = field(default_factory=list)
    promoted_ids: list[str] = field(default_factory=list)
    dropped_ids: list[str] = field(default_factory=list)
    held_ids: list[str] = field(default_factory=list)
    """Statements that stay held."""

    def is_of_crisis(self, statement: Record) -> bool:
        """Return True for a statement that was learned from messages of a crisis alone."""
        sources = {item.source for item in statement.evidence}
        return bool(sources) and sources <= {turn.id for turn in self.crisis_turns}

    @property
    def reach(self) -> ScopeReach:
        """All scopes of the owner."""
        return ScopeReach(self.owner, (self.owner,), tree=True)
