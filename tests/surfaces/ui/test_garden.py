"""The garden view: conflicts decided, a cycle planned, run and taken back."""

from __future__ import annotations

import pytest
from tests.surfaces.ui.conftest import Window

from engrams.core import Kind, Status, Turn

pytestmark = pytest.mark.slow

expect = pytest.importorskip(
    "playwright.sync_api", reason="the tests of the page need the package playwright"
).expect


def test_a_cycle_is_planned_run_and_taken_back(window: Window) -> None:
    """The plan shows what would become one, the run does it and leaves a report, and Undo asks once
    and brings it back.
    """
    engine = window.served.engine
    ids = [
        engine.add(text, scope=window.scope).id
        for text in ("The cello is in the attic room", "The cello is in the attic room!")
    ]
    window.go("garden")
    window.page.get_by_role("button", name="See the plan").click()
    plan = window.page.get_by_role("region", name="Plan", exact=True)
    expect(plan.locator("tbody tr")).to_have_count(1)
    expect(plan).to_contain_text("The cello is in the attic room!")
    window.page.get_by_role("button", name="Run now").first.click()
    past = window.page.get_by_role("region", name="Last cycles")
    expect(past.locator(".memory")).to_contain_text("1 merged into others")
    assert {engine.get(id, scope=window.scope).status for id in ids} == {
        Status.ACTIVE,
        Status.SUPERSEDED,
    }
    past.get_by_role("button", name="Undo").click()
    window.page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    expect(window.page.get_by_text("2 memories restored.")).to_be_visible()
    assert {engine.get(id, scope=window.scope).status for id in ids} == {Status.ACTIVE}


@pytest.mark.covers("S3.57")
def test_a_conflict_is_decided_by_a_press(window: Window) -> None:
    """Both sides are shown with their days; the one that is not kept becomes history."""
    engine = window.served.engine
    red, blue = (
        engine.add(text, scope=window.scope).id
        for text in ("The lamp in the hall is red", "The hall has a blue lamp")
    )
    engine.links.link(red, blue, scope=window.scope, type="contradicts")
    window.go("garden")
    clashes = window.page.get_by_role("region", name="Contradictions")
    expect(clashes.locator(".memory")).to_have_count(1)
    clashes.locator(".row", has_text="blue lamp").get_by_role("button", name="Keep this").click()
    expect(clashes).to_contain_text("No contradictions found.")
    assert engine.get(red, scope=window.scope).status is Status.SUPERSEDED


@pytest.mark.slow
def test_a_report_says_what_a_cycle_found(window: Window) -> None:
    """A cycle that finds a contradiction and changes no memory does not say that nothing had to
    change.
    """
    engine = window.served.engine
    red, blue = (
        engine.add(text, scope=window.scope).id
        for text in ("The lamp in the hall is red", "The hall has a blue lamp")
    )
    engine.links.link(red, blue, scope=window.scope, type="contradicts")
    window.go("garden")
    window.page.get_by_role("button", name="Run now").first.click()
    past = window.page.get_by_role("region", name="Last cycles")
    expect(past.locator(".memory")).to_contain_text("1 contradiction found")
    expect(past).not_to_contain_text("Nothing had to change")


def test_the_garden_can_be_paused(window: Window) -> None:
    """The switch holds over a reload."""
    window.go("garden")
    window.page.get_by_role("switch", name="Paused").check(force=True)
    expect(window.page.get_by_text("Paused", exact=True).first).to_be_visible()
    window.page.reload()
    expect(window.page.get_by_role("switch", name="Paused")).to_be_checked()
    assert window.served.engine.garden.status(window.scope)["state"] == "paused"


def test_a_kept_out_text_is_shown_and_learned_from_by_a_press(window: Window) -> None:
    """A pasted text is shown with its reason; after a press and a yes it is learned and gone from the list."""
    engine = window.served.engine
    engine.add(Turn("Summarise this:\n\nI work at Nordea.", role="user"), scope=window.scope)
    window.go("garden")
    kept_out = window.page.get_by_role("region", name="Kept out")
    expect(kept_out).to_contain_text("A text to work on")
    expect(kept_out).to_contain_text("I work at Nordea.")
    kept_out.get_by_role("button", name="Learn from it").click()
    window.page.get_by_role("dialog").get_by_role("button", name="Learn from it").click()
    expect(kept_out.locator(".memory")).to_have_count(0)
    facts = engine.list(scope=window.scope, kinds=(Kind.FACT,)).records
    assert [fact.object for fact in facts] == ["Nordea"]
