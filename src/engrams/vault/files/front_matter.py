"""Read and write front matter: YAML between two lines of ``---``.

``split`` and ``load`` read it, ``dump`` writes it, and ``revise`` changes values while everything that
a hand wrote stays byte for byte. Every text that is written comes back exactly; dates are texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from engrams.core import Json

_FENCE = re.compile(r"\ufeff?---[ \t]*(\r?\n)")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_LOST_BEGIN = re.compile(
    r"\ufeff?(?:[^\n]{0,8}\n){0,3}[^\n]{0,8}\bid: \"?[0-9a-z]{26}\"?[ \t]*\r?\n"
)
"""First line of a front matter without a sound line of ``---`` before it."""
_KEY = re.compile(
    r"(?:(?:\"((?:[^\"\\]|\\.)*+)\"|'([^']*+)')["
    r" \t]*+|([^\s#'\"\-\[\]{}&*!|>%@`,?:][^:\n]*+|-[^\s:][^:\n]*+)):(?=\s|$)"
)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PLAIN = re.compile(r"[^\W\d_](?:[\w./@+-]| (?=[\w./@+-]))*")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d:\d\d|Z)")
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan"])
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
"""Characters that libyaml refuses to read unescaped."""
_MAX_NODES = 100_000
"""Values of one front matter: an alias of YAML can repeat another value without end."""
_MAX_DEPTH = 60
_LONG_KEY = 400
"""Characters of a key from which it is announced by a question mark, as YAML asks beyond 1024."""


_LOADERS: list[Any] = []
"""The YAML loader, once it was made."""


class FrontMatterError(ValueError):
    """Unreadable front matter; the message says why."""


def decode_text(data: bytes) -> str:
    """Decode a file's text. FrontMatterError: it is no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FrontMatterError("it is not UTF-8 text") from None


def split(text: str) -> tuple[str | None, str]:
    """Split a file into front matter (None: it has none) and body.

    The body is everything after it but one last line end. FrontMatterError: it begins and never
    ends, or its beginning is damaged.
    """
    begin = _FENCE.match(text)
    if begin is None:
        if (lost := _LOST_BEGIN.match(text)) and _END.search(text, lost.end()):
            raise FrontMatterError("the front matter has no beginning: a line of --- is missing")
        return None, text.removesuffix("\n")
    end = _END.search(text, begin.end())
    if end is None:
        raise FrontMatterError("the front matter has no end: a line of --- is missing")
    front = text[begin.end() : end.start()]
    body = text[end.end() :]
    if begin[1] == "\r\n":
        # An editor changed the line ends of the whole file, the text's among them.
        front = front.replace("\r\n", "\n")
        body = body.replace("\r\n", "\n")
    return front, body.removesuffix("\n")


def join(front: str, text: str) -> str:
    """Join front matter and body: the inverse of ``split``."""
    return f"---\n{front}---\n{text}\n"


def load(front: str) -> dict[str, Json]:
    """Parse front matter into JSON. FrontMatterError: it is no mapping."""
    import yaml

    try:
        value = yaml.load(front, Loader=_loader())  # noqa: S506 - a safe loader, with fewer types still
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        location = f" in line {mark.line + 2}" if mark else ""
        raise FrontMatterError(
            f"the front matter is not YAML{location}:"
            f" {getattr(problem, 'problem', None) or 'malformed'}"
        ) from None
    except (ValueError, RecursionError) as problem:
        raise FrontMatterError(f"the front matter cannot be read: {problem}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FrontMatterError("the front matter is not a list of names and values")
    plain: dict[str, Json] = _to_json(value, [_MAX_NODES], 0)
    return plain


def dump(items: Iterable[tuple[str, Json]]) -> str:
    """Render names and values as front matter, in their order."""
    return "".join(_render_block(name, value) for name, value in items)


def revise(old_front: str, items: Sequence[tuple[str, Json]], known_names: Collection[str]) -> str:
    """Set values in front matter; known names without a value go.

    Everything else stays as it stands, byte for byte: other names, comments, order, and how an
    equal value is written.
    """
    try:
        old_values = load(old_front)
    except FrontMatterError:
        return dump(items)
    remaining = dict(items)
    order = [name for name, _ in items]
    blocks: list[tuple[str, str]] = []
    for name, raw in _split_blocks(old_front):
        if name not in known_names:
            blocks.append((name, raw))
        elif name in remaining:
            value = remaining.pop(name)
            is_unchanged = _is_equal(old_values.get(name), value)
            blocks.append((name, raw if is_unchanged else _render_block(name, value)))
    for name in [name for name in order if name in remaining]:
        position = _find_position(blocks, set(order[: order.index(name)]))
        blocks.insert(position, (name, _render_block(name, remaining[name])))
    text = "".join(raw if raw.endswith("\n") else raw + "\n" for _, raw in blocks)
    foreign = [(name, value) for name, value in old_values.items() if name not in known_names]
    try:
        is_as_meant = _is_equal(load(text), {**dict(items), **dict(foreign)})
    except FrontMatterError:
        is_as_meant = False
    # Where the lines were cut wrongly, as with an odd way of quoting, everything is rendered anew.
    return text if is_as_meant else dump([*items, *foreign])


def _find_position(blocks: Sequence[tuple[str, str]], earlier_names: set[str]) -> int:
    """Find the position behind the last block that comes before a name in order."""
    positions = [index + 1 for index, (name, _) in enumerate(blocks) if name in earlier_names]
    return max(positions, default=0)


def _split_blocks(front: str) -> list[tuple[str, str]]:
    """Cut front matter at its top-level names; loose lines have none ("")."""
    blocks: list[tuple[str, str]] = []
    loose = ""
    for line in _LINE.findall(front):
        key_line = _KEY.match(line)
        if key_line:
            if loose:
                blocks.append(("", loose))
                loose = ""
            quoted, single, plain = key_line.groups()
            blocks.append(((plain or "").rstrip(" \t") or quoted or single or "", line))
        elif blocks and blocks[-1][0] and not line.startswith("#") and line.strip():
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + loose + line)
            loose = ""
        else:
            loose += line
    return [*blocks, ("", loose)] if loose else blocks


