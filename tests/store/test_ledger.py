"""What models cost, by day."""

from __future__ import annotations

import threading

from engrams.ports import Store


def test_spending_adds_up(store: Store) -> None:
    """Every entry answers with the day's new totals;
    days are apart, and adding nothing only looks.
    """
    assert store.spend("2026-03-01", 0, 0) == (0, 0)
    assert store.spend("2026-03-01", 1, 200) == (1, 200)
    assert store.spend("2026-03-01", 2, -50) == (3, 150)
    assert store.spend("2026-03-02", 1, 7) == (1, 7)
    assert store.spend("2026-03-01", 0, 0) == (3, 150)


def test_old_days_go(store: Store) -> None:
    """The last eight days are kept."""
    for day in range(1, 21):
        store.spend(f"2026-03-{day:02}", 1, 1)
    kept = [day for day in range(1, 21) if store.spend(f"2026-03-{day:02}", 0, 0) == (1, 1)]
    assert kept == list(range(12, 21))


def test_nothing_is_counted_twice_or_lost(store: Store) -> None:
    """Threads that spend at once see every total exactly once."""
    numbers: list[int] = []

    def spend() -> None:
        numbers.extend(store.spend("2026-03-01", 1, 10)[0] for _ in range(20))

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 81))
    assert store.spend("2026-03-01", 0, 0) == (80, 800)


def test_waiting_jobs_can_be_cancelled(store: Store) -> None:
    """A waiting job is dropped; one that runs, and an id of nobody, are left alone."""
    from datetime import UTC, datetime

    from engrams.ports import JobClaim, JobSpec

    now = datetime(2026, 3, 1, tzinfo=UTC)
    first_job, second_job = store.enqueue([JobSpec("extract", "a"), JobSpec("extract", "b")], now)
    claimed = store.claim(JobClaim("w", now, id=first_job))
    assert claimed is not None
    assert store.cancel([first_job, second_job, "nobody"]) == 1
    assert [job.id for job in store.queue()] == [first_job]
    assert store.cancel([]) == 0
    assert store.finish(claimed.lease, now)
