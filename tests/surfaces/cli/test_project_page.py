"""`engrams project page`: one readable section per project, whose edits flow back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Run

import engrams as package
from engrams import Turn
from engrams.core import Kind

SCOPE = ("user", "ann", "project", "shop")
RULE = "Never touch `generated/`, run `pnpm gen` instead."
DECISION = "The cart keeps its state in Zustand, because Redux was too much code."
FIX = "`docker push` failed (denied) and worked again after `docker login`."


@pytest.fixture
def shop(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    with package.open(home=str(home), jobs__workers=0) as engine:
        engine.add(RULE, scope=SCOPE, kind=Kind.RULE)
        decision = engine.add(DECISION, scope=SCOPE, kind=Kind.RULE)
        engine.edit(decision.id, scope=SCOPE, fields={"category": "decision"})
        engine.observe([Turn(FIX, "tool"), Turn("fix the total", "user")], scope=SCOPE)
        engine.add(f"The build runs {folder}/src/build.sh.", scope=SCOPE, kind=Kind.FACT)
        engine.add("I am Lena.", scope=("user", "ann"), kind=Kind.FACT)
        engine.drain(20)
    monkeypatch.chdir(folder)
    return folder


def test_the_page_is_readable_and_stays_the_same(engrams: Run, shop: Path) -> None:
    """Rules, decisions with their day, fixes and facts of the project; paths are relative; nothing of
    the person, and no talk. A second run changes nothing.
    """
    assert engrams("project page", "--yes").code == 0
    page = (shop / "MEMORY.md").read_text("utf-8")
    for text in (RULE, DECISION, FIX, "The build runs src/build.sh."):
        assert text in page
    assert page.index("### Rules") < page.index("### Decisions") < page.index("### Fixes")
    assert str(shop) not in page and "Lena" not in page and "fix the total" not in page
    assert engrams("project page", "--yes", "--json").json["changed"] is False


def test_the_rest_of_a_page_stays(engrams: Run, shop: Path) -> None:
    """In AGENTS.md only the section changes, and nothing without consent."""
    agents = shop / "AGENTS.md"
    agents.write_text("# Agents\n\nBe kind.\n", "utf-8")
    refused = engrams("project page", "--file", "AGENTS.md")
    assert refused.code != 0 and RULE in refused.out
    assert agents.read_text("utf-8") == "# Agents\n\nBe kind.\n"
    assert engrams("project page", "--file", "AGENTS.md", "--yes").code == 0
    agents.write_text(agents.read_text("utf-8") + "\n## After\n", "utf-8")
    engrams("add", "--project", "shop", "--kind", "rule", "Use pnpm, not npm.")
    assert engrams("project page", "--file", "AGENTS.md", "--yes").code == 0
    page = agents.read_text("utf-8")
    assert page.startswith("# Agents\n\nBe kind.\n") and page.endswith("## After\n")
    assert "Use pnpm, not npm." in page


def test_edits_flow_back(engrams: Run, shop: Path, home: Path) -> None:
    """A changed line changes its memory, a new line is one, and a line that is gone is forgotten."""
    engrams("project page", "--yes")
    page = shop / "MEMORY.md"
    lines = page.read_text("utf-8").splitlines()
    lines = [line.replace("run `pnpm gen`", "run `make gen`") for line in lines if FIX not in line]
    lines.insert(lines.index("### Rules") + 2, "- All money is integer cents.")
    page.write_text("\n".join(lines) + "\n", "utf-8")
    report = engrams("project page", "--yes", "--json").json
    assert (report["edited"], report["added"], report["removed"]) == (1, 1, 1)
    with package.open(home=str(home), jobs__workers=0) as engine:
        records = engine.list(scope=SCOPE, limit=100).records
    texts = {record.text for record in records}
    assert "Never touch `generated/`, run `make gen` instead." in texts
    assert FIX not in texts and RULE not in texts
    (added,) = [record for record in records if record.text == "All money is integer cents."]
    assert (added.kind, added.provenance.channel) == (Kind.RULE, "file")
    assert engrams("project page", "--yes", "--json").json["changed"] is False


def test_a_changed_memory_is_no_edit(engrams: Run, shop: Path, home: Path) -> None:
    """A line that nobody touched follows its memory."""
    engrams("project page", "--yes")
    with package.open(home=str(home), jobs__workers=0) as engine:
        (rule,) = [item for item in engine.list(scope=SCOPE).records if item.text == RULE]
        engine.edit(rule.id, scope=SCOPE, text="Never touch `api/generated/`.")
    report = engrams("project page", "--yes", "--json").json
    assert (report["changed"], report["edited"]) == (True, 0)
    assert "Never touch `api/generated/`." in (shop / "MEMORY.md").read_text("utf-8")
