"""Expansion of hits along links: what is linked with a good hit is lent a share of its score.

``LinkCache`` fetches the links of one search, each node's once; ``link_bonuses`` computes what they
lend, and ``cascade_scores`` is the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from engrams.core import ENDING, GONE_STATUSES, MARK_TOLD_AT, Edge, EdgeType, Record, Scope
from engrams.frozen_data import dataclass
from engrams.ports import LinkStore, RecordStore
from engrams.settings import LinkExpansionSettings

FACTORS: Mapping[EdgeType, float] = {
    EdgeType.HAS_TAG: 0.8,
    EdgeType.IN_TOPIC: 0.6,
    EdgeType.SUPERSEDES: 0.9,
    EdgeType.DERIVED_FROM: 0.7,
    EdgeType.CONTRADICTS: 0.3,
    EdgeType.ABSTRACTED_FROM: 0.6,
}
"""Share of the score kept over a link by type; others keep their weight, at most 1."""

MAX_LINKS = 50
"""Links followed from one node: a tag on thousands of memories tells nothing."""

_NOT_LENDING = (EdgeType.DERIVED_FROM, EdgeType.MAY_OUTDATE, EdgeType.CO_OCCURS)


@dataclass(frozen=True, slots=True)
class LinkBonus:
    """Score that links lend to a node."""

    bonus: float
    seed: str
    """Id of the hit that the best path starts from."""

    @property
    def rank(self) -> tuple[float, str]:
        """Sort key: the higher bonus, then the greater id."""
        return self.bonus, self.seed


def cascade_scores(
    seeds: Mapping[str, float],
    fetch_edges: Callable[[Sequence[str]], Sequence[Edge]],
    depth: int,
    decay: float,
) -> dict[str, float]:
    """Score nodes within ``depth`` steps of the seeds by their best path.

    A step multiplies the score it starts from by the link's factor and by ``decay ** step``, where
    steps are counted from 1: the first of a path keeps 0.7 of a score, the second 0.49 of that.
    ``depth`` 0 gives the seeds. Links are followed in both directions.
    """
    best = dict(seeds)
    front = dict(seeds)
    for step in range(1, depth + 1):
        reached: dict[str, float] = {}
        link_counts: dict[str, int] = {}
        for edge in fetch_edges(list(front)):
            for start, end in ((edge.source, edge.target), (edge.target, edge.source)):
                if start in front and start != end and link_counts.get(start, 0) < MAX_LINKS:
                    link_counts[start] = link_counts.get(start, 0) + 1
                    score = front[start] * link_factor(edge) * decay**step
                    reached[end] = max(reached.get(end, 0.0), score)
        front = {node: score for node, score in reached.items() if score > best.get(node, 0.0)}
        best.update(front)
        if not front:
            break
    return best


def link_factor(edge: Edge) -> float:
    """Share of a score kept over this link, 0..1."""
    return FACTORS.get(edge.type, min(max(edge.weight, 0.0), 1.0))


def find_gone_ids(owner: Scope, nodes: Sequence[str], records: RecordStore) -> set[str]:
    """Find forgotten and purged memories: their links lead nowhere until they return.

    Nodes with a colon are tags and topics, which have no status.
    """
    record_ids = [node for node in nodes if ":" not in node]
    fetched = records.get(owner, record_ids) if record_ids else ()
    return {record.id for record in fetched if record.status in GONE_STATUSES}


class LinkCache:
    """Links of one owner's nodes; each node is fetched once.

    A search makes one of its own: links do not change under it.
    """

    def __init__(self, owner: Scope, store: LinkStore, commit: str = "") -> None:
        """Make an empty cache; ``commit`` is that of the search's survey."""
        self._owner = owner
        self._store = store
        self._commit = commit
        self._fetched: set[str] = set()
        self._edges: dict[str, list[Edge]] = {}
        """Edges by node; a node without any has no entry."""
        self._facts: dict[str, list[str]] = {}
        """Ids of the facts that are derived from a node, by its id."""
        self._endings: dict[str, list[Edge]] = {}
        """Edges from later statements that end a node, or may, by its id."""
        self.records: dict[str, Record] = {}
        """Records that came with them, by id."""

    def fetch(self, nodes: Sequence[str]) -> list[Edge]:
        """Edges at each of the nodes, in their order."""
        self._fetch_missing(nodes)
        return [edge for node in nodes if node in self._edges for edge in self._edges[node]]

    def fetch_with_records(self, record_ids: Sequence[str]) -> None:
        """Fetch edges at records, with the records, their facts and ends."""
        edges, records = self._store.surroundings(
            self._owner, record_ids, (EdgeType.DERIVED_FROM, *ENDING), self._commit
        )
        self._add(dict.fromkeys(record_ids), edges)
        self.records.update((record.id, record) for record in records)

    def _fetch_missing(self, nodes: Sequence[str]) -> None:
        """Fetch the edges at those nodes at which none were fetched."""
        missing = dict.fromkeys([node for node in nodes if node not in self._fetched])
        if missing:
            self._add(missing, self._store.edges(self._owner, list(missing)))

    def _add(self, nodes: Mapping[str, object], edges: Sequence[Edge]) -> None:
        self._fetched.update(nodes)
        for edge in edges:
            for end in {edge.source, edge.target} & nodes.keys():
                self._edges.setdefault(end, []).append(edge)
            if edge.target not in nodes:
                continue
            if edge.type is EdgeType.DERIVED_FROM:
                self._facts.setdefault(edge.target, []).append(edge.source)
            elif edge.type in ENDING:
                self._endings.setdefault(edge.target, []).append(edge)

    def fetch_lending(self, nodes: Sequence[str]) -> list[Edge]:
        """Fetch links over which a score spreads to neighbours.

        Links of a fact and its turn do not: they become one hit. Nor does a doubt.
        """
        return [edge for edge in self.fetch(nodes) if edge.type not in _NOT_LENDING]

    def find_sources(self, targets: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of a fact and the target that it is derived from."""
        self._fetch_missing(targets)
        return sorted(
            {(fact, target) for target in targets for fact in self._facts.get(target, ())}
        )

    def find_later(self, targets: Sequence[str]) -> dict[str, list[Edge]]:
        """Edges from later statements that end the targets, or may, by target.

        A doubt of which no reader is told is left out beside an end or a doubt that is told.
        """
        self._fetch_missing(targets)
        endings = {target: self._endings[target] for target in targets if target in self._endings}
        return {target: list(filter(_is_told, edges)) or edges for target, edges in endings.items()}


def _is_told(ending: Edge) -> bool:
    return ending.type is EdgeType.SUPERSEDES or ending.weight >= MARK_TOLD_AT


def link_bonuses(
    seeds: Mapping[str, float],
    links: LinkCache,
    settings: LinkExpansionSettings,
    find_gone: Callable[[Sequence[str]], Container[str]] = lambda _: (),
) -> dict[str, LinkBonus]:
    """Compute the bonuses that links lend, by node: a share of the best cascade score.

    Only better seeds add to a node. Links between a fact and its turn are not followed: the two
    become one hit anyway. Nor are those of what ``find_gone`` names among the nodes reached.
    """

    def load_edges(nodes: Sequence[str]) -> list[Edge]:
        gone_ids = find_gone(nodes)
        return links.fetch_lending([node for node in nodes if node not in gone_ids])

    if not settings.depth or not settings.bonus or not seeds:
        return {}
    bonuses: dict[str, LinkBonus] = {}
    if not links.fetch(list(seeds)):
        return bonuses
    for seed, score in seeds.items():
        if not links.fetch_lending([seed]):
            continue
        scores = cascade_scores({seed: score}, load_edges, settings.depth, settings.decay)
        for node, reached in scores.items():
            if node != seed and seeds.get(node, 0.0) < score:
                _keep_better(bonuses, node, LinkBonus(settings.bonus * reached, seed))
    if settings.vouch:
        _add_successors(bonuses, seeds, links, settings)
    return bonuses


def _keep_better(bonuses: dict[str, LinkBonus], node: str, bonus: LinkBonus) -> None:
    current = bonuses.get(node)
    if current is None or current.rank < bonus.rank:
        bonuses[node] = bonus


def _add_successors(
    bonuses: dict[str, LinkBonus],
    seeds: Mapping[str, float],
    links: LinkCache,
    settings: LinkExpansionSettings,
) -> None:
    """Add what took the place of facts that a seed message said."""
    sources = links.find_sources(list(seeds))
    later = links.find_later([fact for fact, _ in sources])
    for fact, seed in sources:
        for edge in later.get(fact, ()):
            if edge.type is EdgeType.SUPERSEDES and edge.source != seed:
                bonus = settings.bonus * seeds[seed] * FACTORS[EdgeType.SUPERSEDES] * settings.decay
                _keep_better(bonuses, edge.source, LinkBonus(bonus, seed))
