"""Notes of what changed a file and why; the history of the files is made of them.

A note is JSON, kept in the vault's state until the next commit: ``does`` (a verb), and where they
are known ``id`` of the memory, ``why``, ``actor``, ``session``, ``scope`` and ``agent``.
"""

from __future__ import annotations

from engrams.core import Json, Record


def make_change_note(does: str, record: Record, why: str = "", actor: str = "") -> Json:
    """Describe one change of a memory's file."""
    labels = record.scope.labels
    agents = [
        name for label, name in zip(labels[::2], labels[1::2], strict=False) if label == "agent"
    ]
    return {
        "does": does,
        "id": record.id,
        "why": why,
        "actor": actor,
        "session": record.session,
        "scope": record.scope.key,
        "agent": agents[0] if agents else "",
    }
