"""A space that homes of several people share: what travels, who may do what, and what ends it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.sync.replicas import Device, raw
from tests.sync.space_homes import SpaceMemberHome, exchange_all
from tests.sync.test_sync import wait_until

from engrams import admin
from engrams.core import Status, clock
from engrams.core.ids import new_id
from engrams.core.log_enums import CrisisDetectionSource, CrisisSeverity
from engrams.errors import (
    ConflictError,
    EncryptionError,
    InputError,
    NotFoundError,
    RefusedError,
)
from engrams.ports import NewRecord, WriteBatch
from engrams.program.registry import create_app
from engrams.settings import change_settings
from engrams.spaces import SpaceRole
from engrams.sync.ciphers import MemberKeys, read_code
from engrams.sync.membership import (
    NewMember,
    RoleChange,
    Statement,
    add_member,
    change_role,
    remove_member,
)

WALLPAPER = "The wallpaper in the hall is ultramarine, says the landlady."
LADDER = "The ladder is in the shed."
ONLY_READS = "its writer only reads the space"
OWN = "My surprise for Bob is a trip to Zanzibar."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "place"


@pytest.fixture
def ann(tmp_path: Path, place: Path) -> Iterator[SpaceMemberHome]:
    """Ann's home, which shares the space home."""
    home = SpaceMemberHome(tmp_path, "ann")
    home.engine.spaces.create("home", scope=home.person)
    home.engine.spaces.share("home", str(place), scope=home.person)
    yield home
    home.close()


@pytest.fixture
def bob(tmp_path: Path, place: Path, ann: SpaceMemberHome) -> Iterator[SpaceMemberHome]:
    """Bob's home; in the space he is an editor, and is called bob."""
    home = SpaceMemberHome(tmp_path, "robert")
    home.join(place, ann.invite("bob"))
    yield home
    home.close()


@pytest.fixture
def rita(tmp_path: Path, place: Path, ann: SpaceMemberHome) -> Iterator[SpaceMemberHome]:
    """The home of a reader."""
    home = SpaceMemberHome(tmp_path, "rita")
    home.join(place, ann.invite("rita", "reader"))
    yield home
    home.close()


def test_two_homes_have_one_space(ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path) -> None:
    """What each tells the space is found by both, with who said it; nothing else of theirs travels."""
    ann.engine.add(OWN, scope=ann.person)
    bob.engine.add("My bicycle was expensive, do not tell Ann.", scope=bob.person)
    ann.tell(WALLPAPER)
    bob.tell("I am allergic to walnuts.")
    exchange_all(ann, bob)
    assert ann.texts() == bob.texts() > {WALLPAPER}
    (hit, *_) = ann.engine.search("Who is allergic to walnuts?", scope=ann.person).hits
    assert [(fact.subject, fact.object) for fact in hit.facts] == [("bob", "walnuts")]
    assert hit.record.speaker == "bob"
    (hit, *_) = bob.engine.search("What wallpaper is in the hall?", scope=bob.person).hits
    assert (hit.record.text, hit.record.speaker) == (WALLPAPER, "ann")
    told = repr(ann.open_segments(place))
    assert "ultramarine" in told
    assert "Zanzibar" not in told
    assert "bicycle" not in told
    sharing = bob.engine.spaces.get_sharing("home", scope=bob.person)
    assert sharing.memory == ann.engine.spaces.get_sharing("home", scope=ann.person).memory
    assert [(home.label, home.role, home.is_this) for home in sharing.homes] == [
        ("ann", "owner", False),
        ("bob", "editor", True),
    ]
    # Nothing happens where nothing changed.
    assert not ann.engine.sync.now().is_news


def test_changes_reach_the_other_home(ann: SpaceMemberHome, bob: SpaceMemberHome) -> None:
    """An edit, a forgetting and its undo by either member."""
    ladder = ann.tell(LADDER)
    exchange_all(ann, bob)
    bob.engine.edit(ladder, scope=bob.space(), text="The ladder is in the cellar.")
    exchange_all(bob, ann)
    assert ann.get(ladder).text == "The ladder is in the cellar."
    ann.engine.forget(ladder, scope=ann.space())
    exchange_all(ann, bob)
    assert bob.get(ladder).status is Status.FORGOTTEN
    bob.engine.restore(ladder, scope=bob.space())
    exchange_all(bob, ann)
    assert ann.get(ladder).status is Status.ACTIVE


