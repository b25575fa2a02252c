"""``MemorySync``: a home becomes a device of a memory, exchanges it, and tells of the other devices."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from engrams.core import Scope
from engrams.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from engrams.settings import Settings
from engrams.sync import ciphers
from engrams.sync.ciphers import MemberKeys
from engrams.sync.exchange import (
    Exchange,
    ExchangeDeps,
    ExchangeReport,
    publish,
    read_statements,
)
from engrams.sync.identity import DeviceHome, DeviceIdentity
from engrams.sync.membership import (
    Member,
    MemberKind,
    MemberList,
    Statement,
    add_member,
    found_memory,
    give_keys,
    read_members,
    remove_member,
    select_signed,
)
from engrams.sync.place_addresses import open_place
from engrams.sync.places import NO_ACCESS, FolderPlace, Place, PlaceAccess
from engrams.sync.replica_state import PeerReport, ReplicaState

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
class WaitingPurge:
    """A purge that not every device made yet."""

    at: str
    memories: int
    waiting_for: tuple[str, ...]
    """Names of the devices that did not confirm it."""


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


class MemorySync:
    """One memory on several devices."""

    def __init__(self, deps: ExchangeDeps, settings: Settings) -> None:
        self._deps = deps
        self._is_lasting = not (settings.is_volatile or settings.incognito)
        self._home = DeviceHome(settings.home)

    @property
    def is_on(self) -> bool:
        """True where this home is a device of a memory."""
        return self._home.is_device

    def init(
        self, address: str, owner: Scope, label: str = "", access: PlaceAccess = NO_ACCESS
    ) -> str:
        """Begin a memory on several devices with this one; return the recovery code.

        It opens the memory where every device is lost, and is shown once. ConflictError: this home is
        a device already, or the place holds a memory.
        """
        self._require_off()
        carrier = self._open(address, access)
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
        recovery = add_member(keys, 2, MemberKeys.from_code(secret), "recovery", proof)
        identity = DeviceIdentity(
            founding.memory,
            keys,
            _check_label(label),
            owner.owner,
            carrier.address,
            access,
        )
        try:
            self._begin(identity, carrier, [founding, recovery])
        except StoreError:
            # Nobody saw the recovery code: this is begun anew where the place takes files.
            self._home.leave()
            raise
        return ciphers.write_code(secret)

    def pair(self) -> str:
        """Invite one other device; return the code that it needs. It works once."""
        self._home.load()
        with self._home.lock():
            identity, members, carrier = self._read()
            secret = ciphers.make_code()
            proof = ciphers.prove_code(secret, identity.memory)
            invitation = add_member(
                identity.keys,
                identity.next_statement,
                MemberKeys.from_code(secret),
                "invitation",
                proof,
            )
            identity, members = publish(self._home, identity, carrier, [invitation])
            self._give_keys(identity, members, carrier)
        return ciphers.write_code(secret)

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
        secret = ciphers.read_code(code)
        carrier = self._open(address, access)
        code_keys = MemberKeys.from_code(secret)
        memory, statements = _find_memory(carrier, code_keys.id, secret)
        members = read_members(memory, statements)
        if code_keys.id in members.removed or code_keys.id in members.spent:
            raise RefusedError(
                "This code was used or withdrawn.", hint="`engrams sync pair` makes another."
            )
        keys = MemberKeys.make()
        number = 1 + max((item.number for item in statements if item.by == code_keys.id), default=0)
        joining = add_member(code_keys, number, keys, "device")
        members = read_members(memory, [*statements, joining])
        # The code has the memory's keys. The new device gives them to itself.
        key_statement = give_keys(keys, 1, members, opener=code_keys)
        identity = DeviceIdentity(
            memory,
            keys,
            _check_label(label),
            owner.owner,
            carrier.address,
            access,
            statements,
        )
        self._begin(identity, carrier, [joining, key_statement] if key_statement else [joining])

    def move(self, address: str, access: PlaceAccess = NO_ACCESS) -> None:
        """Exchange by another place from now on, or with another password by the same one.

        Every device has to move. This one tells the new place everything again.
        """
        self._home.load()
        carrier = self._open(address, access)
        carrier.prepare()
        with self._home.lock():
            identity = replace(self._home.load(), address=carrier.address, access=access)
            listed = carrier.list()
            lost = [item for item in identity.statements if item.file not in listed]
            if lost:
                carrier.write({item.file: item.data for item in lost})
            self._home.save(identity)

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
            identity, members, carrier = self._read()
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
            files = carrier.list()
            last = {
                kind: max(
                    (file.number for file in files if file[::2] == (removed.id, kind)), default=0
                )
                for kind in ("key", "seg")
            }
            statement = remove_member(
                identity.keys, identity.next_statement, removed.id, last["key"], last["seg"]
            )
            identity, members = publish(self._home, identity, carrier, [statement])
            self._give_keys(identity, members, carrier)
            return replace(removed, is_removed=True)

    def now(self) -> ExchangeReport:
        """Exchange everything with the place, and return what it did.

        NotFoundError: this home is no device of a memory.
        """
        self._home.load()
        with self._home.lock():
            identity = self._home.load()
            carrier = self._open(identity.address, identity.access)
            report = Exchange(self._deps, self._home, carrier).run()
        self._deps.after()
        return report

    def status(self) -> SyncStatus:
        """Tell of this device, the others, and purges that not every one of them made."""
        identity = self._home.load()
        members = identity.read_members()
        replica = self._load_replica(identity)
        infos = self._describe(identity, members)
        labels = {info.id: info.label or info.id for info in infos}
        device_ids = [member.id for member in members.list_devices()]
        waiting = [
            (purge, replica.list_unconfirmed(purge, device_ids, identity.device))
            for purge in replica.purges
        ]
        return SyncStatus(
            memory=identity.memory,
            address=identity.address,
            device=identity.device,
            label=identity.label,
            devices=infos,
            purges=tuple(
                WaitingPurge(purge.at, purge.count, tuple(labels[device] for device in devices))
                for purge, devices in waiting
                if devices
            ),
            to_send=len(list(self._home.outbox.glob("*"))),
            has_changes=self._has_changes(identity, replica),
            kept_here=len(replica.kept_ids),
            kept_out=len({id for ids in replica.declined.values() for id in ids}),
        )

    def devices(self) -> tuple[DeviceInfo, ...]:
        """List devices and open invitations, as this device knows them."""
        identity = self._home.load()
        return self._describe(identity, identity.read_members())

    def watch(self, stop: Callable[[], bool], report: Callable[[ExchangeReport], object]) -> None:
        """Exchange whenever something changes here or in the place, until ``stop`` returns True."""
        from engrams.sync.watch import iter_changes

        identity = self._home.load()
        carrier = self._open(identity.address, identity.access)
        folder = carrier.folder if isinstance(carrier, FolderPlace) else None

        def has_changes() -> bool:
            return self._has_changes(identity, self._load_replica(identity))

        for _ in iter_changes(folder, has_changes, stop):
            try:
                outcome = self.now()
            except (ConflictError, StoreError):
                # The place is away, or a command exchanges at this moment: it is tried again.
                continue
            if outcome != ExchangeReport(waiting=outcome.waiting):
                report(outcome)

    # ----------------------------------------------------------------------------------------------

    def _begin(
        self, identity: DeviceIdentity, carrier: Place, statements: Sequence[Statement]
    ) -> None:
        """Make this home a device, and tell the others."""
        with self._home.lock():
            identity, members = publish(self._home, identity, carrier, statements)
            self._give_keys(identity, members, carrier)

    def _read(self) -> tuple[DeviceIdentity, MemberList, Place]:
        """Read the identity, and the statements that are new in the place."""
        identity = self._home.load()
        carrier = self._open(identity.address, identity.access)
        identity, members = read_statements(self._home, identity, carrier, carrier.list())
        return identity, members, carrier

    def _give_keys(self, identity: DeviceIdentity, members: MemberList, carrier: Place) -> None:
        """Give members the keys that they lack, with a new one where no key is safe."""
        new_key = b"" if members.find_current_key() else MemberKeys.make().opening
        statement = give_keys(identity.keys, identity.next_statement, members, new_key)
        if statement is not None:
            publish(self._home, identity, carrier, [statement])

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

    def _load_replica(self, identity: DeviceIdentity) -> ReplicaState:
        return ReplicaState.load(self._deps.store, identity.owner, identity.device)

    def _has_changes(self, identity: DeviceIdentity, replica: ReplicaState) -> bool:
        return self._deps.store.find_change(identity.owner, 0) > replica.cursor

    def _open(self, address: str, access: PlaceAccess) -> Place:
        return open_place(address, access, self._home.caches)

    def _require_off(self) -> None:
        if not self._is_lasting:
            raise RefusedError("A memory that keeps nothing on disk has nothing to synchronise.")
        if self._home.is_device:
            raise ConflictError(
                "This home is a device of a memory already.",
                hint="`engrams sync status` shows it; `engrams sync leave` ends it.",
            )


def _find_memory(carrier: Place, code_id: str, secret: bytes) -> tuple[str, tuple[Statement, ...]]:
    """Find the memory that a code is of, and the statements about it.

    NotFoundError: there is none. A memory that the place made up does not fit the code.
    """
    read = [
        Statement.read(carrier.read(file) or b"", file.member, file.number)
        for file in sorted(carrier.list())
        if file.kind == "key"
    ]
    statements = [statement for statement in read if statement is not None]
    for statement in statements:
        if statement.body["do"] != "found":
            continue
        signed = select_signed(statement.memory, (), statements)
        member = read_members(statement.memory, signed).members.get(code_id)
        if member is not None and ciphers.fits_code(member.proof, secret, statement.memory):
            return statement.memory, signed
    raise NotFoundError(
        "No memory in this place fits the code.",
        hint="The carrier may not have brought its files yet; or the code is of another memory.",
    )


def _check_label(label: str) -> str:
    """Return the name of a device: the given one, or the machine's."""
    clean = " ".join((label or socket.gethostname()).split())
    return clean[:_LABEL_CHARS]
