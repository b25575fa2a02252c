"""Fingerprints of memory injected into prompts, to recognise its echo.

The processes of a server share them. A turn that echoes some of it is stored with the shared
fingerprints, and extraction, in any process, leaves those pieces out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from engrams.core import MESSAGE_KINDS, Context, Kind, Record, Scope, Status
from engrams.core.process_peers import ProcessPeers
from engrams.extract.echo_removal import find_echoes, fingerprint_pieces
from engrams.ports import RecordStore
from engrams.text.text_caches import text_cache

_MAX_OWNERS = 1000
_MAX_OF_OWNER = 2000
"""Owners, and fingerprints of each, kept at most; the oldest go first."""
_TURN_PREFIX = "turn:"
"""Marks the id of a message, or of a space's memory: a user may say it, and that is news."""


class InjectedContextFingerprints:
    """Fingerprints of memory in prompts by owner, each with a memory's id. Thread safe."""

    def __init__(self, peers: ProcessPeers) -> None:
        self._lock = Lock()
        self._owners: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()
        self._tell_peers = peers.share("injected", self._keep)

    def add_context(self, scope: Scope, context: Context) -> None:
        """Fingerprint a context that goes into a prompt."""
        # A line of the prompt belongs to no memory: its id is empty.
        ids = dict.fromkeys(
            (mark for line in context.text.splitlines() for mark in _fingerprint_line(line)), ""
        )
        for hit in context.hits:
            # What a space holds is news if the user says it, too.
            is_own = hit.record.scope.owner == scope.owner
            is_news = hit.record.kind in MESSAGE_KINDS or not is_own
            prefix = _TURN_PREFIX if is_news else ""
            ids |= dict.fromkeys(fingerprint_pieces(hit.record.text), prefix + hit.record.id)
        if ids:
            self._keep(scope.owner.key, ids)
            self._tell_peers(scope.owner.key, ids)

    def find_shared(self, record: Record, store: RecordStore) -> tuple[str, ...]:
        """Return fingerprints that a turn shares with injected, still active memory."""
        with self._lock:
            injected = dict(self._owners.get(record.scope.owner.key, ()))
        if not injected or record.kind not in (Kind.TURN, Kind.EXCHANGE):
            return ()
        shared = find_echoes(record.text, injected)
        if not shared:
            return ()
        ids = [injected[mark].removeprefix(_TURN_PREFIX) for mark in shared if injected[mark]]
        active_ids = {
            memory.id
            for memory in store.get(record.scope.owner, ids)
            if memory.status is Status.ACTIVE
        }
        return tuple(mark for mark in shared if _is_echo(injected[mark], record.role, active_ids))

    def _keep(self, owner_key: str, ids: Mapping[str, str]) -> None:
        """Keep fingerprints of an owner. ``ids``: of memories, by fingerprint."""
        with self._lock:
            of_owner = self._owners.setdefault(owner_key, OrderedDict())
            self._owners.move_to_end(owner_key)
            for mark, memory_id in ids.items():
                of_owner[mark] = memory_id
                of_owner.move_to_end(mark)
            while len(of_owner) > _MAX_OF_OWNER:
                of_owner.popitem(last=False)
            while len(self._owners) > _MAX_OWNERS:
                self._owners.popitem(last=False)


@text_cache(2048)
def _fingerprint_line(line: str) -> frozenset[str]:
    """Fingerprint a line, cached: profile lines recur in every prompt."""
    return fingerprint_pieces(line)


def _is_echo(memory_id: str, role: str, active_ids: set[str]) -> bool:
    """True if a turn of this role that says a piece of a memory only repeats it."""
    if not memory_id:
        return True
    if memory_id.startswith(_TURN_PREFIX):
        return role != "user"
    return memory_id in active_ids
