"""The port of checkouts: what a text names of the code, and whether it is still there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from engrams.core.code_anchors import CodeAnchors, CodeVerdict


class CodeReader(Protocol):
    """Reads the checkouts on this machine. It changes nothing and starts no program."""

    def anchor(self, text: str, folder: Path) -> CodeAnchors:
        """Find what a text names of the checkout that a folder belongs to."""
        ...

    def check(
        self,
        memories: Sequence[CodeAnchors | None],
        folder: Path,
        *,
        revision: str = "",
        seconds: float = 0.1,
    ) -> Sequence[CodeVerdict | None]:
        """Compare anchors with a checkout, in order; None: nothing can be said.

        ``revision``: compare with this commit instead of the files of today. ``seconds``: time to look
        where things are now; afterwards it is only told that they are not where they were.
        """
        ...

    def list_changed(self, folder: Path, revision: str) -> frozenset[str]:
        """List the paths that a commit of a checkout changed."""
        ...
