"""Pages of the web: fetched from public addresses alone, kept with their address, read again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bench.documents import making

from engrams.core.document_location import read_location
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError, InputError, RefusedError
from engrams.testing import temp_engine

ANN = ("user", "ann")


@dataclass
class Site:
    """A site on this machine."""

    url: str = ""
    pages: dict[str, tuple[int, bytes, str]] = field(default_factory=dict)
    """Status, body and where it leads on, by path."""


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, location = site.pages.get(self.path, (404, b"", ""))
            self.send_response(status)
            if location:
                self.send_header("location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    yield site
    server.shutdown()
    server.server_close()


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(serve__allow_private_webhooks=True) as engine:
        yield engine


def test_a_page_is_kept_with_its_address_and_read_again(
    engine: MemoryEngine, site: Site, tmp_path: Path
) -> None:
    """A page is found by its address; refresh takes what changed, and says what is gone."""
    site.pages["/bees"] = (200, making.make_html([(1, "Bees"), "The hive is of cork."], "Bees"), "")
    site.pages["/old"] = (301, b"", "/bees")
    path = tmp_path / "a.txt"
    path.write_text("The boat is white.")
    engine.add_document(path, scope=ANN)
    assert engine.add_document(f"{site.url}/old", scope=ANN).stored == 1
    (hit,) = engine.search("what is the hive made of?", scope=ANN).hits[:1]
    location = read_location(hit.record)
    assert location is not None
    assert location.label == f"{site.url}/old, Bees"
    outcomes = {item.name: item.outcome for item in engine.documents.refresh(ANN)}
    assert outcomes == {f"{site.url}/old": "unchanged", "a.txt": "unchanged"}
    site.pages["/bees"] = (200, making.make_html([(1, "Bees"), "The hive is of straw."]), "")
    path.unlink()
    outcomes = {item.name: item.outcome for item in engine.documents.refresh(ANN)}
    assert outcomes == {f"{site.url}/old": "changed", "a.txt": "missing"}
    (passage,) = engine.documents.read(f"{site.url}/old", ANN)
    assert passage.text == "The hive is of straw."
    site.pages.clear()
    (failed,) = [item for item in engine.documents.refresh(ANN) if item.outcome == "failed"]
    assert "404" in failed.problem


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1/x",
        "http://localhost/x",
        "http://[::1]/x",
        "http://10.0.0.1/x",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]/x",
    ],
)
def test_an_inner_address_is_refused(address: str) -> None:
    """No page comes from this machine or its network."""
    with temp_engine() as engine, pytest.raises(RefusedError, match="private network"):
        engine.add_document(address, scope=ANN)


@pytest.mark.parametrize("address", ["http://user:word@example.org/", "https://"])
def test_what_is_no_address_is_refused(engine: MemoryEngine, address: str) -> None:
    """An address with a password, or without a host, is refused."""
    with pytest.raises(InputError, match="no address"):
        engine.add_document(address, scope=ANN)


def test_a_redirection_is_checked_too(engine: MemoryEngine, site: Site) -> None:
    """A page may lead on five times, to other pages alone."""
    site.pages["/round"] = (302, b"", "/round")
    site.pages["/file"] = (302, b"", "file:///etc/passwd")
    with pytest.raises(InputError, match="leads on"):
        engine.add_document(f"{site.url}/round", scope=ANN)
    with pytest.raises(InputError, match="no address"):
        engine.add_document(f"{site.url}/file", scope=ANN)
    with pytest.raises(EngramsError, match="status 404"):
        engine.add_document(f"{site.url}/none", scope=ANN)
