"""One memory on several devices: what travels, what does not, and who can read it."""

from __future__ import annotations

import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.sync.replicas import OWNER, Device, exchange_all, pair, plain, raw

from engrams.core import EdgeType, Kind, Status, Turn
from engrams.errors import (
    ConflictError,
    EncryptionError,
    InputError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from engrams.settings import change_settings
from engrams.sync import ciphers, segments
from engrams.sync.identity import DeviceHome
from engrams.sync.places import FolderPlace, PlaceFile

SECRET = "The wallpaper in Zanzibar was ultramarine."
OTHER = "My bicycle is in the cellar."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "place"


@pytest.fixture
def laptop(tmp_path: Path, place: Path) -> Iterator[Device]:
    device = Device(tmp_path, "laptop")
    device.engine.sync.init(str(place), OWNER, device.label)
    yield device
    device.close()


@pytest.fixture
def phone(tmp_path: Path, place: Path, laptop: Device) -> Iterator[Device]:
    device = Device(tmp_path, "phone")
    pair(laptop, device, place)
    yield device
    device.close()


def test_everything_is_on_both(laptop: Device, phone: Device) -> None:
    """Memories, their tags, links, metadata and facts arrive, and changes of both devices meet."""
    note = laptop.say(OTHER)
    message = laptop.say("I live in Berlin.", kind=Kind.TURN)
    laptop.engine.links.tag(note, ["thing", "house"], scope=OWNER)
    laptop.engine.links.link(note, message, scope=OWNER)
    exchange_all([laptop, phone], 1)
    assert phone.export() == laptop.export()
    assert (
        phone.engine.search("Where do I live?", scope=OWNER)
        .hits[0]
        .record.text.startswith("I live in Berlin")
    )
    assert phone.engine.links.tags(OWNER)["house"] == 1

    # Each changes another part of one memory.
    laptop.engine.links.untag(note, "house", scope=OWNER)
    phone.engine.links.tag(note, "cellar", scope=OWNER)
    phone.engine.edit(note, scope=OWNER, fields={"importance": 0.9, "meta": {"colour": "red"}})
    exchange_all([laptop, phone], 2)
    assert phone.export() == laptop.export()
    record = laptop.get(note)
    assert record is not None
    assert set(record.tags) == {"thing", "cellar"}
    assert (record.importance, record.meta["colour"]) == (0.9, "red")
    # A link by hand changes no memory, and travels all the same.
    phone.engine.links.unlink(note, message, scope=OWNER)
    exchange_all([phone, laptop], 1)
    assert not laptop.engine.store.edges(OWNER, [note], (EdgeType.RELATES_TO,))
    report = laptop.engine.sync.now()
    assert (report.sent, report.added, report.changed, report.bytes_sent) == (0, 0, 0, 0)


def test_two_edits_keep_both(laptop: Device, phone: Device) -> None:
    """If two devices edit one memory at once, both texts stay, and the garden shows the conflict."""
    note = laptop.say(OTHER)
    exchange_all([laptop, phone], 1)
    laptop.engine.edit(note, scope=OWNER, text="My bicycle is in the garage.")
    phone.clock.forward(minutes=9)
    phone.engine.edit(note, scope=OWNER, text="My bicycle is in the attic.")
    exchange_all([laptop, phone], 2)
    assert phone.export() == laptop.export()
    assert phone.get(note).text == "My bicycle is in the attic."
    (copy,) = [r for r in laptop.records() if r.meta.get("conflict_of") == note]
    assert copy.text == "My bicycle is in the garage."
    (conflict,) = laptop.engine.garden.conflicts(OWNER)
    assert {conflict.earlier.id, conflict.later.id} == {note, copy.id}
    # An edit of what a device has seen is no conflict.
    laptop.engine.edit(note, scope=OWNER, text="Look for the bicycle first.")
    exchange_all([laptop, phone], 2)
    assert sorted(phone.texts()) == ["Look for the bicycle first.", "My bicycle is in the garage."]


def test_a_fact_stands_with_the_text_that_says_it(
    laptop: Device, phone: Device, place: Path
) -> None:
    """If two devices edit one message at once, what each text says goes with that text alone."""
    message = laptop.say("I live in Berlin.", kind=Kind.TURN)
    exchange_all([laptop, phone], 1)
    laptop.engine.edit(message, scope=OWNER, text="I live in Hamburg.")
    # What the edit says is learned by a later job, and told by a later exchange.
    laptop.engine.sync.now()
    phone.clock.forward(minutes=9)
    phone.engine.edit(message, scope=OWNER, text="I live in Munich.")
    exchange_all([laptop, phone], 3)
    assert phone.export() == laptop.export()
    (copy,) = [r for r in phone.records() if r.meta.get("conflict_of") == message]
    facts = {r.text: r for r in laptop.records() if r.kind is Kind.FACT}
    assert {text: fact.evidence[0].source for text, fact in facts.items()} == {
        "I live in Hamburg": copy.id,
        "I live in Munich": message,
    }
    # A search shows each fact with the text that says it.
    for hit in laptop.engine.search("Where do I live?", scope=OWNER).hits:
        assert {fact.text for fact in hit.facts} <= {hit.record.text.removesuffix(".")}
    phone.engine.forget(copy.id, scope=OWNER)
    exchange_all([phone, laptop], 1)
    assert laptop.texts() == ["I live in Munich", "I live in Munich."]
    phone.engine.restore(copy.id, scope=OWNER)
    phone.engine.purge(copy.id, scope=OWNER)
    exchange_all([phone, laptop], 2)
    assert phone.export() == laptop.export()
    assert b"Hamburg" not in raw(phone.home) + raw(laptop.home)
    assert "Hamburg" not in plain(laptop, place)


def test_forget_wins_until_it_is_undone(laptop: Device, phone: Device) -> None:
    """Forgetting on one device wins over what another does meanwhile; an undo comes after both."""
    note = laptop.say(OTHER)
    exchange_all([laptop, phone], 1)
    laptop.engine.forget(note, scope=OWNER)
    phone.clock.forward(days=2)
    phone.engine.edit(note, scope=OWNER, fields={"importance": 0.2})
    newer = phone.say("My bicycle was sold.")
    phone.engine.links.link(newer, note, scope=OWNER, type="supersedes")
    exchange_all([laptop, phone], 2)
    assert laptop.get(note).status is phone.get(note).status is Status.FORGOTTEN
    phone.engine.restore(note, scope=OWNER)
    exchange_all([laptop, phone], 2)
    assert laptop.get(note).status is phone.get(note).status is not Status.FORGOTTEN
    assert laptop.export() == phone.export()


def test_what_is_learned_late_is_forgotten_too(laptop: Device, phone: Device) -> None:
    """A fact that a device learned before it heard that its message was forgotten goes with it."""
    message = laptop.say("I live in Berlin.", kind=Kind.TURN)
    for fact in laptop.records():
        if fact.id != message:
            laptop.engine.purge(fact.id, scope=OWNER)
    message = laptop.say("I live in Hamburg.", kind=Kind.TURN, settle=False)
    exchange_all([laptop, phone], 1)
    laptop.engine.forget(message, scope=OWNER)
    phone.engine.drain()
    exchange_all([laptop, phone], 3)
    assert laptop.export() == phone.export()
    assert not [text for text in laptop.texts() if "Hamburg" in text]


def test_a_purge_travels(laptop: Device, phone: Device, place: Path, tmp_path: Path) -> None:
    """A purge reaches each device and the place: no byte of the words is left, raw or decrypted.

    The status names the devices that did not confirm it. One that was off purges before it tells or
    shows anything of the place, and an old copy of its database brings nothing back.
    """
    note = laptop.say(SECRET)
    kept = laptop.say(OTHER)
    exchange_all([laptop, phone], 2)
    old = tmp_path / "old.db"
    phone.close()
    shutil.copyfile(phone.home / "memory.db", old)
    phone.reopen()
    phone.engine.links.tag(note, "wall", scope=OWNER)
    phone.engine.sync.now()
    assert "ultramarine" in plain(laptop, place)

    assert laptop.engine.purge(note, scope=OWNER).proven
    laptop.engine.sync.now()
    (waiting,) = laptop.engine.sync.status().purges
    assert waiting.waiting_for == ("phone",)
    phone.say("I also wrote this.")
    report = phone.engine.sync.now()
    assert report.purged == 1
    laptop.engine.sync.now()
    assert not laptop.engine.sync.status().purges
    assert laptop.export() == phone.export()
    assert "ultramarine" not in plain(laptop, place)
    for folder in (place, laptop.home, phone.home):
        assert b"ultramarine" not in raw(folder)
        assert b"Zanzibar" not in raw(folder)

    phone.close()
    for path in phone.home.glob("memory.db*"):
        if path.is_file():
            path.unlink()
    shutil.copyfile(old, phone.home / "memory.db")
    phone.reopen()
    assert phone.get(note).text == SECRET
    assert phone.engine.sync.now().purged == 1
    assert phone.get(note).status is Status.PURGED
    exchange_all([laptop, phone], 2)
    assert laptop.export() == phone.export()
    assert "I also wrote this." in phone.texts()
    assert laptop.get(kept).status is Status.ACTIVE
    assert "ultramarine" not in plain(laptop, place)


def test_an_edit_made_before_the_purge_brings_no_word_back(
    laptop: Device, phone: Device, place: Path
) -> None:
    """What another device told before it made a purge brings none of the words back."""
    message = laptop.say(f"{OTHER} I live in Zanzibar.", kind=Kind.TURN)
    exchange_all([laptop, phone], 1)
    fact = next(r for r in laptop.records() if r.id != message and "Zanzibar" in r.text)
    phone.engine.edit(message, scope=OWNER, text=f"{OTHER} I live in Zanzibar. It is hot.")
    phone.engine.links.tag(fact.id, "wall", scope=OWNER)
    phone.engine.sync.now()
    laptop.engine.purge(fact.id, scope=OWNER)
    laptop.engine.sync.now()
    assert b"Zanzibar" not in raw(laptop.home)
    exchange_all([laptop, phone], 3)
    assert laptop.export() == phone.export()
    assert b"Zanzibar" not in raw(laptop.home) + raw(phone.home)
    assert "Zanzibar" not in plain(laptop, place)
    assert any("It is hot" in text for text in laptop.texts())


def test_what_was_purged_and_arrives_late_stays_out(
    laptop: Device, phone: Device, place: Path, tmp_path: Path
) -> None:
    """A device that never had a purged memory does not take it from a file that comes after the purge."""
    tablet = Device(tmp_path, "tablet")
    pair(laptop, tablet, place)
    note = laptop.say(SECRET)
    exchange_all([laptop, phone], 1)
    phone.engine.links.tag(note, "wall", scope=OWNER)
    phone.engine.sync.now()
    late = max(place.glob(f"devices/{phone.id}/*.seg"), key=lambda path: int(path.stem))
    content = late.read_bytes()
    late.unlink()
    laptop.engine.purge(note, scope=OWNER)
    laptop.engine.sync.now()
    tablet.engine.sync.now()
    assert tablet.get(note) is None
    late.write_bytes(content)
    tablet.engine.sync.now()
    assert tablet.get(note) is None
    assert b"ultramarine" not in raw(tablet.home)
    tablet.close()


def test_a_device_purges_before_it_tells(
    laptop: Device, phone: Device, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that was off sends no word of what was purged meanwhile, even if its exchange stops."""
    note = laptop.say(SECRET)
    exchange_all([laptop, phone], 1)
    laptop.engine.purge(note, scope=OWNER)
    laptop.engine.sync.now()
    phone.engine.links.tag(note, "wall", scope=OWNER)
    write = FolderPlace.write

    def write_and_fail(folder: FolderPlace, files: Mapping[PlaceFile, bytes]) -> None:
        write(folder, files)
        raise StoreError("The disk was taken away.")

    with monkeypatch.context() as patched:
        patched.setattr(FolderPlace, "write", write_and_fail)
        with pytest.raises(StoreError, match="taken away"):
            phone.engine.sync.now()
    assert "ultramarine" not in plain(laptop, place)
    assert phone.get(note).status is Status.PURGED


def test_twins_become_one(laptop: Device, phone: Device) -> None:
    """What both devices stored by themselves is there once: by its sender's id, or by its words."""
    for device in (laptop, phone):
        device.say("The gate code is on the fridge.")
        device.engine.observe(
            Turn("Dinner is at eight.", role="user", external_id="mail-7"), scope=OWNER
        )
    exchange_all([laptop, phone], 3)
    assert laptop.export() == phone.export()
    for device in (laptop, phone):
        texts = device.texts()
        assert texts.count("The gate code is on the fridge.") == 1
        assert texts.count("Dinner is at eight.") == 1
        again = device.engine.observe(
            Turn("Dinner is at eight.", role="user", external_id="mail-7"), scope=OWNER
        )
        assert device.get(again[0].id) is not None
        assert device.texts().count("Dinner is at eight.") == 1


def test_the_place_learns_nothing(laptop: Device, phone: Device, place: Path) -> None:
    """Whoever has the whole place and no key reads no word, label, scope or id of a memory; and what
    it changes, moves, repeats or makes up is not taken over.
    """
    note = laptop.say(SECRET, kind=Kind.NOTE)
    laptop.engine.links.tag(note, "wallpaper", scope=OWNER)
    exchange_all([laptop, phone], 1)
    data = raw(place)
    for word in ("Zanzibar", "ultramarine", "wallpaper", "laptop", "phone", "ann", note):
        assert word.encode() not in data
    names = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    assert all(len(name.split("/")) == 3 for name in names)
    # Nothing of a segment is merely packed.
    (one, *_) = sorted(place.glob("devices/*/*.seg"))
    content = one.read_bytes()
    for start in range(len(content)):
        with pytest.raises(zlib.error):
            zlib.decompress(content[start:])

    own = laptop.engine.sync.status().device
    segment = max(place.glob(f"devices/{own}/*.seg"), key=lambda path: int(path.stem))
    before = phone.export()
    forged = [
        (segment.with_name("900.seg"), segment.read_bytes()),
        (segment.with_name("901.seg"), segment.read_bytes()[:-1] + b"\0"),
        (segment.with_name("902.seg"), b""),
        (segment.with_name("903.seg"), segments.MAGIC),
        (segment.with_name("77.key"), b'{"signed": "{}", "signature": ""}'),
        (place / "devices" / ("0" * 20) / "1.seg", segment.read_bytes()),
        (place / "devices" / "notes.txt", b"hello"),
    ]
    for path, content in forged:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    report = phone.engine.sync.now()
    assert (report.added, report.changed) == (0, 0)
    assert len(report.waiting) == 4
    assert phone.export() == before


def test_a_move_that_fails_changes_nothing(laptop: Device, phone: Device, tmp_path: Path) -> None:
    """A device whose new place takes no segments goes on with the place that it has."""
    former = laptop.engine.sync.status().address
    laptop.say(OTHER)
    # A folder by the name of a segment, or a file by that of a folder: nobody can write there.
    (tmp_path / "first" / "devices" / laptop.id / "1.seg" / "x").mkdir(parents=True)
    (tmp_path / "second" / "devices").mkdir(parents=True)
    (tmp_path / "second" / "devices" / laptop.id).touch()
    for broken in ("first", "second"):
        with pytest.raises(StoreError, match="cannot be used"):
            laptop.engine.sync.move(str(tmp_path / broken))
        assert laptop.engine.sync.status().address == former
    exchange_all([laptop, phone], 2)
    assert OTHER in phone.texts()
    assert laptop.export() == phone.export()


def test_the_place_cannot_make_up_a_memory(laptop: Device, place: Path, tmp_path: Path) -> None:
    """A code joins the memory that it was made for, and no other that the place puts in its stead."""
    code = laptop.engine.sync.pair()
    keys = ciphers.MemberKeys.from_code(ciphers.read_code(code))
    trap = tmp_path / "trap"
    thief = Device(tmp_path, "thief")
    victim = Device(tmp_path, "victim")
    thief.engine.sync.init(str(trap), OWNER, "thief")
    # It saw the public keys of the invitation, and invites their owner to its own memory.
    from engrams.sync.membership import Statement

    home = DeviceHome(thief.home)
    identity = home.load()
    member = {
        "kind": "invitation",
        "opening": keys.public_opening.hex(),
        "signing": keys.public_signing.hex(),
        "proof": "00",
    }
    statement = Statement.sign(
        identity.keys, identity.next_statement, {"do": "add", "member": member}
    )
    (trap / "devices" / identity.device / f"{statement.number}.key").write_bytes(statement.data)
    with pytest.raises(NotFoundError):
        victim.engine.sync.join(str(trap), code, OWNER)
    thief.close()
    victim.close()


def test_a_removed_device_reads_nothing_new(
    laptop: Device, phone: Device, place: Path, tmp_path: Path
) -> None:
    """A removed device opens no later segment, and nothing that it tells later is taken over."""
    tablet = Device(tmp_path, "tablet")
    pair(laptop, tablet, place)
    laptop.say(OTHER)
    exchange_all([laptop, phone, tablet], 2)
    assert laptop.engine.sync.remove("tablet").is_removed
    laptop.say(SECRET)
    exchange_all([laptop, phone], 2)
    assert SECRET in phone.texts()
    with pytest.raises(RefusedError):
        tablet.engine.sync.now()
    assert SECRET not in tablet.texts()
    with pytest.raises(EncryptionError):
        tablet.read_segments(place)
    # It goes on writing with the old key, as if it had not heard of its removal.
    home = DeviceHome(tablet.home)
    identity = home.load()
    members = identity.read_members()
    key = members.open_key(min(members.keys, key=lambda n: members.keys[n].number), identity.keys)
    numbers = [int(path.stem) for path in place.glob(f"devices/{identity.device}/*.seg")]
    late = segments.Segment(
        identity.device, max(numbers) + 1, "tablet", "", {}, purged_ids=("x" * 26,)
    )
    path = place / "devices" / identity.device / f"{late.number}.seg"
    path.write_bytes(segments.pack(late, identity.memory, key, identity.keys))
    before = laptop.export()
    report = laptop.engine.sync.now()
    assert (report.added, report.changed, report.purged) == (0, 0, 0)
    assert laptop.export() == before
    assert {d.label: d.is_removed for d in laptop.engine.sync.devices() if d.kind == "device"} == {
        "laptop": False,
        "phone": False,
        "tablet": True,
    }
    tablet.engine.sync.leave()
    pair(phone, tablet, place)
    tablet.engine.sync.now()
    assert SECRET in tablet.texts()
    tablet.close()


def test_codes(laptop: Device, phone: Device, place: Path, tmp_path: Path) -> None:
    """A code works once, bears typing, and is refused mistyped; the recovery code opens everything
    where all devices are lost.
    """
    third, fourth = Device(tmp_path, "third"), Device(tmp_path, "fourth")
    code = laptop.engine.sync.pair()
    with pytest.raises(InputError):
        third.engine.sync.join(str(place), code[:-1] + "7A"[code.endswith("7")], OWNER)
    third.engine.sync.join(str(place), code.lower().replace("-", " "), OWNER, "third")
    with pytest.raises(RefusedError):
        fourth.engine.sync.join(str(place), code, OWNER)
    with pytest.raises(NotFoundError):
        fourth.engine.sync.join(str(place), ciphers.write_code(ciphers.make_code()), OWNER)
    with pytest.raises(ConflictError):
        third.engine.sync.init(str(tmp_path / "else"), OWNER)
    withdrawn = laptop.engine.sync.pair()
    invitation = next(d for d in laptop.engine.sync.devices() if d.kind == "invitation")
    laptop.engine.sync.remove(invitation.id)
    with pytest.raises(RefusedError):
        fourth.engine.sync.join(str(place), withdrawn, OWNER)
    third.close()
    fourth.close()


def test_recovery(tmp_path: Path) -> None:
    """Where every device is lost, the recovery code and the place bring the memory back."""
    place = tmp_path / "place"
    lost = Device(tmp_path, "lost")
    code = lost.engine.sync.init(str(place), OWNER)
    lost.say(SECRET)
    lost.engine.sync.now()
    expected = lost.export()
    lost.close()
    shutil.rmtree(lost.home)
    new = Device(tmp_path, "new")
    new.engine.sync.join(str(place), code, OWNER)
    new.engine.sync.now()
    assert new.export() == expected
    new.close()


def test_another_place(laptop: Device, phone: Device, tmp_path: Path) -> None:
    """A home that leaves, and begins in another place, tells everything there."""
    laptop.say(SECRET)
    phone.say(OTHER)
    exchange_all([laptop, phone], 2)
    phone.engine.sync.leave()
    elsewhere = tmp_path / "elsewhere"
    phone.engine.sync.init(str(elsewhere), OWNER, "phone")
    phone.engine.sync.now()
    tablet = Device(tmp_path, "tablet")
    pair(phone, tablet, elsewhere)
    tablet.engine.sync.now()
    assert tablet.export() == phone.export() == laptop.export()
    tablet.close()


def test_segments_that_the_place_lost(laptop: Device, phone: Device, place: Path) -> None:
    """If the place loses files before others read them, their device tells it all again."""
    laptop.say(SECRET)
    laptop.engine.sync.now()
    for path in place.glob(f"devices/{laptop.engine.sync.status().device}/*"):
        path.unlink()
    laptop.say(OTHER)
    laptop.engine.sync.now()
    phone.engine.sync.now()
    assert phone.export() == laptop.export()
    assert laptop.engine.sync.now().sent == 0


def test_an_encrypted_home(tmp_path: Path, place: Path, laptop: Device) -> None:
    """Encrypted homes synchronise, and nothing of the device's keys lies open in one."""
    from engrams import admin

    laptop.say(SECRET)
    laptop.engine.sync.now()
    keys = DeviceHome(laptop.home).load().keys
    laptop.close()
    in_file = {"encryption.key": "file", "encryption.key_file": str(tmp_path / "home.key")}
    settings = change_settings(laptop.engine.settings, in_file)
    admin.encrypt(settings)
    assert keys.signing.hex().encode() not in raw(laptop.home)
    laptop = Device(tmp_path, "laptop", **in_file)
    phone = Device(tmp_path, "phone")
    pair(laptop, phone, place)
    laptop.say(OTHER)
    exchange_all([laptop, phone], 1)
    assert phone.export() == laptop.export()
    assert b"ultramarine" not in raw(laptop.home)
    laptop.close()
    phone.close()


def test_nothing_where_it_is_off(tmp_path: Path) -> None:
    """Without `sync init`, no file and no row of it is there."""
    device = Device(tmp_path, "alone")
    device.say(OTHER)
    assert not device.engine.sync.is_on
    with pytest.raises(NotFoundError):
        device.engine.sync.now()
    assert not (device.home / "sync").exists()
    assert not device.engine.store.load_state(OWNER, "sync").token
    device.close()


def test_clocks_do_not_decide_what_was_seen(laptop: Device, phone: Device) -> None:
    """A device whose clock is years behind still changes what it has seen."""
    note = laptop.say(OTHER)
    exchange_all([laptop, phone], 1)
    phone.clock.back(days=2000)
    phone.engine.edit(note, scope=OWNER, text="Look for the bicycle first.")
    exchange_all([laptop, phone], 2)
    assert laptop.get(note).text == phone.get(note).text == "Look for the bicycle first."
    assert len(laptop.records()) == len(phone.records()) == 1


def test_watching(laptop: Device, phone: Device) -> None:
    """A device that watches takes over what another one tells, and tells what is said on it."""
    ended = threading.Event()
    watching = threading.Thread(
        target=phone.engine.sync.watch, args=(ended.is_set, lambda report: None)
    )
    watching.start()
    try:
        laptop.say(SECRET)
        laptop.engine.sync.now()
        wait_until(lambda: SECRET in phone.texts())
        phone.say(OTHER)
        wait_until(lambda: laptop.engine.sync.now().added or OTHER in laptop.texts())
    finally:
        ended.set()
        watching.join()


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("loss", ["another place", "a lost file"])
def test_a_purge_that_is_told_again_is_confirmed(loss: str, tmp_path: Path) -> None:
    """Where the devices go to another place, or the file of a purge is lost before all read it, the purge is
    told again, and `status` waits for nobody once all made it.
    """
    place = tmp_path / "place"
    laptop, phone, tablet = (Device(tmp_path, name) for name in ("laptop", "phone", "tablet"))
    laptop.engine.sync.init(str(place), OWNER, "laptop")
    pair(laptop, phone, place)
    pair(laptop, tablet, place)
    note = laptop.say("The piano is in the hall.")
    exchange_all([laptop, phone, tablet], 2)
    laptop.engine.purge(note, scope=OWNER)
    exchange_all([laptop, phone], 2)
    assert [purge.waiting_for for purge in phone.engine.sync.status().purges] == [("tablet",)]
    if loss == "another place":
        for device in (laptop, phone):
            device.engine.sync.move(str(tmp_path / "other"))
    else:
        own = laptop.engine.sync.status().device
        for path in place.glob(f"devices/{own}/*.seg"):
            path.unlink()
    laptop.engine.sync.now()
    waiting = [purge.waiting_for for purge in laptop.engine.sync.status().purges]
    assert {"tablet" in names for names in waiting} == {True}
    tablet.engine.sync.move(laptop.engine.sync.status().address)
    exchange_all([laptop, phone, tablet], 3)
    for device in (laptop, phone, tablet):
        assert device.get(note).status is Status.PURGED
        assert not device.engine.sync.status().purges
        device.close()
