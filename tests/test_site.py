"""The documentation as a site."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from scripts import site

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NEEDS_MKDOCS = pytest.mark.skipif(
    not find_spec("mkdocs"), reason="needs mkdocs: make test and make site install it"
)


def build(folder: Path, *, broken: str = "") -> subprocess.CompletedProcess[str]:
    """Build the site from a copy of what it needs, with a line more on its first page."""
    for name in ("docs", "scripts", "CHANGELOG.md", "pyproject.toml", "mkdocs.yml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    with (folder / "docs" / "index.md").open("a", encoding="utf-8") as first:
        first.write(broken)
    command = [sys.executable, str(folder / "scripts" / "site.py")]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture(scope="module")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site once, and return the folder of its version."""
    place = tmp_path_factory.mktemp("site")
    done = build(place)
    assert done.returncode == 0, done.stdout + done.stderr
    (version,) = json.loads((place / "build" / "site" / "versions.json").read_text("utf-8"))
    return place / "build" / "site" / version["version"]


@NEEDS_MKDOCS
@pytest.mark.slow
def test_the_site_holds_every_page(built_site: Path) -> None:
    """Every page is in it, with the changelog, the HTTP API and a search, and nothing is loaded
    from elsewhere.
    """
    folder = built_site
    assert [page for page in [*PAGES, "changelog.html"] if not (folder / page).is_file()] == []
    assert "POST /v1/search" in (folder / "reference" / "http.html").read_text("utf-8")
    found = {
        entry["location"].partition("#")[0]
        for entry in json.loads((folder / "search" / "search_index.json").read_text("utf-8"))[
            "docs"
        ]
    }
    assert {"guides/install.html", "reference/python.html", "reference/http.html"} <= found
    loaded = [
        source
        for page in folder.rglob("*.html")
        for source in re.findall(
            r'(?:src|<link[^>]*href)="(https?://[^"]+)"', page.read_text("utf-8")
        )
    ]
    assert loaded == []


@NEEDS_MKDOCS
@pytest.mark.slow
def test_every_code_block_is_a_code_block(built_site: Path) -> None:
    """Each fenced block of a page is shown as code, and no fence is left in its text."""
    for page in PAGES:
        source = (ROOT / "docs" / page).with_suffix(".md").read_text("utf-8")
        shown = (built_site / page).read_text("utf-8")
        fences = [line for line in source.splitlines() if line.lstrip().startswith("```")]
        assert shown.count("<pre") == len(fences) / 2, page
        assert "```" not in re.sub(r"<pre.*?</pre>", "", shown, flags=re.DOTALL), page


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: scripts/chromium.sh installs it")
@NEEDS_MKDOCS
@pytest.mark.slow
def test_the_site_can_be_searched_from_a_folder(built_site: Path) -> None:
    """A reader who opens a page as a file finds other pages by words."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        page = browser.new_page()
        page.goto((built_site / "index.html").as_uri())
        page.locator("input.md-search__input").first.click()
        page.keyboard.type("purge", delay=20)
        first = page.locator(".md-search-result__link").first
        first.wait_for(timeout=10_000)
        assert first.get_attribute("href")
        browser.close()


@pytest.mark.slow
@NEEDS_MKDOCS
@pytest.mark.parametrize(
    "broken", ["[gone](guides/gone.md)", "[gone](guides/install.md#no-such-heading)"]
)
def test_a_broken_link_stops_the_build(broken: str, tmp_path: Path) -> None:
    """A link to a page or a heading that does not exist is an error."""
    assert build(tmp_path, broken=f"\n{broken}\n").returncode != 0
    assert not (tmp_path / "build" / "site" / "versions.json").exists()


def test_versions_stay_beside_each_other(tmp_path: Path) -> None:
    """A new version is listed first and opened first;
    the older ones stay; one whose folder is gone is not listed.
    """
    for name in ("0.9", "0.10"):
        (tmp_path / name).mkdir()
    site.list_versions(tmp_path, {"0.9": "0.9.3", "0.8": "0.8.0"})
    site.list_versions(tmp_path, {"0.10": "0.10.0"})
    listed = json.loads((tmp_path / "versions.json").read_text("utf-8"))
    assert [(each["version"], each["title"]) for each in listed] == [
        ("0.10", "0.10.0"),
        ("0.9", "0.9.3"),
    ]
    assert "url=0.10/index.html" in (tmp_path / "index.html").read_text("utf-8")


def test_every_shelf_names_its_pages() -> None:
    """The first page of each shelf links to every page beside it, which puts them in the menu."""
    for shelf in site.SHELVES:
        folder = ROOT / "docs" / shelf
        named = set(site.LINK.findall((folder / "index.md").read_text("utf-8")))
        assert {path.name for path in folder.glob("*.md")} - named == {"index.md"}, shelf
