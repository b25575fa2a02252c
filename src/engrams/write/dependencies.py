"""Dependencies of the write flow."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass
from engrams.ports import (
    CandidateSearch,
    ChatModel,
    Clock,
    Embedder,
    RecordPage,
    RecordQuery,
    RecordStore,
)
from engrams.settings import SizeLimitSettings, WriteSettings

if TYPE_CHECKING:
    from engrams.extract.by_rules import Heard


@dataclass(frozen=True, slots=True)
class WriteDeps:
    """Stores, models and settings of the write flow.

    ``ignore``: lines of a project's ignore files (``ignore.read_rules``). ``gaps``: questions that
    memory could not answer, for a model to watch for. ``lane``: the one extraction lane to repeat.
    ``patient``: a model that fails for now will be asked again, by a later run. ``found``: pages
    that one reconciliation has asked for (None: none is kept). ``heard``: what rules extract,
    computed before.
    """

    records: RecordStore
    settings: WriteSettings
    limits: SizeLimitSettings
    clock: Clock
    search: CandidateSearch | None = None
    embedder: Embedder | None = None
    chat: ChatModel | None = None
    ignore: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    lane: str = ""
    patient: bool = False
    found: dict[RecordQuery, RecordPage] | None = None
    heard: Heard = field(default_factory=dict)

    def find(self, query: RecordQuery) -> RecordPage:
        """Find a page; within one reconciliation each is asked for once."""
        if self.found is None:
            return self.records.find(query)
        if query not in self.found:
            self.found[query] = self.records.find(query)
        return self.found[query]