def test_a_purge_reaches_all_homes_and_the_place(
    ann: SpaceMemberHome, bob: SpaceMemberHome, rita: SpaceMemberHome, place: Path, tmp_path: Path
) -> None:
    """No byte of the words is left, and whoever did not confirm it is named until then."""
    wallpaper = bob.tell(WALLPAPER)
    exchange_all(bob, ann, rita)
    assert WALLPAPER in rita.texts()
    assert ann.engine.purge(wallpaper, scope=ann.space()).proven
    ann.exchange()
    sharing = ann.engine.spaces.get_sharing("home", scope=ann.person)
    assert [set(purge.waiting_for) for purge in sharing.purges] == [{"bob", "rita"}]
    assert bob.exchange().purged > 0
    exchange_all(ann)
    sharing = ann.engine.spaces.get_sharing("home", scope=ann.person)
    assert [purge.waiting_for for purge in sharing.purges] == [("rita",)]
    exchange_all(rita, ann, bob)
    assert not ann.engine.spaces.get_sharing("home", scope=ann.person).purges
    for home in (ann, bob, rita):
        assert b"ultramarine" not in raw(home.home)
        assert b"landlady" not in raw(home.home)
    assert "ultramarine" not in repr(ann.open_segments(place))


def test_an_outsider_learns_nothing(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path, tmp_path: Path
) -> None:
    """The files hold no word, and no name of the space or of a person; keys of others do not open them.

    The code of an invitation to a place that was made up opens nothing.
    """
    ann.tell(WALLPAPER)
    exchange_all(ann, bob)
    content = raw(place)
    for word in (b"ultramarine", b"ann", b"bob", b"robert"):
        assert word not in content.replace(b"founding", b"")
    assert b'"home"' not in content
    eve = SpaceMemberHome(tmp_path, "eve")
    eve.engine.spaces.create("home", scope=eve.person)
    eve_place = tmp_path / "eve_place"
    eve.engine.spaces.share("home", str(eve_place), scope=eve.person)
    shutil.copytree(place, eve_place, dirs_exist_ok=True)
    report = eve.exchange()
    assert report.added == 0
    assert eve.texts() == set()
    with pytest.raises((EncryptionError, KeyError)):
        eve.open_segments(eve_place)
    with pytest.raises(NotFoundError, match="fits the code"):
        eve.join(place, eve.invite("mallory"), "other")
    eve.close()


def test_a_reader_reads(ann: SpaceMemberHome, rita: SpaceMemberHome) -> None:
    """And writes nothing, by any door of their own home; what upkeep does there stays there."""
    ladder = ann.tell(LADDER)
    exchange_all(ann, rita)
    assert rita.texts() == ann.texts() > set()
    with pytest.raises(RefusedError, match="takes the role editor; you are reader"):
        rita.tell(WALLPAPER)
    with pytest.raises(RefusedError):
        rita.invite("mallory")
    with pytest.raises(RefusedError):
        rita.engine.spaces.set_role("home", "mallory", "reader", scope=rita.person)
    rita.engine.links.tag(ladder, "cellar", scope=rita.space())
    assert rita.exchange().sent == 0
    exchange_all(ann, rita)
    assert ann.get(ladder).tags == ()


@pytest.mark.parametrize("forged", ["records", "purge"])
def test_a_readers_forged_write_is_refused_and_named(
    ann: SpaceMemberHome, bob: SpaceMemberHome, rita: SpaceMemberHome, place: Path, forged: str
) -> None:
    """A segment that a reader's keys sealed and signed changes nothing; the same of an editor counts."""
    ladder = ann.tell(LADDER)
    exchange_all(ann, bob, rita)
    (item, *_) = [
        state
        for segment in ann.open_segments(place)
        for state in segment.records
        if state["id"] == ladder
    ]
    values = dict(item["values"])
    values["content"] = {**values["content"], "text": "The ladder is sold."}
    stamps = {"seen": {"forger": 4_000_000_000_000_000}, "most": [4_000_000_000_000_000, "forger"]}
    state = {"id": ladder, "values": values, "stamps": stamps}
    content = {"records": (state,)} if forged == "records" else {"purged_ids": (ladder,)}
    path = rita.forge(place, **content)
    for home in (ann, bob):
        report = home.exchange()
        assert report.refused == [f"rita: {path.relative_to(place).as_posix()}: {ONLY_READS}"]
        assert report.purged == 0
        assert home.get(ladder).text == LADDER
    # It is no accident of the forgery: an editor's counts.
    bob.forge(place, **content)
    ann.exchange()
    record = ann.get(ladder)
    assert (record is None) if forged == "purge" else (record.text == "The ladder is sold.")


