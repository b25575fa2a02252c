"""engrams garden: plan, run, undo, conflicts and the queue, for people and for programs."""

from __future__ import annotations

import pytest
from tests.surfaces.cli.conftest import Run


@pytest.mark.covers("S3.62", "S3.63")
def test_plan_run_and_undo(grouped: Run) -> None:
    """The plan names the merge, the run makes it, the undo takes it back;
    each as text and as JSON.
    """
    for text in ("I play the cello every day", "I play the cello every day!"):
        grouped("add", text)
    assert "cello" in grouped("garden", "plan").out
    plan = grouped("garden", "plan", "--json").json
    assert [step["verb"] for step in plan["steps"]] == ["merge"]
    report = grouped("garden", "run", "--json").json
    assert (report["state"], report["compactions"]) == ("complete", 1)
    assert "complete" in grouped("garden", "status").out
    assert grouped("garden", "status", "--json").json["undo"] == [report["id"]]
    assert grouped("garden", "plan").out.strip() == "Nothing to do."
    assert "2 memories" in grouped("garden", "undo", report["id"]).out
    nothing = grouped("garden", "undo")
    assert nothing.code == 3 and "nothing to undo" in nothing.err
    wrong = grouped("garden", "run", "--job", "weed")
    assert wrong.code == 1 and "merge" in wrong.err


@pytest.mark.covers("S3.57")
def test_conflicts_are_shown_and_decided(grouped: Run) -> None:
    """Two memories that contradict each other are listed until one is kept."""
    ids = [
        grouped("add", text, "--json").json["id"]
        for text in ("The lamp in the hall is red", "The lamp on the stairs is blue")
    ]
    grouped("link", *ids, "--type", "contradicts")
    listed = grouped("garden", "conflicts", "--json").json["conflicts"]
    assert {listed[0]["one"]["id"], listed[0]["other"]["id"]} == set(ids)
    assert "newer" in grouped("garden", "conflicts").out
    assert grouped("garden", "decide", *ids, "--keep", ids[0], "--json").json == {"dropped": ids[1]}
    assert grouped("garden", "conflicts").out.strip() == "No contradictions."
    assert '"superseded"' in grouped("show", ids[1], "--json").out


@pytest.mark.covers("S3.65", "S3.68")
def test_the_queue_lasts_between_commands(grouped: Run) -> None:
    """An entry waits in the next process; a pause and its end are seen."""
    grouped("add", "The cellar is dry")
    id = grouped("garden", "wake", "60", "--why", "the cellar", "--json").json["id"]
    assert [entry["id"] for entry in grouped("garden", "status", "--json").json["queue"]] == [id]
    assert "the cellar" in grouped("garden", "status").out
    assert grouped("garden", "pause").out.strip() == "paused"
    assert grouped("garden", "resume", "--json").json["state"] == "scheduled"
    assert grouped("garden", "cancel", id, "--json").json == {"cancelled": 1}
    assert grouped("garden", "status", "--json").json["state"] == "disabled"
