"""Forking a process that has a store open."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Held(Protocol):
    """Something with locks or connections that a child process must not share half-way through an operation."""

    def hold(self) -> None:
        """Before a fork: finish what is under way and let nothing new begin."""
        ...

    def release(self) -> None:
        """After it, in the parent: go on."""
        ...

    def revive(self) -> None:
        """After it, in the child: start anew without touching what is the parent's."""
        ...


_watched: WeakSet[Held] = WeakSet()
_held: list[Held] = []


def watch(one: Held) -> None:
    """Tell ``one`` about every fork from now on, as long as it lives."""
    _watched.add(one)


def _before() -> None:
    # In one order, so that two threads that fork at once cannot wait for each other.
    held = sorted(_watched, key=id)
    for one in held:
        one.hold()
    _held[:] = held


def _take() -> list[Held]:
    held = _held.copy()
    _held.clear()
    return held


def _in_parent() -> None:
    for one in _take():
        one.release()


def _in_child() -> None:
    for one in _take():
        one.revive()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
