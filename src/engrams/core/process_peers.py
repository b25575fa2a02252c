"""Tables that the worker processes of one server share, in memory.

``ipc.worker_links`` connects the processes; in a single process the tables are its own.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeAlias

PublishFunction: TypeAlias = Callable[..., None]
"""Sends its arguments to the same part of the other processes."""
SendFunction: TypeAlias = Callable[[str, tuple[Any, ...]], None]
"""Sends a part's name and arguments to the other processes."""

_MAX_EARLY = 1000
"""Messages that wait for a part of this process that is not made yet, at most."""


class SharedTable:
    """Bounded table with the same rows in all processes of a server. Thread safe.

    Processes hear of a change a little later, and a row that two set at once may differ.
    """

    def __init__(self, peers: ProcessPeers, name: str, max_rows: int) -> None:
        self._lock = Lock()
        self._rows = OrderedDict[Any, Any]()
        self._max_rows = max_rows
        self._publish = peers.share(name, self._apply)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return a row's value."""
        with self._lock:
            return self._rows.get(key, default)

    def put(self, key: Any, value: Any) -> None:
        """Set a row; drop the oldest where there are too many."""
        self._apply(key, value)
        self._publish(key, value)

    def pop(self, key: Any, default: Any = None) -> Any:
        """Remove and return a row."""
        with self._lock:
            if key not in self._rows:
                return default
            value = self._rows.pop(key)
        self._publish(key)
        return value

    def clear(self) -> None:
        """Remove all rows, here and in the other processes."""
        self._apply()
        self._publish()

    def _apply(self, *entry: Any) -> None:
        """Set (key, value), remove (key), or remove everything ()."""
        with self._lock:
            match entry:
                case (key, value):
                    self._rows[key] = value
                    self._rows.move_to_end(key)
                    while len(self._rows) > self._max_rows:
                        self._rows.popitem(last=False)
                case (key,):
                    self._rows.pop(key, None)
                case _:
                    self._rows.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._rows)


class ProcessPeers:
    """The other processes of this server; none until ``connect``.

    They share facts that are no memory and must not be on disk: memories that a conversation was
    shown, the next request of a thread, rates of requests.
    """

    def __init__(self) -> None:
        self._send: SendFunction | None = None
        self._send_later: SendFunction | None = None
        self._parts: dict[str, Callable[..., object]] = {}
        self._early_messages: dict[str, deque[tuple[Any, ...]]] = {}
        self._tables: dict[str, SharedTable] = {}
        self._lock = Lock()

    def connect(self, send: SendFunction, later: SendFunction | None = None) -> None:
        """Send messages to the other processes from now on.

        ``later``: sends a message that can wait, together with others.
        """
        self._send = send
        self._send_later = later or send

    def table(self, name: str, max_rows: int = 10_000) -> SharedTable:
        """Return the table of a name; the first call decides how many rows it may have."""
        if name not in self._tables:
            self._tables[name] = SharedTable(self, name, max_rows)
        return self._tables[name]

    def share(
        self, name: str, apply: Callable[..., object], *, can_wait: bool = False
    ) -> PublishFunction:
        """Join the parts of this name in all processes.

        ``apply`` is called with the arguments that another process published. Returns a function
        that publishes. ``can_wait``: messages may wait for some tenths of a second, while this
        process has requests to answer.
        """
        with self._lock:
            self._parts[name] = apply
            early_messages = self._early_messages.pop(name, ())
        for values in early_messages:
            apply(*values)

        def publish(*values: Any) -> None:
            send = self._send_later if can_wait else self._send
            if send is not None:
                send(name, values)

        return publish

    def is_waiting(self, name: str) -> bool:
        """Return True where messages wait for a part that this process has not made yet."""
        return name in self._early_messages

    def receive(self, name: str, values: tuple[Any, ...]) -> None:
        """Apply a message from another process."""
        with self._lock:
            apply = self._parts.get(name)
            if apply is None:
                self._early_messages.setdefault(name, deque(maxlen=_MAX_EARLY)).append(values)
                return
        apply(*values)
