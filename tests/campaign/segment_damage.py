"""Damage to the files of search indexes:
bytes, pages, cuts, other files in their place, and folders that cannot be used.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.campaign.damage import KINDS, PAGE
from tests.campaign.segment_look import files_of, folder_of

Sources = tuple[Path, ...]
"""Homes that files of another moment or another memory are taken from."""


def _bytes(kind: str) -> Callable[[random.Random, Path, Sources], None]:
    def apply(dice: random.Random, path: Path, _: Sources) -> None:
        change = KINDS[kind][0](dice, path.name, path.read_bytes())
        # In a file of its own: a process that maps the old one keeps that.
        data = path.read_bytes()
        _put(
            path,
            data[: change.place] + (b"" if change.cut else change.content + data[change.end :]),
        )

    return apply


def _put(path: Path, data: bytes) -> None:
    fresh = path.with_name(path.name + ".put")
    fresh.write_bytes(data)
    fresh.replace(path)


def _swap_pieces(size: int) -> Callable[[random.Random, Path, Sources], None]:
    """Exchange two neighbouring pieces, as a disk that writes to the wrong place."""

    def apply(dice: random.Random, path: Path, _: Sources) -> None:
        data = path.read_bytes()
        # In a part that is no hole.
        filled = [
            place
            for place in range(PAGE, len(data) - 2 * size, size)
            if any(data[place : place + size])
        ]
        place = dice.choice(filled)
        one = data[place : place + size]
        other = data[place + size : place + 2 * size]
        _put(path, data[:place] + other + one + data[place + 2 * size :])

    return apply


def _fill_hole(dice: random.Random, path: Path, _: Sources) -> None:
    data = bytearray(path.read_bytes())
    for place in range(PAGE, len(data) - PAGE, PAGE):
        if not any(data[place : place + PAGE]):
            data[place : place + PAGE] = dice.randbytes(PAGE)
    _put(path, bytes(data))


def _take_other(dice: random.Random, path: Path, sources: Sources) -> None:
    """The same owner's file of another moment or memory, or another owner's."""
    found = [
        one
        for home in (path.parent.parent, *sources)
        for one in files_of(home)
        if one != path and one.is_file()
    ]
    if found:
        _put(path, dice.choice(found).read_bytes())


def _take_folder(dice: random.Random, path: Path, sources: Sources) -> None:
    found = [home for home in sources if folder_of(home).is_dir()]
    if found:
        shutil.rmtree(path.parent)
        shutil.copytree(folder_of(dice.choice(found)), path.parent)


def _remove(_: random.Random, path: Path, __: Sources) -> None:
    path.unlink()


def _remove_folder(_: random.Random, path: Path, __: Sources) -> None:
    shutil.rmtree(path.parent)


def _leave_rest(dice: random.Random, path: Path, _: Sources) -> None:
    """What a process leaves that was killed while it wrote, and a file of nobody."""
    data = path.read_bytes()
    path.with_name(f"{path.stem}.{dice.getrandbits(55):x}.new").write_bytes(
        data[: dice.randrange(len(data))]
    )
    path.with_name(f"{dice.getrandbits(128):032x}.segment").write_bytes(data)


def _become(make: Callable[[Path], object]) -> Callable[[random.Random, Path, Sources], None]:
    """Something that is no file in the file's place, or in the folder's."""

    def apply(dice: random.Random, path: Path, _: Sources) -> None:
        place = path if dice.random() < 0.7 else path.parent
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        make(place)

    return apply


DAMAGES: dict[str, Callable[[random.Random, Path, Sources], None]] = {
    **{kind: _bytes(kind) for kind in KINDS},
    "pages swapped": _swap_pieces(PAGE),
    "sectors swapped": _swap_pieces(512),
    "words swapped": _swap_pieces(8),
    "hole filled": _fill_hole,
    "other file": _take_other,
    "other folder": _take_folder,
    "removed": _remove,
    "folder removed": _remove_folder,
    "rest": _leave_rest,
    "empty": _become(Path.touch),
    "a folder": _become(Path.mkdir),
    "a pipe": _become(os.mkfifo),
    "a link": _become(lambda path: path.symlink_to("/dev/zero")),
    "a loop": _become(lambda path: path.symlink_to(path)),
}


def damage_files(dice: random.Random, home: Path, sources: Sources) -> str:
    """Damage one index file or all of them; what was done, or nothing where there is none."""
    files = [
        path
        for path in files_of(home)
        if path.suffix == ".segment" and path.is_file() and path.stat().st_size
    ]
    if not files:
        return ""
    name = dice.choice([*DAMAGES])
    for path in files if dice.random() < 0.5 else [dice.choice(files)]:
        if path.is_file() and path.stat().st_size:
            DAMAGES[name](dice, path, sources)
    return name
