"""Fingerprints of memory injected into prompts, to recognise its echo.

The processes of a server share them. A turn that echoes some of it is stored with the shared
fingerprints, and extraction, in any process, leaves those pieces out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from engrams.core import Context, Kind, Record, Scope, Status
from engrams.core.process_peers import ProcessPeers
from engrams.extract.echo_removal import find_echoes, fingerprint_pieces
from engrams.ports import RecordStore
from engrams.text.text_caches import text_cache

_OWNERS = 1000
_EACH = 2000
"""Owners, and fingerprints of each, kept at most; oldest evicted first."""


class InjectedContextFingerprints:
    """Fingerprints by owner, with memory ids (empty: a line). Thread safe."""

    def __init__(self, peers: ProcessPeers | None = None) -> None:
        self._lock = Lock()
        self.peers = peers or ProcessPeers()
        self._owners: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()
        self._tell = self.peers.share("injected", self._keep)

    def add_context(self, scope: Scope, given: Context) -> None:
        """Fingerprint a context that goes into a prompt."""
        found = dict.fromkeys(
            (mark for line in given.text.splitlines() for mark in _fingerprint_line(line)), ""
        )
        for hit in given.hits:
            # Users may repeat their own turns: that is news. Repeated statements are echoes.
            said = "turn:" if hit.record.kind in (Kind.TURN, Kind.EXCHANGE, Kind.NOTE) else ""
            found |= dict.fromkeys(fingerprint_pieces(hit.record.text), said + hit.record.id)
        if found:
            self._keep(scope.owner.key, found)
            self._tell(scope.owner.key, found)

    def _keep(self, owner: str, found: Mapping[str, str]) -> None:
        with self._lock:
            kept = self._owners.setdefault(owner, OrderedDict())
            self._owners.move_to_end(owner)
            for mark, name in found.items():
                kept[mark] = name
                kept.move_to_end(mark)
            while len(kept) > _EACH:
                kept.popitem(last=False)
            while len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)

    def find_shared(self, record: Record, store: RecordStore) -> tuple[str, ...]:
        """Return fingerprints that a turn shares with injected, still active memory."""
        with self._lock:
            known = dict(self._owners.get(record.scope.owner.key, ()))
        if not known or record.kind not in (Kind.TURN, Kind.EXCHANGE):
            return ()
        shared = find_echoes(record.text, known)
        if not shared:
            return ()
        ids = [known[mark].removeprefix("turn:") for mark in shared if known[mark]]
        active = {
            one.id for one in store.get(record.scope.owner, ids) if one.status is Status.ACTIVE
        }
        return tuple(mark for mark in shared if _is_echo(known[mark], record.role, active))


@text_cache(2048)
def _fingerprint_line(line: str) -> frozenset[str]:
    """Fingerprint a line, cached: profile lines recur in every prompt."""
    return fingerprint_pieces(line)


def _is_echo(name: str, role: str, active: set[str]) -> bool:
    if not name:
        return True
    if name.startswith("turn:"):
        return role != "user"
    return name in active
