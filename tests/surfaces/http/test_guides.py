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

from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.program.registry import create_app
from engrams.testing import temp_engine

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "guides"
COMMANDS = [
    (page.name, line)
    for page in sorted(GUIDES.glob("*.md"))
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
    if "curl" in line
]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, dict[str, str]]]:
    """A server, and the keys of the people of the guides by the names of their variables."""
    with temp_engine(user="ann") as engine, running(create_app(engine, engine.settings)) as url:
        keys = ApiKeyStore.open(engine.settings.home)
        yield (
            url,
            {
                variable: keys.add(
                    "docs", Scope(("user", user)), ("read", "write", "proxy"), engine.now()
                )[1]
                for variable, user in (("ENGRAMS_KEY", "ann"), ("ANN", "ann"), ("BOB", "bob"))
            },
        )


@pytest.mark.parametrize(
    ("page", "line"),
    COMMANDS,
    ids=[f"{page}-{number}" for number, (page, _) in enumerate(COMMANDS)],
)
def test_a_command_of_a_guide_works(
    served: tuple[str, dict[str, str]], page: str, line: str
) -> None:
    """It is answered with a success, and with something."""
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    url, keys = served
    command = line.replace("http://127.0.0.1:8100", url).replace("curl -s ", "curl -sf ")
    done = subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, **keys},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stdout, (page, command, done.stderr)


def test_no_command_is_left_out() -> None:
    """Every page that shows curl is here, each with all it shows."""
    shown = {page.name: page.read_text("utf-8").count("\ncurl ") for page in GUIDES.glob("*.md")}
    found = {
        name: sum(page == name and line.startswith("curl ") for page, line in COMMANDS)
        for name in shown
    }
    assert {name: number for name, number in shown.items() if number} == {
        name: number for name, number in found.items() if number
    }
    assert {"proxy.md", "rest.md", "server.md", "keys.md"} <= {page for page, _ in COMMANDS}


def test_the_index_names_every_guide() -> None:
    """Whoever begins at the list of guides finds each of them."""
    listed = set(re.findall(r"\]\((\w+\.md)\)", (GUIDES / "index.md").read_text("utf-8")))
    assert listed == {page.name for page in GUIDES.glob("*.md")} - {"index.md"}
