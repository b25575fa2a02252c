"""Adapters are loaded when used, and say what they need."""

from __future__ import annotations

import subprocess
import sys
import traceback

import pytest

import engrams
import engrams.adapters as adapters
from engrams import AsyncMemoryEngine
from engrams.errors import EngramsError, ExtraError, InputError, SettingsError
from engrams.testing import temp_engine


def test_no_framework_is_imported_before_its_adapter_is_used() -> None:
    """Importing the adapters, and using those that need no framework, imports no adapter's module."""
    code = """
import sys
from engrams import adapters
adapters.AgentMemory, adapters.MemoryClient
loaded = {name for name in sys.modules if name.startswith("engrams.adapters.")}
wrong = {f"engrams.adapters.{module}" for module in adapters._MODULES.values()} & loaded
sys.exit(str(wrong) if wrong else 0)
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


def test_a_missing_framework_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its framework an adapter names the package that is missing and the extra that
    installs it.
    """
    monkeypatch.setitem(adapters._MODULES, "NoSuchSession", "nosuch")
    monkeypatch.setitem(sys.modules, "nosuchframework", None)

    def load(_name: str) -> None:
        raise ModuleNotFoundError("No module named 'nosuchframework'", name="nosuchframework")

    monkeypatch.setattr(adapters, "import_module", load)
    with pytest.raises(ExtraError, match="nosuchframework") as refused:
        adapters.__getattr__("NoSuchSession")
    assert "[nosuch]" in refused.value.hint
    with pytest.raises(AttributeError, match="NoSuchThing"):
        adapters.__getattr__("NoSuchThing")


def test_a_wrong_start_says_what_to_do() -> None:
    """The traceback of every error has its hint;
    a folder as settings, and an engine of the wrong kind, are named; adapters are listed.
    """
    with pytest.raises(SettingsError, match="not str") as wrong:
        engrams.open("/tmp/x")  # type: ignore[arg-type]
    assert "home=" in "".join(traceback.format_exception(wrong.value))
    with pytest.raises(EngramsError) as misspelt:
        engrams.open(read__limt=3)
    assert f"hint: {misspelt.value.hint}" in "".join(traceback.format_exception(misspelt.value))
    with temp_engine() as engine, pytest.raises(InputError, match="not AsyncMemoryEngine"):
        adapters.AgentMemory(AsyncMemoryEngine(engine), ("user", "ann"))  # type: ignore[arg-type]
    assert {"PydanticAIMemory", "LangGraphStore", "AgentMemory"} <= set(dir(adapters))
