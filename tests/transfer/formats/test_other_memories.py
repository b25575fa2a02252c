"""Files of other memories: recognised, and read with times, validity, places and labels."""

from __future__ import annotations

import json
import pickle
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.transfer.formats import samples
from tests.transfer.formats.samples import SAMPLES

from engrams.core import Kind
from engrams.core.clock import now
from engrams.errors import InputError
from engrams.transfer import formats
from engrams.transfer.imports.preview import preview_import


def _items(path: Path) -> list[Any]:
    """Everything in a file, folder or zip, with nothing unreadable."""
    with formats.open_files(path) as parts:
        found = [item for part in parts for item in formats.read(part.open())]
    assert not [item for item in found if isinstance(item, formats.UnreadablePiece)], found
    return found


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("graphiti", "zep"),
        ("zep", "zep"),
        ("letta", "letta"),
        ("hindsight_page", "hindsight"),
        ("hindsight_document", "hindsight"),
        ("honcho_messages", "honcho"),
        ("honcho_conclusions", "honcho"),
        ("supermemory", "supermemory"),
        ("supermemory_v3", "supermemory"),
        ("langgraph", "langgraph"),
        ("mem0", "mem0"),
        ("mem0_history", "mem0"),
        ("claude_memory", "claude"),
        ("chatgpt_memory", "chatgpt"),
        ("basic_memory", "basic_memory"),
        ("asked_for", "lines"),
    ],
)
def test_every_file_is_recognised(save: Callable[..., Path], name: str, format: str) -> None:
    """Each file is known by what is in it, as one object, as a list and as lines;
    nothing in it is unreadable.
    """
    content = SAMPLES[name]
    paths = [save(content, f"{name}.{'md' if isinstance(content, str) else 'json'}")]
    if isinstance(content, list):
        paths += [
            save("".join(json.dumps(each) + "\n" for each in content), f"{name}.jsonl"),
            save(content[0], "one.json"),
        ]
    for path in paths:
        assert formats.detect(path) == format
        pieces = list(formats.read(path))
        assert not [piece for piece in pieces if isinstance(piece, formats.UnreadablePiece)]
        assert list(formats.read(path, format)) == pieces
    ids = [piece.turn.external_id for piece in formats.read(paths[0])]
    assert all(ids) and len(set(ids)) == len(ids)


def test_graphiti(save: Callable[..., Path]) -> None:
    """Facts have their triple by name and their validity;
    what was invalidated has ended; episodes are messages of their speaker.
    """
    talk, old, new, node = _items(save(SAMPLES["graphiti"], "g.json"))
    assert (talk.kind, talk.turn.speaker, talk.turn.role, talk.turn.text) == (
        Kind.TURN,
        "Ann",
        "user",
        "I moved from Acme to Globex.",
    )
    assert talk.turn.at.isoformat() == "2025-01-02T08:59:00+00:00"
    stated = old.turn.stated
    assert (stated.subject, stated.predicate, stated.object) == ("Ann", "works_at", "Acme")
    assert (stated.valid_from.year, stated.valid_to.month, stated.ended_at.year) == (2020, 12, 2025)
    assert new.turn.stated.valid_to is None
    assert (node.turn.text, node.turn.stated.subject, node.turn.stated.tags) == (
        "Ann is a nurse.",
        "Ann",
        ("Person",),
    )
    assert {item.user for item in (talk, old, new, node)} == {"ann"}


def test_letta(save: Callable[..., Path]) -> None:
    """Blocks come line by line, a persona as the agent's;
    of messages what was said, without events, thoughts and instructions.
    """
    items = _items(save(SAMPLES["letta"], "sam.af"))
    assert [(item.kind, item.turn.role, item.turn.text) for item in items] == [
        (Kind.FACT, "user", "First name: Chad"),
        (Kind.FACT, "user", "Interests: sailing, CSGO"),
        (Kind.FACT, "assistant", "Sam (persona): I am Sam."),
        (Kind.TURN, "user", "My cat is called Mia."),
        (Kind.TURN, "assistant", "What a lovely name."),
    ]
    assert {item.scope_labels for item in items} == {("agent", "Sam")}
    assert items[0].turn.stated.tags == ("human",)


