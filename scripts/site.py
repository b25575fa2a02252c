"""Build the documentation as a site: ``python scripts/site.py [FOLDER]``, by default into
``build/site``.

Each version is a folder named by its first two numbers; those that are there stay, and a menu
chooses among them. A broken link, an anchor that no heading has, and a page that its shelf does not
name stop the build.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHELVES = ("start", "guides", "concepts", "reference", "contributing", "decisions")
UNRUN_FENCE = re.compile(r"^(\s*```+\w+) no-run$", re.MULTILINE)
LINK = re.compile(r"\]\((?![a-z]+:|\.\.)([^)#\s]+\.md)")


def on_config(config: Any) -> Any:
    """Order the pages of each shelf as its first page names them (mkdocs calls this)."""
    config.nav = ["index.md"]
    for shelf in SHELVES:
        named = LINK.findall((Path(config.docs_dir) / shelf / "index.md").read_text("utf-8"))
        pages = [f"{shelf}/{name}" for name in dict.fromkeys(["index.md", *named])]
        config.nav.append(
            {shelf.capitalize(): [*pages, *(["reference/http.md"] if shelf == "reference" else [])]}
        )
    config.nav.append({"Changelog": ["changelog.md"]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the files that stand elsewhere: the changelog, the HTTP API, and the stand-in for workers
    (mkdocs calls this)."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(ROOT / "scripts"))
    from http_page import http_page

    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8").replace("](docs/", "](")
    worker = (ROOT / "scripts" / "templates" / "iframe_worker.js").read_text("utf-8")
    pages = (
        ("changelog.md", changelog),
        ("reference/http.md", http_page()),
        ("assets/iframe-worker.js", worker),
    )
    for name, text in pages:
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Take the mark of a block that no test runs off its fence (mkdocs calls this).

    Superfences reads a fence with a second word as text, and the end of its block as a beginning.
    """
    return UNRUN_FENCE.sub(r"\1", markdown)


def build_site(folder: Path) -> Path:
    """Build this version's folder, and what leads to it;
    return its place. SystemExit: mkdocs found something wrong.
    """
    from mkdocs.__main__ import cli

    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    name = ".".join(version.split(".")[:2])
    shutil.rmtree(folder / name, ignore_errors=True)
    cli.main(
        ["build", "--strict", "-f", str(ROOT / "mkdocs.yml"), "-d", str((folder / name).resolve())],
        standalone_mode=False,
    )
    list_versions(folder, {name: version})
    return folder / name


def list_versions(folder: Path, built: dict[str, str]) -> None:
    """Write what the menu reads, newest first, and a first page that leads to the newest."""
    listed = folder / "versions.json"
    known = (
        {each["version"]: each["title"] for each in json.loads(listed.read_text("utf-8"))}
        if listed.exists()
        else {}
    )
    titles = {name: title for name, title in {**known, **built}.items() if (folder / name).is_dir()}
    newest = sorted(titles, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    listed.write_text(
        json.dumps([{"version": name, "title": titles[name], "aliases": []} for name in newest]),
        "utf-8",
    )
    (folder / "index.html").write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={newest[0]}/index.html">\n',
        "utf-8",
    )


if __name__ == "__main__":
    print(build_site(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "site"))