def _render_block(name: str, value: Json) -> str:
    if isinstance(value, list) and value:
        return f"{_render_scalar(name)}:\n" + "".join(
            f"  - {_render_flow(item)}\n" for item in value
        )
    return f"{_render_scalar(name)}: {_render_flow(value)}\n"


def _render_flow(value: Json) -> str:
    match value:
        case Mapping():
            return (
                "{"
                + ", ".join(
                    f"{_render_key(str(name))}: {_render_flow(item)}"
                    for name, item in value.items()
                )
                + "}"
            )
        case list() | tuple():
            return "[" + ", ".join(_render_flow(item) for item in value) + "]"
        case _:
            return _render_scalar(value)


def _render_key(name: str) -> str:
    return _render_scalar(name) if len(name) < _LONG_KEY else f"? {_render_scalar(name)} "


def _render_scalar(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            text = repr(float(value))
            return text if "." in text or "n" in text else text.replace("e", ".0e")
        case _:
            text = str(value)
    if (_PLAIN.fullmatch(text) and text.casefold() not in _RESERVED) or _TIME.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda char: f"\\u{ord(char[0]):04X}", quoted)


def _to_json(value: Any, budget: list[int], depth: int) -> Json:
    """Convert a parsed value to JSON.

    ``budget``: how many values may still come, counted down in its one element.
    """
    budget[0] -= 1
    if budget[0] < 0 or depth > _MAX_DEPTH:
        raise FrontMatterError("the front matter is too large, or contains itself")
    match value:
        case dict():
            return {
                _key_text(name): _to_json(item, budget, depth + 1) for name, item in value.items()
            }
        case list():
            return [_to_json(item, budget, depth + 1) for item in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise FrontMatterError(f"the front matter contains a {type(value).__name__}")


def _key_text(name: Any) -> str:
    if isinstance(name, str):
        return name
    if name is None or isinstance(name, bool | int | float):
        return _render_scalar(name)
    raise FrontMatterError("a name in the front matter is not text")


def _is_equal(first: Json, second: Json) -> bool:
    """Compare values and types: 1 is neither 1.0 nor true."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _loader() -> Any:
    """Make a safe loader that reads dates, yes and no as texts."""
    if not _LOADERS:
        import yaml

        class FrontMatterLoader(yaml.CSafeLoader):
            yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the name and form that the library asks for

        FrontMatterLoader.add_implicit_resolver(
            "tag:yaml.org,2002:null", re.compile(r"(?:null|~|)\Z"), ["n", "~", ""]
        )
        FrontMatterLoader.add_implicit_resolver(
            "tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z"), ["t", "f"]
        )
        FrontMatterLoader.add_implicit_resolver(
            "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]*)\Z"), list("-0123456789")
        )
        FrontMatterLoader.add_implicit_resolver(
            "tag:yaml.org,2002:float",
            re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?\Z"),
            list("-0123456789"),
        )
        _LOADERS.append(FrontMatterLoader)
    return _LOADERS[0]
