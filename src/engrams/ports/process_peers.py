"""Tables that the processes of one server share, in memory."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeAlias

TellFunction: TypeAlias = Callable[..., None]
SendFunction: TypeAlias = Callable[[str, tuple[Any, ...]], None]

_MOST_EARLY = 1000
"""Messages kept for a part of this process that does not exist yet, at most."""


class SharedTable:
    """Bounded table that all processes of a server have. Thread safe."""

    def __init__(self, peers: ProcessPeers, name: str, most: int) -> None:
        self._lock = Lock()
        self._rows = OrderedDict[Any, Any]()
        self._most = most
        self._tell = peers.share(name, self._apply)

    def get(self, key: Any, default: Any = None) -> Any:
        with self._lock:
            return self._rows.get(key, default)

    def put(self, key: Any, value: Any) -> None:
        """Set an entry; the oldest goes where there are too many."""
        self._apply(key, value)
        self._tell(key, value)

    def pop(self, key: Any, default: Any = None) -> Any:
        """Remove and return an entry."""
        with self._lock:
            if key not in self._rows:
                return default
            found = self._rows.pop(key)
        self._tell(key)
        return found

    def clear(self) -> None:
        """Remove all entries, here and in the other processes."""
        self._apply()
        self._tell()

    def _apply(self, *entry: Any) -> None:
        """Set (key, value), remove (key), or remove everything ()."""
        with self._lock:
            match entry:
                case (key, value):
                    self._rows[key] = value
                    self._rows.move_to_end(key)
                    while len(self._rows) > self._most:
                        self._rows.popitem(last=False)
                case (key,):
                    self._rows.pop(key, None)
                case _:
                    self._rows.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._rows)


class ProcessPeers:
    """Other processes of this server; none until ``connect``.

    They share what is no memory and must not be on disk: who was shown what, whose request is the
    next of a thread, rates of requests.
    """

    def __init__(self) -> None:
        self._send: SendFunction | None = None
        self._send_later: SendFunction | None = None
        self._parts: dict[str, Callable[..., object]] = {}
        self._early: dict[str, deque[tuple[Any, ...]]] = {}
        self._tables: dict[str, SharedTable] = {}
        self._lock = Lock()

    def connect(self, send: SendFunction, later: SendFunction | None = None) -> None:
        """Tell the other processes through ``send`` from now on.

        ``later``: sends what can wait, together with more.
        """
        self._send = send
        self._send_later = later or send

    def table(self, name: str, most: int = 10_000) -> SharedTable:
        """Return the table of a name, of at most so many entries."""
        if name not in self._tables:
            self._tables[name] = SharedTable(self, name, most)
        return self._tables[name]

    def share(
        self, name: str, apply: Callable[..., object], *, can_wait: bool = False
    ) -> TellFunction:
        """Call ``apply`` with what others tell; returns what tells them.

        ``can_wait``: while this process has other requests to answer, for some tenths of a second.
        """
        with self._lock:
            self._parts[name] = apply
            early = self._early.pop(name, ())
        for values in early:
            apply(*values)

        def tell(*values: Any) -> None:
            send = self._send_later if can_wait else self._send
            if send is not None:
                send(name, values)

        return tell

    def is_waiting(self, name: str) -> bool:
        """Return True where others told something that nobody here takes yet."""
        return name in self._early

    def receive(self, name: str, values: tuple[Any, ...]) -> None:
        """Take in what another process told."""
        with self._lock:
            apply = self._parts.get(name)
            if apply is None:
                self._early.setdefault(name, deque(maxlen=_MOST_EARLY)).append(values)
                return
        apply(*values)
