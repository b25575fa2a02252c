"""The commands in the guides to the server work, each against a live one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.http.running import running

from engrams.keys import Keyring
from engrams.surfaces.http.app import create_app
from engrams.testing import temp_engine
from engrams.types import Scope

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "guides"
COMMANDS = [
    (page, line)
    for page in ("server.md", "keys.md", "rest.md")
    for block in re.findall(r"^```sh\n(.*?)^```", (GUIDES / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
    if "curl" in line
]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, str]]:
    with temp_engine(user="ann") as engine, running(create_app(engine, engine.settings)) as url:
        _, key = Keyring.of(engine.settings.home).add("docs", Scope(("user", "ann")), ("read", "write"), engine.now())
        yield url, key


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{page}-{number}" for number, (page, _) in enumerate(COMMANDS)])
def test_a_command_of_a_guide_works(served: tuple[str, str], page: str, line: str) -> None:
    """It is answered with a success, and with something."""
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    url, key = served
    command = line.replace("http://127.0.0.1:8100", url).replace("curl -s ", "curl -sf ")
    done = subprocess.run(["sh", "-c", command], env={**os.environ, "ENGRAMS_KEY": key}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout, (page, command, done.stderr)


def test_every_guide_has_commands() -> None:
    """The search for them finds some on each page."""
    assert {page for page, _ in COMMANDS} == {"server.md", "keys.md", "rest.md"}
