"""Arguments of ``ingest.add``: the turns to store, and its dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engrams.core import Kind, Scope, Turn
from engrams.frozen_data import dataclass
from engrams.ports import JobLease
from engrams.write.channels import OFFLINE_CHANNELS
from engrams.write.guards import WriteGuards
from engrams.write.prompt_fingerprints import InjectedContextFingerprints
from engrams.write.session_rows import EarlyCrisisTable, SpokenSessionLog
from engrams.write.write_deps import WriteDeps

if TYPE_CHECKING:
    from engrams.write.working_tier import WorkingTier


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """Turns to store in one write."""

    turns: tuple[Turn, ...]
    scope: Scope
    kind: Kind
    channel: str = ""
    """Sets the trust, and the actor in the history; empty: the channel of each turn's role."""
    lease: JobLease | None = None
    """Lease of a caller who runs the extraction job itself; None: a worker runs it. Ignored where
    ``sessions.trigger`` gathers turns.
    """
    quiet: float | None = None
    """Seconds without a further turn before a model extracts; None: the setting."""
    is_let_in: bool = False
    """A person lets in what was kept out. No sender can say so by the metadata of a turn."""

    @property
    def is_live(self) -> bool:
        """True for turns that are said now, and not imported."""
        return self.channel not in OFFLINE_CHANNELS


@dataclass(frozen=True, slots=True)
class IngestDeps:
    """Everything that one engine's writes work with."""

    write: WriteDeps
    guards: WriteGuards
    injected: InjectedContextFingerprints
    """Fingerprints of memory that was put into prompts."""
    spoken_sessions: SpokenSessionLog
    early_crises: EarlyCrisisTable
    tier: WorkingTier | None = None
    """The tier that turns pass through; None: they go directly into the store."""
