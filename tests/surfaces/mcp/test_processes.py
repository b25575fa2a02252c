"""The real client against `engrams serve` as a process, with the keys that `engrams keys add`
makes.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp_types import ResourceTemplateReference
from tests.surfaces.mcp.conftest import call, refused
from tests.surfaces.mcp.test_served import connected

ENGRAMS = [sys.executable, "-c", "from engrams.program.main import run; run()"]


def make_key(home: Path, user: str) -> str:
    finished = subprocess.run(
        [*ENGRAMS, "keys", "add", user, "--user", user, "--home", str(home), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return str(json.loads(finished.stdout)["key"])


@contextmanager
def serving(home: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    line = [
        *ENGRAMS,
        "serve",
        "--port",
        url.rpartition(":")[2],
        "--home",
        str(home),
        "--set",
        "serve.require_keys=always",
    ]
    process = subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ}
    )
    try:
        until = time.monotonic() + 120
        while True:
            try:
                httpx2.get(f"{url}/health")
                break
            except httpx2.TransportError:
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
async def test_two_keys_at_one_address(home: Path) -> None:
    """Each key has its owner's memory alone:
    tools, resources, completions, changes and tokens; a third has none.
    """
    keys = {user: make_key(home, user) for user in ("ann", "bob")}
    with serving(home) as url:
        assert (
            httpx2.post(
                f"{url}/mcp", json={}, headers={"authorization": "Bearer wrong"}
            ).status_code
            == 401
        )
        async with (
            connected(f"{url}/mcp/full", authorization=f"Bearer {keys['ann']}") as ann,
            connected(f"{url}/mcp/full", authorization=f"Bearer {keys['bob']}") as bob,
        ):
            told = (
                await call(
                    ann,
                    "memory_add",
                    text="Quentin breeds ferrets in the cellar.",
                    tags=["pets"],
                )
            )["results"][0]["id"]
            assert (await call(bob, "memory_list"))["memories"] == []
            assert "no memory" in await refused(bob, "memory_get", id=told)
            for who, known in ((ann, ["pets"]), (bob, [])):
                done = await who.complete(
                    ResourceTemplateReference(uri="memory://tag/{tag}"),
                    {"name": "tag", "value": "p"},
                )
                assert done.completion.values == known
            async with (
                ann.listen(resource_subscriptions=[f"memory://{told}"]) as mine,
                bob.listen(resource_subscriptions=[f"memory://{told}"]) as theirs,
            ):
                shown = await call(ann, "memory_forget_preview", about="Quentin")
                assert "unknown" in await refused(bob, "memory_forget", token=shown["token"])
                assert told in (await call(ann, "memory_forget", token=shown["token"]))["forgotten"]
                with anyio.fail_after(20):
                    assert (await anext(aiter(mine))).uri == f"memory://{told}"
                with anyio.move_on_after(2) as waited:
                    await anext(aiter(theirs))
                assert waited.cancelled_caught
            assert (await call(ann, "memory_search", q="who breeds ferrets?"))["memories"] == []
