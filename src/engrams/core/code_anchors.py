"""Anchors of memories in code: what a memory names of a checkout, and whether it is still there.

A ``CodeAnchor`` is made when a memory is stored. A ``CodeVerdict`` compares a memory's anchors with
the checkout of today.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Literal, TypeAlias

from engrams.core.meta_keys import CODE
from engrams.core.records import Json, Kind, Meta, Record
from engrams.frozen_data import dataclass, replace

AnchorRole: TypeAlias = Literal["file", "defines", "mentions", "argument", "value"]
"""Property of a file that a memory names: the file exists, it defines or mentions a symbol, the
symbol takes an argument, or it has a value.
"""
_ROLES = ("file", "defines", "mentions", "argument", "value")
_MAX_ANCHORS = 16
_LASTING_KINDS = frozenset(
    (Kind.RULE, Kind.NEGATIVE, Kind.PROCEDURE, Kind.PREFERENCE, Kind.CORRECTION)
)
"""Kinds that say what should be: code that differs does not make them wrong."""


class AnchorState(StrEnum):
    """State of an anchor in the checkout of today."""

    FRESH = "fresh"
    """The checkout has what the memory names."""
    MOVED = "moved"
    """It is in another file."""
    DRIFTED = "drifted"
    """The file exists, but no longer has what the memory names."""
    GONE = "gone"
    """The file does not exist."""
    ELSEWHERE = "branch"
    """Another branch has it."""


_WORST_FIRST = (
    AnchorState.GONE,
    AnchorState.DRIFTED,
    AnchorState.ELSEWHERE,
    AnchorState.MOVED,
    AnchorState.FRESH,
)
_HOLDING = frozenset((AnchorState.FRESH, AnchorState.MOVED))


@dataclass(frozen=True, slots=True)
class CodeAnchor:
    """One thing of a checkout that a memory names."""

    path: str
    """Path of the file or folder below the root of the checkout, with ``/``."""
    role: AnchorRole = "file"
    symbol: str = ""
    """Name that the file defines or mentions, such as ``Client.send``; empty: the file itself."""
    detail: str = ""
    """Name of the argument, or words of the value."""
    blob: str = ""
    """Beginning of the git id of the file's content at that moment."""
    more_paths: tuple[str, ...] = ()
    """Other files that defined the symbol, where the memory names no file."""
    is_claim: bool = True
    """False: the sentence asks for a change or forbids it, and so is not wrong without it."""

    @property
    def words(self) -> tuple[str, ...]:
        """Words of the text that the anchor was made from."""
        if self.symbol:
            return (self.symbol.rsplit(".", 1)[-1],)
        return (self.path.rstrip("/").rsplit("/", 1)[-1],)


@dataclass(frozen=True, slots=True)
class CodeAnchors:
    """Anchors of one memory, and the branch on which they were made."""

    anchors: tuple[CodeAnchor, ...]
    branch: str = ""
    """Empty: there was no git repository, or its head was detached."""
    commit: str = ""
    """Beginning of the id of the commit that was checked out."""

    def to_meta(self) -> Meta:
        """Return them as metadata of a memory; nothing without an anchor."""
        if not self.anchors:
            return {}
        return {
            CODE: {
                "branch": self.branch,
                "commit": self.commit,
                "anchors": [_anchor_to_json(anchor) for anchor in self.anchors],
            }
        }

    def keep_named_in(self, text: str) -> CodeAnchors:
        """Return those that a text names, such as that of a statement learned from the memory."""
        return replace(
            self,
            anchors=tuple(
                anchor
                for anchor in self.anchors
                if all(word in text for word in anchor.words)
                and (anchor.role != "argument" or anchor.detail in text)
            ),
        )


@dataclass(frozen=True, slots=True)
class AnchorFinding:
    """State of one anchor, with its reason."""

    anchor: CodeAnchor
    state: AnchorState
    reason: str = ""
    """Says what differs, such as "src/pay.py no longer has `charge`"; empty for a fresh one."""


