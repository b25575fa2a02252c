"""``SpaceSync``: spaces that homes of several people share, each by a log and a place of its own.

A space's log is one like that of a person's devices (``member_log``, ``exchange``). Its members are homes,
each with a role and a name from its invitation. On a home the registry of spaces says who of its people
may enter the space. Nobody there may do more than the home.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from engrams.core import Scope
from engrams.errors import (
    ConflictError,
    EngramsError,
    InputError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from engrams.ports import WriteBatch
from engrams.settings import Settings
from engrams.spaces import SharedLog, Space, SpaceRegistry, SpaceRole, find_space_name
from engrams.sync.ciphers import MemberKeys
from engrams.sync.exchange import Exchange, ExchangeDeps, SpaceExchange
from engrams.sync.identity import DeviceHome, DeviceIdentity, list_space_homes
from engrams.sync.local_records import STAMPS
from engrams.sync.member_log import MemberLog, plan_joining
from engrams.sync.membership import MemberKind, MemberList, Statement, found_memory
from engrams.sync.places import NO_ACCESS, Place, PlaceAccess
from engrams.sync.record_import import ACTOR
from engrams.sync.replica_state import STATE_NAME, ReplicaState
from engrams.sync.waiting_purges import WaitingPurge, list_waiting_purges

_PERSON = "person"
_SPACE = "space"
_MAX_NAME_CHARS = 60
_PAGE = 1000
_DRAFT = "joining"
"""Name of the folder of a space that is not known yet."""


@dataclass(frozen=True, slots=True)
class SpaceHome:
    """Home that shares a space, or an invitation that nobody took yet."""

    id: str
    label: str
    """Name of its person, as the invitation has it."""
    role: SpaceRole
    kind: MemberKind
    is_this: bool
    last_seen: str
    """Time of the last segment of it that was taken over here, ISO 8601; empty: none was."""


@dataclass(frozen=True, slots=True)
class SharedSpaceStatus:
    """State of a space that several homes share."""

    space: str
    memory: str
    """Id of the space's memory, the same in all homes."""
    address: str
    role: SpaceRole
    """Role of this home."""
    homes: tuple[SpaceHome, ...]
    purges: tuple[WaitingPurge, ...]
    has_changes: bool
    """True: something changed here since the last exchange."""
    to_send: int
    """Segments that the place has not got yet."""


