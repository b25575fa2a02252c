"""Files that run a fleet: what they start exists, with the options and settings that they name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from engrams.program.command_table import COMMANDS
from engrams.settings import names
from engrams.surfaces.http.observers.metrics import RequestMetrics
from engrams.testing import temp_engine

ROOT = Path(__file__).resolve().parents[1]
COMPOSE = yaml.safe_load((ROOT / "compose.fleet.yaml").read_text("utf-8"))
PAGE = (ROOT / "docs" / "guides" / "fleet.md").read_text("utf-8")
KUBERNETES = list(yaml.safe_load_all(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]))
DASHBOARD = json.loads((ROOT / "packaging" / "grafana.json").read_text("utf-8"))


def containers() -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Name, command line and environment of every engrams process in both."""
    for name, service in COMPOSE["services"].items():
        if service["image"] == "engrams-fleet":
            yield f"compose {name}", service["command"], service["environment"]
    for document in KUBERNETES:
        for one in document["spec"]["template"]["spec"]["containers"]:
            yield (
                f"kubernetes {one['name']}",
                one["args"],
                {each["name"]: each for each in one["env"]},
            )


@cache
def help_of(command: str) -> str:
    line = [sys.executable, "-m", "engrams.program.entry", command, "--help"]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("name", "words", "environment"),
    list(containers()),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_process_of_a_fleet_can_start(
    name: str, words: list[str], environment: dict[str, Any]
) -> None:
    """Its command has these options, and its variables and --set name settings."""
    command, *rest = words
    assert command in COMMANDS, name
    assert [word for word in rest if word.startswith("--") and word not in help_of(command)] == []
    settings = {
        variable.removeprefix("ENGRAMS_").lower().replace("__", ".") for variable in environment
    }
    settings |= {value.partition("=")[0] for option, value in pairwise(rest) if option == "--set"}
    assert settings <= names().keys()


def test_the_fleet_of_compose() -> None:
    """Two APIs and two workers start when the tables are there, and have the time to drain."""
    services = COMPOSE["services"]
    kinds = [
        service["command"][0]
        for service in services.values()
        if service["image"] == "engrams-fleet"
    ]
    assert sorted(kinds) == ["migrate", "serve", "serve", "work", "work"]
    balancer = COMPOSE["configs"]["balancer"]["content"]
    assert all(f"{name}:8100" in balancer for name in ("api1", "api2")) and "/ready" in balancer
    assert services["balancer"]["ports"] == ["127.0.0.1:8100:8100"]


def test_the_dashboard_shows_metrics_that_exist() -> None:
    """Every query names a metric of /metrics, by a label it has."""
    with temp_engine(jobs__workers=0) as engine:
        told = RequestMetrics(engine).render().decode()
    existing = set(re.findall(r"^# TYPE (\w+)", told, re.MULTILINE))
    existing |= {"engrams_llm_calls", "engrams_llm_tokens"}  # only with a language model
    asked = {
        name
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\bengrams_\w+", target["expr"])
    }
    assert len(asked) >= 10
    known = {name.removesuffix("_total") for name in existing}
    assert {name.removesuffix("_bucket").removesuffix("_total") for name in asked} <= known
