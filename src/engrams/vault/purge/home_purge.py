"""Clean every file of a home of purged words, and look again."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from engrams.backup.home_backup import is_backup, is_sealed, restore
from engrams.backup.home_paths import HomePaths
from engrams.encryption import file_encryption
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.ports import LiveWords, PurgeOrder, PurgePlaceCheck
from engrams.vault.purge.history_rewrite import GitHistoryScanner
from engrams.vault.purge.purged_words import PurgedWordSearcher, list_files
from engrams.vault.vault import Vault

DATABASE = "database file"  # fmt: skip
STATE = "vault state"
FILES = "vault files"
GIT = "git history"
COPIES = "copies"
BACKUPS = "backups"
UPLOADS = "uploads"
LOGS = "logs"
OTHERS = "other files"
REMOTE = "git remote"
_ADVICE = {
    DATABASE: "Close other programs that use this memory and purge again.",
    STATE: "Close other programs that use this memory and purge again.",
    FILES: "Edit or delete these files.",
    GIT: (
        "`engrams purge --git` with the same ids rewrites the history of the files without these"
        " words. A word of under 8 characters that stays after that cannot be told from other text:"
        " delete `.git` in the vault to be rid of it."
    ),
    COPIES: "Delete these files, or `engrams doctor --repair` and purge again.",
    BACKUPS: (
        "Delete these backups, or restore each into a home of its own, purge there, and back up"
        " anew."
    ),
    UPLOADS: "Drop these imports.",
    LOGS: "Delete these logs.",
    OTHERS: "These files are not of engrams' making: delete them yourself.",
}
_STALE = re.compile(r"\.(v\d+\.bak|old|rescue|purged|corrupt-[^/]*\.rescued|lost)(-wal|-shm)?$")
_DAMAGED = re.compile(r"\.corrupt-[^/.]*$")
_TEMPORARY = re.compile(r"^engrams-(backup|restore|rescue|purge|look)-")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class HomePurgeDeps:
    """Home folder of a memory, and what cleans its backups and history.

    ``purge_copy``: purges a damaged database that lies aside. ``purge_backup``: purges an archive.
    """

    home: Path
    places: HomePaths
    vault: Vault | None
    purge_copy: Callable[[Path, PurgeOrder], None]
    purge_backup: Callable[[Path, PurgeOrder], None]


class HomeFilePurger:
    """Removes purged words from the files beside a store."""

    def __init__(self, deps: HomePurgeDeps) -> None:
        self._deps = deps

    def clean(self, order: PurgeOrder) -> Mapping[str, int]:
        """Remove a purge's words from every file; number of them by place."""
        search = PurgedWordSearcher((*order.words, *order.ids))
        done = Counter[str]()
        vault = self._deps.vault
        for path, place in self._list_places():
            if (
                place in (COPIES, BACKUPS, UPLOADS)
                and path.exists()
                and self._clean_file(path, place, search, order)
            ):
                done[place] += 1
        if vault is not None:
            vault.settle_purge()
            if order.git:
                done[GIT] = vault.rewrite_history(order)
        return done

    def recall_words(self, ids: Sequence[str], was_said: Callable[[str], bool]) -> tuple[str, ...]:
        """Return what the git history holds of memories that were purged before."""
        return GitHistoryScanner(self._deps.places.vault).find_words(frozenset(ids), was_said)

    def look(self, order: PurgeOrder, live: LiveWords) -> tuple[PurgePlaceCheck, ...]:
        """Look for purged words in the bytes of every file."""
        search = PurgedWordSearcher(order.words, order.short)
        looked = Counter[str]()
        held = dict[str, dict[str, set[bytes]]]()
        for path, place in self._list_places():
            looked[place] += 1
            found = self._find_in(path, place, search)
            if found is None or found:
                held.setdefault(place, {})[self._show(path)] = found or set()
        traces = GitHistoryScanner(self._deps.places.vault)
        looked[GIT], in_git = traces.look(search)
        if in_git:
            held[GIT] = in_git
        known = live(
            sorted(
                {
                    search.origins[needle]
                    for files in held.values()
                    for some in files.values()
                    for needle in some
                }
            )
        )
        places = []
        for place, number in looked.items():
            left = [
                name
                for name, some in held.get(place, {}).items()
                if not some or any(search.origins[n] not in known for n in some)
            ]
            shown = ", ".join(left[:_SHOWN]) + (" …" if len(left) > _SHOWN else "")
            places.append(
                PurgePlaceCheck(
                    place, number, len(left), f"{_ADVICE[place]} ({shown})" if left else ""
                )
            )
        return (*places, *self._look_at_remote())

    def _look_at_remote(self) -> tuple[PurgePlaceCheck, ...]:
        vault = self._deps.vault
        if vault is None or not vault.parts.settings.remote:
            return ()
        told = (
            "The remote may hold the old history: replace it with `git push --force`, and clone"
            " other copies anew."
        )
        return (PurgePlaceCheck(REMOTE, 0, 1, told),)

    def _find_in(self, path: Path, place: str, search: PurgedWordSearcher) -> set[bytes] | None:
        """Find purged words in a file or archive; None: not readable."""
        home = self._deps.home
        if path.name.endswith("-shm"):
            return (
                set()
            )  # numbers of pages; and to close it would give up the locks of the database
        try:
            if place == FILES:
                return search.find_in_file(path, home) | search.find_in_text(path.read_bytes())
            if place != BACKUPS:
                return search.find_in_file(path, home)
            if is_sealed(path):
                return None
            with (
                tempfile.TemporaryDirectory(prefix="engrams-look-", dir=home) as folder,
                file_encryption.open_plain(home, path) as plain,
            ):
                below = Path(folder)
                restore(plain, HomePaths.below(below))
                found = {
                    needle
                    for file in list_files(below)
                    for needle in search.find_in_file(file, below)
                }
                return found.union(*GitHistoryScanner(below / "vault").look(search)[1].values())
        except FileNotFoundError:
            return set()  # another process moved or deleted it meanwhile
        except EngramsError:
            return None

    def _clean_file(
        self, path: Path, place: str, search: PurgedWordSearcher, order: PurgeOrder
    ) -> bool:
        """Clean one file; True where it held words."""
        if place == BACKUPS:
            found = self._find_in(path, place, search)
            if not found or file_encryption.is_sealed(path):
                return False
            self._deps.purge_backup(path, order)
            return True
        if not self._find_in(path, place, search):
            return False
        base = path.with_name(re.sub(r"-(wal|shm)$", "", path.name))
        if place == UPLOADS:
            PurgedWordSearcher(order.words).overwrite(path)
        elif _DAMAGED.search(base.name):
            with contextlib.suppress(EngramsError):
                self._deps.purge_copy(base, order)
            if path.exists():
                PurgedWordSearcher(order.words).overwrite(path)
        elif top := next((one for one in path.parents if _TEMPORARY.search(one.name)), None):
            shutil.rmtree(top, ignore_errors=True)
        else:
            try:
                path.unlink(missing_ok=True)
            except OSError:
                return False  # told by the look that follows
        return True

    def _list_places(self) -> Iterator[tuple[Path, str]]:
        """List the files of home, database and vault, with their places."""
        places = self._deps.places
        beside = [
            path
            for path in places.database.parent.glob(f"{places.database.name}*")
            if path.is_file()
        ]
        files = dict.fromkeys((*list_files(self._deps.home, places.vault), *beside))
        for path in files:
            if not path.is_relative_to(places.vault / ".git" / "objects"):
                yield path, self._find_place(path)

    def _find_place(self, path: Path) -> str:
        places = self._deps.places
        home = self._deps.home
        parts = path.relative_to(home).parts if path.is_relative_to(home) else ()
        if (
            any(_TEMPORARY.search(part) for part in parts)
            or _STALE.search(path.name)
            or _DAMAGED.search(path.name)
        ):
            return COPIES
        if re.search(r"\.corrupt-[^/.]*-(wal|shm)$", path.name) or path.is_relative_to(
            places.vault / ".engrams" / "tmp"
        ):
            return COPIES
        for place, database in ((DATABASE, places.database), (STATE, places.state)):
            if path.parent == database.parent and path.name in (
                database.name,
                f"{database.name}-wal",
                f"{database.name}-shm",
            ):
                return place
        if (
            path.suffix in (".segment", ".new")
            and path.parent.name == f"{places.database.name}.index"
        ):
            return COPIES
        if path.is_relative_to(places.vault):
            return GIT if path.is_relative_to(places.vault / ".git") else FILES
        if parts[:1] in (("uploads",), ("ledgers",), ("logs",)):
            return UPLOADS if parts[0] == "uploads" else LOGS
        return BACKUPS if is_backup(path) or file_encryption.is_sealed(path) else OTHERS

    def _show(self, path: Path) -> str:
        home = self._deps.home
        return str(path.relative_to(home) if path.is_relative_to(home) else path)
