"""Searches and contexts over a person's memory together with the person's spaces.

Each space is searched for itself, as its own owner; nothing but the results meets. A person without
spaces is answered as before.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Sequence
from dataclasses import replace

from engrams.core import Context, Hit, SearchResult, Trace
from engrams.engine.memory_reads import MemoryReads
from engrams.ports import TokenCounter
from engrams.read.request import ReadRequest
from engrams.spaces import SPACE_LABEL, Space, SpaceRegistry
from engrams.upkeep.usage.usage_tracker import MemoryUsageTracker

_LEAST_TOKENS = 40
"""Tokens that must be left of a budget for what a space holds: its heading and one line."""


class SharedReads:
    """Reads of a person's memory and of the spaces that the person is a member of."""

    def __init__(
        self,
        reads: MemoryReads,
        registry: SpaceRegistry,
        counter: TokenCounter,
        usage: MemoryUsageTracker,
    ) -> None:
        self._reads = reads
        self._registry = registry
        self._counter = counter
        self._usage = usage

    def search(self, request: ReadRequest, *, counts_use: bool) -> SearchResult:
        """Search, and count the use of the hits if asked to; a space's hits have its scope."""
        own = self._reads.search(request)
        result = own
        spaces = self._list_spaces(request)
        if spaces:
            shared = [
                self._reads.search(replace(request, scope=space.scope, hot=None))
                for space in spaces
            ]
            result = _join_results(own, shared, request.limit, spaces)
        if counts_use and request.as_of is None:
            self._note_use(result.hits, own.trace, request, abstains=result.abstain)
        return result

    def build_context(self, request: ReadRequest, tokens: int | None) -> Context:
        """Render the person's memory, and below it what each space adds, within one budget.

        Its use is counted, and it is fingerprinted so that its echo is not extracted again.
        """
        own = self._reads.build_context(request, tokens)
        context = own
        spaces = self._list_spaces(request)
        if spaces and self._reads.recalls_facts(request.scope):
            budget = self._reads.find_budget(tokens)
            for space in spaces:
                context = self._add_space(context, request, space, budget)
        if own.trace is not None and request.as_of is None:
            self._note_use(context.hits, own.trace, request, abstains=context.abstain)
        if context.prefix or context.tail:
            self._reads.note_injected(request.scope, context)
        return context

    def _note_use(
        self, hits: Sequence[Hit], trace: Trace, request: ReadRequest, *, abstains: bool
    ) -> None:
        """Count the use of hits, each for its owner.

        The question is the person's. A space learns which of its memories were found, and never
        what somebody asked: a question without an answer is a gap of the person's memory alone, and
        of none where only a space was searched. ``trace``: that of the person's own memory.
        """
        owner = request.scope.owner
        if owner.labels[0] == SPACE_LABEL:
            trace = replace(trace, query="", rows=())
        own_hits = tuple(hit for hit in hits if hit.record.scope.owner == owner)
        self._usage.note_search(
            SearchResult(own_hits, trace, abstains), request.scope, request.session
        )
        blank_trace = replace(trace, query="", rows=())
        for space in dict.fromkeys(hit.record.scope.owner for hit in hits):
            if space != owner:
                found_hits = tuple(hit for hit in hits if hit.record.scope.owner == space)
                self._usage.note_search(SearchResult(found_hits, blank_trace), space)

    def _list_spaces(self, request: ReadRequest) -> Sequence[Space]:
        """List the spaces that a read includes; none where a conversation must read nothing."""
        if self._reads.is_silent(request.scope, request.session):
            return ()
        return self._registry.list_joined(request.scope)

    def _add_space(
        self, context: Context, request: ReadRequest, space: Space, budget: int
    ) -> Context:
        """Add what a space holds to a context, as far as tokens and hits are left."""
        heading = f"From the shared memory {space.name!r}, of which the user is a member:"
        limit = request.limit - len(context.hits)
        space_request = replace(
            request, scope=space.scope, limit=max(limit, 0), last_turns=(), summary="", hot=None
        )
        free_tokens = budget - context.tokens - self._counter.count(heading)
        # Once more, where a profile and memories have a heading each, and so do not fit.
        for _ in range(2):
            if free_tokens < _LEAST_TOKENS or limit <= 0:
                break
            # Whether anything is recalled is the person's to say, and not the space's.
            shared = self._reads.build_context(space_request, free_tokens, follows_switch=False)
            joined = self._join_contexts(context, shared, heading)
            if joined.tokens <= budget:
                return joined
            free_tokens -= joined.tokens - budget
        return context

    def _join_contexts(self, context: Context, shared: Context, heading: str) -> Context:
        joined = replace(
            context,
            prefix=_join_texts(context.prefix, heading, shared.prefix),
            tail=_join_texts(context.tail, heading, shared.tail),
            version=_join_versions(context.version, shared.version),
            hits=(*context.hits, *shared.hits),
            abstain=context.abstain and shared.abstain,
            standing=(*context.standing, *shared.standing),
            closest=(*context.closest, *shared.closest),
            trace=_join_traces(context.trace, shared.trace),
        )
        return replace(joined, tokens=self._counter.count(joined.text))


def _join_results(
    own: SearchResult, shared: Sequence[SearchResult], limit: int, spaces: Sequence[Space]
) -> SearchResult:
    """Merge results by score, which is absolute; each keeps the order of its own hits."""
    results = (own, *shared)
    abstains = all(result.abstain for result in results)
    # What abstained found only the nearest, which help with nothing.
    lists = [
        [replace(hit, helps=False) for hit in result.hits]
        if result.abstain and not abstains
        else list(result.hits)
        for result in results
    ]
    hits: list[Hit] = list(heapq.merge(*lists, key=lambda hit: (not hit.helps, -hit.score)))
    traces = [result.trace for result in results]
    rows = sorted((row for trace in traces for row in trace.rows), key=lambda row: -row.score)
    names = ", ".join(space.name for space in spaces)
    trace = replace(
        own.trace, rows=tuple(rows), notes=(*own.trace.notes, f"Also searched: the spaces {names}.")
    )
    return SearchResult(
        tuple(hits[:limit]), trace, abstains, max(result.nearness for result in results)
    )


def _join_traces(own: Trace | None, shared: Trace | None) -> Trace | None:
    if own is None or shared is None:
        return own or shared
    return replace(own, rows=(*own.rows, *shared.rows))


def _join_texts(own: str, heading: str, shared: str) -> str:
    """Put the text of a space under its heading; without a text there is no heading."""
    return "\n\n".join(part for part in (own, shared and f"{heading}\n{shared}") if part)


def _join_versions(own: str, shared: str) -> str:
    """Return a version that changes with either; one's own where the other is empty."""
    if not shared:
        return own
    return hashlib.sha256(f"{own}\n{shared}".encode()).hexdigest()[: max(len(own), 12)]
