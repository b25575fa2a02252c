"""Handling of process forks while a store is open."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

_listeners: WeakSet[ForkListener] = WeakSet()
_held: list[ForkListener] = []


class ForkListener(Protocol):
    """Holder of locks or connections that a child must not share."""

    def before_fork(self) -> None:
        """Finish current work and let nothing new begin."""
        ...

    def after_fork_in_parent(self) -> None:
        """Continue in the parent."""
        ...

    def after_fork_in_child(self) -> None:
        """Start anew in the child without touching the parent's resources."""
        ...


def register(one: ForkListener) -> None:
    """Notify ``one`` of every fork while it lives."""
    _listeners.add(one)


def _before_fork() -> None:
    # Always in the same order: two threads that fork at once cannot deadlock.
    held = sorted(_listeners, key=id)
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
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
