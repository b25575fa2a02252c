"""A search for single bytes whose damage would lose a text:
pages of memories and of their ids, byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.store.make import BOB, Time, add, at, record, turn

from engrams.core import Evidence, Kind, Provenance, Record, Scope, Status
from engrams.core.ids import derive_id
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore
from engrams.store.sqlite.rescue.record_carving import TableShape
from engrams.store.sqlite.rescue.row_salvage import (
    _find_statuses,
    _RecordMending,
    read_rows,
    read_shapes,
)

PAGE = 4096
MASKS = (0x01, 0x80, 0xA7, 0x08, 0x0F, 0x40, 0xFF)
LONG = " It rained, and a lorry came late." * 300


def sample() -> Iterator[Record]:
    """Memories of many kinds, with the same ids and times in each run."""
    for number in range(14):
        id = derive_id(at(minutes=number), "sample")
        text = f"Parcel r{number}x{number * 31} waits in the hall of house {number}."
        when = {"id": id, "recorded_at": at(minutes=number)}
        match number % 7:
            case 0 | 1:
                yield turn(text, external_id=f"x{number}", speaker="Alice", **when)
            case 2:
                yield record(
                    text,
                    Scope(("user", "alice", "project", "hall")),
                    subject="parcel",
                    predicate="waits in",
                    object="hall",
                    **when,
                )
            case 3:
                yield record(
                    text,
                    BOB,
                    kind=Kind.NOTE,
                    status=Status.FORGOTTEN,
                    retired_at=at(days=1),
                    **when,
                )
            case 4:
                source = Evidence("waits in the hall", derive_id(at(), "source"), "Alice")
                yield record(
                    text,
                    evidence=(source,),
                    provenance=Provenance(extractor="rules"),
                    meta={"weight": 7.5},
                    tags=("post",),
                    **when,
                )
            case 5:
                yield record(text + LONG, caption="A long one", **when)
            case _:
                yield record(
                    text,
                    kind=Kind.RULE,
                    triggers=("parcel",),
                    summary="",
                    valid_from=at(days=-7),
                    importance=0.25,
                    **when,
                )


@dataclass(frozen=True)
class Cropped:
    """The pages of memories and of their ids alone, which take the damage.

    ``heads``: places outside of the texts.
    """

    data: bytes
    shapes: list[TableShape]
    places: list[int]
    heads: list[int]


@pytest.fixture(scope="module")
def cropped(tmp_path_factory: pytest.TempPathFactory) -> Cropped:
    path = tmp_path_factory.mktemp("salvage") / "memory.db"
    store = SqliteStore.open(path, StoreSettings(), Time())
    add(store, *sample())
    store.close()
    connection = apsw.Connection(str(path))
    shapes = read_shapes(connection)
    kept = connection.execute(
        "SELECT pageno, pagetype FROM dbstat WHERE name IN ('records', 'records_id')"
    ).fetchall()
    connection.close()
    data = path.read_bytes()
    found = bytearray(max(page for page, _ in kept) * PAGE)
    found[:100] = data[:100]
    for page, _ in kept:
        found[(page - 1) * PAGE : page * PAGE] = data[(page - 1) * PAGE : page * PAGE]
    places = [
        offset
        for page, kind in kept
        for offset in range((page - 1) * PAGE, page * PAGE)
        if found[offset]
    ]
    lines = [
        offset
        for offset in places
        if found[offset : offset + 12].isascii()
        and found[offset : offset + 12].decode().isprintable()
    ]
    return Cropped(bytes(found), shapes, places, sorted({*places} - {*lines}))


def rescued(path: Path, cropped: Cropped) -> dict[str, tuple[str, str, str]]:
    """Id, owner, scope and text of each memory that is read, by text."""
    columns = cropped.shapes[1].columns
    wanted = [columns.index(name) for name in ("id", "owner", "scope", "text")]
    rows = read_rows(path, cropped.shapes).rows["records"]
    found = {row[wanted[3]]: tuple(row[column] for column in wanted[:3]) for row in rows}
    assert len(found) == len(rows), "a memory came back twice"
    return found


def search(
    cropped: Cropped, path: Path, places: list[int], masks: tuple[int, ...]
) -> list[tuple[int, int, str]]:
    """Places and masks by which a text is lost that is there."""
    path.write_bytes(cropped.data)
    whole = rescued(path, cropped)
    assert len(whole) == 14
    lost = []
    for turns, offset in enumerate(places):
        for mask in masks if len(masks) < 3 else (masks[turns % len(masks)],):
            spoilt = bytearray(cropped.data)
            spoilt[offset] ^= mask
            path.write_bytes(spoilt)
            found = rescued(path, cropped)
            for text, told in whole.items():
                if text not in found and (
                    (text[:60].encode() in spoilt and len(found) < len(whole))
                    or text.encode() in spoilt
                ):
                    lost.append((offset, mask, text[:60]))
                elif text in found and (
                    found[text][1] != told[1]
                    or (found[text][2] != told[2] and not is_in(cropped.data, told[2], offset))
                ):
                    lost.append((offset, mask, f"{text[:60]} is of {found[text][1:]}"))
    return lost


def is_in(data: bytes, scope: str, offset: int) -> bool:
    """Whether a byte belongs to a scope that a row holds: nothing else tells what it was."""
    start = data.find(scope.encode(), max(0, offset - len(scope)), offset + len(scope))
    return 0 <= start <= offset < start + len(scope)


@pytest.mark.covers("S1.54")
@pytest.mark.slow
def test_no_byte_beside_the_texts_loses_one(cropped: Cropped, tmp_path: Path) -> None:
    """A byte of a page's head, a pointer, a header, a number, an enumeration:
    every text that is there is read, once, as its owner's.
    """
    lost = search(cropped, tmp_path / "spoilt.db", cropped.heads[::8], MASKS)
    assert not lost, lost


@pytest.mark.slow
@pytest.mark.parametrize("mask", MASKS)
def test_no_byte_loses_a_text_that_is_there(cropped: Cropped, tmp_path: Path, mask: int) -> None:
    """Every byte of every page of memories and of their ids, each damaged by itself."""
    lost = search(cropped, tmp_path / "spoilt.db", cropped.places, (mask,))
    assert not lost, lost


def test_overwritten_history_tells_no_status() -> None:
    """The last status that can be read counts;
    what is no JSON, or no object, or no status tells nothing.
    """
    told = ('{"status": "forgotten"}', "[1]", '{"sta', '{"status": "fprgotten"}', None)
    rows: list[tuple[Any, ...]] = [(7, version, 0, "", after) for version, after in enumerate(told)]
    assert _find_statuses([*rows, (8, 1, 0, "", '{"status": "archived"}')], {7}) == {7: "forgotten"}


def test_bytes_that_are_no_record_never_take_its_place(cropped: Cropped, tmp_path: Path) -> None:
    """A header found where none is gives a high version to rubbish:
    the readable state stays, with the status that history tells.
    """
    path = tmp_path / "memory.db"
    path.write_bytes(cropped.data)
    shape = next(table_shape for table_shape in cropped.shapes if table_shape.name == "records")
    rows = read_rows(path, cropped.shapes).rows["records"]
    true = dict(zip(shape.columns, rows[0], strict=True))
    rubbish = {
        **true,
        "version": 52,
        "layer": "e\ufffdH",
        "status": "\r\x19%",
        "text": f"\x02zY[][]{{}}{true['text']}",
    }
    told = [(rows[0][0], 3, 0, "forget", "user", "asked", "{}", '{"status": "forgotten"}')]
    for history, status in (([], true["status"]), (told, Status.FORGOTTEN)):
        (kept,) = (
            row
            for row in _RecordMending(shape, {}, history).mend_all([tuple(rubbish.values()), *rows])
            if row[1] == rows[0][1]
        )
        assert dict(zip(shape.columns, kept, strict=True)) == {**true, "status": status}
