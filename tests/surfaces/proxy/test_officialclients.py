"""Clients of Anthropic and Ollama in an environment of their own, before served processes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from bench.conformance.environments import make_environment
from tests.acceptance.process import served

from engrams.testing import ScriptedModel, ScriptedReply, ScriptedToolCall


@pytest.mark.slow
def test_official_clients(tmp_path: Path) -> None:
    """What these clients promise their users holds through the proxy, with and without an upstream."""
    python = os.environ.get("CLIENTS_PYTHON") or str(
        make_environment(tmp_path / "environment", ["anthropic", "ollama"])
    )
    call = ScriptedReply(tools=(ScriptedToolCall("look", {"x": 1}),))
    for name in ("home", "other"):
        (tmp_path / name).mkdir()
    with ScriptedModel() as model:
        model.say(
            "Nice to meet you, Rex!",
            "Rex.",
            call,
            "He is called Rex.",
            "Rex, I think.",
            "Rex, I am sure.",
        )
        model.fail("http_429", when="Fail").fail("http_500", when="Fail")
        options = ("--set", "serve.upstream_learns=false", "--upstream", model.url)
        with (
            served("default", tmp_path / "home", model, *options) as door,
            served("default", tmp_path / "other", model) as offline,
        ):
            urls = [str(each.client.base_url) for each in (door, offline)]
            script = Path(__file__).parent / "check_clients.py"
            done = subprocess.run(
                [python, str(script), *urls],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
        assert done.returncode == 0, done.stdout + done.stderr
