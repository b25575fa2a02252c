"""Name of the project that a folder belongs to."""

from __future__ import annotations

import os
from pathlib import Path


def resolve_project(name: str, folder: Path | str) -> str:
    """Resolve ``.`` to the name of the project that a folder belongs to.

    That is the name of its Git root, else its own. A Git root that is the user's home is ignored.
    Any name but ``.`` stays as it is. Empty: the folder has no name.
    """
    folder = Path(folder)
    if name != ".":
        return name
    if not folder.is_absolute():
        return folder.name
    home = os.path.expanduser("~")  # noqa: PTH111 - Path fails for a user without a home
    for parent in (folder, *folder.parents):
        if parent.name and str(parent) != home and os.path.exists(parent / ".git"):  # noqa: PTH110 - Path fails at a closed folder
            return parent.name
    return folder.name
