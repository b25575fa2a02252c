"""An encrypted home:
nothing readable in its files, clear words for a wrong key, damage told from it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.encryption.conftest import OWNER, WORD, Run, traces

import engrams
from engrams import admin
from engrams.core import ImportOptions, Turn
from engrams.errors import ConflictError, EncryptionError, ExtraError, RefusedError, StoreError
from engrams.program.main import main
from engrams.settings import EncryptionSettings, load

PAGE = 4096
PASSPHRASE = {"encryption.key": "passphrase"}


def fill(home: Path, number: int = 40, **settings: object) -> None:
    with engrams.open(home=home, **settings) as memory:
        for place in range(number):
            memory.add(f"Parcel r{place}x lies in the hall of {WORD} house {place}.", scope=OWNER)


def texts(home: Path, **settings: object) -> set[str]:
    with engrams.open(home=home, **settings) as memory:
        return {record.text for record in memory.list(scope=OWNER, limit=1000).records}


def encrypt(home: Path, **more: str) -> int:
    settings = load({"home": home, **PASSPHRASE, **more}).settings
    return admin.encrypt(settings, passphrase="correct horse")


def contents(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}


def test_a_live_home_is_encrypted_and_keeps_every_memory(home: Path) -> None:
    """An engine that is open meanwhile goes on reading and writing, and no file holds a word of
    what was said.
    """
    fill(home)
    (home / "memory.db.v1.bak").write_bytes((home / "memory.db").read_bytes())
    with engrams.open(home=home) as memory:
        before = {record.text for record in memory.list(scope=OWNER, limit=1000).records}
        admin.open_safety_log(memory.settings).append_once(
            "s", classifier="rules", severity="low", reason=f"{WORD} was named"
        )
        admin.open_audit_log(memory.settings).note("add", owner=f"user/{WORD}")
        assert admin.backup(memory, home / "old.backup").files
        assert len(traces(home)) >= 4
        assert encrypt(home) >= 4
        assert {record.text for record in memory.list(scope=OWNER, limit=1000).records} == before
        memory.add(f"One more in {WORD}.", scope=OWNER)
        assert memory.search("one more", scope=OWNER).hits
        assert traces(home) == []
    assert traces(home) == []
    assert before < texts(home)
    assert admin.open_audit_log(load({"home": home}).settings).entries()[-1].owner == f"user/{WORD}"
    assert (
        admin.open_safety_log(load({"home": home}).settings).list()[0].reason == f"{WORD} was named"
    )


def test_a_new_home_is_encrypted_from_its_first_byte(home: Path) -> None:
    """With the setting on, a fresh home is never plain, and the vault's Markdown alone is readable."""
    fill(home, 3, encryption__enabled=True, encryption__key="passphrase", vault__enabled=True)
    assert {path.split("/")[0] for path in traces(home)} == {"vault"}
    assert len(texts(home, vault__enabled=True)) >= 3
    with pytest.raises(EncryptionError, match="is off"):
        texts(home, encryption__enabled=False)


def test_search_indexes_are_in_no_file(home: Path) -> None:
    """Encrypting deletes the files of search indexes, of a database of another name too, and no
    search writes new ones.

    So with an empty folder that damage left in the place of one.
    """
    turns = [
        Turn(
            f"Parcel r{place}x lies in the hall of {WORD} house {place % 90}.",
            session=f"s{place // 20}",
        )
        for place in range(2_100)
    ]
    with engrams.open(home=home, write__extract="off", jobs__workers=0) as memory:
        memory.observe(turns, scope=OWNER)
        before = memory.search("parcel", scope=OWNER).hits
    assert list((home / "memory.db.index").iterdir())
    (home / "memory.db.index" / "damaged.segment").mkdir()
    shutil.copytree(home / "memory.db.index", home / "other.sqlite.index")
    encrypt(home)
    assert not [*home.rglob("*.segment")]
    for _ in range(2):
        with engrams.open(home=home, jobs__workers=0) as memory:
            assert [hit.record.id for hit in memory.search("parcel", scope=OWNER).hits] == [
                hit.record.id for hit in before
            ]
        assert not (home / "memory.db.index").exists()


DOORS = (
    ("search", "parcel"),
    ("add", "more"),
    ("serve", "--port", "0"),
    ("mcp",),
    ("stats", "--json"),
    ("doctor", "--repair"),
)


