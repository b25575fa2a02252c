"""Options shared by all commands, and their translation for typer."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from engrams.ipc.call_identity import IDENTITY
from engrams.ipc.command_client import describe_opening
from engrams.ipc.served_command import CURRENT

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.settings import LoadedSettings, Settings


@dataclass(frozen=True)
class HomeOptions:
    """Options of every command: home, settings, owner and project."""

    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False
    home: Annotated[
        str | None, typer.Option(help="The home folder.", show_default=False, metavar="DIR")
    ] = None
    preset: Annotated[
        str | None,
        typer.Option(help="The preset to start from.", show_default=False, metavar="NAME"),
    ] = None
    overrides: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="Set a setting: read.limit=20. Repeatable.",
            show_default=False,
            metavar="NAME=VALUE",
        ),
    ] = field(default_factory=list)
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show whether a running server answered.")
    ] = False
    test: Annotated[
        bool, typer.Option("--test", help="Work on a separate test home inside the home.")
    ] = False
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            help="The owner of the memory (default: you).",
            show_default=False,
            metavar="NAME",
        ),
    ] = None
    project: Annotated[
        str | None,
        typer.Option(
            help="Only this project's part of the memory: a name, or a folder such as . or ../web.",
            show_default=False,
            metavar="NAME",
        ),
    ] = None


@dataclass(frozen=True)
class GlobalOptions(HomeOptions):
    """Options of commands that read or write a part of memory."""

    agent: Annotated[
        str | None,
        typer.Option(
            help="Only this agent's part of the memory.", show_default=False, metavar="NAME"
        ),
    ] = None
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            "-c",
            help="Only this conversation's part of the memory.",
            show_default=False,
            metavar="NAME",
        ),
    ] = None

    space: Annotated[
        str | None,
        typer.Option(
            "--space",
            help="A shared memory that you are a member of, instead of your own.",
            show_default=False,
            metavar="NAME",
        ),
    ] = None

    def load(self) -> LoadedSettings:
        """Load the settings with their origins."""
        from engrams.settings import load

        served = CURRENT.get()
        home = self.home if served is None else served.find_home(self.home)
        overrides = {
            "home": home,
            "preset": self.preset,
            "user": self.user,
            "test": self.test or None,
            **self._parse_overrides(),
        }
        return load(
            {name: value for name, value in overrides.items() if value is not None},
            served.call.environ if served else None,
        )

    def scope(self, settings: Settings) -> tuple[str, ...]:
        """Return ``("user", U, "agent", A, "project", P, "conversation", C)``."""
        from engrams.core import to_conversation_name
        from engrams.settings.project_name import resolve_project

        served = CURRENT.get()
        project = self.project
        if project:
            folder = served.call.folder if served else Path.cwd()
            project = resolve_project(project, folder, settings.home)
        conversation = self.conversation and to_conversation_name(self.conversation)
        names = {"agent": self.agent, "project": project, "conversation": conversation}
        inner_labels = (
            label for name, value in names.items() if value is not None for label in (name, value)
        )
        owner = (
            ("user", self.user)
            if self.user is not None
            else settings.owner_labels(self.conversation or "")
        )
        return (*owner, *inner_labels)

    def find_checkout(self, settings: Settings) -> Path | None:
        """Find the folder of the project's code; None: no project is named, or its code is not here.

        That is the caller's folder where it belongs to the project, so that a worktree counts.
        """
        from engrams.settings.project_name import (
            find_named_folder,
            find_project_folder,
            resolve_project,
        )

        if not self.project:
            return None
        served = CURRENT.get()
        folder = Path(served.call.folder if served else Path.cwd())
        named_folder = find_named_folder(self.project, folder)
        if named_folder is not None:
            return named_folder
        if self.project == resolve_project(".", folder, settings.home):
            return folder
        return find_project_folder(self.project, settings.home)

    @contextmanager
    def open(
        self,
        *,
        ends_sessions: bool = False,
        needs_owner: bool = True,
        reads: bool = False,
        drains: bool = False,
    ) -> Iterator[tuple[MemoryEngine, tuple[str, ...]]]:
        """Open the engine; yield it with the scope.

        ``ends_sessions``: sessions that were spoken in here end with this process; otherwise a
        command is one step of a session that may go on. ``needs_owner``: False for a command that
        concerns no one person. ``reads``: the command stores nothing. ``drains``: the command runs
        all jobs itself; threads would only compete with it, unless they wait for models. A server
        that runs this command for another process yields its own engine.
        """
        from engrams.core import Scope

        settings = self.load().settings
        session_settings = settings.sessions.model_copy(
            update={"end_on_close": "all" if ends_sessions else "led"}
        )
        settings = settings.model_copy(update={"sessions": session_settings})
        has_owner = (
            needs_owner
            or settings.user
            or settings.sessions.owner == "person"
            or self.user
            or self.conversation
        )
        scope = Scope(self.scope(settings)).labels if has_owner else ("session", "nobody")
        if served := CURRENT.get():
            engine = served.open(settings, writes=not reads)
            yield engine, self._enter_space(engine, scope, writes=not reads)
            return
        if self.verbose:
            call = IDENTITY.get()
            sys.stderr.write(
                describe_opening(call.reason if call else "this command asks no server")
            )
        from engrams.composition import open as open_engine

        if drains and only_computes(settings):
            settings = settings.model_copy(
                update={"jobs": settings.jobs.model_copy(update={"workers": 0})}
            )
        engine = open_engine(settings, background=False, helped=True)
        try:
            yield engine, self._enter_space(engine, scope, writes=not reads)
        finally:
            engine.close()
        # A command that failed says why itself.
        is_not_in_home = settings.incognito or "://" in settings.store.url
        if not self.json and not is_not_in_home and not settings.home.expanduser().exists():
            from engrams.surfaces.cli.output import note

            note(
                f"There is no memory yet: {settings.home} does not exist. `engrams add` creates it."
            )

    def _enter_space(
        self, engine: MemoryEngine, scope: tuple[str, ...], *, writes: bool
    ) -> tuple[str, ...]:
        """Return the scope of the named space, with the part of it; without a name the scope."""
        if self.space is None:
            return scope
        space = engine.spaces.enter(self.space, scope=scope, writes=writes)
        return (*space.labels, *scope[2:])

    def find_speaker(self, engine: MemoryEngine) -> str:
        """Return the name under which the person speaks in the named space; empty without one."""
        if self.space is None:
            return ""
        return engine.spaces.get(self.space, scope=self.scope(engine.settings)).own_name

    def _parse_overrides(self) -> dict[str, Any]:
        if not self.overrides:
            return {}
        from engrams.errors import SettingsError
        from engrams.settings import names, parse_value, renamed_settings, suggest

        defaults = names()
        overrides: dict[str, Any] = {}
        for text in self.overrides:
            name, sign, value = text.partition("=")
            name = renamed_settings().get(name.strip(), name.strip())
            if not sign or name not in defaults:
                tip = suggest(name, list(defaults)) or "`engrams config` shows the settings."
                raise SettingsError(
                    (
                        f"--set {text!r} names no setting."
                        if sign
                        else f"--set needs NAME=VALUE, not {text!r}."
                    ),
                    hint=tip,
                )
            overrides[name] = parse_value(name, value)
        return overrides


def only_computes(settings: Settings) -> bool:
    """True where learning waits for no model."""
    return settings.chat.provider == "none" and settings.embed.provider in ("builtin", "null")


def new_app() -> typer.Typer:
    """Create a typer app with plain help, which loads faster."""
    return typer.Typer(rich_markup_mode=None)


def flatten_options(command: Callable[..., None]) -> Callable[..., None]:
    """Turn parameters that are option dataclasses into single parameters."""
    hints = get_type_hints(command, include_extras=True)
    parameters = list(inspect.signature(command).parameters.values())
    groups = {p.name: hints[p.name] for p in parameters if is_dataclass(hints[p.name])}
    flat = [
        p.replace(annotation=hints[p.name], kind=p.KEYWORD_ONLY)
        for p in parameters
        if p.name not in groups
    ]
    for group in sorted(groups.values(), key=lambda group: issubclass(group, HomeOptions)):
        hints_of_group = get_type_hints(group, include_extras=True)
        flat += [
            inspect.Parameter(
                f.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_field_default(f),
                annotation=hints_of_group[f.name],
            )
            for f in fields(group)
        ]

    @wraps(command)
    def wrapped(**values: Any) -> None:
        option_groups = {
            name: group(**{f.name: values.pop(f.name) for f in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **option_groups)

    wrapped.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in flat}
    del wrapped.__wrapped__
    return wrapped


def _field_default(item: Any) -> Any:
    return item.default_factory() if item.default_factory is not MISSING else item.default
