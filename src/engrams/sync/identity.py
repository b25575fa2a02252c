"""The identity of a home as a device of a memory: a small file that no backup holds.

``sync/device.json`` in the home has the device's private keys, and the statements about members that it
knows: so no place can take a removal back. It is sealed where the home is encrypted.
``sync/out`` holds sealed segments that the place has not got yet, ``sync/places`` copies of places.
``sync/spaces/ID`` has the same for each space that this home shares with others.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engrams.core import Scope
from engrams.encryption import file_encryption
from engrams.errors import ConflictError, NotFoundError
from engrams.sync.ciphers import MemberKeys
from engrams.sync.membership import MemberList, Statement, read_members
from engrams.sync.places import NO_ACCESS, PlaceAccess

FOLDER = "sync"
_SPACES = "spaces"
_FILE = "device.json"
_LOCK = ".lock"
_WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """Identity of this home among the devices of a memory."""

    memory: str
    keys: MemberKeys
    label: str
    """Name that the person gave the device."""
    owner: Scope
    address: str
    """Address of the place."""
    access: PlaceAccess = NO_ACCESS
    """Login of the place, where it asks for one."""
    statements: tuple[Statement, ...] = ()
    """All statements about members that it knows."""

    @property
    def device(self) -> str:
        """Id of the device."""
        return self.keys.id

    @property
    def next_statement(self) -> int:
        """Number of the next statement of this device."""
        own = [statement.number for statement in self.statements if statement.by == self.device]
        return max(own, default=0) + 1

    def is_own(self, statement: Statement) -> bool:
        """Return True for a statement that this device wrote, with the one that made it a member."""
        member = statement.body.get("member")
        is_joining = isinstance(member, dict) and member.get("signing") == (
            self.keys.public_signing.hex()
        )
        return statement.by == self.device or (statement.body["do"] == "add" and is_joining)

    def read_members(self) -> MemberList:
        return read_members(self.memory, self.statements)


class DeviceHome:
    """The folder ``sync`` of a home, or the folder of a shared space below it."""

    def __init__(self, home: Path, space: str = "") -> None:
        """Set up the folder. ``space``: id of the memory of a space; empty: the person's own."""
        self._home = home.expanduser()
        self.folder = self._home / FOLDER
        if space:
            self.folder = self.folder / _SPACES / space
        self.outbox = self.folder / "out"
        self.caches = self.folder / "places"

    @property
    def is_device(self) -> bool:
        """True where this home is a device of a memory."""
        return (self.folder / _FILE).exists()

    def load(self) -> DeviceIdentity:
        """Read the identity. NotFoundError: this home is no device of a memory."""
        if not self.is_device:
            raise NotFoundError(
                "This home is not synchronised.",
                hint="`engrams sync init PLACE` begins it, `engrams sync join PLACE` joins another device.",
            )
        data = json.loads(file_encryption.read_file(self._home, self.folder / _FILE))
        return DeviceIdentity(
            memory=data["memory"],
            keys=MemberKeys(bytes.fromhex(data["opening"]), bytes.fromhex(data["signing"])),
            label=data["label"],
            owner=Scope.parse(data["owner"]),
            address=data["place"],
            access=PlaceAccess(*data.get("access", ())),
            statements=tuple(
                statement
                for by, number, text in data["statements"]
                if (statement := Statement.read(text.encode(), by, number)) is not None
            ),
        )

    def save(self, identity: DeviceIdentity) -> None:
        """Write the identity, durably, readable by its user only."""
        self.outbox.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        data = {
            "memory": identity.memory,
            "opening": identity.keys.opening.hex(),
            "signing": identity.keys.signing.hex(),
            "label": identity.label,
            "owner": identity.owner.key,
            "place": identity.address,
            "access": [identity.access.user, identity.access.password],
            "statements": [
                [statement.by, statement.number, statement.data.decode()]
                for statement in identity.statements
            ],
        }
        path = self.folder / _FILE
        file_encryption.write_file(self._home, path, json.dumps(data).encode())
        path.chmod(0o600)
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)

    def leave(self) -> None:
        """Make this home no device any more; its memory stays."""
        # The identity goes first: whatever is left without it is nothing.
        for path in (self.folder / _FILE, *self.outbox.glob("*")):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.caches, ignore_errors=True)

    def erase(self) -> None:
        """Make this home no device any more, and leave no file of it."""
        self.leave()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Let one process synchronise this home at a time; wait a while for another one.

        ConflictError: the other one takes longer.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + _WAIT_SECONDS
            while not _try_lock(handle):
                if time.monotonic() > deadline:
                    raise ConflictError(
                        "Another process synchronises this memory.", hint="Wait until it is done."
                    )
                time.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(handle)


def list_space_homes(home: Path) -> list[DeviceHome]:
    """List the folders of the spaces that a home shares with others."""
    folders = sorted((home.expanduser() / FOLDER / _SPACES).glob(f"*/{_FILE}"))
    return [DeviceHome(home, path.parent.name) for path in folders]


def _try_lock(handle: int) -> bool:
    """Lock an open file; False: another process has locked it."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return True  # the state that a run saves is compared and swapped, too
    except BlockingIOError:
        return False
    return True
