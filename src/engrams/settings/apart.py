"""Test mode: memory in a home of its own inside the home, which is read for its settings and otherwise not touched."""

from __future__ import annotations

from engrams.settings.sections import Settings

FOLDER = "test-mode"
"""The folder. A home of that name is one of test mode already."""


def apart(settings: Settings) -> Settings:
    """In test mode: the settings with their own home, and with no database, folder or git remote outside of it. Twice is once."""
    if not settings.test:
        return settings
    home = settings.home if settings.home.name == FOLDER else settings.home / FOLDER
    url = settings.store.url if settings.store.url == ":memory:" else ""
    store, vault = settings.store.model_copy(update={"url": url}), settings.vault.model_copy(update={"path": "", "remote": ""})
    return settings.model_copy(update={"home": home, "store": store, "vault": vault})
