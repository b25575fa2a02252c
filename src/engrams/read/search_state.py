"""State of one search: what its stages found so far, what they dropped, and how long they took."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engrams.core import Hit, Record
from engrams.read.dependencies import ReadDeps
from engrams.read.request import ReadRequest

if TYPE_CHECKING:
    from engrams.ports import CandidatePool
    from engrams.ports.candidate_search import Flags, Integers
    from engrams.read.link_expansion import LinkCache
    from engrams.read.query_preparation import PreparedQuery
    from engrams.read.relevance.judgement import Judgement, Verdict
    from engrams.read.score_fusion import ScoredCandidatePool


@dataclass(slots=True, eq=False)
class Search:
    """One search on its way through the stages of ``engrams.read.search``.

    Each stage reads what earlier ones left here and leaves its own. Who sets a field is told beside
    it; one that is asked for too early raises AttributeError.
    """

    request: ReadRequest
    deps: ReadDeps
    query_notes: tuple[str, ...] = ()
    """Notes on a query that was too long."""

    prepared: PreparedQuery = field(init=False)
    """Query as understood, for the sources. Set by ``prepare``."""
    hot: Mapping[str, float] = field(default_factory=dict)
    """Hot memories near the query, with their cosines. Set by ``find_hot``."""

    pool: CandidatePool = field(init=False)
    """Candidates with the raw scores of each source. Set by ``collect``."""
    routing_notes: tuple[str, ...] = ()
    """Notes on the tiers and topics that were searched. Set by ``collect``."""
    scored: ScoredCandidatePool = field(init=False)
    """Scores of the pool's candidates. Set by ``fuse``, raised by ``follow_links``."""
    passes: Flags = field(init=False)
    """Mask [candidates] of those over the floors. Set by ``set_floors``, widened by
    ``follow_links``.
    """
    stale_episodes: frozenset[str] = frozenset()
    """Ids of episodes that are too old to be found. Set by ``set_floors``."""
    likely_count: int = 0
    """Number of candidates whose records are looked at. Set by ``set_floors``."""
    likely: Integers = field(init=False)
    """Positions of these in the pool, best first. Set by ``set_floors``, anew by
    ``follow_links``.
    """
    links: LinkCache = field(init=False)
    """Links of the owner's nodes. Set by ``follow_links``."""
    vouchers: Mapping[str, str] = field(default_factory=dict)
    """Ids of candidates that pass only because of a link, with the hit that leads to them. Set by
    ``follow_links``.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows of the pool of likely candidates, by id. Set by ``fetch``."""
    records: Mapping[str, Record] = field(default_factory=dict)
    """Records of likely candidates, of their facts, and of what ends them. Set by ``fetch``."""
    hits: Sequence[Hit] = ()
    """Hits that are still in, best first. Set by ``fetch``, changed by all later stages."""
    below_floors: Mapping[str, str] = field(default_factory=dict)
    """Ids of hits below the floors, with the reason. Set by ``drop_unfit``."""
    lasting: Mapping[str, float] = field(default_factory=dict)
    """Scores that hits keep at any age, by id: of their facts. Set by ``join_facts``."""
    proposed: frozenset[str] = frozenset()
    """Ids of those of them that stay if a model accepts them. Set by ``propose_to_judge``."""
    dropped: dict[str, str] = field(default_factory=dict)
    """Reasons why records were left out, by id."""
    rerank_note: str = ""
    """What the reranker did, for the trace. Set by ``rerank``."""
    rerank_gap: str = ""
    """reranker_late or reranker_down, where it did not judge. Set by ``rerank``."""

    judgement: Judgement | None = None
    """What helps, of the hits at that moment. Set by ``judge``; None: they were not judged."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """Verdicts on the hits at that moment, by id. Set by ``judge``."""

    traced: dict[str, Hit] = field(default_factory=dict)
    """Hits by record id as the trace shows those that are not chosen."""
    count: int | None = None
    """What the stage at hand has to show for itself, for the trace; None: there was no such
    stage.
    """
    stages: list[tuple[str, float, int]] = field(default_factory=list)
    """Name, milliseconds and count of each finished stage."""
    skipped: list[str] = field(default_factory=list)
    """Stages for which there was no time."""
    _begun: float = field(default_factory=time.perf_counter)
    _stage_begun: float = field(default_factory=time.perf_counter)

    def drop(self, record_id: str, reason: str) -> None:
        """Leave a record out; the trace tells the last reason."""
        self.dropped[record_id] = reason

    def remaining(self) -> list[Hit]:
        """List the hits that were not dropped."""
        return [hit for hit in self.hits if hit.record.id not in self.dropped]

    def trace_hits(self, hits: Iterable[Hit]) -> None:
        """Keep hits as they are now, for the trace."""
        self.traced.update((hit.record.id, hit) for hit in hits)

    def has_time(self, stage: str) -> bool:
        """True while there is time for a stage; else the trace tells that it is missing."""
        budget = self.deps.settings.budget_seconds
        if not budget or time.perf_counter() - self._begun < budget:
            return True
        self.skipped.append(stage)
        return False

    def end_stage(self, name: str) -> None:
        """Note how long a stage took, and what it counted.

        A stage that counted nothing is not noted: its time goes to the next one.
        """
        if self.count is None:
            return
        moment = time.perf_counter()
        self.stages.append((name, round((moment - self._stage_begun) * 1000, 3), self.count))
        self._stage_begun = moment
        self.count = None
