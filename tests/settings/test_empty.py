"""Settings that may be None, given as an empty text."""

from __future__ import annotations

from pathlib import Path

import pytest

from engrams.errors import SettingsError
from engrams.program.main import main
from engrams.settings import load


def test_a_limit_of_a_preset_is_switched_off(home: Path) -> None:
    """By an argument, a variable and the home's file alike."""
    with_limit = {"home": home, "preset": "proxy"}
    assert load(with_limit, {}).settings.rerank.threshold == 0.35
    by_argument = load({**with_limit, "rerank.threshold": ""}, {})
    by_variable = load(with_limit, {"ENGRAMS_RERANK__THRESHOLD": ""})
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('[rerank]\nthreshold = ""\n', "utf-8")
    by_file = load(with_limit, {})
    for loaded in (by_argument, by_variable, by_file):
        assert loaded.settings.rerank.threshold is None


def test_the_command_takes_an_empty_value(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--set NAME=`` for one that may be None; another one needs a value."""
    main(["config", "rerank.threshold", "--home", str(home), "--set", "rerank.threshold="])
    assert "argument" in capsys.readouterr().out
    with pytest.raises(SettingsError, match="valid number"):
        load({"home": home, "rerank.weight": ""}, {})
