"""``python -m bench.board [--only NAME,...] [--out FOLDER]``: one page and one JSON of all peers.

Each peer runs in an environment of its own, without a network and without a language model. A vector
store gets the vectors of engrams' own table, the same ones that engrams uses.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.board.page import render_page
from bench.board.trials import (
    EDITED,
    ERASED,
    FILLER,
    Opener,
    Row,
    try_forgetting,
    try_tampering,
    try_worlds,
)
from bench.inject.worlds import OWN_WORLDS, World, read_worlds
from bench.peers.encoder import GivenVectors
from bench.peers.envs import PeerError, prepare_python
from bench.peers.remote import RemotePeer
from bench.quality.systems import make_embedder
from bench.speed.machine import collect_facts

PEERS = tomllib.loads(Path(__file__).with_name("peers.toml").read_text("utf-8"))
"""Peers by the name of their store in ``bench.peers.stores``."""
_SECONDS = 300
"""Time that a peer has for one trial."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.board", description=__doc__)
    parser.add_argument("--only", default=",".join(PEERS), help="names of " + ", ".join(PEERS))
    parser.add_argument("--out", type=Path, default=Path("bench/out/board"), help="folder")
    options = parser.parse_args(arguments)
    names = options.only.split(",")
    if unknown := set(names) - set(PEERS):
        parser.error(
            f"There is no peer {', '.join(sorted(unknown))}. There are: {', '.join(PEERS)}."
        )
    worlds = read_worlds([OWN_WORLDS], "held")
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="board-") as folder:
        vectors = Path(folder) / "vectors"
        _write_vectors(vectors, worlds)
        rows = {name: _measure(name, vectors, worlds) for name in names}
    board = {
        "machine": collect_facts(),
        "worlds": [world.name for world in worlds],
        "peers": {name: {**PEERS[name], **row} for name, row in rows.items()},
    }
    (options.out / "board.json").write_text(json.dumps(board, indent=1) + "\n", "utf-8")
    (options.out / "index.html").write_text(render_page(board), "utf-8")
    print(f"Written to {options.out}/index.html and board.json.")


def _write_vectors(folder: Path, worlds: Sequence[World]) -> None:
    """Embed every text of the trials by engrams' table, for the peers that want vectors."""
    texts = {EDITED[1], ERASED[1], "cake for the birthday", *(text for _, text in FILLER)}
    for world in worlds:
        texts.update(turn.text for turn in world.turns)
        texts.update(prompt.text for prompt in world.prompts)
    ordered = sorted(texts)
    GivenVectors.write(folder, ordered, make_embedder("builtin").embed(ordered))


def _measure(name: str, vectors: Path, worlds: Sequence[World]) -> Row:
    """Run all trials with one peer; a trial that fails says why in its row."""
    print(f"{name} …", file=sys.stderr, flush=True)
    if "left_out" in PEERS[name]:
        return {"failure": PEERS[name]["left_out"]}
    row: Row = {}
    try:
        open_peer = partial(_open_peer, prepare_python(name), name, vectors)
        with open_peer() as peer:
            row["about"] = peer.open()
    except PeerError as problem:
        return {"failure": str(problem)}
    with tempfile.TemporaryDirectory(prefix="board-peer-") as folder:
        trials: dict[str, Callable[[Opener], Row]] = {
            "recall": partial(try_worlds, worlds=worlds),
            "forgotten": partial(try_forgetting, folder=Path(folder) / "forgetting"),
            "tampering": partial(try_tampering, folder=Path(folder) / "tampering"),
        }
        for column, run_trial in trials.items():
            try:
                row |= run_trial(open_peer)
            except PeerError as problem:
                row[column] = f"failed: {problem}"
    return row


@contextmanager
def _open_peer(python: Path, name: str, vectors: Path) -> Iterator[RemotePeer]:
    with RemotePeer(python, name, vectors if PEERS[name]["embeds"] else None, _SECONDS) as peer:
        yield peer


if __name__ == "__main__":
    main()