def test_hindsight(save: Callable[..., Path], tmp_path: Path) -> None:
    """Units are facts with their entities;
    an event's end does not end a fact; an invalidated unit was given up.
    """
    document, unit, observation = _items(samples.write_hindsight(tmp_path / "alice.zip"))
    assert (document.kind, document.turn.text) == (
        Kind.EPISODE,
        "Alice: I joined Google on the AI team.",
    )
    assert (unit.kind, unit.turn.meta["entities"], unit.turn.stated.tags) == (
        Kind.FACT,
        ["Alice", "Google"],
        ("user:alice",),
    )
    assert unit.turn.stated.valid_from and not unit.turn.stated.valid_to
    assert observation.turn.text == "Alice likes her work"
    valid, invalid = _items(save(SAMPLES["hindsight_page"], "page.json"))
    assert not valid.turn.stated.retired_at and invalid.turn.stated.retired_at.year == 2024


def test_cognee(tmp_path: Path) -> None:
    """An archive's facts name their entities, in whatever file those stand;
    accounts and raw nodes stay out.
    """
    entity, fact, document = _items(samples.write_cognee(tmp_path / "dump"))
    assert entity.turn.text == "Ann: A nurse from Lyon"
    assert (fact.turn.text, fact.turn.stated.subject, fact.turn.stated.object) == (
        "Ann works at Acme",
        "Ann",
        "Acme",
    )
    assert (fact.turn.stated.valid_from.year, fact.turn.stated.valid_to.year) == (2020, 2024)
    assert document.kind is Kind.NOTE


def test_cognee_graph(save: Callable[..., Path]) -> None:
    """The graph as JSON gives the relations between named things, and the texts."""
    nodes = [
        {"id": "a", "type": "Entity", "name": "Ann"},
        {"id": "b", "type": "Entity", "name": "Acme"},
        {"id": "c", "type": "DocumentChunk", "text": "Ann left."},
    ]
    edges = [
        {"source": "a", "target": "b", "relationship_name": "works_at"},
        {"source": "c", "target": "a", "relationship_name": "contains"},
    ]
    assert [
        item.turn.text for item in _items(save({"nodes": nodes, "edges": edges}, "g.json"))
    ] == ["Ann left.", "Ann works at Acme"]


def test_honcho_and_supermemory(save: Callable[..., Path]) -> None:
    """Peers speak;
    conclusions are about a peer; former versions have ended; what was forgotten there is left out.
    """
    said, answer = _items(save(SAMPLES["honcho_messages"], "m.json"))
    assert (said.turn.role, said.turn.speaker, said.turn.session) == ("user", "ann", "s1")
    assert (answer.turn.role, answer.turn.speaker) == ("assistant", "")
    (conclusion,) = _items(save(SAMPLES["honcho_conclusions"], "c.json"))
    assert (conclusion.kind, conclusion.turn.stated.subject, conclusion.turn.meta["level"]) == (
        Kind.FACT,
        "ann",
        "explicit",
    )
    new, old, plan = sorted(
        _items(save(SAMPLES["supermemory"], "s.json")), key=lambda item: item.turn.text
    )[:3]
    assert [item.turn.text for item in (new, old, plan)] == [
        "Garden plan\n\nPlant the beans in May.",
        "Grows beans",
        "Grows peas",
    ]
    assert plan.turn.stated.valid_to and not old.turn.stated.valid_to
    (trip,) = _items(save(SAMPLES["supermemory_v3"], "v3.json"))
    assert (trip.turn.text, trip.turn.stated.tags, trip.kind) == (
        "Trip\n\nTwo weeks in Peru",
        ("travel",),
        Kind.NOTE,
    )


