"""The members of a memory and its keys, as statements that members signed.

A member is a device, an invitation (whoever has the code of `engrams sync pair`) or the recovery (whoever
has the recovery code). Each writes its statements as numbered files that nobody else writes. So no place
has to lock. ``read_members`` puts them together in one order, whichever way they came:

- ``found``: the first device's; its hash is the id of the memory.
- ``add``: a new member with its public keys.
- ``keys``: a key of the memory, wrapped for members. A new one is made when a member is removed.
- ``remove``: a member, and its last statement that still counts. A member may remove itself.
- ``role``: another role of a member, from one of its segments on.
- ``name``: the names of the first member and of its space, sealed.

In a person's own memory every device is an owner. In a space each has the role that its invitation gave
it. Only owners add and remove members, change roles and make keys. The others give keys to themselves
alone. An owner stays one until it is removed: whatever order statements come in, the same ones count.

The place may keep statements back, and cannot make any: it has no member's key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Literal, TypeAlias

from engrams.core import Json
from engrams.errors import EncryptionError, RefusedError
from engrams.spaces import SpaceRole
from engrams.sync import ciphers
from engrams.sync.ciphers import MemberKeys
from engrams.sync.places import PlaceFile

MemberKind: TypeAlias = Literal["device", "invitation", "recovery"]
_FORMAT = 1
_MEMORY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Statement:
    """A signed statement of a member."""

    by: str
    """Id of the member."""
    number: int
    """Its statements are numbered from 1."""
    body: Mapping[str, Json]
    data: bytes
    """Content of the file that holds it."""

    @classmethod
    def sign(cls, keys: MemberKeys, number: int, body: Mapping[str, Json]) -> Statement:
        signed = json.dumps(
            {"engrams": _FORMAT, "by": keys.id, "number": number, **body}, sort_keys=True
        )
        file = {"signed": signed, "signature": keys.sign(signed.encode()).hex()}
        return cls(keys.id, number, json.loads(signed), json.dumps(file).encode())

    @classmethod
    def read(cls, data: bytes, by: str, number: int) -> Statement | None:
        """Read a file. None: it is not whole, or not of this member and number."""
        try:
            body = json.loads(json.loads(data)["signed"])
            own_name = (body["by"], body["number"], body["engrams"])
            if own_name != (by, number, _FORMAT) or not isinstance(body["do"], str):
                return None
            return cls(by, number, body, data)
        except (ValueError, KeyError, TypeError):
            return None

    def is_signed_by(self, public_signing: bytes) -> bool:
        file = json.loads(self.data)
        try:
            signature = bytes.fromhex(file["signature"])
        except (KeyError, TypeError, ValueError):
            return False
        return ciphers.is_signed(file["signed"].encode(), signature, public_signing)

    @property
    def file(self) -> PlaceFile:
        """Name of the file that holds it."""
        return PlaceFile(self.by, self.number, "key")

    @property
    def memory(self) -> str:
        """Id of the memory that this statement founds."""
        signed = json.loads(self.data)["signed"].encode()
        return blake2b(signed, digest_size=_MEMORY_BYTES, person=b"engrams memory").hexdigest()


@dataclass(frozen=True, slots=True)
class SealedNames:
    """Names that only members can read."""

    about: str
    """Id of the member that they were sealed for: of an invitation, for whoever takes it."""
    key: str
    """Name of the key of the memory that seals them."""
    sealed: bytes

    @classmethod
    def seal(cls, names: Mapping[str, str], memory: str, about: str, key: bytes) -> SealedNames:
        """Seal names with a key of the memory."""
        sealed = ciphers.seal(key, json.dumps(names).encode(), _name_purpose(memory, about))
        return cls(about, ciphers.name_key(key), sealed)

    def to_json(self) -> dict[str, Json]:
        return {"key": self.key, "sealed": self.sealed.hex()}


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a memory."""

    id: str
    kind: MemberKind
    opening: bytes
    """Public key that things are wrapped for."""
    signing: bytes
    """Public key of its signatures."""
    proof: str = ""
    """Of an invitation or a recovery: ties its code to this memory."""
    joined_by: str = ""
    role: SpaceRole = SpaceRole.OWNER
    """Role that it joined with."""
    names: SealedNames | None = None
    """Names that its invitation gave it."""


@dataclass(frozen=True, slots=True)
class NewMember:
    """Member to add."""

    keys: MemberKeys
    kind: MemberKind
    proof: str = ""
    role: SpaceRole = SpaceRole.OWNER
    names: SealedNames | None = None


@dataclass(frozen=True, slots=True)
class RoleChange:
    """Another role of a member."""

    role: SpaceRole
    order: int
    """Later changes have higher ones."""
    statement: int
    """Number of the last statement that the member made before it."""
    segment: int
    """Number of the last segment that the member wrote before it."""


