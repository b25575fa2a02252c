"""``CheckoutReader``: anchors of texts, and their states, in the checkouts of one home's projects."""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.core.code_anchors import (
    AnchorFinding,
    AnchorState,
    CodeAnchor,
    CodeAnchors,
    CodeVerdict,
)
from engrams.text.text_caches import register_cache

if TYPE_CHECKING:
    from engrams.checkouts.source_trees import CommitTree, WorkTree

_SEARCH_SECONDS = 0.25
"""Time that one text may take to find the files of its symbols."""
_CHECK_SECONDS = 0.1
"""Time that one read may take to find out where things are now."""
_MAX_FINDINGS = 4_096


class FindingCache:
    """States of anchors. Anchors quote memories, so a purge clears it."""

    def __init__(self) -> None:
        self._findings: OrderedDict[tuple[object, ...], AnchorFinding] = OrderedDict()

    def find(self, key: tuple[object, ...]) -> AnchorFinding | None:
        """Find the state of an anchor; None: it was not kept."""
        return self._findings.get(key)

    def keep(self, key: tuple[object, ...], finding: AnchorFinding) -> None:
        """Keep a state, and drop the oldest ones."""
        self._findings[key] = finding
        while len(self._findings) > _MAX_FINDINGS:
            with suppress(KeyError):
                self._findings.popitem(last=False)

    def cache_clear(self) -> None:
        """Drop all states."""
        self._findings.clear()


findings = register_cache(FindingCache())
"""States of anchors while the files, the branch and its commit are the same."""


class CheckoutReader:
    """Reads checkouts. Modules that parse code are loaded with the first text that names some."""

    def anchor(self, text: str, folder: Path) -> CodeAnchors:
        """Find what a text names of the checkout that a folder belongs to."""
        if not _may_name_code(text):
            return CodeAnchors(())
        from engrams.checkouts.anchor_making import AnchorMaker
        from engrams.checkouts.source_trees import ID_DIGITS, open_work_tree

        tree = open_work_tree(folder)
        anchors = AnchorMaker(tree, _SEARCH_SECONDS).make(text)
        if not anchors:
            return CodeAnchors(())
        branch, commit = tree.read_head()
        return CodeAnchors(anchors, branch, commit[:ID_DIGITS])

    def check(
        self,
        memories: Sequence[CodeAnchors | None],
        folder: Path,
        *,
        revision: str = "",
        seconds: float = _CHECK_SECONDS,
    ) -> Sequence[CodeVerdict | None]:
        """Compare anchors with a checkout, in order; None: nothing can be said."""
        if not any(memories):
            return [None] * len(memories)
        from engrams.checkouts.source_trees import open_history, open_work_tree

        tree = open_work_tree(folder)
        if revision:
            with open_history(tree) as history:
                commit = history.open_commit(revision)
                if commit is None:
                    return [None] * len(memories)
                return [_check_at(anchors, commit) for anchors in memories]
        stamp = tree.stamp()
        deadline = time.monotonic() + seconds
        return [
            None
            if anchors is None
            else CodeVerdict(
                tuple(
                    _check_cached(anchor, anchors.branch, tree, stamp, deadline)
                    for anchor in anchors.anchors
                )
            )
            for anchors in memories
        ]

    def list_changed(self, folder: Path, revision: str) -> frozenset[str]:
        """List the paths that a commit of a checkout changed."""
        from engrams.checkouts.source_trees import open_history, open_work_tree

        with open_history(open_work_tree(folder)) as history:
            return history.list_changed(revision)


def _may_name_code(text: str) -> bool:
    """True for a text that has more than prose: nothing else is worth loading a parser for."""
    return any(sign in text for sign in "`/_.()") or any(
        before.islower() and after.isupper() for before, after in itertools.pairwise(text)
    )


def _check_at(anchors: CodeAnchors | None, commit: CommitTree) -> CodeVerdict | None:
    """Compare anchors with the files of a commit, without asking where they went."""
    from engrams.checkouts.anchor_checks import check_plainly

    if anchors is None:
        return None
    return CodeVerdict(tuple(check_plainly(anchor, commit) for anchor in anchors.anchors))


def _check_cached(
    anchor: CodeAnchor, branch: str, tree: WorkTree, stamp: tuple[object, ...], deadline: float
) -> AnchorFinding:
    """Check an anchor, unless that was done with the same files, branch and commit before."""
    paths = (anchor.path, *anchor.more_paths)
    key = (str(tree.root), anchor, branch, stamp, *map(tree.stamp_file, paths))
    finding = findings.find(key)
    if finding is not None:
        return finding
    from engrams.checkouts.anchor_checks import AnchorChecker

    checker = AnchorChecker(tree, tree, branch, deadline)
    finding = checker.check(anchor)
    is_final = checker.is_complete and (finding.state is AnchorState.FRESH or bool(stamp))
    if is_final:
        findings.keep(key, finding)
    return finding
