"""Console script; hooks skip the slow command parser."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NoReturn


def run() -> NoReturn:
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        sys.exit(import_module("engrams.surfaces.hook.hookrun").main(sys.argv[2:]))
    from engrams.surfaces.cli.main import run as command

    command()


if __name__ == "__main__":
    run()
