"""The JavaScript client, run by Node against a real server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.http.running import running

from engrams import __version__, composition
from engrams.program.registry import create_app
from engrams.settings import load

CLIENT = Path(__file__).resolve().parents[3] / "clients" / "js"
pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="needs node")


@pytest.fixture
def url(home: Path) -> Iterator[str]:
    """The address of a server with an empty home."""
    settings = load({"home": str(home), "user": "me"}).settings
    with composition.open(settings) as engine, running(create_app(engine, settings)) as address:
        yield address


def run(command: list[str], folder: Path, url: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "ENGRAMS_URL": url},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_javascript_client_adds_searches_and_reports_errors(url: str) -> None:
    """Adding, searching and contexts, people and projects apart, and errors with their hint."""
    run(["node", "--test", "test/client.test.js"], CLIENT, url)


def test_the_javascript_package_is_complete() -> None:
    """The package needs no other, has the version of engrams, and every file that it exports is
    there.
    """
    package = json.loads((CLIENT / "package.json").read_text("utf-8"))
    assert "dependencies" not in package and package["version"] == __version__
    assert [
        path
        for each in package["exports"].values()
        for path in each.values()
        if not (CLIENT / path).is_file()
    ] == []


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")
def test_the_middleware_with_the_current_ai_sdk(url: str, tmp_path: Path) -> None:
    """In a fresh folder with the AI SDK's current release the middleware works, and the types of
    both fit.
    """
    folder = tmp_path / "js"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("node_modules"))
    run(
        [
            "npm",
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "ai@latest",
            "@ai-sdk/provider@latest",
            "typescript@latest",
        ],
        folder,
        url,
    )
    run(["node", "--test", "test/ai-sdk.test.js"], folder, url)
    options = [
        "--noEmit",
        "--strict",
        "--module",
        "nodenext",
        "--target",
        "es2023",
        "--skipLibCheck",
    ]
    run(["npx", "tsc", *options, "test/types.ts"], folder, url)
