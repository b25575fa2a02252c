"""Detect the format of a text from its beginning."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, get_args

from engrams.frozen_data import dataclass
from engrams.transfer.formats.json_stream import MalformedJsonError, parse

Format: TypeAlias = Literal[
    "engrams", "turns", "json", "lines", "csv", "chatgpt", "claude", "locomo", "mem0", "mcp", "zep", "letta", "cognee", "hindsight",
    "honcho", "supermemory", "memvara", "basic_memory", "langgraph",
]  # fmt: skip

FORMATS: tuple[Format, ...] = get_args(Format)

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|[\[\]{}:,]|[^\s\[\]{}:,"]+')
_BASIC_NOTE = re.compile(r"---[ \t]*\n(?:(?!---)[^\n]*\n)*?permalink:[^\n]*\n")
_SAMPLE = 20
_JSON_START = re.compile(r'\{\s*(?:"|\}|$)|\[\s*(?:[{"]|\[\s*[{"]|\]\s*$|$)')
_JSON_NAMES = (".json", ".jsonl", ".ndjson")
_TURN_KEYS = frozenset({"text", "content", "message", "messages", "caption"})


@dataclass(frozen=True, slots=True)
class _JsonShape:
    """Describe the first object: its keys and their values' brackets.

    ``root``: the first bracket of the text. ``inner``: key to the bracket that its value begins
    with. ``rows``: key to the keys of the first object in its list; under an empty key those of the
    first object itself.
    """

    root: str
    keys: frozenset[str]
    inner: dict[str, str]
    rows: dict[str, frozenset[str]]

    def has_rows(self, *choices: set[str], lists: tuple[str, ...] = ()) -> bool:
        """Tell whether objects have all keys of a choice.

        ``lists``: only those in lists of these names.
        """
        return any(
            choice <= keys
            for name, keys in self.rows.items()
            if not lists or name in lists
            for choice in choices
        )


def recognise_format(head: str, *, whole: bool, name: str = "") -> Format:
    """Recognise a text's format by its head; ``whole``: there is no more.

    ``name``: of the file; tables are known by it alone, and JSON that is broken stays JSON.
    """
    text = head.lstrip("\ufeff\0 \t\r\n")
    named = name.casefold()
    if named.endswith((".csv", ".tsv")):
        return "csv"
    if _BASIC_NOTE.match(text) and (named.endswith((".md", ".markdown")) or not named):
        return "basic_memory"
    if not text.startswith(("{", "[")):
        return "turns" if named.endswith(_JSON_NAMES) or _is_jsonl(text, whole) else "lines"
    shape = _read_shape(text)
    known = _match_format(shape)
    if known:
        return known
    if text.startswith("{") and _is_jsonl(text, whole):
        return "turns"
    if named.endswith(_JSON_NAMES) or shape.keys & _TURN_KEYS or _JSON_START.match(text):
        return "json"
    return "json" if whole and _is_json(text) else "lines"


def _match_format(shape: _JsonShape) -> Format | None:
    keys = shape.keys
    if shape.root == "{" and (
        "engrams" in keys or _is_one_of(keys, {"record"}, {"edge"}, {"history"})
    ):
        return "engrams"
    if ("mapping" in keys and shape.inner.get("mapping") == "{") or {"content", "enabled"} <= keys:
        return "chatgpt"
    if {"chat_messages", "conversations_memory"} & keys:
        return "claude"
    if known := _match_memory_system(shape):
        return known
    if (
        shape.inner.get("conversation") == "{"
        or shape.inner.get("items") == "["
        or shape.inner.get("conversations") == "["
    ):
        return "locomo"
    if (
        {"type", "name", "entityType"} <= keys
        or {"type", "from", "to", "relationType"} <= keys
        or shape.inner.get("entities") == "["
    ):
        return "mcp"
    if {"memory_id", "event"} <= keys or ("memory" in keys and "text" not in keys):
        return "mem0"
    return "mem0" if shape.root == "{" and shape.inner.get("results") == "[" else None


def _match_memory_system(shape: _JsonShape) -> Format | None:
    """Match other memories' files by keys that no other has."""
    found: dict[Format, bool] = {
        "langgraph": shape.has_rows({"namespace", "key", "value"}),
        "letta": (
            shape.has_rows(
                {"agent_type", "core_memory"}, {"text", "archive_id"}, {"text", "embedding_config"}
            )
            or (shape.inner.get("agents") == "[" and shape.inner.get("blocks") == "[")
        ),
        "cognee": (
            shape.has_rows({"kind", "external_id"})
            or shape.has_rows(
                {"source", "target", "relationship_name"},
                {"source", "target", "relationship"},
                lists=("edges",),
            )
        ),
        "hindsight": shape.has_rows(
            {"text", "fact_type"},
            {"text", "mentioned_at"},
            {"original_text", "facts"},
            {"text", "proof_count"},
        ),
        "honcho": shape.has_rows({"content", "observed_id"}, {"content", "peer_id"}),
        "supermemory": shape.has_rows(
            {"memory", "isLatest"},
            {"memory", "isForgotten"},
            {"id", "containerTags"},
            {"type", "system"},
        ),
        "zep": (
            shape.has_rows({"fact", "name"}, {"fact", "uuid"}, {"uuid", "name", "summary"})
            or shape.has_rows({"uuid", "content", "role"}, {"uuid", "content", "source"})
            or shape.has_rows({"content"}, {"episode_body"}, lists=("episodes", "episodic_nodes"))
        ),
    }
    return next((name for name, fits in found.items() if fits), None)


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except MalformedJsonError:
        return False
    return True


def _is_one_of(keys: frozenset[str], *choices: set[str]) -> bool:
    return any(keys == choice for choice in choices)


def _is_jsonl(text: str, whole: bool) -> bool:
    """Check that a third of the first lines hold messages."""
    split = text.split("\n")
    if not whole and len(split) > 1:
        split.pop()
    lines = [line for line in split[:_SAMPLE] if line.strip()]
    good = sum(_holds_turn(line) for line in lines)
    return good > 0 and good * 3 >= len(lines)


def _holds_turn(line: str) -> bool:
    if not line.lstrip("\0 \t").startswith("{"):
        return False
    try:
        value = parse(line)
    except MalformedJsonError:
        return False
    return isinstance(value, dict) and bool(_TURN_KEYS & value.keys())


def _read_shape(text: str) -> _JsonShape:
    """Read brackets and keys of the first object and its lists."""
    root = text[0]
    depth = 0
    level = 0
    inner = dict[str, str]()
    rows: dict[str, set[str]] = {"": set()}
    last = ""
    key = ""
    row = ""
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark in "[{":
            depth += 1
            if mark == "{" and not level:
                level = depth
            elif depth == level + 1 and key:
                inner[key] = mark
            elif depth == level + 2 and mark == "{" and inner.get(key) == "[" and key not in rows:
                rows[key] = set()
                row = key
        elif mark in "]}":
            depth -= 1
            row = row if depth > level + 1 else ""
            if level and depth < level:
                break
        elif mark == ":" and depth == level:
            key = last
            rows[""].add(key)
        elif mark == ":" and depth == level + 2 and row:
            rows[row].add(last)
        elif mark == ",":
            key = "" if depth == level else key
        last = found[1] if found[1] is not None else ""
        if depth > 2 and not level:
            break
    return _JsonShape(
        root, frozenset(rows[""]), inner, {name: frozenset(keys) for name, keys in rows.items()}
    )
