"""agent-cli's own store comes in whole: conversations, roles, times, and what was deleted stays so."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from engrams.core import Kind, Status
from engrams.testing import temp_engine

ANN = ("user", "ann")
WORK = (*ANN, "conversation", "work")
FILES = {
    "work/facts/2026-02-01T10-00-00__a.md": ("a", "memory", "The user owns a red kayak", {}),
    "work/turns/user/2026-02-01T09-59-00__b.md": ("b", "user", "Mine is the red kayak.", {}),
    "work/turns/assistant/2026-02-01T09-59-01__c.md": ("c", "assistant", "A fine colour.", {}),
    "work/summaries/summary.md": ("d", "summary", "They talked of boats.", {"summary_kind": "r"}),
    "work/deleted/facts/2026-01-01T08-00-00__e.md": ("e", "memory", "The user plays the horn", {}),
    "work/deleted/facts/2026-01-02T08-00-00__f.md": (
        "f",
        "memory",
        "The user owns a blue kayak",
        {"replaced_by": "a"},
    ),
    "global/facts/2026-02-02T10-00-00__g.md": ("g", "memory", "The user's name is Ann", {}),
}


def write_store(folder: Path) -> Path:
    """Write the store as agent-cli does."""
    for name, (entry_id, role, text, more) in FILES.items():
        path = folder / "entries" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        front = {
            "id": entry_id,
            "role": role,
            "conversation_id": name.partition("/")[0],
            "created_at": f"'2026-02-0{1 + len(entry_id)}T10:00:00+00:00'",
            **more,
        }
        lines = "".join(f"{key}: {value}\n" for key, value in front.items())
        path.write_text(f"---\n{lines}---\n\n{text}\n", "utf-8")
    return folder


def zip_store(folder: Path) -> Path:
    """Pack the store."""
    write_store(folder / "store")
    packed = folder / "store.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted((folder / "store").rglob("*.md")):
            archive.write(path, path.relative_to(folder))
    return packed


@pytest.mark.covers("S2.13")
@pytest.mark.parametrize("make", [write_store, zip_store])
@pytest.mark.parametrize("preset", ["default", "proxy"])
def test_a_store_comes_in_as_it_was(
    tmp_path: Path, preset: str, make: Callable[[Path], Path]
) -> None:
    """Each memory keeps its conversation, role and time. What was deleted stays away; what was
    replaced is history. A second import stores nothing.
    """
    source = make(tmp_path)
    with temp_engine(preset=preset, jobs__workers=0) as engine:
        counts = engine.load(source, scope=ANN)
        assert (counts.stored, counts.bad) == (6, [])
        records = {
            record.external_id: record
            for record in engine.list(scope=ANN, statuses=[*Status], limit=50).records
        }
        assert records.keys() == {"a", "b", "c", "d", "f", "g"}
        assert {records[key].scope.labels for key in "abcdf"} == {WORK}
        assert records["g"].scope.labels == ANN
        assert (records["a"].kind, records["b"].role, records["c"].role) == (
            Kind.FACT,
            "user",
            "assistant",
        )
        assert f"{records['a'].recorded_at:%Y-%m-%d}" == "2026-02-02"
        assert records["f"].status is Status.SUPERSEDED
        assert "horn" not in str([record.text for record in records.values()])
        assert engine.load(source, scope=ANN).stored == 0