@dataclass(slots=True)
class MemoryKey:
    """A key of the memory, as members gave it to each other."""

    name: str
    number: int
    wrapped: dict[str, bytes] = field(default_factory=dict)
    """The key, wrapped for a member, by the member's id."""


@dataclass(slots=True)
class MemberList:
    """Members and keys of a memory."""

    memory: str
    is_space: bool = False
    """True: several people's homes share it."""
    members: dict[str, Member] = field(default_factory=dict)
    """By id, with those that were removed."""
    removed: dict[str, int] = field(default_factory=dict)
    """Id of a removed member -> number of its last statement that counts."""
    last_segments: dict[str, int] = field(default_factory=dict)
    """Id of a removed device -> number of its last segment that counts."""
    spent: set[str] = field(default_factory=set)
    """Invitations that somebody took."""
    keys: dict[str, MemoryKey] = field(default_factory=dict)
    role_changes: dict[str, list[RoleChange]] = field(default_factory=dict)
    """By the member whose role changed."""

    def find_role(self, member_id: str, segment: int | None = None) -> SpaceRole:
        """Return the role of a member, or the one with which it wrote a segment."""
        role = self.members[member_id].role
        # Of changes that did not know of each other, the one that allows less counts.
        changes = sorted(
            self.role_changes.get(member_id, ()),
            key=lambda change: (change.order, -list(SpaceRole).index(change.role)),
        )
        for change in changes:
            if role is not SpaceRole.OWNER and (segment is None or segment > change.segment):
                role = change.role
        return role

    def is_owner(self, member_id: str) -> bool:
        return self.find_role(member_id) is SpaceRole.OWNER

    def next_order(self, member_id: str) -> int:
        """Return the order of the next change of a member's role."""
        return 1 + max((change.order for change in self.role_changes.get(member_id, ())), default=0)

    def read_names(self, member_id: str, keys: MemberKeys) -> Mapping[str, str]:
        """Read the names of a member; empty where it has none, or this device has no key for them."""
        names = self.members[member_id].names
        if names is None:
            return {}
        try:
            key = self.open_key(names.key, keys)
            data = ciphers.unseal(key, names.sealed, _name_purpose(self.memory, names.about))
        except EncryptionError:
            return {}
        return {str(label): str(name) for label, name in json.loads(data).items()}

    def list_devices(self) -> list[Member]:
        """List the devices that are members, in the order in which they joined."""
        return [
            member
            for member in self.members.values()
            if member.kind == "device" and member.id not in self.removed
        ]

    def list_readers(self) -> list[Member]:
        """List the members that get the memory's keys."""
        return [
            member
            for member in self.members.values()
            if member.id not in self.removed and member.id not in self.spent
        ]

    def find_current_key(self) -> MemoryKey | None:
        """Find the newest key that no removed member has; None: one must be made."""
        safe = [key for key in self.keys.values() if self.removed.keys().isdisjoint(key.wrapped)]
        return max(safe, key=lambda key: (key.number, key.name), default=None)

    def open_key(self, name: str, keys: MemberKeys) -> bytes:
        """Open a key of the memory. EncryptionError: this member does not have it."""
        wrapped = self.keys[name].wrapped.get(keys.id) if name in self.keys else None
        if wrapped is None:
            raise EncryptionError("Nobody gave this device the key yet.")
        key = keys.unwrap(wrapped, _wrap_purpose(self.memory, name))
        if ciphers.name_key(key) != name:
            raise EncryptionError("A key of the memory has the wrong name.")
        return key


def found_memory(keys: MemberKeys, *, is_space: bool = False) -> Statement:
    """Write the statement that begins a memory with its first device."""
    body = {"do": "found", "member": _describe(keys, "device")}
    return Statement.sign(keys, 1, body | {"space": True} if is_space else body)


def add_member(keys: MemberKeys, number: int, new: NewMember) -> Statement:
    """Write the statement that adds a member."""
    member = _describe(new.keys, new.kind) | ({"proof": new.proof} if new.proof else {})
    if new.role is not SpaceRole.OWNER:
        member["role"] = new.role.value
    if new.names is not None:
        member["names"] = new.names.to_json()
    return Statement.sign(keys, number, {"do": "add", "member": member})


def name_founder(keys: MemberKeys, number: int, names: SealedNames) -> Statement:
    """Write the statement that names the first member of a space, and the space."""
    return Statement.sign(keys, number, {"do": "name", "names": names.to_json()})


def change_role(keys: MemberKeys, number: int, member_id: str, change: RoleChange) -> Statement:
    """Write the statement that gives a member another role."""
    body = {
        "do": "role",
        "member": member_id,
        "role": change.role.value,
        "order": change.order,
        "statement": change.statement,
        "segment": change.segment,
    }
    return Statement.sign(keys, number, body)


