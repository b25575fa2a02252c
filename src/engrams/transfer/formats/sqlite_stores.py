"""Read SQLite files of mem0 and memvara."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engrams.core import Json, Kind, StatedFields, Turn
from engrams.errors import InputError
from engrams.transfer.formats import mem0
from engrams.transfer.formats.decode import STDIN, Origin
from engrams.transfer.formats.detect import Format
from engrams.transfer.formats.field_parsers import role_and_speaker
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert,
    make_statement,
    place_in,
    predicate_name,
)

if TYPE_CHECKING:
    import apsw

MAGIC = b"SQLite format 3\0"
_VALUE_BYTES = 16 << 20
"""Bytes of one row at most; a column may be computed, so that a small file holds large ones."""
_DEEPEST = 50
_OWN = (
    "A database of engrams is moved with `engrams backup`, or with `engrams export` and `engrams"
    " import`."
)
_KNOWN = (
    "Known are mem0's history.db, a local Qdrant store of mem0, and memvara's store; export"
    " anything else as JSON."
)


def is_database(origin: Origin) -> bool:
    """Check for a SQLite file; a stream is rewound."""
    if isinstance(origin, str | Path):
        try:
            with Path(origin).open("rb") as file:
                return str(origin) != STDIN and file.read(len(MAGIC)) == MAGIC
        except (OSError, ValueError):
            return False
    if not origin.seekable():
        return False
    start = origin.tell()
    found = bool(origin.read(len(MAGIC)) == MAGIC)
    origin.seek(start)
    return found


def detect(origin: Origin) -> Format:
    """Tell whose database it is by its tables. InputError: nobody's known here."""
    with _open_database(origin) as database:
        tables = _list_tables(database)
    if "records" in tables and "outbox" in tables:
        raise InputError("It is a database of engrams.", hint=_OWN)
    if {"claims", "episodes"} <= tables:
        return "memvara"
    if "points" in tables or "history" in tables:
        return "mem0"
    raise InputError(
        "It is a SQLite database, not text, and of no memory that is known here.", hint=_KNOWN
    )


