"""Forking a process that has a store open."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class ForkListener(Protocol):
    """Something with locks or connections that a child process must not share half-way through an operation."""

    def before_fork(self) -> None:
        """Before a fork: finish what is under way and let nothing new begin."""
        ...

    def after_fork_in_parent(self) -> None:
        """After it, in the parent: go on."""
        ...

    def after_fork_in_child(self) -> None:
        """After it, in the child: start anew without touching what is the parent's."""
        ...


_watched: WeakSet[ForkListener] = WeakSet()
_held: list[ForkListener] = []


def register(one: ForkListener) -> None:
    """Tell ``one`` about every fork from now on, as long as it lives."""
    _watched.add(one)


def _before_fork() -> None:
    # In one order, so that two threads that fork at once cannot wait for each other.
    held = sorted(_watched, key=id)
    for one in held:
        one.before_fork()
    _held[:] = held


def _take_held() -> list[ForkListener]:
    held = _held.copy()
    _held.clear()
    return held


def _after_in_parent() -> None:
    for one in _take_held():
        one.after_fork_in_parent()


def _after_in_child() -> None:
    for one in _take_held():
        one.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
