"""Postgres between processes:
owners apart, changes in order, nothing that only one process knows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres
from tests.store.make import ALICE, BOB, MODEL, START, Time, add, found, get, record, turn, vector

from engrams import admin, composition
from engrams.core import Edge, EdgeType, Evidence, Topic
from engrams.errors import SettingsError, StoreError
from engrams.ports import (
    ApiKey,
    AuditEventBatch,
    AuditLogEntry,
    JobClaim,
    JobSpec,
    NewRecord,
    OwnerStateRow,
    RecordChange,
    SessionLogRow,
    SessionRow,
    WriteBatch,
)
from engrams.settings import StoreSettings, load

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
ACTS = (
    "UPDATE {0} SET owner = owner WHERE owner = '{1}'",
    "DELETE FROM {0} WHERE owner = '{1}'",
    "UPDATE {0} SET owner = '{1}'",
)
SHARED = {"jobs", "counters", "models", "migrations", "api_keys", "log_keys"}
"""Tables of what belongs to no single owner; the service reads of them only which models and steps
there are.
"""


@pytest.fixture
def url() -> str:
    return postgres.empty_database()


@pytest.fixture
def two(url: str, clock: Time) -> Iterator[tuple[Any, Any]]:
    """Two stores that know nothing of each other, as two processes have them."""
    from engrams.store.postgres.store import PostgresStore

    stores = [PostgresStore.open(url, StoreSettings(), clock) for _ in range(2)]
    yield stores[0], stores[1]
    for store in stores:
        store.close()


def count(url: str, table: str, role: str, owner: str, where: str = "true") -> int:
    """Rows that raw SQL sees in a role, with an owner named or none."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT set_config('role', %s, true), set_config('engrams.owner', %s, true)",
            (role, owner),
        )
        return int(
            connection.execute(
                f"SELECT count(*) FROM engrams.{table} WHERE {where}".encode()
            ).fetchall()[0][0]
        )


def tables(url: str) -> list[str]:
    """Every table and view that there is, by the catalogue."""
    import psycopg

    with psycopg.connect(url) as connection:
        text = (
            "SELECT relname FROM pg_class WHERE relnamespace = 'engrams'::regnamespace AND relkind"
            " IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1"
        )
        return [name for (name,) in connection.execute(text)]


def fill(store: Any, owner: Any) -> None:
    """Rows of an owner in every table."""
    message = turn(f"secret of {owner.key}", owner)
    fact = record("a fact", owner, evidence=(Evidence("secret", message.id),))
    parts: dict[str, Any] = {
        "outbox": (("file", owner, message.id, {}),),
        "states": (OwnerStateRow(owner, "garden", data={"n": 1}),),
    }
    parts |= {
        "edges": (Edge(owner, fact.id, message.id, EdgeType.DERIVED_FROM),),
        "topics": (
            Topic(
                id="topic:1",
                scope=owner,
                label="a topic",
                members=1,
                model=MODEL,
                centroid=b"\0" * 8,
                at=START,
            ),
        ),
    }
    add(
        store,
        NewRecord(message, vector=vector(message, 1, 0)),
        fact,
        jobs=(JobSpec("extract", owner.key, {"items": [message.id]}),),
        **parts,
    )
    store.save(
        SessionRow(id="s1", scope=owner, state="active", started_at=START, last_active=START)
    )
    store.spend("2026-03-01", 1, 1)
    store.tables.keys.save_key(
        ApiKey(
            id=owner.labels[1],
            name="a key",
            owner=owner,
            rights=("read",),
            digest="digest",
            created_at=START,
        )
    )
    store.tables.events.append_events(
        AuditEventBatch((AuditLogEntry(START.isoformat(), "memory.add", owner=owner.key),), 1)
    )
    feedback = store.tables.logs["feedback"]
    assert feedback.load_key()
    feedback.add(SessionLogRow(id="hash", at=1, owner=owner.key, session="hash", data="{}"))
    store.tables.uploads.create(owner, "upload", "{}")
    store.tables.uploads.append(owner, "upload", 0, b"secret")
    store.tables.attachments.write(owner, "0" * 32, b"secret", b"")
    store.keep_attachment(owner, "0" * 32, 6)


