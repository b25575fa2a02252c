"""engrams secrets scan: what was stored before it was known to be a secret is found and removed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.surfaces.cli.conftest import Run

_KEY = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
_PASSWORD = "Otter-lake-77x"


def _find_files(home: Path, *secrets: str) -> list[str]:
    """List the files that hold one of some secrets, by name or by content."""
    return [
        str(path)
        for path in home.rglob("*")
        for secret in secrets
        if secret in str(path) or (path.is_file() and secret.encode() in path.read_bytes())
    ]


def test_secrets_are_previewed_and_removed(engrams: Run, home: Path) -> None:
    """The preview names ids, kinds and places and shows no secret; redaction leaves none in any file."""
    allowed = ("--set", "write.secrets=allow")
    kept = engrams("add", "The harbour lamp is green.", "--json").json["id"]
    texts = {
        "text": engrams("add", f"mysql -uroot -p{_PASSWORD} ledger", *allowed, "--json").json["id"],
        "triggers": engrams(
            "add", "Use the key.", "--trigger", f"token {_KEY}", *allowed, "--json"
        ).json["id"],
        "history": engrams("add", f"The password is {_PASSWORD}.", *allowed, "--json").json["id"],
        "tags": engrams("add", "A note of the deploy.", "--json").json["id"],
        "speaker": engrams("add", "A note of a bot.", "--json").json["id"],
    }
    engrams("edit", texts["history"], "The password is in the safe.", *allowed)
    engrams("edit", texts["tags"], "--field", f"tags={_KEY}", *allowed)
    engrams("edit", texts["speaker"], "--field", f"speaker=bot {_KEY}", *allowed)
    assert _find_files(home, _KEY, _PASSWORD)

    shown = engrams("secrets scan")
    assert shown.code == 0, shown
    assert [field for field, record_id in texts.items() if record_id not in shown.out] == []
    assert kept not in shown.out
    assert _KEY not in shown.out
    assert _PASSWORD not in shown.out
    found = engrams("secrets scan", "--json").json["secrets"]
    assert {(item["id"], item["field"]) for item in found} >= {
        (record_id, field) for field, record_id in texts.items()
    }
    assert {item["kind"] for item in found} == {"password", "key"}
    assert engrams("secrets scan", "--redact").code != 0

    done = engrams("secrets scan", "--redact", "--yes", "--json")
    assert done.code == 0
    assert done.json["proven"]
    assert _find_files(home, _KEY, _PASSWORD) == []
    listed = engrams("list", "--status", "all", "--json").out
    assert "mysql -uroot" in listed
    assert "Use the key." in listed
    assert "safe" in listed
    assert engrams("show", texts["tags"], "--json").json["record"]["tags"] == ["[removed]"]
    assert engrams("secrets scan", "--json").json["secrets"] == []
    assert engrams("doctor").code == 0


def test_an_allowed_kind_is_not_looked_for(engrams: Run) -> None:
    """What the settings allow is no finding, and a kind of its own setting is one."""
    engrams("add", "Pay with 4539 1488 0343 6467.")
    assert engrams("secrets scan", "--json").json["secrets"] == []
    (found,) = engrams("secrets scan", "--json", "--set", "write.secrets_of=card=redact").json[
        "secrets"
    ]
    assert found["kind"] == "card"
    assert "0343" not in found["masked"]


def test_the_files_and_their_history_lose_the_secret(engrams: Run, home: Path) -> None:
    """With a vault in git no file, file name or commit holds the secret afterwards."""
    vault = ("--set", "vault.enabled=true", "--set", "vault.git=true")
    stored = engrams(
        "add", f"The password is {_PASSWORD}.", *vault, "--set", "write.secrets=allow", "--json"
    ).json
    engrams("edit", stored["id"], "The password is in the safe.", *vault)
    assert _find_files(home, _PASSWORD)
    done = engrams("secrets scan", "--redact", "--yes", "--json", *vault)
    assert done.code == 0, done
    assert _find_files(home, _PASSWORD) == []
    history = subprocess.run(
        ["git", "log", "--all", "-p"],
        cwd=home / "vault",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "safe" in history.stdout
    assert _PASSWORD not in history.stdout
