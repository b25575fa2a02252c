"""Memory as a notebook."""

from __future__ import annotations

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams.types import Kind, Scope
from engrams.vault.notebook import build_notebook


@pytest.mark.covers("S4.62")
def test_a_notebook_groups_by_topic_with_sources(desk: Desk) -> None:
    """Visible memories stand under their topics with the words they rest on; hidden ones take no place; nobody's is empty."""
    desk.add("I live in Berlin.")
    fact = next(record for record in desk.everything() if record.kind is Kind.FACT)
    hidden = desk.engine.add("A hidden thing.", scope=ALICE, kind=Kind.FACT, settle=False)
    desk.engine.edit(hidden.id, scope=ALICE, fields={"meta": {"hidden": True}})
    store = desk.engine.store
    pages = {page.topic: page.lines for page in build_notebook(store, Scope(ALICE))}
    lines = [line for page in pages.values() for line in page]
    assert hidden.id not in {line.id for line in lines}
    (line,) = [line for line in lines if line.id == fact.id]
    assert line in pages[fact.category.capitalize()] and line.sources == (fact.evidence[0].source,) and "Berlin" in line.quotes[0]
    assert sum(len(page.lines) for page in build_notebook(store, Scope(ALICE), limit=2)) == 2
    assert build_notebook(store, Scope(("user", "nobody"))) == ()