def read(origin: Origin) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield the memories of a database.

    InputError: it is damaged, or nobody's known here.
    """
    named = detect(origin)
    with _open_database(origin) as database:
        tables = _list_tables(database)
        if named == "memvara":
            for row in _read_rows(database, "episodes", "ts"):
                yield from convert(0, row, _parse_episode, "An episode")
            for row in _read_rows(database, "claims", "recorded_at"):
                yield from convert(0, row, _parse_claim, "A claim")
        elif "points" in tables:
            for row in _read_rows(database, "points", "id"):
                yield from convert(0, row, _parse_point, "A point")
        else:
            yield from mem0.read_changes(
                SourceObject(0, row) for row in _read_rows(database, "history", "created_at")
            )


@contextmanager
def _open_database(origin: Origin) -> Iterator[apsw.Connection]:
    """Open a database to read it alone; a stream is copied first."""
    import apsw

    with tempfile.TemporaryDirectory(prefix="engrams-import-") as folder:
        path = Path(folder) / "copy.db"
        if isinstance(origin, str | Path):
            # What was written last may still be in the log beside it.
            for suffix in ("", "-wal"):
                if (source := Path(f"{origin}{suffix}")).is_file():
                    shutil.copyfile(source, f"{path}{suffix}")
        else:
            start = origin.tell()
            with path.open("wb") as file:
                shutil.copyfileobj(origin, file)
            origin.seek(start)
        try:
            database = apsw.Connection(str(path))
            try:
                database.pragma("trusted_schema", "off")
                database.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
                yield database
            finally:
                database.close()
        except (apsw.Error, UnicodeDecodeError) as problem:
            raise InputError(
                f"The database cannot be read: {problem}.", hint="Get a fresh copy of it."
            ) from None


def _list_tables(database: apsw.Connection) -> set[str]:
    return {
        str(name)
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }


def _read_rows(database: apsw.Connection, table: str, order: str) -> Iterator[dict[str, Json]]:
    """Yield a table's rows by column.

    The names are ours, never of the file.
    """
    cursor = database.execute(f'SELECT * FROM "{table}" ORDER BY "{order}", rowid')  # noqa: S608
    for row in cursor:
        yield dict(zip((name for name, _ in cursor.get_description()), row, strict=True))


def _parse_claim(found: SourceObject) -> ParsedTurn:
    subject, predicate, object = (found.label(name) for name in ("subject", "predicate", "object"))
    stated = StatedFields(
        subject=subject,
        predicate=predicate_name(predicate),
        object=object,
        valid_from=found.moment("valid_from"),
        valid_to=found.moment("valid_to", "expires_at"),
        retired_at=found.moment("invalidated_at"),
        confidence=found.share("confidence"),
    )
    turn = Turn(
        found.text("text") or " ".join((subject, predicate.replace("_", " "), object)),
        at=found.moment("recorded_at"),
        session=found.label("session"),
        external_id=found.label("id"),
        meta={
            **found.pick("polarity", "memory_type", "amount", "unit", "temporal_precision"),
            **_read_meta(found),
        },
        stated=stated,
    )
    return make_statement(turn, place=_place(found), user=found.label("usr"))


def _parse_episode(found: SourceObject) -> ParsedTurn | None:
    text = found.text("content")
    turn = Turn(
        text,
        *role_and_speaker(found.label("role")),
        at=found.moment("ts"),
        session=found.label("session"),
        external_id=found.label("id"),
        meta=_read_meta(found),
    )
    return (
        ParsedTurn(
            turn=turn, conversation="", kind=Kind.TURN, place=_place(found), user=found.label("usr")
        )
        if text
        else None
    )


def _read_meta(found: SourceObject) -> dict[str, Json]:
    try:
        held = json.loads(found.data.get("meta") or "{}")
    except (TypeError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _place(found: SourceObject) -> tuple[str, ...]:
    return place_in(agent=found.label("agent"), project=found.label("project"))


def _parse_point(found: SourceObject) -> ParsedTurn | None:
    """Convert a point; those of other users than mem0 hold nothing."""
    held = found.data.get("point")
    if not isinstance(held, bytes):
        raise ValueError("it holds no point")
    fields = _read_point(held)
    payload = fields["payload"]
    if not isinstance(payload, dict) or not isinstance(payload.get("data"), str):
        return None
    known = {
        "data",
        "hash",
        "created_at",
        "updated_at",
        "user_id",
        "agent_id",
        "app_id",
        "run_id",
        "actor_id",
        "role",
        "categories",
    }
    extra = {
        name: value
        for name, value in payload.items()
        if name not in known and not name.startswith("text_")
    }
    whole = {
        **payload,
        "id": str(fields.get("id") or ""),
        "metadata": extra,
        "memory": payload["data"],
    }
    return mem0.parse_memory(SourceObject(found.line, whole), whole["id"])


def _read_point(held: bytes) -> dict[str, Any]:
    """Read a pickled point. ValueError: it is none."""
    for operation, argument, _ in pickletools.genops(held):
        # A table is made as long as the number says.
        if operation.name.endswith("PUT") and int(argument or 0) > len(held):
            raise ValueError("it is no point of Qdrant")
    try:
        state = getattr(_PointUnpickler(io.BytesIO(held)).load(), "state", None)
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        OverflowError,
        ValueError,
    ) as problem:
        raise ValueError(f"it is no point of Qdrant ({problem})") from None
    fields = state.get("__dict__") if isinstance(state, dict) else None
    if not isinstance(fields, dict):
        raise ValueError("it is no point of Qdrant")
    found = {name: fields.get(name) for name in ("id", "payload")}
    _check_plain(found, 4 * len(held))
    return found


def _check_plain(value: Any, most: int) -> None:
    """Check for a tree of JSON's types.

    A pickle may hold one value many times, or itself.
    """
    left = most
    near = [(value, 0)]
    while near:
        each, depth = near.pop()
        left -= 1 + (len(each) if isinstance(each, str | dict | list) else 0)
        if left < 0 or depth > _DEEPEST:
            raise ValueError("it holds more than a point does")
        if isinstance(each, dict):
            if not all(isinstance(name, str) for name in each):
                raise ValueError("a name in it is no text")
            near += [(part, depth + 1) for pair in each.items() for part in pair]
        elif isinstance(each, list):
            near += [(part, depth + 1) for part in each]
        elif each is not None and not isinstance(each, str | int | float):
            raise ValueError(f"it holds {type(each).__name__}, which no JSON does")


class _StoredPoint:
    """Stand-in for Qdrant's class of a point; takes its fields, does nothing."""

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _PointUnpickler(pickle.Unpickler):
    """Reader of pickled points that makes nothing but stand-ins.

    A pickle may name any function.
    """

    def find_class(self, module: str, name: str) -> type[_StoredPoint]:
        if module.startswith("qdrant_client.") and name == "PointStruct":
            return _StoredPoint
        raise pickle.UnpicklingError(f"it names {module}.{name}")
