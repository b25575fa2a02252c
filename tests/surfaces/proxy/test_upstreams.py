"""Several upstreams, by the model's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import PATIENCE, completion
from tests.surfaces.proxy.raw import Raw, raw_upstream, reply

from engrams.errors import SettingsError
from engrams.settings import load
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import temp_engine


@dataclass
class Two:
    client: httpx2.Client
    main: Raw
    other: Raw


@pytest.fixture
def two() -> Iterator[Two]:
    with raw_upstream() as main, raw_upstream() as other:
        routes = [{"models": ["gpt-*", "o9"], "url": other.url + "/v1", "key": "other-key"}]
        with temp_engine(
            user="ann",
            serve__upstream=main.url + "/v1",
            serve__upstream_learns=False,
            serve__upstream_key="main-key",
            serve__routes=routes,
        ) as engine:
            app = create_app(
                engine, engine.settings, [ProxyMount(engine, engine.settings, PATIENCE)]
            )
            with running(app) as url, httpx2.Client(base_url=url, timeout=30) as client:
                for raw in (main, other):
                    raw.says(reply(completion()))
                yield Two(client, main, other)


@pytest.mark.parametrize(
    ("model", "there"),
    [("gpt-6", "other"), ("o9", "other"), ("o99", "main"), ("qwen3:4b", "main"), ("", "main")],
)
def test_the_model_decides(two: Two, model: str, there: str) -> None:
    """A chat and any other JSON request go to the first server whose patterns match, with that
    server's key.
    """
    messages = [{"role": "user", "content": "hello there"}]
    two.client.post("/v1/chat/completions", json={"model": model, "messages": messages})
    two.client.post("/v1/embeddings", json={"model": model, "input": ["x" * 300_000]})
    server, empty = (two.other, two.main) if there == "other" else (two.main, two.other)
    assert [heard.target for heard in server.heard] == ["/v1/chat/completions", "/v1/embeddings"]
    assert {heard.header("authorization")[0] for heard in server.heard} == {f"Bearer {there}-key"}
    assert len(server.heard[1].body) > 300_000
    assert empty.heard == []


def test_the_lists_of_models_are_one(two: Two) -> None:
    """GET /v1/models names each server's models once;
    of a route only those it is asked for; one that fails is left out.
    """
    two.main.says(
        reply(b'{"object":"list","data":[{"id":"qwen3:4b"},{"id":"gpt-6","from":"main"}]}')
    )
    two.other.says(
        reply(b'{"object":"list","data":[{"id":"gpt-6","from":"other"},{"id":"whisper"}]}')
    )
    body = two.client.get("/v1/models").json()
    assert two.client.get("/models").json() == body
    assert body == {
        "object": "list",
        "data": [{"id": "gpt-6", "from": "other"}, {"id": "qwen3:4b"}],
    }
    two.other.says(reply(b"no", "500 Oops"))
    assert [each["id"] for each in two.client.get("/v1/models").json()["data"]] == [
        "qwen3:4b",
        "gpt-6",
    ]
    two.main.says(reply(b"[]"))
    assert two.client.get("/v1/models").status_code == 502
    two.client.get("/v1/models/gpt-6")
    assert two.other.last.target == "/v1/models/gpt-6"


def test_health_names_them_without_their_keys(two: Two) -> None:
    """GET /health says which model goes where."""
    answer = two.client.get("/health")
    assert answer.json()["routes"] == {"gpt-*": two.other.url + "/v1", "o9": two.other.url + "/v1"}
    assert "other-key" not in answer.text


def test_a_model_that_is_nowhere() -> None:
    """Without a server for everything else, an unknown model is a 404 that names the settings."""
    with temp_engine(
        user="ann", serve__routes=[{"models": ["a"], "url": "http://127.0.0.1:9/v1"}]
    ) as engine:
        app = create_app(engine, engine.settings, [ProxyMount(engine, engine.settings, PATIENCE)])
        with running(app) as url:
            answer = httpx2.post(url + "/v1/chat/completions", json={"model": "b", "messages": []})
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
            assert httpx2.get(url + "/v1/files").status_code == 404
            assert (
                httpx2.post(
                    url + "/v1/chat/completions", json={"model": "a", "messages": []}
                ).status_code
                == 502
            )


def test_they_stand_in_the_configuration_file(home: Path) -> None:
    """[[serve.routes]] in config.toml;
    a route without models or with a wrong address is an error.
    """
    home.mkdir()
    (home / "config.toml").write_text(
        '[[serve.routes]]\nmodels = ["gpt-*"]\nurl = "https://api.example/v1"\nkey = "k"\n'
    )
    (route,) = load({"home": str(home)}, {}).settings.serve.routes
    assert (route.models, route.url, route.key) == (("gpt-*",), "https://api.example/v1", "k")
    (home / "config.toml").write_text('[[serve.routes]]\nurl = "https://api.example/v1"\n')
    with pytest.raises(SettingsError, match="models"):
        load({"home": str(home)}, {})
    with (
        temp_engine(serve__routes=[{"models": ["a"], "url": "nonsense"}]) as engine,
        pytest.raises(SettingsError, match=r"serve\.routes"),
    ):
        ProxyMount(engine, engine.settings)
