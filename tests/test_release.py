"""The release script."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from scripts import release

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-02\n\n### Added\n\n- A thing.\n\n##"
    " [0.1.0] - 2025-01-02\n\n- All.\n"
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the files that name the version."""
    for name in (*release.PLACES, "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    add_change(tmp_path)
    return tmp_path


def add_change(root: Path) -> None:
    """Note an unreleased change."""
    changelog = root / "CHANGELOG.md"
    changelog.write_text(
        changelog.read_text("utf-8").replace(
            "## [Unreleased]\n", "## [Unreleased]\n\n- A change.\n", 1
        ),
        "utf-8",
    )


def test_every_file_names_the_same_version() -> None:
    """The version stands in several files, and is one."""
    assert len(set(release.find_versions(ROOT).values())) == 1


def test_the_notes_are_the_changelog_s_section() -> None:
    """A version's notes are its section alone;
    without one, or with unreleased changes, there is no release.
    """
    assert release.find_notes(CHANGELOG, "0.2.0") == "### Added\n\n- A thing.\n"
    with pytest.raises(ValueError, match=r"says nothing about 0\.3\.0"):
        release.find_notes(CHANGELOG, "0.3.0")
    with pytest.raises(ValueError, match="unreleased changes"):
        release.find_notes(
            CHANGELOG.replace("[Unreleased]\n", "[Unreleased]\n\n- A surprise.\n"), "0.2.0"
        )


def test_a_version_is_written_everywhere(copy: Path) -> None:
    """`prepare` writes the version into every file, and dates what was unreleased."""
    release.prepare(copy, "9.8.7rc1")
    assert set(release.find_versions(copy).values()) == {"9.8.7rc1"}
    assert release.find_notes((copy / "CHANGELOG.md").read_text("utf-8"), "9.8.7rc1").startswith(
        "- A change.\n"
    )
    with pytest.raises(ValueError, match="no version"):
        release.prepare(copy, "next")


@pytest.mark.skipif(not shutil.which("gpg"), reason="needs gpg")
def test_files_are_signed_where_a_key_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a signing key in git's configuration each file gets a signature that holds;
    without one that is said.
    """
    monkeypatch.setenv("GNUPGHOME", str(tmp_path / "g"))
    monkeypatch.delenv("SIGSTORE_ID_TOKEN", raising=False)
    (tmp_path / "g").mkdir(mode=0o700)
    make = (
        "gpg",
        "--batch",
        "--passphrase",
        "",
        "--quick-generate-key",
        "releases@example.org",
        "ed25519",
        "sign",
        "never",
    )
    subprocess.run(make, check=True, capture_output=True)
    (tmp_path / "file").write_text("content")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for key, said in (("", "NOT SIGNED"), ("releases@example.org", "signed by gpg")):
        subprocess.run(["git", "-C", str(tmp_path), "config", "user.signingkey", key], check=True)
        (line,) = release.sign(tmp_path, [tmp_path / "file"])
        assert line.startswith(said)
    subprocess.run(["gpg", "--verify", str(tmp_path / "file.asc")], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("twine"), reason="needs twine: make release installs it")
def test_a_release_is_built_and_checked(tmp_path: Path) -> None:
    """From a commit come a wheel and an sdist that install and answer, sums that hold, notes, and
    word that nothing signed them.

    Changes that are not committed, or not in the changelog, stop it.
    """
    clone = tmp_path / "clone"
    git = (
        "git",
        "-C",
        str(clone),
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "user.signingkey=",
    )
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", str(clone)], check=True)
    subprocess.run([*git, "config", "user.signingkey", ""], check=True)

    def run(*given: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(clone / "scripts" / "release.py"), *given]
        return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)

    add_change(clone)
    assert "unreleased changes" in run("build").stderr
    assert run("prepare", "9.8.7").returncode == 0
    assert "Not committed" in run("build").stderr
    subprocess.run([*git, "commit", "-qam", "9.8.7"], check=True)
    out = tmp_path / "out"
    done = run("build", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT SIGNED" in done.stdout and "Nothing was uploaded" in done.stdout
    sums = dict(
        reversed(line.split()) for line in (out / "SHA256SUMS").read_text("utf-8").splitlines()
    )
    assert sorted(sums) == ["engrams-9.8.7-py3-none-any.whl", "engrams-9.8.7.tar.gz"]
    assert {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in sums} == sums
    assert "- A change." in (out / "NOTES.md").read_text("utf-8")
    with tarfile.open(out / "engrams-9.8.7.tar.gz") as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {
        "Makefile",
        "scripts/release.py",
        "requirements/test.txt",
        "tests/test_release.py",
        "docs/index.md",
    } <= names
