"""``MemorySync``: a home becomes a device of a memory, exchanges it, and tells of the other devices."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engrams.core import Scope
from engrams.errors import (
    ConflictError,
    EngramsError,
    InputError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from engrams.settings import Settings
from engrams.sync import ciphers
from engrams.sync.ciphers import MemberKeys
from engrams.sync.exchange import Exchange, ExchangeDeps, ExchangeReport
from engrams.sync.identity import DeviceHome, DeviceIdentity
from engrams.sync.member_log import MemberLog, plan_joining
from engrams.sync.membership import (
    Member,
    MemberKind,
    MemberList,
    NewMember,
    add_member,
    found_memory,
)
from engrams.sync.places import NO_ACCESS, FolderPlace, PlaceAccess, PlaceFile
from engrams.sync.replica_state import STATE_NAME, PeerReport, ReplicaState
from engrams.sync.waiting_purges import WaitingPurge, list_waiting_purges

if TYPE_CHECKING:
    from engrams.sync.space_sync import SharedSpaceStatus, SpaceSync

_LABEL_CHARS = 60


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A member of the memory, as a person sees it."""

    id: str
    label: str
    """Name of a device; empty until it told one."""
    kind: MemberKind
    is_this: bool
    is_removed: bool
    last_seen: str
    """Time of the last segment of it that was taken over here, ISO 8601; empty: none was."""


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """State of the exchange."""

    memory: str
    address: str
    device: str
    label: str
    devices: tuple[DeviceInfo, ...]
    purges: tuple[WaitingPurge, ...]
    to_send: int
    """Segments that the place has not got yet."""
    has_changes: bool
    """True: something changed here since the last exchange."""
    kept_here: int
    """Memories that stay on this device for a secret that its settings forbid."""
    kept_out: int
    """Memories of other devices that are not taken over for such a secret."""
    spaces: tuple[SharedSpaceStatus, ...] = ()
    """Spaces that this home shares with other people's homes."""


