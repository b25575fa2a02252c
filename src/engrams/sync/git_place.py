"""A git repository as a place: one branch, whose newest commit holds the files.

Devices push at the same time: whoever comes second fetches, puts its files on top and pushes again.
A commit that replaces a file has no parent, so that the branch leads to no earlier version of it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engrams.errors import ExtraError, StoreError
from engrams.installation import install_hint
from engrams.sync.places import PlaceAccess, PlaceFile

try:
    from dulwich.client import Urllib3HttpGitClient, get_transport_and_path
    from dulwich.errors import GitProtocolError, NotGitRepository, ObjectMissing
    from dulwich.file import FileLocked
    from dulwich.gc import garbage_collect
    from dulwich.index import commit_tree
    from dulwich.objects import Blob, Commit
    from dulwich.refs import Ref
    from dulwich.repo import Repo
    from urllib3.exceptions import HTTPError
except ImportError:
    raise ExtraError(
        "A git repository as a place needs the package dulwich.", hint=install_hint("vault")
    ) from None

if TYPE_CHECKING:
    from dulwich.client import GeneratePackDataFunc, GitClient
    from dulwich.objects import ObjectID

_BRANCH = Ref(b"refs/heads/engrams")
_TRIES = 12
_LOOKS = 10
_PAUSE_MS = 300
"""Milliseconds that a device waits at most before it pushes again, times the number of the try."""
_SECONDS = 60.0
"""Seconds that a server may be silent."""
_SSH = "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=20"
_IDENTITY = b"engrams <engrams@localhost>"
_FILE_MODE = 0o100644
_NO_REWRITE = ("non-fast-forward", "denying", "protected branch", "not allowed to force")
"""Words of git where it lets nobody rewrite the branch."""
_SERVER_KEEPS = (
    "The git repository keeps the replaced files, sealed, until `git gc --prune=now` runs there."
)
_HISTORY_KEEPS = "The git repository lets nobody rewrite its branch: its history keeps the replaced files, sealed."


class _MovedOnError(Exception):
    """Another device pushed meanwhile."""


class _NoRewriteError(Exception):
    """The repository refuses a branch that does not lead to its former commit."""


class GitPlace:
    """A branch of a repository, by path, ssh or https; a copy of it lies in the home."""

    def __init__(self, address: str, access: PlaceAccess, cache: Path) -> None:
        self.address = address
        self._cache = cache
        self._client, self._path = _connect(address, access)
        self._tip: ObjectID | None = None
        self._blobs: dict[PlaceFile, ObjectID] | None = None
        """Ids of the files' contents as of the last look; None: nobody looked yet."""
        self._may_rewrite = True

    @property
    def remains(self) -> str:
        return _SERVER_KEEPS if self._may_rewrite else _HISTORY_KEEPS

    def prepare(self) -> None:
        """Do nothing: a branch needs no making, and whoever has the host makes the repository."""

    def list(self) -> frozenset[PlaceFile]:
        with self._open() as repo:
            return frozenset(self._fetch(repo))

    def read(self, file: PlaceFile) -> bytes | None:
        with self._open() as repo:
            blobs = self._fetch(repo) if self._blobs is None else self._blobs
            return repo[blobs[file]].as_raw_string() if file in blobs else None

    def write(self, files: Mapping[PlaceFile, bytes]) -> None:
        self._change(files, frozenset())

    def remove(self, files: Collection[PlaceFile]) -> None:
        self._change({}, frozenset(files))

    def _change(
        self, files: Mapping[PlaceFile, bytes], removed_files: frozenset[PlaceFile]
    ) -> None:
        with self._open() as repo:
            if self._blobs is None:
                self._fetch(repo)
            for number in range(_TRIES):
                try:
                    self._push(repo, _add_blobs(repo, files), removed_files)
                    return
                except _NoRewriteError:
                    self._may_rewrite = False
                except _MovedOnError:
                    _pause(number + 1)
                    self._fetch(repo)
        raise StoreError(
            f"Other devices kept pushing to {self.address}.",
            hint="Repeat it in a minute. If none does, remove refs/heads/engrams.lock there.",
        )

    # ----------------------------------------------------------------------------------------------

    def _fetch(self, repo: Repo) -> Mapping[PlaceFile, ObjectID]:
        """Bring the newest commit here, and note which files it holds."""

        seen_tips: list[ObjectID] = []

        def choose(refs: Mapping[Ref, ObjectID], *_: object, **__: object) -> list[ObjectID]:
            seen_tips[:] = [refs[_BRANCH]] if _BRANCH in refs else []
            return [tip for tip in seen_tips if tip not in repo.object_store]

        for number in range(1, _LOOKS + 1):
            try:
                # The refs that it returns may be later than those it fetched.
                self._client.fetch(self._path, repo, determine_wants=choose)
                break
            except GitProtocolError:
                # Over HTTP a host has forgotten a commit that was replaced between two requests.
                if number == _LOOKS:
                    raise
                _pause(number)
        self._note_tip(repo, seen_tips[0] if seen_tips else None)
        blobs = self._blobs
        assert blobs is not None
        return blobs

    def _note_tip(self, repo: Repo, tip: ObjectID | None) -> None:
        """Note the newest commit; what it does not lead to goes from the copy."""
        if tip is None:
            self._tip, self._blobs = None, {}
            return
        blobs = dict(_iter_blobs(repo, tip))
        is_new_root = tip != repo.refs.read_ref(_BRANCH) and not _load_commit(repo, tip).parents
        repo.refs[_BRANCH] = tip
        if is_new_root:
            garbage_collect(repo, grace_period=0)
        self._tip, self._blobs = tip, blobs

    def _push(
        self,
        repo: Repo,
        added: Mapping[PlaceFile, ObjectID],
        removed_files: frozenset[PlaceFile],
    ) -> None:
        """Push a commit with some files more and others less, if it is not so yet."""
        blobs = self._blobs or {}
        wanted = {file: blob_id for file, blob_id in blobs.items() if file not in removed_files}
        wanted |= added
        if wanted == blobs:
            return
        is_replacing = any(wanted.get(file) != blob_id for file, blob_id in blobs.items())
        parents = [] if self._tip is None or (is_replacing and self._may_rewrite) else [self._tip]
        commit_id = _commit(repo, wanted, parents)

        def update(refs: Mapping[Ref, ObjectID]) -> dict[Ref, ObjectID]:
            if refs.get(_BRANCH) != self._tip:
                raise _MovedOnError
            return {_BRANCH: commit_id}

        pack = cast("GeneratePackDataFunc", repo.generate_pack_data)
        try:
            result = self._client.send_pack(self._path.encode(), update, pack)
        except FileLocked:
            raise _MovedOnError from None
        problem = (result.ref_status or {}).get(_BRANCH)
        if problem:
            if not parents and any(words in problem for words in _NO_REWRITE):
                raise _NoRewriteError
            raise _MovedOnError
        self._note_tip(repo, commit_id)

    @contextmanager
    def _open(self) -> Iterator[Repo]:
        """Open the copy in the home; tell problems of git as StoreError."""
        try:
            if not (self._cache / "HEAD").exists():
                shutil.rmtree(self._cache, ignore_errors=True)
                self._cache.mkdir(mode=0o700, parents=True)
                Repo.init_bare(str(self._cache)).close()
            with Repo(str(self._cache)) as repo:
                yield repo
        except NotGitRepository:
            raise StoreError(
                f"{self.address} is no git repository.",
                hint="Make one: `git init --bare PATH`, or with your git host's page.",
            ) from None
        except (GitProtocolError, HTTPError, OSError) as problem:
            raise StoreError(
                f"The git repository {self.address} cannot be used: {_describe(problem)}.",
                hint="See whether it exists and can be reached and written without a question.",
            ) from problem
        except (KeyError, ObjectMissing, ValueError, FileLocked) as problem:
            # The next use fetches everything anew.
            shutil.rmtree(self._cache, ignore_errors=True)
            self._blobs = None
            raise StoreError(
                f"The branch engrams of {self.address} cannot be read: {_describe(problem)}.",
                hint="Repeat it; if it stays so, use another repository.",
            ) from problem


