"""A proxy on a real socket before an upstream on a real socket, shared by the tests of a module;
each test has a user of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import PATIENCE, Harness, completion
from tests.surfaces.proxy.raw import raw_upstream, reply

from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import temp_engine


@pytest.fixture(scope="module")
def shared() -> Iterator[Harness]:
    with (
        raw_upstream() as raw,
        temp_engine(
            user="nobody",
            serve__upstream=raw.url + "/v1",
            serve__upstream_learns=False,
            serve__upstream_key="own-key",
            serve__timeout_seconds=2,
        ) as engine,
    ):
        app = create_app(engine, engine.settings, [ProxyMount(engine, engine.settings, PATIENCE)])
        with running(app) as url, httpx2.Client(base_url=url, timeout=30) as client:
            yield Harness(url, engine, raw, client)


@pytest.fixture
def bench(shared: Harness) -> Harness:
    """The shared proxy with a new user; its upstream answers every request with one completion."""
    shared.user = "u-" + uuid.uuid4().hex[:12]
    shared.raw.says(reply(completion()))
    return shared
