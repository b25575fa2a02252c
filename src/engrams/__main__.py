"""Run the command `engrams` as ``python -m engrams``."""

from __future__ import annotations

from engrams.program.entry import run

if __name__ == "__main__":
    run()
