"""Clean every file of a home of purged words, and look again."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engrams.backup.home_backup import is_sealed, restore
from engrams.backup.home_paths import HomePaths
from engrams.backup.work_folders import make_work_folder, remove_left_folders
from engrams.encryption import file_encryption
from engrams.errors import EngramsError
from engrams.ports import LiveWords, PurgeOrder, PurgePlaceCheck
from engrams.vault.purge.git_scan import GitHistoryScanner
from engrams.vault.purge.home_files import (
    ADVICE,
    BACKUPS,
    COPIES,
    FILES,
    GIT,
    REMOTE,
    UPLOADS,
    HomeFiles,
    find_temporary_folder,
    is_damaged_database,
)
from engrams.vault.purge.purged_word_search import PurgedWordSearcher, list_files
from engrams.vault.vault import Vault

_SHOWN = 5
"""Files that a report names for each place."""


@dataclass(frozen=True, slots=True)
class HomePurgeDeps:
    """Home folder of a memory, and the parts that clean its backups and history."""

    home: Path
    paths: HomePaths
    vault: Vault | None
    purge_copy: Callable[[Path, PurgeOrder], None]
    """Purges a damaged database that lies aside."""
    purge_backup: Callable[[Path, PurgeOrder], None]
    """Purges a backup."""


class HomeFilePurger:
    """Removes purged words from the files beside a store."""

    def __init__(self, deps: HomePurgeDeps) -> None:
        self._deps = deps
        self._files = HomeFiles(deps.home, deps.paths)

    def clean(self, order: PurgeOrder) -> Mapping[str, int]:
        """Remove a purge's words from every file; return the number of files by place."""
        remove_left_folders(self._deps.home)
        search = PurgedWordSearcher((*order.words, *order.ids))
        counts = Counter[str]()
        for path, place_name in self._files.iter_files():
            if place_name not in (COPIES, BACKUPS, UPLOADS) or not path.exists():
                continue
            if self._clean_file(path, place_name, search, order):
                counts[place_name] += 1
        vault = self._deps.vault
        if vault is not None:
            vault.settle_purge()
            if order.git:
                counts[GIT] = vault.rewrite_history(order)
        return counts

    def recall_words(self, ids: Sequence[str], was_said: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the words that the git history has of memories that were purged before."""
        return GitHistoryScanner(self._deps.paths.vault).find_words(frozenset(ids), was_said)

    def look(self, order: PurgeOrder, live: LiveWords) -> tuple[PurgePlaceCheck, ...]:
        """Look for purged words in the bytes of every file."""
        search = PurgedWordSearcher(order.words, order.short)
        checked_counts = Counter[str]()
        needles = dict[str, dict[str, set[bytes]]]()  # by place, then by file
        for path, place_name in self._files.iter_files():
            checked_counts[place_name] += 1
            matches = self._find_in(path, place_name, search)
            if matches is None or matches:
                # A file that cannot be read counts as one that may hold the words.
                needles.setdefault(place_name, {})[self._files.show(path)] = matches or set()
        checked_counts[GIT], in_git = GitHistoryScanner(self._deps.paths.vault).look(search)
        if in_git:
            needles[GIT] = in_git
        words = {
            search.origins[needle]
            for files in needles.values()
            for matches in files.values()
            for needle in matches
        }
        words_in_use = live(sorted(words))
        purged_needles = {
            needle for needle, word in search.origins.items() if word not in words_in_use
        }
        checks = [
            _make_check(place_name, count, needles.get(place_name, {}), purged_needles)
            for place_name, count in checked_counts.items()
        ]
        return (*checks, *self._look_at_remote())

    def _look_at_remote(self) -> tuple[PurgePlaceCheck, ...]:
        """Report a git remote, which nobody here can look into."""
        vault = self._deps.vault
        if vault is None or not vault.deps.settings.remote:
            return ()
        advice = (
            "The remote may contain the old history: replace it with `git push --force`, and clone"
            " other copies again."
        )
        return (PurgePlaceCheck(REMOTE, 0, 1, advice),)

    def _find_in(
        self, path: Path, place_name: str, search: PurgedWordSearcher
    ) -> set[bytes] | None:
        """Find the needles in a file or in the files of a backup; None: it cannot be read."""
        home = self._deps.home
        if path.name.endswith("-shm"):
            # It holds nothing but numbers of pages, and to close it would give up the locks of the
            # database.
            return set()
        try:
            if place_name == BACKUPS:
                return self._find_in_backup(path, search)
            if place_name == FILES:
                return search.find_in_file(path, home) | search.find_in_text(path.read_bytes())
            return search.find_in_file(path, home)
        except FileNotFoundError:
            return set()  # another process moved or deleted it meanwhile
        except EngramsError:
            return None

    def _find_in_backup(self, path: Path, search: PurgedWordSearcher) -> set[bytes] | None:
        home = self._deps.home
        if is_sealed(path):
            return None
        with (
            make_work_folder("look", home) as folder,
            file_encryption.open_plain(home, path) as plain,
        ):
            unpacked = HomePaths.below(folder)
            restore(plain, unpacked)
            needles = set[bytes]()
            for file in list_files(folder):
                needles |= search.find_in_file(file, folder)
            _, in_git = GitHistoryScanner(unpacked.vault).look(search)
            return needles.union(*in_git.values())

    def _clean_file(
        self, path: Path, place_name: str, search: PurgedWordSearcher, order: PurgeOrder
    ) -> bool:
        """Clean one file; return True where it contained words."""
        if not self._find_in(path, place_name, search):
            return False
        if place_name == BACKUPS:
            if file_encryption.is_sealed(path):
                return False
            self._deps.purge_backup(path, order)
        elif place_name == UPLOADS:
            PurgedWordSearcher(order.words).overwrite(path)
        else:
            return self._clean_copy(path, order)
        return True

    def _clean_copy(self, path: Path, order: PurgeOrder) -> bool:
        """Purge a damaged database that lies aside; delete any other copy."""
        database = path.with_name(re.sub(r"-(wal|shm)$", "", path.name))
        folder = find_temporary_folder(path)
        if is_damaged_database(database):
            with contextlib.suppress(EngramsError):
                self._deps.purge_copy(database, order)
            if path.exists():
                PurgedWordSearcher(order.words).overwrite(path)
        elif folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            try:
                path.unlink(missing_ok=True)
            except OSError:
                return False  # the look that follows reports it
        return True


def _make_check(
    place_name: str,
    looked: int,
    needles_by_file: Mapping[str, set[bytes]],
    purged_needles: set[bytes],
) -> PurgePlaceCheck:
    """Report the files of a place that contain purged words, or cannot be read."""
    remaining = [
        name for name, needles in needles_by_file.items() if not needles or needles & purged_needles
    ]
    if not remaining:
        return PurgePlaceCheck(place_name, looked)
    examples = ", ".join(remaining[:_SHOWN]) + (" …" if len(remaining) > _SHOWN else "")
    return PurgePlaceCheck(place_name, looked, len(remaining), f"{ADVICE[place_name]} ({examples})")
