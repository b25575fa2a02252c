"""Adapters whose frameworks are not installed here:
examples and checks run in environments of their own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.adapters.fresh import run_example

from engrams.surfaces import adapters

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said", "more"),
    [
        ("agentframework", "user: I am allergic to nuts.", ()),
        ("crewai", "/kitchen Alice is allergic to nuts.", ()),
        ("googleadk", "user: I am allergic to nuts.", ()),
        ("langchain", "Known: The spare key is under the blue flowerpot.", ()),
        ("llamaindex", "allergic to nuts", ()),
        ("pydanticai", "user: I am allergic to nuts.", ()),
        ("strands", "memory: I am allergic to nuts.", ()),
    ],
)
def test_the_example_runs_with_the_current_release(
    name: str, said: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    """The example recalls what was told before, and the adapter does all that its framework asks of
    it.
    """
    assert said in run_example(name, tmp_path, *more)


def test_every_adapter_has_what_belongs_to_it() -> None:
    """Each adapter has an extra, an example, a row in the guide, and a page that shows it."""
    extras = (ROOT / "pyproject.toml").read_text("utf-8")
    guide = (ROOT / "docs" / "guides" / "frameworks.md").read_text("utf-8")
    for name, module in adapters._MODULES.items():
        assert f"\n{module} = [" in extras, module
        assert (ROOT / "examples" / "frameworks" / f"with_{module}.py").exists(), module
        assert (
            f"`{name}`" in guide and f"engrams[{module}]" in guide
        ) or f".[{module}]" in guide, name
