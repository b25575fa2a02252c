"""Scopes whose statements belong together: which ones a new statement may change."""

from __future__ import annotations

from typing import Literal

from engrams.core import Scope
from engrams.ports import ScopeReach

_CONVERSATION_LABELS = frozenset(("conversation", "session", "thread", "chat"))


def durable_scope(scope: Scope) -> Scope:
    """Strip trailing conversation labels from a scope.

    The facts of a person hold across conversations, those of a project within it.
    """
    labels = scope.labels
    while len(labels) > 2 and labels[-2] in _CONVERSATION_LABELS:
        labels = labels[:-2]
    return scope if len(labels) == len(scope.labels) else Scope(labels)


def scopes_in_reach(scope: Scope, reach: Literal["owner", "conversation"] = "owner") -> ScopeReach:
    """Return the scopes whose statements one of this scope may change."""
    if reach == "conversation":
        return ScopeReach(scope.owner, (scope,))
    return ScopeReach(scope.owner, durable_scope(scope).chain(), tree=True)
