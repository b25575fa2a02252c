"""``MemberLog``: invite, admit and remove members of a memory, and give them its keys.

It is the same for a person's devices and for the homes that share a space.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from engrams.core import Scope
from engrams.errors import EncryptionError, InputError, NotFoundError, RefusedError
from engrams.spaces import SpaceRole
from engrams.sync import ciphers
from engrams.sync.ciphers import MemberKeys
from engrams.sync.exchange import publish, read_statements
from engrams.sync.identity import DeviceHome, DeviceIdentity
from engrams.sync.membership import (
    MemberList,
    NewMember,
    RoleChange,
    SealedNames,
    Statement,
    add_member,
    change_role,
    give_keys,
    name_founder,
    read_members,
    remove_member,
    select_signed,
)
from engrams.sync.place_addresses import open_place
from engrams.sync.places import Place, PlaceAccess


class MemberLog:
    """Members of one memory, as this home and its place know them."""

    def __init__(self, home: DeviceHome) -> None:
        self._home = home

    def open_place(self, address: str, access: PlaceAccess) -> Place:
        return open_place(address, access, self._home.caches)

    def begin(
        self, identity: DeviceIdentity, carrier: Place, statements: Sequence[Statement]
    ) -> None:
        """Make this home a device of a memory, and tell the others."""
        with self._home.lock():
            identity, members = publish(self._home, identity, carrier, statements)
            self._give_keys(identity, members, carrier)

    def read(self) -> tuple[DeviceIdentity, MemberList, Place]:
        """Read the identity, and the statements that are new in the place."""
        identity = self._home.load()
        carrier = self.open_place(identity.address, identity.access)
        identity, members = read_statements(self._home, identity, carrier, carrier.list())
        return identity, members, carrier

    def invite(
        self, role: SpaceRole = SpaceRole.OWNER, names: Mapping[str, str] | None = None
    ) -> str:
        """Invite one other home; return the code that it needs. It works once.

        ``names``: of whoever takes the invitation, which only members can read.
        """
        self._home.load()
        with self._home.lock():
            identity, members, carrier = self.read()
            secret = ciphers.make_code()
            keys = MemberKeys.from_code(secret)
            sealed = self._seal_names(identity, members, keys.id, names) if names else None
            proof = ciphers.prove_code(secret, identity.memory)
            invited = NewMember(keys, "invitation", proof, role, sealed)
            invitation = add_member(identity.keys, identity.next_statement, invited)
            identity, members = publish(self._home, identity, carrier, [invitation])
            self._give_keys(identity, members, carrier)
        return ciphers.write_code(secret)

    def remove(self, ids: Collection[str]) -> None:
        """Remove members: they read nothing that is told from now on."""
        self._home.load()
        with self._home.lock():
            identity, members, carrier = self.read()
            last_numbers = {id: _find_last(carrier, id) for id in ids}
            for id, (last_statement, last_segment) in last_numbers.items():
                # A member that removes itself says this last.
                own = identity.next_statement if id == identity.device else 0
                removal = remove_member(
                    identity.keys,
                    identity.next_statement,
                    id,
                    max(own, last_statement),
                    last_segment,
                )
                identity, members = publish(self._home, identity, carrier, [removal])
            if identity.device not in ids:
                self._give_keys(identity, members, carrier)

    def change_role(self, ids: Collection[str], role: SpaceRole) -> None:
        """Give members another role, from what they write next on."""
        with self._home.lock():
            identity, members, carrier = self.read()
            for id in ids:
                change = RoleChange(role, members.next_order(id), *_find_last(carrier, id))
                statement = change_role(identity.keys, identity.next_statement, id, change)
                identity, members = publish(self._home, identity, carrier, [statement])

    def name_founder(self, names: Mapping[str, str]) -> None:
        """Name this home, the first of a space, and the space, so that only members can read it."""
        with self._home.lock():
            identity, members, carrier = self.read()
            sealed = self._seal_names(identity, members, identity.device, names)
            statement = name_founder(identity.keys, identity.next_statement, sealed)
            publish(self._home, identity, carrier, [statement])

    def _seal_names(
        self, identity: DeviceIdentity, members: MemberList, about: str, names: Mapping[str, str]
    ) -> SealedNames:
        current = members.find_current_key()
        if current is None:
            raise EncryptionError("No key of this memory is safe to use.")
        key = members.open_key(current.name, identity.keys)
        return SealedNames.seal(names, identity.memory, about, key)

    def _give_keys(self, identity: DeviceIdentity, members: MemberList, carrier: Place) -> None:
        """Give members the keys that they lack, with a new one where no key is safe."""
        may_make = members.find_current_key() is None and members.is_owner(identity.device)
        new_key = MemberKeys.make().opening if may_make else b""
        statement = give_keys(identity.keys, identity.next_statement, members, new_key)
        if statement is not None:
            publish(self._home, identity, carrier, [statement])


def _find_last(carrier: Place, member_id: str) -> tuple[int, int]:
    """Find the numbers of the last statement and the last segment of a member in a place."""
    files = [file for file in carrier.list() if file.member == member_id]
    last_statement = max((file.number for file in files if file.kind == "key"), default=0)
    last_segment = max((file.number for file in files if file.kind == "seg"), default=0)
    return last_statement, last_segment


def plan_joining(
    carrier: Place, code: str, *, is_space: bool
) -> tuple[DeviceIdentity, list[Statement]]:
    """Make the keys of a new device of the memory that a code is of.

    Return its identity, still without an owner, and the statements to publish. ``is_space``: the
    memory must be a space. InputError: it is the other kind. NotFoundError: the place has no memory for
    this code. RefusedError: the code was used, or was withdrawn.
    """
    secret = ciphers.read_code(code)
    code_keys = MemberKeys.from_code(secret)
    memory, statements = _find_memory(carrier, code_keys.id, secret)
    members = read_members(memory, statements)
    if members.is_space is not is_space:
        raise InputError(
            "This code is of a space." if members.is_space else "This code is of no space.",
            hint="`engrams space join` joins a space, `engrams sync join` a person's own memory.",
        )
    if code_keys.id in members.removed or code_keys.id in members.spent:
        command = "engrams space invite" if is_space else "engrams sync pair"
        raise RefusedError("This code was used or withdrawn.", hint=f"`{command}` makes another.")
    keys = MemberKeys.make()
    number = 1 + max((item.number for item in statements if item.by == code_keys.id), default=0)
    joining = add_member(code_keys, number, NewMember(keys, "device"))
    members = read_members(memory, [*statements, joining])
    # The code has the memory's keys. The new device gives them to itself.
    key_statement = give_keys(keys, 1, members, opener=code_keys)
    identity = DeviceIdentity(
        memory, keys, "", Scope(("nobody",)), carrier.address, statements=statements
    )
    return identity, [joining, key_statement] if key_statement else [joining]


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
