"""Prepare and build a release. Nothing is uploaded.

    python scripts/release.py prepare 0.2.0    write the version where it stands, and date the
    changelog's section
    python scripts/release.py build [FOLDER]   build, check and sign what is committed; by default
    into dist

`build` takes the files of the last commit, builds sdist and wheel twice and compares the bytes,
checks them with twine, installs the wheel in an empty environment with the pinned lists and asks it
a question. Beside the packages it leaves SHA256SUMS, NOTES.md (the changelog's section) and
signatures: by gpg where git names a signing key (`user.signingkey`), by sigstore where
SIGSTORE_ID_TOKEN is set.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES: Mapping[str, str] = {
    "pyproject.toml": r'(?m)^version = "(.+)"$',
    "src/engrams/__init__.py": r'(?m)^__version__ = "(.+)"$',
    "clients/js/package.json": r'"version": "(.+)"',
    "integrations/claude-code/.claude-plugin/plugin.json": r'"version": "(.+)"',
    "integrations/openwebui/engrams.py": r"(?m)^version: (.+)$",
}
"""Files that name the version, each with where."""


def find_versions(root: Path) -> dict[str, str]:
    """The version that each of these files names."""
    return {
        name: re.findall(pattern, (root / name).read_text("utf-8"))[0]
        for name, pattern in PLACES.items()
    }


def find_notes(changelog: str, version: str) -> str:
    """The text of a version's section.

    ValueError: it has none, it is empty, or something is still unreleased.
    """
    sections = {
        title.split("]")[0]: text.strip()
        for title, text in re.findall(r"(?ms)^## \[(.+?)$\n(.*?)(?=^## \[|\Z)", changelog)
    }
    if sections.get("Unreleased"):
        raise ValueError(
            "CHANGELOG.md has unreleased changes: run `python scripts/release.py prepare VERSION`"
            " and commit."
        )
    if not sections.get(version):
        raise ValueError(f"CHANGELOG.md says nothing about {version}.")
    return sections[version] + "\n"


def prepare(root: Path, version: str) -> None:
    """Write a version into every place, and turn the unreleased changes into its section."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise ValueError(f"{version!r} is no version such as 0.2.0 or 0.2.0rc1.")
    for name, pattern in PLACES.items():
        text = (root / name).read_text("utf-8")
        start, end = re.search(pattern, text).span(1)  # type: ignore[union-attr]
        (root / name).write_text(text[:start] + version + text[end:], "utf-8")
    changelog = root / "CHANGELOG.md"
    dated = f"## [Unreleased]\n\n## [{version}] - {time.strftime('%Y-%m-%d', time.gmtime())}\n"
    changelog.write_text(
        changelog.read_text("utf-8").replace("## [Unreleased]\n", dated, 1), "utf-8"
    )


def check_state(root: Path) -> tuple[str, str]:
    """Return version and notes.

    ValueError: the files disagree, something is not committed, or the version is tagged elsewhere.
    """
    versions = find_versions(root)
    if len(set(versions.values())) > 1:
        raise ValueError(f"The files name several versions: {versions}.")
    version = versions["pyproject.toml"]
    notes = find_notes((root / "CHANGELOG.md").read_text("utf-8"), version)
    if changed := git(root, "status", "--porcelain"):
        raise ValueError(f"Not committed:\n{changed}")
    tag = f"v{version}"
    if git(root, "tag", "--list", tag) and git(root, "rev-parse", f"{tag}^{{commit}}") != git(
        root, "rev-parse", "HEAD"
    ):
        raise ValueError(f"{tag} is another commit.")
    return version, notes


