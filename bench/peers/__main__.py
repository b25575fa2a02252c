"""``python -m bench.peers DATA.json...

[--minilm FOLDER] [--only chroma,langgraph,mem0,fts5] [--json FILE]``
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from bench.peers.envs import PeerError, prepare_python
from bench.peers.remote import RemotePeer
from bench.peers.report import PeerResult, format_table, summarize
from bench.quality.data import Dataset, Item, load_dataset
from bench.quality.metrics import KS, ResultRow, score_ranking
from bench.speed.machine import collect_facts

PEERS = {
    "chroma": "Chroma",
    "langgraph": "LangGraph store",
    "mem0": "mem0, no LLM",
    "fts5": "SQLite FTS5",
}
WORDS_ONLY = frozenset({"fts5"})


class System(Protocol):
    """Measured system; takes its own time, without that of a pipe."""

    def open(self) -> str: ...

    def fill(self, items: Sequence[Item]) -> float: ...

    def search(self, text: str, limit: int) -> tuple[list[str], float]: ...


Opener = Callable[[], AbstractContextManager[System]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("data", type=Path, nargs="+", help="data sets")
    parser.add_argument(
        "--minilm",
        type=Path,
        help="folder of an ONNX sentence model for all that embed, e.g. all-MiniLM-L6-v2",
    )
    parser.add_argument(
        "--only", default=",".join(PEERS), help="which peers, of: " + ", ".join(PEERS)
    )
    parser.add_argument(
        "--seconds", type=float, default=300, help="how long a peer may take for a data set"
    )
    parser.add_argument(
        "--json", type=Path, default=Path("bench/out/peers.json"), help="where the figures go"
    )
    given = parser.parse_args(arguments)
    names = [name for name in given.only.split(",") if name]
    if unknown := set(names) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    if given.minilm and not (given.minilm / "tokenizer.json").is_file():
        parser.error(f"{given.minilm} holds no tokenizer.json")
    openers = _make_openers(names, given.minilm, given.seconds)
    report: dict[str, object] = {
        "machine": collect_facts(),
        "minilm": given.minilm.name if given.minilm else None,
    }
    report["sets"] = [_compare(load_dataset(path), openers) for path in given.data]
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(f"\nwritten to {given.json}")


def _make_openers(names: Sequence[str], minilm: Path | None, seconds: float) -> dict[str, Opener]:
    """Openers in the order of the table; gaps count from the first."""
    ours: dict[str, Opener] = {"engrams, MiniLM": partial(_open_engrams, minilm)} if minilm else {}
    ours["engrams, builtin"] = partial(_open_engrams, None)
    return ours | {PEERS[name]: partial(_open_peer, name, minilm, seconds) for name in names}


@contextmanager
def _open_peer(name: str, minilm: Path | None, seconds: float) -> Iterator[System]:
    if minilm is None and name not in WORDS_ONLY:
        raise PeerError("needs an embedding model: give --minilm FOLDER")
    with RemotePeer(
        prepare_python(name), name, None if name in WORDS_ONLY else minilm, seconds
    ) as remote:
        yield _PeerSystem(remote)


@contextmanager
def _open_engrams(minilm: Path | None) -> Iterator[System]:
    ours = _EngramsSystem(minilm)
    try:
        yield ours
    finally:
        ours.close()


class _PeerSystem:
    """Peer that is given the text of the baselines: "speaker: text caption"."""

    def __init__(self, remote: RemotePeer) -> None:
        self.open = remote.open
        self.search = remote.search
        self._fill = remote.fill

    def fill(self, items: Sequence[Item]) -> float:
        return self._fill([(item.id, item.index_text) for item in items])


class _EngramsSystem:
    """engrams by its public API, timed like peers; the model is loaded before."""

    def __init__(self, minilm: Path | None) -> None:
        from bench.quality.systems import EngramsSystem
        from engrams.models.embed.factory import choose_embedder
        from engrams.settings import EmbedSettings

        self._embedder = choose_embedder(
            EmbedSettings(provider="onnx", model=str(minilm))
            if minilm
            else EmbedSettings(provider="builtin")
        )
        self._make = EngramsSystem
        self._system: EngramsSystem | None = None

    def open(self) -> str:
        self.close()
        about = f"engrams as it comes, on disk, embedder {self._embedder.card.id}"
        self._system = self._make(self._embedder)
        return about

    def fill(self, items: Sequence[Item]) -> float:
        assert self._system
        start = time.perf_counter()
        self._system.fill(items)
        return time.perf_counter() - start

    def search(self, text: str, limit: int) -> tuple[list[str], float]:
        assert self._system
        start = time.perf_counter()
        found = self._system.search(text, limit)
        return found, time.perf_counter() - start

    def close(self) -> None:
        if self._system:
            self._system.close()
            self._system = None


def _compare(data: Dataset, openers: dict[str, Opener]) -> dict[str, object]:
    results = [_measure(name, data, opener) for name, opener in openers.items()]
    items = sum(len(talk.items) for talk in data.talks)
    questions = sum(len(talk.questions) for talk in data.talks)
    print(f"\n{data.name}: {len(data.talks)} conversations, {items} items, {questions} questions\n")
    print(format_table(results), flush=True)
    return {
        "name": data.name,
        "items": items,
        "systems": {result.name: summarize(result, results[0]) for result in results},
    }


def _measure(name: str, data: Dataset, opener: Opener) -> PeerResult:
    rows: list[ResultRow] = []
    spent = 0.0
    about = ""
    try:
        with opener() as system:
            for number, talk in enumerate(data.talks, 1):
                print(f"\r{name}: {number}/{len(data.talks)} ", end="", file=sys.stderr, flush=True)
                about = system.open()
                spent += system.fill(talk.items)
                for question in talk.questions:
                    found, seconds = system.search(question.text, max(KS))
                    rows.append(
                        ResultRow(
                            talk.id,
                            question.id,
                            question.category,
                            seconds,
                            score_ranking(found, question.evidence),
                        )
                    )
    except PeerError as problem:
        return PeerResult(name, failure=str(problem))
    finally:
        print(file=sys.stderr)
    return PeerResult(
        name, about, rows, spent / max(1, sum(len(talk.items) for talk in data.talks))
    )


if __name__ == "__main__":
    main()
