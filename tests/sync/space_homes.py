"""Homes of several people that share a space over a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engrams.composition import open as open_engine
from engrams.core import Record, Scope, Status, Turn
from engrams.engine import MemoryEngine
from engrams.settings import load
from engrams.spaces.speakers import sign_turn
from engrams.sync import segments
from engrams.sync.exchange import ExchangeReport
from engrams.sync.identity import DeviceIdentity, list_space_homes


class SpaceMemberHome:
    """Home of one person."""

    def __init__(self, folder: Path, user: str, **settings: Any) -> None:
        self.home = folder / user
        self.person = Scope(("user", user))
        self._settings = {"home": str(self.home), "user": user, "jobs.workers": 0, **settings}
        self.engine = self._open()

    def _open(self) -> MemoryEngine:
        return open_engine(load(self._settings, environ={}).settings)

    def reopen(self, **settings: Any) -> None:
        self._settings |= settings
        self.engine = self._open()

    def invite(self, name: str, role: str = "editor") -> str:
        return self.engine.spaces.invite("home", name, role, scope=self.person)

    def join(self, place: Path, code: str, name: str = "") -> None:
        self.engine.spaces.join(str(place), code, scope=self.person, name=name)

    def tell(self, text: str, space: str = "home") -> str:
        """Tell the space something as a member; return the id of the message."""
        entered = self.engine.spaces.get(space, scope=self.person, writes=True)
        (receipt,) = self.engine.observe(
            [sign_turn(Turn(text), entered.own_name)], scope=entered.scope
        )
        self.engine.drain(30)
        return receipt.id

    def space(self, name: str = "home") -> Scope:
        return self.engine.spaces.enter(name, scope=self.person)

    def exchange(self) -> ExchangeReport:
        """Exchange the spaces; return the report of the only one."""
        (exchanged,) = self.engine.sync.now().spaces
        assert exchanged.report is not None, exchanged
        return exchanged.report

    def texts(self, name: str = "home") -> set[str]:
        """Texts of all active memories of the space on this home."""
        return {record.text for record in self.engine.list(scope=self.space(name)).records}

    def get(self, record_id: str) -> Record | None:
        records = self.engine.store.get(self.space(), [record_id])
        return records[0] if records and records[0].status is not Status.PURGED else None

    def identity(self) -> DeviceIdentity:
        (folder,) = list_space_homes(self.home)
        return folder.load()

    def forge(self, place: Path, **content: Any) -> Path:
        """Write a segment as this home's keys allow, whatever its role; return its file."""
        identity = self.identity()
        members = identity.read_members()
        key = members.find_current_key()
        assert key is not None
        folder = place / "devices" / identity.device
        folder.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(path.stem) for path in folder.glob("*.seg")), default=0)
        told = {"label": "forged", "written_at": "2026-11-30T12:00:00+00:00", "applied": {}}
        segment = segments.Segment(identity.device, number, **told | content)
        opened = members.open_key(key.name, identity.keys)
        path = folder / f"{number}.seg"
        path.write_bytes(segments.pack(segment, identity.memory, opened, identity.keys))
        return path

    def open_segments(self, place: Path) -> list[segments.Segment]:
        """Open the segments of a place with the keys of this home; EncryptionError: it has none."""
        identity = self.identity()
        members = identity.read_members()
        return [
            segments.unpack(
                path.read_bytes(),
                identity.memory,
                path.parent.name,
                int(path.stem),
                members.members[path.parent.name].signing,
                lambda name: members.open_key(name, identity.keys),
            )
            for path in sorted(place.glob("devices/*/*.seg"))
        ]

    def close(self) -> None:
        self.engine.close()


def exchange_all(*homes: SpaceMemberHome, rounds: int = 2) -> None:
    for _ in range(rounds):
        for home in homes:
            home.exchange()