def remove_member(
    keys: MemberKeys, number: int, member_id: str, last_statement: int, last_segment: int
) -> Statement:
    """Write the statement that removes a member. What it said later does not count."""
    body = {
        "do": "remove",
        "member": member_id,
        "statement": last_statement,
        "segment": last_segment,
    }
    return Statement.sign(keys, number, body)


def give_keys(
    keys: MemberKeys,
    number: int,
    members: MemberList,
    new_key: bytes = b"",
    opener: MemberKeys | None = None,
) -> Statement | None:
    """Write the statement that gives members the keys that they lack; None: they lack none.

    ``new_key``: a key that is new, for all of them. ``opener``: the member that has the keys, if that is
    not the one that gives them. Whoever is no owner gives them to itself alone.
    """
    gives_all = members.is_owner(keys.id)
    shares = []
    opened = {ciphers.name_key(new_key): new_key} if new_key else {}
    opener = opener or keys
    for name, key in members.keys.items():
        if opener.id in key.wrapped:
            opened[name] = members.open_key(name, opener)
    newest = max((key.number for key in members.keys.values()), default=0)
    for name, secret in opened.items():
        has = members.keys[name].wrapped.keys() if name in members.keys else ()
        wrapped = {
            member.id: ciphers.wrap(
                secret, member.opening, _wrap_purpose(members.memory, name)
            ).hex()
            for member in members.list_readers()
            if member.id not in has and (gives_all or member.id == keys.id)
        }
        if wrapped:
            order = members.keys[name].number if name in members.keys else newest + 1
            shares.append({"key": name, "order": order, "wrapped": wrapped})
    return Statement.sign(keys, number, {"do": "keys", "given": shares}) if shares else None


def read_members(memory: str, statements: Iterable[Statement]) -> MemberList:
    """Put statements together; those that do not count are left out.

    Of two members that remove each other, the one that joined first stays.
    """
    ordered = sorted(statements, key=lambda statement: (statement.by, statement.number))
    limits: dict[str, tuple[int, int]] = {}
    while True:
        members, removals = _collect(memory, ordered, limits)
        ranks = {member_id: rank for rank, member_id in enumerate(members.members)}
        counted = dict(limits)
        for _, member_id, limit in sorted(removals, key=lambda item: ranks[item[0]]):
            if member_id not in counted:
                counted[member_id] = limit
                break
        if counted == limits:
            members.removed = {name: limit[0] for name, limit in limits.items()}
            members.last_segments = {name: limit[1] for name, limit in limits.items()}
            return members
        limits = counted


def select_signed(
    memory: str, known_statements: Sequence[Statement], new: Sequence[Statement]
) -> tuple[Statement, ...]:
    """Add those new statements to the known ones whose signers are known and signed them.

    The others may come again: somebody may have put a file under a member's name.
    """
    selected = list(known_statements)
    waiting = list(new)
    while True:
        members, _ = _collect(memory, selected, {})
        signed = [
            statement
            for statement in waiting
            if (signer := _find_signer(members, statement)) is not None
            and statement.is_signed_by(signer.signing)
        ]
        if not signed:
            return tuple(selected)
        selected += signed
        waiting = [statement for statement in waiting if statement not in signed]


def require_member(members: MemberList, member_id: str) -> None:
    """RefusedError: the member was removed."""
    if member_id in members.removed:
        raise RefusedError(
            "This device was removed from the memory.",
            hint=(
                "Its own copy stays. To join again: `engrams sync leave`, then `engrams sync pair` on"
                " another device and `engrams sync join` here."
            ),
        )


def _collect(
    memory: str, statements: list[Statement], limits: Mapping[str, tuple[int, int]]
) -> tuple[MemberList, list[tuple[str, str, tuple[int, int]]]]:
    """Collect members, keys and removals; ``limits``: of members that are removed already."""
    members = MemberList(memory)
    removals: list[tuple[str, str, tuple[int, int]]] = []
    waiting = [
        statement
        for statement in statements
        if statement.by not in limits or statement.number <= limits[statement.by][0]
    ]
    key_statements: list[tuple[Member, Statement]] = []
    while True:
        later: list[Statement] = []
        for statement in waiting:
            signer = _find_signer(members, statement)
            if signer is None or not _may_say(members, signer, statement):
                # The statement that adds the signer, or makes it an owner, may come later.
                later.append(statement)
            elif statement.is_signed_by(signer.signing):
                if statement.body["do"] == "keys":
                    key_statements.append((signer, statement))
                else:
                    _apply(members, removals, signer, statement)
        if len(later) == len(waiting):
            break
        waiting = later
    # Who is an owner is known now. What the others give themselves are keys that owners made.
    for signer, statement in key_statements:
        if signer.kind != "device" or _is_owner_by(members, signer, statement):
            _add_shares(members, statement)
    for signer, statement in key_statements:
        _add_own_shares(members, signer, statement)
    return members, removals