@pytest.mark.covers("S1.62")
def test_raw_sql_sees_one_owner(two: tuple[Any, Any], url: str) -> None:
    """In every table of the catalogue the service's role sees, changes and removes nothing without
    an owner, and with one only its rows.
    """
    import psycopg

    for owner in (ALICE, BOB):
        fill(two[0], owner)
    forced = "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = %s::regclass"
    for table in tables(url):
        with psycopg.connect(url, autocommit=True) as connection:
            ((closed,),) = connection.execute(forced, (f"engrams.{table}",)).fetchall()
            assert closed or table in ("models", "migrations"), table
            ((held,),) = connection.execute(
                f"SELECT count(*) FROM engrams.{table}".encode()
            ).fetchall()
            assert held, f"the test puts nothing into {table}"
        if table in SHARED:
            continue
        assert count(url, table, "engrams_service", "") == 0, table
        for owner, stranger in ((ALICE, BOB), (BOB, ALICE)):
            assert count(url, table, "engrams_service", owner.key) == held / 2, table
            assert (
                count(url, table, "engrams_service", owner.key, f"owner = '{stranger.key}'") == 0
            ), table
            for act in (
                "UPDATE {0} SET owner = owner WHERE owner = '{1}'",
                "DELETE FROM {0} WHERE owner = '{1}'",
                "UPDATE {0} SET owner = '{1}'",
            ):
                assert (
                    change_rows(url, act.format(f"engrams.{table}", stranger.key), owner.key) == 0
                ), (table, act)
    for table in ("jobs", "counters", "api_keys", "log_keys"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            count(url, table, "engrams_service", ALICE.key)


def test_the_user_of_the_service_sees_nothing_by_itself(url: str, home: Path, clock: Time) -> None:
    """A user who has the roles without inheriting their rights serves memory, keys and events;
    raw SQL as that user sees no table.
    """
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS app")
        connection.execute("CREATE ROLE app LOGIN")
        connection.execute("GRANT engrams_service, engrams_fleet TO app WITH INHERIT FALSE")
    user = url.replace("//postgres:@", "//app@")
    assert user != url
    settings = load({"home": str(home), "store.url": user, "jobs.workers": 0}).settings
    with (
        composition.open(settings) as memory,
        closing(admin.open_keys(settings)) as keys,
        closing(admin.open_audit_log(settings)) as log,
    ):
        memory.add("I keep bees.", scope=ALICE)
        assert [hit.record.text for hit in memory.search("bees", scope=ALICE).hits] == [
            "I keep bees."
        ]
        key, secret = keys.add("app", ALICE, ("read",), clock())
        assert keys.find(secret, clock()) == key
        log.note("key.add", owner=ALICE.key)
        assert log.entries(owner=ALICE.key) and log.entries()
    for table in ("api_keys", "audit_events", "records", "jobs"):
        with (
            psycopg.connect(user) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(f"SELECT count(*) FROM engrams.{table}".encode())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP OWNED BY app")
        connection.execute("DROP ROLE app")


def change_rows(url: str, text: str, owner: str) -> int:
    """Rows that a statement of the service changes for an owner; 0 where it may not."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT set_config('role', 'engrams_service', true), set_config('engrams.owner', %s,"
            " true)",
            (owner,),
        )
        try:
            return connection.execute(text.encode()).rowcount
        except psycopg.errors.InsufficientPrivilege:
            return 0
        finally:
            connection.rollback()


def test_what_one_process_writes_the_other_finds(two: tuple[Any, Any]) -> None:
    """A write of one store is in the next search of another, again and again, also a change and a
    purge.
    """
    writer, reader = two
    assert found(reader, "tea") == set()
    for number in range(20):
        tea = record(f"tea number{number}")
        add(writer, tea)
        assert found(reader, f"number{number}") == {tea.id}
        writer, reader = reader, writer
    writer.commit(
        WriteBatch(
            "test",
            "",
            START,
            changes=(RecordChange(ALICE, tea.id, {"text": "coffee instead"}, "edit"),),
        )
    )
    assert found(reader, "coffee") == {tea.id} and found(reader, "number19") == set()
    assert writer.purge(ALICE, [tea.id], START).removed["records"] == 1
    assert found(reader, "coffee") == set() and get(reader, tea).text == ""


def search_between(two: tuple[Any, Any], seconds: float) -> tuple[set[str], set[str]]:
    """Ids that a reader finds after a write that began first and committed last, with a search of
    it in between; both ids.
    """
    from engrams.store.sql.batch_commit import commit_batch

    writer, reader = two
    # Of two kinds: their counts are two rows, so that nothing but the owner parts the writes.
    early = record("early words")
    late = turn("late words")
    add(writer, record("warm up"))
    assert found(reader, "warm")
    began = threading.Event()
    go = threading.Event()

    def commit_slowly(connection: Any) -> None:
        batch = WriteBatch("test", "", START, puts=(NewRecord(late),))
        commit_batch(connection, batch, writer._dialect)
        began.set()
        assert go.wait(10)

    slow = threading.Thread(target=lambda: writer._database.write(None, commit_slowly))
    slow.start()
    assert began.wait(10)
    fast = threading.Thread(target=lambda: add(reader, early))
    fast.start()
    fast.join(seconds)
    # Whatever the reader sees now, it must not make it skip the one that commits later.
    found(reader, "words")
    go.set()
    slow.join()
    fast.join()
    return found(reader, "words"), {early.id, late.id}


def test_a_late_commit_is_not_lost(two: tuple[Any, Any]) -> None:
    """A write that began first and commits last is found by a process that searched in between."""
    seen, both = search_between(two, 0.3)
    assert seen == both


def test_a_global_counter_would_lose_it(
    two: tuple[Any, Any], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With numbers of one sequence, which no lock holds to the commit, the search misses that write
    for ever: hence a row per owner.
    """
    import psycopg

    from engrams.store.postgres import sql_translation

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE IF NOT EXISTS engrams.all_changes")
        connection.execute("GRANT USAGE ON SEQUENCE engrams.all_changes TO engrams_service")
    own = sql_translation.load_queries("engrams.store.postgres")
    monkeypatch.setitem(own, "lock_owner", "SELECT 1000 * nextval('all_changes')")
    monkeypatch.setitem(own, "set_changes", "SELECT ?::bigint")
    monkeypatch.setitem(own, "last_change", "SELECT max(changed) FROM records WHERE owner = ?")
    sql_translation.translate.cache_clear()
    try:
        seen, both = search_between(two, 5)
        assert len(seen) == 1 and seen < both
    finally:
        sql_translation.translate.cache_clear()


def test_many_ask_for_one_job(two: tuple[Any, Any]) -> None:
    """Stores that enqueue one key at once make one job with the items of all, and none of them
    fails.
    """
    problems: list[BaseException] = []

    def ask(store: Any, name: str) -> None:
        try:
            for step in range(10):
                store.enqueue([JobSpec("extract", "k", {"items": [f"{name}{step}"]})], START)
        except BaseException as problem:
            problems.append(problem)

    threads = [
        threading.Thread(target=ask, args=(two[number % 2], f"t{number}-")) for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    (job,) = two[0].queue()
    assert len(job.payload["items"]) == 40
    claimed = two[1].claim(JobClaim("w", START))
    assert claimed is not None and two[0].claim(JobClaim("v", START)) is None


def test_a_database_without_tables_is_refused(url: str, clock: Time) -> None:
    """A process starts on a schema that it knows, and on nothing else; it says what to do."""
    import psycopg

    from engrams.store.postgres.schema_setup import migrate
    from engrams.store.postgres.store import PostgresStore

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bare")
        connection.execute("CREATE DATABASE bare")
    bare = url.replace("/postgres?", "/bare?")
    with pytest.raises(StoreError, match="no memory yet"):
        PostgresStore.open(bare, StoreSettings(), clock)
    assert migrate(bare) and not migrate(bare)
    PostgresStore.open(bare, StoreSettings(), clock).close()
    with psycopg.connect(bare, autocommit=True) as connection:
        connection.execute("INSERT INTO engrams.migrations VALUES (9999, 'later', '', 1)")
    with pytest.raises(StoreError, match="newer engrams"):
        PostgresStore.open(bare, StoreSettings(), clock)


@pytest.mark.parametrize("settings", [{"vault__enabled": True}, {"encryption__enabled": True}])
def test_what_a_server_cannot_keep_is_refused(
    url: str, home: Any, settings: dict[str, bool]
) -> None:
    """Files of a vault and encryption of a home do not go with a server, and are not left out in
    silence.
    """
    import engrams

    with pytest.raises(SettingsError):
        engrams.open(home=str(home), store={"url": url}, **settings)
