"""Adapters whose frameworks are not installed here:
examples and checks run in environments of their own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.fresh import run_example

from engrams import adapters

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected", "extra_packages"),
    [
        ("agent_framework", "user: I am allergic to nuts.", ()),
        ("crewai", "/kitchen Alice is allergic to nuts.", ()),
        ("google_adk", "user: I am allergic to nuts.", ()),
        ("langchain", "Known: The spare key is under the blue flowerpot.", ()),
        ("llama_index", "allergic to nuts", ()),
        ("pydantic_ai", "user: I am allergic to nuts.", ()),
        ("strands", "memory: I am allergic to nuts.", ()),
    ],
)
def test_the_example_runs_with_the_current_release(
    name: str, expected: str, extra_packages: tuple[str, ...], tmp_path: Path
) -> None:
    """The example recalls what was told before, and the adapter does all that its framework asks of
    it.
    """
    assert expected in run_example(name, tmp_path, *extra_packages)


def test_every_adapter_has_what_belongs_to_it() -> None:
    """Each adapter has an extra, an example, a row in the guide, and a page that shows it."""
    extras = (ROOT / "pyproject.toml").read_text("utf-8")
    guide = (ROOT / "docs" / "guides" / "frameworks.md").read_text("utf-8")
    for name, module in adapters._MODULES.items():
        extra = module.replace("_", "-")
        assert f"\n{extra} = [" in extras, module
        assert (ROOT / "examples" / "frameworks" / f"with_{module}.py").exists(), module
        assert (f"`{name}`" in guide and f"engrams[{extra}]" in guide) or f".[{extra}]" in guide, (
            name
        )
