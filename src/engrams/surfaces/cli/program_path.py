"""Path of the program itself, for other programs that start it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def find_program() -> Path:
    """Find the absolute path of the command.

    What starts it may have another PATH.
    """
    program = (
        shutil.which(sys.argv[0])
        if Path(sys.argv[0]).stem == "engrams"
        else shutil.which("engrams")
    )
    return Path(program or Path(sys.executable).with_name("engrams")).absolute()
