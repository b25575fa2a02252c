"""Progress of a long transfer, as its caller is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the number of pieces done and the number known so far."""
