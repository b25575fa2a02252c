"""Members of spaces and their roles.

The state of the space itself decides who is a member. A person's own list of spaces is only where
to look, so a crash between the two writes opens and closes nothing.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from threading import Lock

from engrams.core import Json, Scope
from engrams.core.clock import parse_time
from engrams.errors import ConflictError, InputError, NotFoundError, RefusedError
from engrams.frozen_data import dataclass
from engrams.ports import JOINED_SPACES, SPACE_MEMBERS, Clock, OwnerStateRow, OwnerStateStore

SPACE_LABEL = "space"
"""First label of a space's scope."""
_GENERATION = "#"
"""Mark in a scope that no name of a space has."""
_MAX_NAME_CHARS = 64
_MAX_MEMBERS = 1000
"""Members of one space at most."""
_MAX_JOINED = 100
"""Spaces of one person at most; each is one search more."""
_MAX_ATTEMPTS = 10
_MAX_RECENT = 10_000
"""People whose spaces a process remembers."""
_RECENT_SECONDS = 1.0
"""Time for which a person's spaces are not looked up again, as with API keys."""


class SpaceRole(StrEnum):
    """Role of a member: each may do what those before it may."""

    READER = "reader"
    """Search, list and export."""
    EDITOR = "editor"
    """Also add, change, forget and erase memories."""
    OWNER = "owner"
    """Also add and remove members, and delete the space."""

    def includes(self, role: SpaceRole) -> bool:
        """Return True where this role may do what the other one may."""
        order = list(SpaceRole)
        return order.index(self) >= order.index(role)


@dataclass(frozen=True, slots=True)
class SpaceMember:
    """Member of a space."""

    owner: Scope
    """Owner scope of the member's own memory, such as ``("user", "ann")``."""
    role: SpaceRole
    since: datetime
    """Time at which the member was added, or got this role."""
    name: str = ""
    """Name that the invitation to this home gave the member; empty: the one of ``owner``."""

    @property
    def label(self) -> str:
        """Name of the member, as people write it."""
        return self.name or self.owner.labels[-1]


@dataclass(frozen=True, slots=True)
class SharedLog:
    """Log by which several homes share a space."""

    memory: str
    """Id of the space's memory, the same in all homes."""
    role: SpaceRole
    """Role of this home: none of its members may do more."""


@dataclass(frozen=True, slots=True)
class Space:
    """Space, as one of its members sees it."""

    name: str
    role: SpaceRole
    """Role of whoever asks."""
    members: tuple[SpaceMember, ...]
    """In the order of ``since``."""
    generation: int = 0
    """Number of spaces of this name that were deleted before it."""
    own_name: str = ""
    """Name under which whoever asks speaks there."""
    log: SharedLog | None = None
    """None: only this home has the space."""

    @property
    def scope(self) -> Scope:
        """Owner scope of the space's memory, which no other space of that name has ever had."""
        return name_generation(self.name, self.generation)


def name_generation(name: str, generation: int) -> Scope:
    """Return the owner scope of the space that got a name after so many were deleted."""
    return Scope((SPACE_LABEL, f"{name}{_GENERATION}{generation}" if generation else name))


def read_generation(scope: Scope) -> tuple[str, int]:
    """Return the name of a space and its generation, from its owner scope."""
    name, _, generation = scope.find(SPACE_LABEL).partition(_GENERATION)
    return name, int(generation or 0)


def find_space_name(scope: Scope) -> str:
    """Return the name of the space that a scope is in; empty: it is in none."""
    return read_generation(scope)[0]


