"""Behind a pooler that hands every transaction to another connection nothing is missed, and nothing
is left behind.
"""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg
import pytest
from tests.store import postgres
from tests.store.pooler import CONNECTIONS

import engrams
from engrams import Turn
from engrams.core import Kind
from engrams.errors import StoreError

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]


@pytest.fixture
def url() -> str:
    return postgres.pooled(postgres.empty_database())


@pytest.mark.slow
def test_memory_behind_a_pooler(home: Path, url: str) -> None:
    """Several threads add, search often enough that statements are prepared, learn and purge:
    each owner has what was said, and no more.
    """
    problems: list[str] = []
    with engrams.open(home=home, store={"url": url, "connections": 6}, jobs__workers=2) as memory:

        def live(name: str) -> None:
            scope = ("user", name)
            for number in range(12):
                memory.observe(
                    Turn(f"I bought a lantern called {name}q{number}.", session=f"s{number}"),
                    scope=scope,
                )
                result = memory.search(f"lantern {name}q{number}", scope=scope, limit=5)
                texts = [hit.record.text for hit in result.hits]
                if not any(f"{name}q{number}" in text for text in texts) or any(
                    f"{name}q" not in text for text in texts
                ):
                    problems.append(f"{name} {number}: {texts}")
            memory.purge(memory.add(f"{name} keeps a secret", scope=scope).id, scope=scope)

        threads = [threading.Thread(target=live, args=(name,)) for name in ("ann", "bob", "cleo")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.drain(60)
        facts = [
            memory.list(scope=("user", name), kinds=(Kind.FACT,), limit=100).records
            for name in ("ann", "bob", "cleo")
        ]
    assert problems == []
    assert [len(rows) for rows in facts] == [12, 12, 12]
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(2 * CONNECTIONS):
            left = connection.execute(
                "SELECT current_user, coalesce(current_setting('engrams.owner', true), ''),"
                " current_schemas(false)"
            )
            assert left.fetchall() == [("postgres", "", ["public"])]


def live_behind(home: Path, url: str, **store: object) -> None:
    with engrams.open(
        home=home, store={"url": url, "connections": 3, **store}, jobs__workers=0
    ) as memory:
        for number in range(12):
            memory.add(f"I bought a lantern called quux{number}.", scope=("user", "ann"))
            assert (
                memory.search(f"lantern quux{number}", scope=("user", "ann"), limit=1)
                .hits[0]
                .record.text.endswith(f"quux{number}.")
            )


def test_a_pooler_that_knows_no_prepared_statements(home: Path) -> None:
    """With `store.prepare` off memory works behind it, and no statement gets a name;
    else the error names that setting.
    """
    direct = postgres.empty_database()
    url = postgres.pooled(direct, old=True)
    live_behind(home, url, prepare=False)
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        for _ in range(2 * CONNECTIONS):
            assert (
                connection.execute(
                    "SELECT name FROM pg_prepared_statements WHERE NOT from_sql"
                ).fetchall()
                == []
            )
    with pytest.raises(StoreError) as caught:
        live_behind(home, url)
    assert "store.prepare=false" in caught.value.hint