def test_only_owners_change_members(
    ann: SpaceMemberHome, bob: SpaceMemberHome, rita: SpaceMemberHome, place: Path
) -> None:
    """Statements of an editor about members do not count, however well they are signed."""
    exchange_all(ann, bob, rita)
    identity = bob.identity()
    homes = {home.label: home for home in ann.engine.sync.spaces.status()[0].homes}
    mallory = MemberKeys.make()
    number = identity.next_statement
    forged = [
        add_member(identity.keys, number, NewMember(mallory, "device")),
        remove_member(identity.keys, number + 1, homes["rita"].id, 99, 99),
        remove_member(identity.keys, number + 2, homes["ann"].id, 1, 0),
        change_role(
            identity.keys, number + 3, identity.device, RoleChange(SpaceRole.OWNER, 9, 0, 0)
        ),
    ]
    for statement in forged:
        path = place / statement.file.path
        path.write_bytes(statement.data)
    exchange_all(ann, rita)
    for home in (ann, rita):
        (status,) = home.engine.sync.spaces.status()
        assert {(home.label, str(home.role)) for home in status.homes} == {
            ("ann", "owner"),
            ("bob", "editor"),
            ("rita", "reader"),
        }
    with pytest.raises(RefusedError):
        bob.engine.spaces.remove("home", "rita", scope=bob.person)


def test_a_removed_member_reads_nothing_new(
    ann: SpaceMemberHome, bob: SpaceMemberHome, rita: SpaceMemberHome, place: Path, tmp_path: Path
) -> None:
    """Not with the keys that it kept, either. Its own copy is erased when it exchanges."""
    ann.tell(LADDER)
    exchange_all(ann, bob, rita)
    kept = bob.identity()
    ann.engine.spaces.remove("home", "bob", scope=ann.person)
    ann.tell(WALLPAPER)
    exchange_all(ann, rita)
    assert WALLPAPER in rita.texts()
    members = kept.read_members()
    latest = max(
        (place / "devices" / ann.identity().device).glob("*.seg"), key=lambda path: int(path.stem)
    )
    key_name = latest.read_bytes()[18:28].hex()
    assert key_name not in members.keys
    fresh = ann.identity().read_members()
    with pytest.raises(EncryptionError, match="Nobody gave"):
        fresh.open_key(key_name, kept.keys)
    (exchanged,) = bob.engine.sync.now().spaces
    assert exchanged.ended
    assert bob.engine.spaces.list(scope=bob.person) == ()
    assert b"ladder" not in raw(bob.home)
    assert not list((bob.home / "sync").rglob("device.json"))
    # What Bob told stays, and what he seals with his old keys counts no more.
    report = ann.exchange()
    assert report.waiting == report.refused == []


def test_leaving_leaves_nothing_behind(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path
) -> None:
    """The copy of the space is erased and nobody else loses anything; with another code one comes back."""
    bob.engine.add("My bicycle is blue.", scope=bob.person)
    bob.tell(LADDER)
    exchange_all(bob, ann)
    bob.engine.spaces.leave("home", scope=bob.person)
    assert bob.engine.spaces.list(scope=bob.person) == ()
    assert b"ladder" not in raw(bob.home)
    assert [hit.record.text for hit in bob.engine.search("bicycle", scope=bob.person).hits]
    ann.tell(WALLPAPER)
    ann.exchange()
    assert {LADDER, WALLPAPER} <= ann.texts()
    (status,) = ann.engine.sync.spaces.status()
    assert [home.label for home in status.homes] == ["ann"]
    bob.join(place, ann.invite("bob"))
    assert bob.texts() == ann.texts()
    with pytest.raises(RefusedError, match="Nobody would own"):
        ann.engine.spaces.leave("home", scope=ann.person)


