"""The API describes itself, and truly."""

from __future__ import annotations

import httpx2
from tests.surfaces.http.rest.conftest import Served


def test_every_route_declares_its_answers(served: Served) -> None:
    """Each route has a summary, a model for its success, and problem bodies for every failure."""
    described = httpx2.get(served.url + "/openapi.json", timeout=60).json()
    routes = {
        (path, method): told
        for path, held in described["paths"].items()
        for method, told in held.items()
        if path.startswith("/v1/")
    }
    routes = {
        (path, method): told for (path, method), told in routes.items() if not path.endswith("/")
    }
    assert len(routes) >= 27
    for name, told in routes.items():
        answers = told["responses"]
        assert told["description"], name
        assert {"400", "401", "403", "413", "422", "429", "default"} <= set(answers), name
        for status, answer in answers.items():
            kinds = set(answer.get("content", {}))
            if status in ("200", "201", "202"):
                every = {"application/json", "application/jsonl", "application/zip", "text/csv"}
                files = ({"application/octet-stream"}, {"*/*"})
                assert kinds in ({"application/json"}, {"application/jsonl"}, every, *files), name
                assert (
                    kinds in ({"application/jsonl"}, every, *files)
                    or {"$ref", "anyOf"} & answer["content"]["application/json"]["schema"].keys()
                ), name
            elif status not in ("204", "304"):
                assert kinds == {"application/problem+json"}, (name, status)


def test_the_whole_server_has_the_api(served: Served) -> None:
    """The server's own list of parts has the API before the proxy, which takes every path left."""
    from engrams.program.registry import create_mounts
    from engrams.surfaces.http.rest.mount import RestMount
    from engrams.surfaces.proxy.mount import ProxyMount

    kinds = [type(mount) for mount in create_mounts(served.engine, served.engine.settings)]
    assert RestMount in kinds
    assert kinds.index(ProxyMount) == len(kinds) - 1
