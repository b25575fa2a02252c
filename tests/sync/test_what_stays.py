"""What never leaves a device: secrets that its settings forbid, held statements, private conversations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.sync.replicas import OWNER, Device, exchange_all, pair, plain, raw

from engrams import admin
from engrams.core import Kind, Status
from engrams.core.ids import new_id
from engrams.core.log_enums import CrisisDetectionSource, CrisisSeverity
from engrams.ports import NewRecord, RecordChange, WriteBatch

_TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
_WITH_TOKEN = f"The token of the build is {_TOKEN}, says Ruth."
_PLAIN = "The build runs at night."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "place"


@pytest.fixture
def devices(tmp_path: Path, place: Path) -> Iterator[list[Device]]:
    """A laptop that may keep secrets and a phone that may not."""
    laptop = Device(tmp_path, "laptop", **{"write.secrets": "allow"})
    phone = Device(tmp_path, "phone")
    laptop.engine.sync.init(str(place), OWNER, laptop.label)
    pair(laptop, phone, place)
    yield [laptop, phone]
    for device in (laptop, phone):
        device.close()


def test_a_secret_that_was_stored_before_it_was_forbidden_is_not_told(
    devices: list[Device], place: Path
) -> None:
    """A home whose settings forbid a secret does not tell it, and says so; redacted, it travels."""
    laptop, phone = devices
    note = laptop.say(_WITH_TOKEN, kind=Kind.NOTE)
    laptop.say(_PLAIN)
    laptop.reopen(**{"write.secrets": "redact"})
    exchange_all(devices, 2)
    assert phone.get(note) is None
    assert _PLAIN in phone.texts()
    assert _TOKEN not in plain(laptop, place)
    assert laptop.engine.sync.status().kept_here == 1
    laptop.engine.redact_secrets(scope=OWNER)
    exchange_all(devices, 2)
    record = phone.get(note)
    assert record is not None
    assert record.text == _WITH_TOKEN.replace(_TOKEN, "[removed]")
    assert laptop.export() == phone.export()
    assert _TOKEN.encode() not in raw(phone.home)
    assert laptop.engine.sync.status().kept_here == 0


def test_a_home_that_forbids_secrets_takes_none_over(devices: list[Device], place: Path) -> None:
    """What another device may keep does not arrive where it is forbidden, until it is allowed."""
    laptop, phone = devices
    note = laptop.say(_WITH_TOKEN, kind=Kind.NOTE)
    known = laptop.say(_PLAIN)
    exchange_all(devices, 2)
    laptop.engine.links.tag(note, "build", scope=OWNER)
    laptop.engine.edit(known, scope=OWNER, text=_WITH_TOKEN.replace("Ruth", "Olga"))
    exchange_all(devices, 2)
    assert phone.get(note) is None
    assert phone.get(known).text == _PLAIN
    assert _TOKEN.encode() not in raw(phone.home)
    assert phone.engine.sync.status().kept_out == 2
    assert laptop.get(note).text == _WITH_TOKEN
    phone.reopen(**{"write.secrets": "allow"})
    exchange_all(devices, 2)
    assert laptop.export() == phone.export()
    assert phone.engine.sync.status().kept_out == 0


@pytest.mark.parametrize("treatment", ["redact", "refuse"])
def test_single_kinds(tmp_path: Path, place: Path, treatment: str) -> None:
    """`write.secrets_of` decides for each kind: a card number stays out, and a token comes."""
    card = "The card of the club is 4111 1111 1111 1111."
    laptop = Device(tmp_path, "laptop", **{"write.secrets": "allow"})
    phone = Device(
        tmp_path, "phone", **{"write.secrets": "allow", "write.secrets_of": (f"card={treatment}",)}
    )
    laptop.engine.sync.init(str(place), OWNER, laptop.label)
    pair(laptop, phone, place)
    laptop.say(card)
    laptop.say(_WITH_TOKEN, kind=Kind.NOTE)
    exchange_all([laptop, phone], 2)
    assert _WITH_TOKEN in phone.texts()
    assert b"4111 1111" not in raw(phone.home)
    for device in (laptop, phone):
        device.close()


def test_a_secret_is_redacted_on_all_devices_and_in_the_place(
    devices: list[Device], place: Path
) -> None:
    """A redaction reaches the histories and segments of the others, too."""
    laptop, phone = devices
    phone.reopen(**{"write.secrets": "allow"})
    note = laptop.say(_WITH_TOKEN, kind=Kind.NOTE)
    exchange_all(devices, 2)
    phone.engine.edit(note, scope=OWNER, text=f"{_WITH_TOKEN} She changed it.")
    exchange_all(devices, 2)
    assert _TOKEN in laptop.get(note).text
    laptop.reopen(**{"write.secrets": "redact"})
    laptop.engine.redact_secrets(scope=OWNER)
    exchange_all(devices, 3)
    assert laptop.export() == phone.export()
    for folder in (laptop.home, phone.home, place):
        assert _TOKEN.encode() not in raw(folder)
    assert _TOKEN not in plain(laptop, place)


def test_held_statements_stay(devices: list[Device], place: Path) -> None:
    """A statement that is held is not told, and neither is one that was dropped at the end."""
    laptop, phone = devices
    laptop.say(_PLAIN)
    held, dropped = (hold(laptop, f"The {word} is in the shed.") for word in ("zither", "ocarina"))
    change(laptop, dropped, "forgotten", {"was": "candidate", "dropped": "unwanted"})
    exchange_all(devices, 2)
    assert phone.texts(*Status) == [_PLAIN]
    assert "zither" not in plain(laptop, place)
    assert "ocarina" not in plain(laptop, place)
    change(laptop, held, "active")
    exchange_all(devices, 2)
    assert "The zither is in the shed." in phone.texts()


def hold(device: Device, text: str) -> str:
    """Store a statement that is held until the end of its session; return its id."""
    (known, *_) = device.records()
    record = replace(
        known,
        id=new_id(device.clock()),
        text=text,
        status=Status.CANDIDATE,
    )
    device.engine.store.commit(WriteBatch("test", "", device.clock(), puts=(NewRecord(record),)))
    return record.id


def change(device: Device, record_id: str, status: str, meta: dict[str, Any] | None = None) -> None:
    """Set the status that a session's end would set."""
    changed = RecordChange(OWNER, record_id, {"status": Status(status), "meta": meta or {}}, "hold")
    device.engine.store.commit(WriteBatch("test", "", device.clock(), changes=(changed,)))


def test_private_conversations_and_crises_stay(devices: list[Device], place: Path) -> None:
    """Neither an incognito conversation nor a record of a crisis is in any segment."""
    laptop, phone = devices
    with laptop.engine.sessions.mode("incognito"):
        laptop.say("My neighbour plays the hurdygurdy.")
    engine = laptop.engine
    crises = admin.open_safety_log(engine.settings, laptop.clock, engine.store)
    crises.append_once(
        "evening",
        classifier=CrisisDetectionSource.MODEL,
        severity=CrisisSeverity.HIGH,
        reason="words about a parapet",
        owner=OWNER.key,
    )
    laptop.say(_PLAIN)
    exchange_all(devices, 2)
    assert phone.texts(*Status) == [_PLAIN]
    for word in ("hurdygurdy", "parapet", "evening", "crisis"):
        assert word not in plain(laptop, place)
        assert word.encode() not in raw(phone.home)
