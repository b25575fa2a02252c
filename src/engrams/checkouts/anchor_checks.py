"""Checking of anchors against a checkout: fresh, moved, drifted, gone, or on another branch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engrams.checkouts.anchor_making import AnchorMaker, strip_quotes
from engrams.checkouts.file_outlines import Definition, FileOutline
from engrams.checkouts.source_trees import (
    GitHistory,
    SourceTree,
    WorkTree,
    open_history,
    outline_bytes,
)
from engrams.core.code_anchors import AnchorFinding, AnchorState, CodeAnchor

_SIMILAR = 0.5
"""Share of common lines from which a file counts as the renamed one."""
_MAX_COMPARED = 200
"""Files that are compared with one that is gone."""
_LEAST_LINES = 3


@dataclass(slots=True)
class AnchorChecker:
    """Checks anchors against one tree of files."""

    tree: SourceTree
    work_tree: WorkTree
    branch: str
    """Branch on which the memory was made."""
    deadline: float
    """Time (``time.monotonic``) until which it is looked where something is now; afterwards it is
    only told that it is not there.
    """
    is_complete: bool = True
    """False: there was no time to look everywhere."""

    def check(self, anchor: CodeAnchor) -> AnchorFinding:
        """Return the state of an anchor."""
        finding = check_plainly(anchor, self.tree)
        if finding.state is AnchorState.FRESH:
            return finding
        is_present = self.tree.has(anchor.path)
        with open_history(self.work_tree) as history:
            new_path = self._find_moved(anchor, history, is_present=is_present)
            if new_path:
                name = f"`{anchor.symbol}`" if is_present and anchor.symbol else anchor.path
                reason = f"{name} is now in {new_path}"
                return AnchorFinding(anchor, AnchorState.MOVED, reason)
            branch = self._find_branch(anchor, history)
        if branch:
            reason = f"{anchor.path} is so on the branch {branch} only"
            return AnchorFinding(anchor, AnchorState.ELSEWHERE, reason)
        return finding

    def _is_late(self) -> bool:
        is_late = time.monotonic() > self.deadline
        self.is_complete = self.is_complete and not is_late
        return is_late

    def _find_moved(self, anchor: CodeAnchor, history: GitHistory, *, is_present: bool) -> str:
        """Find the file that has now what the anchor names; empty for none."""
        if not is_present:
            renamed = self._find_renamed(anchor, history)
            if renamed and not find_problem(anchor, self.tree, renamed):
                return renamed
        if anchor.role in ("file", "mentions"):
            return ""
        if self._is_late():
            return ""
        maker = AnchorMaker(self.tree, max(self.deadline - time.monotonic(), 0.0))
        # A file that defined the symbol beside the anchor's own is no new home of it.
        paths = [
            path
            for path, _ in maker.find_defining(anchor.symbol)
            if path != anchor.path and not find_problem(anchor, self.tree, path)
        ]
        return paths[0] if len(paths) == 1 else ""

    def _find_renamed(self, anchor: CodeAnchor, history: GitHistory) -> str:
        """Find the new path of a file that is gone: the same content, else a similar one."""
        listing = self.tree.list_files()
        if not anchor.blob:
            return self._find_renamed_folder(anchor, listing)
        for path, blob in listing.items():
            if blob.startswith(anchor.blob):
                return path
        before = history.read_blob(anchor.blob)
        if not before:
            return ""
        lines = _to_lines(before)
        if len(lines) < _LEAST_LINES:
            return ""
        name = anchor.path.rsplit("/", 1)[-1]
        extension = name.rsplit(".", 1)[-1]
        # Files of the same name are looked at first.
        candidates = sorted(
            (path for path in listing if path.endswith(f".{extension}")),
            key=lambda path: not path.endswith(f"/{name}"),
        )
        best, best_share = "", _SIMILAR
        for path in candidates[:_MAX_COMPARED]:
            if self._is_late():
                break
            share = _share_lines(lines, _to_lines(self.tree.read_bytes(path)))
            if share > best_share:
                best, best_share = path, share
        return best

    def _find_renamed_folder(self, anchor: CodeAnchor, listing: Iterable[str]) -> str:
        """Find the only folder of the same name."""
        name = anchor.path.rstrip("/").rsplit("/", 1)[-1]
        folders = {
            path[: path.index(f"/{name}/") + len(name) + 1]
            for path in listing
            if f"/{name}/" in path
        }
        return folders.pop() if len(folders) == 1 else ""

    def _find_branch(self, anchor: CodeAnchor, history: GitHistory) -> str:
        """Find a branch on which the anchor holds, and which is not merged into the one at hand."""
        own = self.work_tree.read_head()[0]
        for name, tree in history.iter_branches(self.branch):
            if name == own:
                continue
            if self._is_late():
                break
            if not find_problem(anchor, tree, anchor.path) and not history.is_behind_head(name):
                return name
        return ""


def check_plainly(anchor: CodeAnchor, tree: SourceTree) -> AnchorFinding:
    """Return the state of an anchor in a tree, without looking where it went."""
    problems = [find_problem(anchor, tree, path) for path in (anchor.path, *anchor.more_paths)]
    if not all(problems):
        return AnchorFinding(anchor, AnchorState.FRESH)
    state = AnchorState.DRIFTED if tree.has(anchor.path) else AnchorState.GONE
    return AnchorFinding(anchor, state, problems[0])


def find_problem(anchor: CodeAnchor, tree: SourceTree, path: str) -> str:
    """Say what a file lacks of an anchor; empty if it has everything."""
    if anchor.role == "file":
        return "" if tree.has(path) else f"{path} is gone"
    outline = tree.outline(path)
    if outline is None:
        return f"{path} is gone"
    if not outline.text and not outline.definitions:
        # Too large or binary by now: nothing can be said against it.
        return ""
    if anchor.role == "mentions":
        if outline.mentions(anchor.symbol.rsplit(".", 1)[-1]):
            return ""
        return f"{path} no longer has `{anchor.symbol}`"
    definitions = outline.find(anchor.symbol)
    if not definitions:
        return _tell_undefined(anchor, outline, path)
    if anchor.role == "argument":
        if any(anchor.detail in (item.arguments or ()) for item in definitions):
            return ""
        return f"`{anchor.symbol}` in {path} no longer takes `{anchor.detail}`"
    if anchor.role == "value":
        return _compare_value(anchor, definitions, path)
    return ""


def _tell_undefined(anchor: CodeAnchor, outline: FileOutline, path: str) -> str:
    verb = "defines" if outline.mentions(anchor.symbol.rsplit(".", 1)[-1]) else "has"
    return f"{path} no longer {verb} `{anchor.symbol}`"


def _compare_value(anchor: CodeAnchor, definitions: Sequence[Definition], path: str) -> str:
    values = [strip_quotes(item.value) for item in definitions if item.value]
    if anchor.detail in values:
        return ""
    now = f" is now {values[0]}" if values else " has no such value any more"
    return f"`{anchor.symbol}` in {path}{now}"


def _to_lines(data: bytes) -> frozenset[str]:
    text = outline_bytes("", data).text if b"\0" not in data[:8_000] else ""
    return frozenset(line.strip() for line in text.splitlines() if len(line.strip()) > 3)


def _share_lines(before: frozenset[str], after: frozenset[str]) -> float:
    union = len(before | after)
    return len(before & after) / union if union else 0.0
