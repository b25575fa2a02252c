"""Trials of the board: each asks one peer in its own process, and returns plain figures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bench.inject.worlds import World, WorldPrompt
from bench.peers.envs import PeerError
from bench.peers.remote import RemotePeer

SHOWN = 5
"""Hits of a search that go into a prompt, where a peer has no say of its own."""
_RECALLED = 10
_CHARACTERS_PER_TOKEN = 4

SECRET = "quillfeatherstone"
ERASED = ("erased", f"The name of the boat in the garage is {SECRET}.")
BEFORE, AFTER = b"marzipan", b"cinnamon"
"""Word that is changed behind the peer's back, and the one of equal length in its place."""
EDITED = ("edited", f"The cake for the birthday is one with {BEFORE.decode()}.")
FILLER = tuple(
    (f"filler-{number}", f"On day {number} of the walk the weather was {weather}.")
    for number, weather in enumerate(("mild", "wet", "windy", "dry", "foggy", "cold") * 3)
)

Row = dict[str, float | str | None]
"""Figures of one peer by the name of the column; text: why there is none."""
Opener = Callable[[], AbstractContextManager[RemotePeer]]


def try_worlds(open_peer: Opener, worlds: Sequence[World]) -> Row:
    """Tell each world's own messages in order, then send its prompts."""
    judged: list[dict[str, float]] = []
    stale: list[bool] = []
    silences: list[bool] = []
    costs: list[tuple[float, float]] = []
    searches: list[float] = []
    with open_peer() as peer:
        for world in worlds:
            items = [(turn.id, turn.text) for turn in world.turns if turn.role == "user"]
            texts = dict(items)
            peer.open()
            spent = peer.time_fill(items, "")
            costs.append((spent.processor, len(items)))
            for prompt in world.prompts:
                shown = peer.inject(prompt.text, SHOWN)
                if prompt.is_silent:
                    silences.append(not shown)
                elif _is_answerable(prompt, texts):
                    found = peer.time_search(prompt.text, _RECALLED, "")
                    searches.append(found.processor)
                    ids, _ = peer.search(prompt.text, _RECALLED)
                    judged.append(_judge(prompt, ids, shown, texts))
                    stale += _find_stale(prompt, shown, texts)
    return {
        "recall": _percent([row["recall"] for row in judged]),
        "precision": _percent([row["right"] for row in judged if row["shown"]]),
        "silence": _percent(silences),
        "stale": _percent(stale),
        "tokens": round(statistics.mean(row["tokens"] for row in judged)),
        "add_ms": round(1000 * sum(spent for spent, _ in costs) / sum(n for _, n in costs), 2),
        "search_ms": round(1000 * statistics.median(searches), 2),
    }


def _is_answerable(prompt: WorldPrompt, texts: dict[str, str]) -> bool:
    """Tell whether the person's own messages hold all that a prompt needs."""
    return bool(prompt.needed) and all(names & texts.keys() for names in prompt.needed)


def _judge(
    prompt: WorldPrompt,
    ids: Sequence[str],
    shown: Sequence[dict[str, list[str]]],
    texts: dict[str, str],
) -> dict[str, float]:
    """Score one prompt: share of what it needs in the first ten, and of right items among the shown."""
    right = sum(bool(prompt.right & set(item["ids"])) for item in shown)
    characters = sum(len(texts.get(name, "")) for item in shown for name in item["ids"][:1])
    return {
        "recall": sum(bool(names & set(ids)) for names in prompt.needed) / len(prompt.needed),
        "right": right / len(shown) if shown else 0.0,
        "shown": len(shown),
        "tokens": characters / _CHARACTERS_PER_TOKEN,
    }


def _find_stale(
    prompt: WorldPrompt, shown: Sequence[dict[str, list[str]]], texts: dict[str, str]
) -> list[bool]:
    """Tell, where a prompt has outdated messages, whether one of them was shown as if it held."""
    outdated = prompt.stale & texts.keys()
    if not outdated:
        return []
    return [any(set(item["ids"]) <= outdated and not item["is_marked"] for item in shown)]


def try_forgetting(open_peer: Opener, folder: Path) -> Row:
    """Delete one statement, close, and look for its rarest word in every file, byte by byte."""
    with open_peer() as peer:
        peer.reopen(folder)
        peer.time_fill([ERASED, *FILLER], "")
        peer.close_store()
        was_there = _count_bytes(folder, SECRET.encode())
        peer.reopen(folder)
        peer.forget(ERASED[0])
        peer.close_store()
    left = _count_bytes(folder, SECRET.encode())
    if not was_there:
        return {"forgotten": "not on disk as text"}
    return {"forgotten": "gone" if not left else f"{left} left on disk"}


def try_tampering(open_peer: Opener, folder: Path) -> Row:
    """Change one word in its files while it is closed, open it again, and ask for it."""
    with open_peer() as peer:
        peer.reopen(folder)
        peer.time_fill([EDITED, *FILLER], "")
        peer.close_store()
        peer.reopen(folder)
        if problems := peer.check():
            raise PeerError(f"its check finds changes that nobody made: {problems[0]}")
        peer.close_store()
    changed = 0
    for file in _list_files(folder):
        content = file.read_bytes()
        changed += content.count(BEFORE)
        file.write_bytes(content.replace(BEFORE, AFTER))
    if not changed:
        return {"tampering": "not on disk as text"}
    try:
        with open_peer() as peer:
            peer.reopen(folder)
            problems = peer.check()
            peer.search("cake for the birthday", SHOWN)
    except PeerError:
        return {"tampering": "refuses to open"}
    if problems:
        return {"tampering": "noticed"}
    return {"tampering": "not noticed" if problems is not None else "no check"}


def _list_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def _count_bytes(folder: Path, word: bytes) -> int:
    return sum(file.read_bytes().lower().count(word) for file in _list_files(folder))


def _percent(values: Sequence[float | bool]) -> float | None:
    """Mean in percent; None: there are no values."""
    return round(100 * statistics.mean(map(float, values)), 1) if values else None
