"""Moments of writing and removing an index file at which a process dies by itself."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engrams.index import segment_file
from engrams.store.sqlite import index_file_folder
from engrams.store.sqlite.index_files import SqliteIndexFiles

_ENDINGS = (".new", ".segment")


def name_point(dice: random.Random) -> str:
    """The moment that ``arm`` chooses by the same numbers."""
    return dice.choice([*_POINTS])


def arm(dice: random.Random) -> None:
    """Die at one of these moments, the first or a later time that it comes."""
    name = name_point(dice)
    _POINTS[name](
        _Countdown(dice.randint(1, 60) if name == "an array" else dice.choice((1, 1, 1, 2, 3))),
        dice.random() < 0.5,
    )


class _Countdown:
    """Kills this process when it was called so many times."""

    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self) -> None:
        self._left -= 1
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _wrap(
    place: Any,
    name: str,
    die: _Countdown,
    late: bool,
    applies: Callable[..., bool] = lambda *_: True,
) -> None:
    whole = getattr(place, name)

    def deadly(*given: Any, **named: Any) -> Any:
        mine = applies(*given)
        if mine and not late:
            die()
        result = whole(*given, **named)
        if mine and late:
            die()
        return result

    setattr(place, name, deadly)


def _is_index_file(path: Path, *_: object) -> bool:
    return path.suffix in _ENDINGS


_POINTS: dict[str, Callable[[_Countdown, bool], None]] = {
    "a file": lambda die, late: _wrap(segment_file, "write_segment", die, late),
    "an array": lambda die, late: _wrap(segment_file, "_to_bytes", die, late),
    "its place": lambda die, late: _wrap(Path, "replace", die, late, _is_index_file),
    "its removal": lambda die, late: _wrap(Path, "unlink", die, late, _is_index_file),
    "its mark": lambda die, late: _wrap(SqliteIndexFiles, "read_epoch", die, late),
    "a purge's mark": lambda die, late: _wrap(SqliteIndexFiles, "unmark", die, late),
    "a purge": lambda die, late: _wrap(index_file_folder.IndexFileFolder, "drop", die, late),
    "a map": lambda die, late: _wrap(segment_file, "map_segment", die, late),
}