@dataclass(frozen=True, slots=True)
class CodeVerdict:
    """States of all anchors of a memory."""

    findings: tuple[AnchorFinding, ...]

    @property
    def state(self) -> AnchorState:
        """Worst state of an anchor."""
        states = {finding.state for finding in self.findings}
        return next((state for state in _WORST_FIRST if state in states), AnchorState.FRESH)

    @property
    def note(self) -> str:
        """Reasons, for readers; empty where all anchors are fresh."""
        reasons = dict.fromkeys(finding.reason for finding in self.findings if finding.reason)
        return "; ".join(reasons)

    @property
    def contradicts(self) -> bool:
        """True if none of the claims about the code holds any more."""
        claims = [finding for finding in self.findings if finding.anchor.is_claim]
        return bool(claims) and all(finding.state not in _HOLDING for finding in claims)

    def keeps_out(self, kind: Kind) -> bool:
        """True if a context leaves a memory of this kind out."""
        return self.contradicts and kind not in _LASTING_KINDS

    def to_json(self) -> dict[str, Json]:
        """Return it for an answer in JSON."""
        return {
            "state": str(self.state),
            "note": self.note,
            "anchors": [
                {
                    "path": finding.anchor.path,
                    "symbol": finding.anchor.symbol,
                    "role": finding.anchor.role,
                    "detail": finding.anchor.detail,
                    "state": str(finding.state),
                    "reason": finding.reason,
                }
                for finding in self.findings
            ],
        }


@dataclass(frozen=True, slots=True)
class CheckedMemory:
    """Memory with the verdict of a checkout."""

    record: Record
    verdict: CodeVerdict = field(default_factory=lambda: CodeVerdict(()))


def read_anchors(records: Record | Iterable[Record]) -> CodeAnchors | None:
    """Read the anchors of a memory, or of a memory and its facts; None: there is none.

    Metadata may come from anybody, so everything of another form is left out.
    """
    listed = (records,) if isinstance(records, Record) else tuple(records)
    branch = commit = ""
    anchors: dict[CodeAnchor, None] = {}
    for record in listed:
        stored = record.meta.get(CODE)
        if not isinstance(stored, dict):
            continue
        branch = branch or _text(stored, "branch")
        commit = commit or _text(stored, "commit")
        items = stored.get("anchors")
        for item in items[:_MAX_ANCHORS] if isinstance(items, list) else ():
            anchor = _anchor_from_json(item)
            if anchor is not None:
                anchors[anchor] = None
    return CodeAnchors(tuple(anchors), branch, commit) if anchors else None


def _anchor_to_json(anchor: CodeAnchor) -> dict[str, Json]:
    fields: dict[str, Json] = {"path": anchor.path, "role": anchor.role}
    for name in ("symbol", "detail", "blob"):
        if value := getattr(anchor, name):
            fields[name] = value
    if anchor.more_paths:
        fields["more_paths"] = list(anchor.more_paths)
    if not anchor.is_claim:
        fields["is_claim"] = False
    return fields


def _anchor_from_json(item: Json) -> CodeAnchor | None:
    if not isinstance(item, dict) or not _text(item, "path") or item.get("role") not in _ROLES:
        return None
    more_paths = item.get("more_paths")
    return CodeAnchor(
        path=_text(item, "path"),
        role=item["role"],
        symbol=_text(item, "symbol"),
        detail=_text(item, "detail"),
        blob=_text(item, "blob"),
        more_paths=_texts(more_paths if isinstance(more_paths, list) else ()),
        is_claim=item.get("is_claim") is not False,
    )


def _texts(values: Sequence[Json]) -> tuple[str, ...]:
    return tuple(value for value in values[:_MAX_ANCHORS] if isinstance(value, str))


def _text(fields: Meta, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