def test_whoever_leaves_while_the_place_is_away_has_left(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path
) -> None:
    """The copy is erased, although nobody else can be told."""
    ann.tell(LADDER)
    exchange_all(ann, bob)
    place.rename(place.with_name("away"))
    bob.engine.spaces.leave("home", scope=bob.person)
    assert b"ladder" not in raw(bob.home)


def test_after_an_editor_left_the_others_go_on(
    ann: SpaceMemberHome, bob: SpaceMemberHome, rita: SpaceMemberHome
) -> None:
    """Owners make the new key. Until one did, the others take over and send nothing."""
    ann.engine.spaces.set_role("home", "rita", "editor", scope=ann.person)
    exchange_all(ann, bob, rita)
    bob.engine.spaces.leave("home", scope=bob.person)
    rita.tell(LADDER)
    assert rita.exchange().unsent
    ann.exchange()
    assert rita.exchange().sent > 0
    ann.exchange()
    assert LADDER in ann.texts()


def test_a_role_changes_from_what_is_written_next(
    ann: SpaceMemberHome, rita: SpaceMemberHome, place: Path
) -> None:
    """What was forged before somebody became an editor does not count afterwards."""
    ladder = ann.tell(LADDER)
    exchange_all(ann, rita)
    path = rita.forge(place, purged_ids=(ladder,))
    ann.engine.spaces.set_role("home", "rita", "editor", scope=ann.person)
    exchange_all(rita, ann)
    rita.tell(WALLPAPER)
    exchange_all(rita, ann)
    assert {LADDER, WALLPAPER} <= ann.texts()
    assert ann.exchange().refused == [f"rita: {path.relative_to(place).as_posix()}: {ONLY_READS}"]
    ann.engine.spaces.set_role("home", "rita", "owner", scope=ann.person)
    exchange_all(rita, ann)
    assert rita.invite("carl")
    with pytest.raises(RefusedError, match="stays its owner"):
        ann.engine.spaces.set_role("home", "rita", "reader", scope=ann.person)


def test_a_deleted_space_is_gone_everywhere(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path
) -> None:
    """Each home erases its copy when it exchanges; the place has no segment left."""
    bob.tell(WALLPAPER)
    exchange_all(bob, ann)
    assert ann.engine.spaces.delete("home", scope=ann.person).proven
    assert ann.engine.spaces.list(scope=ann.person) == ()
    (exchanged,) = bob.engine.sync.now().spaces
    assert exchanged.ended
    for home in (ann, bob):
        assert b"ultramarine" not in raw(home.home)
    assert not list(place.rglob("*.seg"))


def test_a_code_is_for_what_it_says(ann: SpaceMemberHome, place: Path, tmp_path: Path) -> None:
    """A code of a space never merges a person's own memory with it, and the other way round."""
    bob = SpaceMemberHome(tmp_path, "bob")
    bob.engine.add(OWN, scope=bob.person)
    code = ann.invite("bob")
    with pytest.raises(InputError, match="is of a space"):
        bob.engine.sync.join(str(place), code, bob.person)
    bob.join(place, code)
    with pytest.raises(RefusedError, match="used or withdrawn"):
        SpaceMemberHome(tmp_path, "eve").join(place, code)
    with pytest.raises(ConflictError, match="shares this space already"):
        bob.join(place, ann.invite("bob"))
    own_place = tmp_path / "own"
    bob.engine.sync.init(str(own_place), bob.person, "laptop")
    with pytest.raises(InputError, match="of no space"):
        ann.join(own_place, bob.engine.sync.pair(), "bobs")
    bob.close()


def test_a_space_has_another_name_where_its_name_is_taken(
    ann: SpaceMemberHome, place: Path, tmp_path: Path
) -> None:
    """It is the same space all the same."""
    bob = SpaceMemberHome(tmp_path, "bob")
    bob.engine.spaces.create("home", scope=bob.person)
    code = ann.invite("bob")
    with pytest.raises(ConflictError) as caught:
        bob.join(place, code)
    assert "--as" in caught.value.hint
    bob.join(place, code, "our home")
    ann.tell(LADDER)
    exchange_all(ann, bob)
    assert LADDER in bob.texts("our home")
    assert bob.texts("home") == set()
    assert [space.name for space in bob.engine.spaces.list(scope=bob.person)] == [
        "home",
        "our home",
    ]
    bob.close()


