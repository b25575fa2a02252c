"""Options that select memories and times."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from engrams.errors import InputError
from engrams.surfaces.cli.options import GlobalOptions

if TYPE_CHECKING:
    from engrams.core import Kind, Status
    from engrams.ports import Condition, Where

_TEST = re.compile(r"\s*([\w.]+)\s*(>=|<=|!=|==|=|>|<|~)\s*(.*)", re.DOTALL)
_OPS: dict[str, Literal["eq", "ne", "gt", "gte", "lt", "lte", "contains"]] = {
    ">=": "gte",
    "<=": "lte",
    "!=": "ne",
    "==": "eq",
    "=": "eq",
    ">": "gt",
    "<": "lt",
    "~": "contains",
}
_TIMES = frozenset(
    {"recorded_at", "valid_from", "valid_to", "retired_at", "ended_at", "last_accessed"}
)
_NUMBERS = frozenset({"importance", "confidence", "trust", "strength", "access_count", "version"})
_LISTS = frozenset({"tags", "triggers", "steps"})

_KINDS_HELP = "Only this kind: turn (a message), fact, preference, procedure, note, … Repeatable."
_WHERE_HELP = (
    "Only where a field matches: speaker=Ann, importance>=0.7, text~tea, meta.topic!=work; or a"
    " filter as JSON. Repeatable: all must hold."
)


@dataclass(frozen=True)
class RecordFilterOptions:
    """Options that select memories."""

    kind: Annotated[
        list[str],
        typer.Option("--kind", "-k", help=_KINDS_HELP, show_default=False, metavar="KIND"),
    ] = field(default_factory=list)
    tests: Annotated[
        list[str], typer.Option("--where", help=_WHERE_HELP, show_default=False, metavar="TEST")
    ] = field(default_factory=list)
    tag: Annotated[
        list[str],
        typer.Option(
            "--tag", help="Only with this tag. Repeatable.", show_default=False, metavar="TAG"
        ),
    ] = field(default_factory=list)
    speaker: Annotated[
        str | None,
        typer.Option(help="Only messages of this person.", show_default=False, metavar="NAME"),
    ] = None
    role: Annotated[
        str | None,
        typer.Option(help="Only this role: user, assistant, …", show_default=False, metavar="ROLE"),
    ] = None
    session: Annotated[
        str | None, typer.Option(help="Only from this session.", show_default=False, metavar="ID")
    ] = None

    def kinds(self) -> tuple[Kind, ...]:
        """Return the named kinds."""
        from engrams.core import Kind

        return tuple(parse_name(Kind, text, "kind") for text in self.kind or ())

    def where(self) -> Where | None:
        """Join the tests by and; None without tests."""
        from engrams.ports import Condition, Where

        exact = {"speaker": self.speaker, "role": self.role, "session": self.session}
        conditions = [parse_test(text) for text in self.tests or ()]
        conditions += [
            Condition(name, "eq", value) for name, value in exact.items() if value is not None
        ]
        conditions += [Condition("tags", "contains", tag) for tag in self.tag or ()]
        return Where("and", tuple(conditions)) if conditions else None


@dataclass(frozen=True)
class ScopeOptions:
    """Option that names a part of the memory as coding agents do."""

    part: Annotated[
        Literal["all", "project", "global"] | None,
        typer.Option(
            "--scope",
            help="project: this folder's project, or --project's; global: no project's; all.",
            show_default=False,
        ),
    ] = None

    def choose_project(self, options: GlobalOptions) -> GlobalOptions:
        """Return the options with the project that the part means."""
        if self.part == "project":
            return replace(options, project=options.project or ".")
        return options if self.part is None else replace(options, project=None)

    def narrow(self, where: Where | None, scope: tuple[str, ...]) -> Where | None:
        """Add to a filter that memories are of this part alone."""
        from engrams.core import Scope
        from engrams.ports import Condition, Where

        if self.part in (None, "all"):
            return where
        is_of_part = Condition("scope", "eq", Scope(scope).key)
        return Where("and", (is_of_part, *([where] if where else [])))


@dataclass(frozen=True)
class AsOfTimeOptions:
    """Options for viewing memory at an earlier time."""

    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            help="Memory as it was at this time: 2024-05-31.",
            show_default=False,
            metavar="TIME",
        ),
    ] = None

    def moment(self) -> datetime | None:
        """Return the time in UTC."""
        return parse_when(self.as_of, "--as-of")


def parse_when(text: str | None, option: str) -> datetime | None:
    """Parse a time option. InputError: it is not a time."""
    if text is None:
        return None
    from engrams.core.clock import parse_time

    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        raise InputError(
            f"{option} needs a time, not {text!r}.",
            hint="Write 2024-05-31 or 2024-05-31T14:30+02:00.",
        ) from None


def parse_name(kind: type[Kind] | type[Status], text: str, noun: str) -> Any:
    """Parse a name of an enumeration. InputError lists the names."""
    try:
        return kind(text.casefold())
    except ValueError:
        raise InputError(
            f"There is no {noun} {text!r}.", hint=f"Known: {', '.join(kind)}."
        ) from None


def parse_test(text: str) -> Condition | Where:
    """Parse a test such as ``importance>=0.7``, or a filter as JSON. InputError: it is neither."""
    from engrams.engine.json_filters import parse_where
    from engrams.ports import Where

    if text.lstrip().startswith("{"):
        return parse_where(text) or Where("and", ())
    return parse_condition(text)


def parse_condition(text: str) -> Condition:
    """Parse a test such as ``importance>=0.7``. InputError: it is none."""
    from engrams.ports import Condition

    match = _TEST.fullmatch(text)
    if not match:
        raise InputError(
            f"--where {text!r} is not a test.",
            hint=(
                "Write FIELD=VALUE; the signs are = != >= <= > < and ~ (contains). Or write a"
                ' filter as JSON: {"$or": [{"speaker": "Ann"}, {"speaker": "Bo"}]}.'
            ),
        )
    name, sign, raw = match.groups()
    if name in _LISTS and _OPS[sign] in ("eq", "ne"):
        return Condition(name, "contains" if _OPS[sign] == "eq" else "nin", [raw])
    return Condition(name, _OPS[sign], parse_value(name, raw))


def parse_value(name: str, raw: str) -> Any:
    """Parse a field's value: time, number, JSON metadata or text."""
    if name in _TIMES:
        return parse_when(raw, name) if raw else None
    if name in _NUMBERS or name.startswith("meta."):
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            if name in _NUMBERS:
                raise InputError(f"{name} needs a number, not {raw!r}.") from None
    return raw
