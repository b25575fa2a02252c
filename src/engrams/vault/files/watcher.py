"""Watch the files for changes by hand, in one sleeping thread.

``VaultWatcher`` is told of changes by the system where ``watchfiles`` is installed, and else looks
at the files again and again.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypedDict

from engrams.errors import EngramsError
from engrams.vault.files.folder_access import FileStat, VaultFolder, is_memory, is_usable
from engrams.vault.files.vault_paths import DELETED, DOCUMENTS, ENTRIES

_QUIET = 0.25
"""Seconds before a file counts as gone: editors save by removing and recreating it."""
_SETTLE_MS = 120
_log = logging.getLogger(__name__)


class WatchDebounceOptions(TypedDict):
    """Times of ``watchfiles``, in milliseconds."""

    debounce: int
    """The longest burst of changes that is reported as one."""
    step: int
    """The quiet that ends a burst."""
    rust_timeout: int
    """The longest wait before the stop event is looked at."""


class VaultWatcher:
    """Watches the files of a vault in a thread of its own."""

    def __init__(
        self,
        disk: VaultFolder,
        on_change: Callable[[list[str] | None], object],
        mode: Literal["auto", "poll"],
        seconds: float,
    ) -> None:
        """Set up the watcher.

        ``on_change``: called with the paths of a burst of changes; None: it may be any. ``seconds``:
        between two looks, where it polls.
        """
        self._disk = disk
        self._on_change = on_change
        self._seconds = seconds
        self._poll = mode == "poll"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engrams-vault", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait until running changes are applied."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=30)

    def _run(self) -> None:
        # The folder may be made by the first write.
        while not self._stop.is_set() and not (self._disk.root / ENTRIES).is_dir():
            self._stop.wait(min(self._seconds, 1.0))
        if self._stop.is_set():
            return
        changes = self._iter_polled() if self._poll else self._iter_notified()
        for paths in changes:
            if paths is not None and any(self._disk.stat(path) is None for path in paths):
                self._stop.wait(_QUIET)
            self._report(paths)

    def _report(self, paths: list[str] | None) -> None:
        try:
            self._on_change(paths)
        except EngramsError as problem:
            # The edge of the thread. Nothing is lost: the next pass sees the same files.
            _log.warning("vault: %s", problem.message)

    def _iter_notified(self) -> Iterator[list[str] | None]:
        try:
            from watchfiles import watch
        except ImportError:
            yield from self._iter_polled()
            return
        root = self._disk.root.resolve()
        options = WatchDebounceOptions(debounce=_SETTLE_MS * 4, step=_SETTLE_MS, rust_timeout=1000)
        bursts = watch(
            root,
            watch_filter=None,
            stop_event=self._stop,
            raise_interrupt=False,
            yield_on_timeout=True,
            **options,
        )
        for number, changes in enumerate(bursts):
            if not number:
                # From here on nothing is missed; earlier changes are looked for once.
                yield None
                continue
            paths = [
                path
                for _, changed_path in changes
                if (path := relevant_path(Path(changed_path), root)) is not None
            ]
            if paths:
                # A folder came or went: its files are not reported.
                has_folder = any(
                    "." not in path.rpartition("/")[2] or (root / path).is_dir() for path in paths
                )
                yield None if has_folder else sorted(set(paths))

    def _iter_polled(self) -> Iterator[list[str] | None]:
        before = self._read_stats()
        yield None
        while not self._stop.wait(self._seconds):
            after = self._read_stats()
            paths = sorted(
                path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
            )
            before = after
            if paths:
                yield paths

    def _read_stats(self) -> dict[str, FileStat]:
        return {
            path: stat
            for top in (ENTRIES, DELETED, DOCUMENTS, "memory")
            for path, stat in self._disk.walk(top, every=top == DOCUMENTS)
        }


def relevant_path(changed_path: Path, root: Path) -> str | None:
    """Return the path in the vault of a changed file; None: it is no file of the vault's.

    Of a name that no path can hold it is the folder, whose next look tells of it.
    """
    try:
        all_parts = changed_path.relative_to(root).parts
    except ValueError:
        return None
    parts = tuple(itertools.takewhile(is_usable, all_parts))
    if parts == ("MEMORY.md",):
        return "MEMORY.md"
    if (
        len(parts) < 2
        or parts[0] not in (ENTRIES, DELETED, DOCUMENTS, "memory")
        or any(part.startswith((".", "~", "#")) for part in parts)
    ):
        return None
    name = parts[-1]
    if "." in name and not is_memory(name) and parts[0] != DOCUMENTS and not changed_path.is_dir():
        return None
    return "/".join(parts)
