"""Notice of process forks for whoever holds locks or connections.

A forked child has the parent's locks in whatever state they were, and its database connections,
which two processes must not share. Listeners register once and are told before and after each fork.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

_listeners: WeakSet[ForkListener] = WeakSet()
_paused: list[ForkListener] = []
"""Listeners that were told of a fork which is under way; they live at least as long as it."""


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


def register(listener: ForkListener) -> None:
    """Notify a listener of every fork while it lives."""
    _listeners.add(listener)


def _pause_all() -> None:
    # Always in the same order: two threads that fork at once cannot deadlock.
    listeners = sorted(_listeners, key=id)
    for listener in listeners:
        listener.before_fork()
    _paused[:] = listeners


def _continue_in_parent() -> None:
    for listener in _take_paused():
        listener.after_fork_in_parent()


def _continue_in_child() -> None:
    for listener in _take_paused():
        listener.after_fork_in_child()


def _take_paused() -> list[ForkListener]:
    listeners = _paused.copy()
    _paused.clear()
    return listeners


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_pause_all,
        after_in_parent=_continue_in_parent,
        after_in_child=_continue_in_child,
    )