def _find_signer(members: MemberList, statement: Statement) -> Member | None:
    if statement.body["do"] == "found":
        if statement.memory != members.memory:
            return None
        return _read_member(statement.body["member"], "")
    return members.members.get(statement.by)


def _may_say(members: MemberList, signer: Member, statement: Statement) -> bool:
    """An invitation adds one device, the recovery adds devices and gives keys.

    A device that is no owner gives keys to itself and removes itself.
    """
    does = statement.body["do"]
    if signer.kind == "device":
        removes_itself: bool = does == "remove" and statement.body.get("member") == signer.id
        return does == "keys" or removes_itself or _is_owner_by(members, signer, statement)
    member = statement.body.get("member")
    adds_device = does == "add" and isinstance(member, dict) and member.get("kind") == "device"
    if signer.kind == "invitation":
        return adds_device and statement.number == 1
    return adds_device or does == "keys"


def _is_owner_by(members: MemberList, signer: Member, statement: Statement) -> bool:
    """Return True where a device was an owner when it made a statement."""
    return signer.role is SpaceRole.OWNER or any(
        change.role is SpaceRole.OWNER and statement.number > change.statement
        for change in members.role_changes.get(signer.id, ())
    )


def _add_shares(members: MemberList, statement: Statement) -> None:
    try:
        for shares in statement.body["given"]:
            key = members.keys.setdefault(
                shares["key"], MemoryKey(shares["key"], int(shares["order"]))
            )
            for member_id, wrapped in shares["wrapped"].items():
                key.wrapped.setdefault(member_id, bytes.fromhex(wrapped))
    except (KeyError, TypeError, ValueError, AttributeError):
        return


def _add_own_shares(members: MemberList, signer: Member, statement: Statement) -> None:
    """Add the keys that a member gives to itself, if the memory has them."""
    try:
        for shares in statement.body["given"]:
            key = members.keys.get(shares["key"])
            if key is not None and signer.id in shares["wrapped"]:
                key.wrapped.setdefault(signer.id, bytes.fromhex(shares["wrapped"][signer.id]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return


def _apply(
    members: MemberList,
    removals: list[tuple[str, str, tuple[int, int]]],
    signer: Member,
    statement: Statement,
) -> None:
    body = statement.body
    try:
        match body["do"]:
            case "found" | "add":
                member = _read_member(body["member"], signer.id)
                if signer.kind == "invitation":
                    # Its role and names are those that an owner gave to the invitation.
                    member = replace(member, role=signer.role, names=signer.names)
                    members.spent.add(signer.id)
                members.members.setdefault(member.id, member)
                members.is_space |= bool(body.get("space")) and body["do"] == "found"
            case "name":
                names = _read_names(body["names"], signer.id)
                if signer.names is None:
                    members.members[signer.id] = replace(signer, names=names)
            case "role":
                change = RoleChange(
                    SpaceRole(body["role"]),
                    int(body["order"]),
                    int(body["statement"]),
                    int(body["segment"]),
                )
                members.role_changes.setdefault(body["member"], []).append(change)
            case "remove":
                limit = int(body["statement"]), int(body["segment"])
                removals.append((signer.id, str(body["member"]), limit))
    except (KeyError, TypeError, ValueError, AttributeError):
        return


def _describe(keys: MemberKeys, kind: MemberKind) -> dict[str, Json]:
    return {
        "kind": kind,
        "opening": keys.public_opening.hex(),
        "signing": keys.public_signing.hex(),
    }


def _read_member(data: Json, joined_by: str) -> Member:
    opening = bytes.fromhex(data["opening"])
    signing = bytes.fromhex(data["signing"])
    own_id = ciphers.name_member(opening, signing)
    return Member(
        id=own_id,
        kind=data["kind"],
        opening=opening,
        signing=signing,
        proof=data.get("proof", ""),
        joined_by=joined_by,
        role=SpaceRole(data.get("role", SpaceRole.OWNER)),
        names=_read_names(data["names"], own_id) if "names" in data else None,
    )


def _read_names(data: Json, about: str) -> SealedNames:
    return SealedNames(about, data["key"], bytes.fromhex(data["sealed"]))


def _name_purpose(memory: str, member_id: str) -> bytes:
    return f"names {memory} {member_id}".encode()


def _wrap_purpose(memory: str, key_name: str) -> bytes:
    return f"key {memory} {key_name}".encode()
