"""Frozen dataclasses that are quick to create are as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest

import engrams
from engrams.core import Scope, Turn
from engrams.frozen_data import dataclass, replace

T = TypeVar("T")


def _give(decorate: Any) -> dict[str, Any]:
    """Make the same classes by either decorator."""

    @decorate(frozen=True, slots=True)
    class Place:
        """A place."""

        name: str
        near: tuple[str, ...] = ()
        notes: dict[str, str] = field(default_factory=dict)
        key: str = field(default="", repr=False)
        line: int = field(default=0, compare=False)
        unit: ClassVar[str] = "m"

        @property
        def title(self) -> str:
            return self.name.title()

    @decorate(frozen=True, slots=True)
    class Call:
        """A call."""

        name: str
        words: tuple[str, ...] = field(init=False)
        tries: int = field(default=1, kw_only=True)
        parts: list[str] = field(default_factory=list, init=False)

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("a call has a name")
            object.__setattr__(self, "words", tuple(self.name.split()))

    @decorate(frozen=True, slots=True)
    class Nothing:
        """Nothing."""

    @decorate(frozen=True, slots=True)
    class Box(Generic[T]):
        """A box."""

        value: T

        def __repr__(self) -> str:
            return "a box"

    @decorate(frozen=True, slots=True)
    class Whole:
        """Holds itself."""

        parts: list[Any]

    return {each.__name__: each for each in (Place, Call, Nothing, Box, Whole)}


OURS = _give(dataclass)
THEIRS = _give(dataclasses.dataclass)


@pytest.mark.parametrize("name", OURS)
def test_the_signature_is_the_same(name: str) -> None:
    """Signature, slots, parameters and what ``match`` uses are those of the standard library's
    class.
    """
    ours = OURS[name]
    theirs = THEIRS[name]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert (
        ours.__match_args__ == theirs.__match_args__
        and ours.__doc__ == theirs.__doc__
        and ours.__slots__ == theirs.__slots__
    )
    assert repr(ours.__dataclass_params__) == repr(theirs.__dataclass_params__)


@pytest.mark.parametrize("made", [OURS, THEIRS], ids=["ours", "theirs"])
def test_values_are_compared_shown_and_kept(made: dict[str, Any]) -> None:
    """Comparison, hash, ``repr``, defaults, ``asdict`` and ``replace``."""
    place = made["Place"]
    one = place("oslo", ("bergen",), line=3, key="secret")
    other = place("oslo", near=("bergen",), key="secret")
    assert one == other and one.title == "Oslo" and one.unit == "m"
    assert repr(one).endswith("Place(name='oslo', near=('bergen',), notes={}, line=3)")
    assert one.notes == {} and one.notes is not other.notes
    assert one != place("rome") and one != ("oslo", ("bergen",), {}, "secret", 3)
    assert dataclasses.asdict(one) == {
        "name": "oslo",
        "near": ("bergen",),
        "notes": {},
        "key": "secret",
        "line": 3,
    }
    assert dataclasses.replace(one, name="rome").name == "rome"
    assert hash(made["Box"](3)) == hash(made["Box"](3)) and repr(made["Box"](3)) == "a box"
    assert made["Box"](3) == made["Box"](3) != made["Box"](4)
    assert made["Nothing"]() == made["Nothing"]() and hash(made["Nothing"]()) == hash(())
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    whole = made["Whole"]([])
    whole.parts.append(whole)
    assert repr(whole).endswith("Whole(parts=[...])")


@pytest.mark.parametrize("made", [OURS, THEIRS], ids=["ours", "theirs"])
def test_nothing_can_be_set_later(made: dict[str, Any]) -> None:
    """An object cannot be changed, nor made with too few fields or wrong ones."""
    one = made["Place"]("oslo")
    for change in (
        lambda: setattr(one, "name", "rome"),
        lambda: delattr(one, "name"),
        lambda: setattr(one, "other", 1),
    ):
        with pytest.raises((FrozenInstanceError, TypeError)):
            change()
    assert one.name == "oslo"
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        made["Place"]()
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        made["Place"]("oslo", size=1)


@pytest.mark.parametrize("made", [OURS, THEIRS], ids=["ours", "theirs"])
def test_what_is_made_at_once_is_checked(made: dict[str, Any]) -> None:
    """``__post_init__``, keyword-only fields, and fields that no caller gives."""
    call = made["Call"]("go home", tries=2)
    assert call.words == ("go", "home") and call.tries == 2 and call.parts == []
    with pytest.raises(ValueError, match="a call has a name"):
        made["Call"]("")
    with pytest.raises(TypeError):
        made["Call"]("go", 2)


def test_messages_are_copied_and_sent() -> None:
    """A message and its scope go through pickle and copy, as between processes."""
    for each in (Turn("I sail.", speaker="Ann", caption="a boat"), Scope.parse("user/ann")):
        assert pickle.loads(pickle.dumps(each)) == each == copy.deepcopy(each) == copy.copy(each)


def test_a_frozen_class_is_extended() -> None:
    """One that the standard library makes, of one that is made here."""

    @dataclass(frozen=True, slots=True)
    class Base:
        name: str

    @dataclass(frozen=True, slots=True)
    class More(Base):
        size: int = 0

    assert More("oslo", 3) == More("oslo", 3) != More("oslo", 4)
    with pytest.raises((FrozenInstanceError, TypeError)):
        More("oslo").name = "rome"  # type: ignore[misc]


RUN_AND_LIST_MODULES = """
import sys
from engrams.program.entry import run
try:
    run()