@pytest.mark.parametrize(
    ("given", "told", "doors"),
    [
        ("wrong", "passphrase is wrong", DOORS[-1:]),
        pytest.param("wrong", "passphrase is wrong", DOORS[:-1], marks=pytest.mark.slow),
        pytest.param(None, "not given", DOORS, marks=pytest.mark.slow),
    ],
    ids=["doctor", "wrong", "missing"],
)
def test_a_wrong_key_changes_nothing(
    home: Path,
    run: Run,
    given: str | None,
    told: str,
    doors: tuple[tuple[str, ...], ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python, command, doctor and server say that the key is missing or wrong;
    no file is renamed, mended or written.
    """
    fill(home, 3)
    encrypt(home)
    before = contents(home)
    for words in doors:
        done = run(*words, ENGRAMS_PASSPHRASE=given)
        assert done.returncode != 0, words
        assert told in done.stdout + done.stderr, (words, done)
        assert "Traceback" not in done.stderr
    monkeypatch.delenv("ENGRAMS_PASSPHRASE")
    if given:
        with pytest.raises(EncryptionError, match=told):
            texts(home, encryption__passphrase=given)
    assert contents(home) == before


@pytest.mark.slow
def test_rekey_off_and_status(home: Path, run: Run, tmp_path: Path) -> None:
    """The command changes the passphrase, moves the key into a file, and decrypts;
    memory is the same throughout.
    """
    fill(home, 5)
    before = texts(home)
    assert json.loads(run("encrypt", "--status", "--json").stdout)["encrypted"] is False
    assert json.loads(run("encrypt", "--key", "passphrase", "--json").stdout)["key"] == "passphrase"
    first = (home / "memory.db").read_bytes()
    done = run("encrypt", "--rekey", ENGRAMS_NEW_PASSPHRASE="battery staple")
    assert done.returncode == 0, done.stderr
    assert (home / "memory.db").read_bytes() != first
    assert run("stats").returncode == 5
    file = tmp_path / "key"
    assert (
        run(
            "encrypt", "--rekey", "--key-file", str(file), ENGRAMS_PASSPHRASE="battery staple"
        ).returncode
        == 0
    )
    assert texts(home) == before
    file.chmod(0o644)
    assert f"chmod 600 {file}" in run("stats").stderr
    file.chmod(0o600)
    assert json.loads(run("encrypt", "--off", "--json").stdout)["encrypted"] is False
    assert texts(home) == before
    assert traces(home) == ["memory.db"]
    assert not (home / "encryption.json").exists()


def test_doctor_tells_who_can_read_the_files(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Off, on with the Markdown that stays readable, and a plain file that came into an encrypted
    home.
    """

    def tell() -> tuple[str, str]:
        capsys.readouterr()
        main(["doctor", "--offline", "--json", "--home", str(home), "--set", "vault.enabled=true"])
        (found,) = (
            check
            for check in json.loads(capsys.readouterr().out)["checks"]
            if check["name"] == "encryption"
        )
        return found["state"], found["detail"]

    fill(home, 1, vault__enabled=True)
    (home / "copy.db").write_bytes((home / "memory.db").read_bytes())
    assert tell() == ("info", "off; `engrams encrypt` turns it on")
    encrypt(home)
    state, detail = tell()
    assert state == "ok"
    assert "key: passphrase" in detail
    assert f"Markdown in {home / 'vault'} stays readable" in detail
    (home / "copy.db").write_bytes(b"SQLite format 3\0" + bytes(PAGE))
    assert tell() == ("warn", "plain files in an encrypted home: copy.db")


@pytest.mark.slow
def test_damage_is_told_from_a_wrong_key(home: Path) -> None:
    """Flipped bytes cost the pages they hit and no other;
    a file with another key is left as it is.
    """
    fill(home, 300)
    encrypt(home)
    path = home / "memory.db"
    data = bytearray(path.read_bytes())
    for page in (0, 3, len(data) // PAGE // 2):
        data[page * PAGE + 1000] ^= 0xFF
    path.write_bytes(data)
    kept = texts(home)
    assert len([text for text in kept if text.startswith("Parcel")]) >= 290
    assert any("corrupt-" in name for name in contents(home))
    assert traces(home) == []


def test_a_file_with_another_key_is_no_damage(home: Path, tmp_path: Path) -> None:
    """A database of another home, or one whose header is gone, is refused and stays."""
    fill(home, 3)
    encrypt(home)
    other = tmp_path / "other"
    fill(other, 3)
    encrypt(other)
    (home / "memory.db").write_bytes((other / "memory.db").read_bytes())
    before = contents(home)
    with pytest.raises(EncryptionError, match="another key"):
        texts(home)
    (other / "encryption.json").unlink()
    with pytest.raises(EncryptionError, match="is missing beside it"):
        texts(other)
    assert contents(home) == before
    assert sorted(contents(other)) == [".lock", "memory.db", "seal.key"]


def test_without_the_driver_it_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home cannot be encrypted or opened with a driver that knows no ciphers;
    the error has the command.
    """
    import apsw

    fill(home, 1)
    monkeypatch.delattr(apsw, "mc_version")
    with pytest.raises(ExtraError) as caught:
        encrypt(home)
    assert "install --force-reinstall --no-deps apsw-sqlite3mc" in caught.value.hint
    assert not (home / "encryption.json").exists()


def test_a_backup_opens_with_its_passphrase(home: Path, tmp_path: Path, passphrase: str) -> None:
    """A backup of an encrypted home holds no plain memory, and restores with the home's or its own
    passphrase.
    """
    fill(home, 3)
    encrypt(home)
    before = texts(home)
    with engrams.open(home=home) as memory:
        admin.backup(memory, tmp_path / "one")
        admin.backup(memory, tmp_path / "two", "other words")
        with pytest.raises(ConflictError):
            admin.recover(memory.settings, tmp_path / "one")
    assert admin.recover(load({"home": tmp_path / "a"}).settings, tmp_path / "one") == 3
    assert texts(tmp_path / "a") == before
    with pytest.raises(RefusedError):
        admin.recover(load({"home": tmp_path / "b"}).settings, tmp_path / "two")
    admin.recover(load({"home": tmp_path / "b"}).settings, tmp_path / "two", "other words")
    assert texts(tmp_path / "b", encryption__passphrase="other words") == before
    assert traces(tmp_path / "a") == traces(tmp_path / "b") == []


def test_uploads_are_sealed(home: Path) -> None:
    """A file that is being received is sealed on disk, in pieces, and imported whole."""
    fill(home, 1, encryption__enabled=True, encryption__key="passphrase")
    with engrams.open(home=home) as memory:
        uploads = admin.open_uploads(memory)
        scope = engrams.Scope(OWNER)
        upload = uploads.begin(scope, ImportOptions("jsonl", name=f"{WORD}.jsonl"))
        lines = "".join(
            json.dumps({"role": "user", "content": f"Turn {n} about {WORD}"}) + "\n"
            for n in range(3)
        ).encode()
        assert uploads.append(scope, upload.id, 0, lines[:50]) == 50
        assert uploads.append(scope, upload.id, 50, lines[50:]) == len(lines)
        assert traces(home) == []
        assert uploads.get(scope, upload.id).name == f"{WORD}.jsonl"
        uploads.close()


def test_damaged_files_stop_the_encryption_first(home: Path) -> None:
    """A home with a damaged database is not half encrypted."""
    fill(home, 200)
    path = home / "memory.db"
    data = bytearray(path.read_bytes())
    data[20 * PAGE : 21 * PAGE] = b"\xff" * PAGE
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        encrypt(home)
    assert not (home / "encryption.json").exists()
    assert path.read_bytes() == data


def test_the_keyring_holds_the_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key from the system's keyring opens the home without a question;
    without its entry the home is refused.
    """
    import keyring
    from keyring.backend import KeyringBackend

    held: dict[tuple[str, str], str] = {}

    class DictKeyring(KeyringBackend):
        priority = 1  # type: ignore[assignment]

        def get_password(self, service: str, username: str) -> str | None:
            return held.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            held[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del held[service, username]

    before_ring = keyring.get_keyring()
    keyring.set_keyring(DictKeyring())
    try:
        fill(home, 2)
        admin.encrypt(load({"home": home}).settings)
        assert len(texts(home)) >= 2
        admin.rekey(load({"home": home}).settings, EncryptionSettings())
        assert len(held) == 1
        with engrams.open(home=home) as memory, pytest.raises(RefusedError, match="keyring"):
            admin.backup(memory, home.parent / "backup")
        held.clear()
        with pytest.raises(EncryptionError, match="no entry"):
            texts(home, encryption__enabled=True)
    finally:
        keyring.set_keyring(before_ring)


def test_a_key_that_does_not_fit_is_not_stretched_at_each_try(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a server without the key, each request fails at once:
    the passphrase is tried again after seconds only.
    """
    fill(home, 1)
    encrypt(home)
    child = (
        "import hashlib, os, time\nfrom pathlib import Path\nfrom engrams import encryption\nfrom"
        " engrams.errors import EncryptionError\n"
    )
    child += (
        "stretch, calls = hashlib.scrypt, []\nhashlib.scrypt = lambda *a, **k: calls.append(1) or"
        " stretch(*a, **k)\n"
    )
    child += (
        f"for _ in range(40):\n    try:\n        encryption.find_keys(Path({str(home)!r}))\n   "
        " except EncryptionError as problem:\n"
    )
    child += "        assert problem.hint\nprint(len(calls))\n"
    monkeypatch.setenv("ENGRAMS_PASSPHRASE", "another one")
    done = subprocess.run(
        [sys.executable, "-c", child], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and 1 <= int(done.stdout) <= 3, done
