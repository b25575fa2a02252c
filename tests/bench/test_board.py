"""The board: what its trials tell apart, and that each peer has a row on the page."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import bench.peers.stores
import pytest
from bench.board.__main__ import PEERS, main
from bench.board.page import COLUMNS, render_page
from bench.board.trials import SECRET, try_forgetting, try_tampering, try_worlds
from bench.inject.worlds import OWN_WORLDS, read_worlds
from bench.peers.remote import RemotePeer

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(sys.executable)


@contextmanager
def open_peer(name: str) -> Iterator[RemotePeer]:
    with RemotePeer(HERE, name, None, 120) as peer:
        yield peer


def test_erased_words_are_looked_for_in_the_files(tmp_path: Path) -> None:
    """A copy of the words beside the database is found: a deletion alone is no proof."""
    assert try_forgetting(partial(open_peer, "fts5"), tmp_path / "a") == {"forgotten": "gone"}
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "old.log").write_text(f"The boat is called {SECRET}.", "utf-8")
    row = try_forgetting(partial(open_peer, "fts5"), tmp_path / "b")
    assert row == {"forgotten": "1 left on disk"}


@pytest.mark.parametrize(("name", "outcome"), [("engrams", "noticed"), ("fts5", "no check")])
def test_a_changed_file_is_noticed_or_not(tmp_path: Path, name: str, outcome: str) -> None:
    """A store without a check of its own never counts as one that noticed."""
    assert try_tampering(partial(open_peer, name), tmp_path) == {"tampering": outcome}


def test_a_search_that_shows_everything_is_never_silent() -> None:
    """A full-text index has fair recall, no silence, and shows what is out of date."""
    worlds = [world for world in read_worlds([OWN_WORLDS], "held") if world.name == "okafor"]
    row = try_worlds(partial(open_peer, "fts5"), worlds)
    figures = {name: value for name, value in row.items() if isinstance(value, float)}
    assert figures["recall"] > 40
    assert figures["precision"] < 50
    assert figures["silence"] < 50
    assert figures["stale"] > 50


def test_every_peer_has_a_row_and_a_purpose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot be installed has a row that says why, and the run goes on."""
    monkeypatch.setattr("bench.board.__main__.read_worlds", lambda *_: [])
    monkeypatch.setitem(
        PEERS, "nobody", {"title": "Nobody", "embeds": False, "purpose": "Nothing."}
    )
    main(["--only", "nobody", "--out", str(tmp_path)])
    board = json.loads((tmp_path / "board.json").read_text("utf-8"))
    assert "ModuleNotFoundError" in board["peers"]["nobody"]["failure"]
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "ModuleNotFoundError" in page
    assert "python -m bench.board --only nobody" in page


def test_the_page_escapes_what_peers_say() -> None:
    """What a foreign library says is text, and each column is on the page."""
    peer = {"title": "<b>", "purpose": "p", "about": "<script>", "recall": 1.5}
    page = render_page({"machine": {}, "worlds": ["w"], "peers": {"x": peer}})
    assert "<script>" not in page
    assert all(title in page for title, _ in COLUMNS.values())


def test_ten_memories_are_measured() -> None:
    """Each peer has an adapter or the reason why it has none, and at least ten have one."""
    stores = Path(bench.peers.stores.__file__).parent
    measured = {name for name, peer in PEERS.items() if "left_out" not in peer}
    assert len(measured) >= 10
    assert {name for name in measured if not (stores / f"{name}.py").exists()} == set()
