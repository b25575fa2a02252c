"""Flows run on a file, and, as slow tests, again on Postgres."""

from __future__ import annotations

import pytest
from tests.store import postgres

SERVED = (
    "test_promises", "test_outdated", "test_rolling", "test_reach", "test_model_learning", "test_slow_model", "test_corrections",
    "test_purged_meanwhile", "test_spaces", "test_doubted_facts",
)  # fmt: skip
"""Modules whose tests open engines by ``engrams.open``, without a word about files."""
_SERVED = (
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.module.__name__.rpartition(".")[2] in SERVED:
        metafunc.parametrize(
            "kept_on", ["file", pytest.param("postgres", marks=_SERVED)], indirect=True
        )


@pytest.fixture(autouse=True)
def kept_on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store that an engine opens where its test names none."""
    if getattr(request, "param", "file") == "postgres":
        monkeypatch.setenv("ENGRAMS_STORE__URL", postgres.empty_database())
