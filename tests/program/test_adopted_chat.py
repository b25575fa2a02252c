"""A server with a chat model and without an upstream: the page's chat uses the model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import httpx2
import pytest
from tests.acceptance.process import PROGRAM

from engrams.testing import ScriptedModel


def _start(home: Path, *options: str) -> subprocess.Popen[str]:
    command = [*PROGRAM, "--json", "serve", "--port", "0", *options]
    environment = {**os.environ, "ENGRAMS_HOME": str(home)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_the_chat_uses_the_model_that_memory_learns_by(tmp_path: Path, provider: str) -> None:
    """Whoever connected one model gets its answers in the chat, without naming an upstream."""
    with ScriptedModel() as model:
        model.say("Ines plays it.")
        url = f"{model.url}/v1" if provider == "openai" else model.url
        options = {"chat.provider": provider, "chat.model": "qwen", "chat.url": url}
        pairs = [part for name, value in options.items() for part in ("--set", f"{name}={value}")]
        server = _start(tmp_path, *pairs)
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["url"]
            body = {"model": "qwen", "messages": [{"role": "user", "content": "Who plays?"}]}
            answer = httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=30).json()
            assert answer["choices"][0]["message"]["content"] == "Ines plays it."
        finally:
            server.terminate()
            server.wait(20)
