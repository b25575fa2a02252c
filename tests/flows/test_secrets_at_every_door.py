"""No door takes a secret: fields of an edit, reasons, tags, ids and names of metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engrams.core import Turn
from engrams.engine import MemoryEngine
from engrams.testing import temp_engine

_KEY = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
_SCOPE = ("user", "ann")


@pytest.fixture(scope="module")
def memory() -> Iterator[MemoryEngine]:
    with temp_engine() as engine:
        yield engine


def _show(memory: MemoryEngine, id: str) -> str:
    return repr(memory.get(id, scope=_SCOPE)) + repr(memory.history(id, scope=_SCOPE))


@pytest.mark.parametrize(
    "fields",
    [
        {"tags": ["x", _KEY]},
        {"triggers": [_KEY]},
        {"object": _KEY},
        {"subject": f"user {_KEY}"},
        {"meta": {_KEY: "v"}},
        {"meta": {"deep": [{"k": _KEY}]}},
        {"caption": _KEY},
    ],
)
def test_an_edit_stores_no_secret(memory: MemoryEngine, fields: dict[str, Any]) -> None:
    """Every field of an edit is redacted, and so is its reason."""
    id = memory.add(f"A note about trees, number {len(repr(fields))}.", scope=_SCOPE).id
    memory.edit(id, scope=_SCOPE, fields=fields, reason=f"because {_KEY}")
    shown = _show(memory, id)
    assert _KEY not in shown
    assert "[redacted:github-token]" in shown


def test_reasons_and_tags_store_no_secret(memory: MemoryEngine) -> None:
    """A reason to forget and a tag are redacted."""
    id = memory.add("A note about rivers.", scope=_SCOPE).id
    memory.links.tag(id, ["water", _KEY], scope=_SCOPE)
    memory.forget(id, scope=_SCOPE, reason=f"because {_KEY}")
    assert _KEY not in _show(memory, id)


def test_ids_and_names_store_no_secret(memory: MemoryEngine) -> None:
    """A key as a session, an id, a speaker or a name of metadata is not stored; ids stay equal."""
    turns = [
        Turn(f"Hello number {number}", session=_KEY, external_id=f"{_KEY}", meta={_KEY: "v"})
        for number in range(2)
    ]
    records = [memory.get(memory.add(turn, scope=_SCOPE).id, scope=_SCOPE) for turn in turns]
    assert _KEY not in repr(records)
    assert records[0].session == records[1].session
    assert records[0].session.startswith("redacted-")
