"""Erasing on the page where memory's files have a git history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.flows.test_purge_everywhere import git_texts
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import patient
from tests.surfaces.ui.conftest import Served, Window, opened

from engrams import admin
from engrams.core import Status
from engrams.testing import temp_engine

pytest.importorskip("dulwich")
api = pytest.importorskip("playwright.sync_api")
HERON = "The heron nests by the old pond of Quuxwick."


@pytest.fixture
def versioned(browser: Any, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A window on a server whose memory lies in files under git."""
    with (
        temp_engine(
            user="nobody", vault__enabled=True, vault__git=True, vault__watch="off"
        ) as engine,
        running(patient(engine)) as url,
    ):
        yield from opened(browser, Served(url, engine), request)


def history(window: Window) -> str:
    return git_texts(window.served.engine.settings.home)


def tell(window: Window) -> str:
    engine = window.served.engine
    id = engine.add(HERON, scope=window.scope).id
    engine.drain()
    admin.get_vault(engine).commit()
    assert HERON in history(window)
    window.go("memories")
    return id


@pytest.mark.slow
def test_the_history_is_rewritten_after_a_second_press(versioned: Window) -> None:
    """Erasing says that the history still holds it and offers to rewrite that;
    then the proof is whole.
    """
    id = tell(versioned)
    page = versioned.page
    page.get_by_text(HERON).click()
    page.get_by_role("button", name="Erase for good").click()
    page.locator("dialog.box").get_by_role("button", name="Erase for good").click()
    api.expect(page.get_by_text("Copies are left in: Git history.")).to_be_visible()
    assert versioned.served.engine.get(id, scope=versioned.scope).status is Status.PURGED
    assert HERON in history(versioned)
    page.get_by_role("button", name="Rewrite the history").click()
    api.expect(page.get_by_text("places found none left")).to_be_visible()
    assert "Quuxwick" not in history(versioned)


def test_the_history_is_rewritten_at_once_where_it_is_ticked(versioned: Window) -> None:
    """All about a thing is erased with its history in one go."""
    tell(versioned)
    page = versioned.page
    page.get_by_role("button", name="Erase about").click()
    page.get_by_label("About", exact=True).fill("heron")
    page.get_by_role("button", name="Find").click()
    box = page.locator("dialog.box")
    box.get_by_label("git history of the files").check()
    box.get_by_role("button", name="Erase for good").click()
    api.expect(page.get_by_role("dialog", name="Erased for good")).to_contain_text(
        "places found none left"
    )
    assert "Quuxwick" not in history(versioned)
