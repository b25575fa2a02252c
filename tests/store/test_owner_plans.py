"""Statements of writes, searches and reads name the owner: so do their plans, table by table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres

import engrams
from engrams import Turn, admin

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
ANN = ("user", "ann")
EVENTS = """
INSERT INTO audit_events
SELECT 'user/' || n % 100, n * 1000, n, 'memory.' || n % 7, 'local', '', 'ok', 1, '' FROM generate_series(1, 5000) AS n
"""


def collect(url: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Statements that run for one owner, as Postgres gets them."""
    from engrams.store.postgres import database, owner_connection
    from engrams.store.postgres.sql_translation import translate

    seen: set[str] = set()
    run = owner_connection.OwnerConnection.execute
    ask = database.PostgresDatabase._ask

    def note(self: Any, text: str, values: Any = (), /) -> Any:
        statement = translate(text, self._is_read_only)
        if self._owner_key is not None and not statement.crosses_owners:
            seen.add(statement.text)
        return run(self, text, values)

    def note_lone(self: Any, owner: str | None, statements: Any) -> Any:
        if owner is not None:
            seen.update(text for text, _ in statements)
        return ask(self, owner, statements)

    monkeypatch.setattr(owner_connection.OwnerConnection, "execute", note)
    monkeypatch.setattr(database.PostgresDatabase, "_ask", note_lone)
    with engrams.open(home=home, store={"url": url}, jobs__workers=0, user="ann") as memory:
        said = memory.add("I adopted a beagle called Bruno.", scope=ANN)
        memory.observe(
            [
                Turn("I moved to Lisbon.", session="s"),
                Turn("He is three.", external_id="x", session="s"),
            ],
            scope=ANN,
        )
        memory.drain(20)
        memory.search("Which dog?", scope=ANN)
        memory.context("Which dog, and where?", scope=ANN)
        memory.deliver("Which dog?", scope=ANN, session="s")
        memory.links.link(said.id, memory.list(scope=ANN).records[0].id, scope=ANN)
        memory.edit(said.id, scope=ANN, text="I adopted a beagle called Bruna.")
        memory.history(said.id, scope=ANN)
        memory.forget(said.id, scope=ANN)
        memory.restore(said.id, scope=ANN)
        memory.sessions.end("s", scope=ANN)
        memory.purge(said.id, scope=ANN)
        with closing(admin.open_audit_log(memory.settings, store=memory.store)) as log:
            log.entries(owner="user/ann", action="memory.")
    return seen


