"""Computing pure functions ahead of their use, elsewhere where there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Kept = TypeVar("Kept")
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class ReadAhead(Protocol):
    """Caller of a pure function for many inputs."""

    def __call__(
        self,
        call: Callable[[Asked], Answer],
        inputs: Iterable[tuple[Kept, Asked]],
        size: int,
        *,
        apart: bool = False,
    ) -> Iterator[tuple[Kept, Answer]]:
        """Yield what was kept beside each input, and its answer, in order.

        ``call``: a function of a module, without effects; inputs and answers can be pickled. Inputs
        may be read some steps ahead of what is yielded. ``size``: messages in all, which tells if
        helpers pay. ``apart``: whoever computed one input remembers much of what the next ones
        need, so that this process keeps out of it.
        """
        ...
