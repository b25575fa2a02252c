"""engrams keys: made, listed, revoked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Run

from engrams.api_keys import ApiKeyStore
from engrams.core import clock
from engrams.errors import StoreError
from engrams.program.main import main


def test_a_key_is_shown_once(grouped: Run, home: Path) -> None:
    """`add` prints the key alone on standard output, and what it opens beside it;
    neither list nor file ever has it again.
    """
    finished = grouped("keys", "add", "ci bot", "--user", "alice", "--right", "read", "--days", "3")
    secret = finished.out.strip()
    key = ApiKeyStore.open(home).find(secret, clock.now())
    assert finished.code == 0 and key and (key.owner.key, key.rights) == ("user/alice", ("read",))
    assert "not shown again" in finished.err and key.id in finished.err
    listed = grouped("keys", "list")
    assert "user/alice" in listed.out and "live" in listed.out and secret not in listed.out
    assert all(
        secret.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file()
    )


def test_a_revoked_key_opens_nothing(grouped: Run, home: Path) -> None:
    """`revoke` ends it and the list says so; an id that names none is exit code 3."""
    answer = grouped("keys", "add", "x", "--json").json
    assert grouped("keys", "revoke", answer["id"]).code == 0
    assert ApiKeyStore.open(home).find(answer["key"], clock.now()) is None
    assert "revoked" in grouped("keys", "list").out
    assert "already" in grouped("keys", "revoke", answer["id"]).out
    assert grouped("keys", "revoke", "nothing").code == 3


def test_wrong_rights_are_named(grouped: Run) -> None:
    """An unknown right is an error that lists the rights."""
    finished = grouped("keys", "add", "x", "--right", "root")
    assert finished.code == 1 and "read, write, admin, proxy" in finished.err


@pytest.mark.parametrize("name", ["", "  ", "\u200b"])
def test_a_key_has_a_name(grouped: Run, name: str) -> None:
    """A name without a visible character is refused, and no key is made."""
    finished = grouped("keys", "add", name)
    assert finished.code == 1 and "needs a name" in finished.err
    assert grouped("keys", "list", "--json").json["keys"] == []


def test_the_longest_life_of_a_key(grouped: Run) -> None:
    """More days than the calendar has are refused with the largest number, which is taken."""
    finished = grouped("keys", "add", "x", "--days", "3000000")
    max_days = re.search(r"at most ([\d,]+) days", finished.err)
    assert finished.code == 1 and max_days and "0 makes one that never expires" in finished.err
    assert grouped("keys", "add", "x", "--days", max_days.group(1).replace(",", "")).code == 0
    assert "9999-12-3" in grouped("keys", "list").out


def test_making_keys_is_noted(grouped: Run, home: Path) -> None:
    """The audit log has who was made and revoked, by id."""
    answer = grouped("keys", "add", "x", "--json").json
    assert grouped("keys", "revoke", answer["id"]).out.startswith("revoked  ")
    grouped("keys", "revoke", answer["id"])
    text = "".join(path.read_text() for path in (home / "audit").iterdir())
    assert (
        "key.add" in text
        and text.count("key.revoke") == 1
        and answer["id"] in text
        and answer["key"] not in text
    )


def test_keys_come_before_memories_and_survive_a_backup_of_another_home(
    grouped: Run,
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A key made first is no sign of a lost database; a restored backup brings a seal of its own."""
    secret = grouped("keys", "add", "phone", "--user", "alice").out.strip()
    other = tmp_path / "other"
    backup = tmp_path / "backup.zip"
    for command in (("add", "I keep bees."), ("search", "bees"), ("backup", str(backup))):
        assert grouped(*command).code == 0
    assert caplog.messages == []
    assert main(["keys", "add", "tablet", "--home", str(other), "--user", "bob"]) == 0
    tablet = capsys.readouterr().out.strip()
    assert main(["recover", str(backup), "--home", str(other)]) == 0
    capsys.readouterr()
    for place, key in ((home, secret), (other, tablet)):
        assert ApiKeyStore.open(place).find(key, clock.now())
    # The file of a key is still nobody's to change.
    (path,) = (other / "keys").glob("*.json")
    path.write_text(path.read_text("utf-8").replace("user/bob", "user/eve"), "utf-8")
    with pytest.raises(StoreError, match="another program changed it"):
        ApiKeyStore.open(other).find(tablet, clock.now())