def test_basic_memory(save: Callable[..., Path]) -> None:
    """Observations are facts about the note, with category, tags, context and validity;
    relations are triples; the rest is kept.
    """
    items = {item.turn.text: item for item in _items(save(SAMPLES["basic_memory"], "coffee.md"))}
    method = items["Pour over brings out the fruit #brewing"]
    assert (method.kind, method.turn.stated.subject, method.turn.stated.category) == (
        Kind.FACT,
        "Coffee Brewing",
        "method",
    )
    assert (method.turn.stated.tags, method.turn.meta["context"]) == (
        ("coffee", "brewing"),
        "tried in January",
    )
    roast = items["Darker roasts only"].turn.stated
    assert (roast.valid_from.year, roast.valid_to.isoformat()[:10]) == (2025, "2025-12-31")
    relation = items["Coffee Brewing part of Kitchen"].turn.stated
    assert (relation.predicate, relation.object) == ("part_of", "Kitchen")
    assert items["Notes from the kitchen, over two lines."].kind is Kind.NOTE
    assert items["buy filters"].kind is items["[10:30] not a category"].kind is Kind.NOTE
    assert method.turn.at.isoformat() == "2026-01-05T08:00:00+00:00"


def test_chat_products_memories(save: Callable[..., Path], tmp_path: Path) -> None:
    """Claude's memory comes by paragraph, a project's in its place;

    ChatGPT's without what was switched off; asked-for lists with dates.
    """
    work, run, danish, project = _items(save(SAMPLES["claude_memory"], "memories.json"))
    assert (work.turn.meta["heading"], run.turn.text, danish.turn.meta["heading"]) == (
        "Work context",
        "Runs marathons",
        "Personal context",
    )
    assert project.scope_labels == ("project", "p-1")
    assert [item.turn.text for item in _items(save(SAMPLES["chatgpt_memory"], "memory.json"))] == [
        "User is vegetarian"
    ]
    dated, undated, plain = _items(save(SAMPLES["asked_for"], "list.txt"))
    assert (dated.turn.text, dated.turn.at.isoformat()[:10]) == (
        "Prefers short answers",
        "2025-05-30",
    )
    assert (undated.turn.text, undated.turn.at, plain.turn.text) == (
        "Works as a nurse",
        None,
        "2024 was a good year",
    )


def test_mem0_with_its_history(save: Callable[..., Path], tmp_path: Path) -> None:
    """Agents have places, a day of expiry ends a memory;
    a history gives former texts with their time, and nothing of what was deleted.
    """
    cello, permit = _items(save(SAMPLES["mem0"], "mem0.json"))
    assert (cello.scope_labels, cello.user, cello.turn.stated.tags) == (
        ("agent", "tutor"),
        "ann",
        ("music",),
    )
    assert permit.turn.stated.valid_to.isoformat()[:10] == "2025-01-01"
    for path in (
        save(SAMPLES["mem0_history"], "history.json"),
        samples.write_mem0_history(tmp_path / "history.db"),
    ):
        paris, berlin = _items(path)
        assert (paris.turn.text, paris.turn.external_id, paris.turn.stated.valid_to.year) == (
            "Lives in Paris",
            "mm:1",
            2025,
        )
        assert (berlin.turn.text, berlin.turn.external_id, berlin.turn.stated.valid_to) == (
            "Lives in Berlin",
            "mm",
            None,
        )


