"""The commands of spaces, from creating one to its deletion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.surfaces.cli.test_chat import scripted

from engrams.testing import ScriptedModel


def test_a_family_shares_a_memory(engrams: Any) -> None:
    """Ann makes a space, Bob tells it something, Ann finds it; a reader only reads; a stranger is told
    that there is no such space.
    """
    assert "The space home is yours." in engrams("space create", "home").out
    assert "Nobody called bob has" in engrams("space add", "home", "bob").err
    engrams("add", "--user", "rita", "I keep bees.")
    assert "Nobody" not in engrams("space add", "home", "rita", "--role", "reader").err
    shown = engrams("space show", "home", "--json").json
    assert [(member["owner"][-1], member["role"]) for member in shown["members"]] == [
        ("ann", "owner"),
        ("bob", "editor"),
        ("rita", "reader"),
    ]
    engrams("add", "--user", "bob", "--space", "home", "The ladder is in the shed.")
    answer = engrams("search", "Where is the ladder?")
    assert "bob  space home" in answer.out
    assert "The ladder is in the shed." in answer.out
    (memory, *_) = engrams("list", "--space", "home", "--json").json["records"]
    missing = engrams("forget", memory["id"])
    assert (missing.code, "take `--space NAME`" in missing.err) == (3, True)
    assert "shed" in engrams("list", "--user", "rita", "--space", "home").out
    refused = engrams("add", "--user", "rita", "--space", "home", "It is gone.")
    assert (refused.code, "takes the role editor; you are reader" in refused.err) == (4, True)
    stranger = engrams("search", "--user", "eve", "--space", "home", "ladder")
    assert (stranger.code, "You are in no space 'home'." in stranger.err) == (3, True)
    assert engrams("space list", "--user", "eve", "--json").json == {"spaces": []}


def test_a_space_ends(engrams: Any) -> None:
    """Members leave or are removed, and read nothing any more; its owner deletes it after a word."""
    engrams("space create", "trip")
    engrams("space add", "trip", "bob")
    engrams("space add", "trip", "rita")
    engrams("add", "--space", "trip", "We take the ferry at nine.")
    engrams("space leave", "trip", "--user", "bob")
    engrams("space remove", "trip", "rita")
    for user in ("bob", "rita"):
        assert "ferry" not in engrams("search", "--user", user, "When is the ferry?").out
    assert "Nobody would own" in engrams("space leave", "trip").err
    assert "Nothing was purged" in engrams("space delete", "trip", "--confirm", "no").err
    assert "ferry at nine" in engrams("search", "When is the ferry?").out
    assert engrams("space delete", "trip", "--confirm", "purge", "--json").json["proven"]
    assert "ferry" not in engrams("search", "When is the ferry?").out
    assert engrams("space list", "--json").json == {"spaces": []}


def test_two_people_share_a_space_between_their_homes(engrams: Any, tmp_path: Path) -> None:
    """Ann shares her space by a folder, Bob joins by a code, and both exchange until Bob is removed."""
    place = str(tmp_path / "place")
    bob = ("--home", str(tmp_path / "bobs"), "--user", "robert")
    engrams("space create", "home")
    assert "shared by" in engrams("space share", "home", "--to", place).out
    code = engrams("space invite", "home", "bob", "--json").json["code"]
    mistyped = engrams("space join", place, "--code", code[:-1], *bob)
    assert "`engrams space invite`" in mistyped.err
    assert "no memory yet" not in mistyped.err
    joined = engrams("space join", place, "--code", code, *bob)
    assert "You are in the space home, as editor." in joined.out, joined.err
    note = engrams("add", "--space", "home", "The ladder is in the shed.", *bob, "--json").json[
        "id"
    ]
    assert "space home: sent" in engrams("sync now", *bob).out
    assert engrams("sync now", "--json").json["spaces"][0]["report"]["added"]
    answer = engrams("search", "Where is the ladder?")
    assert "bob  space home" in answer.out
    engrams("edit", note, "The ladder is in the barn.", "--space", "home")
    engrams("edit", note, "The ladder is in the attic.", "--space", "home", *bob)
    engrams("sync now", *bob)
    assert "`engrams garden conflicts --space home`" in engrams("sync now").err
    assert "--keep ONE --space home`" in engrams("garden conflicts", "--space", "home").err
    engrams("purge", note, "--space", "home", "--confirm", "purge")
    engrams("sync now")
    shown = engrams("space show", "home")
    assert "not yet confirmed by bob" in shown.out
    assert "not yet confirmed by bob" in engrams("sync status").out
    assert "purged" in engrams("sync now", *bob).out
    engrams("sync now")
    sharing = engrams("space show", "home", "--json").json["sharing"]
    assert [home["label"] for home in sharing["homes"]] == ["ann", "bob"]
    assert sharing["purges"] == []
    assert "takes the role owner" in engrams("space invite", "home", "eve", *bob).err
    rita = ("--home", str(tmp_path / "ritas"), "--user", "rita")
    code = engrams("space invite", "home", "rita", "--json").json["code"]
    engrams("space join", place, "--code", code, *rita)
    assert "Its copy on this home is erased." in engrams("space leave", "home", *rita).err
    engrams("sync now")
    engrams("space remove", "home", "bob")
    assert "Its copy here is erased." in engrams("sync now", *bob).out
    assert engrams("space list", "--json", *bob).json == {"spaces": []}
    used = engrams("space join", place, "--code", code, *bob)
    assert "This code was used or withdrawn." in used.err


def test_a_removed_device_is_told_so(engrams: Any, tmp_path: Path) -> None:
    """Its status does not ask for an exchange that cannot be."""
    place = str(tmp_path / "place")
    phone = ("--home", str(tmp_path / "phone"))
    engrams("add", "The ladder is in the shed.")
    engrams("sync init", place, "--name", "laptop")
    code = engrams("sync pair", "--json").json["code"]
    engrams("sync join", place, "--name", "phone", "--code", code, *phone)
    engrams("sync now")
    engrams("sync remove", "phone")
    assert "was removed" in engrams("sync now", *phone).err
    engrams("add", "The kettle is in the kitchen.", *phone)
    shown = engrams("sync status", *phone).out
    assert "This device was removed" in shown
    assert "this device, removed" in shown
    assert "not told yet" not in shown


def test_a_chat_in_a_space_is_its_speakers(engrams: Any) -> None:
    """ "I" is the member who types, with a chat model and without."""
    engrams("space create", "home")
    engrams("space add", "home", "bob")
    engrams("chat", "--user", "bob", "--space", "home", stdin="I am allergic to walnuts.\n")
    with ScriptedModel(answer=lambda _: "Noted.") as model:
        engrams("chat", "--space", "home", *scripted(model), stdin="I am allergic to lilies.\n")
    listed = engrams("list", "--space", "home", "--kind", "turn", "--json").json["records"]
    spoken = {(memory["text"], memory["speaker"]) for memory in listed if memory["role"] == "user"}
    assert spoken == {("I am allergic to walnuts.", "bob"), ("I am allergic to lilies.", "ann")}
    (fact, *_) = engrams("search", "Who is allergic to walnuts?", "--json").json["hits"]
    assert (fact["facts"][0]["subject"], fact["facts"][0]["object"]) == ("bob", "walnuts")


def test_a_restored_backup_says_what_it_cannot_know(engrams: Any, tmp_path: Path) -> None:
    """It names the space whose keys the backup has not, and so do later exchanges until the home leaves
    the space; a backup of a memory that nobody shares says nothing of the kind.
    """
    alone, backup, other = (str(tmp_path / name) for name in ("alone", "backup", "other"))
    engrams("add", "I keep bees.")
    engrams("backup", alone)
    assert "Other homes" not in engrams("restore", alone, "--home", other).err
    engrams("space create", "home")
    engrams("add", "--space", "home", "The ladder is in the shed.")
    engrams("space share", "home", "--to", str(tmp_path / "place"))
    code = engrams("space invite", "home", "ann", "--role", "owner", "--json").json["code"]
    engrams("backup", backup)
    restored = ("--home", str(tmp_path / "restored"))
    assert "(the space home)" in engrams("restore", backup, *restored).err
    for command in ("sync now", "sync status"):
        told = engrams(command, *restored)
        assert (told.code, "lost its keys of the space 'home'" in told.err) == (3, True)
        assert "engrams space leave home" in told.err
    engrams("sync init", str(tmp_path / "own"), *restored)
    assert "lost its keys of the space 'home'" in engrams("sync now", *restored).err
    engrams("space leave", "home", *restored)
    assert engrams("space join", str(tmp_path / "place"), "--code", code, *restored).code == 0
    assert "lost" not in engrams("sync now", *restored).err


def test_whose_words_an_edit_has(engrams: Any) -> None:
    """What Ann wrote over Bob's words is shown as hers at every door, with what is learned from it; what
    Bob writes himself afterwards is his again, and "I" stays whoever said it.
    """
    engrams("space create", "home")
    engrams("space add", "home", "bob")
    bob = ("--user", "bob", "--space", "home")
    wifi = engrams("add", *bob, "The Wi-Fi password is on the fridge.", "--json").json["id"]
    nuts = engrams("add", *bob, "I am allergic to walnts.", "--json").json["id"]
    engrams("edit", wifi, "The Wi-Fi password is on the router.", "--space", "home")
    engrams("edit", nuts, "I am allergic to walnuts.", "--space", "home")
    for command in ("search", "context"):
        told = engrams(command, "Where is the Wi-Fi password?").out
        assert "bob, edited by ann" in told and "router" in told
    (hit, *_) = engrams("search", "Who is allergic to walnuts?", "--json").json["hits"]
    assert (hit["facts"][0]["subject"], hit["facts"][0]["object"]) == ("bob", "walnuts")
    assert "bob, edited by ann" in engrams("list", "--space", "home", "--kind", "fact").out
    engrams("edit", wifi, "--field", "importance=0.9", *bob)
    assert "edited by ann" in engrams("search", "Where is the Wi-Fi password?").out
    engrams("edit", wifi, "The Wi-Fi password is under the router.", *bob)
    assert "bob, edited" not in engrams("search", "Where is the Wi-Fi password?", "-n", "1").out
