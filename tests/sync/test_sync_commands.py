"""The commands of `engrams sync`, in processes of two homes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.sync.replicas import raw


def engrams(home: Path, *arguments: str, code: int = 0, **environ: str) -> Any:
    """Run a command with --json as another user would, and return what it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "engrams.program.entry", *arguments, "--json"],
        env={**os.environ, "HOME": str(home), "ENGRAMS_HOME": str(home / "memory"), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == code, ran.stderr
    lines = (ran.stdout or ran.stderr).strip().splitlines()
    return json.loads(lines[-1]) if lines else None


@pytest.mark.slow
def test_two_homes(tmp_path: Path) -> None:
    """Two homes pair by a code, exchange memories and a purge, and one removes the other."""
    laptop, phone, place = tmp_path / "laptop", tmp_path / "phone", str(tmp_path / "place")
    for home in (laptop, phone):
        home.mkdir()
    note = engrams(laptop, "add", "The piano is in the hall.")["id"]
    begun = engrams(laptop, "sync", "init", place, "--name", "laptop")
    assert begun["report"]["sent"] == 1
    assert len(begun["recovery_code"].replace("-", "")) == 40
    code = engrams(laptop, "sync", "pair")["code"]
    assert (
        engrams(phone, "sync", "join", place, "--name", "phone", ENGRAMS_SYNC_CODE=code)["added"]
        == 1
    )
    assert engrams(phone, "show", note)["record"]["text"] == "The piano is in the hall."

    engrams(phone, "edit", note, "The piano is sold.")
    assert engrams(phone, "sync", "now")["sent"] == 1
    assert engrams(laptop, "sync", "now")["changed"] == 1
    engrams(laptop, "purge", note, "--confirm", "purge")
    engrams(laptop, "sync", "now")
    status = engrams(laptop, "sync", "status")
    assert [purge["waiting_for"] for purge in status["purges"]] == [["phone"]]
    assert engrams(phone, "sync", "now")["purged"] == 1
    engrams(laptop, "sync", "now")
    assert engrams(laptop, "sync", "status")["purges"] == []

    devices = engrams(laptop, "sync", "devices")["devices"]
    assert [d["label"] for d in devices if d["kind"] == "device"] == ["laptop", "phone"]
    assert engrams(laptop, "sync", "remove", "phone")["is_removed"]
    assert "removed" in engrams(phone, "sync", "now", code=4)["error"]["message"]
    states = {d["label"]: d["is_removed"] for d in engrams(phone, "sync", "devices")["devices"]}
    assert states["phone"]
    assert engrams(phone, "sync", "leave") == {"left": True}


@pytest.mark.slow
def test_a_forbidden_secret_stays(tmp_path: Path) -> None:
    """What one home may keep is not told by it after its settings changed, and not taken by another."""
    laptop, phone, place = tmp_path / "laptop", tmp_path / "phone", tmp_path / "place"
    for home in (laptop, phone):
        home.mkdir()
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    allowed = {"ENGRAMS_WRITE__SECRETS": "allow"}
    engrams(laptop, "add", f"The token of the build is {token}, says Ruth.", **allowed)
    begun = engrams(laptop, "sync", "init", str(place), "--name", "laptop")
    assert begun["report"]["sent"] == 0
    assert engrams(laptop, "sync", "status")["kept_here"] == 1
    assert engrams(laptop, "sync", "now", **allowed)["sent"] == 1
    code = engrams(laptop, "sync", "pair", **allowed)["code"]
    joined = engrams(phone, "sync", "join", str(place), "--name", "phone", ENGRAMS_SYNC_CODE=code)
    assert joined["added"] == 0
    assert engrams(phone, "sync", "status")["kept_out"] == 1
    assert token.encode() not in raw(phone / "memory")
    assert engrams(phone, "sync", "now", **allowed)["added"] == 1
