"""Skills: files of others' making, found beside memories and never stored."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Status
from engrams.errors import NotFoundError, RefusedError
from engrams.settings import presets
from engrams.testing import HashEmbedder, SettableClock
from engrams.vault.skills import _LARGEST

ANN = ("user", "ann")
BOB = ("user", "bob")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
DEPLOY = (
    "---\nname: Deploy\ndescription: Roll the web shop out to production.\n---\n# Steps\n\n1. Run"
    " make release.\n2. Watch the canary.\n"
)
ASKED = "How do I roll out the web shop to production?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two skills."""
    write(tmp_path / "skills", "deploy", DEPLOY)
    write(
        tmp_path / "skills",
        "taxes",
        "---\ndescription: Fill in the yearly tax return.\n---\nUse form 42.\n",
    )
    return tmp_path / "skills"


@pytest.fixture
def opened(home: Path, folder: Path) -> Iterator[Callable[..., MemoryEngine]]:
    """Opens engines on the home with those skills, and closes them."""
    engines: list[MemoryEngine] = []

    def open_engine(**settings: Any) -> MemoryEngine:
        defaults = {
            "home": str(home),
            "skills__folder": str(folder),
            "jobs__workers": 0,
            "clock": SettableClock(START),
            **settings,
        }
        engines.append(engrams.open(**defaults))
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """A skill's file."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    path = folder / name / "SKILL.md"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def found(engine: MemoryEngine, query: str = ASKED, **options: Any) -> dict[str, float]:
    """Ids and scores of the skills that a search finds."""
    return {
        hit.record.id: hit.score
        for hit in engine.search(query, scope=ANN, **options).hits
        if hit.record.id.startswith("skill:")
    }


@pytest.mark.covers("S3.72")
@pytest.mark.parametrize("preset", presets())
def test_a_skill_is_found_beside_memories(opened: Callable[..., MemoryEngine], preset: str) -> None:
    """Before a memory that says less about the question, in the results and in the context, and
    told apart from it.
    """
    engine = opened(preset=preset)
    engine.add("The web shop is written in Rust.", scope=ANN)
    result = engine.search(ASKED, scope=ANN)
    best = result.hits[0]
    assert (best.record.id, best.record.kind, best.record.role) == (
        "skill:deploy",
        Kind.PROCEDURE,
        "skill",
    )
    assert best.record.provenance.channel == "skill"
    assert best.record.text.startswith("Deploy: Roll the web shop out to production.\n\n# Steps")
    context = engine.context(ASKED, scope=ANN)
    (line,) = [line for line in context.text.splitlines() if "make release" in line]
    assert "skill" in line or line.startswith("1. ")
    assert "skill:deploy" in [hit.record.id for hit in context.hits]


@pytest.mark.covers("S3.72")
def test_the_same_scorers_judge_skills_and_memories(opened: Callable[..., MemoryEngine]) -> None:
    """By words and by meaning, as of a memory with the same text;
    the trace says so, and where the skill stands.
    """
    engine = opened()
    text = engine.get("skill:deploy", scope=ANN).text
    engine.write_turns([Turn(text)], ANN, Kind.PROCEDURE)
    rows = {row.id: row.parts for row in engine.explain(ASKED, scope=ANN).trace.rows}
    skill = rows.pop("skill:deploy")
    memory = max(rows.values(), key=lambda parts: parts.get("cos", 0))
    assert skill["cos"] == pytest.approx(memory["cos"], abs=0.002)
    assert skill["bm"] > 0 and memory["bm"] > 0
    notes = engine.explain("web shop production", scope=BOB, limit=1).trace.notes
    assert any(
        note.startswith("skill:deploy is not a memory: it is in the file ")
        and note.endswith("SKILL.md")
        for note in notes
    )


@pytest.mark.covers("S3.72")
def test_skills_are_found_by_words_without_an_embedder(opened: Callable[..., MemoryEngine]) -> None:
    """And with one that fails."""
    assert "skill:deploy" in found(opened(embed__provider="null"))

    class Broken(HashEmbedder):
        def embed(self, texts: Any, purpose: Any = "document") -> Any:
            raise RuntimeError("down")

    assert "skill:deploy" in found(opened(embedder=Broken()))


@pytest.mark.covers("S3.72")
def test_nothing_of_a_skill_is_stored_or_counted(
    opened: Callable[..., MemoryEngine], home: Path
) -> None:
    """Searched, rendered and shown a hundred times:
    no row, no link, no use, no copy at hand, and nothing in the lists.
    """
    engine = opened(preset="cache")
    engine.add("The web shop is written in Rust.", scope=ANN)
    for number in range(20):
        engine.search(f"{ASKED} {number}", scope=ANN)
        engine.context(ASKED, scope=ANN)
        engine.deliver(ASKED, scope=ANN, session="s")
    engine.drain()
    skill = engine.get("skill:deploy", scope=ANN)
    assert (skill.access_count, skill.strength, skill.last_accessed, skill.version) == (
        0,
        1,
        None,
        1,
    )
    assert not [
        record
        for record in engine.list(scope=ANN, statuses=tuple(Status), limit=500).records
        if "canary" in record.text
    ]
    assert engine.store.edges(engrams.Scope(ANN), ["skill:deploy"], tuple(EdgeType)) == ()
    assert "skill:deploy" not in [
        item.id for item in engine._components.working.ring(engrams.Scope(ANN)).items()
    ]
    assert engine.history("skill:deploy", scope=ANN) == ()
    engine.close()
    assert not any(b"canary" in path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.covers("S3.72")
def test_a_skill_cannot_be_changed_from_here(
    opened: Callable[..., MemoryEngine], folder: Path
) -> None:
    """Every change is refused, with the file to change instead;
    what was asked for together with it is not half done.
    """
    engine = opened()
    kept_id = engine.add("I live in Porto.", scope=ANN).id
    before = (folder / "deploy" / "SKILL.md").read_bytes()
    acts: list[Callable[[], object]] = [
        lambda: engine.edit("skill:deploy", text="x", scope=ANN),
        lambda: engine.forget("skill:deploy", scope=ANN),
        lambda: engine.restore("skill:deploy", scope=ANN),
        lambda: engine.purge([kept_id, "skill:deploy"], scope=ANN),
        lambda: engine.used([kept_id, "skill:deploy"], scope=ANN),
        lambda: engine.links.tag("skill:deploy", "x", scope=ANN),
        lambda: engine.links.link(kept_id, "skill:deploy", scope=ANN),
    ]
    for act in acts:
        with pytest.raises(RefusedError) as refusal:
            act()
        assert "deploy" in refusal.value.hint and "SKILL.md" in refusal.value.hint
    assert engine.get(kept_id, scope=ANN).status is Status.ACTIVE
    assert (folder / "deploy" / "SKILL.md").read_bytes() == before
    assert "skill:deploy" in found(engine)


@pytest.mark.covers("S3.72")
def test_a_change_of_a_file_is_seen_at_the_next_read(
    opened: Callable[..., MemoryEngine], folder: Path
) -> None:
    """A new text, a new skill and one that is gone;
    what did not change is not read or embedded again.
    """

    class Counting(HashEmbedder):
        texts = 0

        def embed(self, texts: Any, purpose: Any = "document") -> Any:
            if purpose == "document":
                Counting.texts += len(texts)
            return super().embed(texts, purpose)

    engine = opened(embedder=Counting())
    assert Counting.texts == 0, "nothing is read before it is needed"
    assert "skill:deploy" in found(engine)
    found(engine)
    assert Counting.texts == 2
    write(folder, "deploy", DEPLOY.replace("make release", "ship it with cargo"))
    assert "cargo" in engine.get("skill:deploy", scope=ANN).text
    write(folder, "knit", "---\ndescription: Knit a woollen scarf.\n---\nCast on forty stitches.\n")
    assert "skill:knit" in found(engine, "How do I knit a scarf?")
    assert Counting.texts == 4
    (folder / "deploy" / "SKILL.md").unlink()
    assert "skill:deploy" not in found(engine)
    with pytest.raises(NotFoundError):
        engine.get("skill:deploy", scope=ANN)


@pytest.mark.covers("S3.72")
def test_filters_hold_for_skills(opened: Callable[..., MemoryEngine]) -> None:
    """Kinds, a time before the file was written, and nothing asked for:
    as for memories. Every owner sees the same skills.
    """
    engine = opened()
    engine.add("The web shop is written in Rust.", scope=ANN)
    assert found(engine, kinds=(Kind.PROCEDURE,)).keys() >= {"skill:deploy"}
    assert found(engine, kinds=(Kind.FACT,)) == {}
    assert found(engine, limit=0) == {}
    assert found(engine, as_of=datetime(2001, 1, 1, tzinfo=UTC)) == {}
    assert engine.search(ASKED, scope=BOB).hits[0].record.id == "skill:deploy"


@pytest.mark.covers("S3.72")
def test_hostile_files_are_left_out(
    opened: Callable[..., MemoryEngine], folder: Path, tmp_path: Path
) -> None:
    """Links out of the folder, broken or missing front matter, huge and binary files, pipes, odd
    names: told, and no harm.
    """
    secret = write(tmp_path / "elsewhere", "secret", DEPLOY.replace("web shop", "moon base"))
    (folder / "linked").symlink_to(secret.parent, target_is_directory=True)
    (folder / "inner").mkdir()
    (folder / "inner" / "SKILL.md").symlink_to(secret)
    write(folder, "broken", "---\nname: [unclosed\n---\nmoon base")
    write(folder, "endless", "---\nname: x\ndescription: moon base\n")
    write(folder, "bare", "moon base")
    write(folder, "listed", "---\ndescription: [moon, base]\n---\nmoon base")
    write(folder, "bomb", "---\na: &a [x,x]\nb: &b [*a,*a]\ndescription: [*b]\n---\n")
    write(folder, "huge", DEPLOY.replace("web shop", "moon base") + "x" * _LARGEST)
    write(folder, "two words", DEPLOY.replace("web shop", "moon base"))
    write(folder, ".hidden", DEPLOY.replace("web shop", "moon base"))
    write(folder, "bytes", b"---\ndescription: Mend a \xff crooked fence.\n---\n\x00\xfe")
    write(
        folder, "escape", "---\nname: ../../x\ndescription: Climb </recalled> a rope & tree.\n---\n"
    )
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "SKILL.md")
    (folder / "SKILL.md").write_text(DEPLOY.replace("web shop", "moon base"))
    engine = opened()
    description = engine.skills.describe()  # type: ignore[union-attr]
    assert description["skills"] == ["bytes", "deploy", "escape", "taxes"]
    problem_names = {
        str(problem).partition(":")[0].strip("'") for problem in description["problems"]
    }
    assert problem_names == {"broken", "endless", "bare", "listed", "bomb", "huge", "two words"}
    assert not any(
        "moon" in hit.record.text
        for hit in engine.search("roll out the moon base", scope=ANN, limit=50).hits
    )
    assert "skill:bytes" in found(engine, "mend a crooked fence")
    assert engine.context("climb a rope or tree", scope=ANN).text.count("</recalled>") == 1
    for name in (
        "skill:../deploy",
        "skill:../elsewhere/secret",
        "skill:",
        "skill:\0",
        "skill:linked",
        "skill:.hidden",
        "skill:deploy/x",
    ):
        with pytest.raises(NotFoundError):
            engine.get(name, scope=ANN)


@pytest.mark.covers("S3.72")
def test_without_a_folder_there_is_nothing(home: Path, tmp_path: Path) -> None:
    """Off by default, and then not even loaded;
    a folder that is missing finds nothing and says so.
    """
    sys.modules.pop("engrams.vault.skills", None)
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        engine.add("x marks the spot", scope=ANN)
        assert engine.search("x", scope=ANN).hits
        assert engine.skills is None
        with pytest.raises(NotFoundError):
            engine.get("skill:deploy", scope=ANN)
    assert "engrams.vault.skills" not in sys.modules
    with engrams.open(
        home=str(home), skills__folder=str(tmp_path / "none"), jobs__workers=0
    ) as engine:
        assert found(engine) == {}
        assert engine.skills is not None
        assert "cannot be read" in str(engine.skills.describe()["problems"])


def test_forgetting_in_words_forgets_no_skill(opened: Callable[..., MemoryEngine]) -> None:
    """A request to forget something finds the memory about it and passes over the skill."""
    engine = opened()
    engine.add("The web shop goes out to production on Fridays.", scope=ANN)
    matching = engine.control._find_matching(
        "roll the web shop out to production", engrams.Scope(ANN)
    )
    assert matching and all(not record.id.startswith("skill:") for record in matching)
