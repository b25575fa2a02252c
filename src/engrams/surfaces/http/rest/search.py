"""/v1/search, /v1/explain, /v1/context. They are POST: a question may be private, and addresses are logged."""

from __future__ import annotations

from fastapi import APIRouter

from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests, responses
from engrams.surfaces.http.rest.caller import Asks
from engrams.surfaces.http.rest.errors import declared, limited


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["reading"], route_class=limited(settings.limits.text_bytes))

    @routes.post("/search", responses=declared())
    def search(body: requests.Search, caller: Asks) -> responses.Matches:
        """The memories that answer a question, best first. `abstain`: nothing came near."""
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
        return responses.matches(found)

    @routes.post("/explain", responses=declared())
    def explain(body: requests.Ask, caller: Asks) -> responses.Explained:
        """A search that leaves no mark, with every candidate, its scores, and why it was dropped."""
        return responses.explained(caller.engine.explain(body.query, scope=caller.scope, limit=body.limit, as_of=body.as_of))

    @routes.post("/context", responses=declared())
    def context(body: requests.Prompt, caller: Asks) -> responses.Prompted:
        """Memory as text for a prompt, never over the tokens asked for."""
        most = settings.limits.results
        limit = None if body.limit is None else min(body.limit, most)
        made = caller.engine.context(body.query, scope=caller.scope, tokens=body.tokens, limit=limit, as_of=body.as_of)
        return responses.Prompted(
            text=made.text,
            prefix=made.prefix,
            tail=made.tail,
            tokens=made.tokens,
            version=made.version,
            abstain=made.abstain,
            hits=[responses.match(hit) for hit in made.hits],
        )

    return routes