class SpaceRegistry:
    """Spaces of one home or server. Thread safe; several processes may change it."""

    def __init__(self, states: OwnerStateStore, clock: Clock) -> None:
        self._states = states
        self._clock = clock
        self._lock = Lock()
        self._recent: OrderedDict[str, tuple[float, tuple[Space, ...]]] = OrderedDict()
        """Key of a person -> time of the look-up (monotonic), and the person's spaces."""
        self._changes = 0
        """Number of changes by this process: a look-up that one overtook is not remembered."""

    # ----------------------------------------------------------------------------------------------
    # reading

    def list_joined(self, person: Scope) -> tuple[Space, ...]:
        """List the spaces of a person, by name.

        A change by another process is seen after a second; one by this process at once.
        """
        owner = person.owner
        asked_at = time.monotonic()
        changes = self._changes
        recent = self._recent.get(owner.key)
        if recent is not None and asked_at - recent[0] < _RECENT_SECONDS:
            return recent[1]
        names = self._states.load_state(owner, JOINED_SPACES).data.get("names", ())
        spaces = tuple(
            space for name in sorted(names) if (space := self._find(name, owner)) is not None
        )
        with self._lock:
            if self._changes != changes:
                return spaces
            self._recent[owner.key] = (asked_at, spaces)
            self._recent.move_to_end(owner.key)
            while len(self._recent) > _MAX_RECENT:
                self._recent.popitem(last=False)
        return spaces

    def get(self, name: str, person: Scope, role: SpaceRole = SpaceRole.READER) -> Space:
        """Return a space in which a person has at least a role.

        NotFoundError: there is no such space, or the person is no member; which of the two is told
        to nobody. RefusedError: the person's role does not allow it.
        """
        space = self._find(name.strip(), person.owner)
        if space is None:
            raise NotFoundError(
                f"You are in no space {name.strip()!r:.80}.",
                hint="`engrams space list` shows yours. An owner of a space can add you.",
            )
        if not space.role.includes(role):
            raise RefusedError(
                f"In the space {space.name!r} this takes the role {role}; you are {space.role}.",
                hint="Ask one of its owners.",
            )
        return space

    def _find(self, name: str, person: Scope) -> Space | None:
        """Return a space that a person is a member of, or None."""
        if not _is_name(name):
            return None
        return _describe_space(name, self._load(name), person)

    def _load(self, name: str) -> OwnerStateRow:
        """Load the members of the space of that name; they have it in common with deleted ones."""
        return self._states.load_state(Scope((SPACE_LABEL, name)), SPACE_MEMBERS)

    # ----------------------------------------------------------------------------------------------
    # changing

    def create(
        self, name: str, creator: Scope, log: SharedLog | None = None, own_name: str = ""
    ) -> Space:
        """Create a space with one member, who owns it.

        ``log``: of a space that other homes have already. The role of this home there limits what
        its members may do. InputError: that is no name of a space. ConflictError: there is a space
        of that name.
        """
        name = name.strip()
        if not _is_name(name):
            raise InputError(
                f"{name!r:.80} is no name of a space.",
                hint=f"A name has 1 to {_MAX_NAME_CHARS} letters, digits, blanks, '-', '_' or '.'.",
            )
        owner = creator.owner
        if owner.labels[0] == SPACE_LABEL:
            raise InputError("A space cannot be a member of a space.", hint="Name a person.")
        self._note_joined(owner, name)
        row = self._load(name)
        if _read_members(row):
            raise ConflictError(
                f"There is a space {name!r} already.", hint="Choose another name for yours."
            )
        own = SpaceMember(owner, SpaceRole.OWNER, self._clock(), own_name)
        new_row = _write_log(_write_members(row, (own,)), log)
        self._states.save_state(new_row, row.token)
        self._forget_recent()
        self._note_joined(owner, name)
        space = _describe_space(name, new_row, owner)
        assert space is not None
        return space

    def find_log(self, scope: Scope) -> SharedLog | None:
        """Return the log by which other homes share the space of a scope. None: none do."""
        name, generation = read_generation(scope)
        row = self._load(name)
        return _read_log(row) if _read_generation(row) == generation else None

    def note_log(self, scope: Scope, log: SharedLog | None) -> None:
        """Note by which log other homes share a space, and the role that this home has there."""
        name, generation = read_generation(scope)
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            row = self._load(name)
            if _read_generation(row) != generation or _read_log(row) == log:
                return
            try:
                self._states.save_state(_write_log(row, log), row.token)
            except ConflictError:
                if not attempts_left:
                    raise
            else:
                self._forget_recent()
                return

    def close(self, scope: Scope) -> None:
        """Remove all members of a space whose copy on this home ended."""
        name, generation = read_generation(scope)
        row = self._load(name)
        members = _read_members(row)
        if _read_generation(row) == generation and members:
            self._save_dissolved(row, members, name)

    def set_role(self, name: str, actor: Scope, person: Scope, role: SpaceRole) -> Space:
        """Add a person to a space, or change a member's role; an owner of the space does that.

        RefusedError: nobody would own the space any more.
        """
        member = SpaceMember(person.owner, role, self._clock())
        if member.owner.labels[0] == SPACE_LABEL:
            raise InputError("A space cannot be a member of a space.", hint="Name a person.")
        self.get(name, actor, SpaceRole.OWNER)
        self._note_joined(member.owner, name.strip())

        def replace_member(members: tuple[SpaceMember, ...]) -> tuple[SpaceMember, ...]:
            owners = [present.owner for present in members]
            if member.owner not in owners:
                return (*members, member)
            return tuple(
                replace(member, name=present.name) if present.owner == member.owner else present
                for present in members
            )

        changed = self._change(name.strip(), actor, SpaceRole.OWNER, replace_member)
        # Again: a removal that came before may have taken it from the list meanwhile.
        self._note_joined(member.owner, changed.name)
        return changed

    def remove(self, name: str, actor: Scope, person: Scope) -> Space:
        """Remove a member, which an owner of the space does, or the member; return what was.

        Whoever is removed reads nothing of the space from then on. NotFoundError: the person is no
        member. RefusedError: nobody would own the space any more.
        """
        is_own = person.owner == actor.owner
        role = SpaceRole.READER if is_own else SpaceRole.OWNER
        space = self.get(name, actor, role)
        if all(member.owner != person.owner for member in space.members):
            raise NotFoundError(
                f"{person.owner.labels[-1]!r:.80} is no member of the space {space.name!r}.",
                hint=f"`engrams space show {space.name}` lists its members.",
            )

        def leave_out(members: tuple[SpaceMember, ...]) -> tuple[SpaceMember, ...]:
            return tuple(member for member in members if member.owner != person.owner)

        self._change(space.name, actor, role, leave_out)
        self._drop_joined(person.owner, space.name)
        return space

    def dissolve(self, dissolved: Space, actor: Scope) -> None:
        """Remove all members of a space; an owner of the space does that.

        The next space of that name has another scope, so nothing that still comes to this one is in
        it. ConflictError: the members changed meanwhile, or the space was deleted already.
        """
        # The role is checked after what is replaced was read: a change in between is a conflict.
        row = self._load(dissolved.name)
        space = self.get(dissolved.name, actor, SpaceRole.OWNER)
        if space.generation != dissolved.generation or _read_generation(row) != space.generation:
            raise ConflictError(
                f"The space {dissolved.name!r} was deleted meanwhile, and there is another one.",
                hint="Nothing of the other one was changed.",
            )
        self._save_dissolved(row, space.members, space.name)

    def _save_dissolved(
        self, row: OwnerStateRow, members: tuple[SpaceMember, ...], name: str
    ) -> None:
        """Save that a space has no members any more. The next one of its name is another."""
        data = {"members": {}, "generation": _read_generation(row) + 1}
        self._states.save_state(replace(row, data=data), row.token)
        self._forget_recent()
        for member in members:
            self._drop_joined(member.owner, name)

    def _change(
        self,
        name: str,
        actor: Scope,
        role: SpaceRole,
        edit: Callable[[tuple[SpaceMember, ...]], tuple[SpaceMember, ...]],
    ) -> Space:
        """Change the members by compare and swap; the actor's role is checked on what is changed."""
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            row = self._load(name)
            space = self.get(name, actor, role)
            members = edit(_read_members(row))
            if not any(member.role is SpaceRole.OWNER for member in members):
                raise RefusedError(
                    f"Nobody would own the space {name!r} any more.",
                    hint=f"Make another member its owner first, or delete it: `engrams space delete"
                    f" {name}`.",
                )
            if len(members) > _MAX_MEMBERS:
                raise RefusedError(f"A space has at most {_MAX_MEMBERS:,} members.")
            new_row = _write_members(row, members)
            try:
                self._states.save_state(new_row, row.token)
            except ConflictError:
                if not attempts_left:
                    raise
            else:
                self._forget_recent()
                return _describe_space(name, new_row, actor) or replace(space, members=members)
        raise AssertionError("unreachable")

    # ----------------------------------------------------------------------------------------------
    # the list of a person

    def _note_joined(self, person: Scope, name: str) -> None:
        """Add a space to a person's list, before the space names the person as a member."""

        def add(names: list[str]) -> list[str]:
            if name not in names and len(names) >= _MAX_JOINED:
                raise RefusedError(f"A person is in at most {_MAX_JOINED} spaces.")
            return sorted({*names, name})

        self._change_joined(person, add)

    def _drop_joined(self, person: Scope, name: str) -> None:
        """Remove a space from a person's list, after the space no longer names the person."""
        self._change_joined(person, lambda names: [joined for joined in names if joined != name])
        if self._find(name, person) is not None:
            # Somebody added the person again meanwhile, or made another space of that name.
            self._note_joined(person, name)

    def _change_joined(self, person: Scope, edit: Callable[[list[str]], list[str]]) -> None:
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            row = self._states.load_state(person, JOINED_SPACES)
            names = list(row.data.get("names", ()))
            changed = edit(names)
            if changed == names:
                return
            try:
                self._states.save_state(replace(row, data={"names": changed}), row.token)
            except ConflictError:
                if not attempts_left:
                    raise
            else:
                return

    def _forget_recent(self) -> None:
        with self._lock:
            self._changes += 1
            self._recent.clear()


