"""/v1/search, /v1/explain and /v1/context.

They are POST, since an address that is logged would reveal the question. They run in threads of
their own: ``bench.speed.health --doors search``, with and without ``--framework``, shows why.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from fastapi import APIRouter

from engrams.settings import Settings
from engrams.surfaces.http.caller import ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest import requests, responses
from engrams.surfaces.http.thread_counts import count_searches, waits_for_model


def router(settings: Settings) -> APIRouter:
    threads = (
        None
        if waits_for_model(settings)
        else ThreadPoolExecutor(count_searches(settings.serve.workers), "engrams-search")
    )
    routes = limited_router(settings, "reading", threads=threads)

    @routes.post("/search", responses=error_responses())
    def search(body: requests.SearchRequest, caller: ScopedCaller) -> responses.SearchResponse:
        """Find the memories that answer a question, best first.

        `abstain`: nothing was relevant.
        """
        result = caller.engine.search(
            body.query,
            scope=caller.scope,
            limit=body.limit,
            as_of=body.as_of,
            kinds=tuple(body.kinds),
            where=body.to_filter(),
            history=body.history,
        )
        return responses.to_search(result)

    @routes.post("/explain", responses=error_responses())
    def explain(
        body: requests.MemoryQuestionRequest, caller: ScopedCaller
    ) -> responses.ExplainResponse:
        """Trace a search with all candidates; nothing is recorded.

        Every candidate has its scores, and why it was dropped.
        """
        return responses.to_explanation(
            caller.engine.explain(
                body.query, scope=caller.scope, limit=body.limit, as_of=body.as_of
            )
        )

    @routes.post("/context", responses=error_responses())
    def context(body: requests.ContextRequest, caller: ScopedCaller) -> responses.ContextResponse:
        """Build text of memory for a prompt, within the tokens given.

        With `session` it is that of a turn of a conversation: as `delivery.*` says.
        """
        limit = None if body.limit is None else min(body.limit, settings.limits.results)
        if body.session and body.as_of is None:
            delivered = caller.engine.deliver(
                body.query,
                scope=caller.scope,
                session=body.session,
                tokens=body.tokens,
                limit=limit,
            )
        else:
            delivered = caller.engine.context(
                body.query, scope=caller.scope, tokens=body.tokens, limit=limit, as_of=body.as_of
            )
        return responses.ContextResponse(
            text=delivered.text,
            prefix=delivered.prefix,
            tail=delivered.tail,
            tokens=delivered.tokens,
            version=delivered.version,
            abstain=delivered.abstain,
            hits=[responses.to_hit(hit) for hit in delivered.hits],
            notes=list(delivered.notes),
            closest=[responses.to_hit(hit) for hit in delivered.closest],
        )

    return routes
