"""Beginning of a text, from which its format is recognised.

``FileHead`` is what the test ``recognises`` of each format looks at. JSON is known by its shape: the
brackets and keys of its first object, which are read without parsing the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from engrams.frozen_data import dataclass

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|[\[\]{}:,]|[^\s\[\]{}:,"]+')
"""String (its content is group 1), bracket or mark, or anything else."""


@dataclass(frozen=True, slots=True)
class JsonShape:
    """Shape of the first JSON object of a text: its keys, and the brackets of their values."""

    root: str
    """First bracket of the text. Empty: it is no JSON."""
    keys: frozenset[str]
    """Keys of the first object."""
    brackets: Mapping[str, str]
    """Key to the bracket that its value begins with; keys of other values are left out."""
    rows: Mapping[str, frozenset[str]]
    """Key of a list to the keys of the first object in it; under "" the first object's own keys."""

    def has_object(self, key: str) -> bool:
        """Check for a key whose value is an object."""
        return self.brackets.get(key) == "{"

    def has_list(self, *keys: str) -> bool:
        """Check that the value of each of these keys is a list."""
        return all(self.brackets.get(key) == "[" for key in keys)

    def has_rows(self, *choices: set[str], lists: tuple[str, ...] = ()) -> bool:
        """Check for an object that has all keys of one of the choices.

        ``lists``: look only at objects in lists of these names.
        """
        return any(
            choice <= keys
            for name, keys in self.rows.items()
            if not lists or name in lists
            for choice in choices
        )


_NO_JSON = JsonShape(root="", keys=frozenset(), brackets={}, rows={})


class FileHead:
    """Beginning of a text, with the name of its file."""

    def __init__(self, text: str, *, whole: bool, name: str = "") -> None:
        """Set the head.

        ``whole``: nothing follows. ``name``: of the file, with or without its folder; empty:
        unknown.
        """
        self.text = text.lstrip("\ufeff\0 \t\r\n")
        self.whole = whole
        self._name = name.casefold()

    @property
    def has_name(self) -> bool:
        """Return True where the name of the file is known."""
        return bool(self._name)

    @property
    def starts_json(self) -> bool:
        """Return True where the text begins with a bracket of JSON."""
        return self.text.startswith(("{", "["))

    @cached_property
    def shape(self) -> JsonShape:
        """Shape of the first JSON object; empty where the text begins with no bracket."""
        return _read_shape(self.text) if self.starts_json else _NO_JSON

    def has_suffix(self, *suffixes: str) -> bool:
        """Check the end of the file's name."""
        return self._name.endswith(suffixes)


def _read_shape(text: str) -> JsonShape:
    return _ShapeScanner().scan(text)


class _ShapeScanner:
    """Reader of the keys and brackets of a JSON text, up to the end of its first object."""

    def __init__(self) -> None:
        self._depth = 0
        """Brackets that are open."""
        self._object_depth = 0
        """Depth inside the first object. 0: it has not begun."""
        self._key = ""
        """Key of the first object whose value is being read."""
        self._list_key = ""
        """Key of the list whose first object is being read."""
        self._brackets: dict[str, str] = {}
        self._rows: dict[str, set[str]] = {"": set()}

    def scan(self, text: str) -> JsonShape:
        last_string = ""
        for token in _TOKEN.finditer(text):
            mark = token[0]
            if mark in "[{":
                self._open_bracket(mark)
            elif mark in "]}":
                self._close_bracket()
            elif mark == ":":
                self._add_key(last_string)
            elif mark == "," and self._depth == self._object_depth:
                self._key = ""
            last_string = token[1] or ""
            if self._is_over():
                break
        return JsonShape(
            root=text[0],
            keys=frozenset(self._rows[""]),
            brackets=self._brackets,
            rows={name: frozenset(keys) for name, keys in self._rows.items()},
        )

    def _open_bracket(self, mark: str) -> None:
        self._depth += 1
        level = self._depth - self._object_depth
        if mark == "{" and not self._object_depth:
            self._object_depth = self._depth
        elif level == 1 and self._key:
            self._brackets[self._key] = mark
        elif level == 2 and mark == "{" and self._begins_rows():
            self._rows[self._key] = set()
            self._list_key = self._key

    def _begins_rows(self) -> bool:
        """Return True inside a list of the first object, of which no object was read yet."""
        return self._brackets.get(self._key) == "[" and self._key not in self._rows

    def _close_bracket(self) -> None:
        self._depth -= 1
        if self._depth <= self._object_depth + 1:
            self._list_key = ""

    def _add_key(self, key: str) -> None:
        if self._depth == self._object_depth:
            self._key = key
            self._rows[""].add(key)
        elif self._depth == self._object_depth + 2 and self._list_key:
            self._rows[self._list_key].add(key)

    def _is_over(self) -> bool:
        """Return True behind the first object, and inside lists of lists that hold none."""
        if self._object_depth:
            return self._depth < self._object_depth
        return self._depth > 2
