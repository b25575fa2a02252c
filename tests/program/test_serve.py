"""engrams serve as it is started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.proxy.harness import eventually
from tests.surfaces.proxy.raw import raw_upstream, reply

START = [sys.executable, "-m", "engrams.program.entry", "serve", "--port", "0"]


@contextmanager
def served(home: Path, *options: str) -> Iterator[str]:
    """The address of `engrams serve`;
    it must end clean, and tell of nothing but jobs that a model failed.
    """
    environment = {**os.environ, "ENGRAMS_HOME": str(home)}
    with subprocess.Popen(
        [*START, *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield next(word for word in line.split() if word.startswith("http")).removesuffix("/v1")
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()  # or leaving the block would wait for ever after a failure
    told = [line for line in errors.splitlines() if ": job " not in line]
    assert (process.returncode, told) == (0, [])


def post(url: str, **body: object) -> httpx2.Response:
    """A request, as soon as the server answers at all."""
    for _ in range(500):
        try:
            return httpx2.post(url, json=body, timeout=30)
        except httpx2.ConnectError:
            continue
    raise AssertionError(url)


@pytest.mark.slow
def test_user_names_whose_memory_it_is(home: Path) -> None:
    """With --user what a request without a name tells is that person's, in the proxy and in the
    REST API.
    """
    with served(home, "--user", "ann") as url:
        post(
            url + "/v1/chat/completions",
            messages=[{"role": "user", "content": "My dog is called Rex."}],
        )
        post(url + "/v1/memories", text="The boat is red.")
        eventually(lambda: "Rex" in httpx2.get(url + "/v1/export").text)
        scopes = httpx2.get(url + "/v1/export").text
    assert '"user", "ann"' in scopes or '"user","ann"' in scopes
    with served(home, "--user", "bob") as url:
        assert "Rex" not in httpx2.get(url + "/v1/export").text


@pytest.mark.covers("S2.50")
@pytest.mark.slow
def test_the_proxys_options(home: Path) -> None:
    """Path, upstream, embedding model, port, host, top-k, lambda, recency, threshold, git and
    summaries are options of the command.
    """
    with raw_upstream() as raw:
        raw.says(reply(b'{"data":[{"index":0,"embedding":[1.0,0.0]}]}'))
        options = [
            *(
                "--home",
                str(home),
                "--openai-base-url",
                raw.url + "/v1",
                "--embedding-model",
                "embeddinggemma:300m",
                "--host",
                "127.0.0.1",
            ),
            *(
                "--top-k",
                "3",
                "--mmr-lambda",
                "0.6",
                "--recency-weight",
                "0.1",
                "--threshold",
                "0.3",
            ),
            *("--git-versioning", "--summarization"),
        ]
        with served(home, *options) as url:
            answer = httpx2.get(url + "/v1/settings")
            health = httpx2.get(url + "/health").json()
    assert health["default_top_k"] == 3
    assert health["openai_base_url"] == raw.url + "/v1"
    held = {row["name"]: row["value"] for row in answer.json()["settings"]}
    wanted = {
        "serve.upstream": raw.url + "/v1",
        "embed.model": "embeddinggemma:300m",
        "embed.provider": "openai",
        "embed.url": raw.url + "/v1",
        "serve.top_k": 3,
        "read.mmr_lambda": 0.6,
        "read.recency_weight": 0.1,
        "rerank.threshold": 0.3,
        "vault.enabled": True,
        "vault.git": True,
        "summary.enabled": True,
        "serve.host": "127.0.0.1",
    }
    assert {name: held[name] for name in wanted} == wanted


@pytest.mark.covers("S2.50")
def test_the_port_is_8100_unless_told() -> None:
    """The default port of the proxy is 8100."""
    from engrams.settings import load

    assert load({}, {}).settings.serve.port == 8100
