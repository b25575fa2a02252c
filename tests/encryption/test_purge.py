"""A purge in an encrypted home looks into its copies and backups, too."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from tests.encryption.conftest import OWNER, WORD

import engrams
from engrams import admin
from engrams.settings import load

pytest.importorskip("dulwich")


def test_a_purge_reads_what_is_encrypted(home: Path) -> None:
    """Copies with the words go, a backup made since is rewritten, one sealed with the home is named
    as what is left.
    """
    with engrams.open(home=home) as memory:
        id = memory.add(f"Parcel of the {WORD} house lies in Lisbon harbour.", scope=OWNER).id
        memory.add("The boat is red.", scope=OWNER)
        admin.backup(memory, home / "before.backup")
        for name in ("memory.db.v3.bak", "memory.db.old"):
            apsw.Connection(str(home / "memory.db")).execute("VACUUM INTO ?", (str(home / name),))
    admin.encrypt(
        load({"home": home, "encryption.key": "passphrase"}).settings, passphrase="correct horse"
    )
    with engrams.open(home=home) as memory:
        admin.backup(memory, home / "after.backup")
        done = memory.purge([id], scope=OWNER)
        assert not (home / "memory.db.v3.bak").exists()
        assert not done.proven
        (left,) = (place for place in done.places if place.left)
        assert "before.backup" in left.advice
        assert "after.backup" not in left.advice
        (home / "before.backup").unlink()
        assert memory.purge([id], scope=OWNER).proven
    assert admin.recover(load({"home": home.parent / "again"}).settings, home / "after.backup")
    with engrams.open(home=home.parent / "again") as memory:
        assert [
            record.text for record in memory.list(scope=OWNER).records if WORD in record.text
        ] == []
