"""Checkouts that are odd or hostile: nothing outside is read, nothing hangs, nothing is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine
from engrams.core import Kind, Record
from engrams.core.code_anchors import CODE, AnchorState, read_anchors

SCOPE = ("user", "ann", "project", "shop")


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "pay.py").write_text("LIMIT_X = 5\n", "utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@pytest.fixture
def memory(home: Path) -> MemoryEngine:
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        yield engine


def add(memory: MemoryEngine, text: str, checkout: Path) -> Record:
    return memory.get(memory.add(text, scope=SCOPE, checkout=checkout).id, scope=SCOPE)


def paths(record: Record) -> list[str]:
    anchors = read_anchors(record)
    return [anchor.path for anchor in anchors.anchors] if anchors else []


def states(memory: MemoryEngine, checkout: Path) -> list[str]:
    """States of what was added; facts that were learned from it have the same."""
    return [
        str(item.verdict.state)
        for item in memory.code.verify(scope=SCOPE, checkout=checkout)
        if item.record.kind is Kind.NOTE
    ]


def test_paths_that_leave_the_checkout_name_nothing(
    memory: MemoryEngine, checkout: Path, tmp_path: Path
) -> None:
    """Neither by `..`, nor absolute, nor through a symbolic link."""
    (tmp_path / "secret.py").write_text("TOKEN_X = 1\n", "utf-8")
    (checkout / "src" / "link.py").symlink_to(tmp_path / "secret.py")
    (checkout / "out").symlink_to(tmp_path)
    for named_path in ("../secret.py", str(tmp_path / "secret.py"), "src/link.py", "out/secret.py"):
        assert paths(add(memory, f"TOKEN_X in {named_path} is 1.", checkout)) == [], named_path
    assert paths(add(memory, "LIMIT_X in src/pay.py is 5.", checkout)) == ["src/pay.py"]


def test_forged_anchors_reveal_nothing(
    memory: MemoryEngine, checkout: Path, tmp_path: Path
) -> None:
    """A sender may write any metadata: a path outside is gone for everybody, whatever it holds."""
    (tmp_path / "secret.py").write_text("TOKEN_X = 1\n", "utf-8")
    stored = memory.add("LIMIT_X in src/pay.py is 5.", scope=SCOPE, checkout=checkout)
    notes = set()
    for detail in ("1", "2"):
        forged = {"path": "../secret.py", "role": "value", "symbol": "TOKEN_X", "detail": detail}
        memory.edit(
            stored.id,
            scope=SCOPE,
            fields={"meta": {CODE: {"anchors": [forged, {"path": 3}, None, "x"]}}},
        )
        checked = memory.code.verify(scope=SCOPE, checkout=checkout)
        (verdict,) = [item.verdict for item in checked if item.record.id == stored.id]
        assert verdict.state is AnchorState.GONE
        notes.add(verdict.note)
    assert notes == {"../secret.py is gone"}
    memory.edit(stored.id, scope=SCOPE, fields={"meta": {CODE: "nonsense"}})
    assert states(memory, checkout) == []


def test_files_that_no_one_should_read(memory: MemoryEngine, checkout: Path) -> None:
    """Huge and binary files, pipes and invalid source are anchored as files at most."""
    (checkout / "huge.py").write_bytes(b"HUGE_X = 1\n" + b"#" * 3_000_000)
    (checkout / "binary.py").write_bytes(b"BIN_X = 1\n\0\1\2")
    (checkout / "broken.py").write_text("BROKEN_X = 1\ndef (:\n", "utf-8")
    os.mkfifo(checkout / "pipe.py")
    for name in ("huge", "binary", "pipe"):
        add(memory, f"{name.upper()}_X in {name}.py is 1.", checkout)
    add(memory, "BROKEN_X in broken.py is 1.", checkout)
    assert set(states(memory, checkout)) == {"fresh"}
    (checkout / "broken.py").write_text("BROKEN_X = 2\ndef (:\n", "utf-8")
    assert states(memory, checkout).count("drifted") == 1


def test_repositories_of_other_forms(memory: MemoryEngine, checkout: Path, tmp_path: Path) -> None:
    """A folder without git, a detached head, a shallow clone and a submodule are compared as well; a
    bare repository has no files.
    """
    fact = "LIMIT_X in src/pay.py is 5."
    add(memory, fact, checkout)
    shallow = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{checkout}", str(shallow)],
        check=True,
        capture_output=True,
    )
    git(shallow, "checkout", "-q", "--detach")
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(checkout), "lib")
    plain = tmp_path / "plain"
    (plain / "src").mkdir(parents=True)
    (plain / "src" / "pay.py").write_text("LIMIT_X = 5\n", "utf-8")
    for folder in (shallow, outer / "lib", plain):
        assert states(memory, folder) == ["fresh"], folder
        (folder / "src" / "pay.py").write_text("LIMIT_X = 66\n", "utf-8")
        assert states(memory, folder) == ["drifted"], folder
        (folder / "src" / "pay.py").unlink()
        assert states(memory, folder) == ["gone"], folder
    bare = tmp_path / "bare.git"
    subprocess.run(
        ["git", "clone", "-q", "--bare", str(checkout), str(bare)], check=True, capture_output=True
    )
    assert paths(add(memory, "LIMIT_X is 5 in src/pay.py, and more.", bare)) == []


def test_damaged_git_data_stop_no_read(memory: MemoryEngine, checkout: Path) -> None:
    """A broken index, head or pack leaves the comparison with the files."""
    add(memory, "LIMIT_X in src/pay.py is 5.", checkout)
    (checkout / ".git" / "index").write_bytes(b"DIRC broken")
    (checkout / ".git" / "HEAD").write_bytes(b"\xff\xfe")
    assert states(memory, checkout) == ["fresh"]
    (checkout / "src" / "pay.py").unlink()
    assert states(memory, checkout) == ["gone"]
    assert memory.code.find_broken(scope=SCOPE, checkout=checkout) == ()
    (checkout / ".git").rename(checkout / "nogit")
    (checkout / ".git").write_text("gitdir: /nowhere/at/all\n", "utf-8")
    assert states(memory, checkout) == ["gone"]


def test_nothing_of_the_repository_runs(
    memory: MemoryEngine, checkout: Path, tmp_path: Path
) -> None:
    """Filters, monitors and hooks that a repository configures are never started."""
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n", "utf-8")
    trap.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", str(trap))
    git(checkout, "config", "filter.trap.smudge", str(trap))
    git(checkout, "config", "filter.trap.clean", str(trap))
    (checkout / ".gitattributes").write_text("*.py filter=trap\n", "utf-8")
    add(memory, "LIMIT_X in src/pay.py is 5.", checkout)
    (checkout / "src" / "pay.py").unlink()
    assert states(memory, checkout) == ["gone"]
    memory.code.find_broken(scope=SCOPE, checkout=checkout)
    assert not (tmp_path / "sprung").exists()


def test_secrets_are_no_anchors(memory: MemoryEngine, checkout: Path) -> None:
    """The value of a password is not copied into an anchor."""
    (checkout / "src" / "conf.py").write_text('DB_PASSWORD = "correcthorse42"\n', "utf-8")
    record = add(memory, "DB_PASSWORD in src/conf.py is correcthorse42.", checkout)
    assert "correcthorse42" not in str(record.meta)


def test_an_exported_name_is_no_value(memory: MemoryEngine, checkout: Path) -> None:
    """A file that exports its functions by an object still defines them."""
    code = checkout / "utils.js"
    code.write_text(
        "function endsWith(a) {\n}\nmodule.exports = {\n  endsWith: endsWith,\n}\n", "utf-8"
    )
    add(memory, "`endsWith` is defined in utils.js.", checkout)
    assert states(memory, checkout) == ["fresh"]
    code.write_text("function other(a) {\n}\n", "utf-8")
    assert states(memory, checkout) == ["drifted"]
