"""Suites of other projects: where they are, how they are run, and what does not apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_SQLITE_TABLES = "inspects the SQL of that store"
_SQLITE_SESSION = "inspects or replaces the sqlite3 connections of that class"
_SQLITE_SCHEMA = "looks into that class's SQL tables"


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite. ``source``: the sdist that holds it, as a requirement; empty: a script of ours runs what the package brings.

    ``requirements``: installed beside engrams, an extra of it as ``[name]``. ``shim``: puts our class in the place of theirs. ``copied``:
    folders and files of the sdist that the tests need. ``tests``: what pytest is given. ``deselected``: beginnings of test names, with the
    reason."""

    name: str
    shim: str
    requirements: tuple[str, ...]
    source: str = ""
    copied: tuple[str, ...] = ("tests",)
    tests: tuple[str, ...] = ("tests",)
    deselected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """Outcome of one suite. ``reference``: the tests it has; ``deselected``: those that do not apply."""

    name: str
    source: str
    passed: int
    reference: int
    failed: tuple[str, ...]
    deselected: int
    seconds: float

    @property
    def share(self) -> float:
        return self.passed / self.reference if self.reference else 0.0


_STORE, _SESSION = "tests/test_store.py::", "tests/memory/test_session.py::test_sqlite_session_"

SUITES = (
    Suite(
        "LangGraph store (SQLite)",
        "replace_langgraph",
        ("[langgraph]", "langgraph-checkpoint-sqlite==3.1.2", "pytest-retry", "pytest-mock"),
        "langgraph-checkpoint-sqlite==3.1.2",
        ("tests/__init__.py", "tests/test_store.py", "tests/test_async_store.py", "tests/test_ttl.py"),
        deselected={
            f"{_STORE}test_escape_glob_literal": _SQLITE_TABLES,
            f"{_STORE}test_namespace_match_pattern": _SQLITE_TABLES,
            f"{_STORE}test_nonnull_migrations": _SQLITE_TABLES,
            f"{_STORE}test_list_namespaces_prefix_uses_indexable_condition": _SQLITE_TABLES,
            f"{_STORE}test_vector_store_initialization": _SQLITE_TABLES,
        },
    ),
    Suite(
        "OpenAI Agents session",
        "replace_openaiagents",
        ("[openaiagents]", "openai-agents==0.24.0", "inline-snapshot", "pytest-mock"),
        "openai-agents==0.24.0",
        tests=("tests/memory/test_session.py", "tests/memory/test_session_limit.py"),
        deselected={
            f"{_SESSION}close_closes_worker_thread_connections": _SQLITE_SESSION,
            f"{_SESSION}reaps_connections_from_exited_worker_threads": _SQLITE_SESSION,
            f"{_SESSION}closes_retired_connections_before_the_next_allocation": _SQLITE_SESSION,
            f"{_SESSION}keeps_connections_of_live_worker_threads": _SQLITE_SESSION,
            f"{_SESSION}file_lock_is_shared_across_instances": _SQLITE_SESSION,
            f"{_SESSION}rollback_failure_evicts_connection": _SQLITE_SESSION,
            f"{_SESSION}close_retries_quarantined_connection": _SQLITE_SESSION,
            f"{_SESSION}post_commit_cancellation_propagates_after_known_outcome": _SQLITE_SESSION,
            f"{_SESSION}failed_add_items_releases_write_lock": _SQLITE_SCHEMA,
            f"{_SESSION}failed_clear_session_rolls_back": _SQLITE_SCHEMA,
            f"{_SESSION}failed_pop_item_releases_write_lock": _SQLITE_SCHEMA,
        },
    ),
    Suite(
        "Anthropic memory tool",
        "replace_anthropic",
        ("[anthropic]", "anthropic==2.11.0"),
        "anthropic==2.11.0",
        ("tests/lib/tools/memory_tools/test_filesystem.py",),
    ),
    Suite("Claude session store", "contracts_claude", ("[claude]", "claude-agent-sdk==0.2.186")),
)