class MemorySync:
    """One memory on several devices."""

    def __init__(self, deps: ExchangeDeps, settings: Settings, spaces: SpaceSync) -> None:
        self._deps = deps
        self.spaces = spaces
        """Spaces that this home shares with other people's homes."""
        self._is_lasting = not (settings.is_volatile or settings.incognito)
        self._home = DeviceHome(settings.home)
        self._log = MemberLog(self._home)
        self._skipped_files: set[PlaceFile] = set()
        """Files of the place that were read and are of no memory here."""

    @property
    def is_on(self) -> bool:
        """True where this home is a device of a memory."""
        return self._home.is_device

    def list_lost(self, owner: Scope) -> tuple[str, ...]:
        """Name the spaces that this home exchanged and has lost the keys of; empty: the owner's memory."""
        replica = self._deps.store.load_state(owner.owner, STATE_NAME)
        own = ("",) if replica.data and not self.is_on else ()
        return (*own, *self.spaces.list_lost())

    def init(
        self, address: str, owner: Scope, label: str = "", access: PlaceAccess = NO_ACCESS
    ) -> str:
        """Begin a memory on several devices with this one; return the recovery code.

        It opens the memory where every device is lost, and is shown once. ConflictError: this home is
        a device already, or the place holds a memory.
        """
        self._require_off()
        carrier = self._log.open_place(address, access)
        carrier.prepare()
        if carrier.list():
            raise ConflictError(
                f"{address} holds a synchronised memory already.",
                hint="`engrams sync join` joins it. Another memory needs another folder.",
            )
        keys = MemberKeys.make()
        founding = found_memory(keys)
        secret = ciphers.make_code()
        proof = ciphers.prove_code(secret, founding.memory)
        recovery = add_member(keys, 2, NewMember(MemberKeys.from_code(secret), "recovery", proof))
        identity = DeviceIdentity(
            founding.memory,
            keys,
            _check_label(label),
            owner.owner,
            carrier.address,
            access,
        )
        try:
            self._log.begin(identity, carrier, [founding, recovery])
        except StoreError:
            # Nobody saw the recovery code: this is begun anew where the place takes files.
            self._home.leave()
            raise
        return ciphers.write_code(secret)

    def pair(self) -> str:
        """Invite one other device; return the code that it needs. It works once."""
        return self._log.invite()

    def join(
        self,
        address: str,
        code: str,
        owner: Scope,
        label: str = "",
        access: PlaceAccess = NO_ACCESS,
    ) -> None:
        """Make this home a device of the memory that a code is of: an invitation's or the recovery's.

        NotFoundError: the place has no memory for this code. RefusedError: the code was used, or was
        withdrawn.
        """
        self._require_off()
        carrier = self._log.open_place(address, access)
        planned, statements = plan_joining(carrier, code, is_space=False)
        identity = replace(planned, label=_check_label(label), owner=owner.owner, access=access)
        self._log.begin(identity, carrier, statements)

    def move(self, address: str, access: PlaceAccess = NO_ACCESS) -> ExchangeReport:
        """Exchange by another place from now on, or with another password by the same one.

        Every device has to move. This one tells the new place everything again. If that fails, it
        stays with its former place.
        """
        former = self._home.load()
        carrier = self._log.open_place(address, access)
        carrier.prepare()
        with self._home.lock():
            identity = replace(self._home.load(), address=carrier.address, access=access)
            listed = carrier.list()
            lost = [item for item in identity.statements if item.file not in listed]
            if lost:
                carrier.write({item.file: item.data for item in lost})
            self._home.save(identity)
        try:
            return self.now()
        except EngramsError:
            with self._home.lock():
                former_home = replace(
                    self._home.load(), address=former.address, access=former.access
                )
                self._home.save(former_home)
            raise

    def leave(self) -> None:
        """Make this home no device any more; its memory stays. The others still list it."""
        self._home.load()
        with self._home.lock():
            self._home.leave()

    def remove(self, name: str) -> DeviceInfo:
        """Remove a device or an unused invitation: it reads nothing that is told from now on.

        ``name``: its id, the beginning of it, or its label. NotFoundError: there is none.
        """
        self._home.load()
        with self._home.lock():
            identity, members, _ = self._log.read()
        infos = [info for info in self._describe(identity, members) if not info.is_removed]
        matching = [info for info in infos if name and info.id.startswith(name)] or [
            info for info in infos if name and info.label == name
        ]
        if len(matching) != 1:
            raise NotFoundError(
                f"{len(matching)} devices are called {name!r}.",
                hint="`engrams sync devices` lists them; an id is never ambiguous.",
            )
        (removed,) = matching
        if removed.is_this:
            raise InputError(
                "This is the device itself.",
                hint="`engrams sync leave` leaves; remove it on another device.",
            )
        self._log.remove([removed.id])
        return replace(removed, is_removed=True)

    def now(self) -> ExchangeReport:
        """Exchange everything with the place, and every shared space; return what it did.

        NotFoundError: this home is no device of a memory, and shares no space.
        """
        report = ExchangeReport() if self._has_spaces_only else self._exchange()
        report.spaces = self.spaces.exchange_all()
        self._deps.after()
        return report

    @property
    def _has_spaces_only(self) -> bool:
        return not self.is_on and self.spaces.is_on

    def _exchange(self) -> ExchangeReport:
        self._load_identity()
        with self._home.lock():
            identity = self._home.load()
            carrier = self._log.open_place(identity.address, identity.access)
            return Exchange(self._deps, self._home, carrier, self._skipped_files).run()

    def status(self) -> SyncStatus:
        """Tell of this device, the others, and purges that not every one of them made."""
        identity = self._load_identity()
        members = identity.read_members()
        replica = self._load_replica(identity)
        infos = self._describe(identity, members)
        labels = {info.id: info.label or info.id for info in infos}
        return SyncStatus(
            memory=identity.memory,
            address=identity.address,
            device=identity.device,
            label=identity.label,
            devices=infos,
            purges=list_waiting_purges(replica, members, identity.device, labels),
            to_send=len(list(self._home.outbox.glob("*"))),
            has_changes=self._has_changes(identity, replica),
            kept_here=len(replica.kept_ids),
            kept_out=len({id for ids in replica.declined.values() for id in ids}),
            spaces=self.spaces.status(),
        )

    def devices(self) -> tuple[DeviceInfo, ...]:
        """List devices and open invitations, as this device knows them."""
        identity = self._home.load()
        return self._describe(identity, identity.read_members())

    def watch(self, stop: Callable[[], bool], report: Callable[[ExchangeReport], object]) -> None:
        """Exchange whenever something changes here or in a place, until ``stop`` returns True."""
        from engrams.sync.watch import iter_changes

        identity = None if self._has_spaces_only else self._load_identity()
        carriers = list(self.spaces.iter_places())
        if identity is not None:
            carriers.append(self._log.open_place(identity.address, identity.access))
        folders = [carrier.folder for carrier in carriers if isinstance(carrier, FolderPlace)]

        def has_changes() -> bool:
            has_own = identity is not None and self._has_changes(
                identity, self._load_replica(identity)
            )
            return has_own or self.spaces.has_changes()

        for _ in iter_changes(folders, has_changes, stop):
            try:
                outcome = self.now()
            except (ConflictError, StoreError):
                # The place is away, or a command exchanges at this moment: it is tried again.
                continue
            if outcome.is_news:
                report(outcome)

    # ----------------------------------------------------------------------------------------------

    def _describe(self, identity: DeviceIdentity, members: MemberList) -> tuple[DeviceInfo, ...]:
        peers = self._load_replica(identity).peers
        return tuple(
            self._describe_member(member, identity, members, peers)
            for member in members.members.values()
            if member.id not in members.spent
        )

    def _describe_member(
        self,
        member: Member,
        identity: DeviceIdentity,
        members: MemberList,
        peers: Mapping[str, PeerReport],
    ) -> DeviceInfo:
        peer = peers.get(member.id)
        is_this = member.id == identity.device
        label = identity.label if is_this else peer.label if peer else ""
        return DeviceInfo(
            id=member.id,
            label=label,
            kind=member.kind,
            is_this=is_this,
            is_removed=member.id in members.removed,
            last_seen=peer.at if peer else "",
        )

    def _load_identity(self) -> DeviceIdentity:
        """Load the identity. NotFoundError: this home is no device, or has lost its keys of a space."""
        if not self.is_on:
            self.spaces.require_keys()
        return self._home.load()

    def _load_replica(self, identity: DeviceIdentity) -> ReplicaState:
        return ReplicaState.load(self._deps.store, identity.owner, identity.device)

    def _has_changes(self, identity: DeviceIdentity, replica: ReplicaState) -> bool:
        return self._deps.store.find_change(identity.owner, 0) > replica.cursor

    def _require_off(self) -> None:
        if not self._is_lasting:
            raise RefusedError("A memory that keeps nothing on disk has nothing to synchronise.")
        if self._home.is_device:
            raise ConflictError(
                "This home is a device of a memory already.",
                hint="`engrams sync status` shows it; `engrams sync leave` ends it.",
            )


def _check_label(label: str) -> str:
    """Return the name of a device: the given one, or the machine's."""
    clean = " ".join((label or socket.gethostname()).split())
    return clean[:_LABEL_CHARS]