def _pause(number: int) -> None:
    """Wait as long as no other device that came second at the same time."""
    time.sleep(secrets.randbelow(_PAUSE_MS * number) / 1000)


def _connect(address: str, access: PlaceAccess) -> tuple[GitClient, str]:
    """Make the client of an address, and return the repository's path at its host."""
    options: dict[str, Any] = {"quiet": True}
    location = address.removeprefix("git+")
    if location.startswith(("http://", "https://")):
        if access.password:
            options |= {"username": access.user or "engrams", "password": access.password}
        return Urllib3HttpGitClient(location, timeout=_SECONDS, **options), ""
    ssh_command = os.environ.get("GIT_SSH_COMMAND", _SSH)
    return get_transport_and_path(
        location.removeprefix("file://"), ssh_command=ssh_command, **options
    )


def _load_commit(repo: Repo, commit_id: ObjectID) -> Commit:
    """Load a commit. ValueError: the branch leads to something else."""
    commit = repo[commit_id]
    if not isinstance(commit, Commit):
        raise ValueError("it is no commit")
    return commit


def _iter_blobs(repo: Repo, tip: ObjectID) -> Iterator[tuple[PlaceFile, ObjectID]]:
    """List the files of a commit that have names of a place."""
    for entry in repo.object_store.iter_tree_contents(_load_commit(repo, tip).tree):
        file = PlaceFile.parse(entry.path.decode("utf-8", "replace"))
        if file is not None and entry.mode == _FILE_MODE:
            yield file, entry.sha


def _add_blobs(repo: Repo, files: Mapping[PlaceFile, bytes]) -> dict[PlaceFile, ObjectID]:
    """Write contents into the copy. Before each push: a look at the branch may clear them away."""
    blobs = {file: Blob.from_string(data) for file, data in files.items()}
    for blob in blobs.values():
        repo.object_store.add_object(blob)
    return {file: blob.id for file, blob in blobs.items()}


def _commit(
    repo: Repo, blobs: Mapping[PlaceFile, ObjectID], parents: Sequence[ObjectID]
) -> ObjectID:
    """Write a commit with these files into the copy; return its id."""
    commit = Commit()
    commit.tree = commit_tree(
        repo.object_store,
        [(file.path.encode(), blob_id, _FILE_MODE) for file, blob_id in sorted(blobs.items())],
    )
    commit.parents = list(parents)
    commit.author = commit.committer = _IDENTITY
    commit.author_time = commit.commit_time = int(time.time())
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"engrams\n"
    repo.object_store.add_object(commit)
    return commit.id


def _describe(problem: Exception) -> str:
    return " ".join(str(problem).split())[:300] or type(problem).__name__
