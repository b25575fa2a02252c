"""What memory put into prompts lately, as fingerprints: so that it is not taken for something said. This process only.

A turn that echoes some of it is journaled with the fingerprints it shares, and whoever learns from it later, here or elsewhere,
leaves those pieces out.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from engrams.ports import Records
from engrams.text.cache import memo
from engrams.types import Context, Kind, Record, Scope, Status
from engrams.write.echo import find_echoes, fingerprint_pieces

_OWNERS, _EACH = 1000, 2000
"""Owners, and fingerprints of each, that are remembered; the oldest is let go first."""


class InjectedFingerprints:
    """By owner: fingerprint -> the memory it is of (empty: a line of a prompt). Thread safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._owners: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()

    def add_context(self, scope: Scope, given: Context) -> None:
        """A prompt is given this."""
        found = dict.fromkeys((mark for line in given.text.splitlines() for mark in _fingerprint_line(line)), "")
        for hit in given.hits:
            # What somebody said may be said again by them: that is news. What was made of it is nobody's words.
            said = "turn:" if hit.record.kind in (Kind.TURN, Kind.EXCHANGE, Kind.NOTE) else ""
            found |= dict.fromkeys(fingerprint_pieces(hit.record.text), said + hit.record.id)
        if not found:
            return
        with self._lock:
            kept = self._owners.setdefault(scope.owner.key, OrderedDict())
            self._owners.move_to_end(scope.owner.key)
            for mark, name in found.items():
                kept[mark] = name
                kept.move_to_end(mark)
            while len(kept) > _EACH:
                kept.popitem(last=False)
            while len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)

    def find_shared(self, record: Record, store: Records) -> tuple[str, ...]:
        """The fingerprints that a turn shares with what was given; none of what is no longer so, which is news if it is said."""
        with self._lock:
            known = dict(self._owners.get(record.scope.owner.key, ()))
        if not known or record.kind not in (Kind.TURN, Kind.EXCHANGE):
            return ()
        shared = find_echoes(record.text, known)
        if not shared:
            return ()
        ids = [known[mark].removeprefix("turn:") for mark in shared if known[mark]]
        active = {one.id for one in store.get(record.scope.owner, ids) if one.status is Status.ACTIVE}
        return tuple(mark for mark in shared if _is_echo(known[mark], record.role, active))


@memo(2048)
def _fingerprint_line(line: str) -> frozenset[str]:
    """A profile's lines come again in every prompt."""
    return fingerprint_pieces(line)


def _is_echo(name: str, role: str, active: set[str]) -> bool:
    if not name:
        return True
    if name.startswith("turn:"):
        return role != "user"
    return name in active
