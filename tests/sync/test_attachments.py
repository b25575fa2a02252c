"""Files of pictures and sounds travel to the person's other devices, and nobody else reads them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sync.replicas import OWNER, Device, exchange_all, pair, raw
from tests.transfer.documents import media_files

from engrams.errors import NotFoundError, RefusedError
from engrams.sync.attachment_exchange import SealedFile, pack
from engrams.sync.identity import DeviceHome
from engrams.sync.places import PlaceFile

pytest.importorskip("cryptography")

WORD = b"quuxword001"
SOUND = media_files.make_wav(1)[:-20] + WORD + b"........."

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "place"


@pytest.fixture
def devices(tmp_path: Path, place: Path) -> Iterator[tuple[Device, Device]]:
    """A laptop and a phone of one person."""
    laptop = Device(tmp_path, "laptop")
    phone = Device(tmp_path, "phone", **{"documents.sync_bytes": 100_000})
    laptop.engine.sync.init(str(place), OWNER, "laptop")
    pair(laptop, phone, place)
    yield laptop, phone
    for device in (laptop, phone):
        device.close()


def add_sound(device: Device, path: Path, data: bytes = SOUND) -> None:
    path.write_bytes(data)
    device.engine.add_document(path, scope=OWNER)


def read(device: Device, name: str = "a.wav") -> bytes | None:
    try:
        return device.engine.documents.read_file(name, OWNER).data
    except NotFoundError:
        return None


def list_sealed(place: Path) -> list[Path]:
    return sorted(place.glob("devices/*/*.att"))


def test_a_file_travels_and_the_place_reads_nothing(
    devices: tuple[Device, Device], place: Path, tmp_path: Path
) -> None:
    """The other device has the same bytes; the place has one sealed copy, whoever else has the file."""
    laptop, phone = devices
    add_sound(laptop, tmp_path / "a.wav")
    exchange_all([laptop, phone])
    assert read(phone) == SOUND
    assert len(list_sealed(place)) == 1
    assert WORD not in raw(place) and b"a.wav" not in raw(place)
    before = [path.stat().st_mtime_ns for path in list_sealed(place)]
    exchange_all([laptop, phone], rounds=1)
    assert [path.stat().st_mtime_ns for path in list_sealed(place)] == before


@pytest.mark.parametrize("purger", [0, 1])
def test_a_purge_reaches_the_file_everywhere(
    devices: tuple[Device, Device], place: Path, tmp_path: Path, purger: int
) -> None:
    """Whoever purges, both homes and the place lose the file."""
    laptop, phone = devices
    add_sound(laptop, tmp_path / "a.wav")
    exchange_all([laptop, phone])
    assert devices[purger].engine.documents.purge("a.wav", OWNER).proven
    exchange_all([laptop, phone])
    assert list_sealed(place) == []
    for device in devices:
        assert read(device) is None
        assert not list((device.home / "attachments").rglob("*"))


def test_a_large_file_stays_where_it_is(
    devices: tuple[Device, Device], place: Path, tmp_path: Path
) -> None:
    """Its words travel, and its bytes do not, by the limit of the one that sends or that takes."""
    laptop, phone = devices
    large = media_files.make_wav(20)
    add_sound(phone, tmp_path / "large.wav", large)
    exchange_all([laptop, phone])
    assert (len(laptop.engine.documents.list(OWNER)), read(laptop, "large.wav")) == (1, None)
    assert list_sealed(place) == []
    add_sound(laptop, tmp_path / "other.wav", large[:-1] + b"x")
    exchange_all([laptop, phone])
    assert len(list_sealed(place)) == 1
    assert read(phone, "other.wav") is None


@pytest.mark.parametrize("way", ["byte", "name", "cut", "stranger"])
def test_a_changed_file_is_not_taken(
    devices: tuple[Device, Device], place: Path, tmp_path: Path, way: str
) -> None:
    """A file that the place changed, renamed, cut or gave to another device opens nothing."""
    laptop, phone = devices
    add_sound(laptop, tmp_path / "a.wav")
    laptop.engine.sync.now()
    (sealed,) = list_sealed(place)
    data = sealed.read_bytes()
    sealed.unlink()
    if way == "byte":
        sealed.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    elif way == "name":
        sealed.with_name("17.att").write_bytes(data)
    elif way == "cut":
        sealed.write_bytes(data[:-100])
    else:
        (place / "devices" / phone.id / sealed.name).write_bytes(data)
    phone.engine.sync.now()
    assert len(phone.engine.documents.list(OWNER)) == 1
    assert read(phone) is None
    for path in list_sealed(place):
        path.unlink()
    exchange_all([laptop, phone])
    assert read(phone) == SOUND


def test_a_lost_folder_comes_back(
    devices: tuple[Device, Device], place: Path, tmp_path: Path
) -> None:
    """A device that lost its files takes them from the place again, also those that it sent itself."""
    laptop, phone = devices
    add_sound(laptop, tmp_path / "a.wav")
    exchange_all([laptop, phone])
    shutil.rmtree(laptop.home / "attachments")
    exchange_all([laptop, phone])
    assert read(laptop) == SOUND
    assert len(list_sealed(place)) == 1


def test_a_removed_device_gets_no_more_files(
    devices: tuple[Device, Device], place: Path, tmp_path: Path
) -> None:
    """What is added after its removal is sealed with a key that it does not have."""
    laptop, phone = devices
    exchange_all([laptop, phone])
    laptop.engine.sync.remove("phone")
    add_sound(laptop, tmp_path / "a.wav")
    laptop.engine.sync.now()
    assert len(list_sealed(place)) == 1
    with pytest.raises(RefusedError):
        phone.engine.sync.now()
    assert read(phone) is None


def test_a_file_of_a_secret_stays_with_it(
    devices: tuple[Device, Device], place: Path, tmp_path: Path
) -> None:
    """Where the settings keep a memory on a device, its file stays there too."""
    laptop, phone = devices
    laptop.reopen(**{"write.secrets": "allow"})
    path = tmp_path / "a.wav"
    path.write_bytes(SOUND)
    laptop.engine.add_document(path, scope=OWNER, note=f"The token of the build is {TOKEN}.")
    laptop.reopen(**{"write.secrets": "refuse"})
    exchange_all([laptop, phone])
    assert list_sealed(place) == []
    laptop.reopen(**{"write.secrets": "allow"})
    phone.reopen(**{"write.secrets": "allow"})
    exchange_all([laptop, phone])
    assert read(phone) == SOUND


@pytest.mark.parametrize("way", ["another signature", "other contents"])
def test_a_forged_file_is_not_taken(
    devices: tuple[Device, Device], place: Path, tmp_path: Path, way: str
) -> None:
    """A device cannot write in the name of another one, or give a file other contents than its name."""
    laptop, phone = devices
    add_sound(laptop, tmp_path / "a.wav")
    laptop.engine.sync.now()
    (sealed,) = list_sealed(place)
    place_file = PlaceFile(laptop.id, int(sealed.stem), "att")
    forger = phone if way == "another signature" else laptop
    identity = DeviceHome(forger.home).load()
    members = identity.read_members()
    current = members.find_current_key()
    assert current is not None
    key = members.open_key(current.name, identity.keys)
    digest = hashlib.blake2b(SOUND, digest_size=16).hexdigest()
    contents = SOUND if way == "another signature" else SOUND + b"forged"
    sealed.write_bytes(pack(SealedFile(digest, contents, b""), place_file, key, identity))
    phone.engine.sync.now()
    assert len(phone.engine.documents.list(OWNER)) == 1
    assert not list((phone.home / "attachments").rglob("*"))
    sealed.write_bytes(
        pack(SealedFile(digest, SOUND, b""), place_file, key, DeviceHome(laptop.home).load())
    )
    phone.engine.sync.now()
    assert read(phone) == SOUND


def test_a_file_may_come_before_its_memory(
    devices: tuple[Device, Device], place: Path, tmp_path: Path
) -> None:
    """A place shows files in any order: what came too early is taken once its memory is there."""
    laptop, phone = devices
    exchange_all([laptop, phone])
    before = set(place.glob("devices/*/*.seg"))
    add_sound(laptop, tmp_path / "a.wav")
    laptop.engine.sync.now()
    late = {path: path.read_bytes() for path in {*place.glob("devices/*/*.seg")} - before}
    assert late
    for path in late:
        path.unlink()
    phone.engine.sync.now()
    assert read(phone) is None
    for path, data in late.items():
        path.write_bytes(data)
    phone.engine.sync.now()
    assert read(phone) == SOUND