def _is_name(name: str) -> bool:
    """Return True for a name of a space: letters of any script, digits, and a few marks."""
    return (
        0 < len(name) <= _MAX_NAME_CHARS
        and name == name.strip()
        and all(character.isalnum() or character in " -_." for character in name)
        and any(character.isalnum() for character in name)
    )


def _describe_space(name: str, row: OwnerStateRow, person: Scope) -> Space | None:
    """Describe a space as a person sees it. None: the person is no member."""
    members = _read_members(row)
    log = _read_log(row)
    if log is not None:
        members = tuple(_limit_role(member, log.role) for member in members)
    own = next((member for member in members if member.owner == person.owner), None)
    if own is None:
        return None
    return Space(name, own.role, members, _read_generation(row), own.label, log)


def _read_members(row: OwnerStateRow) -> tuple[SpaceMember, ...]:
    entries: Mapping[str, Json] = row.data.get("members", {})
    members = (
        SpaceMember(
            Scope.parse(key),
            SpaceRole(entry["role"]),
            parse_time(entry["since"]),
            entry.get("name", ""),
        )
        for key, entry in entries.items()
    )
    return tuple(sorted(members, key=lambda member: (member.since, member.owner.key)))


def _write_members(row: OwnerStateRow, members: tuple[SpaceMember, ...]) -> OwnerStateRow:
    entries = {
        member.owner.key: {
            "role": member.role.value,
            "since": member.since.isoformat(),
            **({"name": member.name} if member.name else {}),
        }
        for member in members
    }
    return replace(row, data={**row.data, "members": entries})


def _read_generation(row: OwnerStateRow) -> int:
    return int(row.data.get("generation", 0))


def _read_log(row: OwnerStateRow) -> SharedLog | None:
    entry = row.data.get("log")
    return None if entry is None else SharedLog(entry["memory"], SpaceRole(entry["role"]))


def _write_log(row: OwnerStateRow, log: SharedLog | None) -> OwnerStateRow:
    data = {name: value for name, value in row.data.items() if name != "log"}
    if log is not None:
        data["log"] = {"memory": log.memory, "role": log.role.value}
    return replace(row, data=data)


def _limit_role(member: SpaceMember, role: SpaceRole) -> SpaceMember:
    """Return a member with no more than the role of the home."""
    return member if role.includes(member.role) else replace(member, role=role)
