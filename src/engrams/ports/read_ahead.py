"""The port that computes pure functions ahead of their use, in other processes where they pay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Tag = TypeVar("Tag")
Input = TypeVar("Input")
Output = TypeVar("Output")


class ReadAhead(Protocol):
    """Caller of a pure function for many inputs."""

    def __call__(
        self,
        call: Callable[[Input], Output],
        inputs: Iterable[tuple[Tag, Input]],
        size: int,
        *,
        apart: bool = False,
    ) -> Iterator[tuple[Tag, Output]]:
        """Yield the tag of each input and its output, in order.

        ``call``: a function of a module, without effects; its inputs and outputs can be pickled.
        Inputs may be read some steps ahead of the output that is yielded. ``size``: number of
        messages in all, by which it decides if other processes pay. ``apart``: leave the work to
        them alone, because whoever computed one input remembers much that the next ones need.
        """
        ...