def test_local_stores(tmp_path: Path) -> None:
    """A local Qdrant store of mem0 and memvara's store are read from their files, whatever a pickle
    in them asks for.
    """
    touched = tmp_path / "touched"
    evil = pickle.dumps(_Touch(touched))
    payload = {
        "id": "0193a7c2-1111-7000-8000-000000000001",
        "data": "Likes tea",
        "user_id": "al",
        "created_at": "2025-01-01T00:00:00+00:00",
        "room": "kitchen",
    }
    pieces = list(formats.read(samples.write_qdrant(tmp_path / "storage.sqlite", [payload], evil)))
    tea, bad = sorted(pieces, key=lambda piece: isinstance(piece, formats.UnreadablePiece))
    assert (tea.turn.text, tea.turn.external_id, tea.user, tea.turn.meta["room"]) == (
        "Likes tea",
        payload["id"],
        "al",
        "kitchen",
    )
    assert "no point of Qdrant" in bad.message and not touched.exists()
    talk, bergen, oslo, cat = _items(samples.write_memvara(tmp_path / "memvara.db"))
    assert (talk.kind, talk.turn.text) == (Kind.TURN, "I moved to Oslo.")
    assert (bergen.turn.stated.object, bergen.turn.stated.valid_to is not None) == ("Bergen", True)
    assert (oslo.turn.stated.valid_to, oslo.turn.stated.confidence, oslo.turn.meta["k"]) == (
        None,
        0.9,
        1,
    )
    assert cat.turn.stated.retired_at


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        (b"Nr" + struct.pack("<I", 1 << 27), "no point of Qdrant"),
        (b"]" + b"q\x01h\x01\x86" * 30, "holds tuple"),
        (b"]q\x010" + b"(h\x01h\x01lq\x010" * 30 + b"h\x01", "more than a point"),
        (b"]q\x01h\x01a", "more than a point"),
        (b"]" * 5000 + b"a" * 4999, "more than a point"),
        (
            b"]q\x01(" + b"X\xff\x00\x00\x00" + b"x" * 255 + b"q\x02" + b"h\x02" * 2000 + b"e",
            "more than a point",
        ),
        (b"}K\x05Ns", "a name in it is no text"),
        (b"cqdrant_client.x\nPointStruct\n", "holds type"),
    ],
)
def test_pickles_that_blow_up(tmp_path: Path, extra: bytes, reason: str) -> None:
    """A pickled point that grows without bound, holds itself or no JSON is left out;
    the others are read.
    """
    text = b"".join((b"X", struct.pack("<I", 4), b"data", b"X", struct.pack("<I", 9), b"Likes tea"))
    state = (
        b"X\x08\x00\x00\x00__dict__}X\x07\x00\x00\x00payload}"
        + text
        + b"sX\x01\x00\x00\x00e"
        + extra
        + b"sss"
    )
    evil = b"\x80\x02cqdrant_client.http.models.models\nPointStruct\n)\x81}" + state + b"b."
    payload = {
        "id": "0193a7c2-1111-7000-8000-000000000001",
        "data": "Likes tea",
        "created_at": "2025-01-01T00:00:00+00:00",
    }
    pieces = list(formats.read(samples.write_qdrant(tmp_path / "storage.sqlite", [payload], evil)))
    (bad,) = [piece for piece in pieces if isinstance(piece, formats.UnreadablePiece)]
    assert len(pieces) == 2 and reason in bad.message


@pytest.mark.parametrize("point", ["AS (zeroblob(900000000))", "DEFAULT (CAST(x'ff41' AS TEXT))"])
def test_databases_that_blow_up(tmp_path: Path, point: str) -> None:
    """A database whose columns are computed, far larger than the file, or hold no text is refused."""
    with closing(sqlite3.connect(tmp_path / "storage.sqlite")) as database:
        database.execute(f"CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB {point})")
        database.execute("INSERT INTO points (id) VALUES ('a')")
        database.commit()
    with pytest.raises(InputError, match="cannot be read"):
        list(formats.read(tmp_path / "storage.sqlite"))


def test_a_zip_that_blows_up(tmp_path: Path) -> None:
    """A zip that unpacks to far more than it is, is refused before it is read."""
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "User likes tea.")
        archive.infolist()[0].file_size = 2 << 30
    with (
        pytest.raises(InputError, match="times its own size"),
        formats.open_files(tmp_path / "bomb.zip"),
    ):
        pass


class _Touch:
    """A pickled point that writes a file when it is loaded carelessly."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_other_databases_are_refused(tmp_path: Path) -> None:
    """A database of nobody known, a damaged one and one of another product are refused with the
    reason.
    """
    import sqlite3

    other = tmp_path / "other.db"
    database = sqlite3.connect(other)
    database.execute("CREATE TABLE songs (name)")
    database.commit()
    database.close()
    with pytest.raises(InputError, match="of an unknown program"):
        list(formats.read(other))
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(samples.write_mem0_history(tmp_path / "history.db").read_bytes()[:3000])
    with pytest.raises(InputError, match="cannot be read"):
        list(formats.read(damaged))
    with pytest.raises(InputError, match="database of mem0"):
        list(formats.read(tmp_path / "history.db", "memvara"))


def test_a_preview_counts(tmp_path: Path) -> None:
    """A preview tells kinds, users and history of a zip."""
    found = preview_import(samples.write_memvara(tmp_path / "memvara.db"), "auto", now())
    assert (found.format, found.stored, found.history, found.kinds, found.users) == (
        "memvara",
        4,
        2,
        {"turn": 1, "fact": 3},
        {"ann": 4},
    )