def test_ones_own_devices_and_spaces_exchange_at_once(
    ann: SpaceMemberHome, bob: SpaceMemberHome, tmp_path: Path
) -> None:
    """One command exchanges one's own memory and the spaces; neither gets anything of the other."""
    own_place = tmp_path / "own"
    ann.engine.add(OWN, scope=ann.person)
    ann.engine.sync.init(str(own_place), ann.person, "laptop")
    ann.tell(LADDER)
    report = ann.engine.sync.now()
    assert report.sent >= 1
    assert report.spaces[0].report.sent >= 1
    phone = Device(tmp_path, "phone")
    phone.engine.sync.join(str(own_place), ann.engine.sync.pair(), ann.person, "phone")
    phone.engine.sync.now()
    assert OWN in phone.texts()
    assert not [text for text in phone.texts() if "ladder" in text]
    bob.exchange()
    assert "Zanzibar" not in raw(bob.home).decode("latin1")
    phone.close()


def test_a_place_that_is_away_stops_nothing_else(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path, tmp_path: Path
) -> None:
    """The exchange of the others goes on, and the report says which space it could not reach."""
    bob.engine.spaces.create("team", scope=bob.person)
    bob.engine.spaces.share("team", str(tmp_path / "team"), scope=bob.person)
    bob.tell(LADDER)
    bob.tell("Releases go out on Tuesdays.", "team")
    place.rename(place.with_name("away"))
    outcomes = {exchanged.space: exchanged for exchanged in bob.engine.sync.now().spaces}
    assert outcomes["team"].report.sent > 0
    assert "is not there" in outcomes["home"].problem


def test_without_sharing_nothing_is_on_disk(tmp_path: Path) -> None:
    """A space of one home has no folder of exchanges, and there is nothing to exchange."""
    home = SpaceMemberHome(tmp_path, "ann")
    home.engine.spaces.create("home", scope=home.person)
    home.tell(LADDER)
    assert home.engine.spaces.get_sharing("home", scope=home.person) is None
    assert not (home.home / "sync").exists()
    with pytest.raises(NotFoundError, match="not synchronised"):
        home.engine.sync.now()
    with pytest.raises(NotFoundError, match="No other home shares"):
        home.invite("bob")
    home.close()


def test_an_encrypted_home_seals_the_keys_of_its_spaces(
    ann: SpaceMemberHome, bob: SpaceMemberHome
) -> None:
    """Nothing of a space's keys lies open there, and its exchange goes on."""
    ann.tell(WALLPAPER)
    ann.exchange()
    keys = ann.identity().keys
    in_file = {"encryption.key": "file", "encryption.key_file": str(ann.home.parent / "home.key")}
    ann.engine.close()
    admin.encrypt(change_settings(ann.engine.settings, in_file))
    assert keys.signing.hex().encode() not in raw(ann.home)
    ann.reopen(**in_file)
    ann.tell(LADDER)
    exchange_all(ann, bob)
    assert LADDER in bob.texts()
    assert b"ultramarine" not in raw(ann.home)


def test_the_server_tells_of_homes_and_exchanges(
    ann: SpaceMemberHome, bob: SpaceMemberHome
) -> None:
    """REST shows the homes of a space, and its exchange includes the spaces."""
    bob.tell(LADDER)
    bob.exchange()
    with TestClient(
        create_app(ann.engine, ann.engine.settings), base_url="http://127.0.0.1"
    ) as client:
        shown = client.get("/v1/spaces/home").json()
        assert {(home["label"], home["role"]) for home in shown["homes"]} == {
            ("ann", "owner"),
            ("bob", "editor"),
        }
        (exchanged,) = client.post("/v1/sync").json()["spaces"]
        assert exchanged["space"] == "home"
        assert exchanged["report"]["added"] > 0


