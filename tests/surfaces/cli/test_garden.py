"""engrams garden: plan, run, undo, conflicts and the queue, for people and for programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Done, Run

from engrams.surfaces.cli.main import main


@pytest.fixture
def engrams(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command, or one of the group: the home is named behind it."""

    def run(*command: str) -> Done:
        place = 2 if command[0] == "garden" else 1
        code = main([*command[:place], "--home", str(home), *command[place:]])
        told = capsys.readouterr()
        return Done(code, told.out, told.err)

    return run


@pytest.mark.covers("S3.62", "S3.63")
def test_plan_run_and_undo(engrams: Run) -> None:
    """The plan names the merge, the run makes it, the undo takes it back; each as text and as JSON."""
    for text in ("I play the cello every day", "I play the cello every day!"):
        engrams("add", text)
    assert "cello" in engrams("garden", "plan").out
    plan = engrams("garden", "plan", "--json").json
    assert [step["verb"] for step in plan["steps"]] == ["merge"]
    report = engrams("garden", "run", "--json").json
    assert (report["state"], report["compactions"]) == ("complete", 1)
    assert "complete" in engrams("garden", "status").out
    assert engrams("garden", "status", "--json").json["undo"] == [report["id"]]
    assert engrams("garden", "plan").out.strip() == "Nothing to do."
    assert "2 memories" in engrams("garden", "undo", report["id"]).out
    nothing = engrams("garden", "undo")
    assert nothing.code == 3 and "nothing to undo" in nothing.err
    wrong = engrams("garden", "run", "--job", "weed")
    assert wrong.code == 1 and "merge" in wrong.err


@pytest.mark.covers("S3.57")
def test_conflicts_are_shown_and_decided(engrams: Run) -> None:
    """Two memories that contradict each other are listed until one is kept."""
    ids = [engrams("add", text, "--json").json["id"] for text in ("The lamp in the hall is red", "The lamp on the stairs is blue")]
    engrams("link", *ids, "--type", "contradicts")
    listed = engrams("garden", "conflicts", "--json").json["conflicts"]
    assert {listed[0]["one"]["id"], listed[0]["other"]["id"]} == set(ids)
    assert "would hold" in engrams("garden", "conflicts").out
    assert engrams("garden", "decide", *ids, "--keep", ids[0], "--json").json == {"dropped": ids[1]}
    assert engrams("garden", "conflicts").out.strip() == "No conflicts."
    assert '"superseded"' in engrams("show", ids[1], "--json").out


@pytest.mark.covers("S3.65", "S3.68")
def test_the_queue_lasts_between_commands(engrams: Run) -> None:
    """An entry waits in the next process; a pause and its end are seen."""
    engrams("add", "The cellar is dry")
    id = engrams("garden", "wake", "60", "--why", "the cellar", "--json").json["id"]
    assert [entry["id"] for entry in engrams("garden", "status", "--json").json["queue"]] == [id]
    assert "the cellar" in engrams("garden", "status").out
    assert engrams("garden", "pause").out.strip() == "paused"
    assert engrams("garden", "resume", "--json").json["state"] == "scheduled"
    assert engrams("garden", "cancel", id, "--json").json == {"cancelled": 1}
    assert engrams("garden", "status", "--json").json["state"] == "disabled"
