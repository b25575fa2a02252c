"""A server with a vault follows its files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")


def until(expected: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not expected():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.covers("S2.11")
@pytest.mark.parametrize(("watch", "follows"), [("serve", True), ("off", False)])
def test_the_watcher_lives_as_long_as_the_server(
    desks: Callable[..., Desk], watch: str, follows: bool
) -> None:
    """An engine alone does not watch;
    the start of a server begins it, its end waits for it; `off` turns it off there too.
    """
    from tests.surfaces.http.running import running

    from engrams.program.registry import create_app

    desk = desks(vault__watch=watch, write__extract="off")
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    vault = desk.vault
    assert vault._watcher is None
    with running(create_app(desk.engine, desk.engine.settings)):
        assert (vault._watcher is not None) is follows
        if follows:
            thread = vault._watcher._thread
            desk.edit(record, "Brown", "Served")
            until(lambda: "Served" in desk.get(record).text)
    assert vault._watcher is None
    if follows:
        assert not thread.is_alive()


@pytest.mark.covers("S2.11")
def test_a_burst_is_taken_in_at_once(
    desks: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred files that change together are a few looks, not two hundred;
    files that do not change are none.
    """
    desk = desks(write__extract="off")
    folder = desk.root / "entries/user/alice/facts"
    folder.mkdir(parents=True)
    looks: list[object] = []
    look = desk.vault.pull_changes

    def counted(paths: list[str] | None) -> object:
        looks.append(paths)
        return look(paths)

    monkeypatch.setattr(desk.vault, "pull_changes", counted)
    desk.vault.watch()
    until(lambda: looks != [])
    for number in range(200):
        (folder / f"{number}.md").write_text(f"Thing number {number}.")
    until(lambda: len(desk.everything()) == 200)
    desk.vault.unwatch()
    assert len(looks) <= 20
    assert len(list(Path(folder).glob("*.md"))) == 200
    assert desk.engine.list(scope=ALICE, limit=1).records