@pytest.mark.parametrize(
    "content",
    [
        {"records": ({"id": "../x", "values": {}, "stamps": {}},)},
        {"records": ({"id": "01m8mpcgs553b0nz4emba1apgs", "values": {"content": 3}},)},
        {"records": ("nothing",)},
        {"purged_ids": (7,)},
        {"applied": {"x": "y"}},
        {"retired": ((1, 10**12),)},
        {"retired": (("a", "b"),)},
    ],
)
def test_a_segment_of_anything_is_named_and_stops_nothing(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path, content: dict[str, Any]
) -> None:
    """A member's program may write anything: the others name it, and take over the rest."""
    path = bob.forge(place, **content)
    carl = SpaceMemberHome(place.parent, "carl")
    carl.join(place, ann.invite("carl"))
    carl.tell(LADDER)
    carl.exchange()
    report = ann.exchange()
    assert report.refused == [f"bob: {path.relative_to(place).as_posix()}: it cannot be read"]
    assert LADDER in ann.texts()
    carl.close()


def test_a_statement_of_anything_counts_for_nothing(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path
) -> None:
    """Whoever has a code may sign anything with it."""
    code_keys = MemberKeys.from_code(read_code(ann.invite("carl")))
    bodies = [{"do": "add"}, {"do": "add", "member": 3}, {"do": "role"}, {"do": "keys", "given": 1}]
    for number, body in enumerate(bodies, 1):
        statement = Statement.sign(code_keys, number, body)
        path = place / statement.file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(statement.data)
    own = Statement.sign(bob.identity().keys, 9, {"do": "remove", "member": {}})
    (place / own.file.path).write_bytes(own.data)
    bob.tell(LADDER)
    exchange_all(bob, ann)
    assert LADDER in ann.texts()


def test_a_person_with_two_homes_is_removed_from_both(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path, tmp_path: Path
) -> None:
    """Each home joins by an invitation of its own; both have one name."""
    phone = SpaceMemberHome(tmp_path, "bobs-phone")
    phone.join(place, ann.invite("bob"))
    phone.tell(LADDER)
    exchange_all(phone, ann, bob)
    (hit, *_) = bob.engine.search("Where is the ladder?", scope=bob.person).hits
    assert hit.record.speaker == "bob"
    ann.engine.spaces.remove("home", "bob", scope=ann.person)
    for home in (bob, phone):
        (exchanged,) = home.engine.sync.now().spaces
        assert exchanged.ended
    phone.close()


def test_private_and_held_words_stay_in_their_home(
    ann: SpaceMemberHome, bob: SpaceMemberHome, place: Path
) -> None:
    """No incognito conversation, statement that is held or dropped, or record of a crisis is told."""
    shared = ann.tell(LADDER)
    engine = ann.engine
    with engine.sessions.mode("incognito"):
        ann.tell("My neighbour plays the hurdygurdy.")
    record = ann.get(shared)
    held = [
        replace(record, id=new_id(record.recorded_at), text=f"The {word} is here.", status=status)
        for word, status in (("zither", Status.CANDIDATE), ("ocarina", Status.FORGOTTEN))
    ]
    held[1] = replace(held[1], meta={"was": "candidate"})
    puts = tuple(NewRecord(statement) for statement in held)
    engine.store.commit(WriteBatch("test", "", record.recorded_at, puts=puts))
    admin.open_safety_log(engine.settings, clock.now, engine.store).append_once(
        "evening",
        classifier=CrisisDetectionSource.MODEL,
        severity=CrisisSeverity.HIGH,
        reason="words about a parapet",
        owner=ann.person.key,
    )
    exchange_all(ann, bob)
    assert LADDER in bob.texts()
    content = repr(ann.open_segments(place)) + raw(bob.home).decode("latin1")
    for word in ("hurdygurdy", "zither", "ocarina", "parapet"):
        assert word not in content


def test_watching_a_space(ann: SpaceMemberHome, bob: SpaceMemberHome) -> None:
    """A home that watches takes over what another one tells the space, and tells what is said there."""
    ended = threading.Event()
    watching = threading.Thread(
        target=bob.engine.sync.watch, args=(ended.is_set, lambda report: None)
    )
    watching.start()
    try:
        ann.tell(LADDER)
        ann.exchange()
        wait_until(lambda: LADDER in bob.texts())
        bob.tell(WALLPAPER)
        wait_until(lambda: ann.exchange().added or WALLPAPER in ann.texts())
    finally:
        ended.set()
        watching.join()
