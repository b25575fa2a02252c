"""Single writes while a slow model works in the background."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import Any

import engrams
from bench.speed.corpus import Corpus
from bench.speed.timing import OWNER, quantiles, time_call, to_turn

SECONDS = 30
_MODEL = """
import sys
from engrams.testing import ScriptedModel
with ScriptedModel() as model:
    model.fail("hang", times=10_000, seconds=float(sys.argv[1]))
    print(model.url, flush=True)
    sys.stdin.read()
"""


def measure_slow_model(count: int) -> dict[str, Any]:
    """Time ``count`` acknowledged writes; closing cuts the model off."""
    lines = list(Corpus(seed=4).lines(count + 20))
    command = [sys.executable, "-c", _MODEL, str(SECONDS)]
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server,
        tempfile.TemporaryDirectory() as home,
    ):
        assert server.stdout is not None
        chat = {
            "provider": "openai",
            "model": "m",
            "url": server.stdout.readline().strip(),
            "timeout_seconds": 2.0 * SECONDS,
        }
        named: dict[str, Any] = {f"chat__{name}": value for name, value in chat.items()}
        memory = engrams.open(
            home=home, write__debounce_seconds=0.0, sessions__shutdown_seconds=0.5, **named
        )
        for line in lines[:20]:
            memory.add(to_turn(line), scope=OWNER)
        seconds = [
            time_call(lambda line=line: memory.add(to_turn(line), scope=OWNER))
            for line in lines[20:]
        ]
        running = memory.status()["jobs"].get("extract", {}).get("running", 0)
        closing = time_call(memory.close)
        server.kill()
    return {**quantiles(seconds), "close_seconds": round(closing, 2), "running": running}