def build_packages(root: Path, out: Path) -> list[Path]:
    """Build sdist and wheel of the last commit twice. ValueError: the bytes differ."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": git(root, "log", "-1", "--format=%ct")}
    env.setdefault("ENGRAMS_REPOSITORY", git(root, "config", "--default", "", "remote.origin.url"))
    for folder in (out, out / "again"):
        with tempfile.TemporaryDirectory(prefix="engrams-release-") as temporary:
            archive = Path(temporary, "source.tar")
            run(["git", "-C", str(root), "archive", "-o", str(archive), "HEAD"])
            with tarfile.open(archive) as packed:
                packed.extractall(Path(temporary, "source"), filter="data")
            run(
                [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
                cwd=Path(temporary, "source"),
                env=env,
            )
    packages = sorted(path for path in out.iterdir() if path.is_file())
    if different := [
        path.name
        for path in packages
        if path.read_bytes() != (out / "again" / path.name).read_bytes()
    ]:
        raise ValueError(f"Two builds differ: {', '.join(different)}")
    shutil.rmtree(out / "again")
    return packages


def check_packages(root: Path, packages: list[Path], version: str) -> None:
    """Check metadata with twine, and ask the installed wheel a question.

    CalledProcessError: a check fails.
    """
    run([sys.executable, "-m", "twine", "check", "--strict", *map(str, packages)])
    (wheel,) = (path for path in packages if path.suffix == ".whl")
    with tempfile.TemporaryDirectory(prefix="engrams-release-") as temporary:
        place = Path(temporary)
        run([sys.executable, "-m", "venv", str(place / "venv")])
        programs = place / "venv" / "bin"
        pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check"]
        run(
            [
                *pip,
                "install",
                "--quiet",
                "--require-hashes",
                "-r",
                str(root / "requirements" / "run.txt"),
            ]
        )
        run([*pip, "install", "--quiet", "--no-deps", str(wheel)])
        run([*pip, "check"])
        env = {**os.environ, "ENGRAMS_HOME": str(place / "home"), "HOME": temporary}
        engrams = str(programs / "engrams")
        said = [
            run([engrams, *given], env=env, cwd=place)
            for given in (["--version"], ["add", "The spare key is under the flowerpot."])
        ]
        answer = run([engrams, "search", "Where is the spare key?"], env=env, cwd=place)
        if version not in said[0] or "flowerpot" not in answer:
            raise ValueError(f"The installed wheel answers wrongly:\n{said[0]}{answer}")


def write_sums(packages: list[Path]) -> Path:
    """Write the checksums, as `sha256sum --check` reads them."""
    place = packages[0].parent / "SHA256SUMS"
    place.write_text(
        "".join(
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in packages
        ),
        "utf-8",
    )
    return place


def sign(root: Path, files: list[Path]) -> list[str]:
    """Sign files with the keys that are there; say which, or that there is none."""
    done = []
    key = git(root, "config", "--default", "", "user.signingkey")
    if key and shutil.which("gpg"):
        for path in files:
            run(
                [
                    "gpg",
                    "--batch",
                    "--yes",
                    "--local-user",
                    key,
                    "--armor",
                    "--detach-sign",
                    str(path),
                ]
            )
        done.append(f"signed by gpg with {key}: *.asc")
    if os.environ.get("SIGSTORE_ID_TOKEN"):
        run([sys.executable, "-m", "sigstore", "sign", "--overwrite", *map(str, files)])
        done.append("signed by sigstore: *.sigstore.json")
    return done or ["NOT SIGNED: git names no `user.signingkey`, and SIGSTORE_ID_TOKEN is not set"]


def build(root: Path, out: Path) -> None:
    """Build, check and sign; say what to do next."""
    version, notes = check_state(root)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    packages = build_packages(root, out)
    check_packages(root, packages, version)
    (out / "NOTES.md").write_text(notes, "utf-8")
    signed = sign(root, [*packages, write_sums(packages)])
    for path in packages:
        print(f"{path.stat().st_size / 1e6:6.1f} MB  {path}")
    print(*signed, sep="\n")
    print(
        f"\nNothing was uploaded. Next:\n  git tag -s v{version} -m v{version}\n  twine upload"
        f" {out}/engrams-{version}*"
    )


def git(root: Path, *arguments: str) -> str:
    """The output of a git command."""
    return run(["git", "-C", str(root), *arguments]).strip()


def run(command: list[str], **options: object) -> str:
    """The output of a command. CalledProcessError: it failed; what it said is on standard error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        done.check_returncode()
    return str(done.stdout)


def main(arguments: list[str]) -> int:
    """Do as the command line says."""
    try:
        match arguments:
            case ["prepare", version]:
                prepare(ROOT, version)
            case ["build", *rest] if len(rest) < 2:
                build(ROOT, Path(*rest or ["dist"]).resolve())
            case _:
                print(__doc__)
                return 2
    except (ValueError, subprocess.CalledProcessError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