class SpaceSync:
    """Spaces that this home shares with other homes."""

    def __init__(
        self,
        deps: ExchangeDeps,
        settings: Settings,
        registry: SpaceRegistry,
        purge_memory: Callable[[Scope], object],
    ) -> None:
        """Set up the spaces. ``purge_memory`` erases everything of an owner."""
        self._deps = deps
        self._settings = settings
        self._registry = registry
        self._purge_memory = purge_memory

    @property
    def is_on(self) -> bool:
        """True where this home shares a space."""
        return bool(list_space_homes(self._settings.home))

    # ----------------------------------------------------------------------------------------------
    # beginning and joining

    def share(self, space: Space, address: str, access: PlaceAccess = NO_ACCESS) -> None:
        """Let other homes share a space, by a place that all of them reach.

        ConflictError: they do already, or the place is not empty.
        """
        self._require_lasting()
        if space.log is not None:
            raise ConflictError(
                f"The space {space.name!r} is shared already.",
                hint=f"`engrams space invite {space.name} NAME` invites somebody.",
            )
        for leftover in list_space_homes(self._settings.home):
            if leftover.load().owner == space.scope:
                # A run died before anybody else could know of it.
                leftover.erase()
        keys = MemberKeys.make()
        founding = found_memory(keys, is_space=True)
        home = DeviceHome(self._settings.home, founding.memory)
        log = MemberLog(home)
        carrier = log.open_place(address, access)
        carrier.prepare()
        if carrier.list():
            raise ConflictError(
                f"{address} holds a synchronised memory already.",
                hint="`engrams space join` joins it. Each space needs a place of its own.",
            )
        identity = DeviceIdentity(
            founding.memory, keys, space.own_name, space.scope, carrier.address, access
        )
        try:
            log.begin(identity, carrier, [founding])
            log.name_founder({_PERSON: space.own_name, _SPACE: space.name})
            self._exchange(home, space.name)
        except EngramsError:
            home.erase()
            raise

    def invite(self, space: Space, name: str, role: SpaceRole) -> str:
        """Invite somebody's home to a space; return the code that it needs. It works once."""
        label = " ".join(name.split())[:_MAX_NAME_CHARS]
        if not label:
            raise InputError("An invitation needs a name.", hint="Say whom you invite.")
        return MemberLog(self._find_home(space)).invite(role, {_PERSON: label})

    def join(
        self,
        address: str,
        code: str,
        person: Scope,
        name: str = "",
        access: PlaceAccess = NO_ACCESS,
    ) -> Space:
        """Join the space that a code is of, for a person of this home.

        ``name``: name that the space gets here; empty: the one that it has. ConflictError: there is a
        space of that name here, or this home shares the space already. NotFoundError: the place has
        no memory for this code. RefusedError: the code was used, or was withdrawn.
        """
        self._require_lasting()
        planned, statements = self._plan_joining(address, code, access)
        if DeviceHome(self._settings.home, planned.memory).is_device:
            raise ConflictError(
                "This home shares this space already.",
                hint="`engrams space add` adds more people of this home.",
            )
        home = DeviceHome(self._settings.home, planned.memory)
        members = replace(planned, statements=(*planned.statements, *statements)).read_members()
        founder = next(iter(members.members))
        own_name = members.read_names(planned.device, planned.keys).get(_PERSON, "")
        space_name = name or members.read_names(founder, planned.keys).get(_SPACE, "")
        role = members.find_role(planned.device)
        space = self._create(space_name, person, SharedLog(planned.memory, role), own_name)
        log = MemberLog(home)
        identity = replace(planned, label=space.own_name, owner=space.scope, access=access)
        try:
            log.begin(identity, log.open_place(address, access), statements)
        except EngramsError:
            home.erase()
            self._registry.close(space.scope)
            raise
        self._exchange(home, space.name)
        return space

    def _plan_joining(
        self, address: str, code: str, access: PlaceAccess
    ) -> tuple[DeviceIdentity, list[Statement]]:
        # Which space it is, so where a copy of the place belongs, is not known before it is read.
        draft = DeviceHome(self._settings.home, _DRAFT)
        try:
            carrier = MemberLog(draft).open_place(address, access)
            return plan_joining(carrier, code, is_space=True)
        finally:
            draft.erase()

    def _create(self, name: str, person: Scope, log: SharedLog, own_name: str) -> Space:
        try:
            return self._registry.create(name, person, log, own_name)
        except ConflictError as problem:
            raise ConflictError(
                problem.message, hint="Give it another name on this home, with `--as`."
            ) from problem

    # ----------------------------------------------------------------------------------------------
    # homes and roles

    def list_homes(self, space: Space) -> tuple[SpaceHome, ...]:
        """List the homes that share a space, as this home knows them, and open invitations."""
        identity = self._find_home(space).load()
        return self._list_homes(identity, identity.read_members())

    def _list_homes(self, identity: DeviceIdentity, members: MemberList) -> tuple[SpaceHome, ...]:
        peers = ReplicaState.load(self._deps.store, identity.owner, identity.device).peers
        return tuple(
            SpaceHome(
                id=member.id,
                label=members.read_names(member.id, identity.keys).get(_PERSON, ""),
                role=members.find_role(member.id),
                kind=member.kind,
                is_this=member.id == identity.device,
                last_seen=peers[member.id].at if member.id in peers else "",
            )
            for member in members.list_readers()
        )

    def set_role(self, space: Space, name: str, role: SpaceRole) -> bool:
        """Give the homes of a person another role; return False where there are none.

        RefusedError: it is an owner, whose role ends with its membership.
        """
        persons_homes = self._find_named(space, name)
        if any(home.role is SpaceRole.OWNER and home.role is not role for home in persons_homes):
            raise RefusedError(
                f"{name!r:.80} owns the space on another home, and stays its owner.",
                hint="Remove and invite them again.",
            )
        if persons_homes and all(home.kind == "invitation" for home in persons_homes):
            raise RefusedError(
                f"{name!r:.80} did not take the invitation yet.",
                hint="Remove it, and invite them with the other role.",
            )
        changed = [
            home.id for home in persons_homes if home.role is not role and home.kind == "device"
        ]
        if changed:
            MemberLog(self._find_home(space)).change_role(changed, role)
        return bool(persons_homes)

    def remove(self, space: Space, name: str) -> bool:
        """Remove the homes and invitations of a person; return False where there are none.

        They read nothing that is told from now on. ``name``: the person's name, or an id.
        """
        persons_homes = self._find_named(space, name)
        if persons_homes:
            MemberLog(self._find_home(space)).remove([home.id for home in persons_homes])
        return bool(persons_homes)

    def _find_named(self, space: Space, name: str) -> list[SpaceHome]:
        """Find the other homes of a person, with those that joined since the last exchange."""
        home = self._find_home(space)
        with home.lock():
            identity, members, _ = MemberLog(home).read()
        return [
            present
            for present in self._list_homes(identity, members)
            if name and name in (present.id, present.label) and not present.is_this
        ]

    # ----------------------------------------------------------------------------------------------
    # exchanging

    def exchange_all(self) -> list[SpaceExchange]:
        """Exchange every space; one whose place is away does not stop the others."""
        exchanges = [self._try_exchange(home) for home in list_space_homes(self._settings.home)]
        for name in self.list_lost():
            problem = _lost_keys(name)
            exchanges.append(SpaceExchange(name, problem=f"{problem.message} {problem.hint}"))
        return exchanges

    def _try_exchange(self, home: DeviceHome) -> SpaceExchange:
        try:
            identity = home.load()
        except NotFoundError:
            return SpaceExchange("", problem="Another process left this space.")
        name = find_space_name(identity.owner)
        try:
            return self._exchange(home, name)
        except RefusedError as problem:
            identity = home.load()
            if identity.device not in identity.read_members().removed:
                return SpaceExchange(name, problem=problem.message)
            self._end(home, identity.owner)
            return SpaceExchange(name, ended=True)
        except EngramsError as problem:
            return SpaceExchange(name, problem=problem.message)

    def _exchange(self, home: DeviceHome, name: str) -> SpaceExchange:
        with home.lock():
            identity = home.load()
            carrier = MemberLog(home).open_place(identity.address, identity.access)
            report = Exchange(self._deps, home, carrier).run()
            identity = home.load()
        role = identity.read_members().find_role(identity.device)
        self._registry.note_log(identity.owner, SharedLog(identity.memory, role))
        return SpaceExchange(name, report)

    def status(self) -> tuple[SharedSpaceStatus, ...]:
        """Tell of every space that this home shares."""
        identities = [home.load() for home in list_space_homes(self._settings.home)]
        return tuple(map(self._describe, identities))

    def find_status(self, space: Space) -> SharedSpaceStatus | None:
        """Tell of one space. None: no other home shares it."""
        return None if space.log is None else self._describe(self._find_home(space).load())

    def _describe(self, identity: DeviceIdentity) -> SharedSpaceStatus:
        members = identity.read_members()
        replica = ReplicaState.load(self._deps.store, identity.owner, identity.device)
        homes = self._list_homes(identity, members)
        labels = {home.id: home.label or home.id for home in homes}
        outbox = DeviceHome(self._settings.home, identity.memory).outbox
        return SharedSpaceStatus(
            space=find_space_name(identity.owner),
            memory=identity.memory,
            address=identity.address,
            role=members.find_role(identity.device),
            homes=homes,
            purges=list_waiting_purges(replica, members, identity.device, labels),
            has_changes=self._has_changes(identity),
            to_send=len(list(outbox.glob("*"))),
        )

    def has_changes(self) -> bool:
        """Return True where something changed in a shared space since its last exchange."""
        identities = [home.load() for home in list_space_homes(self._settings.home)]
        return any(map(self._has_changes, identities))

    def _has_changes(self, identity: DeviceIdentity) -> bool:
        store = self._deps.store
        replica = ReplicaState.load(store, identity.owner, identity.device)
        return store.find_change(identity.owner, 0) > replica.cursor

    def iter_places(self) -> Iterator[Place]:
        """Open the places of all shared spaces."""
        for home in list_space_homes(self._settings.home):
            identity = home.load()
            yield MemberLog(home).open_place(identity.address, identity.access)

    # ----------------------------------------------------------------------------------------------
    # ending

    def leave(self, space: Space) -> None:
        """End the membership of this home, and erase its copy of the space.

        RefusedError: nobody would own the space any more.
        """
        home = DeviceHome(self._settings.home, space.log.memory if space.log else "")
        if home.is_device:
            self._require_owner_elsewhere(space)
            # A place that is away keeps nobody in. The others list the home until one removes it.
            with suppress(StoreError):
                MemberLog(home).remove([home.load().device])
        self._end(home, space.scope)

    def _require_owner_elsewhere(self, space: Space) -> None:
        homes = self.list_homes(space)
        if not any(
            present.role is SpaceRole.OWNER and present.kind == "device" and not present.is_this
            for present in homes
        ):
            raise RefusedError(
                f"Nobody would own the space {space.name!r} any more.",
                hint="Invite another owner first, or delete the space:"
                f" `engrams space delete {space.name}`.",
            )

    def delete(self, space: Space) -> None:
        """End a space for all homes, after its memory was erased here.

        Every home that exchanges later erases its copy. StoreError: the place is away, and the space
        stays.
        """
        home = self._find_home(space)
        self._exchange(home, space.name)
        log = MemberLog(home)
        log.remove([present.id for present in self.list_homes(space) if not present.is_this])
        identity, _, carrier = log.read()
        carrier.remove([file for file in carrier.list() if file.kind == "seg"])
        self._end(home, identity.owner)

    def _end(self, home: DeviceHome, scope: Scope) -> None:
        """Erase the copy of a space on this home, and what its exchange has left."""
        # The keys go first: what is purged from here on is told to nobody.
        home.erase()
        self._purge_memory(scope)
        self._erase_stamps(scope)
        self._registry.close(scope)

    def _erase_stamps(self, scope: Scope) -> None:
        store = self._deps.store
        cursor = 0
        while True:
            changed = store.changes(scope, cursor, _PAGE)
            names = [STATE_NAME, *(STAMPS + record.id for record in changed.records)]
            rows = [row for name in names if (row := store.load_state(scope, name)).data]
            emptied = tuple(replace(row, data={}) for row in rows)
            store.commit(WriteBatch(ACTOR, "left the space", self._deps.clock(), states=emptied))
            if changed.last == cursor:
                return
            cursor = changed.last

    # ----------------------------------------------------------------------------------------------

    def _find_home(self, space: Space) -> DeviceHome:
        """Return the folder of a shared space. NotFoundError: it is not shared, or its keys are gone."""
        if space.log is None:
            raise NotFoundError(
                f"No other home shares the space {space.name!r}.",
                hint=f"`engrams space share {space.name} --to PLACE` begins it.",
            )
        home = DeviceHome(self._settings.home, space.log.memory)
        if not home.is_device:
            raise _lost_keys(space.name)
        return home

    def list_lost(self) -> tuple[str, ...]:
        """Name the shared spaces whose keys this home has lost, as a restored backup has."""
        owners = {scope.owner for scope in self._deps.store.scopes(None)}
        logs = {owner: self._registry.find_log(owner) for owner in owners if find_space_name(owner)}
        return tuple(
            sorted(
                find_space_name(owner)
                for owner, log in logs.items()
                if log is not None and not DeviceHome(self._settings.home, log.memory).is_device
            )
        )

    def require_keys(self) -> None:
        """NotFoundError: this home has lost its keys of a space."""
        for name in self.list_lost():
            raise _lost_keys(name)

    def _require_lasting(self) -> None:
        if self._settings.is_volatile or self._settings.incognito:
            raise RefusedError("A memory that keeps nothing on disk has nothing to share.")


def _lost_keys(name: str) -> NotFoundError:
    return NotFoundError(
        f"This home has lost its keys of the space {name!r}.",
        hint="Ask an owner for another invitation. Then leave the space here, `engrams space leave"
        f" {name}`, and join it again.",
    )
