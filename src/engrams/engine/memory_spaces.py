"""Spaces of a home or server, for one of their members at a time."""

from __future__ import annotations

from collections.abc import Callable

from engrams.core import Scope, Status
from engrams.engine.inspector import Place
from engrams.errors import InputError
from engrams.ports import PurgeReport, RecordQuery, ScopeReach, Store
from engrams.spaces import Space, SpaceRegistry, SpaceRole, name_generation


class MemorySpaces:
    """Memories that several people share, each with a role: owner, editor or reader.

    ``scope`` on any method is that of whoever asks. Searches and contexts of a member include the
    member's spaces. ``enter`` gives the scope of a space for any other method of the engine.
    """

    def __init__(
        self,
        registry: SpaceRegistry,
        store: Store,
        purge_memory: Callable[[Scope], PurgeReport],
    ) -> None:
        """Set up the spaces. ``purge_memory`` erases everything of an owner."""
        self._registry = registry
        self._store = store
        self._purge_memory = purge_memory

    def list(self, *, scope: Place) -> tuple[Space, ...]:
        """List the spaces in which whoever asks is a member, by name."""
        return self._registry.list_joined(Scope.of(scope))

    def get(self, name: str, *, scope: Place) -> Space:
        """Return a space with its members. NotFoundError: whoever asks is no member."""
        return self._registry.get(name, Scope.of(scope))

    def enter(self, name: str, *, scope: Place, writes: bool = False) -> Scope:
        """Return the scope of a space's memory, for any method of the engine.

        ``writes``: the role must allow changes. NotFoundError: whoever asks is no member.
        RefusedError: a reader wants to write.
        """
        role = SpaceRole.EDITOR if writes else SpaceRole.READER
        return self._registry.get(name, Scope.of(scope), role).scope

    def create(self, name: str, *, scope: Place) -> Space:
        """Create a space that belongs to whoever asks.

        InputError: that is no name of a space. ConflictError: there is a space of that name.
        """
        space = self._registry.create(name, Scope.of(scope))
        if space.generation:
            self._purge_late_writes(name_generation(space.name, space.generation - 1))
        return space

    def set_role(self, name: str, member: str, role: str, *, scope: Place) -> Space:
        """Add a person to a space, or change a member's role; owners of the space do that.

        ``member``: a user's name, or the key of an owner such as ``user/ann``. ``role``: owner,
        editor or reader. InputError: there is no such role. RefusedError: nobody would own the
        space any more.
        """
        return self._registry.set_role(name, Scope.of(scope), to_person(member), to_role(role))

    def remove(self, name: str, member: str, *, scope: Place) -> Space:
        """Remove a member, who reads nothing of the space from then on; owners do that.

        What the member told the space stays there. NotFoundError: the person is no member.
        """
        return self._registry.remove(name, Scope.of(scope), to_person(member))

    def leave(self, name: str, *, scope: Place) -> Space:
        """Leave a space. RefusedError: nobody would own it any more."""
        person = Scope.of(scope)
        return self._registry.remove(name, person, person)

    def delete(self, name: str, *, scope: Place) -> PurgeReport:
        """Delete a space: erase its memory for good, then remove its members; owners do that.

        If it is interrupted, the space is still there, and it can be deleted again.
        """
        person = Scope.of(scope)
        space = self._registry.get(name, person, SpaceRole.OWNER)
        report = self._purge_memory(space.scope)
        self._registry.dissolve(space, person)
        self._purge_late_writes(space.scope)
        return report

    def _purge_late_writes(self, deleted: Scope) -> None:
        """Erase what a member told a space while it was deleted."""
        statuses = tuple(status for status in Status if status is not Status.PURGED)
        query = RecordQuery(ScopeReach.of_owner(deleted), statuses=statuses, limit=1)
        if self._store.find(query).records:
            self._purge_memory(deleted)


def to_person(member: str) -> Scope:
    """Return the owner that a member's name means: a user, or the owner of that key."""
    text = member.strip()
    return Scope.parse(text).owner if "/" in text else Scope(("user", text))


def to_role(name: str) -> SpaceRole:
    """Return the role of that name. InputError: there is none."""
    try:
        return SpaceRole(name.strip().lower())
    except ValueError:
        raise InputError(
            f"There is no role {name!r:.40}.", hint=f"Roles are {', '.join(SpaceRole)}."
        ) from None
