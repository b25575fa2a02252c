"""How the page's files are served."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.ui.conftest import Served

from engrams.core import PRODUCT, Layer
from engrams.program.main import main
from engrams.surfaces.ui.mount import ROOT, PageFileCollection, WebPageMount

MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|import\(`"
)
ADDRESS = re.compile(r"https?://\w[^\s\"'`)<]+")
OTHERS = ("../part.py", "%2e%2e/part.py", "js/none.js", "", "/etc/passwd", "js/app.js%00")


def test_the_page_has_a_strict_policy(offline: Served) -> None:
    """Everything of the page comes with a policy that allows its own files and nothing inline, and
    is never guessed at.
    """
    for path in ("/", *re.findall(r'(?:href|src)="(/ui/[^"]+)"', httpx2.get(offline.url).text)):
        answer = httpx2.get(offline.url + path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy
            and "script-src 'self';" in policy
            and "style-src 'self';" in policy
        )
        assert "unsafe" not in policy and "http" not in policy
        assert "require-trusted-types-for 'script'" in policy and "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_nothing_of_the_page_is_inline_or_from_elsewhere() -> None:
    """No file holds an inline script, style or handler, an address elsewhere, or a call that makes
    markup of text.
    """
    pages = [path for path in ROOT.rglob("*") if path.suffix in (".html", ".js", ".css")]
    assert len(pages) > 20
    for path in pages:
        text = path.read_text("utf-8")
        assert not MARKUP.search(text), path
        addresses = {
            found
            for found in ADDRESS.findall(text)
            if found not in ("http://www.w3.org/2000/svg", "http://localhost:11434/v1")
        }
        assert addresses == set(), path
        if path.suffix == ".html":
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)


def test_files_are_kept_by_what_they_hold(offline: Served) -> None:
    """A file's address names its version and may be kept for good;
    the page itself is asked for each time and answers 304.
    """
    first = httpx2.get(offline.url)
    assert first.headers["cache-control"] == "no-cache"
    again = httpx2.get(offline.url, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    script = re.search(r'src="(/ui/\w+/js/app\.js)"', first.text)
    assert script
    kept = httpx2.get(offline.url + script[1])
    assert "immutable" in kept.headers["cache-control"]
    assert kept.headers["content-encoding"] == "gzip"
    assert (
        httpx2.get(offline.url + script[1], headers={"accept-encoding": "identity"}).text
        == kept.text
    )
    older = httpx2.get(offline.url + re.sub(r"/ui/\w+/", "/ui/000000/", script[1]))
    assert (older.status_code, older.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.parametrize(
    "path",
    [
        "/ui/x/../part.py",
        "/ui/x/%2e%2e/part.py",
        "/ui/x/js/none.js",
        "/ui/x/",
        "/ui/x//etc/passwd",
        "/ui/x/js/app.js%00",
    ],
)
def test_only_the_pages_files_are_served(offline: Served, path: str) -> None:
    """No path leads to a file that is not the page's."""
    answer = httpx2.get(f"{offline.url}/ui/x/{path}")
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_the_page_is_small() -> None:
    """With one language it is under 305 kB, 107 kB on the wire, and no script is longer than 400
    lines.
    """
    assets = PageFileCollection()
    paths = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    loaded = [path for path in paths if not path.startswith("lang/") or path == "lang/ja.json"]
    found = [asset for path in loaded if (asset := assets.get(path))]
    assert len(found) == len(loaded)
    assert sum(len(asset.body) for asset in found) < 305_000
    assert sum(len(asset.packed or asset.body) for asset in found) < 107_000
    assert [
        path
        for path in paths
        if path.endswith(".js") and len((ROOT / path).read_text("utf-8").splitlines()) > 400
    ] == []


def test_starting_reads_no_file() -> None:
    """The page's files are read at the first request, not when the server starts."""
    page = WebPageMount()
    assert "_bodies" not in vars(page._files)
    assert page._files.get("index.html") is not None
    assert "_bodies" in vars(page._files)


@pytest.mark.covers("S4.63")
def test_product_names_are_one_mapping(
    offline: Served, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page, the API and the command line show the names facts, sessions and rules, all of them
    from one table.
    """
    assert PRODUCT == {
        Layer.SEMANTIC: "facts",
        Layer.EPISODIC: "sessions",
        Layer.PROCEDURAL: "rules",
    }
    page = httpx2.get(offline.url).text
    words = re.sub(r"app\.js$", "words.js", re.findall(r'src="(/ui/[^"]+app\.js)"', page)[0])
    assert (
        'LAYERS = {"semantic": "facts", "episodic": "sessions", "procedural": "rules"}'
        in httpx2.get(offline.url + words).text
    )
    headers = {"x-engrams-user": "names"}
    httpx2.post(
        offline.url + "/v1/memories",
        json={"text": "My sister Ines plays the cello.", "kind": "fact"},
        headers=headers,
    )
    numbers = httpx2.get(offline.url + "/v1/stats", headers=headers).json()
    assert numbers["product"] == {
        PRODUCT[Layer(layer)]: number for layer, number in numbers["layer"].items()
    }
    assert main(["add", "--home", str(home), "My sister Ines plays the cello."]) == 0
    capsys.readouterr()
    assert main(["stats", "--home", str(home)]) == 0
    shown = capsys.readouterr().out
    assert "facts " in shown
    assert "semantic" not in shown
