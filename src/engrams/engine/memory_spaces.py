"""Spaces of a home or server, for one of their members at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engrams.core import Scope, Status
from engrams.engine.inspector import Place
from engrams.errors import InputError
from engrams.ports import PurgeReport, RecordQuery, ScopeReach, Store
from engrams.spaces import Space, SpaceRegistry, SpaceRole, name_generation
from engrams.sync.places import NO_ACCESS, PlaceAccess

if TYPE_CHECKING:
    from engrams.sync.space_sync import SharedSpaceStatus, SpaceSync


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
        find_sync: Callable[[], SpaceSync],
    ) -> None:
        """Set up the spaces.

        ``purge_memory`` erases everything of an owner. ``find_sync`` returns the spaces that other
        homes share.
        """
        self._registry = registry
        self._store = store
        self._purge_memory = purge_memory
        self._find_sync = find_sync

    def list(self, *, scope: Place) -> tuple[Space, ...]:
        """List the spaces in which whoever asks is a member, by name."""
        return self._registry.list_joined(Scope.of(scope))

    def get(self, name: str, *, scope: Place, writes: bool = False) -> Space:
        """Return a space with its members on this home.

        ``writes``: the role must allow changes. NotFoundError: whoever asks is no member.
        RefusedError: a reader wants to write.
        """
        role = SpaceRole.EDITOR if writes else SpaceRole.READER
        return self._registry.get(name, Scope.of(scope), role)

    def enter(self, name: str, *, scope: Place, writes: bool = False) -> Scope:
        """Return the scope of a space's memory, for any method of the engine.

        ``writes``: the role must allow changes. NotFoundError: whoever asks is no member.
        RefusedError: a reader wants to write.
        """
        return self.get(name, scope=scope, writes=writes).scope

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

        ``member``: a user's name, or the key of an owner such as ``user/ann``; or the name of
        somebody with another home. ``role``: owner, editor or reader. InputError: there is no such
        role. RefusedError: nobody would own the space any more.
        """
        person = to_person(member)
        space = self._registry.get(name, Scope.of(scope), SpaceRole.OWNER)
        is_elsewhere = space.log is not None and all(
            present.owner != person for present in space.members
        )
        if is_elsewhere and self._find_sync().set_role(space, member.strip(), to_role(role)):
            return space
        return self._registry.set_role(name, Scope.of(scope), person, to_role(role))

    def remove(self, name: str, member: str, *, scope: Place) -> Space:
        """Remove a member, who reads nothing of the space from then on; owners do that.

        What the member told the space stays there. The member's other homes and open invitations
        are removed, too. NotFoundError: the person is no member.
        """
        actor = Scope.of(scope)
        person = to_person(member)
        if person == actor.owner:
            return self.leave(name, scope=scope)
        space = self._registry.get(name, actor)
        if space.log is not None and space.role is SpaceRole.OWNER:
            is_here = any(present.owner == person for present in space.members)
            if self._find_sync().remove(space, member.strip()) and not is_here:
                return space
        return self._registry.remove(name, actor, person)

    def leave(self, name: str, *, scope: Place) -> Space:
        """Leave a space. If nobody else of this home is in it, its copy here is erased.

        RefusedError: nobody would own it any more.
        """
        person = Scope.of(scope)
        space = self._registry.get(name, person)
        if space.log is None or len(space.members) > 1:
            return self._registry.remove(name, person, person)
        self._find_sync().leave(space)
        return space

    def share(
        self, name: str, address: str, *, scope: Place, access: PlaceAccess = NO_ACCESS
    ) -> SharedSpaceStatus:
        """Let other homes share a space by a place that all of them reach; its owners do that.

        ``address``: of an empty folder, repository, bucket or server. Whoever runs it cannot
        read the space. ``access``: login of the place. ConflictError: the space is shared already, or
        the place is not empty.
        """
        space = self._registry.get(name, Scope.of(scope), SpaceRole.OWNER)
        sync = self._find_sync()
        sync.share(space, address, access)
        status = sync.find_status(self._registry.get(name, Scope.of(scope)))
        assert status is not None
        return status

    def invite(self, name: str, member: str, role: str, *, scope: Place) -> str:
        """Invite somebody with another home; return the code that the home needs. It works once.

        ``member``: name under which the person speaks in the space. Its owners do that.
        NotFoundError: the space is not shared.
        """
        space = self._registry.get(name, Scope.of(scope), SpaceRole.OWNER)
        return self._find_sync().invite(space, member, to_role(role))

    def join(
        self,
        address: str,
        code: str,
        *,
        scope: Place,
        name: str = "",
        access: PlaceAccess = NO_ACCESS,
    ) -> Space:
        """Join the space that a code of ``invite`` is of, and take its memory over.

        ``name``: name of the space on this home, if it is to be another one. ConflictError: there is
        a space of that name. NotFoundError: the place has no space for this code. RefusedError: the
        code was used, or was withdrawn.
        """
        return self._find_sync().join(address, code, Scope.of(scope), name, access)

    def get_sharing(self, name: str, *, scope: Place) -> SharedSpaceStatus | None:
        """Tell of the other homes that share a space, and of purges that they did not make yet.

        None: no other home shares it.
        """
        space = self._registry.get(name, Scope.of(scope))
        return None if space.log is None else self._find_sync().find_status(space)

    def delete(self, name: str, *, scope: Place) -> PurgeReport:
        """Delete a space: erase its memory for good, then remove its members; owners do that.

        If it is interrupted, the space is still there, and it can be deleted again. Other homes that
        share it erase their copies when they exchange.
        """
        person = Scope.of(scope)
        space = self._registry.get(name, person, SpaceRole.OWNER)
        report = self._purge_memory(space.scope)
        if space.log is not None:
            self._find_sync().delete(space)
        else:
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
