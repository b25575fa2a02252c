"""Name of the project that a folder belongs to."""

from __future__ import annotations

import os
from pathlib import Path


def resolve_project(name: str, folder: Path | str) -> str:
    """Resolve ``.`` to the name of a folder's project.

    Its Git root's, else its own; a Git root in the user's home is none. Any other name stays as it
    is. Empty: the folder has none.
    """
    place = Path(folder)
    if name != "." or not place.is_absolute():
        return place.name if name == "." else name
    home = os.path.expanduser("~")  # noqa: PTH111 - Path fails for a user without a home
    above = (each for each in (place, *place.parents) if each.name and str(each) != home)
    return next((each for each in above if os.path.exists(each / ".git")), place).name  # noqa: PTH110 - Path fails at a closed folder