def scans(plan: Any) -> Iterator[tuple[str, str]]:
    """Tables that a plan looks rows up in, with the conditions."""
    if isinstance(plan, dict):
        if (name := plan.get("Relation Name")) and plan.get("Node Type", "").endswith("Scan"):
            conditions = ("Index Cond", "Recheck Cond", "Filter")
            told = " ".join(str(plan.get(part, "")) for part in conditions)
            inner = " ".join(
                str(subplan.get("Index Cond", "")) for subplan in plan.get("Plans", ())
            )
            yield name, f"{told} {inner}"
        for value in plan.values():
            yield from scans(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from scans(value)


def test_every_statement_of_an_owner_names_the_owner(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No plan reads a table of memory without the condition on its owner:
    what a distributed or partitioned table needs.
    """
    import psycopg

    url = postgres.empty_database()
    statements = collect(url, home, monkeypatch)
    assert len(statements) > 40
    with psycopg.connect(url, autocommit=True) as connection:
        owned = {
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM information_schema.columns WHERE column_name = 'owner'"
            )
        }
        for setting in ("search_path = engrams", "enable_seqscan = off", "role = engrams_service"):
            connection.execute(f"SET {setting}".encode())
        connection.execute("SELECT set_config('engrams.owner', 'user/ann', false)")
        missing = []
        for text in sorted(statements):
            ((plan,),) = connection.execute(
                f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {text}".encode()
            ).fetchall()
            missing += [
                (name, text) for name, told in scans(plan) if name in owned and "owner" not in told
            ]
    assert missing == []


def part_tables(connection: Any, parts: int) -> None:
    """Spread every table of memory over partitions by its owner, with its keys, rights and
    policies.
    """
    for (table,) in connection.execute(
        "SELECT tablename FROM pg_policies WHERE policyname = 'own'"
    ).fetchall():
        indexes = connection.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s", (table,)
        ).fetchall()
        connection.execute(f"ALTER TABLE {table} RENAME TO whole_{table}".encode())
        like = f"(LIKE whole_{table} INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING CONSTRAINTS)"
        connection.execute(f"CREATE TABLE {table} {like} PARTITION BY HASH (owner)".encode())
        for number in range(parts):
            bounds = f"FOR VALUES WITH (MODULUS {parts}, REMAINDER {number})"
            connection.execute(
                f"CREATE TABLE {table}_part{number} PARTITION OF {table} {bounds}".encode()
            )
        for name, made in indexes:
            connection.execute(made.replace(f" {name} ", f" parted_{name} ").encode())
        connection.execute(
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY".encode()
        )
        own = "USING (owner = nullif(current_setting('engrams.owner', true), ''))"
        connection.execute(f"CREATE POLICY own ON {table} TO engrams_service {own}".encode())
        connection.execute(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO engrams_service".encode()
        )


def test_every_statement_of_an_owner_runs_on_one_partition(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is written, searched and read of an owner touches one partition of each table, once
    the plan begins to run.
    """
    import psycopg

    url = postgres.make_database()
    admin.migrate_store(url)
    statements = collect(url, home, monkeypatch)
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        connection.execute("SET search_path = engrams")
        part_tables(connection, 4)
        for setting in (
            "plan_cache_mode = force_generic_plan",
            "enable_seqscan = off",
            "role = engrams_service",
        ):
            connection.execute(f"SET {setting}".encode())
        connection.execute("SELECT set_config('engrams.owner', 'user/ann', false)")
        wide = []
        touched = set[str]()
        for text in sorted(statements):
            connection.execute(f"PREPARE one AS {text}".encode())
            given = max((int(number) for number in re.findall(r"\$(\d+)", text)), default=0)
            owners = {int(number) for number in re.findall(r"owner = \$(\d+)", text)}
            told = ", ".join(
                "'user/ann'" if number in owners else "NULL" for number in range(1, given + 1)
            )
            values = f"({told})" if given else ""
            ((plan,),) = connection.execute(
                f"EXPLAIN (FORMAT JSON) EXECUTE one{values}".encode()
            ).fetchall()
            connection.execute("DEALLOCATE one")
            parts = {name for name, _ in scans(plan) if "_part" in name}
            touched |= parts
            if len({name.partition("_part")[0] for name in parts}) < len(parts):
                wide.append((sorted(parts), text))
    assert wide == [] and len(touched) > 8


def find_plan(connection: Any, text: str) -> list[dict[str, Any]]:
    """The nodes of a plan that does not know its values, from the root."""

    def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield node
        for child in node.get("Plans", ()):
            yield from walk(child)

    ((plan,),) = connection.execute(
        f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {text}".encode()
    ).fetchall()
    return list(walk(plan[0]["Plan"]))


@pytest.mark.parametrize(
    ("name", "role", "indexes"),
    [
        ("find_key", "fleet", {"api_keys_pkey"}),
        ("list_events", "fleet", {"audit_events_at"}),
        ("list_owner_events", "service", {"audit_events_pkey"}),
        ("list_action_events", "fleet", {"audit_events_action"}),
        ("list_event_days", "fleet", {"audit_events_at"}),
        ("read_events", "fleet", {"audit_events_at"}),
        ("drop_events", "fleet", {"audit_events_at"}),
    ],
)
def test_keys_and_events_are_found_by_an_index(name: str, role: str, indexes: set[str]) -> None:
    """A key is looked up by its id;
    events are listed by an index in its order, so that the newest ones cost the same in any log.
    """
    import psycopg

    from engrams.store.postgres.sql_translation import translate
    from engrams.store.sql.named_queries import load_queries

    with closing(psycopg.connect(postgres.empty_database())) as connection:
        connection.execute("SET search_path = engrams")
        # Of an empty table the server knows no index to be the better one.
        connection.execute(EVENTS)
        connection.execute("ANALYZE audit_events")
        for setting in (
            "enable_seqscan = off",
            "enable_bitmapscan = off",
            f"role = engrams_{role}",
        ):
            connection.execute(f"SET {setting}".encode())
        nodes = find_plan(
            connection, translate(load_queries("engrams.store.postgres.fleet")[name]).text
        )
    assert {node["Index Name"] for node in nodes if "Index Name" in node} == indexes
    assert not {node["Node Type"] for node in nodes} & {"Seq Scan"}
    # The few best of each action are put in order at the end; nothing else is sorted.
    assert [node["Node Type"] for node in nodes].count("Sort") == (name == "list_action_events")


@pytest.mark.parametrize("name", ["records_of_ids", "leading_records"])
def test_records_are_looked_up_by_their_ids(name: str) -> None:
    """Each id is looked up in the index of ids, also where the server takes an owner for a small
    one, as with an empty table.
    """
    import psycopg

    from engrams.store.postgres.sql_translation import translate
    from engrams.store.sql.record_queries import build_selection

    statement = translate(build_selection(name), is_read_only=True).text
    with psycopg.connect(postgres.empty_database(), autocommit=True) as connection:
        for setting in ("search_path = engrams", "enable_seqscan = off", "role = engrams_service"):
            connection.execute(f"SET {setting}".encode())
        ((plan,),) = connection.execute(
            f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {statement}".encode()
        ).fetchall()
    told = [condition for table, condition in scans(plan) if table == "records"]
    assert ["(id)::text = " in condition and "= ANY" not in condition for condition in told] == [
        True
    ], plan
