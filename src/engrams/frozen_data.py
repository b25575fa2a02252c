"""Decorator for frozen dataclasses, quick to create.

The standard library compiles six functions for each frozen class with slots, which takes 0.8 ms; a
command creates 140 such classes before it does anything. Here only ``__init__`` is compiled, and
the others are shared. Modules that quick commands load (add, search, list, context, hook) take it;
all others take ``dataclasses``. ``tests/test_frozen_data.py`` keeps it so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass", "replace"]

Item = TypeVar("Item", bound=Any)
_Values = Callable[[Any], tuple[Any, ...]]
_TWIN_MEMBERS = ("__slots__", "__orig_bases__")
"""Members of a class that its twin has, too: its slots, and the parameters of generic bases."""
_CLAIMED_PARAMETERS = ("init", "repr", "eq", "frozen")
"""Parameters that a class reports, though ``dataclasses`` was not asked for them."""


class _FactoryDefault:
    """Sign in a signature for a default that a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _FactoryDefault()
_set_class = vars(object)["__class__"].__set__


def _freeze(cls: type[Any]) -> type[Any]:
    if any(dataclasses.is_dataclass(base) for base in cls.__bases__):
        subclass: type[Any] = dataclasses.dataclass(frozen=True, slots=True)(cls)
        return subclass
    own_members = vars(cls)
    slotted: type[Any] = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(slotted)
    for name, function in {
        "__init__": _make_init(slotted, fields),
        **_make_comparisons(fields),
        **_SHARED,
    }.items():
        if name not in own_members:
            setattr(slotted, name, function)
    for name in _CLAIMED_PARAMETERS:
        setattr(slotted.__dataclass_params__, name, True)
    return slotted


def _make_init(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """Compile ``__init__``, which sets slots past ``__setattr__``."""
    space: dict[str, Any] = {"__name__": cls.__module__, "_FACTORY": _FACTORY}
    positional = ["self"]
    keyword_only = list[str]()
    body = list[str]()
    for number, field in enumerate(fields):
        value = field.name
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            space[f"_make{number}"] = field.default_factory
            default = _FACTORY
            value = (
                f"_make{number}() if {value} is _FACTORY else {value}"
                if field.init
                else f"_make{number}()"
            )
        elif not field.init:
            value = f"_default{number}"
        space[f"_default{number}"] = default
        if field.init:
            parameter = (
                field.name if default is dataclasses.MISSING else f"{field.name}=_default{number}"
            )
            (keyword_only if field.kw_only else positional).append(parameter)
        if field.init or default is not dataclasses.MISSING:
            body.append(f"self.{field.name} = {value}")
    if body:
        space |= {"_set_class": _set_class, "_open_twin": _OpenTwin(cls), "_class": cls}
        body = ["_set_class(self, _open_twin.type)", *body, "self.__class__ = _class"]
    body.append("self.__post_init__()" if hasattr(cls, "__post_init__") else "pass")
    parameters = ", ".join([*positional, "*", *keyword_only] if keyword_only else positional)
    exec(f"def __init__({parameters}):\n " + "\n ".join(body), space)  # noqa: S102 - as the standard library does it, from names of fields
    init = space["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {
        **{field.name: field.type for field in fields if field.init},
        "return": None,
    }
    result: Callable[..., None] = init
    return result


class _OpenTwin:
    """Class with the same slots as a frozen one, whose objects can be written to.

    A new object is of the twin while its slots are set: as plain attributes that takes a third of the
    time that it takes past ``__setattr__``. Made when first asked for: most classes of a command are
    never used.
    """

    def __init__(self, cls: type) -> None:
        self._class = cls

    @cached_property
    def type(self) -> type:
        cls = self._class
        members = {name: vars(cls)[name] for name in _TWIN_MEMBERS if name in vars(cls)}
        return type(cls.__name__, cls.__bases__, members)


def _make_comparisons(fields: tuple[dataclasses.Field[Any], ...]) -> dict[str, Callable[..., Any]]:
    compared = _get_values([field.name for field in fields if field.compare])
    hashed = _get_values(
        [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    )

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807 - the name that Python calls
        return (
            compared(self) == compared(other)
            if other.__class__ is self.__class__
            else NotImplemented
        )

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(hashed(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _get_values(names: list[str]) -> _Values:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda item: tuple([getattr(item, name) for name in names])


@recursive_repr()
def _describe(self: Any) -> str:
    shown = [
        f"{field.name}={getattr(self, field.name)!r}"
        for field in dataclasses.fields(self)
        if field.repr
    ]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def replace(item: Item, /, **changes: Any) -> Item:
    """Copy a dataclass with other values.

    Of one that ``dataclass`` of this module made it takes a third of the time that
    ``dataclasses.replace`` takes: a search copies fifty hits. TypeError: no such field.
    """
    cls: type[Any] = type(item)
    make_copy = _make_copier(cls)  # type: ignore[arg-type]  # mypy does not see that classes hash
    if make_copy is None:
        return dataclasses.replace(item, **changes)
    try:
        copy: Item = make_copy(item, changes)
    except AttributeError as problem:
        raise TypeError(f"no such field: {problem.name}") from None
    return copy


@cache
def _make_copier(cls: type[Any]) -> Callable[[Any, Mapping[str, Any]], Any] | None:
    """Compile a function that copies an object with changes.

    None: a class that checks or works out values.
    """
    fields = dataclasses.fields(cls)
    is_plain = vars(cls).get("__setattr__") is _refuse_set and not hasattr(cls, "__post_init__")
    if not is_plain or not fields or not all(field.init for field in fields):
        return None
    space: dict[str, Any] = {"_make": object.__new__, "_twin": _OpenTwin(cls).type, "_class": cls}
    lines = [
        "def copy_item(item, changes):",
        "copy = _make(_twin)",
        *[f"copy.{field.name} = item.{field.name}" for field in fields],
        "for name in changes:",
        "  setattr(copy, name, changes[name])",
        "copy.__class__ = _class",
        "return copy",
    ]
    exec("\n ".join(lines), space)  # noqa: S102 - as the standard library does it, from names of fields
    copier: Callable[[Any, Mapping[str, Any]], Any] = space["copy_item"]
    return copier


def _refuse_set(_: object, name: str, __: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_SHARED = {
    "__repr__": _describe,
    "__setattr__": _refuse_set,
    "__delattr__": _refuse_delete,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """Make a dataclass, as ``dataclasses.dataclass`` does.

        One with ``frozen=True, slots=True`` and no other option is quick to create. TypeError: as
        there.
        """
        if options != {"frozen": True, "slots": True}:
            return dataclasses.dataclass(cls, **options)
        return _freeze if cls is None else _freeze(cls)
