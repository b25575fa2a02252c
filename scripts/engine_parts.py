"""Parts of ``MemoryEngine`` as the generators of its page and of its asynchronous twin see them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from engrams.engine.engine_part import EnginePart
from engrams.engine.lazy_part import LazyPart


def find_maker(attribute: object) -> Callable[..., Any] | None:
    """The function that returns a property or part of the engine; None for a method."""
    if isinstance(attribute, property):
        return attribute.fget
    if isinstance(attribute, EnginePart):
        attribute = attribute.part
    return attribute.make if isinstance(attribute, LazyPart) else None


def find_type(maker: Callable[..., Any]) -> type:
    """The class that a function returns, by its annotation and the imports of its module."""
    annotation = str(inspect.signature(maker).return_annotation).removesuffix(" | None")
    module = import_module(maker.__module__)
    source = find_imports(module)[annotation]
    found: type = getattr(import_module(source), annotation)
    return found


def find_imports(module: ModuleType) -> dict[str, str]:
    """Where a module imports its names from, also for type checkers only."""
    return {
        alias.name: str(node.module)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
