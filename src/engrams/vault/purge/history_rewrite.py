"""Rewrite the git history of the files without purged words.

A new repository is written beside the old one with git's own export and import, and takes its place
at the end: a run that is cut short leaves the history as it was.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from engrams.errors import ExtraError, StoreError
from engrams.ports import PurgeOrder
from engrams.vault.purge.history_redactor import GitHistoryRedactor, HeadFiles

_WORK = ".engrams/rewrite"
"""Folder in the vault with ``new`` (being written), ``ready`` (complete) and ``old``."""
_EXPORT = (
    "fast-export",
    "--all",
    "--reencode=no",
    "--signed-tags=strip",
    "--tag-of-filtered-object=rewrite",
    "--show-original-ids",
)
_NO_HISTORY = ("config", "description", "HEAD", "hooks", "info")
"""Files and folders of a repository that hold no history; they are copied."""
_HINT = "The history is unchanged. Check it with `git fsck`, and purge again."


def rewrite_history(root: Path, order: PurgeOrder) -> int:
    """Replace a vault's repository by one without purged words; return 1, or 0 without a history.

    Call with the vault's lock held and everything committed. ExtraError: there is no git program.
    StoreError: git failed; the history is as it was.
    """
    finish_rewrite(root)
    old = root / ".git"
    work = root / _WORK
    if not old.is_dir():
        return 0
    program = shutil.which("git")
    if program is None:
        raise ExtraError(
            "Rewriting the history needs the git program.",
            hint="Install git, or delete `.git` in the vault.",
        )
    shutil.rmtree(work, ignore_errors=True)
    new = work / "new"
    git = _GitProgram(program, root)
    try:
        if not git.run(old, "rev-list", "--all", "-n1").strip():
            return 0
        git.run(None, "init", "--quiet", "--bare", str(new))
        git.copy_history(old, new, GitHistoryRedactor(order, _list_head_files(git, old)))
        for name in _NO_HISTORY:
            if (old / name).is_dir():
                shutil.copytree(old / name, new / name, dirs_exist_ok=True)
            elif (old / name).exists():
                shutil.copyfile(old / name, new / name)
        git.run(new, "read-tree", "HEAD")
        # A run that is cut short is undone before this rename, and finished after it.
        new.rename(work / "ready")
    except StoreError:
        shutil.rmtree(work, ignore_errors=True)
        raise
    finish_rewrite(root)
    return 1


def finish_rewrite(root: Path) -> None:
    """Finish or undo a rewriting that was cut short."""
    old = root / ".git"
    work = root / _WORK
    if not work.exists():
        return
    ready = work / "ready"
    aside = work / "old"
    if ready.exists() and old.exists() and not aside.exists():
        old.rename(aside)
    if ready.exists() and not old.exists():
        ready.rename(old)
    shutil.rmtree(work, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _GitProgram:
    """Runner of git in a vault's folder."""

    program: str
    root: Path

    def run(self, git_dir: Path | None, *arguments: str) -> bytes:
        """Run git; return its output. StoreError: it failed."""
        result = subprocess.run(  # noqa: S603 - our own arguments
            self._command(git_dir, *arguments), cwd=self.root, capture_output=True, check=False
        )
        if result.returncode:
            message = " ".join(result.stderr.decode("utf-8", "replace").split())[-300:]
            raise StoreError(f"git {arguments[0]}: {message}", hint=_HINT)
        return result.stdout

    def copy_history(self, old: Path, new: Path, redactor: GitHistoryRedactor) -> None:
        """Copy a history into an empty repository, filtered."""
        export = subprocess.Popen(  # noqa: S603 - our own arguments
            self._command(old, *_EXPORT), cwd=self.root, stdout=subprocess.PIPE
        )
        take_in = subprocess.Popen(  # noqa: S603 - our own arguments
            self._command(new, "fast-import", "--quiet", "--force"),
            cwd=self.root,
            stdin=subprocess.PIPE,
        )
        assert export.stdout is not None
        assert take_in.stdin is not None
        try:
            with export.stdout as source, take_in.stdin as target:
                redactor.run(source, target)
        except OSError as problem:
            raise StoreError(f"git: {problem.strerror}.", hint=_HINT) from None
        finally:
            codes = export.wait(), take_in.wait()
        if any(codes):
            raise StoreError("git could not copy the history.", hint=_HINT)

    def _command(self, git_dir: Path | None, *arguments: str) -> list[str]:
        options = [f"--git-dir={git_dir}", f"--work-tree={self.root}"] if git_dir else []
        return [self.program, *options, "-c", "core.quotepath=false", *arguments]


def _list_head_files(git: _GitProgram, git_dir: Path) -> HeadFiles:
    """List the files of the newest commit."""
    lines = git.run(git_dir, "ls-tree", "-r", "-z", "HEAD").split(b"\0")[:-1]
    entries = [line.partition(b"\t") for line in lines]
    return HeadFiles(
        # An entry is "mode type name", a tab, and the path.
        blobs=frozenset(head.split()[2] for head, _, _ in entries),
        paths=frozenset(path for _, _, path in entries),
    )
