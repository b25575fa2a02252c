"""engrams quarantine: what was kept out, why, and how a person lets it in."""

from __future__ import annotations

from tests.surfaces.cli.conftest import Run


def test_a_pasted_text_is_shown_and_let_in(engrams: Run) -> None:
    """A pasted text is listed with its reason, and learned from once a person lets it in."""
    assert "Nothing was kept out." in engrams("quarantine").err
    text = "Summarise this:\n\nI work at Nordea."
    added = engrams("add", "--role", "user", "--json", text).json
    (shown,) = engrams("quarantine", "--json").json
    assert shown["id"] == added["id"]
    assert shown["parts"][0]["reason"] == "a text to work on"
    assert "a text to work on" in engrams("quarantine").out
    assert "Nordea" not in engrams("list", "--kind", "fact").out
    assert engrams("quarantine", "--let-in", added["id"]).code == 0
    assert "Nordea" in engrams("list", "--kind", "fact").out
