"""Completes the package's metadata: the project's addresses, and a description whose links work
outside the repository.

The repository's address is the variable ENGRAMS_REPOSITORY, else that of git's remote `origin`.
Without either the package has no addresses, and its description keeps relative links.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")


class ProjectMetadataHook(MetadataHookInterface):
    """Fills the dynamic fields `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both fields."""
        text = Path(self.root, "README.md").read_text("utf-8")
        address = find_repository(self.root)
        if address:
            tag = f"v{metadata['version']}"
            text = absolute_links(text, address, tag)
            metadata["urls"] = {
                "Repository": address,
                "Documentation": f"{address}/blob/{tag}/docs/index.md",
                "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def find_repository(root: str) -> str:
    """The web address of the repository; empty if nobody names one."""
    given = os.environ.get("ENGRAMS_REPOSITORY", "")
    if not given and (Path(root) / ".git").exists():
        told = subprocess.run(
            ["git", "-C", root, "remote", "get-url", "origin"],
            capture_output=True,
            text=True,
            check=False,
        )
        given = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", told.stdout.strip())
    return given.removesuffix(".git").rstrip("/") if given.startswith("https://") else ""


def absolute_links(text: str, address: str, tag: str) -> str:
    """Markdown whose relative links name the files of a tagged version, pictures their raw form."""
    return _RELATIVE.sub(
        lambda m: f"{m[1]}{m[2]}({address}/{'raw' if m[1] else 'blob'}/{tag}/{m[3]})", text
    )
