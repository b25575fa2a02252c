"""/v1/search, /v1/explain, /v1/context: POST, since logged addresses would reveal questions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from fastapi import APIRouter
from starlette.responses import Response

from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests, responses
from engrams.surfaces.http.rest.caller import ScopedCaller
from engrams.surfaces.http.rest.errors import error_responses, limited_route
from engrams.surfaces.http.thread_counts import count_searches, waits_for_model


def router(settings: Settings) -> APIRouter:
    threads = (
        None
        if waits_for_model(settings)
        else ThreadPoolExecutor(count_searches(settings.serve.workers), "engrams-search")
    )
    routes = APIRouter(
        prefix="/v1",
        tags=["reading"],
        route_class=limited_route(settings.limits.text_bytes, threads),
    )

    @routes.post("/search", response_model=responses.SearchResponse, responses=error_responses())
    def search(body: requests.SearchRequest, caller: ScopedCaller) -> Response:
        """Find the memories that answer a question, best first.

        `abstain`: nothing was relevant.
        """
        tests = tuple(Condition(each.field, each.op, each.value) for each in body.where)
        found = caller.engine.search(
            body.query,
            scope=caller.scope,
            limit=body.limit,
            as_of=body.as_of,
            kinds=tuple(body.kinds),
            where=Where("and", tests) if tests else None,
            history=body.history,
        )
        return Response(responses.write_search(found), media_type="application/json")

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
        most = settings.limits.results
        limit = None if body.limit is None else min(body.limit, most)
        if body.session and body.as_of is None:
            made = caller.engine.deliver(
                body.query,
                scope=caller.scope,
                session=body.session,
                tokens=body.tokens,
                limit=limit,
            )
        else:
            made = caller.engine.context(
                body.query, scope=caller.scope, tokens=body.tokens, limit=limit, as_of=body.as_of
            )
        return responses.ContextResponse(
            text=made.text,
            prefix=made.prefix,
            tail=made.tail,
            tokens=made.tokens,
            version=made.version,
            abstain=made.abstain,
            hits=[responses.to_hit(hit) for hit in made.hits],
            notes=list(made.notes),
        )

    return routes
