"""Lock for the one writer."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from types import TracebackType


class WriteLock:
    """Lock whose wait ends early once the work is done by another."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._taken = False

    def acquire(self, settled: Callable[[], bool] | None = None) -> bool:
        """Wait for the lock; False: ``settled`` came true, not acquired."""
        with self._condition:
            while not (done := settled is not None and settled()) and self._taken:
                self._condition.wait()
            self._taken = self._taken or not done
            return not done

    def release(self) -> None:
        """Release the lock and wake all waiters."""
        with self._condition:
            self._taken = False
            self._condition.notify_all()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.release()
