"""The members of a memory and its keys, as statements that members signed.

A member is a device, an invitation (whoever has the code of `engrams sync pair`) or the recovery (whoever
has the recovery code). Each writes its statements as numbered files that nobody else writes. So no place
has to lock. ``read_members`` puts them together in one order, whichever way they came:

- ``found``: the first device's; its hash is the id of the memory.
- ``add``: a new member with its public keys.
- ``keys``: a key of the memory, wrapped for members. A new one is made when a member is removed.
- ``remove``: a member, and its last statement that still counts.

The place may keep statements back, and cannot make any: it has no member's key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, TypeAlias

from engrams.core import Json
from engrams.errors import EncryptionError, RefusedError
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
    members: dict[str, Member] = field(default_factory=dict)
    """By id, with those that were removed."""
    removed: dict[str, int] = field(default_factory=dict)
    """Id of a removed member -> number of its last statement that counts."""
    last_segments: dict[str, int] = field(default_factory=dict)
    """Id of a removed device -> number of its last segment that counts."""
    spent: set[str] = field(default_factory=set)
    """Invitations that somebody took."""
    keys: dict[str, MemoryKey] = field(default_factory=dict)

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


def found_memory(keys: MemberKeys) -> Statement:
    """Write the statement that begins a memory with its first device."""
    return Statement.sign(keys, 1, {"do": "found", "member": _describe(keys, "device")})


def add_member(
    keys: MemberKeys,
    number: int,
    new_keys: MemberKeys,
    kind: MemberKind,
    proof: str = "",
) -> Statement:
    """Write the statement that adds a member."""
    member = _describe(new_keys, kind) | ({"proof": proof} if proof else {})
    return Statement.sign(keys, number, {"do": "add", "member": member})


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
    not the one that gives them.
    """
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
            if member.id not in has
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
    while True:
        later: list[Statement] = []
        for statement in waiting:
            signer = _find_signer(members, statement)
            if signer is None:
                later.append(statement)
            elif statement.is_signed_by(signer.signing) and _may_say(signer, statement):
                _apply(members, removals, signer, statement)
        if len(later) == len(waiting):
            return members, removals
        waiting = later


def _find_signer(members: MemberList, statement: Statement) -> Member | None:
    if statement.body["do"] == "found":
        if statement.memory != members.memory:
            return None
        return _read_member(statement.body["member"], "")
    return members.members.get(statement.by)


def _may_say(signer: Member, statement: Statement) -> bool:
    """An invitation adds one device, the recovery adds devices and gives keys."""
    does = statement.body["do"]
    if signer.kind == "device":
        return True
    adds_device: bool = does == "add" and statement.body["member"].get("kind") == "device"
    if signer.kind == "invitation":
        return adds_device and statement.number == 1
    return adds_device or does == "keys"


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
                members.members.setdefault(member.id, member)
                if signer.kind == "invitation":
                    members.spent.add(signer.id)
            case "keys":
                for shares in body["given"]:
                    key = members.keys.setdefault(
                        shares["key"], MemoryKey(shares["key"], int(shares["order"]))
                    )
                    for member_id, wrapped in shares["wrapped"].items():
                        key.wrapped.setdefault(member_id, bytes.fromhex(wrapped))
            case "remove":
                limit = int(body["statement"]), int(body["segment"])
                removals.append((signer.id, body["member"], limit))
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
    return Member(
        id=ciphers.name_member(opening, signing),
        kind=data["kind"],
        opening=opening,
        signing=signing,
        proof=data.get("proof", ""),
        joined_by=joined_by,
    )


def _wrap_purpose(memory: str, key_name: str) -> bytes:
    return f"key {memory} {key_name}".encode()
