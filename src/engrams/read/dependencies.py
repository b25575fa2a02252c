"""Dependencies of the read flow: stores, models and settings, all by ports."""

from __future__ import annotations

from dataclasses import field

from engrams.frozen_data import dataclass
from engrams.ports import (
    CandidateSearch,
    CodeReader,
    Embedder,
    LinkStore,
    OwnerStateStore,
    RecordStore,
    Reranker,
    SkillRecordSource,
    TokenCounter,
)
from engrams.read.embedder_fit import EmbedderFits
from engrams.read.profile_cache import ProfileCache
from engrams.read.query_vectors import QueryVectors
from engrams.settings import LinkExpansionSettings, ReadSettings, RerankSettings


@dataclass(frozen=True, slots=True)
class ReadDeps:
    """Stores, models and settings of the read flow."""

    records: RecordStore
    search: CandidateSearch
    links: LinkStore
    embedder: Embedder
    query_vectors: QueryVectors
    """Vectors of queries by this embedder, within the time of a read."""
    counter: TokenCounter
    """Counts the tokens of contexts."""
    settings: ReadSettings
    link_settings: LinkExpansionSettings
    rerank_settings: RerankSettings
    reranker: Reranker | None = None
    profiles: ProfileCache = field(default_factory=ProfileCache)
    embedder_fits: EmbedderFits | None = None
    """Fits of the embedder to its owners' memories; None: it is taken as it is."""
    skills: SkillRecordSource | None = None
    """Skills of a folder, found beside memories; None: there is no such folder."""
    code: CodeReader | None = None
    """Compares memories with the code that they name; None: nothing does."""
    query_chars: int = 20_000
    """Characters of a query that are used: half from its head, half from its tail."""
    states: OwnerStateStore | None = None
    """Calibrated floors of owners; None: the settings and the embedder's card alone count."""
    most_rules: int = 0
    """Rules of a profile, the newest; what a write exceeds the cap by is archived only after it. 0:
    any number."""
    hide_questions: bool = False
    """Leave out an owner's own questions where tiers are searched; their exchanges are found."""
