"""Settings that had another name in an earlier version."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

import engrams
from engrams.program.main import main
from engrams.settings import load, names

RENAMED = tomllib.loads((resources.files("engrams") / "settings/renamed.toml").read_text("utf-8"))


def test_a_home_of_an_earlier_version_keeps_its_settings(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Old names in config.toml mean what they meant; the doctor names the new ones."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[vault]\non = true\n[serve]\nrate = 7\n", "utf-8")
    settings = load({"home": home}).settings
    assert (settings.vault.enabled, settings.serve.rate_limit) == (True, 7)
    capsys.readouterr()
    main(["doctor", "--home", str(home), "--json", "--offline"])
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["settings"]["state"] == "warn"
    assert "vault.on is now vault.enabled" in checks["settings"]["hint"]


@pytest.mark.parametrize(
    "give",
    [
        lambda: load({"vault.on": True}, {}),
        lambda: load({}, {"ENGRAMS_VAULT__ON": "true"}),
    ],
)
def test_arguments_and_variables_take_old_names(
    give: Callable[[], engrams.settings.LoadedSettings],
) -> None:
    """A program and an environment that name a setting as before go on working."""
    assert give().settings.vault.enabled is True


def test_the_new_name_wins(home: Path) -> None:
    """A file with both names has the value of the new one."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[vault]\nenabled = false\non = true\n", "utf-8")
    assert load({"home": home}, {}).settings.vault.enabled is False


def test_the_command_takes_old_names(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--set` with an old name sets the setting."""
    assert main(["config", "--home", str(home), "--set", "serve.rate=9", "serve.rate_limit"]) == 0
    assert "9" in capsys.readouterr().out


def test_every_old_name_leads_to_a_setting() -> None:
    """The table names settings that exist, and no name in it is a setting itself."""
    assert set(RENAMED.values()) <= set(names())
    assert not set(RENAMED) & set(names())