except SystemExit:
    pass
print("\\n" + " ".join(sys.modules), file=sys.stderr)
"""
PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Where do I live?"}


def _load_modules(home: Path, command: str, *arguments: str, stdin: str = "") -> set[str]:
    """Run a command in a process of its own; return the modules that it loaded."""
    finished = subprocess.run(
        [sys.executable, "-c", RUN_AND_LIST_MODULES, command, *arguments, "--home", str(home)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return set(finished.stderr.splitlines()[-1].split())


@pytest.mark.slow
def test_quick_commands_alone_take_the_quick_decorator(tmp_path: Path) -> None:
    """Frozen classes of modules that a quick command loads are made by it, and no others."""
    loaded = _load_modules(tmp_path, "add", "I live in Paris.")
    loaded |= _load_modules(tmp_path, "search", "Where do I live?")
    loaded |= _load_modules(tmp_path, "list")
    loaded |= _load_modules(tmp_path, "context", "Where do I live?")
    loaded |= _load_modules(tmp_path, "hook", stdin=json.dumps(PROMPT))
    package = Path(engrams.__file__).parent
    slow_and_loaded = []
    quick_and_not_loaded = []
    for path in package.rglob("*.py"):
        if path.name == "frozen_data.py":
            continue
        parts = path.relative_to(package.parent).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        text = path.read_text("utf-8")
        is_quick = "from engrams.frozen_data import" in text
        if module in loaded and "@dataclass(frozen=True, slots=True)" in text and not is_quick:
            slow_and_loaded.append(module)
        if is_quick and module not in loaded:
            quick_and_not_loaded.append(module)
    assert (slow_and_loaded, quick_and_not_loaded) == ([], [])


def test_a_copy_is_as_that_of_the_standard_library() -> None:
    """With changes or without, of classes that check their values and of those that do not."""
    for ours, theirs in ((OURS["Place"], THEIRS["Place"]), (OURS["Call"], THEIRS["Call"])):
        assert repr(replace(ours("Ghent"))) == repr(dataclasses.replace(theirs("Ghent")))
        copied = replace(ours("Ghent"), name="Graz")
        assert repr(copied) == repr(dataclasses.replace(theirs("Ghent"), name="Graz"))
        with pytest.raises(TypeError):
            replace(ours("Ghent"), nowhere="Graz")
    with pytest.raises(ValueError, match="a call has a name"):
        replace(OURS["Call"]("Ghent"), name="")
